package goals

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"hob/autonomy/bus"
	"hob/platform/store"
)

// Due puts the due reviews into the inbox. It returns the time of the next review, or the zero time
// if there is none.
func (g *Goals) Due(ctx context.Context, now time.Time) (time.Time, error) {
	return g.due.Due(ctx, now, false, g.enqueueDue)
}

// enqueueDue creates an event for each due review.
func (g *Goals) enqueueDue(ctx context.Context, now time.Time) (next time.Time, err error) {
	due, err := listGoals(g.o.Store.Reader(ctx), `WHERE status = 'active' AND next_at <= ? ORDER BY priority DESC, next_at, n`, store.Millis(now))
	if err != nil {
		return next, err
	}
	for _, goal := range due {
		if err := g.o.Store.Write(ctx, func(tx *store.Tx) error { return g.putTx(tx, goal.ID, now) }); err != nil {
			return next, fmt.Errorf("goals: start review: %w", err)
		}
	}
	g.due.MarkCurrent() // the query below already includes the changes made by putTx
	var at sql.NullInt64
	if err := g.o.Store.Read().QueryRowContext(ctx, `SELECT min(next_at) FROM goals WHERE status = 'active'`).Scan(&at); err != nil {
		return next, fmt.Errorf("goals: find next review: %w", err)
	}
	return store.Time(at.Int64), nil
}

// putTx puts one review into the inbox. In the same transaction it also advances the goal's next
// review, so that the review runs only once even after a crash. The decision of the review sets the
// final time.
func (g *Goals) putTx(tx *store.Tx, id string, now time.Time) error {
	goal, err := Get(tx, id)
	if err != nil {
		return err
	}
	if goal.Status != string(Active) || goal.NextAt.After(now) {
		return nil
	}
	due := goal.NextAt
	goal.NextAt = now.Add(goal.EveryDuration())
	open, err := g.hasOpenEvent(tx, goal)
	if err != nil {
		return err
	}
	if open { // the previous event is still in progress
		return g.updateGoal(tx, goal)
	}
	ev, err := newEvent(goal, EventPayload{Phase: Review, Goal: goal.ID, Due: due}, `Review of the goal "`+goal.Name()+`"`)
	if err != nil {
		return err
	}
	ev.Key = fmt.Sprintf("review:%d", store.Millis(due))
	acc, err := g.o.Bus.Inbox.PutTx(tx, ev)
	if err != nil {
		return err
	}
	goal.Event = acc.Event
	return g.updateGoal(tx, goal)
}

// hasOpenEvent reports whether an event for the goal is still in progress.
func (g *Goals) hasOpenEvent(tx *store.Tx, goal Goal) (bool, error) {
	return g.o.Bus.Inbox.OpenTx(tx, eventSource(goal.ID))
}

// Phase is what an event for a goal must do.
type Phase string

// Values of Phase.
const (
	Review Phase = "review" // decide what to do
	Act    Phase = "act"    // carry out the action
	Look   Phase = "look"   // investigate with read-only tools
	Ask    Phase = "ask"    // request the user's approval
)

// EventPayload is the payload of an event for a goal.
type EventPayload struct {
	Phase Phase     `json:"phase"`
	Goal  string    `json:"goal"`
	Due   time.Time `json:"due,omitzero"`
	// Review is the event of the review that led to this event. Decision is the decision of that
	// review.
	Review   string   `json:"review,omitempty"`
	Decision Decision `json:"decision,omitzero"`
	// Rule reports whether the decision was made without a model. The action is then used verbatim.
	Rule bool `json:"rule,omitempty"`
	// Agreed reports whether the user approved the action.
	Agreed bool `json:"agreed,omitempty"`
}

// eventSource returns the name of a goal as an event source. Its session has the same name.
func eventSource(id string) string { return "goal:" + id }

// Session returns the id of the conversation in which Hob works on a goal.
func Session(id string) string { return eventSource(id) }

// OrderOf parses the payload of an event for a goal.
func OrderOf(ev bus.Event) (o EventPayload, err error) {
	if err := json.Unmarshal(ev.Payload, &o); err != nil {
		return o, fmt.Errorf("decode the goal of event %s: %w", ev.ID, err)
	}
	return o, nil
}

func newEvent(goal Goal, o EventPayload, text string) (bus.Event, error) {
	payload, err := json.Marshal(o)
	if err != nil {
		return bus.Event{}, fmt.Errorf("goals: encode the event of a goal: %w", err)
	}
	return bus.Event{
		ID: bus.NewID(), Kind: bus.Goal, Source: eventSource(goal.ID), Session: Session(goal.ID), Text: text, Payload: payload, Provenance: goal.Provenance,
	}, nil
}
