package llm

import (
	"context"
	"errors"
	"iter"
)

// Fallback returns a model that asks the given models in order until one
// answers. The next one is asked only when nothing visible was streamed and the
// failure is the provider's: temporary, or about its key, its bill or its model.
// Each call starts with the first model again; put a Breaker around each, so
// that one that is down costs no time: Fallback(Breaker(Retry(a)), Breaker(b)).
//
// Info describes the first model. Event.Model of the Done event names the one
// that answered.
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
			o := attempt(ctx, m, r, naming(m, yield))
			if o.err == nil {
				return
			}
			failed = append(failed, o.err)
			if o.shown || !elsewhere(o.err) || ctx.Err() != nil {
				yield(Event{}, o.err)
				return
			}
		}
		yield(Event{}, summary(failed))
	}
}

// naming puts the model's name on the Done event.
func naming(m Model, yield func(Event, error) bool) func(Event, error) bool {
	return func(e Event, err error) bool {
		if e.Kind == Done && e.Model == "" {
			e.Model = m.Info().Name()
		}
		return yield(e, err)
	}
}

// elsewhere reports whether another provider may succeed where this one failed.
func elsewhere(e *Error) bool {
	switch e.Kind {
	case Unauthorized, Payment, NotFound, Budget: // a cap does not bind a model that costs nothing
		return true
	}
	return e.Retryable()
}

// summary is the first failure (of a model that was really asked, if any) with
// the others named.
func summary(failed []*Error) *Error {
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
