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
	"hob/autonomy/llm"
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
	// SameWithin is how long a fact is not told again, and things that are like each
	// other are told together (default 30 minutes).
	SameWithin time.Duration
	// PerHour is how many notices that are not urgent are told one by one within an
	// hour; 0: any number, and only what does not work is told together.
	PerHour int
	// Digests are the times of day at which things of low urgency are told; none:
	// they are told at once.
	Digests []Clock
	// Channel is the owner's preferred one, "" or "origin" for none; Fallback are
	// those that are tried in its place, in order, when a text cannot be delivered or
	// has waited for Unreachable. Usable reports whether a channel may be tried; nil:
	// each may.
	Channel     string
	Fallback    []string
	Unreachable time.Duration
	Usable      func(channel string) bool
	// Pushes reports whether a channel reaches the owner by itself: he is not looked
	// for where he would have to come and fetch what is said. nil: each does.
	Pushes func(channel string) bool
	// Recent is how long after he wrote on a channel the owner counts as there; 0:
	// never.
	Recent time.Duration
	// Waiting lists the approvals of an event that a text asks for and that still wait for
	// an answer; nil: one does.
	Waiting func(q store.Querier, event, text string) (asks []string, err error)
	// Model is asked by Weigh how urgent a notice is; nil: none is. Wait is how long
	// (default 5 seconds), Room whether a call for which nobody waits may be made now,
	// Redact takes credentials out of what is sent and kept.
	Model  func(ctx context.Context) (llm.Model, error)
	Wait   time.Duration
	Room   func(now time.Time) (ok bool, at time.Time)
	Redact func(string) string
	Log    *slog.Logger
}

// Notifier decides about notices. Its methods may be called concurrently.
type Notifier struct {
	o Options

	mu   sync.Mutex
	read bool // next is what the table says
	next time.Time
	zone string    // for which the held ones were looked at
	rest time.Time // until then no model is asked
}

// New checks the options.
func New(o Options) (*Notifier, error) {
	if o.Store == nil || o.Bus == nil || o.Zone == nil {
		return nil, errors.New("notify: an option is missing")
	}
	if o.Waiting == nil {
		o.Waiting = func(store.Querier, string, string) ([]string, error) { return []string{"?"}, nil }
	}
	if o.Pushes == nil {
		o.Pushes = func(string) bool { return true }
	}
	if o.Usable == nil {
		o.Usable = func(string) bool { return true }
	}
	if o.Room == nil {
		o.Room = func(now time.Time) (bool, time.Time) { return true, now }
	}
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Wait <= 0 {
		o.Wait = 5 * time.Second
	}
	if o.SameWithin <= 0 {
		o.SameWithin = 30 * time.Minute
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
		ID: newID(), Event: event, Kind: o.Kind, Cause: a.Cause, Subject: a.Title, Watcher: a.Watcher, Session: o.Session, Channel: o.Channel, Chat: o.Chat,
		Provenance: o.Provenance, State: Told, Delivery: o.ID, CreatedAt: now, ToldAt: now,
	}
	if a.repeats(o) {
		row.Fact, row.Shape = fact(a, o.Text), shape(a, o.Text)
	}
	j := n.urgent(a, now)
	if o.Kind == channels.Notice && open(a, j) {
		j = weighed(j, o.Hint)
	}
	row.Urgency, row.Rule, row.Weighed = j.urgency, j.why, j.weighed
	v, err := n.judgeTx(tx, o, a, j, row)
	if err != nil {
		return o, false, err
	}
	row.State, row.HeldBy, row.Until, row.Why, row.Of = v.state, v.by, v.until, v.why, v.of
	if v.state != Told {
		row.Delivery, row.ToldAt = "", time.Time{}
	}
	switch v.state {
	case Held:
		row.Text = o.Text
		n.changed(tx)
	case Told:
		if o, row.Place, err = n.pickTx(tx, o, a); err != nil {
			return o, false, err
		}
		row.Channel, row.Chat = o.Channel, o.Chat
		if len(n.o.Fallback) > 0 { // it may have to go elsewhere
			n.changed(tx)
		}
		if row.Fact != "" {
			more, err := n.timesTx(tx, row.Fact)
			if err != nil {
				return o, false, err
			}
			o.Text += more
		}
	}
	return o, v.state == Told, insertTx(tx, row)
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
