package session

import (
	"context"
	"fmt"

	"hob/platform/store"
)

// Limits of the window for models that cannot summarize. If either limit is exceeded, the oldest
// turns leave the window until it is at most half full. Their rows stay.
const (
	MaxChars    = 60_000
	MaxMessages = 200
)

// Trim removes the oldest turns from a window that exceeds its limits, until it is at most half
// full. It never removes the newest turn. The rows can still be read.
func (s *Sessions) Trim(ctx context.Context, session string) error {
	e, err := s.windowOf(ctx, session)
	if err != nil {
		return err
	}
	s.mu.Lock()
	w := e.Value.(*window)
	at, first := w.windowStart, w.trimStart()
	s.mu.Unlock()
	if first == 0 {
		return nil
	}
	at.first = first
	return s.db.Write(ctx, func(tx *store.Tx) error { return s.moveTx(tx, session, at) })
}

// trimStart returns the first message of the smaller window, or 0 if the window does not change.
func (w *window) trimStart() int64 {
	if w.chars <= MaxChars && len(w.msgs) <= MaxMessages {
		return 0
	}
	cut, chars := w.firstIndex(), w.chars
	newest := w.turns[len(w.turns)-1]
	for w.turns[cut] != newest && (chars > MaxChars/2 || len(w.msgs)-cut > MaxMessages/2) {
		for turn := w.turns[cut]; w.turns[cut] == turn; cut++ {
			chars -= MessageBytes(w.msgs[cut])
		}
	}
	if cut = w.blockStart(cut + 1); cut == w.firstIndex() {
		return 0
	}
	return w.ids[cut-1] + 1
}

// Reset ends a conversation: it calls Options.Ending and then starts a new window. After a crash in
// between, Ending runs again when the command is repeated.
func (s *Sessions) Reset(ctx context.Context, session string) error {
	s.End(ctx, session)
	return s.db.Write(ctx, func(tx *store.Tx) error { return s.ResetTx(tx, session) })
}

// End calls Options.Ending. The caller then calls ResetTx in its own transaction.
func (s *Sessions) End(ctx context.Context, session string) {
	if s.ending != nil {
		s.ending(ctx, session)
	}
}

// ResetTx starts a new window. Earlier messages can still be read, but later requests do not
// contain them.
func (s *Sessions) ResetTx(tx *store.Tx, session string) error {
	var at windowStart
	if err := tx.QueryRow(`SELECT coalesce(max(id), 0) + 1 FROM messages WHERE session = ?`, session).Scan(&at.first); err != nil {
		return fmt.Errorf("session: reset context: %w", err)
	}
	if _, err := tx.Exec(`INSERT INTO resets (session, first) VALUES (?, ?) ON CONFLICT DO NOTHING`, session, at.first); err != nil {
		return fmt.Errorf("session: reset context: %w", err)
	}
	return s.moveTx(tx, session, at)
}

// moveTx stores a new start of the window.
func (s *Sessions) moveTx(tx *store.Tx, session string, at windowStart) error {
	_, err := tx.Exec(`INSERT INTO windows (session, first, summary, stubs) VALUES (?,?,?,?)
		ON CONFLICT (session) DO UPDATE SET first = excluded.first, summary = excluded.summary, stubs = excluded.stubs`,
		session, at.first, at.summary, at.stubs)
	if err != nil {
		return fmt.Errorf("session: store the start of the model's window: %w", err)
	}
	tx.AfterCommit(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dropWindow(session)
	})
	return nil
}
