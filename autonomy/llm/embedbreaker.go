package llm

import (
	"context"
	"iter"
)

// EmbedBreaker returns an embedder that is paused after repeated failures, like Breaker for
// models: calls then fail immediately with an error that wraps ErrOpen. It does not retry:
// background embedding repeats anyway, and a query must not wait.
func EmbedBreaker(e Embedder, info Info, o BreakerOptions) Embedder {
	return &embedBreaker{e: e, b: newBreaker(named{info}, o)}
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
	trial, refused := m.b.enter()
	if refused != nil {
		return nil, Usage{}, refused
	}
	result := unknown
	var failure *Error
	defer func() { m.b.leave(trial, result, failure) }()
	v, usage, err := m.e.Embed(ctx, texts)
	if err == nil {
		result = well
		return v, usage, nil
	}
	failure = asError(m.b.Model, err)
	result = judge(failure)
	return nil, usage, err
}

// named is a model that has only a name, for errors about an embedder.
type named struct{ info Info }

func (n named) Info() Info { return n.info }

func (named) Stream(context.Context, Request) iter.Seq2[Event, error] {
	return func(func(Event, error) bool) {}
}
