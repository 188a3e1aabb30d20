package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/llm"
	"hob/platform/store"
)

// ForEach calls session for every conversation, and then message for each of its messages, oldest
// first, for export. It skips copies in forks.
func (s *Sessions) ForEach(ctx context.Context, session func(Info) error, message func(session string, r Row, raw []byte) error) error {
	list, err := s.List(ctx, 1<<30)
	if err != nil {
		return err
	}
	for _, i := range list {
		if err := session(i); err != nil {
			return err
		}
		if err := s.eachMessage(ctx, i.ID, message); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sessions) eachMessage(ctx context.Context, id string, fn func(string, Row, []byte) error) (err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT id, turn, message, created_at FROM messages WHERE session = ? AND origin = 0 ORDER BY id`, id)
	if err != nil {
		return fmt.Errorf("session: export: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r Row
		var raw []byte
		var at int64
		if err := rows.Scan(&r.ID, &r.Turn, &raw, &at); err != nil {
			return fmt.Errorf("session: export: %w", err)
		}
		r.CreatedAt = store.Time(at)
		if err := fn(id, r, raw); err != nil {
			return err
		}
	}
	return rows.Err()
}

// RestoreTx creates an exported conversation, unless it exists.
func (s *Sessions) RestoreTx(tx *store.Tx, i Info) (bool, error) {
	r, err := tx.Exec(`INSERT INTO sessions (id, channel, chat, turns, created_at, updated_at) VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING`,
		i.ID, i.Channel, i.Chat, i.Turns, store.Millis(i.CreatedAt), store.Millis(i.UpdatedAt))
	if err != nil {
		return false, fmt.Errorf("session: restore: %w", err)
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// RestoreMessageTx adds an exported message to a conversation, unless it exists. The message
// stays outside the window, so requests to models do not change.
func (s *Sessions) RestoreMessageTx(tx *store.Tx, session, turn string, at time.Time, m llm.Message) (bool, error) {
	raw, err := encodeMessage(m)
	if err != nil {
		return false, fmt.Errorf("session: restore: %w", err)
	}
	var n int
	err = tx.QueryRow(`SELECT count(*) FROM messages WHERE turn = ? AND session = ? AND created_at = ? AND message = ?`, turn, session, store.Millis(at), raw).Scan(&n)
	if err != nil || n > 0 {
		return false, err
	}
	_, err = tx.Exec(`INSERT INTO messages (session, turn, message, created_at) VALUES (?,?,?,?)`, session, turn, raw, store.Millis(at))
	if err != nil {
		return false, fmt.Errorf("session: restore: %w", err)
	}
	return true, nil
}

// DecodeMessage decodes a stored message.
func DecodeMessage(raw []byte) (m llm.Message, err error) {
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("session: message: %w", err)
	}
	return m, nil
}
