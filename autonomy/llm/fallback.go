package llm

import (
	"context"
	"errors"
	"iter"
)

// Fallback returns a model that calls the given models in order until one answers. It calls the
// next model only if no visible output was streamed and the failure is the provider's, which means
// that it is temporary or concerns the key, payment or model. Each call starts with the first model
// again. Wrap a Breaker around each model, so that a failing model does not delay every call:
// Fallback(Breaker(Retry(a)), Breaker(b)).
//
// Info describes the first model. Event.Model in the Done event names the model that answered.
func Fallback(models ...Model) Model {
	if len(models) == 1 {
		return models[0]
	}
	return &fallback{models}
}

type fallback struct{ models []Model }

func (f *fallback) Info() Info {
	if len(f.models) == 0 {
		return Info{}
	}
	return f.models[0].Info()
}

func (f *fallback) Stream(ctx context.Context, r Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var failed []*Error
		for _, m := range f.models {
			o := runAttempt(ctx, m, r, withModelName(m, yield))
			if o.err == nil {
				return
			}
			failed = append(failed, o.err)
			if o.shown || !CanFallBack(o.err) || ctx.Err() != nil {
				yield(Event{}, o.err)
				return
			}
		}
		yield(Event{}, summarizeFailures(failed))
	}
}

// withModelName adds the model's name to the Done event.
func withModelName(m Model, yield func(Event, error) bool) func(Event, error) bool {
	return func(e Event, err error) bool {
		if e.Kind == Done && e.Model == "" {
			e.Model = m.Info().Name()
		}
		return yield(e, err)
	}
}

// CanFallBack reports whether another provider may succeed after this error.
func CanFallBack(e *Error) bool {
	switch e.Kind {
	case Unauthorized, Payment, NotFound, Budget: // Hob's caps do not apply to a free model
		return true
	}
	return e.Retryable()
}

// summarizeFailures returns the first failure (of a model that was really called, if any), and
// appends the provider and message of each other failure to its message.
func summarizeFailures(failed []*Error) *Error {
	if len(failed) == 0 {
		return &Error{Kind: BadRequest, Provider: "fallback", Message: "no model is configured", Remedy: "run hob setup"}
	}
	first := 0
	for i, e := range failed {
		if !errors.Is(e, ErrOpen) {
			first = i
			break
		}
	}
	out := *failed[first]
	for i, e := range failed {
		if i != first {
			out.Message += ", and " + e.Provider + ": " + e.Message
		}
	}
	return &out
}
