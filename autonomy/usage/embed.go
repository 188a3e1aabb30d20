package usage

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"hob/autonomy/llm"
)

// MeterEmbedder is like Meter but for embedders: it refuses calls above the caps and records each
// call under the account. Embeddings have no text output, so only input tokens count.
func (b *Tracker) MeterEmbedder(e llm.Embedder, info llm.Info, a llm.Account, o MeterOptions) llm.Embedder {
	a.Purpose = llm.ForVectors
	return &embedMeter{e: e, b: b, info: info, account: a, o: o}
}

type embedMeter struct {
	e       llm.Embedder
	b       *Tracker
	info    llm.Info
	account llm.Account
	o       MeterOptions
}

// Embed implements llm.Embedder.
func (m *embedMeter) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	if len(texts) == 0 {
		return nil, llm.Usage{}, nil
	}
	c := &Call{
		ID: uuid.Must(uuid.NewV7()).String(), At: time.Now(), Provider: m.info.Provider, Model: m.info.Model, Account: m.account,
		Outcome: string(llm.Interrupted),
	}
	var chars requestMeasure
	for _, t := range texts {
		chars.bytes += len(t)
	}
	input := m.b.estimateTokens(m.info.Name(), chars)
	q := callEstimate{info: m.info, account: m.account, input: input}
	prices := m.b.o.Prices()
	if q.price, q.priced = prices.Of(m.info, m.o.Host); !q.priced {
		q.price = prices.Unknown()
	}
	c.Local = m.info.Local && q.price == (Price{})
	var h *reservation
	if !c.Local {
		var err error
		if h, _, err = m.b.admitCall(ctx, q); err != nil {
			return nil, llm.Usage{}, err
		}
	}
	vectors, usage, err := m.e.Embed(ctx, texts)
	t := streamMeter{input: input, done: err == nil, usage: usage, err: err}
	t.fillCall(c)
	c.setPrice(m.info, m.o.Host, prices)
	if err == nil && usage.Known {
		m.b.learnRatio(c.modelName(), chars.bytes, usage.Input)
	}
	m.b.commitReservation(context.WithoutCancel(ctx), h, c)
	return vectors, usage, err
}

// OpenEmbedder returns a metered embedder that pauses after repeated failures. host returns the host of
// a provider.
func (b *Tracker) OpenEmbedder(e llm.Embedder, host func(provider string) string) (llm.Embedder, error) {
	m, ok := e.(llm.Model)
	if !ok {
		return nil, errors.New("not an embedding model")
	}
	metered := b.MeterEmbedder(e, m.Info(), llm.Account{}, MeterOptions{Host: host(m.Info().Provider)})
	return llm.EmbedBreaker(metered, m.Info(), llm.BreakerOptions{Failures: 3}), nil
}
