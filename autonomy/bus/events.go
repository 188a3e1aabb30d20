package bus

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/watchers"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Message  Kind = "message"
	Watcher  Kind = "watcher"
	Goal     Kind = "goal"
	Schedule Kind = "schedule"
	Webhook  Kind = "webhook"
	Task     Kind = "task"
	Approval Kind = "approval"
	System   Kind = "system"
)

// State is the state of an event.
type State string

// The states of an event.
const (
	Pending State = "pending"
	Claimed State = "claimed"
	Done    State = "done"
	Dead    State = "dead"
)

// Event is one event of the inbox.
type Event struct {
	ID         string            `json:"id"` // a UUIDv7
	Kind       Kind              `json:"kind"`
	Source     string            `json:"source"` // channel name, watcher id, "goal" and so on
	Session    string            `json:"session"`
	Lane       string            `json:"-"` // queue in which the event waits; equal to Session unless it is a command
	Channel    string            `json:"channel,omitempty"`
	Chat       string            `json:"chat,omitempty"`
	Sender     string            `json:"sender,omitempty"`
	Text       string            `json:"text"`
	Payload    json.RawMessage   `json:"payload,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	ReceivedAt time.Time         `json:"received_at"`
	// Source and Key together identify an event. If a key is repeated, the id of the first event is
	// returned.
	Key       string    `json:"dedupe_key,omitempty"`
	State     State     `json:"state"`
	Attempts  int       `json:"attempts"`
	Crashes   int       `json:"crashes"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Error     string    `json:"error,omitempty"`
	Answer    string    `json:"answer,omitempty"`
	DoneAt    time.Time `json:"done_at,omitzero"`
	// SourceCreated is the time at which the watcher or schedule was created that is the source; zero
	// for other sources. It is not stored.
	SourceCreated time.Time `json:"-"`
}

// CommandLane returns the queue for a session's commands. They are processed before all other
// events.
func CommandLane(session string) string { return session + "\x1fcommands" }

// ErrNotFound means that a row does not exist.
var ErrNotFound = errors.New("not found")

const eventColumns = `id, kind, source, session, lane, channel, chat, sender, text, payload, provenance, received_at,
	coalesce(key, ''), state, attempts, crashes, not_before, error, answer, done_at`

type scanner interface{ Scan(...any) error }

func scanEvent(s scanner) (e Event, err error) {
	var received, notBefore, done int64
	var payload []byte
	err = s.Scan(&e.ID, &e.Kind, &e.Source, &e.Session, &e.Lane, &e.Channel, &e.Chat, &e.Sender, &e.Text, &payload, &e.Provenance,
		&received, &e.Key, &e.State, &e.Attempts, &e.Crashes, &notBefore, &e.Error, &e.Answer, &done)
	e.Payload, e.Lane = payload, sessionLane(e.Lane)
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

// Event returns one event.
func (in *Inbox) Event(ctx context.Context, id string) (Event, error) {
	e, err := scanEvent(in.db.Read().QueryRowContext(ctx, `SELECT `+eventColumns+` FROM inbox WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return e, fmt.Errorf("event %q: %w", id, ErrNotFound)
	}
	return e, err
}

// EventTx returns one event in a transaction.
func (in *Inbox) EventTx(tx *store.Tx, id string) (Event, error) {
	e, err := scanEvent(tx.QueryRow(`SELECT `+eventColumns+` FROM inbox WHERE id = ?`, id))
	if err != nil {
		return Event{}, fmt.Errorf("bus: event %s: %w", id, err)
	}
	return e, nil
}

// QueuePosition counts the open events before this one in its queue, and the parked events that
// block it.
func (in *Inbox) QueuePosition(ctx context.Context, e Event) (n int, err error) {
	var parked int
	low, high := parkedRange(e)
	err = in.db.Read().QueryRowContext(ctx, `SELECT (SELECT count(*) FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane = ?
		AND seq < (SELECT seq FROM inbox WHERE id = ?)), (`+countParked+`)`, e.Lane, e.ID, low, high).Scan(&n, &parked)
	if err != nil || e.State != Pending || !e.NotBefore.IsZero() || !isBlocked(e, parked) { // no parked event blocks it
		return n, err
	}
	return n + parked, nil
}

// Blockers returns the ids of the open events that a pending event waits for: those before it in its
// queue, and the parked events of its session if they block it. A resumed event that runs is not
// among them, because it may end without an answer of the owner.
func (in *Inbox) Blockers(ctx context.Context, e Event) (ids []string, err error) {
	parked, err := parkedCount(in.db.Reader(ctx), e)
	if err != nil {
		return nil, err
	}
	low, high := parkedRange(e)
	rows, err := in.db.Read().QueryContext(ctx, `SELECT id FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND state = 'pending' AND lane = ?1 AND seq < (SELECT seq FROM inbox WHERE id = ?2)
		UNION ALL SELECT id FROM inbox INDEXED BY inbox_open WHERE ?3 > 0 AND state IN ('pending', 'claimed') AND lane > ?4 AND lane < ?5`,
		e.Lane, e.ID, parked, low, high)
	if err != nil {
		return nil, fmt.Errorf("bus: read blocking events: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("bus: read blocking events: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// CountByState returns the number of pending and of claimed events.
func (in *Inbox) CountByState(ctx context.Context) (map[State]int, error) {
	rows, err := in.db.Read().QueryContext(ctx, `SELECT state, count(*) FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') GROUP BY state`)
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

// List returns events, newest first. A nonempty session selects one session, and a nonempty before
// selects events older than that event.
func (in *Inbox) List(ctx context.Context, session, before string, limit int) ([]Event, error) {
	return scanEvents(in.db.Read().QueryContext(ctx, `SELECT `+eventColumns+` FROM inbox
		WHERE (? = '' OR session = ?) AND (? = '' OR seq < coalesce((SELECT seq FROM inbox WHERE id = ?), 0)) ORDER BY seq DESC LIMIT ?`,
		session, session, before, before, limit))
}

// Since returns the events that arrived or ended at or after a time, and all pending ones, newest
// first.
func (in *Inbox) Since(ctx context.Context, since time.Time) (out []Event, err error) {
	const page = 500
	for before := ""; ; {
		list, err := in.List(ctx, "", before, page)
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

// OpenTx reports whether a queue contains an event that has not ended.
func (in *Inbox) OpenTx(tx *store.Tx, lane string) (open bool, err error) {
	err = tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM inbox INDEXED BY inbox_open WHERE lane = ?1 AND state IN ('pending', 'claimed'))
		OR EXISTS (SELECT 1 FROM inbox INDEXED BY inbox_restored WHERE lane = ?1 AND state = 'held')`, lane).Scan(&open)
	if err != nil {
		return false, fmt.Errorf("bus: read open events: %w", err)
	}
	return open, nil
}

// Running lists the events whose turns are running.
func (in *Inbox) Running(q store.Querier) ([]string, error) {
	return queryIDs(q, `SELECT id FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND state = 'claimed'`)
}

// EventsIn lists the events in a conversation.
func (in *Inbox) EventsIn(q store.Querier, session string) ([]string, error) {
	return queryIDs(q, `SELECT id FROM inbox WHERE session = ? ORDER BY seq`, session)
}

// schemaSignals finds the signals about a message: their key is its event.
const schemaSignals = `CREATE INDEX inbox_signals ON inbox(key) WHERE kind = 'watcher';`

// Senders lists the accounts of other people whose messages were accepted, with each name that they
// used.
func Senders(q store.Querier) (out []watchers.Sender, err error) {
	rows, err := q.Query(`SELECT DISTINCT channel, sender, coalesce(CAST(payload AS TEXT) ->> '$.name', '') FROM inbox WHERE kind = ? AND provenance <> ? AND sender <> ''`,
		Message, provenance.Owner)
	if err != nil {
		return nil, fmt.Errorf("bus: read senders: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s watchers.Sender
		if err := rows.Scan(&s.Channel, &s.ID, &s.Name); err != nil {
			return nil, fmt.Errorf("bus: read senders: %w", err)
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// pastMessages is the maximum number of messages to replay.
const pastMessages = 20_000

// Messages calls each for every message received since a time, oldest first. If there are too many,
// it uses only the newest ones.
func (in *Inbox) Messages(ctx context.Context, since time.Time, each func(Event) error) error {
	rows, err := in.db.Read().QueryContext(ctx, `SELECT `+eventColumns+` FROM inbox WHERE kind = ?1 AND received_at >= ?2
		AND seq >= coalesce((SELECT min(seq) FROM (SELECT seq FROM inbox WHERE kind = ?1 AND received_at >= ?2 ORDER BY seq DESC LIMIT ?3)), 0)
		ORDER BY seq`, // not sorted in SQL, because a payload can contain pictures
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
