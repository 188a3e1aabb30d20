package power

import "context"

// Event is a change of the machine's sleep state.
type Event bool

// The events.
const (
	Sleeps Event = true
	Wakes  Event = false
)

// WatchSleep calls on for each sleep and each wake-up until ctx ends, and then returns nil. If the
// system does not report sleep, it returns an error, which is only for the log, because
// callers also compare the wall clock. on is called from one goroutine at a time and must
// return immediately.
func WatchSleep(ctx context.Context, o Options, on func(Event)) error {
	return watchSleep(ctx, o.withDefaults(), on)
}
