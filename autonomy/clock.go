package autonomy

import (
	"sync"
	"time"
)

// jump is the smallest difference between wall and monotonic time that counts.
const jump = 2 * time.Second

// clock compares wall and monotonic time: they part when the machine slept or
// somebody set the clock.
type clock struct{ last time.Time }

func newClock() *clock { return &clock{last: time.Now()} }

// jumped returns by how much the wall clock ran ahead of (or, negative, fell
// behind) the time that really passed since the last call; 0 when it did not.
func (c *clock) jumped() time.Duration {
	now := time.Now()
	real := now.Sub(c.last)                   // monotonic
	wall := now.Round(0).Sub(c.last.Round(0)) // without the monotonic reading
	c.last = now
	if d := wall - real; d > jump || d < -jump {
		return d
	}
	return 0
}

// limiter is a sliding window of one minute; a negative max lets nothing pass.
type limiter struct {
	max  int
	mu   sync.Mutex
	used []time.Time
}

// take uses one place; when there is none it returns when to come back.
func (r *limiter) take(now time.Time) (ok bool, at time.Time) {
	if r.max < 0 {
		return false, now.Add(time.Hour)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.used) > 0 && now.Sub(r.used[0]) >= time.Minute {
		r.used = r.used[1:]
	}
	if len(r.used) >= r.max {
		return false, r.used[0].Add(time.Minute)
	}
	r.used = append(r.used, now)
	return true, now
}
