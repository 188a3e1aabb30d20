package session

import (
	"container/list"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

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

// window is what of a conversation goes into a request: whole turns.
type window struct {
	id    string
	msgs  []llm.Message
	turns []string // the turn of each message
	chars int
	// before is the last turn that began before the window does. When the
	// conversation was begun afresh while it ran, the rest of it is left out.
	before string
}

// add appends a message without touching those that were handed out.
func (w *window) add(turn string, m llm.Message) {
	if turn == w.before {
		return
	}
	w.msgs = append(w.msgs, m)
	w.turns = append(w.turns, turn)
	w.chars += Chars(m)
}

// History returns the window of the conversation before the given turn, and
// the messages which that turn has already recorded, which are all of them
// also when the conversation was begun afresh meanwhile.
func (s *Sessions) History(ctx context.Context, session, turn string) (before, recorded []llm.Message, err error) {
	e, err := s.window(ctx, session)
	if err != nil {
		return nil, nil, err
	}
	before, recorded, apart := s.split(e, turn)
	if apart {
		if recorded, err = s.recorded(ctx, session, turn); err != nil {
			return nil, nil, fmt.Errorf("session: history: %w", err)
		}
	}
	return before, recorded, nil
}

// split parts the window at a turn; apart says that the turn is not in it.
func (s *Sessions) split(e *list.Element, turn string) (before, recorded []llm.Message, apart bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order.MoveToFront(e)
	w := e.Value.(*window)
	n := len(w.msgs)
	for n > 0 && w.turns[n-1] == turn {
		n--
	}
	return w.msgs[:n:n], w.msgs[n:len(w.msgs):len(w.msgs)], turn == w.before
}

// window finds it in the cache or loads it. When a window was moved on while
// this one was being read, it is read again.
func (s *Sessions) window(ctx context.Context, session string) (*list.Element, error) {
	for {
		s.mu.Lock()
		e, moved := s.cache[session], s.moved
		s.mu.Unlock()
		if e != nil {
			return e, nil
		}
		w, err := s.load(ctx, session)
		if err != nil {
			return nil, fmt.Errorf("session: history: %w", err)
		}
		if e = s.keep(w, moved); e != nil {
			return e, nil
		}
	}
}

func (s *Sessions) load(ctx context.Context, session string) (*window, error) {
	var first int64
	err := s.db.Read().QueryRowContext(ctx, `SELECT first FROM windows WHERE session = ?`, session).Scan(&first)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	w := &window{id: session}
	err = s.db.Read().QueryRowContext(ctx, `SELECT turn FROM messages WHERE session = ? AND id < ? ORDER BY id DESC LIMIT 1`, session, first).Scan(&w.before)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	return w, s.each(ctx, w.add, `SELECT turn, message FROM messages WHERE session = ? AND id >= ? ORDER BY id`, session, first)
}

func (s *Sessions) recorded(ctx context.Context, session, turn string) (out []llm.Message, err error) {
	add := func(_ string, m llm.Message) { out = append(out, m) }
	return out, s.each(ctx, add, `SELECT turn, message FROM messages INDEXED BY messages_turn WHERE turn = ? AND session = ? ORDER BY id`, turn, session)
}

func (s *Sessions) each(ctx context.Context, add func(turn string, m llm.Message), query string, args ...any) error {
	rows, err := s.db.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var turn string
		var raw []byte
		var m llm.Message
		if err := rows.Scan(&turn, &raw); err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		add(turn, m)
	}
	return rows.Err()
}

// keep puts a window into the cache, unless one was moved on since.
func (s *Sessions) keep(w *window, moved int) *list.Element {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.cache[w.id]; e != nil {
		return e
	}
	if s.moved != moved {
		return nil
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
	e, err := s.window(ctx, session)
	if err != nil {
		return err
	}
	s.mu.Lock()
	first := e.Value.(*window).cut(half)
	s.mu.Unlock()
	if first == "" {
		return nil
	}
	return s.db.Write(ctx, func(tx *store.Tx) error {
		return s.moveTx(tx, session, `SELECT ?1, min(id) FROM messages INDEXED BY messages_turn WHERE turn = ?2 AND session = ?1`, session, first)
	})
}

// cut finds the turn with which a smaller window begins, "" when it stays.
func (w *window) cut(half bool) string {
	if len(w.msgs) == 0 || (!half && w.chars <= MaxChars && len(w.msgs) <= MaxMessages) {
		return ""
	}
	limit := MaxChars / 2
	if half {
		limit = min(limit, w.chars/2)
	}
	cut, chars := 0, w.chars
	newest := w.turns[len(w.turns)-1]
	for w.turns[cut] != newest && (chars > limit || len(w.msgs)-cut > MaxMessages/2) {
		turn := w.turns[cut]
		for w.turns[cut] == turn {
			chars -= Chars(w.msgs[cut])
			cut++
		}
	}
	if cut == 0 {
		return ""
	}
	return w.turns[cut]
}

// ResetTx starts the conversation afresh: what was said stays readable but
// enters no further request.
func (s *Sessions) ResetTx(tx *store.Tx, session string) error {
	return s.moveTx(tx, session, `SELECT ?1, coalesce(max(id), 0) + 1 FROM messages WHERE session = ?1`, session)
}

// moveTx sets where the window begins.
func (s *Sessions) moveTx(tx *store.Tx, session, query string, args ...any) error {
	if _, err := tx.Exec(`INSERT INTO windows (session, first) `+query+` ON CONFLICT (session) DO UPDATE SET first = excluded.first`, args...); err != nil {
		return fmt.Errorf("session: move the window: %w", err)
	}
	tx.AfterCommit(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.moved++
		if e := s.cache[session]; e != nil {
			s.order.Remove(e)
			delete(s.cache, session)
		}
	})
	return nil
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
			n += len(p.Reasoning.Text) + len(p.Reasoning.Signature) + len(p.Reasoning.Redacted)
		}
		if p.Image != nil {
			n += 4000 // providers bill a picture like some 1,500 tokens
		}
	}
	return n
}
