package autonomy

import "time"

// jump is the minimum significant difference between wall time and monotonic time.
const jump = 2 * time.Second

// clock compares wall time with monotonic time. They diverge if the machine slept or the clock was
// set.
type clock struct{ last time.Time }

func newClock() *clock { return &clock{last: time.Now()} }

// wallClockJump returns by how much the wall clock advanced more than the monotonic clock since the
// last call. It is negative if the wall clock was set back, and 0 if the difference is at most
// jump.
func (c *clock) wallClockJump() time.Duration {
	now := time.Now()
	real := now.Sub(c.last)                   // measured by the monotonic clock
	wall := now.Round(0).Sub(c.last.Round(0)) // without the monotonic reading
	c.last = now
	if d := wall - real; d > jump || d < -jump {
		return d
	}
	return 0
}
