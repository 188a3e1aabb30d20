package llm

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"
)

// ErrOpen is wrapped by the error that a Breaker returns for a refused call.
var ErrOpen = errors.New("the model is paused after repeated failures")

// BreakerOptions holds the settings of Breaker. The zero value uses Hob's defaults.
type BreakerOptions struct {
	Failures int           // number of consecutive failures that open the breaker; 0 means 5
	Rest     time.Duration // how long the breaker stays open; 0 means 60 s
}

// Breaker returns a model that is paused after repeated consecutive failures. Calls then fail
// immediately with the last error, which wraps ErrOpen. After the pause, one trial call is made:
// success closes the breaker, and failure opens it again. Calls canceled by the user, or refused by
// Hob itself, do not count.
func Breaker(m Model, o BreakerOptions) Model { return newBreaker(m, o) }

func newBreaker(m Model, o BreakerOptions) *breaker {
	if o.Failures <= 0 {
		o.Failures = 5
	}
	if o.Rest <= 0 {
		o.Rest = time.Minute
	}
	return &breaker{Model: m, o: o}
}

type breaker struct {
	Model
	o BreakerOptions

	mu       sync.Mutex
	failures int
	until    time.Time // open until then if failures >= o.Failures
	trial    bool      // whether the trial call is in progress
	last     *Error
}

func (b *breaker) Stream(ctx context.Context, r Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		trial, refused := b.enterCall()
		if refused != nil {
			yield(Event{}, refused)
			return
		}
		result := unknown
		var failure *Error
		defer func() { b.leaveCall(trial, result, failure) }()
		for e, err := range b.Model.Stream(ctx, r) {
			if err != nil {
				failure = asError(b.Model, err)
				result = judgeError(failure)
				yield(Event{}, err)
				return
			}
			if e.Kind == Done {
				result = well
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

type callVerdict uint8

const (
	unknown callVerdict = iota // canceled, or not caused by the provider
	well
	failing
)

// judgeError distinguishes provider failures from errors that show that the provider is working.
func judgeError(e *Error) callVerdict {
	switch e.Kind {
	case Interrupted, Budget:
		return unknown
	case BadRequest, Overflow:
		return well
	}
	return failing
}

func (b *breaker) enterCall() (trial bool, refused *Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < b.o.Failures {
		return false, nil
	}
	left := time.Until(b.until)
	if left <= 0 && !b.trial {
		b.trial = true
		return true, nil
	}
	e := *b.last
	e.Message = "not called, because the last calls failed: " + e.Message
	e.RetryAfter = max(left, 0)
	e.Visible = false
	e.Err = ErrOpen
	return false, &e
}

func (b *breaker) leaveCall(trial bool, v callVerdict, failure *Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if trial {
		b.trial = false
	}
	switch v {
	case well:
		b.failures = 0
	case failing:
		b.last = failure
		b.failures++
		if b.failures >= b.o.Failures {
			b.until = time.Now().Add(b.o.Rest)
		}
	}
}
