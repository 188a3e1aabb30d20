package tools

import (
	"context"
	"encoding/json"
)

// Delayer is a tool that delays calls that reach other people for a short time ([autonomy]
// send_delay), so that the user can cancel them. After this time, Call runs with the ID, time and
// Exact of the original call. It may run again after an error or a crash, unless it has called
// Call.Commit.
type Delayer interface {
	Tool
	// Waiting describes in a few words what a call sends, such as "the email". "" means that calls
	// of this tool never wait.
	Waiting(args json.RawMessage) string
	// Freeze returns what the call will send, for Call.Frozen. If it returns nil, Call itself
	// resolves the arguments after the delay, and fails if the result differs from the approved
	// Exact.
	Freeze(ctx context.Context, c Call) (json.RawMessage, error)
	// WasSent reports whether a call that was interrupted after Commit took effect. It also returns
	// false if this is unknown.
	WasSent(ctx context.Context, c Call) (bool, error)
}

// Waiting implements Delayer.
func (t *typed) Waiting(args json.RawMessage) string {
	if t.waiting == nil {
		return ""
	}
	in, err := t.decodeArguments(args)
	if err != nil {
		return ""
	}
	return t.waiting(in)
}

// Freeze implements Delayer.
func (t *typed) Freeze(ctx context.Context, c Call) (json.RawMessage, error) {
	if t.freeze == nil {
		return nil, nil
	}
	in, err := t.decodeArguments(c.Args)
	if err != nil {
		return nil, err
	}
	frozen, err := t.freeze(ctx, c.withDefaults(), in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(frozen)
}

// WasSent implements Delayer.
func (t *typed) WasSent(ctx context.Context, c Call) (bool, error) {
	if t.wasSent == nil {
		return false, nil
	}
	in, err := t.decodeArguments(c.Args)
	if err != nil {
		return false, err
	}
	return t.wasSent(ctx, c.withDefaults(), in)
}

// ReachesOthers reports whether a call with this assessment reaches anyone but the user.
func ReachesOthers(s *Spec, j CallAssessment) bool {
	effects := s.Effects
	if j.Effects != 0 {
		effects = j.Effects
	}
	if effects&Send == 0 {
		return false
	}
	for _, to := range j.To {
		if to != Owner {
			return true
		}
	}
	return len(j.To) == 0
}
