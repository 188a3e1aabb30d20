package channels

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstWait = time.Second
	longWait  = 10 * time.Minute
)

// backoffDelay returns a random wait up to 1 s, 2 s, 4 s ... 10 min for the nth
// failure in a row, counted from 0 ("full jitter": AWS Architecture Blog,
// "Exponential Backoff And Jitter", 2015).
func backoffDelay(n int) time.Duration {
	top := longWait
	if n < 10 {
		top = min(top, firstWait<<n)
	}
	return 50*time.Millisecond + rand.N(top)
}

// offlineWait is the longest wait for an unreachable platform, so that delivery continues soon
// after the network is back.
const offlineWait = 2 * time.Minute

// retryDelay returns the backoff after an error.
func retryDelay(n int, err error) time.Duration {
	if isUnreachable(err) {
		return min(backoffDelay(n), offlineWait)
	}
	return backoffDelay(n)
}

// Sleep waits for d or until ctx ends and reports whether the time passed.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// RetryIn returns the wait that the platform requested in err, or otherwise if it named none.
func RetryIn(err error, otherwise time.Duration) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok && e.Class == Later && !e.RetryAt.IsZero() {
		return max(time.Until(e.RetryAt), 0)
	}
	return otherwise
}

// rateWindow allows n events in any period of one minute. It belongs to one goroutine.
type rateWindow struct {
	n    int
	past []time.Time // the last n, a ring
	next int
}

// waitTime returns the wait until one more event is allowed.
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
