package session

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/store"
)

// RequestFingerprint identifies the system prompt and the tools in the requests of a turn. It
// contains only digests, so that it does not preserve text that the owner removed from a file.
type RequestFingerprint struct {
	System string `json:"system"` // digest of the system block
	Tools  string `json:"tools"`  // one line "name digest" for each offered tool
}

// StampOf returns the fingerprint of requests with the given system prompt and tools.
func StampOf(system string, tools []llm.Tool) RequestFingerprint {
	var b strings.Builder
	for _, t := range tools {
		fmt.Fprintf(&b, "%s %s\n", t.Name, digestOf(t.Description+"\x00"+string(t.Schema)))
	}
	return RequestFingerprint{System: digestOf(system), Tools: b.String()}
}

func digestOf(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:8])
}

// StampTx stores the fingerprint of a turn and the start of its window.
func (s *Sessions) StampTx(tx *store.Tx, session, turn string, st RequestFingerprint) error {
	s.mu.Lock()
	known := s.toolset == st.Tools
	s.mu.Unlock()
	id := digestOf(st.Tools)
	var err error
	if !known {
		_, err = tx.Exec(`INSERT INTO toolsets (id, tools) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`, id, st.Tools)
		tx.AfterCommit(func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.toolset = st.Tools
		})
	}
	if err == nil {
		_, err = tx.Exec(`INSERT INTO stamps (turn, session, system, tools, first, summary, stubs)
			SELECT ?1, ?2, ?3, ?4, coalesce(w.first, 0), coalesce(w.summary, 0), coalesce(w.stubs, 0) FROM (SELECT 1) LEFT JOIN windows w ON w.session = ?2
			WHERE true ON CONFLICT (turn, session) DO NOTHING`, turn, session, st.System, id)
	}
	if err != nil {
		return fmt.Errorf("session: record prompt: %w", err)
	}
	return nil
}

// Recording is a turn as it was stored.
type Recording struct {
	Session, Turn string
	// Before is the window at the start of the turn. Own is the messages that the turn stored.
	Before []Row
	Own    []Row
	// Stamp is empty for a turn that failed or was copied.
	Stamp RequestFingerprint
}

// Recorded returns a turn with the fingerprint of its requests. If turn is "", it returns the last
// turn.
func (s *Sessions) Recorded(ctx context.Context, session, turn string) (Recording, error) {
	r := Recording{Session: session, Turn: turn}
	if turn == "" {
		err := s.db.Read().QueryRowContext(ctx, `SELECT turn FROM messages WHERE session = ? ORDER BY id DESC LIMIT 1`, session).Scan(&r.Turn)
		if errors.Is(err, sql.ErrNoRows) {
			return r, fmt.Errorf("%s: %w", session, ErrNoSession)
		}
		if err != nil {
			return r, fmt.Errorf("session: read recorded prompt: %w", err)
		}
	}
	var at windowStart
	err := s.db.Read().QueryRowContext(ctx, `SELECT s.system, t.tools, s.first, s.summary, s.stubs FROM stamps s JOIN toolsets t ON t.id = s.tools
		WHERE s.turn = ? AND s.session = ?`, r.Turn, session).Scan(&r.Stamp.System, &r.Stamp.Tools, &at.first, &at.summary, &at.stubs)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("session: read recorded prompt: %w", err)
	}
	if r.Own, err = s.queryRows(ctx, `SELECT id, turn, message, created_at FROM messages INDEXED BY messages_turn WHERE turn = ? AND session = ? ORDER BY id`, r.Turn, session); err != nil {
		return r, err
	}
	if len(r.Own) == 0 {
		return r, fmt.Errorf("%s: %w", r.Turn, ErrNoTurn)
	}
	if at.summary != 0 {
		sum, err := s.readSummary(ctx, session, at.summary)
		if err != nil {
			return r, fmt.Errorf("session: read recorded prompt: %w", err)
		}
		r.Before = append(r.Before, Row{Turn: "summary", Message: sum.Message()})
	}
	older, err := s.queryRows(ctx, `SELECT id, turn, message, created_at FROM messages WHERE session = ? AND id >= ? AND id < ? ORDER BY id`, session, at.first, r.Own[0].ID)
	for _, m := range older {
		if m.ID < at.stubs {
			m.Message = stubMessage(m.ID, m.Message)
		}
		r.Before = append(r.Before, m)
	}
	return r, err
}

func (s *Sessions) queryRows(ctx context.Context, query string, args ...any) (out []Row, err error) {
	rows, err := s.db.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("session: read recorded prompt: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return nil, fmt.Errorf("session: read recorded prompt: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
