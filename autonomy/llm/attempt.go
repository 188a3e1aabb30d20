package llm

import (
	"context"
	"errors"
	"strings"
)

// attemptOutcome is the result of one attempt to call a model.
type attemptOutcome struct {
	err   *Error // nil if the stream ended normally or the consumer stopped
	left  bool   // whether the consumer broke out of the loop
	shown bool   // whether visible output was passed to the consumer
}

// runAttempt streams one call. Until the attempt is final, it buffers everything that the consumer
// must not receive twice (finished calls and thinking blocks). An attempt is final at the first
// visible text or picture, or at the end. Reasoning deltas are passed on immediately, because they
// are not part of the answer. A broken stream can therefore be retried until the user has seen
// text.
func runAttempt(ctx context.Context, m Model, r Request, yield func(Event, error) bool) attemptOutcome {
	var held []Event
	var o attemptOutcome
	pass := func(e Event) bool {
		for _, h := range held {
			if !yield(h, nil) {
				return false
			}
		}
		held = nil
		return yield(e, nil)
	}
	for e, err := range m.Stream(ctx, r) {
		if err != nil {
			o.err = asError(m, err)
			o.err.Visible = o.shown
			o.shown = o.shown || o.err.Acted // executed actions must not be repeated
			return o
		}
		switch {
		case o.shown, e.Kind == Done:
			o.shown = true
		case e.Kind == ReasoningDelta:
			if !yield(e, nil) {
				o.left = true
				return o
			}
			continue
		case e.Kind == TextDelta && strings.TrimSpace(e.Text) != "", e.Kind == ImageDone:
			o.shown = true
		default:
			held = append(held, e)
			continue
		}
		if !pass(e) {
			o.left = true
			return o
		}
		if e.Kind == Done {
			return o
		}
	}
	o.err = &Error{Kind: Garbled, Provider: m.Info().Provider, Message: "the stream ended without a final event", Visible: o.shown}
	return o
}

// asError returns err as a new *Error that the caller may change.
func asError(m Model, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		c := *e
		return &c
	}
	return &Error{Kind: Garbled, Provider: m.Info().Provider, Message: err.Error(), Err: err}
}

func interruptedError(ctx context.Context, m Model) *Error {
	return &Error{Kind: Interrupted, Provider: m.Info().Provider, Message: "the model call was canceled", Err: context.Cause(ctx)}
}
