package agent

import (
	"cmp"
	"context"

	"hob/autonomy/guard"
	"hob/tools"
)

func (r *run) request(s *step) guard.Request {
	return guard.Request{
		Tool: s.tool, Args: s.args, Call: s.call.ID, Event: r.t.Event.ID, Session: r.t.Event.Session,
		Attended: r.t.Attended, Guest: r.t.Guest, Tainted: r.tainted(), Origins: r.origins(), Origin: r.t.Origin, Level: r.o.Level,
	}
}

// policy asks the guard. What it leaves to the owner is asked when the call's
// turn comes (see suspend).
func (r *run) policy() link {
	return link{name: "policy", beforeTool: func(ctx context.Context, s *step) error {
		d, err := r.o.Guard.Decide(ctx, r.request(s))
		if err != nil {
			return ends{err}
		}
		s.dec = d
		if d.Verdict != guard.Deny {
			return nil
		}
		code := cmp.Or(d.Code, tools.PolicyDenied)
		if code == tools.Cancelled { // the owner stopped the turn, perhaps before a restart
			return ends{ErrStopped}
		}
		s.err = &tools.Error{Code: code, Message: string(code) + ": " + d.Reason}
		return nil
	}}
}
