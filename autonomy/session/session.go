// Package session stores conversations: their list, the channel and chat of each conversation, and
// every message of every turn as it was sent to a model. Therefore a turn can continue after a
// crash, and each request is a byte prefix of the next one.
//
// A request contains a window, which is the newest turns in full. If the window exceeds its limits,
// a Compactor replaces the older turns with a Summary. The messages themselves stay and can be
// listed, searched (MessageIndex), exported and forked. Only the Compactor calls a model. The loop
// starts a compaction after a turn; package turn starts one if a request is too long.
package session

import (
	"bytes"
	"container/list"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"hob/autonomy/llm"
	"hob/platform/store"
)

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
	Turn      string      `json:"turn"` // event that the message belongs to
	Message   llm.Message `json:"message"`
	CreatedAt time.Time   `json:"created_at"`
}

// Sessions manages conversations. Its methods may be called concurrently for different
// conversations. The loop never runs two turns of one conversation at the same time.
type Sessions struct {
	db     *store.Store
	ending func(ctx context.Context, session string)

	mu     sync.Mutex
	cache  map[string]*list.Element
	order  *list.List // elements are *window, most recently used first
	moved  int        // number of times that a window was moved
	erased int        // number of erasures

	gauges  map[string]tokenRatio // keyed by conversation
	toolset string                // toolset that was stored last
}

// Options holds the options of Open.
type Options struct {
	// Ending, if set, is called before a conversation ends.
	Ending func(ctx context.Context, session string)
}

// New returns Sessions that uses a store opened with Migrations.
func New(db *store.Store) *Sessions { return Open(db, Options{}) }

// Open returns Sessions like New, with options.
func Open(db *store.Store, o Options) *Sessions {
	return &Sessions{db: db, ending: o.Ending, cache: map[string]*list.Element{}, order: list.New(), gauges: map[string]tokenRatio{}}
}

// Migrations returns the migrations of the package's tables.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "session", RowChanges: map[int][]string{4: {"found"}}, Steps: []string{`
CREATE TABLE sessions (
	id TEXT PRIMARY KEY, channel TEXT NOT NULL, chat TEXT NOT NULL DEFAULT '',
	turns INTEGER NOT NULL DEFAULT 0,
	created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX sessions_recent ON sessions(updated_at);
CREATE TABLE messages (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	session TEXT NOT NULL, turn TEXT NOT NULL, message BLOB NOT NULL, created_at INTEGER NOT NULL);
CREATE INDEX messages_session ON messages(session, id);
CREATE INDEX messages_turn ON messages(turn, id);
CREATE TABLE windows (session TEXT PRIMARY KEY, first INTEGER NOT NULL) WITHOUT ROWID;
`, `
ALTER TABLE windows ADD COLUMN summary INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN stubs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN origin INTEGER NOT NULL DEFAULT 0;
CREATE TABLE summaries (
	id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
	content BLOB NOT NULL, model TEXT NOT NULL, before_chars INTEGER NOT NULL, after_chars INTEGER NOT NULL, created_at INTEGER NOT NULL);
CREATE INDEX summaries_session ON summaries(session, id);
CREATE TABLE resets (session TEXT NOT NULL, first INTEGER NOT NULL, PRIMARY KEY (session, first)) WITHOUT ROWID;
CREATE VIRTUAL TABLE found USING fts5(text, who UNINDEXED, tokenize='unicode61 remove_diacritics 2');
INSERT INTO found (found, rank) VALUES ('secure-delete', 1);
CREATE TABLE indexed (last INTEGER NOT NULL);
INSERT INTO indexed (last) VALUES (0);
`, `
CREATE TABLE toolsets (id TEXT PRIMARY KEY, tools TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE stamps (
	turn TEXT NOT NULL, session TEXT NOT NULL, system TEXT NOT NULL, tools TEXT NOT NULL,
	first INTEGER NOT NULL, summary INTEGER NOT NULL, stubs INTEGER NOT NULL, PRIMARY KEY (turn, session)) WITHOUT ROWID;
`, `
DROP TABLE found;
UPDATE indexed SET last = 0; -- messages are rows of the knowledge now, see Library
`}}
}

// TouchTx creates the conversation if it does not exist, and records its channel and chat.
func (s *Sessions) TouchTx(tx *store.Tx, id, channel, chat string, newTurn bool) error {
	now := time.Now().UnixMilli()
	n := 0
	if newTurn {
		n = 1
	}
	_, err := tx.Exec(`INSERT INTO sessions (id, channel, chat, turns, created_at, updated_at) VALUES (?,?,?,?,?,?)
		ON CONFLICT (id) DO UPDATE SET turns = sessions.turns + excluded.turns, updated_at = excluded.updated_at`, id, channel, chat, n, now, now)
	if err != nil {
		return fmt.Errorf("session: store a conversation: %w", err)
	}
	return nil
}

// Get returns one conversation. ok is false if the id is unknown.
func (s *Sessions) Get(ctx context.Context, id string) (info Info, ok bool, err error) {
	info, err = scanInfo(s.db.Read().QueryRowContext(ctx, `SELECT id, channel, chat, turns, created_at, updated_at FROM sessions WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return info, false, nil
	}
	if err != nil {
		return info, false, fmt.Errorf("session: read a conversation: %w", err)
	}
	return info, true, nil
}

// List returns conversations, most recent first.
func (s *Sessions) List(ctx context.Context, limit int) ([]Info, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT id, channel, chat, turns, created_at, updated_at FROM sessions ORDER BY updated_at DESC LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("session: list conversations: %w", err)
	}
	defer rows.Close()
	out := []Info{}
	for rows.Next() {
		i, err := scanInfo(rows)
		if err != nil {
			return nil, fmt.Errorf("session: list conversations: %w", err)
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

// AppendTx stores messages of a turn, in order.
func (s *Sessions) AppendTx(tx *store.Tx, session, turn string, msgs []llm.Message) error {
	stored, ids := make([]llm.Message, len(msgs)), make([]int64, len(msgs))
	now := time.Now().UnixMilli()
	for i, m := range msgs {
		b, err := encodeMessage(m)
		if err != nil {
			return fmt.Errorf("session: encode message: %w", err)
		}
		// The next request must be the same whether it is built from the cache or from the
		// database.
		if err := json.Unmarshal(b, &stored[i]); err != nil {
			return fmt.Errorf("session: encode message: %w", err)
		}
		stored[i].At = store.Time(now)
		if err := tx.QueryRow(`INSERT INTO messages (session, turn, message, created_at) VALUES (?,?,?,?) RETURNING id`, session, turn, b, now).Scan(&ids[i]); err != nil {
			return fmt.Errorf("session: append messages: %w", err)
		}
	}
	tx.AfterCommit(func() { s.extendWindow(session, turn, ids, stored) })
	return nil
}

// encodeMessage encodes a message without HTML escapes, which would change the arguments of calls.
func encodeMessage(m llm.Message) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(m)
	return bytes.TrimSpace(b.Bytes()), err
}

// Messages returns the stored messages of a conversation, newest first.
func (s *Sessions) Messages(ctx context.Context, session string, before int64, limit int) ([]Row, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT id, turn, message, created_at FROM messages
		WHERE session = ? AND (? = 0 OR id < ?) ORDER BY id DESC LIMIT ?`, session, before, before, limit)
	if err != nil {
		return nil, fmt.Errorf("session: read messages: %w", err)
	}
	defer rows.Close()
	out := []Row{}
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return nil, fmt.Errorf("session: read messages: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
