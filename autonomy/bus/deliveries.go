package bus

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// Delivery is an outbox row in a list.
type Delivery struct {
	ID            string                `json:"id"`
	Event         string                `json:"event"`
	Kind          channels.DeliveryKind `json:"kind"`
	Session       string                `json:"session"`
	Channel       string                `json:"channel"`
	Chat          string                `json:"chat,omitempty"` // target on the channel; for a send, the recipient
	Text          string                `json:"text"`
	State         channels.State        `json:"state"`
	Attempts      int                   `json:"attempts"`
	Error         string                `json:"error,omitempty"`
	MaybeRepeated bool                  `json:"maybe_repeated,omitempty"`
	CreatedAt     time.Time             `json:"created_at"`
	NotBefore     time.Time             `json:"not_before,omitzero"` // a send can be canceled before this time
	SentAt        time.Time             `json:"sent_at,omitzero"`
}

const deliveryColumns = `id, event, kind, session, channel, chat, text, state, attempts, error, maybe_repeated, created_at, not_before, sent_at`

func scanDelivery(s scanner) (d Delivery, err error) {
	var created, notBefore, sent int64
	err = s.Scan(&d.ID, &d.Event, &d.Kind, &d.Session, &d.Channel, &d.Chat, &d.Text, &d.State, &d.Attempts, &d.Error, &d.MaybeRepeated, &created, &notBefore, &sent)
	d.CreatedAt, d.NotBefore, d.SentAt = store.Time(created), store.Time(notBefore), store.Time(sent)
	return d, err
}

// Deliveries lists outbox rows, newest first; empty filters match all.
func (box *Outbox) Deliveries(ctx context.Context, session, state, before string, limit int) ([]Delivery, error) {
	return box.queryDeliveries(ctx, `WHERE (? = '' OR session = ?) AND (? = '' OR state = ?) AND (? = '' OR seq < coalesce((SELECT seq FROM outbox WHERE id = ?), 0)) ORDER BY seq DESC LIMIT ?`,
		session, session, state, state, before, before, limit)
}

// MessagesBetween lists replies, notices and sends that were created in a period, newest first.
func (box *Outbox) MessagesBetween(ctx context.Context, since, until time.Time, limit int) ([]Delivery, error) {
	return box.queryDeliveries(ctx, `WHERE created_at >= ? AND created_at < ? AND kind IN ('reply', 'notice', 'send') ORDER BY seq DESC LIMIT ?`,
		store.Millis(since), store.Millis(until), limit)
}

func (box *Outbox) queryDeliveries(ctx context.Context, where string, args ...any) ([]Delivery, error) {
	rows, err := box.db.Read().QueryContext(ctx, `SELECT `+deliveryColumns+` FROM outbox `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("bus: read deliveries: %w", err)
	}
	defer rows.Close()
	out := []Delivery{}
	for rows.Next() {
		d, err := scanDelivery(rows)
		if err != nil {
			return nil, fmt.Errorf("bus: read deliveries: %w", err)
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

// DeliveryEvent returns the event to which a delivery belongs.
func (box *Outbox) DeliveryEvent(ctx context.Context, id string) (string, error) {
	var e string
	err := box.db.Read().QueryRowContext(ctx, `SELECT event FROM outbox WHERE id = ?`, id).Scan(&e)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("delivery %q: %w", id, ErrNotFound)
	}
	return e, err
}

// EventDeliveries lists the messages sent for an event, in order.
func (box *Outbox) EventDeliveries(ctx context.Context, event string) ([]Delivery, error) {
	rows, err := box.db.Read().QueryContext(ctx, `SELECT `+deliveryColumns+` FROM outbox WHERE event = ? ORDER BY n`, event)
	if err != nil {
		return nil, fmt.Errorf("bus: read deliveries: %w", err)
	}
	defer rows.Close()
	out := []Delivery{}
	for rows.Next() {
		d, err := scanDelivery(rows)
		if err != nil {
			return nil, fmt.Errorf("bus: read deliveries: %w", err)
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

// WaitingTx lists the notices and questions that are waiting for their channel or being sent,
// oldest first.
func (box *Outbox) WaitingTx(tx *store.Tx) (out []Delivery, err error) {
	rows, err := tx.Query(`SELECT ` + deliveryColumns + ` FROM outbox INDEXED BY outbox_open
		WHERE state IN ('queued', 'sending', 'failed') AND kind IN ('notice', 'question') ORDER BY seq`)
	if err != nil {
		return nil, fmt.Errorf("bus: read waiting deliveries: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		d, err := scanDelivery(rows)
		if err != nil {
			return nil, fmt.Errorf("bus: read waiting deliveries: %w", err)
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

// Notice is a message that Hob sent unprompted.
type Notice struct {
	ID, Text   string
	Provenance provenance.Source
	CreatedAt  time.Time
}

// Notices returns the notices that Hob sent in a session after the last message that the session
// received before the given event. It returns at most the newest n, oldest first.
func (box *Outbox) Notices(ctx context.Context, session, event string, n int) ([]Notice, error) {
	rows, err := box.db.Read().QueryContext(ctx, `SELECT id, text, provenance, created_at FROM (
		SELECT seq, id, text, provenance, created_at FROM outbox WHERE session = ?1 AND kind = 'notice' AND created_at > coalesce((
			SELECT received_at FROM inbox WHERE session = ?1 AND kind = 'message' AND seq < (SELECT seq FROM inbox WHERE id = ?2) ORDER BY seq DESC LIMIT 1), 0)
		ORDER BY seq DESC LIMIT `+strconv.Itoa(n)+`) ORDER BY seq`, session, event)
	if err != nil {
		return nil, fmt.Errorf("bus: read notices: %w", err)
	}
	defer rows.Close()
	var out []Notice
	for rows.Next() {
		var x Notice
		var at int64
		if err := rows.Scan(&x.ID, &x.Text, &x.Provenance, &at); err != nil {
			return nil, fmt.Errorf("bus: read notices: %w", err)
		}
		x.CreatedAt = store.Time(at)
		out = append(out, x)
	}
	return out, rows.Err()
}

// AttachedPaths lists the copied files that are attached to messages in the queue.
func (box *Outbox) AttachedPaths(ctx context.Context) (paths []string, err error) {
	rows, err := box.db.Read().QueryContext(ctx, `SELECT files FROM outbox INDEXED BY outbox_files WHERE files <> '' AND state IN ('queued', 'sending', 'failed')
		UNION ALL SELECT files FROM outbox INDEXED BY outbox_restored WHERE state = 'held' AND files <> ''`)
	if err != nil {
		return nil, fmt.Errorf("bus: read files of deliveries: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var raw string
		var files []channels.Attachment
		if err := rows.Scan(&raw); err != nil {
			return nil, fmt.Errorf("bus: read files of deliveries: %w", err)
		}
		if err := json.Unmarshal([]byte(raw), &files); err != nil {
			return nil, fmt.Errorf("bus: read files of deliveries: %w", err)
		}
		for _, f := range files {
			paths = append(paths, f.Path)
		}
	}
	return paths, rows.Err()
}
