package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// Caller describes the turn that makes a call, for tools that start turns: the permissions of
// those turns derive from it.
type Caller struct {
	Agent   string // its name
	Turn    Turn
	Tainted bool
	Origins []provenance.Origin
	Tools   []string // the names of those it has
	Level   guard.Level
	// Words are the owner's words in the turn.
	Words []string
	// Rounds and Tokens remain of its limits.
	Rounds, Tokens int
}

type callerKey struct{}

// CallerOf returns the turn on whose behalf a tools.Waiter is called.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

func (r *turnRun) callerInfo(ctx context.Context) Caller {
	c := Caller{
		Agent: r.o.Name, Turn: r.t, Tainted: r.isTainted(), Origins: r.contextOrigins(), Level: r.o.Level.Narrower(r.t.Level),
		Rounds: max(0, r.o.Limits.Rounds-r.round-r.lent), Tokens: max(0, r.o.Limits.Tokens-r.spent),
	}
	c.Words = r.egressEvidence(ctx, nil).Now
	for _, t := range r.o.Catalogue.All() {
		c.Tools = append(c.Tools, t.Spec().Name)
	}
	return c
}

// isAwaitingCall reports whether a call has started work elsewhere that is still running.
func isAwaitingCall(e bus.Entry, s *callStep) bool {
	_, waits := s.tool.(tools.Waiter)
	return waits && e.State == bus.CallStarted
}

// awaitCall starts a call whose work continues elsewhere, or asks for its result. While the work
// runs, the turn is suspended; this happens in the same transaction, so that the end of the
// work cannot be missed.
func (r *turnRun) awaitCall(ctx context.Context, s *callStep, w tools.Waiter) (suspended bool, err error) {
	if s.dec.Verdict != guard.Allow { // nothing runs past the gate
		return false, fmt.Errorf("turn: %s: the guard says %s", s.tool.Spec().Name, s.dec.Verdict)
	}
	r.publishLive("status", map[string]any{"tool": s.tool.Spec().Name, "state": "running"})
	var failed error
	var out tools.Outcome
	done := *s
	err = r.writeWithSteps(ctx, func(tx *store.Tx) error {
		done = *s
		if out, failed = r.outcomeTx(ctx, tx, s, w); failed != nil {
			return failed
		}
		out.Result.Text = r.o.Redact.Text(out.Result.Text)
		done.ran, done.result, done.err = out.Done, out.Result, out.Err
		return r.awaitedTx(tx, &done, out)
	})
	switch {
	case err != nil && (failed == nil || !canModelFix(failed)):
		return false, fmt.Errorf("turn: %s: %w", s.tool.Spec().Name, err)
	case err != nil:
		s.err, s.ran = failed, true
		return false, nil
	}
	*s = done
	if out.Done {
		r.ledger[s.call.ID] = r.finishedEntry(s)
	}
	if out.Stopped {
		return false, ErrStopped
	}
	r.lent += out.Rounds
	r.spent += out.Tokens
	return !out.Done, nil
}

// canModelFix reports whether the model can react to a failure.
func canModelFix(err error) bool {
	_, ok := errors.AsType[*tools.Error](err)
	return ok && !errors.Is(err, store.ErrFull)
}

func (r *turnRun) outcomeTx(ctx context.Context, tx *store.Tx, s *callStep, w tools.Waiter) (out tools.Outcome, err error) {
	defer r.recoverToolPanic(s, &err)
	ctx = context.WithValue(context.WithoutCancel(ctx), callerKey{}, r.callerInfo(ctx))
	if !isAwaitingCall(r.ledger[s.call.ID], s) {
		if _, err := w.CallTx(ctx, tx, r.toolCall(s, discardProgress)); err != nil {
			return out, err
		}
	}
	return w.OutcomeTx(ctx, tx, r.toolCall(s, discardProgress))
}

// awaitedTx records the state of a call, and suspends the turn while the work runs.
func (r *turnRun) awaitedTx(tx *store.Tx, s *callStep, out tools.Outcome) error {
	if out.Done {
		if err := r.o.Bus.RecordTx(tx, r.finishedEntry(s)); err != nil {
			return err
		}
		return r.auditTx(tx, s, outcomeOf(s))
	}
	if !isAwaitingCall(r.ledger[s.call.ID], s) {
		if err := r.startedTx(tx, s); err != nil {
			return err
		}
	}
	return r.o.Bus.SuspendTx(tx, r.t.Event.ID, out.Until)
}

// recountLent restores a call's share of the turn's limits.
func (r *turnRun) recountLent(s *callStep) {
	if _, waits := s.tool.(tools.Waiter); !waits {
		return
	}
	var used struct{ Rounds, Tokens int }
	if json.Unmarshal(r.ledger[s.call.ID].Data, &used) == nil {
		r.lent += used.Rounds
		r.spent += used.Tokens
	}
}

// discardProgress ignores the progress of calls that end immediately.
func discardProgress(float64, string) {}
