package watchers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"hob/platform/store"
)

// KindMessage is the kind of watcher that receives inbound messages.
const KindMessage = "message"

// listeners finds the message watchers without reading other rows, because the lookup delays each
// inbound message.
const listeners = `CREATE INDEX watchers_listeners ON watchers (id) WHERE kind = 'message' AND state = 'active'`

// Message is an inbound message, or a message in a conversation that Hob only reads.
type Message struct {
	// ID is the permanent id of the message.
	ID                      string
	Channel, Chat, ChatName string
	Session                 string // the conversation of the message
	Sender, SenderName      string // identifies the sender within the channel
	Text                    string
	// Owner is true if the user wrote the message.
	Owner bool
	// Ignored is true if Hob does not answer the sender, because the sender is unknown or over the
	// rate limit.
	Ignored bool
	At      time.Time
}

// MessageWatcher is a watcher that receives each inbound message. It has no goroutine and does no
// I/O. Its signals are written in the transaction that stores the message, so that either both or
// neither are stored.
type MessageWatcher interface {
	// Hear returns the signal for a message, or false if the message does not match. called returns
	// the other names, addresses and numbers of a named person.
	Hear(m Message, called func(name string) []string) (Signal, bool)
}

// MismatchExplainer is a MessageWatcher that can explain why a message did not match.
type MismatchExplainer interface {
	MessageWatcher
	// Unheard explains why Hear returned false for a message. It returns false if the user would
	// not expect the message to match.
	Unheard(m Message) (SuppressedSignal, bool)
}

// MessageSignal is a signal of a MessageWatcher, for the caller that stores the message.
type MessageSignal struct {
	Spec   Spec
	Signal Signal
}

// WantsMessage reports whether a message from a sender that Hob does not answer would fire a
// watcher. It writes nothing.
func (m *Manager) WantsMessage(ctx context.Context, msg Message) (bool, error) {
	found, err := m.matchMessage(m.opt.Store.Reader(ctx), msg, false)
	return len(found) > 0, err
}

// DispatchTx passes a message to the message watchers and returns their signals. The caller stores
// the signals in the inbox in the same transaction. The failure of a watcher never prevents the
// message from being stored.
func (m *Manager) DispatchTx(tx *store.Tx, msg Message) ([]MessageSignal, error) {
	found, err := m.matchMessage(tx, msg, true)
	if err != nil {
		return nil, err
	}
	var out []MessageSignal
	now := time.Now()
	for _, h := range found {
		p, err := selectPoll(tx, h.Spec.ID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		run, hold := m.splitByHours(h.Spec, m.limitPerDay(h.Spec, &p, []Signal{h.Signal}, now), now)
		if err := errors.Join(p.saveDayCount(tx), m.holdTx(tx, h.Spec.ID, hold)); err != nil {
			return nil, err
		}
		fired, at := countFiring(run, now)
		if _, err := tx.Exec("UPDATE watchers SET fired = fired + ?, fired_at = max(fired_at, ?) WHERE id = ?", fired, at, h.Spec.ID); err != nil {
			return nil, fmt.Errorf("watchers: store watcher: %w", err)
		}
		if err := m.writeSilences(tx, h.Spec.ID); err != nil {
			return nil, err
		}
		for _, s := range run {
			out = append(out, MessageSignal{h.Spec, s})
		}
	}
	return out, nil
}

// matchMessage runs the message watchers on a message. It records mismatches in memory. The next
// commit of a watcher writes them.
func (m *Manager) matchMessage(q store.Querier, msg Message, note bool) ([]MessageSignal, error) {
	rows, err := m.selectRows(q, " INDEXED BY watchers_listeners WHERE kind = '"+KindMessage+"' AND state = 'active'")
	if err != nil {
		return nil, err
	}
	called := func(name string) []string { return m.opt.Called(q, name) }
	var out []MessageSignal
	for _, r := range rows {
		if s, ok := m.matchWatcher(r.Spec, msg, called, note); ok {
			out = append(out, MessageSignal{r.Spec, s})
		}
	}
	return out, nil
}

// matchWatcher runs one message watcher on a message. If the watcher fails, the loop checks it and
// notifies the user.
func (m *Manager) matchWatcher(spec Spec, msg Message, called func(string) []string, note bool) (s Signal, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			m.opt.Log.Error("watcher panicked", "watcher", spec.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			s, ok = Signal{}, false
		}
	}()
	made, err := m.buildWatcher(spec)
	if h, is := made.(MessageWatcher); is && err == nil {
		if s, ok = h.Hear(msg, called); ok || !note {
			return s, ok
		}
		if u, is := h.(MismatchExplainer); is {
			if p, noted := u.Unheard(msg); noted {
				p.Watcher, p.Rule, p.Key = spec.ID, RuleCondition, msg.ID
				m.silent.addPassed(p)
			}
		}
		return s, false
	}
	m.markDirty(spec.ID, true)
	return Signal{}, false
}
