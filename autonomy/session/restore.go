package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/llm"
	"hob/platform/store"
)

// ForEach calls session for every conversation, and then message for each of its messages, oldest
// first. It is meant for exports. It skips messages copied by forks.
func (s *Sessions) ForEach(ctx context.Context, session func(api.Session) error, message func(session, turn string, at time.Time, raw []byte) error) error {
	list, err := s.List(ctx, 1<<30)
	if err != nil {
		return err
	}
	for _, i := range list {
		if err := session(api.Session(i)); err != nil {
			return err
		}
		if err := s.eachMessage(ctx, i.ID, message); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sessions) eachMessage(ctx context.Context, id string, fn func(session, turn string, at time.Time, raw []byte) error) (err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT turn, message, created_at FROM messages WHERE session = ? AND origin = 0 ORDER BY id`, id)
	if err != nil {
		return fmt.Errorf("session: export conversation: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var turn string
		var raw []byte
		var at int64
		if err := rows.Scan(&turn, &raw, &at); err != nil {
			return fmt.Errorf("session: export conversation: %w", err)
		}
		if err := fn(id, turn, store.Time(at), raw); err != nil {
			return err
		}
	}
	return rows.Err()
}

// RestoreTx creates an exported conversation, unless it exists, and returns its name. If a
// different conversation has that name, RestoreTx chooses a new name.
func (s *Sessions) RestoreTx(tx *store.Tx, x api.Session) (id string, added bool, err error) {
	var there int64
	if err := tx.QueryRow(`SELECT coalesce(max(created_at), 0) FROM sessions WHERE id = ?`, x.ID).Scan(&there); err != nil {
		return "", false, fmt.Errorf("session: import conversation: %w", err)
	}
	if there != 0 && there != store.Millis(x.CreatedAt) {
		x.ID, x.Channel, x.Chat = x.ID+"-imported", "web", ""
	}
	r, err := tx.Exec(`INSERT INTO sessions (id, channel, chat, turns, created_at, updated_at) VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING`,
		x.ID, x.Channel, x.Chat, x.Turns, store.Millis(x.CreatedAt), store.Millis(x.UpdatedAt))
	if err != nil {
		return "", false, fmt.Errorf("session: import conversation: %w", err)
	}
	n, err := r.RowsAffected()
	return x.ID, n > 0, err
}

// RestoreMessageTx adds an exported message to a conversation, unless the message exists. The
// message is not added to the window, so requests to models do not change.
func (s *Sessions) RestoreMessageTx(tx *store.Tx, session, turn string, at time.Time, raw []byte) (bool, error) {
	m, err := decodeStored(raw)
	if err != nil {
		return false, err
	}
	if raw, err = encodeMessage(m); err != nil {
		return false, fmt.Errorf("session: import conversation: %w", err)
	}
	var n int
	err = tx.QueryRow(`SELECT count(*) FROM messages WHERE turn = ? AND session = ? AND created_at = ? AND message = ?`, turn, session, store.Millis(at), raw).Scan(&n)
	if err != nil || n > 0 {
		return false, err
	}
	_, err = tx.Exec(`INSERT INTO messages (session, turn, message, created_at) VALUES (?,?,?,?)`, session, turn, raw, store.Millis(at))
	if err != nil {
		return false, fmt.Errorf("session: import conversation: %w", err)
	}
	return true, nil
}

// MessageText returns the text of a stored message.
func (s *Sessions) MessageText(raw []byte) (string, error) {
	m, err := decodeStored(raw)
	if err != nil {
		return "", err
	}
	text, _ := Text(m)
	return text, nil
}

// OwnsRow reports whether a row in the memory has the reference of a stored message.
func (s *Sessions) OwnsRow(ref string) bool {
	_, ours := MessageOf(ref)
	return ours
}

// decodeStored decodes a stored message.
func decodeStored(raw []byte) (m llm.Message, err error) {
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("session: read message: %w", err)
	}
	return m, nil
}
