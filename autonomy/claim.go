package autonomy

import (
	"context"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/platform/failpoint"
)

// DueSource puts due work, such as goal reviews, into the inbox. *goals.Goals, *goals.Plan,
// *agents.Registry and *notify.Notifier implement it.
type DueSource interface {
	// Due puts due work into the inbox and returns the next due time, or zero if there is none.
	Due(ctx context.Context, now time.Time) (next time.Time, err error)
}

// startDueTurns claims due events and starts a turn for each. It returns the time at which the next
// waiting event becomes due.
func (l *Loop) startDueTurns(ctx, work context.Context, woke string) time.Time {
	l.ticks.Add(1)
	due := l.enqueueDue(ctx)
	events, next, err := l.o.Bus.Inbox.Claim(ctx, l.running.freeSlots())
	next = earlierTime(next, due)
	if err != nil {
		if ctx.Err() == nil {
			l.o.Log.Error("cannot claim events; trying again", "err", err)
			return time.Now().Add(time.Second)
		}
		return next
	}
	failpoint.Hit("loop.claimed")
	if len(events) > 0 {
		l.startTurns(work, events, woke)
	}
	return next
}

// startTurns starts a turn for each claimed event.
func (l *Loop) startTurns(work context.Context, events []bus.Event, woke string) {
	tick := bus.NewID()
	l.inputs.Add(1)
	turns := make([]*activeTurn, len(events))
	runs := make([]func(), len(events))
	for i, ev := range events {
		ctx, cancel := context.WithCancelCause(work)
		t := &activeTurn{Claim: commit.Claim{Event: ev, Tick: tick, Woke: woke, Since: time.Now()}, done: make(chan struct{}), cancel: cancel}
		turns[i] = t
		runs[i] = func() {
			defer cancel(nil)
			l.processEvent(ctx, t)
			l.running.remove(t)
		}
	}
	l.running.register(turns) // register all turns before the first one begins
	for _, run := range runs {
		l.open.Go(run)
	}
}

// enqueueDue puts due work into the inbox and returns the next due time, or zero if there is none.
// Each source enqueues its own work. In a fleet, one instance does this.
func (l *Loop) enqueueDue(ctx context.Context) (next time.Time) {
	if len(l.o.Due) > 0 && !l.o.Bus.Lease.Holds("clock") {
		return next
	}
	for _, source := range l.o.Due {
		at, err := source.Due(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			l.o.Log.Error("cannot enqueue due work; trying again", "err", err)
		}
		next = earlierTime(next, at)
	}
	return next
}

func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
