package bus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// Errors of sends to other people.
var (
	// ErrNoWay: no running push channel has this name. Unlike a text to the owner, a send has
	// no fallback.
	ErrNoWay = errors.New("channel not found or not running")
	// ErrTooLate: the text to cancel was already sent or cancelled.
	ErrTooLate = errors.New("too late to cancel: it was already sent or cancelled")
)

// SendTx queues a text to another person, as the event's next one. It is sent at o.NotBefore;
// until then CancelSendTx can cancel it.
func (b *Bus) SendTx(tx *store.Tx, event string, o OutboxItem) (Delivery, error) {
	channel, chat, pull := b.route(o.Channel, o.Chat)
	if pull || channel != o.Channel || chat != o.Chat {
		return Delivery{}, fmt.Errorf("channel %q: %w", o.Channel, ErrNoWay)
	}
	n, err := lastSaid(tx, event)
	if err != nil {
		return Delivery{}, fmt.Errorf("bus: send: %w", err)
	}
	o.Kind = channels.Send
	d, err := b.enqueueDelivery(tx, event, n+1, o, false)
	if err != nil {
		return d, fmt.Errorf("bus: send: %w", err)
	}
	tx.AfterCommit(func() { b.Feed.Publish("delivery", event, d.Session, d) })
	return d, nil
}

// CancelSendTx cancels a send that has not been sent, with a reason. Otherwise it returns the
// unchanged row and ErrTooLate.
func (b *Bus) CancelSendTx(tx *store.Tx, id, why string) (Delivery, error) {
	res, err := tx.Exec(`UPDATE outbox SET state = 'cancelled', error = ? WHERE id = ? AND kind = 'send' AND state IN ('queued', 'failed')`, why, id)
	if err != nil {
		return Delivery{}, fmt.Errorf("bus: cancel send %s: %w", id, err)
	}
	d, err := scanDelivery(tx.QueryRow(`SELECT `+deliveryColumns+` FROM outbox WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return d, fmt.Errorf("delivery %q: %w", id, ErrNotFound)
	}
	if err != nil {
		return d, fmt.Errorf("bus: cancel send %s: %w", id, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return d, errors.Join(err, ErrTooLate)
	}
	tx.AfterCommit(func() {
		b.Feed.Publish("delivery", d.Event, d.Session, d)
		b.signalDelivery(d.Channel)
	})
	return d, nil
}

// OwnersChat returns the platform id of the writer in a private chat between the owner and Hob.
// The result is false for a group, a chat with another writer, or an empty one. The caller must
// check whether the writer is still the owner.
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
