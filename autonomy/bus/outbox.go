package bus

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/channels"
	"hob/knowledge/store"
	"hob/platform/provenance"
)

// Out is one text to be said.
type Out struct {
	channels.Delivery
	Provenance provenance.Source
	NotBefore  time.Time
}

// Delivery is an outbox row as lists show it.
type Delivery struct {
	ID            string                `json:"id"`
	Event         string                `json:"event"`
	Kind          channels.DeliveryKind `json:"kind"`
	Session       string                `json:"session"`
	Channel       string                `json:"channel"`
	Text          string                `json:"text"`
	State         channels.State        `json:"state"`
	Attempts      int                   `json:"attempts"`
	Error         string                `json:"error,omitempty"`
	MaybeRepeated bool                  `json:"maybe_repeated,omitempty"`
	CreatedAt     time.Time             `json:"created_at"`
	SentAt        time.Time             `json:"sent_at,omitzero"`
}

// SayTx puts texts into the outbox as the event's next ones. Texts for channels
// whose clients pull are delivered with the commit.
func (b *Bus) SayTx(tx *store.Tx, event string, outs ...Out) error {
	if len(outs) == 0 {
		return nil
	}
	var n int
	if err := tx.QueryRow(`SELECT coalesce(max(n), 0) FROM outbox WHERE event = ?`, event).Scan(&n); err != nil {
		return err
	}
	for _, o := range outs {
		n++
		if err := b.say(tx, event, n, o); err != nil {
			return fmt.Errorf("bus: say: %w", err)
		}
	}
	return nil
}

func (b *Bus) say(tx *store.Tx, event string, n int, o Out) error {
	channel, chat, pull := b.route(o.Channel, o.Chat)
	now := time.Now()
	d := Delivery{
		ID: fmt.Sprintf("%s-%d", event, n), Event: event, Kind: o.Kind, Session: o.Session, Channel: channel, Text: o.Text,
		State: channels.Queued, CreatedAt: now,
	}
	if pull && o.NotBefore.IsZero() {
		d.State, d.SentAt = channels.Sent, now
	}
	_, err := tx.Exec(`INSERT INTO outbox (id, event, n, kind, session, channel, chat, text, provenance, state, not_before, created_at, sent_at)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`, d.ID, event, n, d.Kind, d.Session, channel, chat, d.Text, o.Provenance, d.State,
		store.Millis(o.NotBefore), now.UnixMilli(), store.Millis(d.SentAt))
	if err != nil {
		return err
	}
	tx.AfterCommit(func() {
		if d.State == channels.Sent {
			b.Feed.Publish("delivery", event, d.Session, d)
		}
		b.knock(channel)
	})
	return nil
}

func (b *Bus) door(channel string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.doors[channel]
	if d == nil {
		d = make(chan struct{}, 1)
		b.doors[channel] = d
	}
	return d
}

func (b *Bus) knock(channel string) {
	select {
	case b.door(channel) <- struct{}{}:
	default:
	}
}

const outColumns = `id, event, kind, session, channel, chat, text, attempts, created_at, maybe_repeated`

func scanOut(s scanner) (d channels.Delivery, err error) {
	var created int64
	err = s.Scan(&d.ID, &d.Event, &d.Kind, &d.Session, &d.Channel, &d.Chat, &d.Text, &d.Attempts, &created, &d.MaybeRepeated)
	d.CreatedAt = store.Time(created)
	return d, err
}

func scanOuts(rows *sql.Rows, err error) ([]channels.Delivery, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []channels.Delivery
	for rows.Next() {
		d, err := scanOut(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

// ClaimDeliveries implements channels.Outbox: the oldest open row of each chat,
// if it is due.
func (b *Bus) ClaimDeliveries(ctx context.Context, channel string, n int) (out []channels.Delivery, err error) {
	err = b.db.Write(ctx, func(tx *store.Tx) error {
		out, err = scanOuts(tx.Query(`UPDATE outbox SET state = 'sending', attempts = attempts + 1 WHERE seq IN (
			SELECT o.seq FROM outbox o INDEXED BY outbox_open WHERE o.state IN ('queued', 'sending', 'failed') AND o.channel = ? AND o.state <> 'sending' AND o.not_before <= ?
			AND NOT EXISTS (SELECT 1 FROM outbox p INDEXED BY outbox_open WHERE p.state IN ('queued', 'sending', 'failed') AND p.channel = o.channel AND p.chat = o.chat AND p.seq < o.seq)
			ORDER BY o.seq LIMIT ?) RETURNING `+outColumns, channel, time.Now().UnixMilli(), n))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bus: claim deliveries: %w", err)
	}
	return out, nil
}

// Unsettled implements channels.Outbox.
func (b *Bus) Unsettled(ctx context.Context, channel string) ([]channels.Delivery, error) {
	return scanOuts(b.db.Read().QueryContext(ctx, `SELECT `+outColumns+` FROM outbox INDEXED BY outbox_open
		WHERE state IN ('queued', 'sending', 'failed') AND channel = ? AND state = 'sending' ORDER BY seq`, channel))
}

// Delivered implements channels.Outbox.
func (b *Bus) Delivered(ctx context.Context, id string, r channels.Receipt) error {
	receipt, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return b.settleDelivery(ctx, id, `UPDATE outbox SET state = 'sent', sent_at = ?, receipt = ?, error = '' WHERE id = ?`, time.Now().UnixMilli(), string(receipt), id)
}

// Retry implements channels.Outbox.
func (b *Bus) Retry(ctx context.Context, id string, at time.Time, why string, maybeRepeated bool) error {
	return b.settleDelivery(ctx, id, `UPDATE outbox SET state = 'failed', not_before = ?, error = ?, maybe_repeated = max(maybe_repeated, ?) WHERE id = ?`,
		store.Millis(at), why, maybeRepeated, id)
}

// GiveUp implements channels.Outbox: the row is dead, and the owner is told on
// a channel whose clients pull.
func (b *Bus) GiveUp(ctx context.Context, id, why string) error {
	return b.settleDelivery(ctx, id, `UPDATE outbox SET state = 'dead', error = ? WHERE id = ?`, why, id)
}

func (b *Bus) settleDelivery(ctx context.Context, id, query string, args ...any) error {
	err := b.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(query, args...); err != nil {
			return err
		}
		d, err := scanDelivery(tx.QueryRow(`SELECT `+deliveryColumns+` FROM outbox WHERE id = ?`, id))
		if err != nil {
			return err
		}
		if d.State == channels.Dead && d.Kind != channels.Status {
			err := b.SayTx(tx, d.Event, Out{Provenance: provenance.Hob, Delivery: channels.Delivery{
				Kind: channels.Status, Session: d.Session, Channel: "web",
				Text: fmt.Sprintf("I could not deliver this on %s (%s): %s", d.Channel, d.Error, d.Text),
			}})
			if err != nil {
				return err
			}
		}
		tx.AfterCommit(func() {
			b.Feed.Publish("delivery", d.Event, d.Session, d)
			b.knock(d.Channel)
		})
		return nil
	})
	if err != nil {
		return fmt.Errorf("bus: settle delivery %s: %w", id, err)
	}
	return nil
}

// Wake for a channel, as channels.Outbox names it, is Door here, since the bus
// itself has a Wake; Outbox adapts.
func (b *Bus) Door(channel string) <-chan struct{} { return b.door(channel) }

// NextDelivery implements channels.Outbox.
func (b *Bus) NextDelivery(ctx context.Context, channel string) (time.Time, bool, error) {
	var ms sql.NullInt64
	err := b.db.Read().QueryRowContext(ctx, `SELECT min(not_before) FROM outbox INDEXED BY outbox_open
		WHERE state IN ('queued', 'sending', 'failed') AND channel = ? AND state <> 'sending'`, channel).Scan(&ms)
	return store.Time(ms.Int64), ms.Valid, err
}

// Outbox gives the bus as channels.Outbox.
func (b *Bus) Outbox() channels.Outbox { return outbox{b} }

type outbox struct{ *Bus }

func (o outbox) Wake(channel string) <-chan struct{} { return o.door(channel) }

const deliveryColumns = `id, event, kind, session, channel, text, state, attempts, error, maybe_repeated, created_at, sent_at`

func scanDelivery(s scanner) (d Delivery, err error) {
	var created, sent int64
	err = s.Scan(&d.ID, &d.Event, &d.Kind, &d.Session, &d.Channel, &d.Text, &d.State, &d.Attempts, &d.Error, &d.MaybeRepeated, &created, &sent)
	d.CreatedAt, d.SentAt = store.Time(created), store.Time(sent)
	return d, err
}

// Deliveries lists outbox rows, newest first; empty filters match all.
func (b *Bus) Deliveries(ctx context.Context, session, state, before string, limit int) ([]Delivery, error) {
	rows, err := b.db.Read().QueryContext(ctx, `SELECT `+deliveryColumns+` FROM outbox
		WHERE (? = '' OR session = ?) AND (? = '' OR state = ?) AND (? = '' OR seq < coalesce((SELECT seq FROM outbox WHERE id = ?), 0)) ORDER BY seq DESC LIMIT ?`,
		session, session, state, state, before, before, limit)
	if err != nil {
		return nil, fmt.Errorf("bus: deliveries: %w", err)
	}
	defer rows.Close()
	out := []Delivery{}
	for rows.Next() {
		d, err := scanDelivery(rows)
		if err != nil {
			return nil, fmt.Errorf("bus: deliveries: %w", err)
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

// DeliveryEvent returns the event a delivery belongs to.
func (b *Bus) DeliveryEvent(ctx context.Context, id string) (string, error) {
	var e string
	err := b.db.Read().QueryRowContext(ctx, `SELECT event FROM outbox WHERE id = ?`, id).Scan(&e)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("delivery %q: %w", id, ErrNotFound)
	}
	return e, err
}

// Notice is something Hob said by itself.
type Notice struct {
	ID, Text   string
	Provenance provenance.Source
	CreatedAt  time.Time
}

// Notices returns what was said in the session besides replies after its last
// message before the given event, oldest first, at most the newest n.
func (b *Bus) Notices(ctx context.Context, session, event string, n int) ([]Notice, error) {
	rows, err := b.db.Read().QueryContext(ctx, `SELECT id, text, provenance, created_at FROM (
		SELECT seq, id, text, provenance, created_at FROM outbox WHERE session = ?1 AND kind = 'notice' AND created_at > coalesce((
			SELECT received_at FROM inbox WHERE session = ?1 AND kind = 'message' AND seq < (SELECT seq FROM inbox WHERE id = ?2) ORDER BY seq DESC LIMIT 1), 0)
		ORDER BY seq DESC LIMIT ?3) ORDER BY seq`, session, event, n)
	if err != nil {
		return nil, fmt.Errorf("bus: notices: %w", err)
	}
	defer rows.Close()
	var out []Notice
	for rows.Next() {
		var x Notice
		var at int64
		if err := rows.Scan(&x.ID, &x.Text, &x.Provenance, &at); err != nil {
			return nil, fmt.Errorf("bus: notices: %w", err)
		}
		x.CreatedAt = store.Time(at)
		out = append(out, x)
	}
	return out, rows.Err()
}

// EventDeliveries lists what was said because of an event, in order.
func (b *Bus) EventDeliveries(ctx context.Context, event string) ([]Delivery, error) {
	rows, err := b.db.Read().QueryContext(ctx, `SELECT `+deliveryColumns+` FROM outbox WHERE event = ? ORDER BY n`, event)
	if err != nil {
		return nil, fmt.Errorf("bus: deliveries: %w", err)
	}
	defer rows.Close()
	out := []Delivery{}
	for rows.Next() {
		d, err := scanDelivery(rows)
		if err != nil {
			return nil, fmt.Errorf("bus: deliveries: %w", err)
		}
		out = append(out, d)
	}
	return out, rows.Err()
}
