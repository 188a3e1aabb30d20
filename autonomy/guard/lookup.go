package guard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// EventOf returns the event of an approval request, given the id of the request or of its call. ok
// is false if there is none.
func (g *Guard) EventOf(ctx context.Context, id string) (event string, ok bool, err error) {
	err = g.db.Read().QueryRowContext(ctx, `SELECT event FROM approvals WHERE id = ?1 OR call = ?1`, id).Scan(&event)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("guard: find approval request: %w", err)
	}
	return event, true, nil
}
