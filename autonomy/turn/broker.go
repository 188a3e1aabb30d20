package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/tools"
)

// externalAgent connects an agent that acts by itself with the turn: its actions pass the same
// gate and the same records as the model's calls.
type externalAgent struct {
	o      *Options
	t      *Turn
	conv   *conversation
	rec    *stepRecorder
	hist   *callHistory
	gate   *callGate
	chain  *hookChain
	feed   *liveFeed
	before []llm.Action // its actions in this turn before Hob was interrupted
}

// permissionBroker is the llm.PermissionBroker of one model call. Each action is a step with a pseudo tool that
// declares its possible effects, so that the guard, the ledger, the audit log and the live feed
// treat it like any call.
type permissionBroker struct {
	*externalAgent
	// ctx ends with the model call; waiting questions then return.
	ctx  context.Context
	stop context.CancelFunc
	open sync.WaitGroup

	mu     sync.Mutex // held while a step changes, never while waiting for the owner
	closed bool
	steps  map[string]*pendingAction // by the brain's id
	order  []*pendingAction
}

// pendingAction is an action in progress.
type pendingAction struct {
	*callStep
	stored bool   // the ledger has its row, as started
	rule   string // with this rule
	shown  bool   // the live feed knows of it
	still  func() // ends its heartbeat in the live feed
}

// notAsked is the rule of actions that an agent took without or before asking. The ledger must
// not suggest that the guard allowed them.
const notAsked = "not asked: the agent does it by itself"

var errDeskClosed = errors.New("the turn is over")

// newBroker opens a broker for a model call; leave, which may be called twice, closes it.
func (x *externalAgent) newBroker(ctx context.Context) (d *permissionBroker, leave func()) {
	d = &permissionBroker{externalAgent: x, steps: map[string]*pendingAction{}}
	d.ctx, d.stop = context.WithCancel(ctx)
	return d, func() { d.close(ctx) }
}

// CheckAllowed implements llm.PermissionBroker. An external agent reads without asking, so a guest could learn what
// it reads.
func (d *permissionBroker) CheckAllowed() error {
	if d.t.Guest {
		return errors.New("this agent reads your files without asking, so it answers only you")
	}
	d.conv.external.Store(true)
	return nil
}

// PriorActions implements llm.PermissionBroker.
func (d *permissionBroker) PriorActions() []llm.Action { return d.before }

// PublishStatus implements llm.PermissionBroker.
func (d *permissionBroker) PublishStatus(text string) {
	d.feed.publish("status", map[string]any{"note": text})
}

// RequestPermission implements llm.PermissionBroker.
func (d *permissionBroker) RequestPermission(ctx context.Context, a llm.Action) (llm.PermissionResult, error) {
	ctx, done, err := d.enterCall(ctx)
	if err != nil {
		return llm.PermissionResult{}, err
	}
	defer done()
	d.mu.Lock()
	s := d.findOrCreateAction(a)
	if s.hasOutcome() || s.dec.Rule != "" && s.dec.Rule != notAsked { // never ask twice
		d.mu.Unlock()
		return llm.PermissionResult{Reason: "this action was asked for before, or has ended"}, nil
	}
	if err := d.decideAction(ctx, s, a); err != nil {
		d.mu.Unlock()
		return llm.PermissionResult{}, err
	}
	var question guard.Approval
	if s.dec.Verdict == guard.Ask {
		question, err = d.askOwner(ctx, s)
	}
	d.mu.Unlock()
	if err != nil {
		return llm.PermissionResult{}, err
	}
	if s.dec.Verdict == guard.Ask {
		if err := d.awaitAnswer(ctx, s, question); err != nil {
			return llm.PermissionResult{}, err
		}
	}
	return d.resolvePermission(ctx, s)
}

// enterCall counts a call in, for close, and ends its ctx with the model call.
func (d *permissionBroker) enterCall(ctx context.Context) (context.Context, func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ctx, nil, errDeskClosed
	}
	d.conv.external.Store(true)
	d.open.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(d.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		d.open.Done()
	}, nil
}

// findOrCreateAction finds or creates the step of an action. It updates the step unless a decision
// on its earlier state exists. The caller holds d.mu.
func (d *permissionBroker) findOrCreateAction(a llm.Action) *pendingAction {
	s := d.steps[a.ID]
	if s == nil {
		id := "call_" + lastIDChars(d.t.Event.ID, 12) + "_" + shortid.New("")
		s = &pendingAction{callStep: &callStep{call: llm.ToolCall{ID: id}, heldInMemory: true}}
		d.steps[a.ID] = s
		d.order = append(d.order, s)
	}
	if (s.dec.Rule == "" || s.dec.Rule == notAsked) && !s.hasOutcome() {
		t := newPseudo(a)
		s.tool, s.args = t, a.Args
		s.call.Name, s.call.Args = t.Spec().Name, a.Args
	}
	if !s.shown {
		s.shown = true
		d.feed.publish("tool_call_start", map[string]any{"id": s.call.ID, "name": s.call.Name})
	}
	return s
}

// decideAction passes the action along the chain, up to the policy check. The caller holds d.mu.
func (d *permissionBroker) decideAction(ctx context.Context, s *pendingAction, a llm.Action) error {
	s.dec = guard.Decision{}
	if err := d.chain.beforeTool(ctx, s.callStep, false); err != nil || s.err != nil {
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

// askOwner stores the approval request and shows it to the owner. The turn waits: the agent's
// process is blocked until the answer. The caller holds d.mu.
func (d *permissionBroker) askOwner(ctx context.Context, s *pendingAction) (guard.Approval, error) {
	rows, err := d.gate.askOwner(ctx, []*callStep{s.callStep}, func(tx *store.Tx, _ time.Time) error {
		tx.AfterCommit(func() { d.o.Bus.RecheckWaiters(d.t.Event.ID) })
		return nil
	})
	if err != nil {
		return guard.Approval{}, err
	}
	return rows[0], nil
}

// awaitAnswer waits for the owner's answer and applies it to the step. If the turn ends first, the
// question expires; the owner hears of it at a shutdown, but not after a stop, which he caused.
func (d *permissionBroker) awaitAnswer(ctx context.Context, s *pendingAction, q guard.Approval) error {
	if d.t.Hold != nil {
		defer d.t.Hold()()
	}
	if _, err := d.o.Guard.Wait(ctx, q.ID); err != nil {
		return errors.Join(err, d.gate.lapseQuestion(ctx, q, errors.Is(context.Cause(d.ctx), ErrDraining)))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errDeskClosed
	}
	return d.gate.applyAnswer(ctx, s.callStep, q)
}

// resolvePermission returns the result of a decided step. It records a permission in the ledger before the
// agent learns of it.
func (d *permissionBroker) resolvePermission(ctx context.Context, s *pendingAction) (llm.PermissionResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return llm.PermissionResult{}, errDeskClosed
	}
	if s.err != nil {
		if err := d.recordEnd(ctx, s); err != nil {
			return llm.PermissionResult{}, err
		}
		return llm.PermissionResult{Expired: tools.CodeOf(s.err) == tools.ApprovalTimeout, Reason: s.dec.Reason}, nil
	}
	if err := d.recordStart(ctx, s); err != nil {
		return llm.PermissionResult{}, err
	}
	if s.hasOutcome() {
		return llm.PermissionResult{Reason: guard.ErrGrantEnded.Error()}, d.recordEnd(ctx, s)
	}
	return llm.PermissionResult{Allowed: true, Reason: s.dec.Reason}, nil
}

// recordStart records that an action with effects begins. The caller holds d.mu.
func (d *permissionBroker) recordStart(ctx context.Context, s *pendingAction) error {
	if s.hasOutcome() || s.stored && s.rule == s.dec.Rule {
		return nil
	}
	if s.still == nil {
		_, s.still = newPulse(d.ctx, s.call.ID, s.tool.Spec().Name, d.feed.publish)
	}
	if s.tool.Spec().Effects.ReadOnly() {
		return nil // its row is written when it has ended
	}
	if err := d.rec.recordStarts(context.WithoutCancel(ctx), []*callStep{s.callStep}); err != nil {
		return err
	}
	if !s.hasOutcome() { // its grant is still valid
		s.stored, s.rule = true, s.dec.Rule
	}
	return nil
}

// RecordAction implements llm.PermissionBroker.
func (d *permissionBroker) RecordAction(ctx context.Context, a llm.Action) {
	_, done, err := d.enterCall(ctx)
	if err != nil {
		return
	}
	defer done()
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.findOrCreateAction(a)
	if s.hasOutcome() {
		return
	}
	switch a.State {
	case llm.Planned, llm.Begun:
	case llm.Ended:
		s.ran, s.result = true, tools.Result{Text: cutResult(a.Result, ""), Source: provenance.Outside}
		s.text = s.result.Text
		d.hist.recordEffect(s.callStep)
	case llm.Dropped:
		s.err = &tools.Error{Code: tools.Cancelled, Message: cmp.Or(cutResult(a.Result, ""), "it did not run"), Source: provenance.Outside}
	default:
		s.err = &tools.Error{Code: tools.Failed, Message: cmp.Or(cutResult(a.Result, ""), "it failed"), Source: provenance.Outside}
	}
	if a.State == llm.Planned {
		return
	}
	if s.dec.Rule == "" {
		s.dec = guard.Decision{Verdict: guard.Allow, Rule: notAsked}
	}
	if !s.hasOutcome() {
		err = d.recordStart(ctx, s)
	} else {
		err = d.recordEnd(ctx, s)
	}
	if err != nil {
		d.o.Log.Error("an agent's action could not be recorded", "event", d.t.Event.ID, "err", err)
	}
}

// recordEnd records the result of an action. The caller holds d.mu.
func (d *permissionBroker) recordEnd(ctx context.Context, s *pendingAction) error {
	if s.still != nil {
		s.still()
	}
	d.feed.publishResult(s.callStep)
	if !s.stored { // it was not recorded when it began
		d.rec.queueEnd(s.callStep)
		return nil
	}
	return d.rec.recordEnd(ctx, s.callStep)
}

// close rejects all later calls. Actions without a recorded end have an unknown outcome.
func (d *permissionBroker) close(ctx context.Context) {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.stop()
	d.open.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.order {
		if s.hasOutcome() || !s.stored {
			continue
		}
		s.err = tools.Errorf(tools.OutcomeUnknown, "the agent was cut off while it did this, and nobody knows whether it took effect")
		if err := d.recordEnd(ctx, s); err != nil {
			d.o.Log.Error("an agent's action could not be recorded", "event", d.t.Event.ID, "err", err)
		}
	}
}

// settleLeftovers cleans up after the desk of an interrupted turn. Open questions expire, because the
// agent that asked is gone; started actions get an unknown outcome. It notifies the owner of
// both.
func (x *externalAgent) settleLeftovers(ctx context.Context) error {
	waiting, err := x.o.Guard.Approvals(ctx, guard.Pending, "", x.t.Event.ID, 100)
	if err != nil {
		return err
	}
	waiting = slices.DeleteFunc(waiting, func(a guard.Approval) bool { return !strings.HasPrefix(a.Tool, pseudoPrefix) })
	var lost []bus.Entry
	for _, e := range x.rec.ledger {
		if !strings.HasPrefix(e.Tool, pseudoPrefix) {
			continue
		}
		x.before = append(x.before, actionFromEntry(e))
		if e.State == bus.CallStarted {
			lost = append(lost, e)
		}
	}
	if len(waiting) == 0 && len(lost) == 0 {
		return nil
	}
	slices.SortFunc(lost, func(x, y bus.Entry) int { return x.StartedAt.Compare(y.StartedAt) })
	err = x.o.Store.Write(ctx, func(tx *store.Tx) error {
		for _, a := range waiting {
			if _, err := x.o.Guard.EndTx(tx, a.ID, guard.Cancelled); err != nil {
				return err
			}
		}
		for _, e := range lost {
			s := &callStep{call: llm.ToolCall{ID: e.Call}, tool: externalTool{spec: tools.Spec{Name: e.Tool, Effects: unclear}}, args: e.Args}
			s.err = tools.Errorf(tools.OutcomeUnknown, "Hob was cut off while the agent did this, and nobody knows whether it took effect")
			if err := x.rec.recordEndTx(tx, s, unknownEntry(e, s.err)); err != nil {
				return err
			}
		}
		return x.gate.notifyTx(tx, lapsedText(waiting, lost))
	})
	if err != nil {
		return fmt.Errorf("turn: settle what was cut off: %w", err)
	}
	return nil
}

// actionFromEntry converts a ledger entry into an action for the agent.
func actionFromEntry(e bus.Entry) llm.Action {
	var in struct {
		Agent string `json:"agent"`
		Title string `json:"title"`
	}
	_ = json.Unmarshal(e.Args, &in) // without a title it is still reported
	a := llm.Action{ID: e.Call, By: in.Agent, Kind: strings.TrimPrefix(e.Tool, pseudoPrefix), Title: in.Title}
	switch e.State {
	case bus.CallStarted, bus.CallUnknown:
		a.State = llm.Begun
	case bus.CallDone:
		a.State = llm.Ended
	case bus.CallFailed:
		a.State = llm.Failed
	case bus.CallDenied:
		a.State = llm.Dropped
	}
	return a
}

// lapsedText tells the owner about expired questions and unknown outcomes after an
// interruption.
func lapsedText(waiting []guard.Approval, lost []bus.Entry) string {
	var b strings.Builder
	b.WriteString("I was stopped in the middle of this and begin again.")
	for _, a := range waiting {
		fmt.Fprintf(&b, "\nMy question %s has expired (%s). I will ask again if I still need to.", a.ID, a.Summary)
	}
	for _, e := range lost {
		fmt.Fprintf(&b, "\nIt is not known whether this took effect: %s", firstOf(externalTool{spec: tools.Spec{Name: e.Tool}, by: actionFromEntry(e).By}.Summary(e.Args), 300))
	}
	return b.String()
}

func firstOf(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
