package autonomy

import (
	"context"
	"slices"
	"strings"
	"sync"

	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/turn"
)

// activeTurn is an event in progress.
type activeTurn struct {
	commit.Claim
	cancel   context.CancelCauseFunc
	steering []bus.Event   // messages from the owner to the turn; guarded by runningTurns.mu
	done     chan struct{} // closed when the turn has ended
	held     int           // number of questions for which the turn is waiting in memory; guarded by runningTurns.mu
}

// isQueued reports whether the turn runs in the queue of its conversation, unlike commands and text
// sent to a running turn.
func (t *activeTurn) isQueued() bool { return t.Event.Lane == t.Event.Session }

// runningTurns holds the events in progress. It implements dispatch.Turns.
type runningTurns struct {
	slots int
	freed chan struct{} // signals that a slot became free

	mu        sync.Mutex
	draining  bool
	byEvent   map[string]*activeTurn
	cancelled map[string]bool // events that were stopped while they were waiting
}

func newRunningTurns(slots int) *runningTurns {
	return &runningTurns{slots: slots, freed: make(chan struct{}, 1), byEvent: map[string]*activeTurn{}, cancelled: map[string]bool{}}
}

// register adds turns before the first of them starts.
func (r *runningTurns) register(turns []*activeTurn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range turns {
		r.byEvent[t.Event.ID] = t
	}
}

// remove ends a turn and frees its slot.
func (r *runningTurns) remove(t *activeTurn) {
	r.mu.Lock()
	if r.byEvent[t.Event.ID] == t { // the event may have been suspended, answered and claimed again in the meantime
		delete(r.byEvent, t.Event.ID)
	}
	r.mu.Unlock()
	close(t.done)
	r.signalFreed()
}

func (r *runningTurns) signalFreed() {
	select {
	case r.freed <- struct{}{}:
	default:
	}
}

// count returns the number of turns in progress.
func (r *runningTurns) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byEvent)
}

// freeSlots returns the number of free slots. Commands need no slot. Up to a limit, turns that are
// waiting for an answer need none either.
func (r *runningTurns) freeSlots() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, held := r.slots, 0
	for _, t := range r.byEvent {
		switch {
		case !t.isQueued():
		case t.held > 0 && held < r.slots:
			held++
		default:
			n--
		}
	}
	return max(0, n)
}

// drain cancels the turns that are waiting for an answer, because no answer will arrive. It also
// cancels turns that start to wait later.
func (r *runningTurns) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
	for _, t := range r.byEvent {
		if t.held > 0 {
			t.cancel(turn.ErrDraining)
		}
	}
}

// stop cancels the running turn of a session and reports whether there was one.
func (r *runningTurns) stop(session string) (stopped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.byEvent {
		if t.Event.Session == session && t.isQueued() {
			t.cancel(turn.ErrStopped)
			stopped = true
		}
	}
	return stopped
}

// stopEvent cancels the running turn of an event and reports whether there was one.
func (r *runningTurns) stopEvent(event string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.byEvent[event]
	if t != nil {
		t.cancel(turn.ErrStopped)
	}
	return t != nil
}

// markCancelled marks waiting events as stopped, so that they are answered as stopped. It skips
// events with a running turn, because that turn has already been canceled.
func (r *runningTurns) markCancelled(events ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range events {
		if r.byEvent[id] == nil {
			r.cancelled[id] = true
		}
	}
}

// WasCancelled reports whether an event was stopped while it was waiting. It returns true only once
// per event.
func (r *runningTurns) WasCancelled(event string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	yes := r.cancelled[event]
	delete(r.cancelled, event)
	return yes
}

// Hold returns a function that marks the turn of an event as waiting for the owner in memory.
// release removes the mark. Until then, another turn may use the slot.
func (r *runningTurns) Hold(event string) func() (release func()) {
	return func() func() {
		r.mu.Lock()
		t := r.byEvent[event]
		r.mu.Unlock()
		if t == nil {
			return func() {}
		}
		return r.holdTurn(t)
	}
}

func (r *runningTurns) holdTurn(t *activeTurn) (release func()) {
	r.mu.Lock()
	t.held++
	if r.draining {
		t.cancel(turn.ErrDraining)
	}
	r.mu.Unlock()
	r.signalFreed()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		t.held--
	}
}

// OfferSteering passes text to the running turn in the event's session. done is nil if no turn is
// running.
func (r *runningTurns) OfferSteering(ev bus.Event) (done <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.byEvent {
		if t.Event.Session == ev.Session && t.isQueued() {
			t.steering = append(t.steering, ev)
			return t.done
		}
	}
	return nil
}

// TakeSteering returns the events that were offered to a turn since the last call, oldest first.
func (r *runningTurns) TakeSteering(event string) []bus.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.byEvent[event]
	if t == nil {
		return nil
	}
	out := t.steering
	t.steering = nil
	slices.SortFunc(out, func(a, b bus.Event) int { return strings.Compare(a.ID, b.ID) })
	return out
}
