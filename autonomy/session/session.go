// Package session keeps conversations: which there are, where their owner is
// reached, and every message of every turn as it was sent to a model, so that
// a turn can go on where a crash cut it off and each request is a byte prefix
// of the next one. It never calls a model and holds no policy.
package session

import (
	"container/list"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"hob/autonomy/llm"
	"hob/knowledge/store"
)

// Window of history that goes into a request. When either limit is passed the
// oldest turns leave the window until it is at most half full; the rows stay.
const (
	MaxChars    = 60_000
	MaxMessages = 200
)

// cached is how many conversations keep their window in memory.
const cached = 16

// Info describes a conversation.
type Info struct {
	ID        string    `json:"id"`
	Channel   string    `json:"channel"`
	Chat      string    `json:"chat,omitempty"`
	Turns     int       `json:"turns"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Row is one stored message.
type Row struct {
	ID        int64       `json:"id"`
	Turn      string      `json:"turn"` // the event it answers
	Message   llm.Message `json:"message"`
	CreatedAt time.Time   `json:"created_at"`
}

// Sessions is the set of conversations. Methods may be called concurrently for
// different conversations; the loop never runs two turns of one.
type Sessions struct {
	db *store.Store

	mu    sync.Mutex
	cache map[string]*list.Element
	order *list.List // of *window, most recent first
}

type window struct {
	id    string
	msgs  []llm.Message
	turns []string // the turn of each message
	chars int
}

// New makes the set over a store opened with Migrations.
func New(db *store.Store) *Sessions {
	return &Sessions{db: db, cache: map[string]*list.Element{}, order: list.New()}
}

// Migrations of the package's tables.
func Migrations() store.Set {
	return store.Set{Owner: "session", Steps: []string{`
CREATE TABLE sessions (
	id TEXT PRIMARY KEY, channel TEXT NOT NULL, chat TEXT NOT NULL DEFAULT '',
	turns INTEGER NOT NULL DEFAULT 0, first INTEGER NOT NULL DEFAULT 0,
	created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX sessions_recent ON sessions(updated_at);
CREATE TABLE messages (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	session TEXT NOT NULL, turn TEXT NOT NULL, message BLOB NOT NULL, created_at INTEGER NOT NULL);
CREATE INDEX messages_session ON messages(session, id);
CREATE INDEX messages_turn ON messages(turn, id);
`}}
}

// TouchTx makes sure the conversation exists and notes where its owner is.
func (s *Sessions) TouchTx(tx *store.Tx, id, channel, chat string, newTurn bool) error {
	now := time.Now().UnixMilli()
	n := 0
	if newTurn {
		n = 1
	}
	_, err := tx.Exec(`INSERT INTO sessions (id, channel, chat, turns, created_at, updated_at) VALUES (?,?,?,?,?,?)
		ON CONFLICT (id) DO UPDATE SET turns = turns + excluded.turns, updated_at = excluded.updated_at`, id, channel, chat, n, now, now)
	if err != nil {
		return fmt.Errorf("session: %w", err)
	}
	return nil
}

// Get returns one conversation; ok is false when there is none of that id.
func (s *Sessions) Get(ctx context.Context, id string) (info Info, ok bool, err error) {
	info, err = scanInfo(s.db.Read().QueryRowContext(ctx, `SELECT id, channel, chat, turns, created_at, updated_at FROM sessions WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return info, false, nil
	}
	if err != nil {
		return info, false, fmt.Errorf("session: %w", err)
	}
	return info, true, nil
}

// List returns conversations, the most recent first.
func (s *Sessions) List(ctx context.Context, limit int) ([]Info, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT id, channel, chat, turns, created_at, updated_at FROM sessions ORDER BY updated_at DESC LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	defer rows.Close()
	out := []Info{}
	for rows.Next() {
		i, err := scanInfo(rows)
		if err != nil {
			return nil, fmt.Errorf("session: %w", err)
		}
		out = append(out, i)
	}
	return out, rows.Err()
}

func scanInfo(r interface{ Scan(...any) error }) (i Info, err error) {
	var created, updated int64
	err = r.Scan(&i.ID, &i.Channel, &i.Chat, &i.Turns, &created, &updated)
	i.CreatedAt, i.UpdatedAt = store.Time(created), store.Time(updated)
	return i, err
}

// AppendTx stores messages of a turn in order.
func (s *Sessions) AppendTx(tx *store.Tx, session, turn string, msgs []llm.Message) error {
	for _, m := range msgs {
		b, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("session: encode: %w", err)
		}
		if _, err := tx.Exec(`INSERT INTO messages (session, turn, message, created_at) VALUES (?,?,?,?)`, session, turn, b, time.Now().UnixMilli()); err != nil {
			return fmt.Errorf("session: append: %w", err)
		}
	}
	tx.AfterCommit(func() { s.extend(session, turn, msgs) })
	return nil
}

// History returns the window of the conversation before the given turn, and
// the messages which that turn has already recorded.
func (s *Sessions) History(ctx context.Context, session, turn string) (before, recorded []llm.Message, err error) {
	s.mu.Lock()
	e := s.cache[session]
	s.mu.Unlock()
	if e == nil {
		w, err := s.load(ctx, session)
		if err != nil {
			return nil, nil, err
		}
		e = s.keep(w)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order.MoveToFront(e)
	w := e.Value.(*window)
	n := len(w.msgs)
	for n > 0 && w.turns[n-1] == turn {
		n--
	}
	return w.msgs[:n:n], w.msgs[n:len(w.msgs):len(w.msgs)], nil
}

func (s *Sessions) load(ctx context.Context, session string) (*window, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT turn, message FROM messages
		WHERE session = ?1 AND id >= coalesce((SELECT first FROM sessions WHERE id = ?1), 0) ORDER BY id`, session)
	if err != nil {
		return nil, fmt.Errorf("session: history: %w", err)
	}
	defer rows.Close()
	w := &window{id: session}
	for rows.Next() {
		var turn string
		var raw []byte
		var m llm.Message
		if err := rows.Scan(&turn, &raw); err != nil {
			return nil, fmt.Errorf("session: history: %w", err)
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, fmt.Errorf("session: history: %w", err)
		}
		w.add(turn, m)
	}
	return w, rows.Err()
}

func (w *window) add(turn string, m llm.Message) {
	w.msgs = append(w.msgs, m)
	w.turns = append(w.turns, turn)
	w.chars += Chars(m)
}

func (s *Sessions) keep(w *window) *list.Element {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.cache[w.id]; e != nil {
		return e
	}
	e := s.order.PushFront(w)
	s.cache[w.id] = e
	for s.order.Len() > cached {
		last := s.order.Back()
		delete(s.cache, last.Value.(*window).id)
		s.order.Remove(last)
	}
	return e
}

func (s *Sessions) extend(session, turn string, msgs []llm.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.cache[session]
	if e == nil {
		return
	}
	for _, m := range msgs {
		e.Value.(*window).add(turn, m)
	}
}

// Trim drops the oldest turns from the window when it has outgrown its limits
// (or, with half, always), down to half of them, never cutting the newest
// turn. The rows stay readable.
func (s *Sessions) Trim(ctx context.Context, session string, half bool) error {
	s.mu.Lock()
	e := s.cache[session]
	if e == nil || (!half && e.Value.(*window).chars <= MaxChars && len(e.Value.(*window).msgs) <= MaxMessages) {
		s.mu.Unlock()
		return nil
	}
	w := e.Value.(*window)
	cut, chars := 0, w.chars
	limit := MaxChars / 2
	if half {
		limit = min(limit, w.chars/2)
	}
	newest := w.turns[len(w.turns)-1]
	for cut < len(w.msgs) && w.turns[cut] != newest && (chars > limit || len(w.msgs)-cut > MaxMessages/2) {
		turn := w.turns[cut]
		for cut < len(w.msgs) && w.turns[cut] == turn {
			chars -= Chars(w.msgs[cut])
			cut++
		}
	}
	if cut == 0 {
		s.mu.Unlock()
		return nil
	}
	first := w.turns[cut]
	s.mu.Unlock()
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`UPDATE sessions SET first = (SELECT min(id) FROM messages WHERE session = ?1 AND turn = ?2) WHERE id = ?1`, session, first); err != nil {
			return fmt.Errorf("session: trim: %w", err)
		}
		tx.AfterCommit(func() { s.forget(session) })
		return nil
	})
}

// ResetTx starts the conversation afresh: what was said stays readable but
// enters no further request.
func (s *Sessions) ResetTx(tx *store.Tx, session string) error {
	if _, err := tx.Exec(`UPDATE sessions SET first = (SELECT coalesce(max(id), 0) + 1 FROM messages WHERE session = ?1) WHERE id = ?1`, session); err != nil {
		return fmt.Errorf("session: reset: %w", err)
	}
	tx.AfterCommit(func() { s.forget(session) })
	return nil
}

func (s *Sessions) forget(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.cache[session]; e != nil {
		s.order.Remove(e)
		delete(s.cache, session)
	}
}

// Messages returns the stored messages of a conversation, newest first.
func (s *Sessions) Messages(ctx context.Context, session string, before int64, limit int) ([]Row, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT id, turn, message, created_at FROM messages
		WHERE session = ? AND (? = 0 OR id < ?) ORDER BY id DESC LIMIT ?`, session, before, before, limit)
	if err != nil {
		return nil, fmt.Errorf("session: messages: %w", err)
	}
	defer rows.Close()
	out := []Row{}
	for rows.Next() {
		var r Row
		var raw []byte
		var at int64
		if err := rows.Scan(&r.ID, &r.Turn, &raw, &at); err != nil {
			return nil, fmt.Errorf("session: messages: %w", err)
		}
		if err := json.Unmarshal(raw, &r.Message); err != nil {
			return nil, fmt.Errorf("session: messages: %w", err)
		}
		r.CreatedAt = store.Time(at)
		out = append(out, r)
	}
	return out, rows.Err()
}

// Chars counts what a message weighs in a request, in bytes.
func Chars(m llm.Message) int {
	n := 16
	for _, p := range m.Parts {
		n += len(p.Text)
		if p.Call != nil {
			n += len(p.Call.Args) + len(p.Call.Name) + 32
		}
		if p.Result != nil {
			n += len(p.Result.Text) + 32
		}
		if p.Reasoning != nil {
			n += len(p.Reasoning.Text)
		}
		if p.Image != nil {
			n += 4000 // providers bill a picture like some 1,500 tokens
		}
	}
	return n
}
