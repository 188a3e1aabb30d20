package bus

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// OutboxItem is one text to send.
type OutboxItem struct {
	channels.Delivery
	Provenance provenance.Source
	// NotBefore delays it on a push channel. On a pull channel nothing would release it, so it
	// is sent immediately.
	NotBefore time.Time
	// Judged: Options.Gate has had its say about it.
	Judged bool
	// Hint is a model's rating; Options.Gate decides how to use it.
	Hint Hint
	// Asks are the ids of the approvals that the text asks for. Only the engine sets it: it
	// makes the text a question that can be shown and answered.
	Asks []string
}

// Hint is a model's rating of a text's urgency.
type Hint struct {
	By      string // the model; "" if none was called
	Urgency string // "": it did not say
	Why     string // in its own words
}

// EnqueueTx puts texts into the outbox as the event's next ones. Texts for channels
// whose clients pull are delivered with the commit.
func (b *Bus) EnqueueTx(tx *store.Tx, event string, outs ...OutboxItem) error {
	if len(outs) == 0 {
		return nil
	}
	n, err := lastSaid(tx, event)
	if err != nil {
		return err
	}
	for _, o := range outs {
		if !o.Judged {
			var pass bool
			o.ID, o.Text = deliveryID(event, n+1), b.clean(o.Text)
			if o, pass, err = b.gate(tx, event, o); err != nil {
				return fmt.Errorf("bus: queue text: %w", err)
			} else if !pass {
				continue
			}
		}
		n++
		channel, chat, pull := b.route(o.Channel, o.Chat)
		o.Channel, o.Chat = channel, chat
		if _, err := b.enqueueDelivery(tx, event, n, o, pull); err != nil {
			return fmt.Errorf("bus: queue text: %w", err)
		}
	}
	return nil
}

// deliveryID names the nth text of an event.
func deliveryID(event string, n int) string { return fmt.Sprintf("%s-%d", event, n) }

func lastSaid(tx *store.Tx, event string) (n int, err error) {
	err = tx.QueryRow(`SELECT coalesce(max(n), 0) FROM outbox WHERE event = ?`, event).Scan(&n)
	return n, err
}

func (b *Bus) enqueueDelivery(tx *store.Tx, event string, n int, o OutboxItem, pull bool) (Delivery, error) {
	channel, chat, now := o.Channel, o.Chat, b.now()
	d := Delivery{
		ID: deliveryID(event, n), Event: event, Kind: o.Kind, Session: o.Session, Channel: channel, Chat: chat, Text: b.clean(o.Text),
		State: channels.Queued, CreatedAt: now, NotBefore: o.NotBefore,
	}
	if pull {
		d.State, d.SentAt = channels.Sent, now
	}
	files, err := filesColumn(o.Files)
	if err != nil {
		return d, err
	}
	_, err = tx.Exec(`INSERT INTO outbox (id, event, n, kind, session, channel, chat, text, provenance, state, not_before, created_at, sent_at, files, asks, inbox_seq)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,(SELECT coalesce(max(seq), 0) FROM inbox))`, d.ID, event, n, d.Kind, d.Session, channel, chat, d.Text, o.Provenance, d.State,
		store.Millis(o.NotBefore), now.UnixMilli(), store.Millis(d.SentAt), files, strings.Join(o.Asks, " "))
	if err != nil {
		return d, err
	}
	if o.Kind == channels.Question {
		if err := undraftTx(tx, event); err != nil {
			return d, err
		}
	}
	tx.AfterCommit(func() {
		if d.State == channels.Sent {
			b.Feed.Publish("delivery", event, d.Session, d)
		}
		b.signalDelivery(channel)
	})
	return d, nil
}

func (b *Bus) deliverySignal(channel string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.doors[channel]
	if d == nil {
		d = make(chan struct{}, 1)
		b.doors[channel] = d
	}
	return d
}

func (b *Bus) signalDelivery(channel string) {
	select {
	case b.deliverySignal(channel) <- struct{}{}:
	default:
	}
}

// outColumns include the channel data of the message if the text goes to the message's chat,
// and for an answer the id of its draft.
const outColumns = `id, event, kind, session, channel, chat, text, attempts, created_at, maybe_repeated, files,
	(SELECT CAST(i.payload AS TEXT) -> '$.extra' FROM inbox i WHERE i.id = outbox.event AND i.kind = 'message' AND i.channel = outbox.channel
		AND i.chat = outbox.chat AND i.payload IS NOT NULL),
	CASE kind WHEN 'reply' THEN (SELECT message FROM drafts f WHERE f.event = outbox.event AND f.channel = outbox.channel AND f.chat = outbox.chat) END,
	` + toGuest + ` AS guest`

// toGuest selects texts that answer a guest's message in its own chat.
const toGuest = `EXISTS (SELECT 1 FROM inbox i WHERE i.id = outbox.event AND i.kind = 'message' AND i.provenance <> 'owner'
		AND i.channel = outbox.channel AND i.chat = outbox.chat AND outbox.kind <> 'question')`

func scanOut(s scanner) (d channels.Delivery, err error) {
	var created int64
	var files string
	var cause, draft sql.NullString
	err = s.Scan(&d.ID, &d.Event, &d.Kind, &d.Session, &d.Channel, &d.Chat, &d.Text, &d.Attempts, &created, &d.MaybeRepeated, &files, &cause, &draft, &d.Guest)
	d.CreatedAt, d.Draft = store.Time(created), draft.String
	if cause.Valid && cause.String != "null" {
		d.Cause = json.RawMessage(cause.String)
	}
	if err == nil && files != "" {
		err = json.Unmarshal([]byte(files), &d.Files)
	}
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

// chatHeads finds the oldest open row of each chat of a channel by hopping from chat to chat in
// the partial index, independent of the number of rows behind them. A send that can still be
// cancelled (?2 is now) does not block its chat: later texts are sent first.
const chatHeads = `
WITH RECURSIVE chats(chat) AS (
	SELECT min(chat) FROM outbox INDEXED BY outbox_open WHERE state IN ('queued', 'sending', 'failed') AND channel = ?1
	UNION ALL
	SELECT (SELECT min(chat) FROM outbox INDEXED BY outbox_open WHERE state IN ('queued', 'sending', 'failed') AND channel = ?1 AND chat > chats.chat)
	FROM chats WHERE chats.chat IS NOT NULL),
heads AS (SELECT o.* FROM chats JOIN outbox o ON o.seq = (
	SELECT seq FROM outbox INDEXED BY outbox_open WHERE state IN ('queued', 'sending', 'failed') AND channel = ?1 AND chat = chats.chat
	AND NOT (kind = 'send' AND state = 'queued' AND not_before > ?2) ORDER BY seq LIMIT 1)
WHERE chats.chat IS NOT NULL)
`

// ClaimDeliveries implements channels.Outbox: it returns the oldest open row of each chat, if
// due, those of guests last.
func (b *Bus) ClaimDeliveries(ctx context.Context, channel string, n int) (out []channels.Delivery, err error) {
	var due bool // a read costs no transaction, and usually there is no next text
	if err := b.db.Read().QueryRowContext(ctx, chatHeads+`SELECT EXISTS (SELECT 1 FROM heads WHERE state <> 'sending' AND not_before <= ?2)`,
		channel, b.now().UnixMilli()).Scan(&due); err != nil {
		return nil, fmt.Errorf("bus: claim deliveries: %w", err)
	}
	if !due {
		return nil, nil
	}
	err = b.db.Write(ctx, func(tx *store.Tx) error {
		out, err = scanOuts(tx.Query(chatHeads+`UPDATE outbox SET state = 'sending', attempts = attempts + 1 WHERE seq IN (
			SELECT seq FROM heads AS outbox WHERE state <> 'sending' AND not_before <= ?2 ORDER BY `+toGuest+`, seq LIMIT `+strconv.Itoa(n)+`) RETURNING `+outColumns, channel, b.now().UnixMilli()))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bus: claim deliveries: %w", err)
	}
	return out, nil
}

// InFlight implements channels.Outbox.
func (b *Bus) InFlight(ctx context.Context, channel string) ([]channels.Delivery, error) {
	return scanOuts(b.db.Read().QueryContext(ctx, `SELECT `+outColumns+` FROM outbox INDEXED BY outbox_open
		WHERE state IN ('queued', 'sending', 'failed') AND channel = ? AND state = 'sending' ORDER BY seq`, channel))
}

// Delivered implements channels.Outbox.
func (b *Bus) Delivered(ctx context.Context, id string, r channels.Receipt) error {
	receipt, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return b.closeDelivery(ctx, id, `state = 'sent', sent_at = ?, receipt = ?, error = ''`, b.now().UnixMilli(), string(receipt))
}

// Retry implements channels.Outbox.
func (b *Bus) Retry(ctx context.Context, id string, at time.Time, why string, maybeRepeated bool) error {
	return b.closeDelivery(ctx, id, `state = 'failed', not_before = ?, error = ?, maybe_repeated = max(maybe_repeated, ?)`, store.Millis(at), why, maybeRepeated)
}

// DeadLetter implements channels.Outbox: the row is dead, and the owner is notified on a pull
// channel.
func (b *Bus) DeadLetter(ctx context.Context, id, why string) error {
	return b.closeDelivery(ctx, id, `state = 'dead', error = ?`, why)
}

// closeDelivery writes the result of sending a row. It does not change a row that is not being sent,
// because its result is already known.
func (b *Bus) closeDelivery(ctx context.Context, id, set string, args ...any) error {
	err := b.db.Write(ctx, func(tx *store.Tx) error {
		res, err := tx.Exec(`UPDATE outbox SET `+set+` WHERE id = ? AND state = 'sending'`, append(args, id)...)
		if err != nil {
			return err
		}
		d, err := scanDelivery(tx.QueryRow(`SELECT `+deliveryColumns+` FROM outbox WHERE id = ?`, id))
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		tx.AfterCommit(func() {
			b.Feed.Publish("delivery", d.Event, d.Session, d)
			b.signalDelivery(d.Channel)
		})
		if d.Kind == channels.Reply && (d.State == channels.Sent || d.State == channels.Dead) {
			if err := undraftTx(tx, d.Event); err != nil {
				return err
			}
		}
		if d.State != channels.Dead || d.Kind == channels.Status {
			return nil
		}
		if elsewhere, err := b.lost(tx, d); err != nil || elsewhere {
			return err
		}
		return b.tellUndelivered(tx, d)
	})
	if err != nil {
		return fmt.Errorf("bus: settle delivery %s: %w", id, err)
	}
	return nil
}

func (b *Bus) tellUndelivered(tx *store.Tx, d Delivery) error {
	var src provenance.Source
	if err := tx.QueryRow(`SELECT provenance FROM outbox WHERE id = ?`, d.ID).Scan(&src); err != nil {
		return err
	}
	return b.EnqueueTx(tx, d.Event, OutboxItem{Provenance: src, Delivery: channels.Delivery{
		Kind: channels.Status, Session: d.Session, Channel: "web",
		Text: fmt.Sprintf("I could not deliver this on %s (%s): %s", d.Channel, d.Error, d.Text),
	}})
}

// DeliverySignal is signalled if rows of the channel may be due. channels.Outbox calls this method Wake,
// a name that the bus already uses; Outbox adapts it.
func (b *Bus) DeliverySignal(channel string) <-chan struct{} { return b.deliverySignal(channel) }

// NextDelivery implements channels.Outbox. Only the oldest open row of a chat
// counts: the others wait for it; and sends that can still be called back.
func (b *Bus) NextDelivery(ctx context.Context, channel string) (time.Time, bool, error) {
	var ms sql.NullInt64
	err := b.db.Read().QueryRowContext(ctx, chatHeads+`SELECT min(at) FROM (SELECT min(not_before) AS at FROM heads WHERE state <> 'sending'
		UNION ALL SELECT min(not_before) FROM outbox INDEXED BY outbox_held WHERE kind = 'send' AND state = 'queued' AND channel = ?1 AND not_before > ?2)`,
		channel, b.now().UnixMilli()).Scan(&ms)
	return store.Time(ms.Int64), ms.Valid, err
}

// filesColumn encodes files for a row.
func filesColumn(files []channels.Attachment) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(files)
	return string(raw), err
}

// AttachedPaths lists the copies of files that waiting texts refer to.
func (b *Bus) AttachedPaths(ctx context.Context) (paths []string, err error) {
	rows, err := b.db.Read().QueryContext(ctx, `SELECT files FROM outbox INDEXED BY outbox_files WHERE files <> '' AND state IN ('queued', 'sending', 'failed')`)
	if err != nil {
		return nil, fmt.Errorf("bus: files: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var raw string
		var files []channels.Attachment
		if err := rows.Scan(&raw); err != nil {
			return nil, fmt.Errorf("bus: files: %w", err)
		}
		if err := json.Unmarshal([]byte(raw), &files); err != nil {
			return nil, fmt.Errorf("bus: files: %w", err)
		}
		for _, f := range files {
			paths = append(paths, f.Path)
		}
	}
	return paths, rows.Err()
}

// Outbox gives the bus as channels.Outbox.
func (b *Bus) Outbox() channels.Outbox { return outbox{b} }

type outbox struct{ *Bus }

// queueTimeout bounds a look into the queue.
const queueTimeout = 2 * time.Second

// Queue implements channels.Counter.
func (o outbox) Queue(channel string) (n int, next time.Time, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), queueTimeout)
	defer cancel()
	if err = o.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM outbox INDEXED BY outbox_open WHERE state IN ('queued', 'sending', 'failed') AND channel = ?`,
		channel).Scan(&n); err != nil || n == 0 {
		return n, next, err
	}
	next, _, err = o.NextDelivery(ctx, channel)
	return n, next, err
}

func (o outbox) Wake(channel string) <-chan struct{} { return o.deliverySignal(channel) }
