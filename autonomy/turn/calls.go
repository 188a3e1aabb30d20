package turn

import (
	"context"
	"slices"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/platform/store"
	"hob/tools"
)

// toolCalls processes the calls in one answer, in order or in parallel, until there are results or
// a question to the owner.
type toolCalls struct {
	o      *Options
	t      *Turn
	conv   *conversation
	rec    *stepRecorder
	hist   *callHistory
	policy *policyCheck
	chain  *hookChain
	exec   *toolExecutor
	in     *contextBuilder
}

// runCalls runs the calls in the last answer and appends their results. suspended reports whether a
// question is waiting for the owner and the turn is stored until the answer.
func (tc *toolCalls) runCalls(ctx context.Context, calls []llm.ToolCall) (suspended bool, err error) {
	tc.hist.steps = tc.resolveAll(ctx, calls, true)
	if canRunTogether(tc.hist.steps) {
		suspended, err = tc.runTogether(ctx)
	} else {
		suspended, err = tc.runInOrder(ctx)
	}
	if err != nil || suspended {
		return suspended, err
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	tc.appendResults(ctx)
	return false, nil
}

// resolveAll finds the tools for the calls. If replay is true, it also restores the outcomes of
// calls that ran before a crash.
func (tc *toolCalls) resolveAll(ctx context.Context, calls []llm.ToolCall, replay bool) []*callStep {
	steps := make([]*callStep, len(calls))
	for i, c := range calls {
		s := &callStep{call: c, args: c.Args}
		steps[i] = s
		if i >= maxCalls {
			s.refuseCall("route", tools.Errorf(tools.TooManyCalls, "an answer may contain at most %d calls; this call was refused, so make it in the next answer", maxCalls))
		}
		if err := tc.chain.beforeTool(ctx, s, true); err != nil {
			s.refuseCall("route", denialError("route", err)) // a failure in an early link refuses the call and never ends the turn
		}
		if replay {
			tc.replayCall(ctx, s)
		}
	}
	return steps
}

// replayCall restores the outcome of a call that ran before a crash. It reads the outcome from the
// ledger, even if the tool no longer exists.
func (tc *toolCalls) replayCall(ctx context.Context, s *callStep) {
	e, ok := tc.rec.ledger[s.call.ID]
	if !ok {
		return
	}
	switch e.State {
	case bus.CallDone:
		s.result, s.ran, s.err = tools.Result{Text: e.Result, Source: e.Source, Origins: tc.rec.earlierCallOrigins(ctx, s.call.ID)}, true, nil
	case bus.CallFailed, bus.CallDenied, bus.CallUnknown:
		s.err = &tools.Error{Code: tools.Code(e.Code), Message: e.Result, Source: e.Source}
	case bus.CallStarted:
		if _, waits := s.tool.(tools.Waiter); waits {
			return // the work continues elsewhere, and awaitCall gets the outcome
		}
		s.err = tools.Errorf(tools.OutcomeUnknown, "Hob was interrupted while %s ran, so the outcome of the call is unknown; Hob did not repeat the call. Check before trying again", tools.Clean(e.Tool))
		e = unknownEntry(e, s.err)
		tc.rec.queueWrite(func(tx *store.Tx) error { return tc.rec.recordEndTx(tx, s, e) })
	}
}

// decideCall passes a call through the chain up to the policy check. An error ends the turn.
func (tc *toolCalls) decideCall(ctx context.Context, s *callStep) error {
	wrong := !s.ran && (s.dec.Rule == "route" || s.dec.Rule == "schema")
	if s.hasOutcome() && !wrong { // the call ran before a crash
		return nil
	}
	return tc.chain.beforeTool(ctx, s, false)
}

// runInOrder runs the calls one after another. At the first call that needs approval, it requests
// approval for this call together with all later ones that need it.
func (tc *toolCalls) runInOrder(ctx context.Context) (suspended bool, err error) {
	for i, s := range tc.hist.steps {
		if !s.decided {
			if err := tc.decideCall(ctx, s); err != nil {
				return false, err
			}
		}
		if s.hasOutcome() {
			continue
		}
		if s.dec.Verdict == guard.Ask {
			return tc.suspendCalls(ctx, i)
		}
		if w, ok := s.tool.(tools.Waiter); ok {
			if suspended, err := tc.exec.awaitCall(ctx, s, w); err != nil || suspended {
				return suspended, err
			}
			continue
		}
		if err := tc.exec.performCall(ctx, s); err != nil {
			return false, err
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	return false, tc.rec.saveSteps(ctx) // if no call has run, the steps are not stored yet
}

// suspendCalls asks the owner about call i and every later call that needs approval, and suspends
// the turn, all in one transaction. The next events of its session do not wait for the answer. A
// call on the owner's screen gets a separate question.
func (tc *toolCalls) suspendCalls(ctx context.Context, i int) (bool, error) {
	asks := []*callStep{tc.hist.steps[i]}
	for _, s := range tc.hist.steps[i+1:] {
		if isScreenCall(tc.hist.steps[i]) {
			break
		}
		if s.hasOutcome() || !tc.chain.passesPrograms(ctx, s) {
			continue
		}
		if err := tc.policy.askGuard(ctx, s); err != nil {
			return false, err
		}
		if s.dec.Verdict == guard.Ask && !goesOn(asks, s) && !isScreenCall(s) {
			asks = append(asks, s)
		}
	}
	_, err := tc.policy.askOwner(ctx, asks, func(tx *store.Tx, until time.Time) error {
		return tc.o.Bus.Inbox.ParkTx(tx, tc.t.Event, until)
	})
	return err == nil, err
}

// goesOn reports whether one of the questions already covers a call. Such a question asks whether
// the tool may continue to change items.
func goesOn(asks []*callStep, s *callStep) bool {
	return s.dec.Rule == guard.BatchRule && s.dec.Judgment.Items <= 1 && slices.ContainsFunc(asks, func(a *callStep) bool {
		return a.dec.Rule == guard.BatchRule && a.tool.Spec().Name == s.tool.Spec().Name
	})
}

// isScreenCall reports whether a call acts on the owner's screen. Such a call runs only while no
// question is open, because it could answer a question on the screen. The guard assesses later
// calls based on the screen content after this call.
func isScreenCall(s *callStep) bool {
	j := s.dec.Judgment
	return j.Private && j.Effects&tools.Exec != 0
}

// settleOpenCalls answers the open calls in the last answer: with their results if they ran, and
// otherwise with the given error.
func (tc *toolCalls) settleOpenCalls(ctx context.Context, why error) {
	last := tc.conv.lastMessage()
	if last.Role != llm.Assistant {
		return
	}
	if calls := callsOf(last); tc.hist.steps == nil && len(calls) > 0 {
		tc.hist.steps = tc.resolveAll(ctx, calls, true)
	}
	if tc.hist.steps == nil {
		return
	}
	for _, s := range tc.hist.steps {
		if !s.hasOutcome() {
			s.err = why
		}
	}
	tc.appendResults(context.WithoutCancel(ctx))
}
