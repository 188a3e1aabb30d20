package bus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"hob/channels"
	"hob/knowledge/store"
	"hob/platform/provenance"
)

// Errors of sends to other people.
var (
	// ErrNoWay: no running channel of this name sends by itself. Unlike a text to
	// the owner, one to somebody else goes nowhere in its stead.
	ErrNoWay = errors.New("there is no such channel, or it is not running")
	// ErrTooLate: what was to be called back has gone out, or was called back.
	ErrTooLate = errors.New("it is too late to call it back")
)

// SendTx queues a text to somebody who is not the owner, as the event's next
// one. It goes out at o.NotBefore; until then CallBackTx can stop it.
func (b *Bus) SendTx(tx *store.Tx, event string, o Out) (Delivery, error) {
	channel, chat, pull := b.route(o.Channel, o.Chat)
	if pull || channel != o.Channel || chat != o.Chat {
		return Delivery{}, fmt.Errorf("channel %q: %w", o.Channel, ErrNoWay)
	}
	n, err := lastSaid(tx, event)
	if err != nil {
		return Delivery{}, fmt.Errorf("bus: send: %w", err)
	}
	o.Kind = channels.Send
	d, err := b.say(tx, event, n+1, o, false)
	if err != nil {
		return d, fmt.Errorf("bus: send: %w", err)
	}
	tx.AfterCommit(func() { b.Feed.Publish("delivery", event, d.Session, d) })
	return d, nil
}

// CallBackTx stops a send that has not gone out: the row is cancelled, for the
// reason given. Otherwise it returns the row as it is, and ErrTooLate.
func (b *Bus) CallBackTx(tx *store.Tx, id, why string) (Delivery, error) {
	res, err := tx.Exec(`UPDATE outbox SET state = 'cancelled', error = ? WHERE id = ? AND kind = 'send' AND state IN ('queued', 'failed')`, why, id)
	if err != nil {
		return Delivery{}, fmt.Errorf("bus: call back %s: %w", id, err)
	}
	d, err := scanDelivery(tx.QueryRow(`SELECT `+deliveryColumns+` FROM outbox WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return d, fmt.Errorf("delivery %q: %w", id, ErrNotFound)
	}
	if err != nil {
		return d, fmt.Errorf("bus: call back %s: %w", id, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return d, errors.Join(err, ErrTooLate)
	}
	tx.AfterCommit(func() {
		b.Feed.Publish("delivery", d.Event, d.Session, d)
		b.knock(d.Channel)
	})
	return d, nil
}

// OwnersChat names who writes in a chat between the owner and Hob alone, by his id
// at the platform; false when it is none: it is a group, somebody else has spoken
// in it, or nobody has. Whether he still is the owner is not known here.
func (b *Bus) OwnersChat(ctx context.Context, channel, chat string) (sender string, ok bool, err error) {
	var senders int
	err = b.db.Read().QueryRowContext(ctx, `SELECT count(DISTINCT sender), coalesce(max(sender), '') FROM inbox WHERE session = ?1 AND kind = ?2
		AND channel = ?4 AND chat = ?5
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE session = ?1 AND kind = ?2 AND (provenance <> ?3 OR coalesce(CAST(payload AS TEXT) ->> '$.shared', 0)))`,
		channel+":"+chat, Message, provenance.Owner, channel, chat).Scan(&senders, &sender)
	if err != nil {
		return "", false, fmt.Errorf("bus: %w", err)
	}
	return sender, senders == 1, nil
}
