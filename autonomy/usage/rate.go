package usage

import (
	"context"
	"sync"
	"time"

	"hob/platform/retry"
)

// limiter is a rate limiter with a sliding window of one minute. A negative max allows no call.
type limiter struct {
	max  int
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

// waitForSlot waits until the rate limit allows a call, and counts it.
func (r *limiter) waitForSlot(ctx context.Context) error {
	for {
		ok, at := r.takeSlot(time.Now())
		if ok {
			return nil
		}
		if retry.Sleep(ctx, time.Until(at)) != nil {
			return context.Cause(ctx)
		}
	}
}
