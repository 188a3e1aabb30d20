package watchers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Polled is a watcher whose source must be polled. It has no goroutine. The manager's poller polls
// all Polled watchers with a few workers, each at its interval and within its active hours, and
// with a growing delay while the source fails. Driver.New creates a new Polled for each Poll, so
// that an idle watcher needs almost no memory. A Polled stores its state in its cursor.
type Polled interface {
	// Every returns the default poll interval of the kind; 0 selects the manager's default (15
	// minutes).
	Every() time.Duration
	// Poll polls the source once. It is never called concurrently for one watcher, and ctx has a
	// deadline. After a failure the next Poll gets the same Progress. Together with an error Poll
	// may still return Signals and Wake; other fields are then ignored. See Later, ErrOffline and
	// ErrPermanent for errors with a special meaning.
	Poll(ctx context.Context, p Progress) (Found, error)
}

// Grouped is a Polled that shares a server with other watchers. Only one watcher of a group is
// polled at a time. If the poll of one watcher returns Later, the whole group waits. A good group
// name is a host, or a host and an account.
type Grouped interface {
	Group() string
}

// Progress is the position of a Polled in its source.
type Progress struct {
	// Begun is the time at which the watcher was created, restored or resumed. Older items are not
	// new.
	Begun time.Time
	// First is true until a Poll has succeeded. The first successful Poll takes the baseline.
	First bool
	// Cursor is the cursor of the last successful Poll, nil at first.
	Cursor json.RawMessage
}

// Found is the result of a Poll.
//
// Signals may repeat: each key fires at most once per watcher, so a kind can return all items that
// it finds. At the first Poll, a signal fires only if its At is after Progress.Begun and not in the
// future; the keys of the other signals are stored as known. If the source has no times, leave At
// zero. At then becomes the time of the Poll, and such signals are not new at the first Poll.
//
// Keys are unique within the watcher; they are stored as digests.
type Found struct {
	Signals []Signal
	// Passed lists items that did not match the user's conditions. The newest items are stored, to
	// explain later why the watcher did not fire.
	Passed []SuppressedSignal
	// Cursor replaces the stored cursor, in the transaction of the signals. If it is nil, the
	// stored cursor is kept.
	Cursor json.RawMessage
	// Wake requests an earlier Poll, for example just before a meeting. The wait may be shorter
	// than the shortest interval.
	Wake time.Time
	// Wait is a delay requested by the source. It applies if it is longer than the interval. Delays
	// longer than 24 hours are reduced to 24 hours.
	Wait time.Duration
}

// nextPoll returns the time of the next poll, which is again or Wake, whichever is earlier.
func (f Found) nextPoll(again, now time.Time) time.Time {
	if wake := f.Wake.Round(0); !f.Wake.IsZero() && wake.Before(again) {
		return laterOf(wake, now.Add(time.Second))
	}
	return again
}

// ErrOffline is wrapped by errors that occur because this machine has no network. The poll is
// retried soon, and the user is notified only after a day.
var ErrOffline = errors.New("this machine seems to have no network")

// LaterError reports that the source requested a delay, see Later.
type LaterError struct {
	Until time.Time
	Err   error
}

// Later wraps an error of a source that specified a retry time (Retry-After, a rate limit). The
// watcher and its group are not polled before until. The delay is at most 24 hours.
func Later(until time.Time, err error) error { return &LaterError{until, err} }

func (e *LaterError) Error() string {
	return fmt.Sprintf("%v (the source asked to wait until %s)", e.Err, e.Until.UTC().Format("15:04 MST on 2 Jan"))
}

func (e *LaterError) Unwrap() error { return e.Err }

// Historian is a Polled or a Watcher whose source has a history of past events.
type Historian interface {
	// Past returns the signals that would have fired since a time, oldest first. It has no side
	// effects.
	Past(ctx context.Context, since time.Time) ([]Signal, error)
}
