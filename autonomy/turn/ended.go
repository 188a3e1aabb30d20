package turn

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/tools"
)

func (r *turnRun) buildOutcome(answer string) Outcome {
	o := Outcome{Answer: answer, Messages: r.unstoredMessages(), Record: joinWrites(r.pending), Usage: r.usage, Rounds: r.round, Source: r.answerSource(), Origins: r.contextOrigins(), Realm: r.o.Realm}
	if r.model != nil {
		o.Model = cmp.Or(r.by, r.model.Info().Name())
	}
	return o
}

// outcomeOfError converts the error of a turn into its outcome.
func (r *turnRun) outcomeOfError(ctx context.Context, err error) (Outcome, error) {
	switch {
	case errors.Is(err, ErrStopped), errors.Is(context.Cause(ctx), ErrStopped):
		return r.interruptedOutcome(ctx), nil
	case ctx.Err() != nil:
		return Outcome{}, ErrDraining
	}
	r.settleOpenCalls(ctx, tools.Errorf(tools.Cancelled, "the turn ended before this call ran"))
	return r.buildOutcome(r.partial), err
}

// interruptedOutcome stores the partial answer, marked as interrupted, and answers every open call so
// that the history stays well formed.
func (r *turnRun) interruptedOutcome(ctx context.Context) Outcome {
	r.settleOpenCalls(ctx, tools.Errorf(tools.Cancelled, "the user stopped this turn before this call ran"))
	answer := "Stopped."
	if text := strings.TrimSpace(r.partial); text != "" {
		answer = text + " … [interrupted]"
	}
	r.appendAnswer([]llm.Part{{Text: answer}})
	o := r.buildOutcome(answer)
	o.Interrupted = true
	return o
}

// settleOpenCalls answers the open calls of the last answer: with their results if they ran, otherwise
// with the given error.
func (r *turnRun) settleOpenCalls(ctx context.Context, why error) {
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
		if !s.hasOutcome() {
			s.err = why
		}
	}
	r.appendResults(context.WithoutCancel(ctx))
}

// isTainted reports whether untrusted text is in the context of the next call.
func (r *turnRun) isTainted() bool {
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

// ownerWords returns tools.Call.OwnerWords for this turn.
func (r *turnRun) ownerWords() []string {
	t := r.t
	if !t.Private || !t.Attended || t.Guest || t.Depth > 0 || t.Source != provenance.Owner || len(t.Outside) > 0 || r.isTainted() {
		return nil
	}
	if t.Call != nil { // the owner wrote the arguments
		return jsonStrings(t.Call.Args)
	}
	return append([]string{t.Text}, r.words...)
}

// answerSource returns the provenance of Hob's answer. The model may repeat untrusted text from its
// context, so its words stay tainted after that text has left the window.
func (r *turnRun) answerSource() provenance.Source {
	if r.isTainted() {
		return provenance.Outside
	}
	return provenance.Hob
}
