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

// listeners creates the index of the active message watchers. Without it, each inbound message would
// wait for a scan of all watchers.
const listeners = `CREATE INDEX watchers_listeners ON watchers (id) WHERE kind = 'message' AND state = 'active'`

// intents makes the index of listeners include the intents.
const intents = `DROP INDEX watchers_listeners;
CREATE INDEX watchers_listeners ON watchers (id) WHERE kind IN ('message', 'intent') AND state = 'active'`

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
	// Group is true if other people read the chat too.
	Group bool
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

// SignalWatcher is a MessageWatcher that also receives the signals of other watchers.
type SignalWatcher interface {
	MessageWatcher
	// HearSignal returns the signal for a signal s of the watcher of, or false if s does not match.
	HearSignal(of Spec, s Signal) (Signal, bool)
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
		if err := m.recordFiring(tx, h, run, now); err != nil {
			return nil, err
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

// recordFiring counts the signals of a message watcher that fire now. An intent is finished with its
// last signal, in the same transaction, so that it never fires twice.
func (m *Manager) recordFiring(tx *store.Tx, h MessageSignal, run []Signal, now time.Time) error {
	state := Active
	if h.Signal.Last {
		state = Done
		m.reloadAfterCommit(tx, h.Spec.ID, true)
	}
	fired, at := countFiring(run, now)
	if _, err := tx.Exec("UPDATE watchers SET fired = fired + ?, fired_at = max(fired_at, ?), state = ? WHERE id = ?", fired, at, string(state), h.Spec.ID); err != nil {
		return fmt.Errorf("watchers: store watcher: %w", err)
	}
	return nil
}

// DispatchSignalTx passes a signal of a watcher to the intents and returns their signals. The caller
// stores the signals in the inbox in the same transaction. Signals of intents are not passed on.
func (m *Manager) DispatchSignalTx(tx *store.Tx, of Spec, s Signal) ([]MessageSignal, error) {
	if of.Kind == KindIntent || s.Notice || s.Skipped > 0 {
		return nil, nil
	}
	found, err := m.matchListeners(tx, func(w MessageWatcher, _ Spec) (Signal, bool) {
		if x, ok := w.(SignalWatcher); ok {
			return x.HearSignal(of, s)
		}
		return Signal{}, false
	})
	for _, h := range found {
		if err == nil {
			err = m.recordFiring(tx, h, []Signal{h.Signal}, time.Now())
		}
	}
	return found, err
}

// matchMessage runs the message watchers on a message. It records mismatches in memory. The next
// commit of a watcher writes them.
func (m *Manager) matchMessage(q store.Querier, msg Message, note bool) ([]MessageSignal, error) {
	called := func(name string) []string { return m.opt.Called(q, name) }
	return m.matchListeners(q, func(w MessageWatcher, spec Spec) (Signal, bool) {
		s, ok := w.Hear(msg, called)
		if u, is := w.(MismatchExplainer); is && !ok && note {
			if p, noted := u.Unheard(msg); noted {
				p.Watcher, p.Rule, p.Key = spec.ID, RuleCondition, msg.ID
				m.silent.addPassed(p)
			}
		}
		return s, ok
	})
}

// matchListeners returns the signals of the active message watchers for which match returns true.
func (m *Manager) matchListeners(q store.Querier, match func(MessageWatcher, Spec) (Signal, bool)) (out []MessageSignal, err error) {
	rows, err := m.selectRows(q, " INDEXED BY watchers_listeners WHERE kind IN ('"+KindMessage+"', '"+KindIntent+"') AND state = 'active'")
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if s, ok := m.matchWatcher(r.Spec, match); ok {
			out = append(out, MessageSignal{r.Spec, s})
		}
	}
	return out, nil
}

// matchWatcher runs match on one message watcher. If the watcher fails, the loop checks it and
// notifies the user.
func (m *Manager) matchWatcher(spec Spec, match func(MessageWatcher, Spec) (Signal, bool)) (s Signal, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			m.opt.Log.Error("watcher panicked", "watcher", spec.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			s, ok = Signal{}, false
		}
	}()
	made, err := m.buildWatcher(spec)
	if h, is := made.(MessageWatcher); is && err == nil {
		return match(h, spec)
	}
	m.markDirty(spec.ID, true)
	return Signal{}, false
}
