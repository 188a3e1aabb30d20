package llm

import (
	"context"
	"iter"
	"time"
)

// MaxVectors is the maximum size in bytes of the response to one call by EmbedBatches.
const MaxVectors = 32 << 20

// EmbedBatches embeds texts in sequential calls with at most 100 texts each. limit is the time
// limit for each call.
func EmbedBatches(ctx context.Context, texts []string, limit time.Duration, embed func(context.Context, []string) ([][]float32, Usage, error)) ([][]float32, Usage, error) {
	const size = 100
	var out [][]float32
	var total Usage
	for len(texts) > 0 {
		n := min(size, len(texts))
		ctx, watch := NewWatch(ctx, limit)
		v, u, err := embed(ctx, texts[:n])
		watch.Stop()
		if err != nil {
			return nil, total, err
		}
		out, total, texts = append(out, v...), total.Add(u), texts[n:]
	}
	return out, total, nil
}

// CheckVectors validates the vectors from a server: there must be one per text, all with the same
// length.
func (w Endpoint) CheckVectors(vectors [][]float32, texts int) *Error {
	if len(vectors) != texts {
		return w.Errorf(Garbled, "the server sent %d vectors for %d texts", len(vectors), texts)
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return w.Errorf(Garbled, "the server sent vectors of different lengths")
		}
	}
	return nil
}

// EmbedBreaker returns an embedder that is paused after repeated failures, like Breaker for models.
// Calls then fail immediately with an error that wraps ErrOpen. It does not retry, because
// background embedding is repeated anyway, and a query must not wait.
func EmbedBreaker(e Embedder, info Info, o BreakerOptions) Embedder {
	return &embedBreaker{e: e, b: newBreaker(namedModel{info}, o)}
}

type embedBreaker struct {
	e Embedder
	b *breaker
}

// Embed implements Embedder.
func (m *embedBreaker) Embed(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	if len(texts) == 0 {
		return nil, Usage{}, nil
	}
	trial, refused := m.b.enterCall()
	if refused != nil {
		return nil, Usage{}, refused
	}
	result := unknown
	var failure *Error
	defer func() { m.b.leaveCall(trial, result, failure) }()
	v, usage, err := m.e.Embed(ctx, texts)
	if err == nil {
		result = well
		return v, usage, nil
	}
	failure = asError(m.b.Model, err)
	result = judgeError(failure)
	return nil, usage, err
}

// namedModel is a model that only provides a name, for errors about an embedder.
type namedModel struct{ info Info }

func (n namedModel) Info() Info { return n.info }

func (namedModel) Stream(context.Context, Request) iter.Seq2[Event, error] {
	return func(func(Event, error) bool) {}
}
