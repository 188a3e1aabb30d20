// Package notify decides what reaches the owner, and when: how urgent a notice is,
// what is held while he wants quiet and told as one digest afterwards, and what is
// kept of each so that he can ask why he was told, or was not.
//
// The bus asks Gate about each notice and question, in the transaction that ends
// their event: a notice is either in the outbox or held in a row of this package,
// whatever crashes. What was held is told by an event of its own (Due, DigestTx).
// It words and sends nothing by itself and knows no channel.
package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/knowledge/store"
)

// Options of New; Store, Bus and Zone are required.
type Options struct {
	Store *store.Store
	Bus   *bus.Bus
	// Zone is the owner's; it may change while Hob runs.
	Zone  func() *time.Location
	Rules []Rule
	Quiet []Quiet
	// Waiting reports whether a question of an event still waits for its answer;
	// nil: it does.
	Waiting func(q store.Querier, event string) (bool, error)
	Log     *slog.Logger
}

// Presence knows where the owner is, from what he does with his devices: the
// channel that reaches him there and for how long he has done nothing. known is
// false when nobody can tell.
type Presence interface {
	At(ctx context.Context) (channel string, idle time.Duration, known bool)
}

// Notifier decides about notices. Its methods may be called concurrently.
type Notifier struct {
	o Options

	mu   sync.Mutex
	read bool // next is what the table says
	next time.Time
	zone string // for which the held ones were looked at
}

// New checks the options.
func New(o Options) (*Notifier, error) {
	if o.Store == nil || o.Bus == nil || o.Zone == nil {
		return nil, errors.New("notify: an option is missing")
	}
	if o.Waiting == nil {
		o.Waiting = func(store.Querier, string) (bool, error) { return true, nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Notifier{o: o}, nil
}

// Gate implements bus.Gate: false keeps a text out of the outbox, and its row here
// says what becomes of it.
func (n *Notifier) Gate(tx *store.Tx, event string, o bus.Out) (bus.Out, bool, error) {
	if o.Kind != channels.Notice && o.Kind != channels.Question {
		return o, true, nil
	}
	a, err := aboutTx(tx, o, event)
	if err != nil {
		return o, false, err
	}
	now := time.Now()
	row := Notice{
		ID: newID(), Event: event, Kind: o.Kind, Cause: a.Cause, Subject: a.Title, Session: o.Session, Channel: o.Channel, Chat: o.Chat,
		Provenance: o.Provenance, State: Told, Delivery: o.ID, CreatedAt: now, ToldAt: now,
	}
	j := n.urgent(a, now)
	row.Urgency, row.Rule = j.urgency, j.why
	until, why, held := n.held(a, j, now)
	if row.Why = why; held {
		row.State, row.HeldBy, row.Until, row.Text, row.Delivery, row.ToldAt = Held, ByQuiet, until, o.Text, "", time.Time{}
	}
	if err := insertTx(tx, row); err != nil {
		return o, false, err
	}
	if held {
		n.changed(tx)
	}
	return o, !held, nil
}

// held decides whether something waits, until when, and says why in either case.
func (n *Notifier) held(a about, j judged, now time.Time) (until time.Time, why string, held bool) {
	until, q, on := quiet(n.o.Quiet, now, n.o.Zone())
	switch {
	case a.Cause == Answer, a.Cause == Digest:
		return until, called(a.Cause) + " is never held", false
	case !on:
		return until, "nothing held it", false
	case a.Timed && !j.named:
		return until, "you chose this time yourself", false
	case j.urgency == Critical:
		return until, "it is critical, which quiet hours do not hold", false
	}
	return until, "quiet hours " + q.String(), true
}

// changed makes sure that the next look at what is due reads it anew.
func (n *Notifier) changed(tx *store.Tx) {
	tx.AfterCommit(func() {
		n.mu.Lock()
		n.read = false
		n.mu.Unlock()
		n.o.Bus.Poke()
	})
}

// newID names a notice, short enough to be typed.
func newID() string { return "n-" + strings.ToLower(rand.Text()[:8]) }

// wrap says whose error it is.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("notify: %w", err)
}
