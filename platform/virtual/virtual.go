// Package virtual runs code in a time of its own: a bubble (testing/synctest) in
// which the clock moves on by itself as soon as everything in it waits, so that a
// week takes as long as what happens in it. Whatever a bubble starts belongs to
// it: it must have ended when Run's function returns, and nothing in it may wait
// for what is outside (a channel made there, a connection, a notice of the
// system): the clock stands still as long.
//
// A program may have no other time than this for its timers, tickers and
// deadlines: that is why this is used, and not a clock that is handed about.
package virtual

import (
	"fmt"
	"testing"          //nolint:depguard // a bubble is only to be had through it; no test runs, and no flag is defined
	"testing/synctest" //nolint:depguard // the same
	"time"
)

// Run calls f in a bubble whose clock begins at start, and returns when f and all
// that it started have ended. A bubble in which everything waits for ever is an
// error.
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

// Settle returns when everything else in the bubble waits. Only code in a bubble
// may call it.
func Settle() { synctest.Wait() }
