package notify

import (
	"context"
	"slices"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// Due puts the event that delivers deferred notices into the inbox when it is due. It returns the
// time of the next event, or the zero time if there is none.
func (n *Notifier) Due(ctx context.Context, now time.Time) (time.Time, error) {
	zone := n.o.Zone().String()
	n.mu.Lock()
	moved := n.zone != zone
	n.mu.Unlock()
	return n.due.Due(ctx, now, moved, func(ctx context.Context, now time.Time) (next time.Time, err error) {
		err = n.o.Store.Write(ctx, func(tx *store.Tx) error {
			if moved { // also done at startup, because the quiet hours may have changed
				if err := orphansTx(tx, now); err != nil {
					return err
				}
				if err := n.againTx(tx, now); err != nil {
					return err
				}
			}
			if err := n.dueTx(tx, now); err != nil {
				return err
			}
			stranded, err := n.strandedTx(tx, now)
			if err != nil {
				return err
			}
			if next, err = firstDue(tx); next.IsZero() || !stranded.IsZero() && stranded.Before(next) {
				next = stranded
			}
			return err
		})
		if err == nil {
			n.mu.Lock()
			n.zone = zone
			n.mu.Unlock()
		}
		return next, err
	})
}

// orphansTx defers the notices in a failed digest again. It runs at startup instead of immediately,
// because the cause of the failure may persist.
func orphansTx(tx *store.Tx, now time.Time) error {
	_, err := tx.Exec(`UPDATE notices SET state = 'held', digest = '', until = ? WHERE state = 'due' AND digest <> ''
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE id = notices.digest AND state IN ('pending', 'claimed'))`, now.UnixMilli())
	return wrapError("defer the notices of a failed digest", err)
}

// againTx recomputes how long quiet hours and digests defer the notices.
func (n *Notifier) againTx(tx *store.Tx, now time.Time) error {
	until, _, on, err := n.quietAt(tx, now)
	if err != nil {
		return err
	}
	if !on {
		until = now
	}
	if _, err := tx.Exec(`UPDATE notices SET until = ? WHERE state = 'held' AND held_by = 'quiet'`, store.Millis(until)); err != nil {
		return wrapError("defer notices", err)
	}
	next, there := n.digestAt(now)
	if !there {
		next = now
	}
	_, err = tx.Exec(`UPDATE notices SET until = ?1 WHERE state = 'held' AND held_by = 'digest' AND until > ?2`, store.Millis(next), now.UnixMilli())
	return wrapError("defer notices", err)
}

// userTimed selects notices whose time the user chose. Quiet hours do not defer them.
const userTimed = `held_by IN ('snooze', 'asked')`

// dueTx assigns the due notices to the event for a digest, or defers them further.
func (n *Notifier) dueTx(tx *store.Tx, now time.Time) error {
	until, _, on, err := n.quietAt(tx, now)
	if err != nil {
		return err
	}
	if on {
		if _, err := tx.Exec(`UPDATE notices SET until = ? WHERE state = 'held' AND until <= ? AND NOT `+userTimed, store.Millis(until), now.UnixMilli()); err != nil {
			return wrapError("defer notices", err)
		}
	}
	id := bus.NewID()
	res, err := tx.Exec(`UPDATE notices SET state = 'due', digest = ? WHERE state = 'held' AND until <= ?`, id, now.UnixMilli())
	if err != nil {
		return wrapError("assign notices to a digest", err)
	}
	if k, err := res.RowsAffected(); err != nil || k == 0 {
		return wrapError("assign notices to a digest", err)
	}
	_, err = n.o.Bus.Inbox.PutTx(tx, bus.Event{
		ID: id, Kind: bus.System, Source: Source, Session: Source, Text: "Deferred notices", Provenance: provenance.Hob, Key: "digest:" + id,
	})
	return wrapError("enqueue a digest", err)
}

// Target says where a message is sent.
type Target struct{ Session, Channel, Chat string }

// CommonTarget returns the target that all notices in a digest have in common, if there is one.
func (n *Notifier) CommonTarget(ctx context.Context, event string) (p Target, one bool, err error) {
	rows, err := listNotices(n.o.Store.Reader(ctx), `WHERE digest = ? AND state = 'due' ORDER BY seq`, event)
	for i, r := range rows {
		at := Target{r.Session, r.Channel, r.Chat}
		if i > 0 && at != p {
			return Target{}, false, nil
		}
		p = at
	}
	return p, len(rows) > 0, err
}

// DigestTx returns the text of a digest, or "" if there is none. It sends each deferred question
// that still needs an answer, with unchanged text. Notices that do not fit go into another digest
// immediately after this one. DigestTx must be called in the transaction that ends the event.
func (n *Notifier) DigestTx(tx *store.Tx, event string) (string, provenance.Source, error) {
	rows, err := listNotices(tx, `WHERE digest = ? AND state = 'due' ORDER BY seq`, event)
	if err != nil || len(rows) == 0 {
		return "", provenance.Hob, err
	}
	now := time.Now()
	until, _, on, err := n.quietAt(tx, now)
	if err != nil {
		return "", "", err
	}
	if on { // quiet hours apply again, because Hob was not running when the last ones ended
		if _, err := tx.Exec(`UPDATE notices SET state = 'held', digest = '', until = ? WHERE digest = ? AND state = 'due' AND NOT `+userTimed, store.Millis(until), event); err != nil {
			return "", "", wrapError("defer notices", err)
		}
		n.due.InvalidateTx(tx, n.o.Bus.Inbox)
		rows = slices.DeleteFunc(rows, func(r Notice) bool { return r.HeldBy != BySnooze && r.HeldBy != ByAsked })
	}
	var told []Notice
	for _, r := range rows {
		state := Released
		if r.Kind == channels.Question {
			if state, err = n.askTx(tx, r); err != nil {
				return "", "", err
			}
		} else {
			told = append(told, r)
		}
		if _, err := tx.Exec(`UPDATE notices SET state = ?, told_at = ? WHERE id = ?`, state, now.UnixMilli(), r.ID); err != nil {
			return "", "", wrapError("store the state of a notice", err)
		}
	}
	told, rest := splitDigest(told)
	for _, r := range rest {
		if _, err := tx.Exec(`UPDATE notices SET state = 'held', digest = '', until = ?, told_at = 0 WHERE id = ?`, now.UnixMilli(), r.ID); err != nil {
			return "", "", wrapError("defer notices", err)
		}
		n.due.InvalidateTx(tx, n.o.Bus.Inbox)
	}
	src := provenance.Hob
	for _, r := range told {
		src = provenance.Worst(src, r.Provenance)
	}
	text, err := n.composeDigest(told, len(rest))
	return text, src, err
}

// askTx sends a deferred question, unless it has been answered.
func (n *Notifier) askTx(tx *store.Tx, r Notice) (State, error) {
	asks, err := n.o.Waiting(tx, r.Event, r.Text)
	if err != nil || len(asks) == 0 {
		return Dropped, err
	}
	id, err := n.o.Bus.Outbox.NextIDTx(tx, r.Event)
	if err != nil {
		return Held, err
	}
	if _, err := tx.Exec(`UPDATE notices SET delivery = ? WHERE id = ?`, id, r.ID); err != nil { // store the delivery, so that it can be tracked
		return Held, wrapError("store the delivery of a notice", err)
	}
	return Released, n.o.Bus.Outbox.EnqueueTx(tx, r.Event, bus.OutboxItem{Provenance: r.Provenance, Judged: true, Asks: asks, Delivery: channels.Delivery{
		Kind: r.Kind, Session: r.Session, Channel: r.Channel, Chat: r.Chat, Text: r.Text,
	}})
}
