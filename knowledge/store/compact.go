package store

import (
	"context"
	"errors"
	"fmt"
)

// Compact rewrites the file without what removed rows left in it and empties the
// log, so that no byte of what was removed is in either. Writes wait meanwhile;
// reading goes on. Removed content is overwritten anyhow (secure_delete), but not
// what lies in the gaps of pages that were put together anew.
func (s *Store) Compact(ctx context.Context) error {
	j := &job{ctx: ctx, done: make(chan struct{}), alone: s.compact}
	return s.wait(ctx, j)
}

func (s *Store) compact(ctx context.Context) error {
	if _, err := s.conn.ExecContext(ctx, "VACUUM"); err != nil {
		return fmt.Errorf("store: compact: %w", classify(err))
	}
	var busy, log, moved int
	if err := s.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved); err != nil {
		return fmt.Errorf("store: compact: %w", classify(err))
	}
	if busy != 0 {
		return errors.New("store: compact: a long read blocks the database; Hob will retry")
	}
	return nil
}
