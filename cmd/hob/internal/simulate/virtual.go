package simulate

import (
	"fmt"
	"testing"          //nolint:depguard // testing/synctest needs a *testing.T; no test runs, and no flag is defined
	"testing/synctest" //nolint:depguard // the same
	"time"
)

// runVirtual calls f in simulated time and returns when f and everything it started have ended. The
// time begins at start. It is a bubble (testing/synctest), whose clock advances as soon as all its
// goroutines are blocked, so that a week takes only as long as its work. Goroutines of the bubble
// must end before f returns and must not wait for anything outside (a channel created there, a
// connection, a system notification), because the clock would stop. A deadlocked bubble is an error.
func runVirtual(start time.Time, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot advance simulated time: %v", p)
		}
	}()
	synctest.Test(new(testing.T), func(*testing.T) {
		time.Sleep(time.Until(start)) // bubbles begin in the year 2000
		err = f()
	})
	return err
}

// waitIdle returns when everything else in the bubble waits. Only code in a bubble may call it.
func waitIdle() { synctest.Wait() }
