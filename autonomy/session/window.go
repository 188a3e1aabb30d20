package session

import (
	"container/list"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"hob/autonomy/llm"
	"hob/platform/store"
)

// cached is the number of conversations with a cached window.
const cached = 16

// window is the part of a conversation that requests contain. It consists of complete turns, which
// may follow a summary of older turns.
type window struct {
	id string
	windowStart
	summary *Summary // nil if there is no summary
	msgs    []llm.Message
	turns   []string // turn of each message; "" for the summary
	ids     []int64  // row of each message; 0 for the summary
	chars   int
	// before is the last turn that started before the window. If the conversation was reset while
	// that turn ran, the remaining messages of the turn are skipped.
	before string
}

// windowStart is the start of a window, as it is stored.
type windowStart struct {
	first   int64 // oldest message in the window
	summary int64 // row of the summary; 0 means none
	stubs   int64 // results in messages older than this message are stubs
}

// addMessage appends a message without changing slices that were returned earlier.
func (w *window) addMessage(id int64, turn string, m llm.Message) {
	if turn == w.before && turn != "" {
		return
	}
	if id < w.stubs {
		m = stubMessage(id, m)
	}
	w.msgs = append(w.msgs, m)
	w.turns = append(w.turns, turn)
	w.ids = append(w.ids, id)
	w.chars += MessageBytes(m)
}

// firstIndex returns the index of the first message after the summary.
func (w *window) firstIndex() int {
	if w.summary != nil {
		return 1
	}
	return 0
}

// History returns the window before the given turn, and all messages that the turn has recorded so
// far, even if the conversation was reset meanwhile. A summary of older messages comes first, as a
// separate message (see MergeSummary).
func (s *Sessions) History(ctx context.Context, session, turn string) (before, recorded []llm.Message, err error) {
	e, err := s.windowOf(ctx, session)
	if err != nil {
		return nil, nil, err
	}
	before, recorded, apart := s.splitAt(e, turn)
	if apart {
		if recorded, err = s.recordedMessages(ctx, session, turn); err != nil {
			return nil, nil, fmt.Errorf("session: history: %w", err)
		}
	}
	return before, recorded, nil
}

// MergeSummary merges a summary at the beginning of a request into the next message, because some
// servers reject two consecutive messages with the same role.
func MergeSummary(msgs []llm.Message) []llm.Message {
	if len(msgs) < 2 || msgs[0].Role != llm.User || msgs[1].Role != llm.User || !onlyContext(msgs[0]) {
		return msgs
	}
	out := make([]llm.Message, len(msgs)-1)
	copy(out, msgs[1:])
	out[0].Parts = append(append(make([]llm.Part, 0, len(msgs[0].Parts)+len(msgs[1].Parts)), msgs[0].Parts...), msgs[1].Parts...)
	return out
}

func onlyContext(m llm.Message) bool {
	for _, p := range m.Parts {
		if !p.Context {
			return false
		}
	}
	return true
}

// splitAt splits the window at a turn. apart reports whether the turn is not in the window.
func (s *Sessions) splitAt(e *list.Element, turn string) (before, recorded []llm.Message, apart bool) {
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

// windowOf returns the window from the cache, or loads it. If a window was moved meanwhile,
// windowOf loads it again.
func (s *Sessions) windowOf(ctx context.Context, session string) (*list.Element, error) {
	for {
		s.mu.Lock()
		e, moved := s.cache[session], s.moved
		s.mu.Unlock()
		if e != nil {
			return e, nil
		}
		w, err := s.loadWindow(ctx, session)
		if err != nil {
			return nil, fmt.Errorf("session: history: %w", err)
		}
		if e = s.cacheWindow(w, moved); e != nil {
			return e, nil
		}
	}
}

func (s *Sessions) loadWindow(ctx context.Context, session string) (*window, error) {
	w := &window{id: session}
	var err error
	if w.windowStart, err = placeOf(s.db.Reader(ctx), session); err != nil {
		return nil, err
	}
	err = s.db.Read().QueryRowContext(ctx, `SELECT turn FROM messages WHERE session = ? AND id < ? ORDER BY id DESC LIMIT 1`, session, w.first).Scan(&w.before)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	if w.windowStart.summary != 0 {
		if w.summary, err = s.readSummary(ctx, session, w.windowStart.summary); err != nil {
			return nil, err
		}
		m := w.summary.Message()
		w.msgs, w.turns, w.ids, w.chars = []llm.Message{m}, []string{""}, []int64{0}, MessageBytes(m)
	}
	return w, s.scanMessages(ctx, w.addMessage, `SELECT id, turn, message FROM messages WHERE session = ? AND id >= ? ORDER BY id`, session, w.first)
}

// placeOf returns the start of a conversation's window.
func placeOf(q store.Querier, session string) (p windowStart, err error) {
	err = q.QueryRow(`SELECT first, summary, stubs FROM windows WHERE session = ?`, session).Scan(&p.first, &p.summary, &p.stubs)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil
	}
	return p, err
}

func (s *Sessions) recordedMessages(ctx context.Context, session, turn string) (out []llm.Message, err error) {
	add := func(_ int64, _ string, m llm.Message) { out = append(out, m) }
	return out, s.scanMessages(ctx, add, `SELECT id, turn, message FROM messages INDEXED BY messages_turn WHERE turn = ? AND session = ? ORDER BY id`, turn, session)
}

func (s *Sessions) scanMessages(ctx context.Context, add func(id int64, turn string, m llm.Message), query string, args ...any) error {
	rows, err := s.db.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var turn string
		var raw []byte
		var m llm.Message
		if err := rows.Scan(&id, &turn, &raw); err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		add(id, turn, m)
	}
	return rows.Err()
}

// cacheWindow caches a window, unless a window was moved meanwhile.
func (s *Sessions) cacheWindow(w *window, moved int) *list.Element {
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

func (s *Sessions) extendWindow(session, turn string, ids []int64, msgs []llm.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.cache[session]
	if e == nil {
		return
	}
	for i, m := range msgs {
		e.Value.(*window).addMessage(ids[i], turn, m)
	}
}

// MessageBytes returns the size of a message in a request, in bytes.
func MessageBytes(m llm.Message) int {
	n := 16
	for _, p := range m.Parts {
		n += len(p.Text)
		if p.Fence != "" {
			n += 120
		}
		if p.Call != nil {
			n += len(p.Call.Args) + len(p.Call.Name) + 32
		}
		if p.Result != nil {
			n += len(p.Result.Text) + 32
		}
		if p.Reasoning != nil {
			n += len(p.Reasoning.Text) + len(p.Reasoning.Signature) + len(p.Reasoning.Redacted) + len(p.Reasoning.Details)
		}
		if p.Image != nil {
			n += 4000 // providers charge about 1,500 tokens for a picture
		}
	}
	return n
}
