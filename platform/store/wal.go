package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"hob/platform/retry"
)

// walLarge is the size in bytes of the write-ahead log above which Open merges it in the background.
// Otherwise the first commit would copy the whole log, which takes seconds per GB.
const walLarge = 64 << 20

// walMerge is the background merge of a large write-ahead log.
type walMerge struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// stopMerge interrupts the merge. The next Open continues it.
func (m *walMerge) stopMerge() {
	if m != nil {
		m.cancel()
		<-m.done
	}
}

// mergeWAL copies the log into the database while the store is in use, and then enables automatic
// checkpoints again. A passive checkpoint blocks neither readers nor the writer
// (https://www.sqlite.org/c3ref/wal_checkpoint_v2.html).
func (s *Store) mergeWAL() *walMerge {
	ctx, cancel := context.WithCancel(context.Background())
	m := &walMerge{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(m.done)
		for {
			if done, err := s.checkpointPassive(ctx); done || err != nil {
				break // the automatic checkpoints will report the error
			}
			if retry.Sleep(ctx, time.Second) != nil { // a reader is still using the log
				break
			}
		}
		j := &writeJob{ctx: context.Background(), done: make(chan struct{}), alone: func(context.Context) error {
			return s.resumeCheckpoints(ctx)
		}}
		_ = s.awaitJob(ctx, j) // an error means that the store is being closed, which also closes the connection
	}()
	return m
}

func (s *Store) checkpointPassive(ctx context.Context) (done bool, err error) {
	db, err := sql.Open("sqlite", dataSourceName(s.path, false))
	if err != nil {
		return false, err
	}
	defer db.Close()
	var busy, log, moved int
	err = db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &log, &moved)
	return busy == 0 && moved >= log, err
}

// resumeCheckpoints truncates the merged log, if no reader uses it, and enables automatic checkpoints.
func (s *Store) resumeCheckpoints(ctx context.Context) error {
	if ctx.Err() == nil {
		if _, err := s.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return fmt.Errorf("store: truncate the write-ahead log: %w", classifyError(err))
		}
	}
	_, err := s.conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA wal_autocheckpoint = 1000")
	return err
}
