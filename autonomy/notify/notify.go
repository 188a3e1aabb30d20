// Package notify decides which notices reach the user, and when. It decides how urgent a notice is,
// which notices are deferred during quiet hours and sent as one digest afterwards, and what is
// recorded so that the user can ask why a notice was sent or not.
//
// The bus calls FilterNotice for each notice and question, in the transaction that ends their
// event. A notice is therefore either in the outbox or deferred in a row of this package, even
// after a crash. A separate event delivers deferred notices (Due, DigestTx). The package sends
// nothing itself and does not depend on channels.
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
	"hob/autonomy/hooks"
	"hob/autonomy/llm"
	"hob/channels"
	"hob/platform/store"
)

// Options holds the settings of a Notifier. Store, Bus and Zone are required.
type Options struct {
	Store *store.Store
	Bus   *bus.Bus
	// Zone returns the user's time zone, which may change while Hob runs.
	Zone  func() *time.Location
	Rules []Rule
	Quiet []QuietWindow
	// SameWithin is the period within which a fact is not repeated and similar notices are combined
	// (default 30 minutes).
	SameWithin time.Duration
	// PerHour is the maximum number of non-urgent notices sent individually per hour. If it is 0,
	// there is no limit, and only errors are combined.
	PerHour int
	// Digests lists the clock times at which notices of low urgency are sent. If it is empty, they
	// are sent immediately.
	Digests []TimeOfDay
	// Channel is the user's preferred channel; "" and "origin" mean none. Fallback lists the
	// channels that are used in order if a message cannot be delivered or has waited for
	// Unreachable. Usable reports whether a channel may be used. Nil means that all channels may be
	// used.
	Channel     string
	Fallback    []string
	Unreachable time.Duration
	Usable      func(channel string) bool
	// Pushes reports whether a channel actively notifies the user. Other channels, which the user
	// must open, are not searched. Nil means that all channels push.
	Pushes func(channel string) bool
	// Recent is how long after a message on a channel the user counts as present on that channel. 0
	// means never.
	Recent time.Duration
	// Waiting returns the ids of those approval requests for an event that are mentioned in text
	// and that still need an answer. Nil means that there is at least one.
	Waiting func(q store.Querier, event, text string) (asks []string, err error)
	// Model returns the model that RateUrgency calls to rate a notice. Nil means that no model is
	// called. Wait is the timeout (default 5 seconds). Room reports whether the budget allows a
	// background call. Redact removes credentials from the text that is sent and stored.
	Model  func(ctx context.Context) (llm.Model, error)
	Wait   time.Duration
	Room   func(now time.Time) (ok bool, at time.Time)
	Redact func(string) string
	// Programs are the user's hooks for notices. Nil means that there are none. Refused reports a
	// notice that a hook refused; why is untrusted text. Nil reports nothing.
	Programs *hooks.Hooks
	Refused  func(tx *store.Tx, r Notice, why string) error
	Log      *slog.Logger
}

// Notifier decides about notices. Its methods may be called concurrently.
type Notifier struct {
	o       Options
	due     bus.DueSource // when deferred notices are due
	waiting chan struct{} // signals that notices wait for hooks

	mu   sync.Mutex
	zone string    // time zone at the last check of deferred notices
	rest time.Time // no model is called before this time
}

// New returns a Notifier after checking the options.
func New(o Options) (*Notifier, error) {
	if o.Store == nil || o.Bus == nil || o.Zone == nil {
		return nil, errors.New("notify: the options Store, Bus and Zone are required")
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
	n := &Notifier{o: o, waiting: make(chan struct{}, 1)}
	n.due.FollowOthers(o.Bus.Lease, o.Bus.Inbox, "notices", "quiet_mode")
	return n, nil
}

// FilterNotice implements bus.Options.NoticeFilter. It returns false if a message must not go into
// the outbox. The row of the notice then records the decision.
func (n *Notifier) FilterNotice(tx *store.Tx, event string, o bus.OutboxItem) (bus.OutboxItem, bool, error) {
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
	if a.mayRepeat(o) {
		row.Fact, row.Shape = factKey(a, o.Text), shapeKey(a, o.Text)
	}
	if n.needsPrograms(o, a) {
		return o, false, n.holdForPrograms(tx, o, row)
	}
	j := n.defaultUrgency(a, now)
	if o.Kind == channels.Notice && mayRate(a, j) {
		j = applyRating(j, o.Hint)
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
		n.due.InvalidateTx(tx, n.o.Bus.Inbox)
	case Told:
		if o, row.Place, err = n.pickTx(tx, o, a); err != nil {
			return o, false, err
		}
		row.Channel, row.Chat = o.Channel, o.Chat
		if len(n.o.Fallback) > 0 { // the notice may need a different channel later
			n.due.InvalidateTx(tx, n.o.Bus.Inbox)
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

// newID returns a notice id that is short enough to type.
func newID() string { return "n-" + strings.ToLower(rand.Text()[:8]) }

// wrapError adds the failed operation to an error. It returns nil for nil.
func wrapError(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("notify: %s: %w", operation, err)
}
