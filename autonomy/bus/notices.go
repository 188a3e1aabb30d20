package bus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
)

// own matches messages of the owner in a chat with Hob alone.
const own = `kind = ?1 AND provenance = ?2 AND NOT coalesce(CAST(payload AS TEXT) ->> '$.shared', 0)`

// LastSpoken returns where and when the owner last wrote in a private chat with Hob.
func (b *Bus) LastSpoken(ctx context.Context) (session, channel, chat string, at time.Time, err error) {
	var ms int64
	err = b.db.Read().QueryRowContext(ctx, `SELECT session, channel, chat, received_at FROM inbox WHERE `+own+` ORDER BY seq DESC LIMIT 1`,
		Message, provenance.Owner).Scan(&session, &channel, &chat, &ms)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", "", at, nil
	}
	if err != nil {
		return "", "", "", at, fmt.Errorf("bus: %w", err)
	}
	return session, channel, chat, store.Time(ms), nil
}

// OwnerChat returns the private chat of a channel in which the owner last wrote; "" for none.
func OwnerChat(q store.Querier, channel string) (chat string, err error) {
	err = q.QueryRow(`SELECT chat FROM inbox WHERE `+own+` AND channel = ?3 ORDER BY seq DESC LIMIT 1`, Message, provenance.Owner, channel).Scan(&chat)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("bus: %w", err)
	}
	return chat, nil
}

// NextIDTx returns the id of an event's next delivery.
func (b *Bus) NextIDTx(tx *store.Tx, event string) (string, error) {
	n, err := lastSaid(tx, event)
	return deliveryID(event, n+1), err
}

// WaitingTx lists the notices and questions that wait for their channel or are being sent,
// oldest first.
func (b *Bus) WaitingTx(tx *store.Tx) (out []Delivery, err error) {
	rows, err := tx.Query(`SELECT ` + deliveryColumns + ` FROM outbox INDEXED BY outbox_open
		WHERE state IN ('queued', 'sending', 'failed') AND kind IN ('notice', 'question') ORDER BY seq`)
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		d, err := scanDelivery(rows)
		if err != nil {
			return nil, fmt.Errorf("bus: %w", err)
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

// WithdrawTx takes a text that waits out of the queue.
func (b *Bus) WithdrawTx(tx *store.Tx, id, why string) error {
	d, err := scanDelivery(tx.QueryRow(`UPDATE outbox SET state = 'cancelled', error = ? WHERE id = ? AND state IN ('queued', 'failed') RETURNING `+deliveryColumns, why, id))
	if err != nil {
		return fmt.Errorf("bus: withdraw %s: %w", id, err)
	}
	tx.AfterCommit(func() {
		b.Feed.Publish("delivery", d.Event, d.Session, d)
		b.signalDelivery(d.Channel)
	})
	return nil
}
