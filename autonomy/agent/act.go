package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/channels"
	"hob/knowledge/store"
	"hob/platform/failpoint"
	"hob/platform/provenance"
	"hob/tools"
)

// defaultTimeout bounds a tool that names no limit of its own.
const defaultTimeout = 120 * time.Second

// maxResult is the longest result in bytes that enters the context whole.
const maxResult = 16_000

// step is one call of a model's answer on its way through the gate.
type step struct {
	call   llm.ToolCall // as the model made it
	tool   tools.Tool   // what really runs
	args   json.RawMessage
	dec    guard.Decision
	err    error // decided without running
	result tools.Result
	ran    bool
}

// act runs the calls of the last answer and appends their results. suspended
// means that the owner is being asked and the turn was put away.
func (r *run) act(ctx context.Context, calls []llm.ToolCall) (suspended bool, err error) {
	steps := make([]*step, len(calls))
	for i, c := range calls {
		steps[i] = r.resolve(c)
	}
	if together(steps) {
		if err := r.decideAll(ctx, steps); err != nil {
			return false, err
		}
		r.runTogether(ctx, steps)
	} else if suspended, err = r.runInOrder(ctx, steps); err != nil || suspended {
		return suspended, err
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	r.append(steps)
	return false, nil
}

// resolve finds the tool and checks the arguments, looking through use_tool.
func (r *run) resolve(c llm.ToolCall) *step {
	s := &step{call: c, args: c.Args}
	name := c.Name
	if c.Truncated {
		s.err = tools.Errorf(tools.TruncatedCall, "the arguments of %s arrived cut off, so nothing was done; call again with shorter arguments", name)
		return s
	}
	if name == useTool {
		var in useArgs
		if err := json.Unmarshal(c.Args, &in); err != nil || in.Name == "" {
			s.err = tools.Errorf(tools.InvalidArguments, "use_tool takes {\"name\": ..., \"arguments\": {...}}")
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
		s.err = tools.Errorf(tools.NotFound, "there is no tool %q; call find_tools with a few words", name)
		return s
	}
	s.tool = t
	if err := tools.Check(t, s.args); err != nil {
		s.err = err
	}
	return s
}

// together reports whether all calls only look, so that order does not matter.
func together(steps []*step) bool {
	if len(steps) < 2 {
		return false
	}
	for _, s := range steps {
		if s.err == nil && !s.tool.Spec().Effects.ReadOnly() {
			return false
		}
	}
	return true
}

func (r *run) request(s *step) guard.Request {
	return guard.Request{
		Tool: s.tool, Args: s.args, Call: s.call.ID, Event: r.t.Event.ID, Session: r.t.Event.Session,
		Attended: r.t.Attended, Tainted: r.tainted(), Origin: r.t.Origin,
	}
}

// decide passes a call through the loop breaker and the gate.
func (r *run) decide(ctx context.Context, s *step) error {
	if s.err != nil {
		return nil
	}
	if r.limits.refuse(s.tool.Spec().Name, s.args) {
		s.err = tools.Errorf(tools.Repeated, "this call was made again and again in this turn and is refused; use what you have or say what is in the way")
		return nil
	}
	d, err := r.o.Guard.Decide(ctx, r.request(s))
	if err != nil {
		return err
	}
	s.dec = d
	if d.Verdict == guard.Deny {
		code := cmp.Or(d.Code, tools.PolicyDenied)
		s.err = &tools.Error{Code: code, Message: string(code) + ": " + d.Reason}
	}
	return nil
}

func (r *run) decideAll(ctx context.Context, steps []*step) error {
	for _, s := range steps {
		if err := r.decide(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) runTogether(ctx context.Context, steps []*step) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for _, s := range steps {
		if s.err != nil {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := r.perform(ctx, s); err != nil {
				s.err = err
			}
		})
	}
	wg.Wait()
}

// runInOrder runs calls one after another. At the first one that needs the
// owner it asks for that one and all later ones that need an answer, at once.
func (r *run) runInOrder(ctx context.Context, steps []*step) (suspended bool, err error) {
	for i, s := range steps {
		if r.replay(s) {
			continue
		}
		if err := r.decide(ctx, s); err != nil {
			return false, err
		}
		if s.err != nil {
			continue
		}
		if s.dec.Verdict == guard.Ask {
			return r.suspend(ctx, steps, i)
		}
		if err := r.perform(ctx, s); err != nil {
			return false, err
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	return false, nil
}

// replay takes the outcome of a call that ran before a crash from the ledger.
func (r *run) replay(s *step) bool {
	e, ok := r.ledger[s.call.ID]
	if !ok || s.err != nil {
		return false
	}
	switch e.State {
	case bus.CallDone:
		s.result, s.ran = tools.Result{Text: e.Result, Source: e.Source}, true
		return true
	case bus.CallFailed, bus.CallDenied:
		s.err = &tools.Error{Code: tools.Code(e.Code), Message: e.Result}
		return true
	case bus.CallStarted, bus.CallUnknown:
		if s.tool.Spec().Effects.ReadOnly() {
			return false
		}
		s.err = tools.Errorf(tools.OutcomeUnknown, "Hob was cut off while %s ran, and nobody knows whether it took effect; it was not repeated. Check before trying again", e.Tool)
		e.State, e.Code, e.Result, e.FinishedAt = bus.CallUnknown, string(tools.OutcomeUnknown), s.err.Error(), time.Now()
		r.pending = append(r.pending, func(tx *store.Tx) error {
			if err := r.o.Bus.RecordTx(tx, e); err != nil {
				return err
			}
			return r.auditTx(tx, s, string(tools.OutcomeUnknown))
		})
		return true
	}
	return false
}

// perform runs an allowed call and makes its outcome durable. The error is the
// store's; the tool's own is in the step.
func (r *run) perform(ctx context.Context, s *step) error {
	spec := s.tool.Spec()
	r.feed(s, "running")
	if own, ok := s.tool.(tools.Own); ok {
		return r.performOwn(ctx, s, own)
	}
	if spec.Effects.ReadOnly() {
		s.result, s.err = r.call(ctx, s)
		s.ran = true
		return nil
	}
	e := r.entry(s)
	e.State = bus.CallStarted
	err := r.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := r.o.Bus.RecordTx(tx, e); err != nil {
			return err
		}
		return r.auditTx(tx, s, "started")
	})
	if err != nil {
		return fmt.Errorf("agent: ledger: %w", err)
	}
	failpoint.Hit("tool.call.before")
	s.result, s.err = r.call(ctx, s)
	s.ran = true
	failpoint.Hit("tool.call.after")
	e = r.finished(s)
	err = r.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if err := r.o.Bus.RecordTx(tx, e); err != nil {
			return err
		}
		return r.auditTx(tx, s, outcomeOf(s))
	})
	if err != nil {
		return fmt.Errorf("agent: ledger: %w", err)
	}
	return nil
}

// performOwn runs an own tool inside the transaction that records it as done:
// it happens exactly once.
func (r *run) performOwn(ctx context.Context, s *step, own tools.Own) error {
	var failed error
	err := r.o.Store.Write(ctx, func(tx *store.Tx) error {
		res, err := own.CallTx(context.WithoutCancel(ctx), tx, r.toolCall(s))
		if err != nil {
			failed = err
			return err
		}
		s.result, s.ran = res, true
		if err := r.o.Bus.RecordTx(tx, r.finished(s)); err != nil {
			return err
		}
		return r.auditTx(tx, s, "done")
	})
	if failed != nil {
		if errors.Is(failed, store.ErrFull) {
			return failed
		}
		s.err, s.ran = failed, true
		return nil
	}
	if err != nil {
		return fmt.Errorf("agent: %s: %w", s.tool.Spec().Name, err)
	}
	return nil
}

// call runs the tool itself, with its time limit.
func (r *run) call(ctx context.Context, s *step) (res tools.Result, err error) {
	limit := s.tool.Spec().Timeout
	if limit <= 0 {
		limit = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			r.o.Log.Error("tool panicked", "tool", s.tool.Spec().Name, "panic", fmt.Sprint(p))
			err = tools.Errorf(tools.Failed, "%s broke down: %v", s.tool.Spec().Name, p)
		}
	}()
	return s.tool.Call(ctx, r.toolCall(s))
}

func (r *run) toolCall(s *step) tools.Call {
	c := tools.Call{
		ID: s.call.ID, Session: r.t.Event.Session, Event: r.t.Event.ID, Args: s.args, Now: time.Now().In(r.o.Zone()),
		Report: r.t.Report, Provenance: provenance.Owner,
		Progress: func(f float64, note string) {
			r.o.Bus.Feed.Publish("status", r.t.Event.ID, r.t.Event.Session, map[string]any{"tool": s.tool.Spec().Name, "fraction": f, "note": note})
		},
	}
	if r.tainted() {
		c.Provenance = provenance.Outside
	}
	return c
}

func (r *run) entry(s *step) bus.Entry {
	return bus.Entry{
		Call: s.call.ID, Event: r.t.Event.ID, Session: r.t.Event.Session, Tool: s.tool.Spec().Name, Args: s.args,
		Effects: s.tool.Spec().Effects.String(), Decision: s.dec.Verdict.String() + ": " + s.dec.Rule, StartedAt: time.Now(),
	}
}

// finished is the ledger row of a call that ended.
func (r *run) finished(s *step) bus.Entry {
	e := r.entry(s)
	e.FinishedAt = time.Now()
	if s.err != nil {
		e.State, e.Code, e.Result, e.Source = bus.CallFailed, string(tools.CodeOf(s.err)), s.err.Error(), provenance.Tool
		if s.dec.Verdict == guard.Deny {
			e.State = bus.CallDenied
		}
		return e
	}
	e.State, e.Result, e.Source = bus.CallDone, s.result.Text, s.result.Source
	if s.result.Data != nil {
		e.Data, _ = json.Marshal(s.result.Data) // shown only; the text is the result
	}
	if u := s.result.Undo; u != nil {
		e.UndoLabel, e.Undo = u.Label, u.Data
	}
	return e
}

func outcomeOf(s *step) string {
	if s.err != nil {
		return string(tools.CodeOf(s.err))
	}
	return "done"
}

func (r *run) auditTx(tx *store.Tx, s *step, outcome string) error {
	rec := guard.Record{
		Actor: "hob", Action: "call", Event: r.t.Event.ID, Session: r.t.Event.Session, Origin: r.t.Origin, Call: s.call.ID,
		Tool: s.call.Name, Verdict: s.dec.Verdict.String(), Rule: s.dec.Rule, Tainted: r.tainted(), Outcome: outcome, Args: s.args,
	}
	if s.tool != nil {
		rec.Tool, rec.Effects = s.tool.Spec().Name, s.tool.Spec().Effects.String()
	}
	return r.o.Guard.AuditTx(tx, rec)
}

// append puts the results into the conversation. Rows of calls that were not
// recorded while they ran (reads, refusals) go with the next transaction.
func (r *run) append(steps []*step) {
	m := llm.Message{Role: llm.ToolRole}
	for i, s := range steps {
		name := s.call.Name
		if s.tool != nil {
			name = s.tool.Spec().Name
		}
		res := llm.ToolResult{ID: s.call.ID, Name: s.call.Name}
		src := provenance.Tool
		if s.err != nil {
			res.Error = true
			res.Text = fmt.Sprintf("error %s: %s", tools.CodeOf(s.err), s.err.Error())
		} else {
			res.Text, src = cut(s.result.Text), s.result.Source
		}
		res.Text += r.limits.note(name, s.args, s.err)
		if i == len(steps)-1 {
			res.Text += r.limits.hint(r.round)
		}
		m.Parts = append(m.Parts, llm.Part{Result: &res, Source: src})
		r.feed(s, "")
		r.recordLate(s)
	}
	r.msgs = append(r.msgs, m)
}

// recordLate queues the ledger row of a call that has none yet.
func (r *run) recordLate(s *step) {
	if _, known := r.ledger[s.call.ID]; known {
		return
	}
	if s.ran && s.tool != nil {
		own := s.tool.Spec().Own
		if own && s.err == nil || !own && !s.tool.Spec().Effects.ReadOnly() {
			return // perform recorded it
		}
	}
	late := *s
	if late.tool == nil {
		late.tool = missing{name: s.call.Name}
	}
	e := r.finished(&late)
	r.pending = append(r.pending, func(tx *store.Tx) error {
		if err := r.o.Bus.RecordTx(tx, e); err != nil {
			return err
		}
		return r.auditTx(tx, s, outcomeOf(s))
	})
}

func (r *run) feed(s *step, state string) {
	if state == "running" {
		r.o.Bus.Feed.Publish("status", r.t.Event.ID, r.t.Event.Session, map[string]string{"tool": s.tool.Spec().Name, "state": state})
		return
	}
	d := map[string]any{"id": s.call.ID, "name": s.call.Name, "ok": s.err == nil}
	if s.tool != nil {
		d["name"] = s.tool.Spec().Name
	}
	if s.err != nil {
		d["text"], d["code"] = s.err.Error(), tools.CodeOf(s.err)
	} else {
		d["text"] = cut(s.result.Text)
	}
	r.o.Bus.Feed.Publish("tool_result", r.t.Event.ID, r.t.Event.Session, d)
}

// suspend asks the owner about call i and every later one that needs an
// answer, and puts the turn away until then, all in one transaction.
func (r *run) suspend(ctx context.Context, steps []*step, i int) (bool, error) {
	asks := []*step{steps[i]}
	for _, s := range steps[i+1:] {
		if s.err != nil || r.ledger[s.call.ID].Call != "" {
			continue
		}
		d, err := r.o.Guard.Decide(ctx, r.request(s))
		if err != nil {
			return false, err
		}
		if s.dec = d; d.Verdict == guard.Ask {
			asks = append(asks, s)
		}
	}
	fresh, record := r.fresh(), r.take()
	err := r.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := record(tx); err != nil {
			return err
		}
		if err := r.o.Sessions.AppendTx(tx, r.t.Event.Session, r.t.Event.ID, fresh); err != nil {
			return err
		}
		return r.askTx(tx, asks)
	})
	if err != nil {
		return false, fmt.Errorf("agent: ask the owner: %w", err)
	}
	return true, nil
}

func (r *run) askTx(tx *store.Tx, asks []*step) error {
	var until time.Time
	var open []guard.Approval
	for _, s := range asks {
		a, err := r.o.Guard.AskTx(tx, r.request(s), s.dec)
		if err != nil {
			return err
		}
		if until.IsZero() || a.ExpiresAt.Before(until) {
			until = a.ExpiresAt
		}
		open = append(open, a)
		if err := r.auditTx(tx, s, "asked"); err != nil {
			return err
		}
	}
	src := provenance.Hob
	if r.tainted() {
		src = provenance.Outside
	}
	err := r.o.Bus.SayTx(tx, r.t.Event.ID, bus.Out{Provenance: src, Delivery: channels.Delivery{
		Kind: channels.Question, Session: r.t.Report, Channel: r.t.Channel, Chat: r.t.Chat, Text: questionText(open),
	}})
	if err != nil {
		return err
	}
	tx.AfterCommit(func() {
		for _, a := range open {
			r.o.Bus.Feed.Publish("approval_required", r.t.Event.ID, r.t.Event.Session, a)
		}
	})
	return r.o.Bus.SuspendTx(tx, r.t.Event.ID, until)
}

func questionText(open []guard.Approval) string {
	var b strings.Builder
	for i, a := range open {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "May I do this? %s\n  why I ask: %s\n  reply yes or no, or: hob approve %s", a.Summary, a.Reason, a.ID)
	}
	return b.String()
}

// cut keeps the head and the tail of a long result, at line and rune borders.
func cut(s string) string {
	if len(s) <= maxResult {
		return s
	}
	head := strings.ToValidUTF8(s[:maxResult*2/3], "")
	end := strings.ToValidUTF8(s[len(s)-maxResult/4:], "")
	return fmt.Sprintf("%s\n[… %d characters left out …]\n%s", head, len(s)-len(head)-len(end), end)
}
