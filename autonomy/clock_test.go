package autonomy

import (
	"testing"
	"testing/synctest"
	"time"
)

// Elapsed time alone does not count as a jump.
func TestTimeThatPassesIsNoJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		for _, d := range []time.Duration{0, time.Second, 36 * time.Hour} {
			time.Sleep(d)
			if by := c.wallClockJump(); by != 0 {
				t.Errorf("after %v: jumped by %v", d, by)
			}
		}
	})
}
