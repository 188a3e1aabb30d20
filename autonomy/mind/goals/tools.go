package goals

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// ToolGoals manages goals for the goal tools. It returns goals in the form of the API. Errors wrap
// api.ErrInvalid if the arguments must change.
type ToolGoals struct {
	Goals *Goals
	Bus   *bus.Bus
	Facts Facts
	Zone  func() *time.Location
	// Offline reports whether only the built-in brain reviews goals. It returns false if this is
	// unknown.
	Offline func() bool
}

// argumentError means that the tool needs different arguments.
type argumentError struct{ error }

func (f argumentError) Is(target error) bool { return target == api.ErrInvalid }
func (f argumentError) Unwrap() error        { return f.error }

func classifyForTools(err error) error {
	if errors.Is(err, ErrInvalid) || errors.Is(err, ErrNotFound) {
		return argumentError{err}
	}
	return err
}

// CreateTx creates a goal for a call. note tells the user how Hob will work on the goal. It is ""
// if there is nothing to tell.
func (t ToolGoals) CreateTx(ctx context.Context, tx *store.Tx, c tools.Call, g api.Goal) (made api.Goal, note string, err error) {
	g.Source = t.findSource(ctx, c.Event)
	created, err := t.Goals.CreateTx(tx, Goal(g))
	if err != nil {
		return api.Goal{}, "", classifyForTools(err)
	}
	if t.Offline() && !HasRule(ctx, created, t.Facts, time.Now().In(t.Zone())) {
		note = `I will store it, but I can work on it only after a model is set up. Without a model I can follow rules such as "when a task is overdue then tell me, until Friday".`
	}
	return api.Goal(created), note, nil
}

// findSource returns the source for a goal that was created in the event of a call.
func (t ToolGoals) findSource(ctx context.Context, event string) string {
	ev, err := t.Bus.Inbox.Event(ctx, event)
	switch {
	case err != nil:
		return "tool"
	case ev.Kind == bus.Message && ev.Provenance == provenance.Owner:
		return "chat"
	case ev.Kind == bus.Task && ev.Source == "tool": // the user called the tool directly
		var c struct{ Report string }
		if json.Unmarshal(ev.Payload, &c) == nil && c.Report == "api" {
			return "api"
		}
		return "cli"
	}
	return "tool"
}

// ListIn returns the open goals or, if all is true, every goal. The most important goals come
// first.
func (ToolGoals) ListIn(q store.Querier, all bool) ([]api.Goal, error) {
	list, err := ListIn(q, all)
	out := make([]api.Goal, len(list))
	for i, g := range list {
		out[i] = api.Goal(g)
	}
	return out, err
}

// ChangeTx is like Goals.ChangeTx, but with goals in the form of the API.
func (t ToolGoals) ChangeTx(tx *store.Tx, g api.Goal, now time.Time) (api.Goal, error) {
	out, err := t.Goals.ChangeTx(tx, Goal(g), now)
	return api.Goal(out), classifyForTools(err)
}

// PutTx is like Goals.PutTx, but with a goal in the form of the API.
func (t ToolGoals) PutTx(tx *store.Tx, g api.Goal) error {
	return classifyForTools(t.Goals.PutTx(tx, Goal(g)))
}

// DropTx is like Goals.DropTx, but with tool errors.
func (t ToolGoals) DropTx(tx *store.Tx, id string) error {
	_, err := t.Goals.DropTx(tx, id)
	return classifyForTools(err)
}
