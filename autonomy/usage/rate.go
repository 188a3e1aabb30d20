package usage

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hob/platform/retry"
	"hob/platform/store"
)

// limiter is a rate limiter with a sliding window of one minute. A negative max allows no call.
type limiter struct {
	max  int
	db   *store.Store // the calls of all instances count, if it is shared
	mu   sync.Mutex
	used []time.Time
}

// hasRoom reports whether a call is allowed. If not, at is the time to retry.
func (r *limiter) hasRoom(now time.Time) (ok bool, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.checkWindow(now)
}

func (r *limiter) checkWindow(now time.Time) (ok bool, at time.Time) {
	if r.max < 0 {
		return false, now.Add(time.Hour)
	}
	for len(r.used) > 0 && now.Sub(r.used[0]) >= time.Minute {
		r.used = r.used[1:]
	}
	if len(r.used) >= r.max {
		return false, r.used[0].Add(time.Minute)
	}
	return true, now
}

// takeSlot is like hasRoom and also counts the call.
func (r *limiter) takeSlot(now time.Time) (ok bool, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ok, at = r.checkWindow(now); ok {
		r.used = append(r.used, now)
	}
	return ok, at
}

// takeSharedSlot does what takeSlot does, and counts the calls of all instances that share the database.
func (r *limiter) takeSharedSlot(ctx context.Context, now time.Time) (ok bool, at time.Time, err error) {
	if r.db == nil || !r.db.IsShared() {
		ok, at = r.takeSlot(now)
		return ok, at, nil
	}
	err = r.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM unattended_calls WHERE at <= ?`, now.Add(-time.Minute).UnixMilli()); err != nil {
			return err
		}
		var used int
		var oldest int64
		if err := tx.QueryRow(`SELECT count(*), coalesce(min(at), 0) FROM unattended_calls`).Scan(&used, &oldest); err != nil {
			return err
		}
		if ok = used < r.max; !ok {
			at = store.Time(oldest).Add(time.Minute)
			return nil
		}
		_, err := tx.Exec(`INSERT INTO unattended_calls (at) VALUES (?)`, now.UnixMilli())
		return err
	})
	if err == nil && ok {
		r.takeSlot(now) // so that hasRoom, which does not ask the database, counts at least the own calls
	}
	return ok, at, err
}

// waitForSlot waits until the rate limit allows a call, and counts it.
func (r *limiter) waitForSlot(ctx context.Context) error {
	for {
		ok, at, err := r.takeSharedSlot(ctx, time.Now())
		if err != nil {
			return fmt.Errorf("usage: count an unattended call: %w", err)
		}
		if ok {
			return nil
		}
		if retry.Sleep(ctx, time.Until(at)) != nil {
			return context.Cause(ctx)
		}
	}
}
