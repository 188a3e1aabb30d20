package turn

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/redact"
	"hob/tools"
)

// callGate decides whether a call may run: it asks the guard and puts questions to the owner.
type callGate struct {
	o    *Options
	t    *Turn
	conv *conversation
	rec  *stepRecorder
	hist *callHistory
}

// notifyTx sends the owner a message from Hob outside of the answer.
func (g *callGate) notifyTx(tx *store.Tx, text string) error {
	return g.o.Bus.EnqueueTx(tx, g.t.Event.ID, bus.OutboxItem{Provenance: provenance.Outside, Delivery: channels.Delivery{
		Kind: channels.Notice, Session: g.t.Report, Channel: g.t.Channel, Chat: g.t.Chat, Text: text,
	}})
}

func (g *callGate) guardRequest(ctx context.Context, s *callStep) guard.Request {
	q := guard.Request{
		Tool: s.tool, Args: s.args, Call: s.call.ID, Event: g.t.Event.ID, Session: g.t.Event.Session,
		Attended: g.t.Attended, Guest: g.t.Guest, Tainted: g.conv.isTainted(), Origins: g.conv.contextOrigins(), Origin: g.t.Origin, Level: g.o.Level.Narrower(g.t.Level),
		Channel: g.t.Event.Channel, Person: g.t.Person, Agent: g.o.Name, Seen: func() guard.EgressEvidence { return g.hist.egressEvidence(ctx, s) },
	}
	if g.t.Doubt != nil {
		q.Doubt = func(e tools.Effects) string { return g.t.Doubt(s.tool.Spec(), e) }
	}
	if !s.tool.Spec().Effects.ReadOnly() {
		q.Made, q.Agreed, q.Refused = g.hist.countChanges(ctx, s)
	}
	return q
}

// policyMiddleware asks the guard. Approvals are requested when it is the call's turn to run (see
// suspend).
func (g *callGate) policyMiddleware() middleware {
	return middleware{name: "policy", beforeTool: func(ctx context.Context, s *callStep) error {
		s.inView = g.conv.contextOrigins()
		if err := refusePlaceholder(s); err != nil {
			return err
		}
		d, err := g.o.Guard.Decide(ctx, g.guardRequest(ctx, s))
		if err != nil {
			return turnAbort{err}
		}
		s.dec = d
		if d.Verdict != guard.Deny {
			return nil
		}
		code := cmp.Or(d.Code, tools.PolicyDenied)
		if code == tools.Cancelled { // the owner stopped the turn, perhaps before a restart
			return turnAbort{ErrStopped}
		}
		s.err = deniedBy(code, d)
		return nil
	}}
}

// deniedBy returns the error of a call that the guard denied. Its reason is Hob's
// own, unless it is the tool's refusal, which may quote what the tool read.
func deniedBy(code tools.Code, d guard.Decision) error {
	src := provenance.Tool
	if d.Judgement.Refused != nil {
		src = tools.SourceOf(d.Judgement.Refused)
	}
	return &tools.Error{Code: code, Message: string(code) + ": " + d.Reason, Source: src}
}

// refusePlaceholder refuses a call that would store or run a text with a redacted secret. The model
// has read a file without the secret and would destroy it by writing the file back, or it has
// named one of Hob's own secrets.
func refusePlaceholder(s *callStep) error {
	if s.tool == nil || s.tool.Spec().Effects.ReadOnly() || !strings.Contains(string(s.args), redact.Mark) {
		return nil
	}
	return &tools.Error{
		Source: provenance.Tool,
		Code:   tools.PolicyDenied, Message: "the arguments hold " + redact.Mark + " in the place of a secret, which would be lost or used wrongly",
		Remedy: "leave that part unchanged: change only other parts, or ask the user to insert the secret with a reference (env:NAME, keychain:NAME)",
	}
}

func (g *callGate) askTx(ctx context.Context, tx *store.Tx, asks []*callStep) error {
	var until time.Time
	var fresh []guard.Approval
	answered := false
	questions := make([]guard.Question, len(asks))
	for i, s := range asks {
		questions[i] = guard.Question{Request: g.guardRequest(ctx, s), Decision: s.dec}
	}
	rows, err := g.o.Guard.AskAllTx(tx, questions)
	if err != nil {
		return err
	}
	for i, s := range asks {
		a := rows[i]
		// The answer may have arrived since the guard decided.
		answered = answered || a.State != guard.Pending
		if until.IsZero() || a.ExpiresAt.Before(until) {
			until = a.ExpiresAt
		}
		if s.dec.Approval != "" {
			continue // the owner has this question already
		}
		fresh = append(fresh, a)
		if err := g.rec.auditTx(tx, s, "asked"); err != nil {
			return err
		}
	}
	if answered {
		until = time.Time{}
	}
	if err := g.questionTx(tx, fresh); err != nil {
		return err
	}
	return g.o.Bus.SuspendTx(tx, g.t.Event.ID, until)
}

// questionTx puts the questions before the owner.
func (g *callGate) questionTx(tx *store.Tx, open []guard.Approval) error {
	if len(open) == 0 {
		return nil
	}
	ids := make([]string, len(open))
	for i, a := range open {
		ids[i] = a.ID
	}
	err := g.o.Bus.EnqueueTx(tx, g.t.Event.ID, bus.OutboxItem{Provenance: g.conv.answerSource(), Asks: ids, Delivery: channels.Delivery{
		Kind: channels.Question, Session: g.t.Report, Channel: g.t.Channel, Chat: g.t.Chat, Text: questionText(open, g.t.Attended && g.t.Event.Kind == bus.Message),
	}})
	if err != nil {
		return err
	}
	tx.AfterCommit(func() {
		for _, a := range open {
			g.o.Bus.Feed.Publish("approval_required", g.t.Event.ID, g.t.Event.Session, a)
		}
	})
	return nil
}

// questionText formats the approval requests: each call in its exact form, and those of a batch as
// one request. bare reports that a bare yes may answer them.
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
