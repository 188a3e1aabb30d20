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

// ErrNotFound reports a missing row.
var ErrNotFound = errors.New("not found")

const eventColumns = `id, kind, source, session, lane, channel, chat, sender, text, payload, provenance, received_at,
	coalesce(key, ''), state, attempts, crashes, not_before, error, answer, done_at`

type scanner interface{ Scan(...any) error }

func scanEvent(s scanner) (e Event, err error) {
	var received, notBefore, done int64
	var payload []byte
	err = s.Scan(&e.ID, &e.Kind, &e.Source, &e.Session, &e.Lane, &e.Channel, &e.Chat, &e.Sender, &e.Text, &payload, &e.Provenance,
		&received, &e.Key, &e.State, &e.Attempts, &e.Crashes, &notBefore, &e.Error, &e.Answer, &done)
	e.Payload = payload
	if notBefore == resumed {
		notBefore = 0
	}
	e.ReceivedAt, e.NotBefore, e.DoneAt = store.Time(received), store.Time(notBefore), store.Time(done)
	return e, err
}

func scanEvents(rows *sql.Rows, err error) ([]Event, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Event
	for rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// Event reads one event.
func (b *Bus) Event(ctx context.Context, id string) (Event, error) {
	e, err := scanEvent(b.db.Read().QueryRowContext(ctx, `SELECT `+eventColumns+` FROM inbox WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return e, fmt.Errorf("event %q: %w", id, ErrNotFound)
	}
	return e, err
}

// EventTx reads one event in a transaction.
func (b *Bus) EventTx(tx *store.Tx, id string) (Event, error) {
	e, err := scanEvent(tx.QueryRow(`SELECT `+eventColumns+` FROM inbox WHERE id = ?`, id))
	if err != nil {
		return Event{}, fmt.Errorf("bus: event %s: %w", id, err)
	}
	return e, nil
}

// QueuePosition counts the open events before this one in its queue.
func (b *Bus) QueuePosition(ctx context.Context, e Event) (n int, err error) {
	err = b.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane = ?
		AND seq < (SELECT seq FROM inbox WHERE id = ?)`, e.Lane, e.ID).Scan(&n)
	return n, err
}

// CountByState returns the number of events in each state.
func (b *Bus) CountByState(ctx context.Context) (map[State]int, error) {
	rows, err := b.db.Read().QueryContext(ctx, `SELECT state, count(*) FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') GROUP BY state`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[State]int{}
	for rows.Next() {
		var s State
		var n int
		if err := rows.Scan(&s, &n); err != nil {
			return nil, err
		}
		out[s] = n
	}
	return out, rows.Err()
}

// List returns events, newest first, of one session or (empty) all, older than
// the event `before` when that is set.
func (b *Bus) List(ctx context.Context, session, before string, limit int) ([]Event, error) {
	return scanEvents(b.db.Read().QueryContext(ctx, `SELECT `+eventColumns+` FROM inbox
		WHERE (? = '' OR session = ?) AND (? = '' OR seq < coalesce((SELECT seq FROM inbox WHERE id = ?), 0)) ORDER BY seq DESC LIMIT ?`,
		session, session, before, before, limit))
}

// Since returns the events that arrived or ended at or after a time, and all pending ones, newest
// first.
func (b *Bus) Since(ctx context.Context, since time.Time) (out []Event, err error) {
	const page = 500
	for before := ""; ; {
		list, err := b.List(ctx, "", before, page)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if !e.ReceivedAt.Before(since) || !e.DoneAt.Before(since) || e.State == Pending {
				out = append(out, e)
			}
			before = e.ID
		}
		if len(list) < page {
			return out, nil
		}
	}
}

// IsOwners reports whether the owner has spoken in the session.
func (b *Bus) IsOwners(ctx context.Context, session string) (yes bool, err error) {
	err = b.db.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM inbox WHERE session = ? AND kind = ? AND provenance = ?)`,
		session, Message, provenance.Owner).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("bus: %w", err)
	}
	return yes, nil
}

// RevokeOwnerTx marks a former owner's messages as those of an unknown sender, so that those chats
// get no more notices.
func (b *Bus) RevokeOwnerTx(tx *store.Tx, channel, sender string) error {
	_, err := tx.Exec(`UPDATE inbox SET provenance = ? WHERE kind = ? AND channel = ? AND sender = ? AND provenance = ?`,
		provenance.Outside, Message, channel, sender, provenance.Owner)
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	return nil
}

// SaidBeforeTx returns the owner's message before an event in the session, "" if there is none.
func (b *Bus) SaidBeforeTx(tx *store.Tx, session, event string) (text string, err error) {
	err = tx.QueryRow(`SELECT text FROM inbox WHERE session = ?1 AND kind = ?2 AND provenance = ?3 AND lane = session
		AND seq < (SELECT seq FROM inbox WHERE id = ?4) ORDER BY seq DESC LIMIT 1`, session, Message, provenance.Owner, event).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// LastOwnerSession returns the session in which the owner last wrote.
func (b *Bus) LastOwnerSession(ctx context.Context) (session, channel, chat string, err error) {
	err = b.db.Read().QueryRowContext(ctx, `SELECT session, channel, chat FROM inbox WHERE kind = ? AND provenance = ? ORDER BY seq DESC LIMIT 1`,
		Message, provenance.Owner).Scan(&session, &channel, &chat)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", "", nil
	}
	return session, channel, chat, err
}

// LastOwner returns when and on which channel the owner last wrote; "" if never.
func (b *Bus) LastOwner(ctx context.Context) (channel string, at time.Time, err error) {
	var ms int64
	err = b.db.Read().QueryRowContext(ctx, `SELECT channel, received_at FROM inbox WHERE kind = ? AND provenance = ? ORDER BY seq DESC LIMIT 1`,
		Message, provenance.Owner).Scan(&channel, &ms)
	if errors.Is(err, sql.ErrNoRows) {
		return "", time.Time{}, nil
	}
	return channel, store.Time(ms), err
}

// OpenTx reports whether a queue holds an event that has not ended.
func (b *Bus) OpenTx(tx *store.Tx, lane string) (open bool, err error) {
	err = tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM inbox INDEXED BY inbox_open WHERE lane = ? AND state IN ('pending', 'claimed'))`, lane).Scan(&open)
	if err != nil {
		return false, fmt.Errorf("bus: open events: %w", err)
	}
	return open, nil
}

// pastMessages is the maximum number of messages to replay.
const pastMessages = 20_000

// Messages calls each with the messages received since a time, oldest first; if there are too
// many, only the newest.
func (b *Bus) Messages(ctx context.Context, since time.Time, each func(Event) error) error {
	rows, err := b.db.Read().QueryContext(ctx, `SELECT `+eventColumns+` FROM inbox WHERE kind = ?1 AND received_at >= ?2
		AND seq >= coalesce((SELECT min(seq) FROM (SELECT seq FROM inbox WHERE kind = ?1 AND received_at >= ?2 ORDER BY seq DESC LIMIT ?3)), 0)
		ORDER BY seq`, // without sorting: a payload can hold pictures
		Message, store.Millis(since), pastMessages)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return err
		}
		if err := each(e); err != nil {
			return err
		}
	}
	return rows.Err()
}
