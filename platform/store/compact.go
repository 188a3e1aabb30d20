package store

import (
	"context"
	"errors"
	"fmt"
)

// Compact rewrites the file without traces of deleted rows and empties the write-ahead log. It
// blocks writes but not reads. SQLite always overwrites deleted content (secure_delete), except in
// unused parts of pages that it has rearranged. PostgreSQL overwrites deleted rows later, by itself.
func (s *Store) Compact(ctx context.Context) error {
	if s.shared != nil { // the server reuses the space of deleted rows by itself (autovacuum)
		return nil
	}
	j := &writeJob{ctx: ctx, done: make(chan struct{}), alone: s.compactDatabase}
	return s.awaitJob(ctx, j)
}

func (s *Store) compactDatabase(ctx context.Context) error {
	if _, err := s.conn.ExecContext(ctx, "VACUUM"); err != nil {
		return fmt.Errorf("store: compact database: %w", classifyError(err))
	}
	var busy, log, moved int
	if err := s.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved); err != nil {
		return fmt.Errorf("store: compact database: %w", classifyError(err))
	}
	if busy != 0 {
		return errors.New("store: compact: a long read blocks the database; Hob will retry")
	}
	return nil
}
