package bus

import (
	"cmp"
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
	"hob/platform/text/sorting"
)

// outColumns lists the selected columns. They include the channel data of the event's message if
// the outgoing message goes to the same chat, and the draft id if the outgoing message is an
// answer.
const outColumns = `id, event, kind, session, channel, chat, text, attempts, created_at, maybe_repeated, files,
	(SELECT CAST(i.payload AS TEXT) -> '$.extra' FROM inbox i WHERE i.id = outbox.event AND i.kind = 'message' AND i.channel = outbox.channel
		AND i.chat = outbox.chat AND i.payload IS NOT NULL),
	CASE kind WHEN 'reply' THEN (SELECT message FROM drafts f WHERE f.event = outbox.event AND f.channel = outbox.channel AND f.chat = outbox.chat) END,
	` + toGuest + ` AS guest, seq`

// toGuest selects answers to a guest's message in the chat in which the guest wrote.
const toGuest = `EXISTS (SELECT 1 FROM inbox i WHERE i.id = outbox.event AND i.kind = 'message' AND i.provenance <> 'owner'
		AND i.channel = outbox.channel AND i.chat = outbox.chat AND outbox.kind <> 'question')`

func scanOut(s scanner) (d channels.Delivery, seq int64, err error) {
	var created int64
	var files string
	var cause, draft sql.NullString
	err = s.Scan(&d.ID, &d.Event, &d.Kind, &d.Session, &d.Channel, &d.Chat, &d.Text, &d.Attempts, &created, &d.MaybeRepeated, &files, &cause, &draft, &d.Guest, &seq)
	d.CreatedAt, d.Draft = store.Time(created), draft.String
	if cause.Valid && cause.String != "null" {
		d.Cause = json.RawMessage(cause.String)
	}
	if err == nil && files != "" {
		err = json.Unmarshal([]byte(files), &d.Files)
	}
	return d, seq, err
}

// queuedDelivery is a delivery with its place in the queue.
type queuedDelivery struct {
	seq int64
	channels.Delivery
}

// scanOuts reads rows and returns them in the order of the queue. The order of RETURNING is undefined.
func scanOuts(rows *sql.Rows, err error) ([]channels.Delivery, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []queuedDelivery
	for rows.Next() {
		d, seq, err := scanOut(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, queuedDelivery{seq, d})
	}
	sorting.ByFunc(found, func(a, b queuedDelivery) int { return cmp.Compare(a.seq, b.seq) })
	var out []channels.Delivery
	for _, x := range found {
		out = append(out, x.Delivery)
	}
	return out, rows.Err()
}

// chatHeads finds the oldest open row in each chat of a channel by jumping from chat to chat in the
// partial index, so its cost does not depend on the number of rows behind them. A send that can
// still be canceled (?2 is the current time) does not block its chat: later messages are sent
// first.
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

// ClaimDeliveries implements channels.Outbox. It returns the oldest open row in each chat if that
// row is due, with guests' rows last.
func (box *Outbox) ClaimDeliveries(ctx context.Context, channel string, n int) (out []channels.Delivery, err error) {
	var due bool // read first, because a read needs no transaction and usually no message is due
	if err := box.db.Read().QueryRowContext(ctx, chatHeads+`SELECT EXISTS (SELECT 1 FROM heads WHERE state <> 'sending' AND not_before <= ?2)`,
		channel, box.now().UnixMilli()).Scan(&due); err != nil {
		return nil, fmt.Errorf("bus: claim deliveries: %w", err)
	}
	if !due {
		return nil, nil
	}
	if err := box.files.CatchUp(ctx); err != nil {
		return nil, err
	}
	err = box.db.Write(ctx, func(tx *store.Tx) error {
		out, err = scanOuts(tx.Query(chatHeads+`UPDATE outbox SET state = 'sending', attempts = attempts + 1 WHERE seq IN (
			SELECT seq FROM heads AS outbox WHERE state <> 'sending' AND not_before <= ?2 ORDER BY `+toGuest+`, seq LIMIT `+strconv.Itoa(n)+`) RETURNING `+outColumns, channel, box.now().UnixMilli()))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bus: claim deliveries: %w", err)
	}
	for _, d := range out {
		box.files.localizePaths(d.Files)
	}
	return out, nil
}

// InFlight implements channels.Outbox.
func (box *Outbox) InFlight(ctx context.Context, channel string) ([]channels.Delivery, error) {
	return scanOuts(box.db.Read().QueryContext(ctx, `SELECT `+outColumns+` FROM outbox INDEXED BY outbox_open
		WHERE state IN ('queued', 'sending', 'failed') AND channel = ? AND state = 'sending' ORDER BY seq`, channel))
}

// Delivered implements channels.Outbox.
func (box *Outbox) Delivered(ctx context.Context, id string, r channels.Receipt) error {
	receipt, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return box.closeDelivery(ctx, id, `state = 'sent', sent_at = ?, receipt = ?, error = ''`, box.now().UnixMilli(), string(receipt))
}

// Retry implements channels.Outbox.
func (box *Outbox) Retry(ctx context.Context, id string, at time.Time, why string, maybeRepeated bool) error {
	return box.closeDelivery(ctx, id, `state = 'failed', not_before = ?, error = ?, maybe_repeated = max(maybe_repeated, ?)`, store.Millis(at), why, maybeRepeated)
}

// DeadLetter implements channels.Outbox. It marks the row as dead and notifies the owner on a pull
// channel.
func (box *Outbox) DeadLetter(ctx context.Context, id, why string) error {
	return box.closeDelivery(ctx, id, `state = 'dead', error = ?`, why)
}

// closeDelivery stores the result of sending a row. It ignores a row that is not in the state
// sending, because the result of such a row is already stored.
func (box *Outbox) closeDelivery(ctx context.Context, id, set string, args ...any) error {
	err := box.db.Write(ctx, func(tx *store.Tx) error {
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
			box.feed.Publish("delivery", d.Event, d.Session, d)
			box.signalDelivery(d.Channel)
		})
		if d.Kind == channels.Reply && (d.State == channels.Sent || d.State == channels.Dead) {
			if err := undraftTx(tx, d.Event); err != nil {
				return err
			}
		}
		if d.State != channels.Dead || d.Kind == channels.Status {
			return nil
		}
		if elsewhere, err := box.lost(tx, d); err != nil || elsewhere {
			return err
		}
		return box.tellUndelivered(tx, d)
	})
	if err != nil {
		return fmt.Errorf("bus: store result of delivery %s: %w", id, err)
	}
	return nil
}

func (box *Outbox) tellUndelivered(tx *store.Tx, d Delivery) error {
	var src provenance.Source
	if err := tx.QueryRow(`SELECT provenance FROM outbox WHERE id = ?`, d.ID).Scan(&src); err != nil {
		return err
	}
	return box.EnqueueTx(tx, d.Event, OutboxItem{Provenance: src, Delivery: channels.Delivery{
		Kind: channels.Status, Session: d.Session, Channel: "web",
		Text: fmt.Sprintf("I could not deliver this message on %s (%s): %s", d.Channel, d.Error, d.Text),
	}})
}

// Wake implements channels.Outbox. The returned channel is signaled if rows may be due.
func (box *Outbox) Wake(channel string) <-chan struct{} { return box.deliverySignal(channel) }

// NextDelivery implements channels.Outbox. It considers the sends that the user can still cancel
// and the oldest open row in each chat, because the other rows wait for that row.
func (box *Outbox) NextDelivery(ctx context.Context, channel string) (time.Time, bool, error) {
	var ms sql.NullInt64
	err := box.db.Read().QueryRowContext(ctx, chatHeads+`SELECT min(at) FROM (SELECT min(not_before) AS at FROM heads WHERE state <> 'sending'
		UNION ALL SELECT min(not_before) FROM outbox INDEXED BY outbox_held WHERE kind = 'send' AND state = 'queued' AND channel = ?1 AND not_before > ?2)`,
		channel, box.now().UnixMilli()).Scan(&ms)
	return store.Time(ms.Int64), ms.Valid, err
}

// queueTimeout is the timeout for the queries in Queue.
const queueTimeout = 2 * time.Second

// Queue implements channels.Counter.
func (box *Outbox) Queue(channel string) (n int, next time.Time, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), queueTimeout)
	defer cancel()
	if err = box.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM outbox INDEXED BY outbox_open WHERE state IN ('queued', 'sending', 'failed') AND channel = ?`,
		channel).Scan(&n); err != nil || n == 0 {
		return n, next, err
	}
	next, _, err = box.NextDelivery(ctx, channel)
	return n, next, err
}

// Draft implements channels.Drafts.
func (box *Outbox) Draft(ctx context.Context, event, channel, chat string) (id string, err error) {
	err = box.db.Read().QueryRowContext(ctx, `SELECT message FROM drafts WHERE event = ? AND channel = ? AND chat = ?`, event, channel, chat).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("bus: read draft: %w", err)
	}
	return id, nil
}

// KeepDraft implements channels.Drafts.
func (box *Outbox) KeepDraft(ctx context.Context, event, channel, chat, id string) error {
	err := box.db.Write(ctx, func(tx *store.Tx) error {
		if id == "" {
			_, err := tx.Exec(`DELETE FROM drafts WHERE event = ? AND channel = ? AND chat = ?`, event, channel, chat)
			return err
		}
		_, err := tx.Exec(`INSERT INTO drafts (event, channel, chat, message, shown_at) VALUES (?,?,?,?,?)
			ON CONFLICT (event, channel, chat) DO UPDATE SET message = excluded.message, shown_at = excluded.shown_at`, event, channel, chat, id, box.now().UnixMilli())
		return err
	})
	if err != nil {
		return fmt.Errorf("bus: store draft: %w", err)
	}
	return nil
}

// undraftTx deletes the drafts of an event. It is called when the answer is sent or dead, and when
// a question is queued.
func undraftTx(tx *store.Tx, event string) error {
	_, err := tx.Exec(`DELETE FROM drafts WHERE event = ?`, event)
	return err
}
