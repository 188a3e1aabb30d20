package clients

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/platform/store"
)

// Limits for the calls of one client whose outcome it has not received.
const (
	maxCalls  = 50
	keepCalls = 7 * 24 * time.Hour
)

// ErrTooManyCalls means that too many of a client's calls are waiting for the user's answer.
var ErrTooManyCalls = errors.New("too many calls are waiting for the user's answer")

// JoinCallTx returns the event of a client's call. If the client has not yet received the outcome
// of an earlier call with the same hash, and isOpen accepts that call's event, JoinCallTx returns
// that event. Otherwise it returns the event that start creates. So a call that the client repeats,
// for example after an approval or a broken connection, does not run twice.
func (s *Store) JoinCallTx(tx *store.Tx, c Client, hash string, isOpen func(event string) (bool, error), start func() (string, error)) (event string, err error) {
	now := time.Now()
	if _, err := tx.Exec(`DELETE FROM client_calls WHERE at <= ?`, now.Add(-keepCalls).UnixMilli()); err != nil {
		return "", fmt.Errorf("clients: remove old calls: %w", err)
	}
	err = tx.QueryRow(`SELECT event FROM client_calls WHERE client = ? AND hash = ?`, c.ID, hash).Scan(&event)
	if err == nil {
		open, err := isOpen(event)
		if open || err != nil {
			return event, err
		}
	} else if !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("clients: find call: %w", err)
	}
	var n int
	if err := tx.QueryRow(`SELECT count(*) FROM client_calls WHERE client = ?`, c.ID).Scan(&n); err != nil {
		return "", fmt.Errorf("clients: count open calls: %w", err)
	}
	if n >= maxCalls {
		return "", fmt.Errorf("%w: %d of %s; answer or deny them, or revoke the client", ErrTooManyCalls, n, c.Person())
	}
	if event, err = start(); err != nil {
		return "", err
	}
	if _, err := tx.Exec(`INSERT OR REPLACE INTO client_calls (client, hash, event, at) VALUES (?,?,?,?)`, c.ID, hash, event, store.Millis(now)); err != nil {
		return "", fmt.Errorf("clients: store call: %w", err)
	}
	return event, nil
}

// OwnsCall reports whether an event is an open call of the client.
func (s *Store) OwnsCall(ctx context.Context, c Client, event string) (owns bool, err error) {
	err = s.db.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM client_calls WHERE client = ? AND event = ?)`, c.ID, event).Scan(&owns)
	return owns, err
}

// EndCall records that the client received the outcome of a call.
func (s *Store) EndCall(ctx context.Context, c Client, event string) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM client_calls WHERE client = ? AND event = ?`, c.ID, event)
		return err
	})
}

// OpenCalls returns the events of the calls whose outcome the client has not received.
func (s *Store) OpenCalls(ctx context.Context, c Client) (events []string, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT event FROM client_calls WHERE client = ? ORDER BY at`, c.ID)
	if err != nil {
		return nil, fmt.Errorf("clients: read open calls: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var event string
		if err := rows.Scan(&event); err != nil {
			return nil, fmt.Errorf("clients: read open calls: %w", err)
		}
		events = append(events, event)
	}
	return events, rows.Err()
}
