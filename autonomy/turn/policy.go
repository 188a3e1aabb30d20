package turn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/payload"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/redact"
	"hob/tools"
)

// heldUnattended is how long an approval request stays open if the caller waits for it in memory
// and the owner is away.
const heldUnattended = time.Hour

// policyCheck decides whether a call may run: the guard decides, or the owner if the
// guard requires an approval. The calls of the model and the actions of external agents pass the
// same check:
//
//	askGuard -> askOwner -> (the turn is suspended, or waits in memory) -> askGuard
type policyCheck struct {
	o    *Options
	t    *Turn
	conv *conversation
	rec  *stepRecorder
	hist *callHistory
}

// guardRequest returns the guard's input for a call.
func (p *policyCheck) guardRequest(ctx context.Context, s *callStep) guard.Request {
	q := guard.Request{
		Tool: s.tool, Args: s.args, Call: s.call.ID, Event: p.t.Event.ID, Session: p.t.Event.Session,
		Attended: p.t.Attended, Guest: p.t.Guest, Client: p.t.Client, Tainted: p.conv.isTainted(), Origins: p.conv.contextOrigins(), Origin: p.t.Origin, Source: payload.SourceName(p.t.Event), Level: p.o.Level.Narrower(p.t.Level),
		Channel: p.t.Event.Channel, Person: p.t.Person, Agent: p.o.Name, Seen: func() guard.EgressEvidence { return p.hist.egressEvidence(ctx, s) },
	}
	if p.t.Doubt != nil {
		q.Doubt = func(e tools.Effects) string { return p.t.Doubt(s.tool.Spec(), e) }
	}
	if s.heldInMemory && !p.t.Attended {
		q.Within = heldUnattended
	}
	if !s.tool.Spec().Effects.ReadOnly() {
		q.Made, q.Agreed, q.Refused = p.hist.countChanges(ctx, s)
	}
	return q
}

// askGuard stores the guard's decision on a call in its step.
func (p *policyCheck) askGuard(ctx context.Context, s *callStep) error {
	q := p.guardRequest(ctx, s)
	d, err := p.o.Guard.Decide(ctx, q)
	if err == nil {
		s.dec, s.inView, s.tainted = d, q.Origins, q.Tainted
	}
	return err
}

// policyMiddleware applies the guard's decision. toolCalls requests the owner's approval later,
// when it is about to run the call.
func (p *policyCheck) policyMiddleware() middleware {
	return middleware{name: "policy", beforeTool: func(ctx context.Context, s *callStep) error {
		if err := refusePlaceholder(s); err != nil {
			return err
		}
		if err := p.askGuard(ctx, s); err != nil {
			return turnAbort{err}
		}
		if s.dec.Verdict == guard.Deny && s.dec.Code == tools.Cancelled { // the owner stopped the turn, possibly before a restart
			return turnAbort{ErrStopped}
		}
		s.applyDenial()
		return nil
	}}
}

// refusePlaceholder refuses a call whose arguments contain the placeholder of a redacted secret.
// Either the model read a file without the secret and would destroy the secret by writing the file
// back, or the model named a secret that belongs to Hob.
func refusePlaceholder(s *callStep) error {
	if s.tool == nil || s.tool.Spec().Effects.ReadOnly() || !strings.Contains(string(s.args), redact.Mark) {
		return nil
	}
	return &tools.Error{
		Source: provenance.Tool,
		Code:   tools.PolicyDenied, Message: "the arguments contain " + redact.Mark + " instead of a secret, and the call would overwrite the secret or misuse it",
		Remedy: "leave that part unchanged: change only other parts, or ask the user to insert the secret with a reference (env:NAME, keychain:NAME)",
	}
}

// askOwner stores the approval request and shows it to the owner. The turn waits: the agent's
// process is blocked until the answer. The caller holds d.mu.
func (d *permissionBroker) askOwner(ctx context.Context, s *pendingAction) (guard.Approval, error) {
	rows, err := d.policy.askOwner(ctx, []*callStep{s.callStep}, func(tx *store.Tx, _ time.Time) error {
		tx.AfterCommit(func() { d.o.Bus.Inbox.RecheckWaiters(d.t.Event.ID) })
		return nil
	})
	if err != nil {
		return guard.Approval{}, err
	}
	return rows[0], nil
}

// askOwner stores an approval request for each call and shows the new ones to the owner. next runs
// in the same transaction; until is the time of the first expiry, or zero if an answer already
// exists.
func (p *policyCheck) askOwner(ctx context.Context, asks []*callStep, next func(tx *store.Tx, until time.Time) error) (rows []guard.Approval, err error) {
	questions := make([]guard.Question, len(asks)) // outside the transaction: a tool that judges its call may need one
	for i, s := range asks {
		questions[i] = guard.Question{Request: p.guardRequest(ctx, s), Decision: s.dec}
	}
	err = p.rec.writeWithSteps(ctx, func(tx *store.Tx) error {
		var until time.Time
		if rows, until, err = p.askTx(tx, asks, questions); err != nil {
			return err
		}
		if err := next(tx, until); err != nil || until.IsZero() {
			return err
		}
		for _, id := range p.t.Parents {
			if err := bus.ParkWaitingTx(tx, p.o.Bus.Inbox, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("turn: request approval: %w", err)
	}
	return rows, nil
}

// askTx stores the questions about calls.
func (p *policyCheck) askTx(tx *store.Tx, asks []*callStep, questions []guard.Question) (rows []guard.Approval, until time.Time, err error) {
	var fresh []guard.Approval
	answered := false
	if rows, err = p.o.Guard.AskAllTx(tx, questions); err != nil {
		return nil, until, err
	}
	for i, s := range asks {
		a := rows[i]
		// The answer may have arrived since the guard decided.
		answered = answered || a.State != guard.Pending
		if until.IsZero() || a.ExpiresAt.Before(until) {
			until = a.ExpiresAt
		}
		if s.dec.Approval != "" {
			continue // the owner has already received this request
		}
		fresh = append(fresh, a)
		if err := p.rec.auditTx(tx, s, "asked"); err != nil {
			return nil, until, err
		}
	}
	if answered {
		until = time.Time{}
	}
	return rows, until, p.questionTx(tx, fresh)
}

// applyAnswer asks the guard again after waiting for an answer. A request that is still open has
// timed out.
func (p *policyCheck) applyAnswer(ctx context.Context, s *callStep, q guard.Approval) error {
	if err := p.askGuard(ctx, s); err != nil {
		return err
	}
	if s.dec.Verdict == guard.Ask { // the wait ended without an answer
		s.dec = guard.Decision{Verdict: guard.Deny, Rule: s.dec.Rule, Code: tools.ApprovalTimeout, Reason: "the approval request was not answered in time"}
	}
	s.applyDenial()
	if s.dec.Code != tools.ApprovalTimeout {
		return nil
	}
	return p.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		_, err := p.o.Guard.EndTx(tx, q.ID, guard.TimedOut)
		return err
	})
}

// lapseQuestion expires an approval request whose turn ended before the answer. If notify is set,
// it notifies the owner.
func (p *policyCheck) lapseQuestion(ctx context.Context, q guard.Approval, notify bool) error {
	err := p.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		open, err := p.o.Guard.EndTx(tx, q.ID, guard.Cancelled)
		if err != nil || !open || !notify {
			return err
		}
		return p.notifyTx(tx, lapsedText([]guard.Approval{q}, nil))
	})
	if err != nil {
		return fmt.Errorf("turn: close an approval request: %w", err)
	}
	return nil
}

// questionTx sends the approval requests to the owner.
func (p *policyCheck) questionTx(tx *store.Tx, open []guard.Approval) error {
	if len(open) == 0 {
		return nil
	}
	ids := make([]string, len(open))
	for i, a := range open {
		ids[i] = a.ID
	}
	err := p.o.Bus.Outbox.EnqueueTx(tx, p.t.Event.ID, bus.OutboxItem{Provenance: p.conv.answerSource(), Asks: ids, Delivery: channels.Delivery{
		Kind: channels.Question, Session: p.t.Report, Channel: p.t.Channel, Chat: p.t.Chat, Text: questionText(open, p.t.Attended && p.t.Event.Kind == bus.Message),
	}})
	if err != nil {
		return err
	}
	tx.AfterCommit(func() {
		for _, a := range open {
			p.o.Bus.Feed.Publish("approval_required", p.t.Event.ID, p.t.Event.Session, a)
		}
	})
	return nil
}

// questionText formats the approval requests: each call in full, and a batch as one request. bare
// reports whether a plain "yes" may answer the requests.
func questionText(open []guard.Approval, bare bool) string {
	if len(open) == 1 && open[0].Batch == "" && bare {
		return renderText("question", open[0])
	}
	var out []string
	for i, a := range open {
		if a.Batch == "" {
			out = append(out, renderText("one", a))
			continue
		}
		if slices.ContainsFunc(open[:i], func(b guard.Approval) bool { return b.Batch == a.Batch }) {
			continue
		}
		all := slices.DeleteFunc(slices.Clone(open), func(b guard.Approval) bool { return b.Batch != a.Batch })
		form := "batch"
		if guard.TooLong(all) {
			form = "longbatch"
		}
		text := renderText(form, map[string]any{"All": all, "First": all[0]})
		if len(all) == len(open) && bare && form == "batch" {
			text += renderText("only", nil)
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

// notifyTx sends the owner a message from Hob that is separate from the answer.
func (p *policyCheck) notifyTx(tx *store.Tx, text string) error {
	return p.o.Bus.Outbox.EnqueueTx(tx, p.t.Event.ID, bus.OutboxItem{Provenance: provenance.Outside, Delivery: channels.Delivery{
		Kind: channels.Notice, Session: p.t.Report, Channel: p.t.Channel, Chat: p.t.Chat, Text: text,
	}})
}
