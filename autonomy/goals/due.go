package goals

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"hob/autonomy/bus"
	"hob/knowledge/store"
)

// changed makes sure that the next look at what is due reads it anew.
func (g *Goals) changed(tx *store.Tx) {
	tx.AfterCommit(func() {
		g.mu.Lock()
		g.read = false
		g.mu.Unlock()
		g.o.Bus.Poke()
	})
}

// Due puts the reviews that are due into the inbox and returns when the next one
// is (zero: none). It costs nothing while none is due and nothing has changed.
func (g *Goals) Due(ctx context.Context, now time.Time) (time.Time, error) {
	g.mu.Lock()
	next, known := g.next, g.read
	g.read = true // a change from here on is seen the next time
	g.mu.Unlock()
	if known && (next.IsZero() || next.After(now)) {
		return next, nil
	}
	next, err := g.put(ctx, now)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.read = false
		return now.Add(time.Second), err
	}
	g.next = next
	return next, nil
}

// put makes an event of each review that is due.
func (g *Goals) put(ctx context.Context, now time.Time) (next time.Time, err error) {
	due, err := list(g.o.Store.Reader(ctx), `WHERE status = 'active' AND next_at <= ? ORDER BY priority DESC, next_at, n`, store.Millis(now))
	if err != nil {
		return next, err
	}
	for _, goal := range due {
		if err := g.o.Store.Write(ctx, func(tx *store.Tx) error { return g.putTx(tx, goal.ID, now) }); err != nil {
			return next, fmt.Errorf("goals: review: %w", err)
		}
	}
	g.mu.Lock() // what putTx changed is read right here
	g.read = true
	g.mu.Unlock()
	var at sql.NullInt64
	if err := g.o.Store.Read().QueryRowContext(ctx, `SELECT min(next_at) FROM goals WHERE status = 'active'`).Scan(&at); err != nil {
		return next, fmt.Errorf("goals: next review: %w", err)
	}
	return store.Time(at.Int64), nil
}

// putTx puts one review into the inbox. The goal's next review moves on in the
// same transaction, so that this one is made once, whatever happens then; its
// decision says when the next one really is.
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
	open, err := g.open(tx, goal)
	if err != nil {
		return err
	}
	if open { // the last one is still under way
		return g.update(tx, goal)
	}
	ev, err := event(goal, Order{Phase: Review, Goal: goal.ID, Due: due}, `Review of the goal "`+goal.Name()+`"`)
	if err != nil {
		return err
	}
	ev.Key = fmt.Sprintf("review:%d", store.Millis(due))
	acc, err := g.o.Bus.PutTx(tx, ev)
	if err != nil {
		return err
	}
	goal.Event = acc.Event
	return g.update(tx, goal)
}

// open reports whether something of the goal is still under way.
func (g *Goals) open(tx *store.Tx, goal Goal) (bool, error) {
	return g.o.Bus.OpenTx(tx, source(goal.ID))
}

// Phase is what an event of a goal is about.
type Phase string

// The phases.
const (
	Review Phase = "review" // decide what to do
	Act    Phase = "act"    // do it
	Look   Phase = "look"   // find out more, with what only reads
	Ask    Phase = "ask"    // put it before the owner
)

// Order is the payload of a goal's event.
type Order struct {
	Phase Phase     `json:"phase"`
	Goal  string    `json:"goal"`
	Due   time.Time `json:"due,omitzero"`
	// Review is the event of the review that decided this, and Decision what it
	// decided.
	Review   string   `json:"review,omitempty"`
	Decision Decision `json:"decision,omitzero"`
	// Rule: no model decided it, and the action is to be done in its own words.
	Rule bool `json:"rule,omitempty"`
	// Agreed: the owner said yes to it.
	Agreed bool `json:"agreed,omitempty"`
}

// source names a goal among the sources of events; its session has that name too.
func source(id string) string { return "goal:" + id }

// Session is the conversation in which a goal is worked on.
func Session(id string) string { return source(id) }

// OrderOf reads what an event of a goal asks for.
func OrderOf(ev bus.Event) (o Order, err error) {
	if err := json.Unmarshal(ev.Payload, &o); err != nil {
		return o, fmt.Errorf("goal of event %s: %w", ev.ID, err)
	}
	return o, nil
}

func event(goal Goal, o Order, text string) (bus.Event, error) {
	payload, err := json.Marshal(o)
	if err != nil {
		return bus.Event{}, fmt.Errorf("goals: %w", err)
	}
	return bus.Event{
		ID: bus.NewID(), Kind: bus.Goal, Source: source(goal.ID), Session: Session(goal.ID), Text: text, Payload: payload, Provenance: goal.Provenance,
	}, nil
}
