package notify

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/channels"
	"hob/platform/store"
)

const snoozed = "you snoozed it"

// ErrChanged means that a notice has changed since it was snoozed.
var ErrChanged = errors.New("the notice was sent or snoozed again in the meantime")

// Snooze sends a notice again at the given time. A deferred notice is sent at that time instead. id
// is the id of the notice or of its delivery. If id is "", Snooze selects the last notice sent in
// the session, or in any session if session is "".
func (n *Notifier) Snooze(ctx context.Context, id, session string, until time.Time) (out Notice, err error) {
	err = n.o.Store.Write(ctx, func(tx *store.Tx) error {
		out, _, err = n.SnoozeTx(tx, id, session, until)
		return err
	})
	return out, err
}

// snoozeUndo is the previous state of a snoozed notice.
type snoozeUndo struct {
	ID  string    `json:"id"`
	New bool      `json:"new,omitempty"` // whether no row existed before
	Set time.Time `json:"set"`

	Until time.Time `json:"until,omitzero"`
	By    string    `json:"by,omitempty"`
	Why   string    `json:"why,omitempty"`
}

// SnoozeTx is like Snooze, but runs in a transaction. UnsnoozeTx undoes it, given the returned
// JSON.
func (n *Notifier) SnoozeTx(tx *store.Tx, id, session string, until time.Time) (out Notice, back json.RawMessage, err error) {
	rows, err := listNotices(tx, `WHERE kind = 'notice' AND (?1 <> '' AND (id = ?1 OR delivery = ?1) OR ?1 = '' AND state = 'told' AND (?2 = '' OR session = ?2)) ORDER BY seq DESC LIMIT 1`, id, session)
	if err != nil {
		return out, nil, err
	}
	if len(rows) == 0 && id == "" {
		return out, nil, fmt.Errorf("no notification was sent in this conversation: %w", ErrNotFound)
	}
	if len(rows) == 0 {
		return out, nil, fmt.Errorf("%q: %w", id, ErrNotFound)
	}
	out = rows[0]
	if out.Text, err = saysIn(tx, out); err != nil {
		return out, nil, err
	}
	n.due.InvalidateTx(tx, n.o.Bus.Inbox)
	if out.State != Held {
		if out.Text == "" || out.State != Told && out.State != Released {
			return out, nil, fmt.Errorf("%s has no text to send again: %w", out.ID, ErrNotFound)
		}
		again, err := listNotices(tx, `WHERE state = 'held' AND held_by = 'snooze' AND event = ? AND text = ? LIMIT 1`, out.Event, out.Text)
		if err != nil {
			return out, nil, err
		}
		if len(again) == 0 {
			out.ID, out.State, out.HeldBy, out.Until, out.Why = newID(), Held, BySnooze, until, snoozed
			out.Delivery, out.Of, out.Fact, out.Shape, out.Again, out.Kind, out.ToldAt = "", "", "", "", 0, channels.Notice, time.Time{}
			back, err := json.Marshal(snoozeUndo{ID: out.ID, New: true, Set: until})
			return out, back, errors.Join(err, insertTx(tx, out))
		}
		out = again[0] // already snoozed, so change the time
	}
	if back, err = json.Marshal(snoozeUndo{ID: out.ID, Set: until, Until: out.Until, By: out.HeldBy, Why: out.Why}); err != nil {
		return out, nil, wrapError("encode the undo of a snooze", err)
	}
	_, err = tx.Exec(`UPDATE notices SET until = ?, held_by = 'snooze', why = ? WHERE id = ?`, until.UnixMilli(), snoozed, out.ID)
	out.Until, out.HeldBy, out.Why = until, BySnooze, snoozed
	return out, back, wrapError("snooze a notice", err)
}

// UnsnoozeTx undoes SnoozeTx. If the notice would already have been sent, it is sent now.
func (n *Notifier) UnsnoozeTx(tx *store.Tx, back json.RawMessage) error {
	var u snoozeUndo
	if err := json.Unmarshal(back, &u); err != nil {
		return wrapError("decode the undo of a snooze", err)
	}
	const mine = ` WHERE id = ? AND state = 'held' AND held_by = 'snooze' AND until = ?`
	var res sql.Result
	var err error
	if u.New {
		res, err = tx.Exec(`DELETE FROM notices`+mine, u.ID, u.Set.UnixMilli())
	} else {
		res, err = tx.Exec(`UPDATE notices SET until = ?, held_by = ?, why = ?`+mine, u.Until.UnixMilli(), u.By, u.Why, u.ID, u.Set.UnixMilli())
	}
	if err != nil {
		return wrapError("undo a snooze", err)
	}
	if k, err := res.RowsAffected(); err != nil || k == 0 {
		return errors.Join(wrapError("undo a snooze", err), ErrChanged)
	}
	n.due.InvalidateTx(tx, n.o.Bus.Inbox)
	return nil
}

// Snoozable returns the notices that can be snoozed, newest first and each text only once.
func (n *Notifier) Snoozable(q store.Querier, limit int) (out []Notice, err error) {
	rows, err := listNotices(q, `WHERE kind = 'notice' AND cause <> 'digest' AND state IN ('held', 'told', 'released') ORDER BY seq DESC LIMIT ?`, limit)
	seen := map[string]bool{"": true}
	for _, r := range rows {
		if r.Text, err = saysIn(q, r); err != nil {
			return nil, err
		}
		if !seen[r.Text] {
			seen[r.Text] = true
			out = append(out, r)
		}
	}
	return out, err
}
