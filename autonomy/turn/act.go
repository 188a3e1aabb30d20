package turn

import (
	"context"
	"encoding/json"
	"time"

	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/tools"
)

// callStep is the state of one call of a model's answer.
type callStep struct {
	call   llm.ToolCall // as the model made it
	tool   tools.Tool   // the tool that is executed
	args   json.RawMessage
	dec    guard.Decision
	err    error // decided without running, or the tool's own
	result tools.Result
	ran    bool
	// decided: the chain has been passed, though the call may not have run yet.
	decided bool
	took    time.Duration
	text    string // the part that the model reads
	body    int    // how much of that is the call's own, and not a hint
	// inView are the origins of the untrusted text in context at the decision.
	inView []provenance.Origin
}

// hasOutcome reports whether the call's result is known.
func (s *callStep) hasOutcome() bool { return s.ran || s.err != nil }

// runCalls runs the calls of the last answer and appends their results. suspended means that a
// question waits for the owner and the turn is stored until the answer.
func (r *turnRun) runCalls(ctx context.Context, calls []llm.ToolCall) (suspended bool, err error) {
	r.steps = r.resolveAll(ctx, calls, true)
	if canRunTogether(r.steps) {
		suspended, err = r.runTogether(ctx)
	} else {
		suspended, err = r.runInOrder(ctx)
	}
	if err != nil || suspended {
		return suspended, err
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	r.appendResults(ctx)
	return false, nil
}

// refuseCall settles a call before it comes to the gate.
func (s *callStep) refuseCall(rule string, err error) {
	s.err, s.dec = err, guard.Decision{Verdict: guard.Deny, Rule: rule}
}

// toolAndArgs names the call for the loop breaker.
func (s *callStep) toolAndArgs() (tool string, args []byte) {
	if s.tool == nil {
		return s.call.Name, s.call.Args
	}
	return s.tool.Spec().Name, s.args
}

// decideCall passes a call through the chain up to the gate. The error ends the
// turn.
func (r *turnRun) decideCall(ctx context.Context, s *callStep) error {
	wrong := !s.ran && (s.dec.Rule == "route" || s.dec.Rule == "schema")
	if s.hasOutcome() && !wrong { // it ran before a crash
		return nil
	}
	return r.beforeTool(ctx, s, false)
}

// runInOrder runs calls one after another. At the first call that needs approval it asks for
// this and all later ones together.
func (r *turnRun) runInOrder(ctx context.Context) (suspended bool, err error) {
	for i, s := range r.steps {
		if !s.decided {
			if err := r.decideCall(ctx, s); err != nil {
				return false, err
			}
		}
		if s.hasOutcome() {
			continue
		}
		if s.dec.Verdict == guard.Ask {
			return r.suspendCalls(ctx, i)
		}
		if w, ok := s.tool.(tools.Waiter); ok {
			if suspended, err := r.awaitCall(ctx, s, w); err != nil || suspended {
				return suspended, err
			}
			continue
		}
		if err := r.performCall(ctx, s); err != nil {
			return false, err
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	return false, r.saveSteps(ctx) // when none ran
}
