package watchers

import (
	"context"
	"time"
)

// Hand runs the loop of a manager at wall-clock times that a test chooses, because synctest cannot
// make the wall clock jump.
type Hand struct {
	l   *loop
	now time.Time
}

// NewHand starts the loop at the wall-clock time now, as a process does.
func NewHand(m *Manager, now time.Time) (*Hand, error) {
	l := &loop{m: m, clock: newClock(), running: map[string]*runner{}, zone: m.opt.Zone(), looked: now, told: map[string]*reportedErrors{}, poller: newPoller(m), known: map[string]string{}}
	m.running = true
	err := l.loadAt(context.Background(), now)
	return &Hand{l, now}, err
}

// To moves the wall clock to now while real elapses on the monotonic clock.
func (h *Hand) To(now time.Time, real time.Duration) {
	h.l.applyChanges(context.Background())
	h.l.runAt(context.Background(), now, now.Sub(h.now)-real)
	h.now = now
}
