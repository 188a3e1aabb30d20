package watchers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"hob/knowledge/store"
)

// KindMessage is the kind that is shown what people write to Hob.
const KindMessage = "message"

// listeners finds the watchers that a message is shown to without a look at the
// others: it is in the way of each message.
const listeners = `CREATE INDEX watchers_listeners ON watchers (id) WHERE kind = 'message' AND state = 'active'`

// Message is what somebody wrote to Hob, or where Hob reads along.
type Message struct {
	// ID names it for ever.
	ID                      string
	Channel, Chat, ChatName string
	Session                 string // the conversation that it belongs to
	Sender, SenderName      string // as the channel knows who wrote it
	Text                    string
	// Owner: the owner wrote it.
	Owner bool
	// Ignored: Hob does not answer its sender, who is a stranger or writes too much.
	Ignored bool
	At      time.Time
}

// Hearer is a watcher that is shown each message as it comes in. It has no
// goroutine and asks nobody: what it fires is written in the transaction that
// takes the message in, so that both are there or none is.
type Hearer interface {
	// Hear says what a message means to it, false for nothing. called are the
	// other names, addresses and numbers of whoever is named.
	Hear(m Message, called func(name string) []string) (Signal, bool)
}

// Unhearer is a Hearer that can say why a message is not for it.
type Unhearer interface {
	Hearer
	// Unheard says it of a message that Hear has refused; false: of such a message
	// nobody would expect to be told.
	Unheard(m Message) (Passed, bool)
}

// Heard is a signal of a Hearer, for who takes messages in.
type Heard struct {
	Spec   Spec
	Signal Signal
}

// Overhears reports whether a message of somebody whom Hob does not answer would
// fire anything, without writing anything.
func (m *Manager) Overhears(ctx context.Context, msg Message) (bool, error) {
	found, err := m.hear(m.opt.Store.Reader(ctx), msg, false)
	return len(found) > 0, err
}

// HearTx shows a message to the watchers of messages and returns what they fire,
// which the caller puts into the inbox in the same transaction. A watcher that
// does not work never keeps a message from being taken.
func (m *Manager) HearTx(tx *store.Tx, msg Message) ([]Heard, error) {
	found, err := m.hear(tx, msg, true)
	if err != nil {
		return nil, err
	}
	var out []Heard
	now := time.Now()
	for _, h := range found {
		p, err := selectPoll(tx, h.Spec.ID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		run, hold := m.admit(h.Spec, m.limit(h.Spec, &p, []Signal{h.Signal}, now), now)
		if err := errors.Join(p.count(tx), m.holdTx(tx, h.Spec.ID, hold)); err != nil {
			return nil, err
		}
		fired, at := firing(run, now)
		if _, err := tx.Exec("UPDATE watchers SET fired = fired + ?, fired_at = max(fired_at, ?) WHERE id = ?", fired, at, h.Spec.ID); err != nil {
			return nil, fmt.Errorf("watchers: store: %w", err)
		}
		if err := m.keepSilences(tx, h.Spec.ID); err != nil {
			return nil, err
		}
		for _, s := range run {
			out = append(out, Heard{h.Spec, s})
		}
	}
	return out, nil
}

// hear asks the watchers what a message means to them. What it means nothing to is
// noted, in memory: it is written with what the watcher commits next.
func (m *Manager) hear(q store.Querier, msg Message, note bool) ([]Heard, error) {
	rows, err := selectRows(q, " INDEXED BY watchers_listeners WHERE kind = '"+KindMessage+"' AND state = 'active'")
	if err != nil {
		return nil, err
	}
	called := func(name string) []string { return m.opt.Called(q, name) }
	var out []Heard
	for _, r := range rows {
		if s, ok := m.ears(r.Spec, msg, called, note); ok {
			out = append(out, Heard{r.Spec, s})
		}
	}
	return out, nil
}

// ears is one watcher's hearing. One that fails is looked at by the loop, which
// tells the owner.
func (m *Manager) ears(spec Spec, msg Message, called func(string) []string, note bool) (s Signal, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			m.opt.Log.Error("watcher panicked", "watcher", spec.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			s, ok = Signal{}, false
		}
	}()
	made, err := m.build(spec)
	if h, is := made.(Hearer); is && err == nil {
		if s, ok = h.Hear(msg, called); ok || !note {
			return s, ok
		}
		if u, is := h.(Unhearer); is {
			if p, noted := u.Unheard(msg); noted {
				p.Watcher, p.Rule, p.Key = spec.ID, RuleCondition, msg.ID
				m.silent.note(p)
			}
		}
		return s, false
	}
	m.mark(spec.ID, true)
	return Signal{}, false
}
