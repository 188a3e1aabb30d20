package channels

import (
	"errors"
	"time"

	"hob/platform/retry"
)

const longWait = 10 * time.Minute

// backoff returns a backoff with random waits of up to 1 s, 2 s, 4 s ... 10 min.
func backoff() retry.Backoff {
	return retry.Backoff{First: time.Second, Max: longWait, Jitter: 1, Offset: 50 * time.Millisecond}
}

// offlineWait is the maximum wait for an unreachable platform, so that delivery continues soon
// after the network is available again.
const offlineWait = 2 * time.Minute

// limitDelay shortens a backoff delay if the platform is unreachable.
func limitDelay(delay time.Duration, err error) time.Duration {
	if isUnreachable(err) {
		return min(delay, offlineWait)
	}
	return delay
}

// RetryIn returns the wait that the platform requested in err, or fallback if it requested none.
func RetryIn(err error, fallback time.Duration) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok && e.Class == Later && !e.RetryAt.IsZero() {
		return max(time.Until(e.RetryAt), 0)
	}
	return fallback
}

// rateWindow allows n events within any minute. It is used by a single goroutine.
type rateWindow struct {
	n    int
	past []time.Time // times of the last n events, as a ring buffer
	next int
}

// waitTime returns how long to wait until one more event is allowed.
func (w *rateWindow) waitTime(now time.Time) time.Duration {
	if w.n <= 0 || len(w.past) < w.n {
		return 0
	}
	return max(0, w.past[w.next].Add(time.Minute).Sub(now))
}

// addEvent records one event.
func (w *rateWindow) addEvent(now time.Time) {
	switch {
	case w.n <= 0:
	case len(w.past) < w.n:
		w.past = append(w.past, now)
	default:
		w.past[w.next] = now
		w.next = (w.next + 1) % w.n
	}
}
