package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"hob/platform/store"
)

// Errors returned by ForkTx.
var (
	ErrNoSession = errors.New("conversation not found")
	ErrExists    = errors.New("a conversation with this name already exists")
	ErrNoTurn    = errors.New("message or turn not found in this conversation")
)

// ForkTx creates a conversation that begins with the messages of another conversation. at is the id
// of the last message or turn to copy; "" means that all are copied. The last turn is copied
// completely. Copies keep their provenance and refer to their originals. Summaries stay summaries.
func (s *Sessions) ForkTx(tx *store.Tx, from, to, at string) (Info, error) {
	var i Info
	if err := checkExists(tx, from); err != nil {
		return i, err
	}
	if err := checkExists(tx, to); !errors.Is(err, ErrNoSession) {
		if err == nil {
			err = fmt.Errorf("%s: %w", to, ErrExists)
		}
		return i, err
	}
	last, err := lastMessageOf(tx, from, at)
	if err != nil {
		return i, err
	}
	old, err := placeOf(tx, from)
	if err != nil {
		return i, fmt.Errorf("session: fork conversation: %w", err)
	}
	if last < old.first { // the fork ends before the summary or before a reset
		old = windowStart{}
		err := tx.QueryRow(`SELECT coalesce(max(first), 0) FROM resets WHERE session = ? AND first <= ?`, from, last).Scan(&old.first)
		if err != nil {
			return i, fmt.Errorf("session: fork conversation: %w", err)
		}
	}
	if err := s.copyTx(tx, from, to, old, last); err != nil {
		return i, fmt.Errorf("session: fork conversation: %w", err)
	}
	now := time.Now().UnixMilli()
	_, err = tx.Exec(`INSERT INTO sessions (id, channel, chat, turns, created_at, updated_at)
		SELECT ?, 'web', '', count(DISTINCT turn), ?, ? FROM messages WHERE session = ? AND id <= ?`, to, now, now, from, last)
	if err != nil {
		return i, fmt.Errorf("session: fork conversation: %w", err)
	}
	return scanInfo(tx.QueryRow(`SELECT id, channel, chat, turns, created_at, updated_at FROM sessions WHERE id = ?`, to))
}

// copyTx copies the rows from the start of the window up to last, and the summary that precedes
// them.
func (s *Sessions) copyTx(tx *store.Tx, from, to string, old windowStart, last int64) error {
	var stubs int64
	if err := tx.QueryRow(`SELECT count(*) FROM messages WHERE session = ? AND id >= ? AND id <= ? AND id < ?`, from, old.first, last, old.stubs).Scan(&stubs); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO messages (session, turn, message, created_at, origin)
		SELECT ?, turn, message, created_at, CASE origin WHEN 0 THEN id ELSE origin END FROM messages
		WHERE session = ? AND id >= ? AND id <= ? ORDER BY id`, to, from, old.first, last)
	if err != nil {
		return err
	}
	var at windowStart
	if err := tx.QueryRow(`SELECT coalesce(min(id), 0) FROM messages WHERE session = ?`, to).Scan(&at.first); err != nil {
		return err
	}
	if stubs > 0 {
		at.stubs = at.first + stubs // ids are consecutive within one statement
	}
	if old.summary != 0 {
		err := tx.QueryRow(`INSERT INTO summaries (session, first, last, content, model, before_chars, after_chars, created_at)
			SELECT ?, first, last, content, model, before_chars, after_chars, created_at FROM summaries WHERE id = ? AND session = ? RETURNING id`, to, old.summary, from).Scan(&at.summary)
		if err != nil {
			return err
		}
	}
	return s.moveTx(tx, to, at)
}

func checkExists(tx *store.Tx, session string) error {
	var n int
	err := tx.QueryRow(`SELECT (SELECT count(*) FROM sessions WHERE id = ?1) + (SELECT count(*) FROM (SELECT 1 FROM messages WHERE session = ?1 LIMIT 1))`, session).Scan(&n)
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: %w", session, ErrNoSession)
	}
	return err
}

// lastMessageOf returns the last message in the turn that at identifies.
func lastMessageOf(tx *store.Tx, session, at string) (last int64, err error) {
	turn := at
	switch id, nerr := strconv.ParseInt(at, 10, 64); {
	case at == "":
		err = tx.QueryRow(`SELECT turn FROM messages WHERE session = ? ORDER BY id DESC LIMIT 1`, session).Scan(&turn)
	case nerr == nil:
		err = tx.QueryRow(`SELECT turn FROM messages WHERE session = ? AND id = ?`, session, id).Scan(&turn)
	}
	if err == nil {
		err = tx.QueryRow(`SELECT id FROM messages WHERE turn = ? AND session = ? ORDER BY id DESC LIMIT 1`, turn, session).Scan(&last)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows) && at == "":
		return 0, nil // there are no messages yet
	case errors.Is(err, sql.ErrNoRows):
		return 0, fmt.Errorf("%s: %w", at, ErrNoTurn)
	case err != nil:
		return 0, fmt.Errorf("session: fork conversation: %w", err)
	}
	return last, nil
}

// FreeTx returns an unused name that is derived from the given name.
func (s *Sessions) FreeTx(tx *store.Tx, name string) (string, error) {
	for n := 1; ; n++ {
		free := name
		if n > 1 {
			free = fmt.Sprintf("%s-%d", name, n)
		}
		switch err := checkExists(tx, free); {
		case errors.Is(err, ErrNoSession):
			return free, nil
		case err != nil:
			return "", err
		}
	}
}

// ForEachCopied calls fn for each message that a fork copied from its original conversation, oldest
// first.
func (s *Sessions) ForEachCopied(ctx context.Context, session string, fn func(Row)) error {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT id, turn, message, created_at FROM messages WHERE session = ? AND origin <> 0 ORDER BY id`, session)
	if err != nil {
		return fmt.Errorf("session: read copied messages: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return fmt.Errorf("session: read copied messages: %w", err)
		}
		fn(r)
	}
	return rows.Err()
}
