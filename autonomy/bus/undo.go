package bus

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
)

// undoable selects the actions that can be undone. A delayed call that was canceled without an undo, for
// example because its text was forgotten, does not block the undo of earlier actions.
const (
	undoable    = `INDEXED BY ledger_undo WHERE ` + canBeUndone
	canBeUndone = `undo IS NOT NULL AND undone_at = 0 AND state = 'done' AND NOT EXISTS (SELECT 1 FROM scheduled_sends d WHERE d.call = ledger.call AND d.state = 'cancelled')`
)

// Undoable lists the actions that can be undone, newest first.
func (l *Ledger) Undoable(ctx context.Context, limit int) ([]Entry, error) {
	return l.queryEntries(ctx, undoable+` ORDER BY seq DESC LIMIT ?`, limit)
}

// Irreversible lists the actions that cannot be undone, newest first, among those after the action
// called since, or among the last 1,000 calls if since is "". session "" means all conversations.
// Looking something up is not an action.
func (l *Ledger) Irreversible(ctx context.Context, session, since string, limit int) ([]Entry, error) {
	return l.queryEntries(ctx, `WHERE undo IS NULL AND undone_at = 0 AND state IN ('done', 'unknown') AND tool <> 'undo'
		AND seq > coalesce((SELECT seq FROM ledger WHERE call = ?2), (SELECT max(seq) FROM ledger) - 1000)
		AND (effects LIKE '%write%' OR effects LIKE '%send%' OR effects LIKE '%exec%' OR effects LIKE '%destroy%') AND decision NOT LIKE '%read-only command%'
		AND (?1 = '' OR session = ?1 OR EXISTS (SELECT 1 FROM outbox WHERE outbox.event = ledger.event AND outbox.session = ?1))
		AND NOT EXISTS (SELECT 1 FROM scheduled_sends d WHERE d.call = ledger.call AND d.state = 'cancelled') ORDER BY seq DESC LIMIT ?3`, session, since, limit)
}

// UndoableIn is like Undoable, but for actions performed or reported in a conversation.
func (l *Ledger) UndoableIn(ctx context.Context, session string, limit int) ([]Entry, error) {
	return l.queryEntries(ctx, undoable+` AND (session = ?1 OR EXISTS (SELECT 1 FROM outbox WHERE outbox.event = ledger.event AND outbox.session = ?1))
		ORDER BY seq DESC LIMIT ?2`, session, limit)
}

// UndoableOf is like Undoable, but for the actions of one event.
func (l *Ledger) UndoableOf(ctx context.Context, event string) ([]Entry, error) {
	return l.queryEntries(ctx, `WHERE event = ? AND `+canBeUndone+` ORDER BY seq DESC`, event)
}

// Undone lists the undone actions, latest first.
func (l *Ledger) Undone(ctx context.Context, limit int) ([]Entry, error) {
	return l.queryEntries(ctx, `WHERE undo IS NOT NULL AND undone_at > 0 ORDER BY undone_at DESC, seq LIMIT ?`, limit)
}

// UndoneBy lists the actions that an event undid.
func (l *Ledger) UndoneBy(ctx context.Context, event string) ([]Entry, error) {
	return l.queryEntries(ctx, `INDEXED BY ledger_undone WHERE undone_at > 0 AND undone_by = ? ORDER BY undone_at, seq DESC`, event)
}

// AnsweredSince reports whether Hob has answered another message, from anyone, in the conversation
// after an action and before the message called before. A later message that is waiting for an
// approval counts. The order of arrival does not matter, because an event that waited for an
// approval acts after later messages were answered.
func (l *Ledger) AnsweredSince(ctx context.Context, session string, action Entry, before string) (yes bool, err error) {
	err = l.db.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM inbox m WHERE session = ?1 AND kind = 'message' AND command = 0 AND id <> ?2
		AND seq < (SELECT seq FROM inbox WHERE id = ?3)
		AND (state IN ('pending', 'claimed') AND lane <> session AND received_at >= ?4 OR done_at > ?4 OR done_at = ?4 AND seq > (SELECT seq FROM inbox WHERE id = ?2)))`,
		session, action.Event, before, store.Millis(action.StartedAt)).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("bus: read later messages: %w", err)
	}
	return yes, nil
}

// UndoneTx marks an action as undone by an event. It returns false if the action was already
// undone.
func (l *Ledger) UndoneTx(tx *store.Tx, call, by string) (bool, error) {
	res, err := tx.Exec(`UPDATE ledger SET undone_at = ?, undone_by = ? WHERE call = ? AND undone_at = 0`, l.now().UnixMilli(), by, call)
	if err != nil {
		return false, fmt.Errorf("bus: update the ledger: %w", err)
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// RedoneTx marks an action as redone. undo is the data for the next undo. It returns false if the
// action is not undone.
func (l *Ledger) RedoneTx(tx *store.Tx, call string, undo json.RawMessage) (bool, error) {
	res, err := tx.Exec(`UPDATE ledger SET undone_at = 0, undone_by = '', undo = ? WHERE call = ? AND undone_at > 0`, []byte(undo), call)
	if err != nil {
		return false, fmt.Errorf("bus: update the ledger: %w", err)
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// TakenBack is an action in a conversation that was undone elsewhere.
type TakenBack struct {
	Call, Label string
	Source      provenance.Source
	At          time.Time
}

// TakenBack lists the actions in a conversation that were undone since its last message before the
// given event. It omits the actions that the conversation's own messages undid, because the
// conversation already contains these undos.
func (l *Ledger) TakenBack(ctx context.Context, session, event string) ([]TakenBack, error) {
	rows, err := l.db.Read().QueryContext(ctx, `SELECT call, undo_label, source, undone_at FROM ledger INDEXED BY ledger_undone
		WHERE undone_at > 0 AND session = ?1 AND undone_at > coalesce((SELECT received_at FROM inbox WHERE session = ?1 AND kind = 'message' AND lane = session
			AND seq < (SELECT seq FROM inbox WHERE id = ?2) ORDER BY seq DESC LIMIT 1), 0)
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE id = undone_by AND session = ?1 AND lane = session) ORDER BY undone_at LIMIT 10`, session, event)
	if err != nil {
		return nil, fmt.Errorf("bus: read the ledger: %w", err)
	}
	defer rows.Close()
	var out []TakenBack
	for rows.Next() {
		var t TakenBack
		var at int64
		if err := rows.Scan(&t.Call, &t.Label, &t.Source, &at); err != nil {
			return nil, fmt.Errorf("bus: read the ledger: %w", err)
		}
		t.At = store.Time(at)
		out = append(out, t)
	}
	return out, rows.Err()
}

// IsOpenTx reports whether a send of the conversation can still be canceled and no later message of
// the conversation runs or waits, so that "undo that" refers to the send.
func (x *ScheduledSends) IsOpenTx(tx *store.Tx, session string) (open bool, err error) {
	err = tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM (
			SELECT event FROM scheduled_sends INDEXED BY scheduled_open WHERE state IN ('waiting', 'sending', 'committed') AND state <> 'committed' AND (session = ?1 OR report = ?1)
			UNION ALL SELECT event FROM outbox INDEXED BY outbox_held WHERE kind = 'send' AND state = 'queued' AND session = ?1) s
		WHERE NOT EXISTS (SELECT 1 FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane = ?1 AND id <> s.event))`, session).Scan(&open)
	if err != nil {
		return false, fmt.Errorf("bus: find open sends: %w", err)
	}
	return open, nil
}

// PromoteTx moves the next waiting event of a session to the queue of commands if match returns
// true for it. The event then runs now, not after the running event.
func (in *Inbox) PromoteTx(tx *store.Tx, session string, match func(Event) bool) error {
	e, err := scanEvent(tx.QueryRow(`SELECT `+eventColumns+` FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane = ? AND state = 'pending' ORDER BY seq LIMIT 1`, session))
	if errors.Is(err, sql.ErrNoRows) || err == nil && !match(e) {
		return nil
	}
	if err == nil {
		_, err = tx.Exec(`UPDATE inbox SET lane = ?, command = 1 WHERE id = ?`, CommandLane(session), e.ID)
	}
	if err != nil {
		return fmt.Errorf("bus: promote an event: %w", err)
	}
	tx.AfterCommit(in.SignalWork)
	return nil
}
