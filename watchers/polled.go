package watchers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Polled is a watcher whose source has to be asked again and again. It has no
// goroutine of its own: the manager's poller asks all of them with few workers,
// each at its interval, within its active hours, with a growing pause while the
// source fails. Driver.New makes a fresh one for each Poll, so that a watcher at
// rest costs next to nothing: what it must remember is its cursor.
type Polled interface {
	// Every is how often the kind asks when the owner said nothing; 0 leaves it
	// to the manager (15 minutes).
	Every() time.Duration
	// Poll asks the source once. It is never called twice at a time for one
	// watcher, and ctx has a deadline. When it fails the next Poll gets the same
	// Progress; what it knows all the same it may return with the error: of that
	// Signals and Wake count. See Later, ErrOffline and ErrPermanent for errors
	// that mean more than "not now".
	Poll(ctx context.Context, p Progress) (Found, error)
}

// Grouped is a Polled that shares a server with others: those of one group are
// never asked two at a time, and all of them wait when one is told to (Later).
// A host, or a host and an account, is a good name.
type Grouped interface {
	Group() string
}

// Progress is where a Polled stands.
type Progress struct {
	// Begun is when it was created, restored or resumed: what is older is not new.
	Begun time.Time
	// First is set until a Poll has succeeded: that one takes the baseline.
	First bool
	// Cursor is what the last successful Poll returned, nil at first.
	Cursor json.RawMessage
}

// Found is what a Poll saw.
//
// Signals may repeat what was there before: a key that the watcher has met fires
// never again, for ever, so that a kind can simply return all that it sees. At
// the first Poll a signal fires only when its At lies after Progress.Begun and
// not in the future; the keys of all the others are remembered as known. A
// source that says no time leaves At zero: then it is the time of the Poll, and
// no news at first.
//
// Keys are unique within the watcher; they are kept as digests.
type Found struct {
	Signals []Signal
	// Passed is what the source had and the owner did not ask for; the newest of
	// it is kept, so that it can be said why it was not told.
	Passed []Passed
	// Cursor replaces the stored one, in the transaction of the signals; nil
	// keeps it.
	Cursor json.RawMessage
	// Wake is when to Poll again though the interval is not over, such as the
	// moment before a meeting. It may be closer than the shortest interval.
	Wake time.Time
	// Wait is how long the source wants to be left alone when that is longer
	// than the interval; at most a day is believed.
	Wait time.Duration
}

// sooner is when to ask again: at again, or at the time that was wished.
func (f Found) sooner(again, now time.Time) time.Time {
	if wake := f.Wake.Round(0); !f.Wake.IsZero() && wake.Before(again) {
		return later(wake, now.Add(time.Second))
	}
	return again
}

// ErrOffline is wrapped by an error that has its cause on this machine: there is
// no network. It is tried again soon, and the owner is not told for a day.
var ErrOffline = errors.New("this machine seems to have no network")

// LaterError says that the source asked to be left alone, see Later.
type LaterError struct {
	Until time.Time
	Err   error
}

// Later wraps an error of a source that named a time (Retry-After, a spent rate
// limit): the watcher and its group are not asked before. At most a day is
// believed.
func Later(until time.Time, err error) error { return &LaterError{until, err} }

func (e *LaterError) Error() string {
	return fmt.Sprintf("%v (asked to wait until %s)", e.Err, e.Until.UTC().Format("15:04 MST on 2 Jan"))
}

func (e *LaterError) Unwrap() error { return e.Err }

// Historian is a Polled, or a Watcher, whose source also tells about the past.
type Historian interface {
	// Past returns what would have fired since then, oldest first. It changes
	// nothing.
	Past(ctx context.Context, since time.Time) ([]Signal, error)
}
