package llm

import (
	"context"
	"iter"
)

// EmbedBreaker returns an embedder that is paused after repeated failures, like Breaker for
// models: calls then fail immediately with an error that wraps ErrOpen. It does not retry:
// background embedding repeats anyway, and a query must not wait.
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

// namedModel is a model that has only a name, for errors about an embedder.
type namedModel struct{ info Info }

func (n namedModel) Info() Info { return n.info }

func (namedModel) Stream(context.Context, Request) iter.Seq2[Event, error] {
	return func(func(Event, error) bool) {}
}
