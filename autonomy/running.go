package autonomy

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/turn"
	"hob/platform/text/sorting"
)

// activeTurn is an event in progress.
type activeTurn struct {
	commit.Claim
	cancel   context.CancelCauseFunc
	steering []bus.Event   // messages from the owner to the turn; guarded by runningTurns.mu
	done     chan struct{} // closed when the turn has ended

	// Guarded by runningTurns.mu.
	held   int  // open questions for which the turn is waiting in memory
	active int  // answered questions whose actions have not ended
	parked bool // whether later events of the session may run

	parking sync.Mutex // serializes the writes that change parked; locked before runningTurns.mu
}

// isQueued reports whether the turn runs in the queue of its conversation, unlike commands and text
// sent to a running turn.
func (t *activeTurn) isQueued() bool { return t.Event.Lane == t.Event.Session }

// runningTurns holds the events in progress. It implements dispatch.Turns.
type runningTurns struct {
	slots int
	inbox *bus.Inbox
	log   *slog.Logger
	freed chan struct{} // signals that a slot became free

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced when a turn ends or is parked
	draining  bool
	byEvent   map[string]*activeTurn
	cancelled map[string]bool // events that were stopped while they were waiting
}

func newRunningTurns(slots int, inbox *bus.Inbox, log *slog.Logger) *runningTurns {
	return &runningTurns{
		slots: slots, inbox: inbox, log: log, freed: make(chan struct{}, 1), changed: make(chan struct{}), byEvent: map[string]*activeTurn{}, cancelled: map[string]bool{},
	}
}

// endDraining lets turns wait for answers again after drain.
func (r *runningTurns) endDraining() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = false
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
	r.signalChanged()
	r.mu.Unlock()
	close(t.done)
	r.parkWaiting()
	r.signalFreed()
}

func (r *runningTurns) signalFreed() {
	select {
	case r.freed <- struct{}{}:
	default:
	}
}

// signalChanged wakes the turns that wait until no other turn of their session runs. The caller
// holds r.mu.
func (r *runningTurns) signalChanged() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// count returns the number of turns in progress, without the parked ones.
func (r *runningTurns) count() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.byEvent {
		if !t.parked {
			n++
		}
	}
	return n
}

// freeSlots returns the number of free slots. Commands and parked turns need no slot. Up to a limit,
// other turns that are waiting for an answer need none either.
func (r *runningTurns) freeSlots() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, held := r.slots, 0
	for _, t := range r.byEvent {
		switch {
		case !t.isQueued(), t.parked:
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

// Hold returns the turn.Hold of an event's turn. While the turn waits, another turn may use its slot
// and later events of its session may run.
func (r *runningTurns) Hold(event string) turn.Hold {
	return func() func(context.Context) func() {
		r.mu.Lock()
		t := r.byEvent[event]
		r.mu.Unlock()
		if t == nil {
			return func(context.Context) func() { return func() {} }
		}
		r.addWaits(t, 1, 0)
		return func(ctx context.Context) func() {
			r.addWaits(t, -1, 1)
			r.rejoinSession(ctx, t)
			return sync.OnceFunc(func() { r.addWaits(t, 0, -1) })
		}
	}
}

// addWaits changes the number of open questions, and the number of answered questions whose actions
// are still running. Then it parks the turns that wait.
func (r *runningTurns) addWaits(t *activeTurn, held, active int) {
	r.mu.Lock()
	t.held += held
	t.active += active
	if held > 0 && r.draining {
		t.cancel(turn.ErrDraining)
	}
	r.mu.Unlock()
	r.parkWaiting()
	r.signalFreed()
}

// parkWaiting parks the turns that wait, within the limits.
func (r *runningTurns) parkWaiting() {
	var waiting []*activeTurn
	r.mu.Lock()
	for _, t := range r.byEvent {
		if t.held > 0 && t.active == 0 && !t.parked {
			waiting = append(waiting, t)
		}
	}
	r.mu.Unlock()
	for _, t := range waiting {
		r.parkTurn(t)
	}
}

// parkTurn lets later events of the turn's session run. Each parked turn occupies a process, so the
// number of parked turns is limited to the number of slots, of which background work may not use
// the last one. The sessions of further turns wait.
func (r *runningTurns) parkTurn(t *activeTurn) {
	t.parking.Lock()
	defer t.parking.Unlock()
	r.mu.Lock()
	parked, limit := 0, r.slots
	if t.Event.Kind != bus.Message {
		limit = max(1, limit-1)
	}
	for _, x := range r.byEvent {
		if x.parked && x.active == 0 { // an answered turn is about to end its parking
			parked++
		}
	}
	may := t.held > 0 && t.active == 0 && !t.parked && parked < limit && !r.draining
	r.mu.Unlock()
	if !may {
		return
	}
	ok, err := bus.ParkRunning(context.Background(), r.inbox, t.Event) // the turn does not depend on this write
	if err != nil {
		r.log.Warn("cannot park a waiting turn; later events of its session wait", "event", t.Event.ID, "err", err)
	}
	r.mu.Lock()
	t.parked = ok && err == nil
	r.signalChanged()
	r.mu.Unlock()
}

// rejoinSession waits until no other turn of the session runs, and ends the parking of the turn. It
// returns early if ctx ends.
func (r *runningTurns) rejoinSession(ctx context.Context, t *activeTurn) {
	for {
		r.mu.Lock()
		changed := r.changed // read before the check, so that no change is missed
		r.mu.Unlock()
		ok, err := r.unparkTurn(ctx, t)
		if ok {
			r.parkWaiting() // another turn may be parked instead
			return
		}
		retryAt := (<-chan time.Time)(nil)
		if err != nil && ctx.Err() == nil {
			r.log.Warn("cannot continue a waiting turn; trying again", "event", t.Event.ID, "err", err)
			retryAt = time.After(time.Second)
		}
		select {
		case <-changed:
		case <-retryAt:
		case <-ctx.Done():
			return
		}
	}
}

func (r *runningTurns) unparkTurn(ctx context.Context, t *activeTurn) (ok bool, err error) {
	t.parking.Lock()
	defer t.parking.Unlock()
	r.mu.Lock()
	parked := t.parked
	r.mu.Unlock()
	if !parked {
		return true, nil
	}
	if ok, err = bus.ContinueParked(ctx, r.inbox, t.Event.ID); err != nil || !ok {
		return false, err
	}
	r.mu.Lock()
	t.parked = false
	r.mu.Unlock()
	return true, nil
}

// OfferSteering passes text to the running turn in the event's session. done is nil if no turn is
// running; a parked turn does not count.
func (r *runningTurns) OfferSteering(ev bus.Event) (done <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.byEvent {
		if t.Event.Session == ev.Session && t.isQueued() && !t.parked {
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
	sorting.ByFunc(out, func(a, b bus.Event) int { return strings.Compare(a.ID, b.ID) })
	return out
}
