package file

import (
	"time"

	"golang.org/x/sys/unix"
)

// clockLag is how far the times of files lag behind the clock just now: Linux
// takes them from a clock that advances only with the timer interrupt, every
// 1 to 10 ms (clock_getres(2), CLOCK_REALTIME_COARSE).
func clockLag() time.Duration {
	var fine, coarse unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME, &fine) != nil || unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &coarse) != nil {
		return 0
	}
	return max(time.Duration(fine.Nano()-coarse.Nano()), 0)
}
