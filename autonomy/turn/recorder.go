package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// stepRecorder makes the steps of a turn durable: new messages, ledger rows, audit lines and
// origins. Writes that are not urgent wait for the next transaction.
type stepRecorder struct {
	o       *Options
	t       *Turn
	conv    *conversation
	pending []func(*store.Tx) error
	ledger  map[string]bus.Entry // calls of this turn before it was interrupted or suspended
}

// queueWrite adds a write to the turn's next transaction.
func (w *stepRecorder) queueWrite(write func(*store.Tx) error) {
	w.pending = append(w.pending, write)
}

// saveSteps makes all steps so far durable. It does nothing if all steps are stored.
func (w *stepRecorder) saveSteps(ctx context.Context) error {
	if len(w.conv.unstoredMessages()) == 0 && len(w.pending) == 0 {
		return nil
	}
	err := w.writeWithSteps(context.WithoutCancel(ctx), func(*store.Tx) error { return nil })
	if err != nil {
		return fmt.Errorf("turn: record step: %w", err)
	}
	return nil
}

// writeWithSteps makes all steps so far durable in the transaction of the next action, so that the
// model's answer and the start of its first call share one commit. It may be called concurrently if
// nothing is left to record.
func (w *stepRecorder) writeWithSteps(ctx context.Context, next func(*store.Tx) error) error {
	fresh, pending := w.conv.unstoredMessages(), w.pending
	if len(fresh) == 0 && len(pending) == 0 {
		return w.o.Store.Write(ctx, next)
	}
	err := w.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := joinWrites(pending)(tx); err != nil {
			return err
		}
		if w.o.Usage != nil {
			if err := w.o.Usage.FlushTx(tx); err != nil {
				return err
			}
		}
		if err := w.o.Sessions.AppendTx(tx, w.t.Event.Session, w.t.Event.ID, fresh); err != nil {
			return err
		}
		return next(tx)
	})
	if err == nil {
		w.conv.stored += len(fresh)
		w.pending = nil
	}
	return err
}

// joinWrites combines several writes into one function.
func joinWrites(todo []func(*store.Tx) error) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		for _, f := range todo {
			if err := f(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// recordStarts records that calls with effects are about to run. A call whose grant has ended does
// not run.
func (w *stepRecorder) recordStarts(ctx context.Context, steps []*callStep) error {
	for {
		steps = slices.DeleteFunc(steps, (*callStep).hasOutcome)
		if len(steps) == 0 {
			return w.saveSteps(ctx)
		}
		var stopped *callStep
		err := w.writeWithSteps(ctx, func(tx *store.Tx) error {
			for _, s := range steps {
				if err := w.recordStartTx(tx, s); err != nil {
					stopped = s
					return err
				}
			}
			return nil
		})
		if err == nil {
			return nil
		}
		if !stopped.refuseUngranted(err) {
			return fmt.Errorf("turn: record the calls: %w", err)
		}
	}
}

// recordStartTx records that one call is about to run.
func (w *stepRecorder) recordStartTx(tx *store.Tx, s *callStep) error {
	if err := w.o.Guard.UseTx(tx, s.dec); err != nil {
		return err
	}
	e := w.ledgerEntry(s)
	e.State = bus.CallStarted
	if err := w.o.Bus.Ledger.RecordTx(tx, e); err != nil {
		return err
	}
	return w.auditTx(tx, s, "started")
}

// recordEnd records the end of a call that is recorded as started.
func (w *stepRecorder) recordEnd(ctx context.Context, s *callStep) error {
	e := w.finishedEntry(s)
	err := w.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return w.recordEndTx(tx, s, e) })
	if err != nil {
		return fmt.Errorf("turn: record the call: %w", err)
	}
	return nil
}

// queueEnd queues the end of a call for the turn's next transaction.
func (w *stepRecorder) queueEnd(s *callStep) {
	late := *s
	if late.tool == nil {
		late.tool = missingTool{name: s.call.Name}
	}
	e := w.finishedEntry(&late)
	w.queueWrite(func(tx *store.Tx) error { return w.recordEndTx(tx, s, e) })
}

// recordLate queues the ledger row of a call that does not have one yet.
func (w *stepRecorder) recordLate(s *callStep) {
	if e, known := w.ledger[s.call.ID]; known && !isAwaitingCall(e, s) {
		return
	}
	if s.ran && s.tool != nil {
		own := s.tool.Spec().Own || s.delayed
		if own && s.err == nil || !own && !s.tool.Spec().Effects.ReadOnly() {
			return // performCall has already recorded it
		}
	}
	w.queueEnd(s)
}

// recordEndTx writes the ledger row e of a call that ended, and its audit line.
func (w *stepRecorder) recordEndTx(tx *store.Tx, s *callStep, e bus.Entry) error {
	if err := w.o.Bus.Ledger.RecordTx(tx, e); err != nil {
		return err
	}
	outcome := "done"
	if e.State != bus.CallDone {
		outcome = e.Code
	}
	return w.auditTx(tx, s, outcome)
}

func (w *stepRecorder) ledgerEntry(s *callStep) bus.Entry {
	return bus.Entry{
		Call: s.call.ID, Event: w.t.Event.ID, Session: w.t.Event.Session, Tool: s.tool.Spec().Name, Args: s.args,
		Effects: cmp.Or(s.dec.Judgment.Effects, s.tool.Spec().Effects).String(), Decision: decisionOf(s), StartedAt: time.Now(),
	}
}

// finishedEntry returns the ledger row of a call that ended.
func (w *stepRecorder) finishedEntry(s *callStep) bus.Entry {
	e := w.ledgerEntry(s)
	e.FinishedAt = time.Now()
	if s.err != nil {
		e.State, e.Code, e.Result, e.Source = bus.CallFailed, string(tools.CodeOf(s.err)), s.err.Error(), w.resultSource(s)
		if s.dec.Verdict == guard.Deny {
			e.State = bus.CallDenied
		}
		return e
	}
	e.State, e.Result, e.Source, e.Links = bus.CallDone, s.result.Text, w.resultSource(s), openableAddresses(s)
	if s.result.Data != nil {
		e.Data, _ = json.Marshal(s.result.Data) // only for display; the model reads the text
	}
	if u := s.result.Undo; u != nil {
		e.UndoLabel, e.Undo = u.Label, u.Data
	}
	return e
}

// unknownEntry returns the row of a call that was interrupted. The row's text is Hob's own, so it
// has Hob's provenance, even after another crash.
func unknownEntry(e bus.Entry, why error) bus.Entry {
	e.State, e.Code, e.FinishedAt = bus.CallUnknown, string(tools.OutcomeUnknown), time.Now()
	e.Result, e.Source = why.Error(), tools.SourceOf(why)
	return e
}

// resultSource returns the provenance that a call adds to the conversation. The result of an action
// that ran with untrusted text in context may repeat that text, and so may the text of its later
// undo.
func (w *stepRecorder) resultSource(s *callStep) provenance.Source {
	if w.conv.isTainted() {
		return provenance.Outside
	}
	return outcomeSource(s)
}

func (w *stepRecorder) auditTx(tx *store.Tx, s *callStep, outcome string) error {
	rec := guard.Record{
		Actor: "hob", Action: "call", Event: w.t.Event.ID, Session: w.t.Event.Session, Origin: w.t.Origin, Call: s.call.ID,
		Tool: "(none)", Verdict: s.dec.Verdict.String(), Rule: s.dec.Rule, Tainted: s.tainted, Outcome: outcome, Args: s.args,
	}
	if s.tool != nil { // a tool name invented by the model is model text, which must not enter the log
		rec.Tool, rec.Effects = s.tool.Spec().Name, cmp.Or(s.dec.Judgment.Effects, s.tool.Spec().Effects).String() // the effects of this call, not of the tool in general
	}
	if rec.Tainted {
		rec.Origins = s.inView
	}
	if err := w.traceTx(tx, s); err != nil {
		return err
	}
	return w.o.Guard.AuditTx(tx, rec)
}
