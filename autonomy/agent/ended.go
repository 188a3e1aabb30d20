package agent

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/tools"
)

func (r *run) outcome(answer string) Outcome {
	o := Outcome{Answer: answer, Messages: r.fresh(), Record: all(r.pending), Usage: r.usage, Rounds: r.round, Source: r.voice(), Origins: r.origins(), Realm: r.o.Realm}
	if r.model != nil {
		o.Model = cmp.Or(r.by, r.model.Info().Name())
	}
	return o
}

// ended sorts out why a turn could not go on.
func (r *run) ended(ctx context.Context, err error) (Outcome, error) {
	switch {
	case errors.Is(err, ErrStopped), errors.Is(context.Cause(ctx), ErrStopped):
		return r.interrupted(ctx), nil
	case ctx.Err() != nil:
		return Outcome{}, ErrDraining
	}
	r.settle(ctx, tools.Errorf(tools.Cancelled, "the turn ended before this call ran"))
	return r.outcome(r.partial), err
}

// interrupted keeps what was said so far, marked as cut off, and answers every
// open call so that the history stays well formed.
func (r *run) interrupted(ctx context.Context) Outcome {
	r.settle(ctx, tools.Errorf(tools.Cancelled, "the owner stopped this turn before this call ran"))
	answer := "Stopped."
	if text := strings.TrimSpace(r.partial); text != "" {
		answer = text + " … [interrupted]"
	}
	r.answer([]llm.Part{{Text: answer}})
	o := r.outcome(answer)
	o.Interrupted = true
	return o
}

// settle answers the open calls of the last answer: with what they came to, as
// far as they ran, and with the given error otherwise.
func (r *run) settle(ctx context.Context, why error) {
	last := r.msgs[len(r.msgs)-1]
	if last.Role != llm.Assistant {
		return
	}
	if calls := callsOf(last); r.steps == nil && len(calls) > 0 {
		r.steps = r.resolveAll(ctx, calls, true)
	}
	if r.steps == nil {
		return
	}
	for _, s := range r.steps {
		if !s.settled() {
			s.err = why
		}
	}
	r.append(context.WithoutCancel(ctx))
}

// tainted reports whether outside text is in the context of the next call.
func (r *run) tainted() bool {
	if r.strange.Load() {
		return true
	}
	for _, m := range r.msgs {
		for _, p := range m.Parts {
			if p.Source.Tainted() {
				return true
			}
		}
	}
	return false
}

// ownerWords are what tools.Call.OwnerWords holds in this turn.
func (r *run) ownerWords() []string {
	t := r.t
	if !t.Private || !t.Attended || t.Guest || t.Depth > 0 || t.Source != provenance.Owner || len(t.Outside) > 0 || r.tainted() {
		return nil
	}
	if t.Call != nil { // the owner wrote the arguments
		return texts(t.Call.Args)
	}
	return append([]string{t.Text}, r.words...)
}

// voice is the provenance of what Hob says in this turn. What a model says may
// repeat outside text that was in its context: its own words carry the taint on
// when that has left the window.
func (r *run) voice() provenance.Source {
	if r.tainted() {
		return provenance.Outside
	}
	return provenance.Hob
}
