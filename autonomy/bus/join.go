package bus

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

// schemaChannels adds tables and columns for messages that wait for the sender's next one, merged
// messages, attached files, and drafts of answers.
const schemaChannels = `
ALTER TABLE inbox ADD COLUMN settle_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN settle_end INTEGER NOT NULL DEFAULT 0;
CREATE TABLE inbox_joined (
	source TEXT NOT NULL, key TEXT NOT NULL, event TEXT NOT NULL, joined_at INTEGER NOT NULL,
	PRIMARY KEY (source, key)) WITHOUT ROWID;
ALTER TABLE outbox ADD COLUMN files TEXT NOT NULL DEFAULT '';
CREATE INDEX outbox_files ON outbox(seq) WHERE files <> '' AND state IN ('queued', 'sending', 'failed');
CREATE TABLE drafts (
	event TEXT NOT NULL, channel TEXT NOT NULL, chat TEXT NOT NULL, message TEXT NOT NULL, shown_at INTEGER NOT NULL,
	PRIMARY KEY (event, channel, chat)) WITHOUT ROWID;
`

// longestSettle is the maximum wait for further messages, as a multiple of settle.
const longestSettle = 5

// Merge returns the text and the payload of the event that replaces a waiting event and the next
// one. It returns false if the two events must stay separate.
type Merge func(waiting, next Event) (text string, payload json.RawMessage, ok bool)

// CoalesceTx is like PutTx, but for a message that may be merged with others. The message waits for
// settle before it can be claimed. If the last message in the conversation also waits and has the
// same sender, CoalesceTx merges the new message into it. The wait then restarts, but ends at the
// latest longestSettle times settle after the first message. The key is stored: a repeat returns
// the event that contains the message.
func (in *Inbox) CoalesceTx(tx *store.Tx, e Event, settle time.Duration, merge Merge) (channels.Accepted, error) {
	if e.Lane == "" {
		e.Lane = e.Session
	}
	if settle <= 0 || e.Kind != Message || e.Lane != e.Session {
		return in.PutTx(tx, e)
	}
	if e.ID == "" {
		e.ID = NewID()
	}
	now := in.now()
	if first, err := findWaitingTx(tx, e, now); err != nil {
		return channels.Accepted{}, err
	} else if first.ID != "" {
		if text, payload, ok := merge(first, e); ok {
			return in.mergeTx(tx, first, e, text, payload, now.Add(settle))
		}
	}
	e.NotBefore = now.Add(settle)
	acc, err := in.PutTx(tx, e)
	if err != nil || acc.Repeated {
		return acc, err
	}
	_, err = tx.Exec(`UPDATE inbox SET settle_until = ?, settle_end = ? WHERE id = ?`,
		store.Millis(e.NotBefore), store.Millis(now.Add(longestSettle*settle)), e.ID)
	return acc, err
}

// findWaitingTx finds the message into which the next one may be merged: the last open event in its
// queue, provided that it was never claimed.
func findWaitingTx(tx *store.Tx, e Event, now time.Time) (Event, error) {
	if known, err := isTakenTx(tx, e); err != nil || known {
		return Event{}, err // the message is a repeat, possibly of the waiting one
	}
	w, err := scanEvent(tx.QueryRow(`SELECT `+eventColumns+` FROM inbox WHERE seq = (
		SELECT seq FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane = ?1 ORDER BY seq DESC LIMIT 1)
		AND state = 'pending' AND attempts = 0 AND crashes = 0 AND settle_until > ?2
		AND kind = ?3 AND source = ?4 AND session = ?5 AND channel = ?6 AND chat = ?7 AND sender = ?8 AND provenance = ?9`,
		e.Lane, now.UnixMilli(), e.Kind, e.Source, e.Session, e.Channel, e.Chat, e.Sender, e.Provenance))
	if errors.Is(err, sql.ErrNoRows) {
		return Event{}, nil
	}
	return w, err
}

func isTakenTx(tx *store.Tx, e Event) (known bool, err error) {
	if e.Key == "" {
		return false, nil
	}
	err = tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM inbox WHERE source = ?1 AND key = ?2) OR EXISTS (SELECT 1 FROM inbox_joined WHERE source = ?1 AND key = ?2)`,
		e.Source, e.Key).Scan(&known)
	return known, err
}

func (in *Inbox) mergeTx(tx *store.Tx, first, e Event, text string, payload json.RawMessage, until time.Time) (channels.Accepted, error) {
	res, err := tx.Exec(`UPDATE inbox SET text = ?2, payload = ?3, settle_until = min(?4, settle_end), not_before = min(?4, settle_end)
		WHERE id = ?1 AND state = 'pending'`, first.ID, text, []byte(payload), store.Millis(until))
	if err != nil {
		return channels.Accepted{}, err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return channels.Accepted{}, errors.Join(err, fmt.Errorf("bus: event %s is no longer waiting", first.ID))
	}
	if e.Key != "" {
		if _, err := tx.Exec(`INSERT INTO inbox_joined (source, key, event, joined_at) VALUES (?,?,?,?)`, e.Source, e.Key, first.ID, in.now().UnixMilli()); err != nil {
			return channels.Accepted{}, err
		}
	}
	tx.AfterCommit(in.SignalWork)
	return channels.Accepted{Event: first.ID}, nil
}

// FlushDebounceTx makes the messages in a conversation that are waiting for the sender's next one
// due immediately, and lists them.
func (in *Inbox) FlushDebounceTx(tx *store.Tx, session string) (events []string, err error) {
	rows, err := tx.Query(`UPDATE inbox INDEXED BY inbox_open SET settle_until = 0, not_before = ?
		WHERE state IN ('pending', 'claimed') AND lane = ? AND state = 'pending' AND settle_until > 0 RETURNING id`, resumed, session)
	if err != nil {
		return nil, fmt.Errorf("bus: end the wait for further messages: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("bus: end the wait for further messages: %w", err)
		}
		events = append(events, id)
	}
	tx.AfterCommit(in.SignalWork)
	return events, rows.Err()
}

// joinedTx returns the event that contains the message with this key, or "".
func joinedTx(tx *store.Tx, e Event) (event string, err error) {
	if e.Key == "" || e.Kind != Message {
		return "", nil
	}
	err = tx.QueryRow(`SELECT event FROM inbox_joined WHERE source = ? AND key = ?`, e.Source, e.Key).Scan(&event)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return event, err
}

// FindCoalesced returns the event that contains an earlier message with this key, even if the
// message was merged into another event.
func (in *Inbox) FindCoalesced(ctx context.Context, source, key string) (event string, err error) {
	err = in.db.Read().QueryRowContext(ctx, `SELECT id FROM inbox WHERE source = ?1 AND key = ?2
		UNION ALL SELECT event FROM inbox_joined WHERE source = ?1 AND key = ?2 LIMIT 1`, source, key).Scan(&event)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("bus: find merged message: %w", err)
	}
	return event, nil
}
