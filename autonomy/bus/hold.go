package bus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/channels"
	"hob/platform/store"
)

// schemaHold stores the hold after a restore. The row exists from the restore on; ended_at is 0 while
// the hold lasts.
const schemaHold = `
CREATE TABLE restore_hold (
	one INTEGER PRIMARY KEY CHECK (one = 1), snapshot TEXT NOT NULL, restored_at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0);
CREATE INDEX inbox_restored ON inbox(seq) WHERE state = 'held';
CREATE INDEX outbox_restored ON outbox(seq) WHERE state = 'held';
CREATE INDEX scheduled_restored ON scheduled_sends(at) WHERE state = 'held';
`

// Held is the state of an event that has been waiting for the owner's decision since a restore; see
// Hold.
const Held State = "held"

// heldWhy is the error text of outbox rows that a restore put on hold.
const heldWhy = "on hold since the restore"

// released is the value of settle_end for an event that the owner released, or whose watcher or
// schedule is newer than the restore. Such an event does not wait for further messages, so the column
// has no other use.
const released = -1

// AllHeld is the id that selects everything on hold.
const AllHeld = "all"

// Hold prevents Hob from acting on restored data on its own. A restore holds every queued message
// and open event. Until the owner ends the hold, new events from watchers, schedules, goals,
// triggers and push channels are held, too: their cursors are as old as the snapshot, so Hob may
// have handled these events already. This does not apply to watchers and schedules that were created
// after the restore. Messages to push channels are also held. Messages from local
// clients and their turns work as usual.
type Hold struct {
	db     *store.Store
	now    func() time.Time
	inbox  *Inbox
	outbox *Outbox
	sends  *ScheduledSends
	feed   *Feed
}

// HoldStatus is the state of the hold.
type HoldStatus struct {
	Active     bool
	Snapshot   string // name of the restored snapshot
	RestoredAt time.Time
	Texts      int // held outbox rows and delayed calls
	Events     int // held events
}

// HeldItem is one held message, delayed call or event.
type HeldItem struct {
	ID      string    `json:"id"`
	Type    string    `json:"type"` // text, send or event
	Kind    string    `json:"kind"` // kind of the delivery or event
	Channel string    `json:"channel,omitempty"`
	Target  string    `json:"target,omitempty"` // chat of a message, source of an event
	Text    string    `json:"text"`
	At      time.Time `json:"created_at"`
	// MaybeRepeated reports that the message may have been sent before.
	MaybeRepeated bool `json:"maybe_repeated,omitempty"`
}

// StartHoldTx holds all queued messages and open events and starts the hold. It cancels queued
// questions, because the restore closes their approvals. Each held message may have been sent after
// the snapshot.
func StartHoldTx(tx *store.Tx, snapshot string) error {
	for _, q := range []struct {
		stmt string
		args []any
	}{
		{`UPDATE outbox SET state = 'cancelled', error = 'closed by the restore' WHERE state IN ('queued', 'sending', 'failed') AND kind = 'question'`, nil},
		{`UPDATE outbox SET state = 'held', maybe_repeated = 1, error = ? WHERE state IN ('queued', 'sending', 'failed')`, []any{heldWhy}},
		{`UPDATE scheduled_sends SET attempts = attempts - iif(state = 'sending', 1, 0), state = 'held' WHERE state IN ('waiting', 'sending')`, nil},
		{`UPDATE inbox SET attempts = attempts - iif(state = 'claimed', 1, 0), settle_until = 0, settle_end = 0, state = 'held' WHERE state IN ('pending', 'claimed')`, nil},
		{`INSERT OR REPLACE INTO restore_hold (one, snapshot, restored_at, ended_at) VALUES (1, ?, ?, 0)`, []any{snapshot, time.Now().UnixMilli()}},
	} {
		if _, err := tx.Exec(q.stmt, q.args...); err != nil {
			return fmt.Errorf("bus: change held items: %w", err)
		}
	}
	return nil
}

// isHoldActive reports whether a hold is active.
func isHoldActive(q store.Querier) (on bool, err error) {
	err = q.QueryRow(`SELECT EXISTS (SELECT 1 FROM restore_hold WHERE ended_at = 0)`).Scan(&on)
	return on, err
}

// initialState returns the state of a new event and its value of settle_end. local reports whether its
// channel's clients are on this machine.
func initialState(q store.Querier, e Event, local bool) (state State, settleEnd int64, err error) {
	switch {
	case e.Kind == Message && local, e.Kind == Task, e.Kind == Approval, e.Kind == System && e.Source == "hob":
		return Pending, 0, nil // from a local client, a running turn or Hob itself
	}
	var at int64
	err = q.QueryRow(`SELECT restored_at FROM restore_hold WHERE ended_at = 0`).Scan(&at)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Pending, 0, nil
	case err != nil:
		return Pending, 0, fmt.Errorf("bus: read the hold: %w", err)
	case e.SourceCreated.After(store.Time(at)): // Hob cannot have handled the event before the restore
		return Pending, released, nil
	}
	return Held, 0, nil
}

// holdsDelivery reports whether a message to a push channel has to wait. A running turn may still
// send to other people, and an event that the owner released may be answered.
func holdsDelivery(q store.Querier, event string, kind channels.DeliveryKind) (bool, error) {
	on, err := isHoldActive(q)
	if err != nil || !on || kind == channels.Send {
		return false, err
	}
	var may bool
	err = q.QueryRow(`SELECT EXISTS (SELECT 1 FROM inbox WHERE id = ? AND settle_end = ?)`, event, released).Scan(&may)
	return !may, err
}

// Status returns the state of the hold.
func (h *Hold) Status(ctx context.Context) (s HoldStatus, err error) {
	var at, ended int64
	err = h.db.Reader(ctx).QueryRow(`SELECT snapshot, restored_at, ended_at, (SELECT count(*) FROM outbox INDEXED BY outbox_restored WHERE state = 'held')
			+ (SELECT count(*) FROM scheduled_sends INDEXED BY scheduled_restored WHERE state = 'held'),
		(SELECT count(*) FROM inbox INDEXED BY inbox_restored WHERE state = 'held') FROM restore_hold`).Scan(&s.Snapshot, &at, &ended, &s.Texts, &s.Events)
	if errors.Is(err, sql.ErrNoRows) {
		return HoldStatus{}, nil
	}
	if err != nil {
		return s, fmt.Errorf("bus: read held items: %w", err)
	}
	s.RestoredAt, s.Active = store.Time(at), ended == 0
	return s, nil
}

// Items lists the held messages, delayed calls and events, each oldest first.
func (h *Hold) Items(ctx context.Context) (out []HeldItem, err error) {
	rows, err := h.db.Reader(ctx).Query(`
		SELECT * FROM (SELECT id, 'text', kind, channel, chat, text, created_at, maybe_repeated FROM outbox INDEXED BY outbox_restored WHERE state = 'held' ORDER BY seq)
		UNION ALL
		SELECT * FROM (SELECT call, 'send', tool, '', '', what, created_at, 1 FROM scheduled_sends INDEXED BY scheduled_restored WHERE state = 'held' ORDER BY at)
		UNION ALL
		SELECT * FROM (SELECT id, 'event', kind, channel, source, text, received_at, 0 FROM inbox INDEXED BY inbox_restored WHERE state = 'held' ORDER BY seq)`)
	if err != nil {
		return nil, fmt.Errorf("bus: read held items: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = []HeldItem{}
	for rows.Next() {
		var x HeldItem
		var at int64
		if err := rows.Scan(&x.ID, &x.Type, &x.Kind, &x.Channel, &x.Target, &x.Text, &at, &x.MaybeRepeated); err != nil {
			return nil, fmt.Errorf("bus: read held items: %w", err)
		}
		x.At = store.Time(at)
		out = append(out, x)
	}
	return out, rows.Err()
}

// DecideTx releases or drops one held item, or everything with the id AllHeld, which also ends the
// hold. Hob sends a released message and processes a released event. DecideTx returns ErrNotFound
// if no held item has this id.
func (h *Hold) DecideTx(tx *store.Tx, id string, release bool) (n int, err error) {
	texts := `state = 'cancelled', error = 'dropped after the restore'`
	now := h.now().UnixMilli()
	sends := fmt.Sprintf(`state = 'cancelled', error = 'dropped after the restore', ended_at = %d, args = '{}', frozen = NULL`, now)
	events := fmt.Sprintf(`state = 'dead', error = 'dropped after the restore', done_at = %d`, now)
	if release {
		texts = `state = 'queued', error = '', not_before = 0`
		sends = fmt.Sprintf(`state = 'waiting', at = %d`, now)
		events = fmt.Sprintf(`state = 'pending', not_before = %d, settle_end = %d, lane = CASE WHEN command <> 0 THEN lane ELSE session END`, resumed, released)
	}
	for _, stmt := range []string{
		`UPDATE outbox SET ` + texts + ` WHERE state = 'held' AND (?1 = 'all' OR id = ?1)`, `UPDATE inbox SET ` + events + ` WHERE state = 'held' AND (?1 = 'all' OR id = ?1)`,
		`UPDATE scheduled_sends SET ` + sends + ` WHERE state = 'held' AND (?1 = 'all' OR call = ?1)`,
	} {
		res, err := tx.Exec(stmt, id)
		if err != nil {
			return n, fmt.Errorf("bus: change held items: %w", err)
		}
		k, err := res.RowsAffected()
		if err != nil {
			return n, fmt.Errorf("bus: read held items: %w", err)
		}
		n += int(k)
	}
	if id == AllHeld {
		if _, err := tx.Exec(`UPDATE restore_hold SET ended_at = ? WHERE ended_at = 0`, now); err != nil {
			return n, fmt.Errorf("bus: change held items: %w", err)
		}
	} else if n == 0 {
		return 0, fmt.Errorf("held item %q: %w", id, ErrNotFound)
	}
	tx.AfterCommit(func() {
		h.inbox.SignalWork()
		h.inbox.notifyWaiters(id)
		h.outbox.signalAll()
		h.sends.signalWork()
		h.feed.Publish("restore", "", "", map[string]any{"decided": id, "released": release})
	})
	return n, nil
}

// signalAll signals every channel that rows may be due.
func (box *Outbox) signalAll() {
	box.mu.Lock()
	defer box.mu.Unlock()
	for _, ch := range box.signals {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
