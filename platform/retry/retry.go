// Package retry contains the backoff, the supervisor and the interruptible sleep that the whole
// program uses. Callers decide which errors they retry.
package retry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"
)

// Backoff is a delay that doubles with each consecutive failure. It is a value and may be shared.
type Backoff struct {
	First time.Duration // maximum of the first delay
	Max   time.Duration // maximum of all delays; 0 means a day
	// Jitter is the random share of a delay, from 0 (none) to 1 (the whole delay; "full jitter",
	// AWS Architecture Blog, "Exponential Backoff And Jitter", 2015).
	Jitter float64
	// Offset is added to each delay, because a random delay may be 0.
	Offset time.Duration
}

// Delay returns the delay after the given number of consecutive failures. 0 counts as 1.
func (b Backoff) Delay(failures int) time.Duration {
	limit := b.Max
	if limit <= 0 {
		limit = 24 * time.Hour
	}
	d := min(b.First, limit)
	for n := 1; n < failures && d > 0 && d < limit; n++ {
		if d > limit/2 {
			d = limit
			break
		}
		d *= 2
	}
	random := min(time.Duration(b.Jitter*float64(d)), d)
	if random > 0 {
		d -= rand.N(random + 1)
	}
	return b.Offset + d
}

// Sleep waits for d. It returns ctx.Err() as soon as ctx ends, even if d is not positive.
func Sleep(ctx context.Context, d time.Duration) error {
	return Wait(ctx, d, nil)
}

// Wait works like Sleep, but returns nil early if wake is closed or receives a value.
func Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wake:
	case <-t.C:
	}
	return nil
}

// ErrRestart is an error that a supervised function may return, possibly wrapped, to be restarted
// immediately. It does not count as a failure, and it resets the count of earlier failures.
var ErrRestart = errors.New("restart requested")

// PanicError is the error for a panic. Its text does not contain the stack, because users read it.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// LogValue implements slog.LogValuer. The log contains the stack.
func (e *PanicError) LogValue() slog.Value {
	return slog.StringValue(e.Error() + "\n" + string(e.Stack))
}

// Recover calls f. If f panics, it returns the panic as a *PanicError.
func Recover(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{p, debug.Stack()}
		}
	}()
	return f()
}

// Supervisor runs a function again after it failed or panicked.
type Supervisor struct {
	Backoff Backoff // delay between a failure and the next run
	// Healthy is the duration of a run after which earlier failures no longer count; 0 means that
	// they always count.
	Healthy time.Duration
	// Failed, if set, is called after each failure with the delay that Backoff suggests. It returns
	// the delay to use, or false to stop. Run then returns err.
	Failed func(err error, delay time.Duration) (time.Duration, bool)
	// Wake, if set, is called before each run. If the channel that it returns is closed, the delay
	// after this run ends early.
	Wake func() <-chan struct{}
}

// Run calls f until ctx ends, f returns nil, or Failed stops it. It starts no goroutine: it calls f
// and Failed sequentially in its own goroutine. It ignores an error of f after ctx has ended, but
// returns a panic (*PanicError).
func (s Supervisor) Run(ctx context.Context, f func(context.Context) error) error {
	for failures := 0; ctx.Err() == nil; {
		var wake <-chan struct{}
		if s.Wake != nil {
			wake = s.Wake()
		}
		began := time.Now()
		err := Recover(func() error { return f(ctx) })
		switch {
		case ctx.Err() != nil:
			if p, ok := errors.AsType[*PanicError](err); ok {
				return p
			}
			return nil
		case err == nil:
			return nil
		case errors.Is(err, ErrRestart):
			failures = 0
			continue
		case s.Healthy > 0 && time.Since(began) >= s.Healthy:
			failures = 0
		}
		failures++
		delay, again := s.Backoff.Delay(failures), true
		if s.Failed != nil {
			delay, again = s.Failed(err, delay)
		}
		if !again {
			return err
		}
		if Wait(ctx, delay, wake) != nil {
			return nil //nolint:nilerr // ctx ended
		}
	}
	return nil
}

// RunTogether runs parts concurrently until ctx ends or one of them returns, whereupon it stops the
// others. It returns their errors after all of them have returned. cancel must cancel ctx.
func RunTogether(ctx context.Context, cancel func(), parts []func(context.Context) error) error {
	var wg sync.WaitGroup
	errs := make([]error, len(parts))
	for i, run := range parts {
		wg.Go(func() {
			defer cancel() // if one part fails, the others stop in an orderly way
			err := run(ctx)
			if ctx.Err() != nil && errors.Is(err, context.Canceled) {
				err = nil // the part was stopped while it was still starting
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
