package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/undo"
	"hob/platform/failpoint"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// toolExecutor runs one allowed call and records its start and its end.
type toolExecutor struct {
	o      *Options
	t      *Turn
	conv   *conversation
	rec    *stepRecorder
	hist   *callHistory
	budget *turnBudget
	feed   *liveFeed
}

// defaultTimeout is the time limit for tools that do not set their own.
const defaultTimeout = 120 * time.Second

// performCall runs an allowed call and makes its outcome durable. It returns only store errors; the
// tool's error is in the step.
func (x *toolExecutor) performCall(ctx context.Context, s *callStep) error {
	if s.dec.Verdict != guard.Allow { // only calls that the guard allowed may run
		return fmt.Errorf("turn: %s: not allowed by the guard: verdict is %s", s.tool.Spec().Name, s.dec.Verdict)
	}
	if late := x.delayOf(s); late != nil && !s.hasOutcome() {
		return x.performOwn(ctx, s, late)
	}
	if _, own := s.tool.(tools.TxTool); !own { // a TxTool begins and ends in one transaction
		if err := x.rec.recordStarts(ctx, effectfulSteps([]*callStep{s})); err != nil {
			return err
		}
	}
	return x.executeCall(ctx, s)
}

// executeCall runs a call that is in the ledger, unless it already ran, and makes its outcome
// durable.
func (x *toolExecutor) executeCall(ctx context.Context, s *callStep) error {
	if s.hasOutcome() { // recordStarts refused it, because its grant has ended
		return nil
	}
	if own, ok := s.tool.(tools.TxTool); ok {
		x.feed.publishEvent("tool_start", map[string]any{"id": s.call.ID, "name": s.tool.Spec().Name})
		return x.performOwn(ctx, s, own)
	}
	if s.tool.Spec().Effects.ReadOnly() {
		s.result, s.err = x.callTool(ctx, s)
		s.ran = true
		return nil
	}
	if err := x.o.Bus.Lease.Check(); err != nil { // another instance reports the outcome of this call as unknown
		return err
	}
	failpoint.Hit("tool.call.before")
	s.result, s.err = x.callTool(ctx, s)
	s.ran = true
	failpoint.Hit("tool.call.after")
	return x.rec.recordEnd(ctx, s)
}

// performOwn runs a TxTool inside the transaction that records the call as done, so that its
// effect happens exactly once.
func (x *toolExecutor) performOwn(ctx context.Context, s *callStep, own tools.TxTool) error {
	var failed error
	done := *s
	prepared, err := x.prepareCall(ctx, s, own)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("turn: %s: %w", s.tool.Spec().Name, err)
		}
		s.err, s.ran = err, true
		return nil
	}
	err = x.rec.writeWithSteps(ctx, func(tx *store.Tx) error {
		if err := x.o.Guard.UseTx(tx, s.dec); err != nil {
			return err
		}
		if done.result, failed = x.callOwn(context.WithoutCancel(ctx), tx, s, own, prepared); failed != nil {
			return failed
		}
		done.result.Text = x.o.Redact.Text(done.result.Text)
		done.ran = true
		if err := x.rec.recordEndTx(tx, &done, x.rec.finishedEntry(&done)); err != nil || !done.waitsForUndo() {
			return err
		}
		return x.o.Bus.Inbox.PromoteTx(tx, x.t.Event.Session, undo.IsOwnerRequest)
	})
	switch {
	case err == nil:
		*s = done
		return nil
	case failed == nil && s.refuseUngranted(err):
		return nil
	case failed == nil || store.IsOutage(err): // the transaction failed, not the tool
		return fmt.Errorf("turn: %s: %w", s.tool.Spec().Name, err)
	}
	s.err, s.ran = failed, true
	return nil
}

// waitsForUndo reports whether the call is a send that the user can cancel for a short time. The
// message "undo that" after such a call must not wait for the end of the turn.
func (s *callStep) waitsForUndo() bool {
	return s.result.Undo != nil && tools.ReachesOthers(s.tool.Spec(), s.dec.Judgment)
}

// prepareCall runs the part of the tool that does not need the transaction.
func (x *toolExecutor) prepareCall(ctx context.Context, s *callStep, own tools.TxTool) (prepared any, err error) {
	p, ok := own.(tools.Preparer)
	if !ok || x.o.DryRun != nil {
		return nil, nil //nolint:nilnil // nothing to prepare, and nothing is wrong
	}
	defer x.recoverToolPanic(s, &err)
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	return p.Prepare(ctx, x.toolCall(s, discardProgress))
}

func (x *toolExecutor) callOwn(ctx context.Context, tx *store.Tx, s *callStep, own tools.TxTool, prepared any) (res tools.Result, err error) {
	defer x.recoverToolPanic(s, &err)
	if x.o.DryRun != nil {
		return x.o.DryRun.AnswerCall(s.call.ID)
	}
	c := x.toolCall(s, discardProgress)
	c.Prepared = prepared
	return own.CallTx(ctx, tx, c)
}

// callTool runs the tool within its time limit.
func (x *toolExecutor) callTool(ctx context.Context, s *callStep) (res tools.Result, err error) {
	limit := s.tool.Spec().Timeout
	if limit <= 0 {
		limit = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p, end := newPulse(ctx, s.call.ID, s.tool.Spec().Name, x.feed.publishEvent)
	defer func() {
		end()
		s.took = time.Since(p.began)
	}()
	defer x.recoverToolPanic(s, &err)
	if x.o.DryRun != nil {
		return x.o.DryRun.AnswerCall(s.call.ID)
	}
	res, err = s.tool.Call(ctx, x.toolCall(s, p.reportProgress))
	res.Text = x.o.Redact.Text(res.Text)
	return res, err
}

// discardProgress ignores the progress of calls that end immediately.
func discardProgress(float64, string) {}

// recoverToolPanic converts a panic of the tool into a tool error.
func (x *toolExecutor) recoverToolPanic(s *callStep, err *error) {
	if p := recover(); p != nil {
		x.o.Log.Error("tool panicked", "tool", s.tool.Spec().Name, "panic", fmt.Sprint(p))
		*err = tools.Errorf(tools.Failed, "%s crashed: %v", tools.Clean(s.tool.Spec().Name), p)
	}
}

func (x *toolExecutor) toolCall(s *callStep, progress func(float64, string)) tools.Call {
	c := tools.Call{
		ID: s.call.ID, Session: x.t.Event.Session, Event: x.t.Event.ID, Args: s.args, Now: time.Now().In(x.o.Zone()),
		Report: x.t.Report, Agent: x.o.Name, Realm: x.o.Realm, Provenance: provenance.Owner,
		Progress: progress, Exact: s.dec.Judgment.Exact, OwnerWords: x.conv.ownerWords(), Typed: x.conv.typedText(),
	}
	if x.conv.isTainted() {
		c.Provenance, c.Origins = provenance.Outside, x.conv.contextOrigins()
	}
	return c
}

// awaitCall starts a call whose work continues elsewhere, or asks for the result of that work.
// While the work runs, the turn is suspended. The suspension is stored in the same transaction, so
// the turn cannot miss the end of the work.
func (x *toolExecutor) awaitCall(ctx context.Context, s *callStep, w tools.Waiter) (suspended bool, err error) {
	if s.dec.Verdict != guard.Allow { // only calls that the guard allowed may run
		return false, fmt.Errorf("turn: %s: not allowed by the guard: verdict is %s", s.tool.Spec().Name, s.dec.Verdict)
	}
	x.feed.publishEvent("status", map[string]any{"tool": s.tool.Spec().Name, "state": "running"})
	var failed error
	var out tools.Outcome
	done := *s
	err = x.rec.writeWithSteps(ctx, func(tx *store.Tx) error {
		done = *s
		if out, failed = x.outcomeTx(ctx, tx, s, w); failed != nil {
			return failed
		}
		out.Result.Text = x.o.Redact.Text(out.Result.Text)
		done.ran, done.result, done.err = out.Done, out.Result, out.Err
		return x.awaitedTx(tx, &done, out)
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
		x.rec.ledger[s.call.ID] = x.rec.finishedEntry(s)
	}
	if out.Stopped {
		return false, ErrStopped
	}
	x.budget.lent += out.Rounds
	x.budget.spent += out.Tokens
	return !out.Done, nil
}

// isAwaitingCall reports whether a call started work elsewhere that is still running.
func isAwaitingCall(e bus.Entry, s *callStep) bool {
	_, waits := s.tool.(tools.Waiter)
	return waits && e.State == bus.CallStarted
}

// canModelFix reports whether the model may be able to correct a failure. If not, the turn fails.
func canModelFix(err error) bool {
	_, ok := errors.AsType[*tools.Error](err)
	return ok && !store.IsOutage(err)
}

func (x *toolExecutor) outcomeTx(ctx context.Context, tx *store.Tx, s *callStep, w tools.Waiter) (out tools.Outcome, err error) {
	defer x.recoverToolPanic(s, &err)
	ctx = WithCaller(context.WithoutCancel(ctx), x.callerInfo(ctx))
	if !isAwaitingCall(x.rec.ledger[s.call.ID], s) {
		if _, err := w.CallTx(ctx, tx, x.toolCall(s, discardProgress)); err != nil {
			return out, err
		}
	}
	return w.OutcomeTx(ctx, tx, x.toolCall(s, discardProgress))
}

// awaitedTx records the state of a call and suspends the turn while the work runs.
func (x *toolExecutor) awaitedTx(tx *store.Tx, s *callStep, out tools.Outcome) error {
	if out.Done {
		return x.rec.recordEndTx(tx, s, x.rec.finishedEntry(s))
	}
	if !isAwaitingCall(x.rec.ledger[s.call.ID], s) {
		if err := x.rec.recordStartTx(tx, s); err != nil {
			return err
		}
	}
	return x.o.Bus.Inbox.SuspendTx(tx, x.t.Event.ID, out.Until)
}

// Caller describes the turn that makes a call, for tools that start turns. The permissions of the
// started turns derive from Caller.
type Caller struct {
	Agent   string // name of the calling agent
	Turn    Turn
	Tainted bool
	Origins []provenance.Origin
	Tools   []string // the names of its tools
	Level   guard.Level
	// Words are the owner's words in the turn.
	Words []string
	// Rounds and Tokens are the model calls and output tokens that the turn may still use.
	Rounds, Tokens int
}

type callerKey struct{}

// WithCaller returns a context for tool calls on behalf of a turn.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the turn that called a tools.Waiter.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

func (x *toolExecutor) callerInfo(ctx context.Context) Caller {
	c := Caller{
		Agent: x.o.Name, Turn: *x.t, Tainted: x.conv.isTainted(), Origins: x.conv.contextOrigins(), Level: x.o.Level.Narrower(x.t.Level),
		Rounds: max(0, x.o.Limits.Rounds-x.budget.round-x.budget.lent), Tokens: max(0, x.o.Limits.Tokens-x.budget.spent),
	}
	c.Words = x.hist.egressEvidence(ctx, nil).Now
	for _, t := range x.o.Catalog.All() {
		c.Tools = append(c.Tools, t.Spec().Name)
	}
	return c
}
