// Package virtual runs code in simulated time: a bubble (testing/synctest) whose
// clock advances as soon as all its goroutines are blocked, so that a week takes
// only as long as its work. All goroutines started in a bubble belong to it: they
// must end before Run's function returns, and must not wait for anything outside
// (a channel created there, a connection, a system notification), because the
// clock would stop.
//
// Use it only if simulated time replaces all timers, tickers and deadlines of the
// program, which a clock passed as a parameter cannot do.
package virtual

import (
	"fmt"
	"testing"          //nolint:depguard // a bubble is only to be had through it; no test runs, and no flag is defined
	"testing/synctest" //nolint:depguard // the same
	"time"
)

// Run calls f in a bubble whose clock begins at start, and returns when f and
// everything it started have ended. A deadlocked bubble is an error.
func Run(start time.Time, f func() error) (err error) {
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

// WaitIdle returns when everything else in the bubble waits. Only code in a bubble
// may call it.
func WaitIdle() { synctest.Wait() }
