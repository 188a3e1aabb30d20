package power

import (
	"context"
	"errors"
	"log/slog"
)

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

// FollowWakes calls onWake each time the machine wakes, until ctx ends. On a system that does not
// report sleep it only waits. onWake must return immediately.
func FollowWakes(ctx context.Context, o Options, log *slog.Logger, onWake func()) error {
	err := WatchSleep(ctx, o, func(e Event) {
		if e == Wakes {
			log.Info("machine woke from sleep")
			onWake()
		}
	})
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		log.Debug("no wake notifications on this system", "err", err)
	}
	<-ctx.Done()
	return nil
}
