package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/platform/failpoint"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// defaultTimeout is the time limit of a tool without its own.
const defaultTimeout = 120 * time.Second

// replayCall restores the outcome of a call that ran before a crash from the ledger, even if the
// tool no longer exists.
func (r *turnRun) replayCall(ctx context.Context, s *callStep) {
	e, ok := r.ledger[s.call.ID]
	if !ok {
		return
	}
	switch e.State {
	case bus.CallDone:
		s.result, s.ran, s.err = tools.Result{Text: e.Result, Source: e.Source, Origins: r.earlierCallOrigins(ctx, s.call.ID)}, true, nil
	case bus.CallFailed, bus.CallDenied, bus.CallUnknown:
		s.err = &tools.Error{Code: tools.Code(e.Code), Message: e.Result, Source: e.Source}
	case bus.CallStarted:
		if _, waits := s.tool.(tools.Waiter); waits {
			return // its work continues elsewhere; await gets the outcome
		}
		s.err = tools.Errorf(tools.OutcomeUnknown, "Hob was cut off while %s ran, and nobody knows whether it took effect; it was not repeated. Check before trying again", tools.Clean(e.Tool))
		e.State, e.Code, e.Result, e.FinishedAt = bus.CallUnknown, string(tools.OutcomeUnknown), s.err.Error(), time.Now()
		e.Source = tools.SourceOf(s.err) // so that it is Hob's own text after another crash, too
		r.pending = append(r.pending, func(tx *store.Tx) error {
			if err := r.o.Bus.RecordTx(tx, e); err != nil {
				return err
			}
			return r.auditTx(tx, s, string(tools.OutcomeUnknown))
		})
	}
}

// performCall runs an allowed call and makes its outcome durable. The error is the
// store's; the tool's own is in the step.
func (r *turnRun) performCall(ctx context.Context, s *callStep) error {
	if s.dec.Verdict != guard.Allow { // nothing runs past the gate
		return fmt.Errorf("turn: %s: the guard says %s", s.tool.Spec().Name, s.dec.Verdict)
	}
	if _, own := s.tool.(tools.TxTool); !own { // an own one begins and ends in one transaction
		if err := r.recordStarts(ctx, effectfulSteps([]*callStep{s})); err != nil {
			return err
		}
	}
	return r.executeCall(ctx, s)
}

// executeCall runs a call that is in the ledger, unless it has run, and makes its outcome durable.
func (r *turnRun) executeCall(ctx context.Context, s *callStep) error {
	if s.hasOutcome() { // its grant ended
		return nil
	}
	if own, ok := s.tool.(tools.TxTool); ok {
		r.publishLive("tool_start", map[string]any{"id": s.call.ID, "name": s.tool.Spec().Name})
		return r.performOwn(ctx, s, own)
	}
	if s.tool.Spec().Effects.ReadOnly() {
		s.result, s.err = r.callTool(ctx, s)
		s.ran = true
		return nil
	}
	failpoint.Hit("tool.call.before")
	s.result, s.err = r.callTool(ctx, s)
	s.ran = true
	failpoint.Hit("tool.call.after")
	e := r.finishedEntry(s)
	err := r.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if err := r.o.Bus.RecordTx(tx, e); err != nil {
			return err
		}
		return r.auditTx(tx, s, outcomeOf(s))
	})
	if err != nil {
		return fmt.Errorf("turn: record the call: %w", err)
	}
	return nil
}

// performOwn runs an own tool inside the transaction that records it as done:
// it happens exactly once.
func (r *turnRun) performOwn(ctx context.Context, s *callStep, own tools.TxTool) error {
	var failed error
	done := *s
	prepared, err := r.prepareCall(ctx, s, own)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("turn: %s: %w", s.tool.Spec().Name, err)
		}
		s.err, s.ran = err, true
		return nil
	}
	err = r.writeWithSteps(ctx, func(tx *store.Tx) error {
		if err := r.o.Guard.UseTx(tx, s.dec); err != nil {
			return err
		}
		if done.result, failed = r.callOwn(context.WithoutCancel(ctx), tx, s, own, prepared); failed != nil {
			return failed
		}
		done.result.Text = r.o.Redact.Text(done.result.Text)
		done.ran = true
		if err := r.o.Bus.RecordTx(tx, r.finishedEntry(&done)); err != nil {
			return err
		}
		return r.auditTx(tx, &done, "done")
	})
	switch {
	case err == nil:
		*s = done
		return nil
	case failed == nil && s.refuseUngranted(err):
		return nil
	case failed == nil || errors.Is(err, store.ErrFull): // not the tool's fault
		return fmt.Errorf("turn: %s: %w", s.tool.Spec().Name, err)
	}
	s.err, s.ran = failed, true
	return nil
}

// prepareCall runs the part of the tool that does not need the transaction.
func (r *turnRun) prepareCall(ctx context.Context, s *callStep, own tools.TxTool) (prepared any, err error) {
	p, ok := own.(tools.Preparer)
	if !ok || r.o.Dry != nil {
		return nil, nil //nolint:nilnil // nothing to prepare, and nothing is wrong
	}
	defer r.recoverToolPanic(s, &err)
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	return p.Prepare(ctx, r.toolCall(s, discardProgress))
}

func (r *turnRun) callOwn(ctx context.Context, tx *store.Tx, s *callStep, own tools.TxTool, prepared any) (res tools.Result, err error) {
	defer r.recoverToolPanic(s, &err)
	if r.o.Dry != nil {
		return r.o.Dry(s.call.ID)
	}
	c := r.toolCall(s, discardProgress)
	c.Prepared = prepared
	return own.CallTx(ctx, tx, c)
}

// callTool runs the tool itself, with its time limit.
func (r *turnRun) callTool(ctx context.Context, s *callStep) (res tools.Result, err error) {
	limit := s.tool.Spec().Timeout
	if limit <= 0 {
		limit = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p, end := newPulse(ctx, s.call.ID, s.tool.Spec().Name, r.publishLive)
	defer func() {
		end()
		s.took = time.Since(p.began)
	}()
	defer r.recoverToolPanic(s, &err)
	if r.o.Dry != nil {
		return r.o.Dry(s.call.ID)
	}
	res, err = s.tool.Call(ctx, r.toolCall(s, p.reportProgress))
	res.Text = r.o.Redact.Text(res.Text)
	return res, err
}

// recoverToolPanic turns a tool's panic into its failure.
func (r *turnRun) recoverToolPanic(s *callStep, err *error) {
	if p := recover(); p != nil {
		r.o.Log.Error("tool panicked", "tool", s.tool.Spec().Name, "panic", fmt.Sprint(p))
		*err = tools.Errorf(tools.Failed, "%s broke down: %v", tools.Clean(s.tool.Spec().Name), p)
	}
}

// publishLive publishes an event of the turn to the live feed.
func (r *turnRun) publishLive(typ string, data map[string]any) {
	r.o.Bus.Feed.Publish(typ, r.t.Event.ID, r.t.Event.Session, data)
}

func (r *turnRun) toolCall(s *callStep, progress func(float64, string)) tools.Call {
	c := tools.Call{
		ID: s.call.ID, Session: r.t.Event.Session, Event: r.t.Event.ID, Args: s.args, Now: time.Now().In(r.o.Zone()),
		Report: r.t.Report, Agent: r.o.Name, Realm: r.o.Realm, Provenance: provenance.Owner,
		Progress: progress, Exact: s.dec.Judgement.Exact, OwnerWords: r.ownerWords(),
	}
	if r.isTainted() {
		c.Provenance, c.Origins = provenance.Outside, r.contextOrigins()
	}
	return c
}
