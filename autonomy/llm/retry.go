package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"hob/platform/retry"
)

// RetryOptions holds the settings of Retry. The zero value uses Hob's defaults.
type RetryOptions struct {
	Tries  int           // total number of attempts; 0 means 3
	Base   time.Duration // upper bound of the first delay, which doubles each time; 0 means 1 s
	Cap    time.Duration // limit for that upper bound; 0 means 30 s
	Budget time.Duration // maximum time from the first attempt to the start of the last; 0 means 60 s
	// OnRetry, if set, is called before each delay.
	OnRetry func(try int, wait time.Duration, err *Error)
}

// Retry returns a model that retries after temporary errors (see Error.Retryable), unless visible
// output was streamed. A delay is random between 0 and a bound that doubles (full jitter), or the
// delay that the server requests if that is longer. If the server requests more than the remaining
// budget, the error is returned immediately. Retry does not wait for an open breaker.
func Retry(m Model, o RetryOptions) Model {
	if o.Tries <= 0 {
		o.Tries = 3
	}
	if o.Base <= 0 {
		o.Base = time.Second
	}
	if o.Cap <= 0 {
		o.Cap = 30 * time.Second
	}
	if o.Budget <= 0 {
		o.Budget = time.Minute
	}
	return &retrying{m, o}
}

type retrying struct {
	Model
	o RetryOptions
}

func (m *retrying) Stream(ctx context.Context, r Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		start := time.Now()
		for try := 1; ; try++ {
			o := runAttempt(ctx, m.Model, r, yield)
			if o.err == nil {
				return
			}
			wait, again := m.nextDelay(o, try, time.Since(start))
			if !again {
				if try > 1 {
					o.err.Message = fmt.Sprintf("%s (tried %d times)", o.err.Message, try)
				}
				yield(Event{}, o.err)
				return
			}
			if m.o.OnRetry != nil {
				m.o.OnRetry(try, wait, o.err)
			}
			if retry.Sleep(ctx, wait) != nil {
				yield(Event{}, interruptedError(ctx, m.Model))
				return
			}
		}
	}
}

// nextDelay returns the delay before the next attempt. It returns false if there is no further
// attempt.
func (m *retrying) nextDelay(o attemptOutcome, try int, spent time.Duration) (time.Duration, bool) {
	if o.shown || !o.err.Retryable() || try >= m.o.Tries || errors.Is(o.err, ErrOpen) {
		return 0, false
	}
	wait := max(retry.Backoff{First: m.o.Base, Max: m.o.Cap, Jitter: 1}.Delay(try), o.err.RetryAfter)
	return wait, spent+wait <= m.o.Budget
}
