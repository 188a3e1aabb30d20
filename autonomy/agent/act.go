package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/tools"
)

// step is one call of a model's answer on its way through the gate.
type step struct {
	call   llm.ToolCall // as the model made it
	tool   tools.Tool   // what really runs
	args   json.RawMessage
	dec    guard.Decision
	err    error // decided without running, or the tool's own
	result tools.Result
	ran    bool
}

// settled reports whether it is known what the call came to.
func (s *step) settled() bool { return s.ran || s.err != nil }

// act runs the calls of the last answer and appends their results. suspended
// means that the owner is being asked and the turn was put away.
func (r *run) act(ctx context.Context, calls []llm.ToolCall) (suspended bool, err error) {
	r.steps = r.resolveAll(calls)
	if together(r.steps) {
		err = r.runTogether(ctx)
	} else {
		suspended, err = r.runInOrder(ctx)
	}
	if err != nil || suspended {
		return suspended, err
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	r.append()
	return false, nil
}

// resolveAll finds the tools of the calls, and what has become of those that
// ran before a crash.
func (r *run) resolveAll(calls []llm.ToolCall) []*step {
	steps := make([]*step, len(calls))
	for i, c := range calls {
		steps[i] = r.resolve(c)
		r.replay(steps[i])
	}
	return steps
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

// resolve finds the tool and checks the arguments, looking through use_tool.
func (r *run) resolve(c llm.ToolCall) *step {
	s := &step{call: c, args: c.Args}
	name := c.Name
	if c.Truncated {
		s.refuse("route", tools.Errorf(tools.TruncatedCall, "the arguments of %s arrived cut off, so nothing was done; call again with shorter arguments", name))
		return s
	}
	if name == useTool {
		var in useArgs
		if err := json.Unmarshal(c.Args, &in); err != nil || in.Name == "" {
			s.refuse("route", tools.Errorf(tools.InvalidArguments, "use_tool takes {\"name\": ..., \"arguments\": {...}}"))
			return s
		}
		name, s.args = in.Name, in.Arguments
		if len(s.args) == 0 {
			s.args = json.RawMessage("{}")
		}
	}
	if name == findTools {
		s.tool = finder{r.o.Catalogue}
		return s
	}
	t, ok := r.o.Catalogue.Get(name)
	if !ok {
		s.refuse("route", tools.Errorf(tools.NotFound, "there is no tool %q; call find_tools with a few words", name))
		return s
	}
	s.tool = t
	if err := tools.Check(t, s.args); err != nil {
		s.refuse("schema", err)
	}
	return s
}

// together reports whether all calls only look, so that order does not matter.
func together(steps []*step) bool {
	if len(steps) < 2 {
		return false
	}
	for _, s := range steps {
		if !s.settled() && !s.tool.Spec().Effects.ReadOnly() {
			return false
		}
	}
	return true
}

func (r *run) request(s *step) guard.Request {
	return guard.Request{
		Tool: s.tool, Args: s.args, Call: s.call.ID, Event: r.t.Event.ID, Session: r.t.Event.Session,
		Attended: r.t.Attended, Guest: r.t.Guest, Tainted: r.tainted(), Origin: r.t.Origin,
	}
}

// decide passes a call through the loop breaker and the gate.
func (r *run) decide(ctx context.Context, s *step) error {
	wrong := !s.ran && (s.dec.Rule == "route" || s.dec.Rule == "schema")
	if s.settled() && !wrong {
		return nil
	}
	if r.limits.refuse(s.what()) {
		s.refuse("repeated", tools.Errorf(tools.Repeated, "this call was made again and again in this turn and is refused; use what you have or say what is in the way"))
		return nil
	}
	if wrong { // counted like any other: a model may make the same mistake for ever
		return nil
	}
	d, err := r.o.Guard.Decide(ctx, r.request(s))
	if err != nil {
		return err
	}
	s.dec = d
	if d.Verdict != guard.Deny {
		return nil
	}
	code := cmp.Or(d.Code, tools.PolicyDenied)
	if code == tools.Cancelled { // the owner stopped the turn, perhaps before a restart
		return ErrStopped
	}
	s.err = &tools.Error{Code: code, Message: string(code) + ": " + d.Reason}
	return nil
}

func (r *run) runTogether(ctx context.Context) error {
	for _, s := range r.steps {
		if err := r.decide(ctx, s); err != nil {
			return err
		}
	}
	if err := r.save(ctx); err != nil {
		return err
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	errs := make([]error, len(r.steps))
	for i, s := range r.steps {
		if s.settled() {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = r.perform(ctx, s)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// runInOrder runs calls one after another. At the first one that needs the
// owner it asks for that one and all later ones that need an answer, at once.
func (r *run) runInOrder(ctx context.Context) (suspended bool, err error) {
	for i, s := range r.steps {
		if err := r.decide(ctx, s); err != nil {
			return false, err
		}
		if s.settled() {
			continue
		}
		if s.dec.Verdict == guard.Ask {
			return r.suspend(ctx, i)
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
