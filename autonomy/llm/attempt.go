package llm

import (
	"context"
	"errors"
	"strings"
)

// outcome is how one attempt of a model call ended.
type outcome struct {
	err   *Error // nil when the stream ended well or the consumer left
	left  bool   // the consumer broke out of the loop
	shown bool   // something was passed on that cannot be taken back
}

// attempt streams one call and holds back everything that must not reach the
// consumer twice (finished calls and thinking blocks) until there is no way
// back: the first visible text or picture, or the end. Reasoning deltas pass at once; they
// are never part of an answer. So a broken stream can be tried again for as
// long as the owner has not seen a word.
func attempt(ctx context.Context, m Model, r Request, yield func(Event, error) bool) outcome {
	var held []Event
	var o outcome
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
			o.shown = o.shown || o.err.Acted // there is no way back from what was done
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
	o.err = &Error{Kind: Garbled, Provider: m.Info().Provider, Message: "the stream ended without an end", Visible: o.shown}
	return o
}

// asError copies the error, so that a decorator may add to it.
func asError(m Model, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		c := *e
		return &c
	}
	return &Error{Kind: Garbled, Provider: m.Info().Provider, Message: err.Error(), Err: err}
}

func interrupted(ctx context.Context, m Model) *Error {
	return &Error{Kind: Interrupted, Provider: m.Info().Provider, Message: "the model call was stopped", Err: context.Cause(ctx)}
}
