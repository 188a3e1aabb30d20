package agent

import (
	"cmp"
	"context"
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
	"hob/platform/provenance"
	"hob/platform/shortid"
	"hob/tools"
)

// heldUnattended is how long an unattended turn waits for an answer. An external agent keeps
// its state in memory and cannot be suspended for days.
const heldUnattended = time.Hour

// desk is the llm.Desk of one model call. Each action is a step with a pseudo tool that
// declares its possible effects, so that the guard, the ledger, the audit log and the live feed
// treat it like any call.
type desk struct {
	r      *run
	before []llm.Action
	// ctx ends with the model call; waiting questions then return.
	ctx  context.Context
	stop context.CancelFunc
	open sync.WaitGroup

	mu     sync.Mutex // held for each step's change, never while the owner is waited for
	closed bool
	steps  map[string]*errand // by the brain's id
	order  []*errand
}

// errand is an action in progress.
type errand struct {
	*step
	stored bool   // the ledger has its row, as started
	rule   string // with this rule
	shown  bool   // the live feed knows of it
	still  func() // ends its heartbeat in the live feed
}

// notAsked is the rule of actions that an agent took without or before asking. The ledger must
// not suggest that the guard allowed them.
const notAsked = "not asked: the agent does it by itself"

var errDeskClosed = errors.New("the turn is over")

// desk opens one for a model call; leave, which may be called twice, closes it.
func (r *run) desk(ctx context.Context) (d *desk, leave func()) {
	d = &desk{r: r, before: r.before, steps: map[string]*errand{}}
	d.ctx, d.stop = context.WithCancel(ctx)
	return d, func() { d.close(ctx) }
}

// Open implements llm.Desk. An external agent reads without asking, so a guest could learn what
// it reads.
func (d *desk) Open() error {
	if d.r.t.Guest {
		return errors.New("this agent reads your files without asking, so it answers only you")
	}
	d.r.strange.Store(true)
	return nil
}

// Before implements llm.Desk.
func (d *desk) Before() []llm.Action { return d.before }

// Note implements llm.Desk.
func (d *desk) Note(text string) {
	d.r.live("status", map[string]any{"note": text})
}

// Ask implements llm.Desk.
func (d *desk) Ask(ctx context.Context, a llm.Action) (llm.Ruling, error) {
	ctx, done, err := d.enter(ctx)
	if err != nil {
		return llm.Ruling{}, err
	}
	defer done()
	d.mu.Lock()
	s := d.at(a)
	if s.settled() || s.dec.Rule != "" && s.dec.Rule != notAsked { // never ask twice
		d.mu.Unlock()
		return llm.Ruling{Reason: "this action was asked for before, or has ended"}, nil
	}
	if err := d.decide(ctx, s, a); err != nil {
		d.mu.Unlock()
		return llm.Ruling{}, err
	}
	var question guard.Approval
	if s.dec.Verdict == guard.Ask {
		question, err = d.question(ctx, s)
	}
	d.mu.Unlock()
	if err != nil {
		return llm.Ruling{}, err
	}
	if s.dec.Verdict == guard.Ask {
		if err := d.await(ctx, s, question); err != nil {
			return llm.Ruling{}, err
		}
	}
	return d.ruling(ctx, s)
}

// enter counts a call in, for close, and ends its ctx with the model call.
func (d *desk) enter(ctx context.Context) (context.Context, func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ctx, nil, errDeskClosed
	}
	d.r.strange.Store(true)
	d.open.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(d.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		d.open.Done()
	}, nil
}

// at finds or creates the step of an action. It updates the step unless a decision on its
// earlier state exists. d.mu is held.
func (d *desk) at(a llm.Action) *errand {
	s := d.steps[a.ID]
	if s == nil {
		id := "call_" + tail(d.r.t.Event.ID, 12) + "_" + shortid.New("")
		s = &errand{step: &step{call: llm.ToolCall{ID: id}}}
		d.steps[a.ID] = s
		d.order = append(d.order, s)
	}
	if (s.dec.Rule == "" || s.dec.Rule == notAsked) && !s.settled() {
		t := newPseudo(a)
		s.tool, s.args = t, a.Args
		s.call.Name, s.call.Args = t.Spec().Name, a.Args
	}
	if !s.shown {
		s.shown = true
		d.r.live("tool_call_start", map[string]any{"id": s.call.ID, "name": s.call.Name})
	}
	return s
}

// decide passes the action along the chain, up to the gate. d.mu is held.
func (d *desk) decide(ctx context.Context, s *errand, a llm.Action) error {
	s.dec = guard.Decision{}
	if err := d.r.beforeTool(ctx, s.step, false); err != nil || s.err != nil {
		return err
	}
	if a.Beyond && s.dec.Verdict == guard.Allow && s.tool.Spec().Effects.ReadOnly() {
		s.dec = guard.Decision{Verdict: guard.Ask, Rule: "read, outside of the agent's folder"}
	}
	if a.Beyond && s.dec.Verdict == guard.Ask {
		s.dec.Reason = strings.TrimPrefix(s.dec.Reason+"; it reaches beyond the folder that you gave this agent", "; ")
	}
	return nil
}

// denied settles a step that the gate has refused.
func (d *desk) denied(s *errand) {
	if s.dec.Verdict == guard.Deny {
		code := cmp.Or(s.dec.Code, tools.PolicyDenied)
		s.err = deniedBy(code, s.dec)
	}
}

// request returns the request to the guard. It is always tainted: the agent may have read text
// that Hob has not seen.
func (d *desk) request(ctx context.Context, s *errand) guard.Request {
	q := d.r.request(ctx, s.step)
	q.Tainted = true
	if !q.Attended {
		q.Within = heldUnattended
	}
	return q
}

// question makes the question durable and puts it before the owner. The turn is
// held: the agent's process stands still until the answer. d.mu is held.
func (d *desk) question(ctx context.Context, s *errand) (a guard.Approval, err error) {
	err = d.r.write(ctx, func(tx *store.Tx) error {
		if a, err = d.r.o.Guard.AskTx(tx, d.request(ctx, s), s.dec); err != nil {
			return err
		}
		if err := d.r.auditTx(tx, s.step, "asked"); err != nil {
			return err
		}
		if err := d.r.questionTx(tx, []guard.Approval{a}); err != nil {
			return err
		}
		tx.AfterCommit(func() { d.r.o.Bus.Nudge(d.r.t.Event.ID) })
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("agent: ask the owner: %w", err)
	}
	return a, nil
}

// await waits for the owner's answer and applies it to the step. If the turn ends first, the
// question expires.
func (d *desk) await(ctx context.Context, s *errand, q guard.Approval) error {
	release := func() {}
	if d.r.t.Hold != nil {
		release = d.r.t.Hold()
	}
	defer release()
	if _, err := d.r.o.Guard.Wait(ctx, q.ID); err != nil {
		return errors.Join(err, d.lapse(ctx, q))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errDeskClosed
	}
	dec, err := d.r.o.Guard.Decide(ctx, d.request(ctx, s))
	if err != nil {
		return err
	}
	s.dec = dec
	if dec.Verdict == guard.Ask { // no answer came, and yet the wait is over
		s.dec = guard.Decision{Verdict: guard.Deny, Rule: dec.Rule, Code: tools.ApprovalTimeout, Reason: "nobody answered the question in time"}
	}
	d.denied(s)
	if s.dec.Code != tools.ApprovalTimeout {
		return nil
	}
	return d.r.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		_, err := d.r.o.Guard.EndTx(tx, q.ID, guard.TimedOut)
		return err
	})
}

// lapse expires a question whose turn ends first. It notifies the owner at a shutdown, but not
// after a stop, which the owner caused.
func (d *desk) lapse(ctx context.Context, q guard.Approval) error {
	err := d.r.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		open, err := d.r.o.Guard.EndTx(tx, q.ID, guard.Cancelled)
		if err != nil || !open || !errors.Is(context.Cause(d.ctx), ErrDraining) {
			return err
		}
		return d.r.tellTx(tx, lapsedText([]guard.Approval{q}, nil))
	})
	if err != nil {
		return fmt.Errorf("agent: end a question: %w", err)
	}
	return nil
}

// ruling returns the result of a decided step. It records a permission in the ledger before the
// agent learns of it.
func (d *desk) ruling(ctx context.Context, s *errand) (llm.Ruling, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return llm.Ruling{}, errDeskClosed
	}
	if s.err != nil {
		if err := d.ended(ctx, s); err != nil {
			return llm.Ruling{}, err
		}
		return llm.Ruling{Expired: tools.CodeOf(s.err) == tools.ApprovalTimeout, Reason: s.dec.Reason}, nil
	}
	switch err := d.begin(ctx, s); {
	case s.ungranted(err):
		return llm.Ruling{Reason: guard.ErrGrantEnded.Error()}, d.ended(ctx, s)
	case err != nil:
		return llm.Ruling{}, err
	}
	return llm.Ruling{Allowed: true, Reason: s.dec.Reason}, nil
}

// begin records that an action with effects begins. d.mu is held.
func (d *desk) begin(ctx context.Context, s *errand) error {
	if s.settled() || s.stored && s.rule == s.dec.Rule {
		return nil
	}
	if s.still == nil {
		_, s.still = newPulse(d.ctx, s.call.ID, s.tool.Spec().Name, d.r.live)
	}
	if s.tool.Spec().Effects.ReadOnly() {
		return nil // its row is written when it has ended
	}
	e := d.r.entry(s.step)
	e.State = bus.CallStarted
	err := d.r.write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if err := d.r.o.Guard.UseTx(tx, s.dec); err != nil {
			return err
		}
		if err := d.r.o.Bus.RecordTx(tx, e); err != nil {
			return err
		}
		return d.r.auditTx(tx, s.step, "started")
	})
	if err != nil {
		return fmt.Errorf("agent: ledger: %w", err)
	}
	s.stored, s.rule = true, s.dec.Rule
	return nil
}

// Tell implements llm.Desk.
func (d *desk) Tell(ctx context.Context, a llm.Action) {
	_, done, err := d.enter(ctx)
	if err != nil {
		return
	}
	defer done()
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.at(a)
	if s.settled() {
		return
	}
	switch a.State {
	case llm.Planned, llm.Begun:
	case llm.Ended:
		s.ran, s.result = true, tools.Result{Text: cut(a.Result, ""), Source: provenance.Outside}
		s.text = s.result.Text
		d.r.note(s.step)
	case llm.Dropped:
		s.err = &tools.Error{Code: tools.Cancelled, Message: cmp.Or(cut(a.Result, ""), "it did not run"), Source: provenance.Outside}
	default:
		s.err = &tools.Error{Code: tools.Failed, Message: cmp.Or(cut(a.Result, ""), "it failed"), Source: provenance.Outside}
	}
	if a.State == llm.Planned {
		return
	}
	if s.dec.Rule == "" {
		s.dec = guard.Decision{Verdict: guard.Allow, Rule: notAsked}
	}
	if !s.settled() {
		err = d.begin(ctx, s)
	} else {
		err = d.ended(ctx, s)
	}
	if err != nil {
		d.r.o.Log.Error("an agent's action could not be recorded", "event", d.r.t.Event.ID, "err", err)
	}
}

// ended records the result of an action. d.mu is held.
func (d *desk) ended(ctx context.Context, s *errand) error {
	if s.still != nil {
		s.still()
	}
	if !s.stored {
		d.end(s)
		return nil
	}
	d.r.feedResult(s.step)
	e := d.r.finished(s.step)
	return d.r.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if err := d.r.o.Bus.RecordTx(tx, e); err != nil {
			return err
		}
		return d.r.auditTx(tx, s.step, outcomeOf(s.step))
	})
}

// end queues the row of an action that was not recorded when it began: it goes
// with the next transaction of the turn. d.mu is held.
func (d *desk) end(s *errand) {
	d.r.feedResult(s.step)
	e, outcome := d.r.finished(s.step), outcomeOf(s.step)
	d.r.pending = append(d.r.pending, func(tx *store.Tx) error {
		if err := d.r.o.Bus.RecordTx(tx, e); err != nil {
			return err
		}
		return d.r.auditTx(tx, s.step, outcome)
	})
}

// close rejects all later calls. Actions without a recorded end have an unknown outcome.
func (d *desk) close(ctx context.Context) {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.stop()
	d.open.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.order {
		if s.settled() || !s.stored {
			continue
		}
		s.err = tools.Errorf(tools.OutcomeUnknown, "the agent was cut off while it did this, and nobody knows whether it took effect")
		if err := d.ended(ctx, s); err != nil {
			d.r.o.Log.Error("an agent's action could not be recorded", "event", d.r.t.Event.ID, "err", err)
		}
	}
}

// tellTx sends the owner a message from Hob outside of the answer.
func (r *run) tellTx(tx *store.Tx, text string) error {
	return r.o.Bus.SayTx(tx, r.t.Event.ID, bus.Out{Provenance: provenance.Outside, Delivery: channels.Delivery{
		Kind: channels.Notice, Session: r.t.Report, Channel: r.t.Channel, Chat: r.t.Chat, Text: text,
	}})
}
