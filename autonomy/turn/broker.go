package turn

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/turn/results"
	"hob/platform/provenance"
	"hob/platform/text/shortid"
	"hob/tools"
)

// permissionBroker is the llm.PermissionBroker for one model call. Each action is a step with a
// pseudo tool that declares the possible effects of the action. Therefore the guard, the ledger,
// the audit log and the live feed treat it like any other call.
type permissionBroker struct {
	*externalAgent
	// ctx ends with the model call. Methods that are still waiting for an answer then return.
	ctx  context.Context
	stop context.CancelFunc
	open sync.WaitGroup

	mu     sync.Mutex // locked while a step changes, but not while Hob waits for the owner
	closed bool
	steps  map[string]*pendingAction // key: the agent's id for the action
	order  []*pendingAction
	detach func() // ends the agent's access to Hob's tools; nil if it has none

	toolMu sync.Mutex // held during a call of one of Hob's tools; locked before mu
}

// pendingAction is an action in progress.
type pendingAction struct {
	*callStep
	stored bool   // whether the ledger has a row for the action that marks it as started
	rule   string // rule stored in that row
	shown  bool   // whether the live feed has shown the action
	still  func() // stops the heartbeat in the live feed
	rest   func() // ends the action that the owner approved; see Turn.Hold
}

// notAsked is the rule recorded for actions that an agent took without asking or before asking. The
// ledger must not suggest that the guard allowed them.
const notAsked = "not asked: the agent does it by itself"

var errBrokerClosed = errors.New("the turn is over")

// CheckAllowed implements llm.PermissionBroker. An external agent reads without asking, so a guest
// could learn what the agent reads.
func (d *permissionBroker) CheckAllowed() error {
	if d.t.Guest {
		return errors.New("this agent reads the user's files without asking, so it answers only the user")
	}
	d.conv.external.Store(true)
	return nil
}

// PriorActions implements llm.PermissionBroker.
func (d *permissionBroker) PriorActions() []llm.Action { return d.before }

// PublishStatus implements llm.PermissionBroker.
func (d *permissionBroker) PublishStatus(text string) {
	d.feed.publishEvent("status", map[string]any{"note": text})
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
	if s.hasOutcome() || s.dec.Rule != "" && s.dec.Rule != notAsked { // the owner is never asked twice
		d.mu.Unlock()
		return llm.PermissionResult{Reason: "permission for this action was requested before, or the action has ended"}, nil
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

// enterCall registers a method call that is running, so that closeActions waits for it. It returns
// a context that ends with the model call.
func (d *permissionBroker) enterCall(ctx context.Context) (context.Context, func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.ctx.Err() != nil {
		return ctx, nil, errBrokerClosed
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

// findOrCreateAction returns the step for an action, and creates it if necessary. It updates the
// step, unless its earlier state has been decided. The caller must hold d.mu.
func (d *permissionBroker) findOrCreateAction(a llm.Action) *pendingAction {
	s := d.steps[a.ID]
	if s == nil {
		id := "call_" + lastIDChars(d.t.Event.ID) + "_" + shortid.New("")
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
		d.feed.publishEvent("tool_call_start", map[string]any{"id": s.call.ID, "name": s.call.Name})
	}
	return s
}

// decideAction passes the action through the chain up to the policy check. The caller must hold
// d.mu.
func (d *permissionBroker) decideAction(ctx context.Context, s *pendingAction, a llm.Action) error {
	s.dec = guard.Decision{}
	if err := d.chain.beforeTool(ctx, s.callStep, false); err != nil || s.err != nil {
		return err
	}
	if a.Beyond && s.dec.Verdict == guard.Allow && s.tool.Spec().Effects.ReadOnly() {
		s.dec = guard.Decision{Verdict: guard.Ask, Rule: "read, outside of the agent's folder"}
	}
	if a.Beyond && s.dec.Verdict == guard.Ask {
		s.dec.Reason = strings.TrimPrefix(s.dec.Reason+"; it accesses files outside the folder that you gave this agent", "; ")
	}
	return nil
}

// awaitAnswer waits for the owner's answer and applies it to the step. If the turn ends first, the
// question expires. The owner is notified after a shutdown, but not after /stop.
func (d *permissionBroker) awaitAnswer(ctx context.Context, s *pendingAction, q guard.Approval) error {
	resume := func(context.Context) func() { return func() {} }
	if d.t.Hold != nil {
		resume = d.t.Hold()
	}
	_, err := d.o.Guard.Wait(ctx, q.ID)
	rest := resume(ctx)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		rest()
		return errors.Join(err, d.policy.lapseQuestion(ctx, q, errors.Is(context.Cause(d.ctx), ErrDraining)))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.rest = rest
	if d.closed {
		return errBrokerClosed
	}
	return d.policy.applyAnswer(ctx, s.callStep, q)
}

// resolvePermission returns the result for a step that has been decided. It records a permission in
// the ledger before the agent receives it.
func (d *permissionBroker) resolvePermission(ctx context.Context, s *pendingAction) (llm.PermissionResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return llm.PermissionResult{}, errBrokerClosed
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

// recordStart records that an action with effects has started. The caller must hold d.mu.
func (d *permissionBroker) recordStart(ctx context.Context, s *pendingAction) error {
	if s.hasOutcome() || s.stored && s.rule == s.dec.Rule {
		return nil
	}
	if s.still == nil {
		_, s.still = newPulse(d.ctx, s.call.ID, s.tool.Spec().Name, d.feed.publishEvent)
	}
	if s.tool.Spec().Effects.ReadOnly() {
		return nil // recordEnd writes the row
	}
	if err := d.rec.recordStarts(context.WithoutCancel(ctx), []*callStep{s.callStep}); err != nil {
		return err
	}
	if !s.hasOutcome() { // the permission is still valid
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
		s.ran, s.result = true, tools.Result{Text: results.Shorten(a.Result, ""), Source: provenance.Outside}
		s.text = s.result.Text
		d.hist.recordEffect(s.callStep)
	case llm.Dropped:
		s.err = &tools.Error{Code: tools.Cancelled, Message: cmp.Or(results.Shorten(a.Result, ""), "it did not run"), Source: provenance.Outside}
	default:
		s.err = &tools.Error{Code: tools.Failed, Message: cmp.Or(results.Shorten(a.Result, ""), "it failed"), Source: provenance.Outside}
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

// recordEnd records the result of an action. The caller must hold d.mu.
func (d *permissionBroker) recordEnd(ctx context.Context, s *pendingAction) error {
	if s.still != nil {
		s.still()
	}
	if s.rest != nil {
		s.rest()
	}
	d.feed.publishResult(s.callStep)
	if !s.stored { // recordStart did not record the action
		d.rec.queueEnd(s.callStep)
		return nil
	}
	return d.rec.recordEnd(ctx, s.callStep)
}

// closeActions stops a running tool and makes all later calls fail. Actions without a recorded end
// have an unknown outcome.
func (d *permissionBroker) closeActions(ctx context.Context) {
	d.stop() // stop before taking the lock, which a running tool holds
	d.mu.Lock()
	d.closed = true
	if d.detach != nil {
		d.detach()
	}
	d.mu.Unlock()
	d.open.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.order {
		if s.hasOutcome() || !s.stored {
			continue
		}
		s.err = tools.Errorf(tools.OutcomeUnknown, "the agent was interrupted during this action, so it is unknown whether the action took effect")
		if err := d.recordEnd(ctx, s); err != nil {
			d.o.Log.Error("an agent's action could not be recorded", "event", d.t.Event.ID, "err", err)
		}
	}
}
