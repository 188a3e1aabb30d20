package session

import (
	"container/list"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"hob/autonomy/llm"
	"hob/platform/provenance"
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
	// outside holds turns that started before the window: the last one, and turns that continued in
	// the window after the owner's answer. Their remaining messages are skipped.
	outside map[string]bool
}

// windowStart is the start of a window, as it is stored.
type windowStart struct {
	first   int64 // oldest message in the window
	summary int64 // row of the summary; 0 means none
	stubs   int64 // results in messages older than this message are stubs
}

// addMessage appends a message without changing slices that were returned earlier. If other turns
// ran while the message's turn waited for the owner, the earlier messages of that turn move behind
// the messages of the other turns. A turn therefore stays contiguous, and each call is followed by
// its result.
func (w *window) addMessage(id int64, turn string, m llm.Message) {
	if n := len(w.turns); turn != "" && (n == 0 || w.turns[n-1] != turn) {
		if at := slices.Index(w.turns, turn); at >= 0 {
			w.moveToEnd(turn)
		} else if m.Role != llm.User { // a turn begins with a message from the user
			w.outside[turn] = true
		}
	}
	if turn != "" && w.outside[turn] {
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

// moveToEnd moves the messages of a turn to the end of the window, in new slices.
func (w *window) moveToEnd(turn string) {
	order := make([]int, 0, len(w.turns))
	for i, t := range w.turns {
		if t != turn {
			order = append(order, i)
		}
	}
	for i, t := range w.turns {
		if t == turn {
			order = append(order, i)
		}
	}
	msgs, turns, ids := make([]llm.Message, len(order)), make([]string, len(order)), make([]int64, len(order))
	for to, from := range order {
		msgs[to], turns[to], ids[to] = w.msgs[from], w.turns[from], w.ids[from]
	}
	w.msgs, w.turns, w.ids = msgs, turns, ids
}

// blockStart returns the start of the last turn before index end, together with the turns that ran
// while it waited: a window can only begin where no later message has a smaller id.
func (w *window) blockStart(end int) int {
	start, least := end, int64(math.MaxInt64)
	for _, id := range w.ids[end:] {
		least = min(least, id)
	}
	for start > w.firstIndex() && (start == end || w.turns[start-1] == w.turns[start] || w.ids[start-1] > least) {
		start--
		least = min(least, w.ids[start])
	}
	return start
}

// firstIndex returns the index of the first message after the summary.
func (w *window) firstIndex() int {
	if w.summary != nil {
		return 1
	}
	return 0
}

// History returns the window before the given turn, and all messages that the turn has recorded so
// far, even if the conversation was reset in the meantime. Other turns without an answer get
// noAnswer in its place. A summary of older messages comes first,
// as a separate message (see MergeSummary).
func (s *Sessions) History(ctx context.Context, session, turn string) (before, recorded []llm.Message, err error) {
	s.dropForeignWindow(session)
	e, err := s.windowOf(ctx, session)
	if err != nil {
		return nil, nil, err
	}
	before, recorded, whole := s.splitAt(e, turn)
	if len(recorded) > 0 || whole {
		return before, recorded, nil
	}
	if recorded, err = s.recordedMessages(ctx, session, turn); err != nil {
		return nil, nil, fmt.Errorf("session: read history: %w", err)
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

// splitAt splits the window at a turn. whole is true if no message of the conversation is outside
// the window.
func (s *Sessions) splitAt(e *list.Element, turn string) (before, recorded []llm.Message, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order.MoveToFront(e)
	w := e.Value.(*window)
	n := len(w.msgs)
	for n > 0 && w.turns[n-1] == turn {
		n--
	}
	before, recorded, whole = w.msgs[:n:n], w.msgs[n:len(w.msgs):len(w.msgs)], w.first == 0
	turns := w.turns[:n]
	if n == len(w.msgs) && slices.Contains(w.turns, turn) {
		before, recorded, turns = nil, nil, nil
		for i, m := range w.msgs {
			if w.turns[i] == turn {
				recorded = append(recorded, m)
			} else {
				before, turns = append(before, m), append(turns, w.turns[i])
			}
		}
	}
	return answerOpenTurns(before, turns), recorded, whole
}

// noAnswer replaces the missing answer of a turn. A turn of an external agent that waits for the
// owner has recorded only the message. If no answer followed that message, the model would answer
// both messages in the next turn.
const noAnswer = "[hob] No answer yet: this message is handled separately, or was given up. Do not act on it."

// answerOpenTurns adds noAnswer after each turn that consists only of messages from the user. It
// does not change msgs.
func answerOpenTurns(msgs []llm.Message, turns []string) []llm.Message {
	var out []llm.Message
	for i, m := range msgs {
		if out != nil {
			out = append(out, m)
		}
		if m.Role != llm.User || turns[i] == "" || i+1 < len(msgs) && turns[i+1] == turns[i] {
			continue
		}
		if out == nil {
			out = append(out, msgs[:i+1]...)
		}
		out = append(out, llm.Message{Role: llm.Assistant, At: m.At, Parts: []llm.Part{{Text: noAnswer, Source: provenance.Hob, Context: true}}})
	}
	if out == nil {
		return msgs
	}
	return out
}

// HasContinued reports whether other turns of the conversation ran since a turn recorded its last
// message.
func (s *Sessions) HasContinued(ctx context.Context, session, turn string) (bool, error) {
	e, err := s.windowOf(ctx, session)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := e.Value.(*window)
	return slices.Contains(w.turns, turn) && w.turns[len(w.turns)-1] != turn, nil
}

// dropForeignWindow makes the next read load the window from the database, if another process may
// have extended it.
func (s *Sessions) dropForeignWindow(session string) {
	if !s.db.IsShared() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropWindow(session)
}

// dropWindow removes a window from the cache. The caller holds s.mu.
func (s *Sessions) dropWindow(session string) {
	s.moved++
	if e := s.cache[session]; e != nil {
		s.order.Remove(e)
		delete(s.cache, session)
	}
}

// windowOf returns the window from the cache, or loads it. If a window was moved in the meantime,
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
			return nil, fmt.Errorf("session: read history: %w", err)
		}
		if e = s.cacheWindow(w, moved); e != nil {
			return e, nil
		}
	}
}

func (s *Sessions) loadWindow(ctx context.Context, session string) (*window, error) {
	w := &window{id: session, outside: map[string]bool{}}
	var err error
	if w.windowStart, err = placeOf(s.db.Reader(ctx), session); err != nil {
		return nil, err
	}
	var last string
	err = s.db.Read().QueryRowContext(ctx, `SELECT turn FROM messages WHERE session = ? AND id < ? ORDER BY id DESC LIMIT 1`, session, w.first).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	w.outside[last] = last != ""
	if w.windowStart.summary != 0 {
		if w.summary, err = s.readSummary(ctx, session, w.windowStart.summary); err != nil {
			return nil, err
		}
		m := w.summary.Message()
		w.msgs, w.turns, w.ids, w.chars = []llm.Message{m}, []string{""}, []int64{0}, MessageBytes(m)
	}
	return w, s.scanMessages(ctx, w.addMessage, `SELECT id, turn, message, created_at FROM messages WHERE session = ? AND id >= ? ORDER BY id`, session, w.first)
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
	return out, s.scanMessages(ctx, add, `SELECT id, turn, message, created_at FROM messages INDEXED BY messages_turn WHERE turn = ? AND session = ? ORDER BY id`, turn, session)
}

func (s *Sessions) scanMessages(ctx context.Context, add func(id int64, turn string, m llm.Message), query string, args ...any) error {
	rows, err := s.db.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, at int64
		var turn string
		var raw []byte
		var m llm.Message
		if err := rows.Scan(&id, &turn, &raw, &at); err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		m.At = store.Time(at)
		add(id, turn, m)
	}
	return rows.Err()
}

// cacheWindow caches a window, unless a window was moved in the meantime.
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
