package agent

import (
	"context"
	"encoding/json"
	"time"

	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/tools"
)

// step is the state of one call of a model's answer.
type step struct {
	call   llm.ToolCall // as the model made it
	tool   tools.Tool   // what really runs
	args   json.RawMessage
	dec    guard.Decision
	err    error // decided without running, or the tool's own
	result tools.Result
	ran    bool
	// decided: the chain has been passed, though the call may not have run yet.
	decided bool
	took    time.Duration
	text    string // what the model reads of it
	body    int    // how much of that is the call's own, and not a hint
	// inView are the origins of the untrusted text in context at the decision.
	inView []provenance.Origin
}

// settled reports whether it is known what the call came to.
func (s *step) settled() bool { return s.ran || s.err != nil }

// act runs the calls of the last answer and appends their results. suspended means that a
// question waits for the owner and the turn is stored until the answer.
func (r *run) act(ctx context.Context, calls []llm.ToolCall) (suspended bool, err error) {
	r.steps = r.resolveAll(ctx, calls, true)
	if together(r.steps) {
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
	r.append(ctx)
	return false, nil
}

// refuse settles a call before it comes to the gate.
func (s *step) refuse(rule string, err error) {
	s.err, s.dec = err, guard.Decision{Verdict: guard.Deny, Rule: rule}
}

// what names the call for the loop breaker.
func (s *step) what() (tool string, args []byte) {
	if s.tool == nil {
		return s.call.Name, s.call.Args
	}
	return s.tool.Spec().Name, s.args
}

// decide passes a call through the chain up to the gate. The error ends the
// turn.
func (r *run) decide(ctx context.Context, s *step) error {
	wrong := !s.ran && (s.dec.Rule == "route" || s.dec.Rule == "schema")
	if s.settled() && !wrong { // it ran before a crash
		return nil
	}
	return r.beforeTool(ctx, s, false)
}

// runInOrder runs calls one after another. At the first call that needs approval it asks for
// this and all later ones together.
func (r *run) runInOrder(ctx context.Context) (suspended bool, err error) {
	for i, s := range r.steps {
		if !s.decided {
			if err := r.decide(ctx, s); err != nil {
				return false, err
			}
		}
		if s.settled() {
			continue
		}
		if s.dec.Verdict == guard.Ask {
			return r.suspend(ctx, i)
		}
		if w, ok := s.tool.(tools.Waiter); ok {
			if suspended, err := r.await(ctx, s, w); err != nil || suspended {
				return suspended, err
			}
			continue
		}
		if err := r.perform(ctx, s); err != nil {
			return false, err
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	return false, r.save(ctx) // when none ran
}
