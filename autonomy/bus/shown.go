package bus

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// schemaShown stores which approvals a message requests, the last inbox row at the time it was
// queued, and which clients have displayed it. These positions in inbox and outbox determine what
// was sent later.
const schemaShown = `
ALTER TABLE outbox ADD COLUMN asks TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN inbox_seq INTEGER NOT NULL DEFAULT 0;
CREATE INDEX outbox_asks ON outbox(seq) WHERE asks <> '';
CREATE TABLE outbox_shown (
	delivery TEXT NOT NULL, client TEXT NOT NULL, shown_at INTEGER NOT NULL,
	inbox_seq INTEGER NOT NULL, outbox_seq INTEGER NOT NULL,
	PRIMARY KEY (delivery, client)) WITHOUT ROWID;
`

const (
	// keepShown is how long a display is stored. Decisions depend only on the last minutes.
	keepShown = 24 * time.Hour
	// maxQuestions is the maximum number of messages with questions to search, newest first.
	maxQuestions = 200
	// maxPassed is the maximum number of rows to read after a question. If there are more, the
	// question does not count as the last item.
	maxPassed = 500
)

// Question is a message that contains approval requests.
type Question struct {
	Delivery, Event, Session, Channel, Chat string
	State                                   channels.State
	Asks                                    []string // ids of the approvals
	// SentAt is the time at which the platform had accepted the complete message, or pull clients
	// could read it.
	SentAt time.Time
	// After is the position directly after the message; later items have a greater position.
	After Position
	// Parts lists the platform's ids of the messages into which the text was split.
	Parts []string
}

// Position is a position in the order of inbox and outbox rows.
type Position struct{ Inbox, Outbox int64 }

const questionColumns = `seq, id, event, session, channel, chat, state, asks, sent_at, inbox_seq, receipt`

func scanQuestions(rows *sql.Rows, err error) ([]Question, error) {
	if err != nil {
		return nil, fmt.Errorf("bus: read open questions: %w", err)
	}
	defer rows.Close()
	var out []Question
	for rows.Next() {
		var q Question
		var asks, receipt string
		var sent int64
		if err := rows.Scan(&q.After.Outbox, &q.Delivery, &q.Event, &q.Session, &q.Channel, &q.Chat, &q.State, &asks, &sent, &q.After.Inbox, &receipt); err != nil {
			return nil, fmt.Errorf("bus: read open questions: %w", err)
		}
		q.Asks, q.SentAt, q.Parts = strings.Fields(asks), store.Time(sent), partsOf(receipt)
		out = append(out, q)
	}
	return out, rows.Err()
}

// partsOf returns the platform's ids for the parts of a delivery from its receipt.
func partsOf(receipt string) []string {
	var r channels.Receipt
	if json.Unmarshal([]byte(receipt), &r) != nil {
		return nil // not sent, or sent by a version that did not store ids
	}
	if len(r.Parts) == 0 && r.ID != "" {
		return []string{r.ID}
	}
	return r.Parts
}

// Questions lists the newest messages that contain approval requests, newest first.
func (box *Outbox) Questions(ctx context.Context) ([]Question, error) {
	return scanQuestions(box.db.Read().QueryContext(ctx, `SELECT `+questionColumns+` FROM outbox INDEXED BY outbox_asks WHERE asks <> '' ORDER BY seq DESC LIMIT ?`, maxQuestions))
}

// ShownTo returns the time at which a client displayed a message, and the position in inbox and
// outbox at that time.
func (box *Outbox) ShownTo(ctx context.Context, delivery, client string) (at time.Time, p Position, shown bool, err error) {
	var ms int64
	err = box.db.Read().QueryRowContext(ctx, `SELECT shown_at, inbox_seq, outbox_seq FROM outbox_shown WHERE delivery = ? AND client = ?`, delivery, client).Scan(&ms, &p.Inbox, &p.Outbox)
	if errors.Is(err, sql.ErrNoRows) {
		return at, p, false, nil
	}
	if err != nil {
		return at, p, false, fmt.Errorf("bus: read shown requests: %w", err)
	}
	return store.Time(ms), p, true, nil
}

// Display describes what a client has shown: the messages of a delivery, the messages of an event,
// or those that contain the given approval requests.
type Display struct {
	Delivery, Event string
	Approvals       []string
	// Again reports that the client has displayed the messages again, so that the current time
	// replaces the time of the first display.
	Again bool
}

// MarkShown records that a client has displayed messages with questions. It ignores other messages.
// It returns ErrNotFound if the delivery does not exist.
func (box *Outbox) MarkShown(ctx context.Context, client string, d Display) error {
	if client == "" {
		return nil
	}
	known, err := box.isKnownDelivery(ctx, d.Delivery)
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("delivery %q: %w", d.Delivery, ErrNotFound)
	}
	list, err := box.Questions(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, q := range list {
		if d.isShowing(q) {
			ids = append(ids, q.Delivery)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	conflict := `DO NOTHING`
	if d.Again {
		conflict = `DO UPDATE SET shown_at = excluded.shown_at, inbox_seq = excluded.inbox_seq, outbox_seq = excluded.outbox_seq`
	}
	return box.db.Write(ctx, func(tx *store.Tx) error {
		now := box.now()
		if _, err := tx.Exec(`DELETE FROM outbox_shown WHERE shown_at < ?`, now.Add(-keepShown).UnixMilli()); err != nil {
			return fmt.Errorf("bus: record shown request: %w", err)
		}
		for _, id := range ids {
			if _, err := tx.Exec(`INSERT INTO outbox_shown (delivery, client, shown_at, inbox_seq, outbox_seq)
				VALUES (?,?,?,(SELECT coalesce(max(seq), 0) FROM inbox),(SELECT coalesce(max(seq), 0) FROM outbox)) ON CONFLICT (delivery, client) `+conflict, id, client, now.UnixMilli()); err != nil {
				return fmt.Errorf("bus: record shown request: %w", err)
			}
		}
		return nil
	})
}

// isShowing reports whether a display includes a question: the named one, or the newest one that
// contains one of the approval requests.
func (d Display) isShowing(q Question) bool {
	if q.Delivery == d.Delivery || d.Event != "" && q.Event == d.Event {
		return true
	}
	for _, id := range d.Approvals {
		for _, asked := range q.Asks {
			if id == asked {
				return true
			}
		}
	}
	return false
}

func (box *Outbox) isKnownDelivery(ctx context.Context, delivery string) (known bool, err error) {
	if delivery == "" {
		return true, nil
	}
	err = box.db.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM outbox WHERE id = ?)`, delivery).Scan(&known)
	return known, err
}

// RemoveDisplay removes the record of a display that did not reach its client.
func (box *Outbox) RemoveDisplay(ctx context.Context, client string, d Display) error {
	list, err := box.Questions(ctx)
	if err != nil {
		return err
	}
	return box.db.Write(ctx, func(tx *store.Tx) error {
		for _, q := range list {
			if !d.isShowing(q) {
				continue
			}
			if _, err := tx.Exec(`DELETE FROM outbox_shown WHERE delivery = ? AND client = ?`, q.Delivery, client); err != nil {
				return fmt.Errorf("bus: record shown request: %w", err)
			}
		}
		return nil
	})
}

// Passed is an item that follows a question: a message from Hob or from the owner.
type Passed struct {
	ID, Session, Channel, Chat string
	Kind                       channels.DeliveryKind // "" for a message from the owner
	At                         time.Time
}

// PassedSince lists the messages from Hob and the owner after a position, up to the event whose id
// is before, or all of them if there is no such event. whole is false if there are more than the
// limit.
func (box *Outbox) PassedSince(ctx context.Context, p Position, before string) (out []Passed, whole bool, err error) {
	rows, err := box.db.Read().QueryContext(ctx, `SELECT id, session, channel, chat, kind, created_at FROM outbox
		WHERE seq > ?1 AND state NOT IN ('queued', 'cancelled')
		UNION ALL SELECT id, session, channel, chat, '', received_at FROM inbox
		WHERE seq > ?2 AND kind = ?3 AND provenance = ?4 AND id <> ?5 AND seq < coalesce((SELECT seq FROM inbox WHERE id = ?5), 9223372036854775807)
		LIMIT ?6`, p.Outbox, p.Inbox, Message, provenance.Owner, before, maxPassed)
	if err != nil {
		return nil, false, fmt.Errorf("bus: read later messages: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var x Passed
		var ms int64
		if err := rows.Scan(&x.ID, &x.Session, &x.Channel, &x.Chat, &x.Kind, &ms); err != nil {
			return nil, false, fmt.Errorf("bus: read later messages: %w", err)
		}
		x.At = store.Time(ms)
		out = append(out, x)
	}
	return out, len(out) < maxPassed, rows.Err()
}

// LastSaid returns the id of the newest message, sent before a time, for which mine returns true.
// It returns "" if none of the newest messages qualifies.
func (box *Outbox) LastSaid(ctx context.Context, mine func(Passed) bool, until time.Time) (string, error) {
	rows, err := box.db.Read().QueryContext(ctx, `SELECT id, session, channel, chat, kind, created_at FROM outbox
		WHERE state NOT IN ('queued', 'cancelled') AND created_at <= ? ORDER BY seq DESC LIMIT ?`, store.Millis(until), maxPassed)
	if err != nil {
		return "", fmt.Errorf("bus: read last message: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var x Passed
		var ms int64
		if err := rows.Scan(&x.ID, &x.Session, &x.Channel, &x.Chat, &x.Kind, &ms); err != nil {
			return "", fmt.Errorf("bus: read last message: %w", err)
		}
		if x.At = store.Time(ms); mine(x) {
			return x.ID, rows.Err()
		}
	}
	return "", rows.Err()
}
