package llm

import (
	"context"
	"iter"
)

// EmbedBreaker returns an embedder that, after repeated failures in a row, is
// left alone for a while, as Breaker does for models: calls then fail at once
// with an error that wraps ErrOpen. It does not retry; who embeds in the
// background comes again by itself, and a question is not kept waiting.
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

// named is a model in name only, for what is said about an embedder.
type named struct{ info Info }

func (n named) Info() Info { return n.info }

func (named) Stream(context.Context, Request) iter.Seq2[Event, error] {
	return func(func(Event, error) bool) {}
}
