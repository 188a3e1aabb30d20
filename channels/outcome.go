package channels

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"hob/platform/retry"
)

// maybeSent reports whether a message may have arrived although Send failed.
func maybeSent(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.MaybeSent || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// isUnreachable reports whether the platform could not be reached at all, for example without a
// network. That does not count as an attempt.
func isUnreachable(err error) bool {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// handleFailure handles a message that could not be sent: it schedules a retry or gives up.
func (d *deliverer) handleFailure(ctx context.Context, row Delivery, t *retryState, err error) error {
	d.log.Warn("delivery failed", "delivery", row.ID, "attempts", row.Attempts, "error", err)
	d.trouble(err)
	now := time.Now()
	switch ClassOf(err) {
	case Unauthorized:
		d.mu.Lock()
		d.refused = true
		d.mu.Unlock()
		return errors.Join(err, d.putBack(ctx, row, t, now, briefError(err)))
	case Permanent, Unsupported:
		return d.giveUp(ctx, row, briefError(err))
	case Later:
		at := now.Add(backoff().Delay(row.Attempts))
		if e, ok := errors.AsType[*Error](err); ok && !e.RetryAt.IsZero() {
			at = e.RetryAt
			if last := now.Add(longPause); at.After(last) {
				at = last
			}
		}
		d.mu.Lock()
		d.paused = at
		d.mu.Unlock()
		if d.isGivenUp(row, now) {
			return d.giveUp(ctx, row, briefError(err))
		}
		return d.putBack(ctx, row, t, at, briefError(err))
	}
	if !isUnreachable(err) {
		if t.failures == 0 {
			t.since = now
		}
		t.failures++
	}
	if t.failures >= maxFailures && now.Sub(t.since) >= maxOutage || d.isGivenUp(row, now) {
		return d.giveUp(ctx, row, briefError(err))
	}
	return d.putBack(ctx, row, t, now.Add(limitDelay(backoff().Delay(max(t.failures, row.Attempts)), err)), briefError(err))
}

// isGivenUp reports whether a message has used up both its attempts and its time. A message that
// waited while the machine was off still gets its attempts.
func (d *deliverer) isGivenUp(row Delivery, now time.Time) bool {
	return row.Attempts >= maxFailures && now.Sub(row.CreatedAt) >= maxAge
}

func (d *deliverer) putBack(ctx context.Context, row Delivery, t *retryState, at time.Time, why string) error {
	unsure := !d.dedupes && (t.unsure || t.sent > 0)
	return d.recordOutcome(ctx, "put back", func(ctx context.Context) error {
		return d.out.Retry(ctx, row.ID, at, why, unsure)
	})
}

func (d *deliverer) giveUp(ctx context.Context, row Delivery, why string) error {
	d.forgetTries(row.ID)
	return d.recordOutcome(ctx, "given up", func(ctx context.Context) error { return d.out.DeadLetter(ctx, row.ID, why) })
}

// recordOutcome stores an outcome. It retries until ctx ends, because a message that the platform
// accepted must not be resent after a temporary disk error. The next start requeues the remaining
// rows.
func (d *deliverer) recordOutcome(ctx context.Context, what string, f func(context.Context) error) error {
	for n := 1; ; n++ {
		c, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
		err := f(c)
		cancel()
		if err == nil {
			return nil
		}
		err = fmt.Errorf("record a delivery as %s: %w", what, err)
		d.log.Warn("recording a delivery's outcome failed", "error", err)
		if ctx.Err() != nil || retry.Sleep(ctx, backoff().Delay(min(n, 5))) != nil {
			return err
		}
	}
}
