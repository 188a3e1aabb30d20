package autonomy

import (
	"testing"
	"testing/synctest"
	"time"
)

// Elapsed time alone does not count as a jump.
func TestClock_ElapsedTimeIsNoJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		for _, d := range []time.Duration{0, time.Second, 36 * time.Hour} {
			time.Sleep(d)
			if by := c.wallClockJump(); by != 0 {
				t.Errorf("after %v: wall clock jump of %v, want 0", d, by)
			}
		}
	})
}
