package usage

import (
	"context"
	"errors"
	"iter"
	"net"
	"syscall"
	"time"

	"github.com/google/uuid"

	"hob/autonomy/llm"
)

// MeterOptions holds the values that a meter cannot get from its model.
type MeterOptions struct {
	// Host is the provider's host, such as "api.openai.com". Prices apply per host.
	Host string
	// MaxTokens is the output limit of requests that set none; 0 means unknown.
	MaxTokens int
}

// Meter returns a model that checks each call against the caps and records it when it ends, with or
// without an error. Wrap Retry around the metered model, not the reverse, because each attempt
// costs money.
func (b *Tracker) Meter(m llm.Model, o MeterOptions) llm.Model { return &meter{Model: m, b: b, o: o} }

type meter struct {
	llm.Model
	b *Tracker
	o MeterOptions
}

func (m *meter) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		info := m.Info()
		c := &Call{
			ID: uuid.Must(uuid.NewV7()).String(), At: time.Now(), Provider: info.Provider, Model: info.Model, Account: r.Account,
			Outcome: string(llm.Interrupted),
		}
		if c.Account.Purpose == "" {
			c.Account.Purpose = llm.ForTurn
		}
		chars := requestSize(r)
		input := m.b.estimateTokens(info.Name(), chars)
		q := m.newBid(info, c.Account, r, input)
		c.Local = info.Local && q.price == (Price{}) // a local model is free, unless the user has set a price
		var h *reservation
		if !c.Local {
			var limit int
			var err error
			if h, limit, err = m.b.admitCall(ctx, q); err != nil {
				yield(llm.Event{}, err)
				return
			}
			if limit > 0 {
				r.MaxTokens = limit
			}
		}
		out := streamMeter{input: input}
		defer func() {
			out.fillCall(c)
			c.setPrice(m.Info(), m.o.Host, m.b.o.Prices())
			if c.Usage.Known && chars.images == 0 {
				m.b.learnRatio(c.modelName(), chars.bytes, c.Usage.Input)
			}
			m.b.commitReservation(context.WithoutCancel(ctx), h, c)
		}()
		for e, err := range m.Model.Stream(ctx, r) {
			out.addEvent(e, err)
			if !yield(e, err) {
				return
			}
		}
	}
}

func (m *meter) newBid(info llm.Info, a llm.Account, r llm.Request, input int) callEstimate {
	q := callEstimate{info: info, account: a, input: input, output: typicalOutput}
	if r.MaxTokens > 0 {
		q.output = r.MaxTokens
	} else if m.o.MaxTokens > 0 {
		q.output = m.o.MaxTokens
	}
	prices := m.b.o.Prices()
	if q.price, q.priced = prices.Of(info, m.o.Host); !q.priced {
		q.price = prices.Unknown()
	}
	return q
}

// setPrice computes the cost of a call.
func (c *Call) setPrice(info llm.Info, host string, prices *Prices) {
	c.Model = info.Model // the name is known by now, even if the server's list of models was needed to find it
	p, ok := prices.Of(info, host)
	if !ok {
		c.Counted = prices.Unknown().Cost(c.Usage)
		if c.Usage.Input+c.Usage.Output == 0 {
			c.Cost = new(Micros)
		}
		return
	}
	cost := p.Cost(c.Usage)
	c.Cost, c.Counted = &cost, cost
}

// streamMeter measures the usage of a stream.
type streamMeter struct {
	input int // estimated input tokens of the request
	bytes int // size of the answer in bytes
	begun bool
	done  bool
	usage llm.Usage
	err   error
}

func (t *streamMeter) addEvent(e llm.Event, err error) {
	if err != nil {
		t.err = err
		return
	}
	t.begun = true
	switch e.Kind {
	case llm.TextDelta, llm.ReasoningDelta, llm.CallDelta:
		t.bytes += len(e.Text)
	case llm.Done:
		t.done, t.usage = true, e.Usage
	}
}

// fillCall writes the measured usage to c.
func (t *streamMeter) fillCall(c *Call) {
	switch {
	case t.done:
		c.Outcome = "ok"
	case t.err != nil:
		if c.Outcome = string(llm.KindOf(t.err)); c.Outcome == "" {
			c.Outcome = string(llm.Garbled)
		}
	}
	switch {
	case t.done && t.usage.Known:
		c.Usage = t.usage
	case t.done || t.begun || mayCharge(t.err): // unknown usage: record the estimate
		c.Usage = llm.Usage{Input: t.input, Output: estimateSize(t.bytes, 0)}
	default:
		c.Usage = llm.Usage{Known: true} // the call used nothing
	}
}

// mayCharge reports whether a provider may charge for a call without an answer. Providers do not
// charge for requests that they refused or that did not reach them.
func mayCharge(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return true // the caller canceled it
	}
	_, dial := errors.AsType[*net.DNSError](err)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		dial = true
	}
	return e.Status == 0 && !dial && !errors.Is(err, syscall.ECONNREFUSED)
}

const (
	bytesPerToken  = 2.5  // used until the provider's count is known; tends to overestimate
	tokensPerImage = 1600 // estimate for the largest image that providers do not shrink
)

// requestMeasure holds the size of a request.
type requestMeasure struct{ bytes, images int }

func requestSize(r llm.Request) (m requestMeasure) {
	m.bytes = len(r.System)
	for _, t := range r.Tools {
		m.bytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, msg := range r.Messages {
		for _, p := range msg.Parts {
			m.bytes += len(p.Text)
			switch {
			case p.Image != nil:
				m.images++
			case p.Call != nil:
				m.bytes += len(p.Call.Name) + len(p.Call.Args)
			case p.Result != nil:
				m.bytes += len(p.Result.Text)
			case p.Reasoning != nil:
				m.bytes += len(p.Reasoning.Text)
			}
		}
	}
	return m
}

func estimateSize(bytes, images int) int {
	return int(float64(bytes)/bytesPerToken) + images*tokensPerImage
}

// estimateTokens estimates the tokens of a request from the bytes-per-token ratio of the provider's
// last count, plus 10 %.
func (b *Tracker) estimateTokens(model string, m requestMeasure) int {
	b.mu.Lock()
	per := b.sizes[model]
	b.mu.Unlock()
	if per == 0 {
		return estimateSize(m.bytes, m.images)
	}
	return int(float64(m.bytes)/per*1.1) + m.images*tokensPerImage
}

// learnRatio stores the ratio of bytes to tokens for this model's requests.
func (b *Tracker) learnRatio(model string, bytes, tokens int) {
	if tokens < 50 || bytes == 0 {
		return // there is too little data
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sizes[model] = min(max(float64(bytes)/float64(tokens), 1), 6)
}
