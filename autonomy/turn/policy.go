package turn

import (
	"cmp"
	"context"

	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/tools"
)

func (r *turnRun) guardRequest(ctx context.Context, s *callStep) guard.Request {
	q := guard.Request{
		Tool: s.tool, Args: s.args, Call: s.call.ID, Event: r.t.Event.ID, Session: r.t.Event.Session,
		Attended: r.t.Attended, Guest: r.t.Guest, Tainted: r.isTainted(), Origins: r.contextOrigins(), Origin: r.t.Origin, Level: r.o.Level.Narrower(r.t.Level),
		Channel: r.t.Event.Channel, Person: r.t.Person, Agent: r.o.Name, Seen: func() guard.EgressEvidence { return r.egressEvidence(ctx, s) },
	}
	if r.t.Doubt != nil {
		q.Doubt = func(e tools.Effects) string { return r.t.Doubt(s.tool.Spec(), e) }
	}
	if !s.tool.Spec().Effects.ReadOnly() {
		q.Made, q.Agreed, q.Refused = r.countChanges(ctx, s)
	}
	return q
}

// policyMiddleware asks the guard. Approvals are requested when it is the call's turn to run (see
// suspend).
func (r *turnRun) policyMiddleware() middleware {
	return middleware{name: "policy", beforeTool: func(ctx context.Context, s *callStep) error {
		s.inView = r.contextOrigins()
		if err := refusePlaceholder(s); err != nil {
			return err
		}
		d, err := r.o.Guard.Decide(ctx, r.guardRequest(ctx, s))
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
