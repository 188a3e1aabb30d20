package autonomy

import (
	"context"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/turn"
	"hob/platform/failpoint"
)

// startDueTurns claims due events and starts a turn for each. It returns when the next waiting
// event becomes due.
func (l *Loop) startDueTurns(ctx, work context.Context, woke string) time.Time {
	l.looks.Add(1)
	due := l.enqueueDue(ctx)
	events, next, err := l.o.Bus.Inbox.Claim(ctx, l.freeSlots())
	next = earlierTime(next, due)
	if err != nil {
		if ctx.Err() == nil {
			l.o.Log.Error("cannot claim events; trying again", "err", err)
			return time.Now().Add(time.Second)
		}
		return next
	}
	failpoint.Hit("loop.claimed")
	tick := ""
	if len(events) > 0 {
		tick = bus.NewID()
		l.inputs.Add(1)
	}
	turns := make([]*activeTurn, len(events))
	l.mu.Lock()
	for i, ev := range events { // register all before the first one begins
		turns[i] = &activeTurn{ev: ev, tick: tick, woke: woke, since: time.Now(), done: make(chan struct{})}
		l.running[ev.ID] = turns[i]
	}
	for _, t := range turns {
		ev := t.ev
		tctx, cancel := context.WithCancelCause(work)
		t.cancel = cancel
		l.open.Go(func() {
			defer cancel(nil)
			l.processEvent(tctx, t)
			l.mu.Lock()
			if l.running[ev.ID] == t { // it may have been suspended, answered and claimed again
				delete(l.running, ev.ID)
			}
			l.mu.Unlock()
			close(t.done)
			select {
			case l.freed <- struct{}{}:
			default:
			}
		})
	}
	l.mu.Unlock()
	return next
}

// freeSlots returns the number of free slots. Commands need none, nor do turns that wait for an
// answer, up to a limit.
func (l *Loop) freeSlots() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, held := l.o.Slots, 0
	for _, t := range l.running {
		switch {
		case t.ev.Lane != t.ev.Session:
		case t.held > 0 && held < l.o.Slots:
			held++
		default:
			n--
		}
	}
	return max(0, n)
}

// holdFunc returns a function that calls hold for the turn of an event.
func (l *Loop) holdFunc(event string) func() (release func()) {
	return func() func() {
		l.mu.Lock()
		t := l.running[event]
		l.mu.Unlock()
		if t == nil {
			return func() {}
		}
		return l.holdTurn(t)
	}
}

// holdTurn marks a turn that waits for the owner in memory; release removes the mark. Another turn
// may use its slot meanwhile.
func (l *Loop) holdTurn(t *activeTurn) (release func()) {
	l.mu.Lock()
	t.held++
	if l.draining {
		t.cancel(turn.ErrDraining)
	}
	l.mu.Unlock()
	select {
	case l.freed <- struct{}{}:
	default:
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.held--
	}
}
