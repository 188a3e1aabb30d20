package knowledge

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"hob/knowledge/store"
)

// longest is how long at most RunExpiry sleeps: the machine may have slept too.
const longest = time.Hour

// RunExpiry retires facts when they no longer hold, until ctx ends. It writes
// only when there is one.
func (b *Base) RunExpiry(ctx context.Context, log *slog.Logger) error {
	for {
		wait := longest
		due, err := nextExpiry(b.st.Reader(ctx))
		if err == nil && !due.IsZero() {
			if wait = min(wait, time.Until(due)); wait <= 0 {
				err = b.st.Write(ctx, func(tx *store.Tx) error {
					_, _, err := b.ExpireTx(tx, time.Now())
					return err
				})
			}
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("facts that are over cannot be retired; tried again later", "err", err)
			wait = time.Minute
		}
		t := time.NewTimer(max(wait, 0))
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-b.timed:
			t.Stop()
		case <-t.C:
		}
	}
}

// bounded wakes RunExpiry: a fact holds for a time.
func (b *Base) bounded() {
	select {
	case b.timed <- struct{}{}:
	default:
	}
}

// nextExpiry is when the next fact no longer holds, zero when none ever does.
func nextExpiry(q store.Querier) (time.Time, error) {
	var due int64
	err := q.QueryRow(`SELECT coalesce(min(at), 0) FROM (SELECT min(valid_until) AS at FROM facts WHERE retired_at = 0 AND valid_until > 0
		UNION ALL SELECT min(f.valid_from) FROM claimed c JOIN facts o ON o.id = c.fact JOIN facts f ON f.id = c.next WHERE c.next <> '' AND o.retired_at = 0 AND f.retired_at = 0)`).Scan(&due)
	if err != nil {
		return time.Time{}, fmt.Errorf("knowledge: expire: %w", err)
	}
	return store.Time(due), nil
}
