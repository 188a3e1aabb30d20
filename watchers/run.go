package watchers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"hob/platform/store"
)

// keepDone is the time after which a finished watcher is removed from the list.
const keepDone = 90 * 24 * time.Hour

// loop is the state of one Run. Its goroutine owns the clock. It starts and stops the event-driven
// watchers, each of which runs in a separate goroutine.
type loop struct {
	m       *Manager
	clock   *clock
	running map[string]*runner
	wg      sync.WaitGroup
	zone    *time.Location
	looked  time.Time // time of the last check of the clock
	told    map[string]*reportedErrors
	poller  *poller
	held    map[string]activeHours // active hours of the watchers with deferred signals
	known   map[string]string      // what the active rows asked for when they were started
}

// Run runs the watchers until ctx ends. It returns when all watchers have ended. Only one Run at a
// time is allowed.
func (m *Manager) Run(ctx context.Context) error {
	if m.opt.Sink == nil {
		return errors.New("watchers: run: sink is missing")
	}
	m.mu.Lock()
	if m.running {
		m.mu.Unlock()
		return errors.New("watchers: already running")
	}
	m.running = true
	m.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	l := &loop{m: m, clock: newClock(), running: map[string]*runner{}, zone: m.opt.Zone(), looked: time.Now(), told: map[string]*reportedErrors{}, poller: newPoller(m), held: map[string]activeHours{}, known: map[string]string{}}
	defer func() {
		cancel()
		l.wg.Wait()
		m.flushSilences(ctx)
		m.mu.Lock()
		m.running, m.poller = false, nil
		clear(m.dirty)
		clear(m.healthy)
		clear(m.holding)
		m.mu.Unlock()
	}()
	if err := l.loadActive(ctx); err != nil {
		if ctx.Err() != nil { // canceled before the start
			return nil
		}
		return err
	}
	m.mu.Lock()
	m.poller = l.poller
	m.mu.Unlock()
	l.wg.Go(func() { l.poller.runPoller(ctx) })
	l.runLoop(ctx)
	return nil
}

func (l *loop) runLoop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.m.wake:
		case <-timer.C:
		}
		again := l.applyChanges(ctx)
		wait := l.runDue(ctx)
		if open := l.fireDeferred(ctx, time.Now()); open >= 0 && (wait < 0 || open < wait) {
			wait = open
		}
		if again > 0 && (wait < 0 || again < wait) {
			wait = again
		}
		if timer.Stop(); wait >= 0 {
			timer.Reset(wait)
		}
	}
}

func (l *loop) loadActive(ctx context.Context) error { return l.loadAt(ctx, time.Now()) }

func (l *loop) loadAt(ctx context.Context, now time.Time) error {
	if err := l.pruneDone(ctx); err != nil {
		return err
	}
	rows, err := l.m.selectRows(l.m.opt.Store.Reader(ctx), " WHERE state = ?", string(Active))
	if err != nil {
		return err
	}
	for _, r := range rows {
		l.startRow(ctx, r)
	}
	l.moveTimers(ctx, now)
	l.rebaseClock(ctx, now)
	return l.loadDeferred(ctx)
}

func (l *loop) pruneDone(ctx context.Context) error {
	return l.m.opt.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec("DELETE FROM watchers WHERE state = ? AND fired_at < ?", string(Done), store.Millis(time.Now().Add(-keepDone)))
		return err
	})
}

// applyChanges processes changed rows. It returns 0, or the time to wait before a retry if the
// database could not be read.
func (l *loop) applyChanges(ctx context.Context) time.Duration {
	l.m.mu.Lock()
	foreign := l.m.foreign
	l.m.foreign = false
	l.m.mu.Unlock()
	if foreign {
		l.findForeignChanges(ctx)
	}
	l.m.mu.Lock()
	ids := maps.Clone(l.m.dirty)
	well := slices.Collect(maps.Keys(l.m.healthy))
	holding := slices.Collect(maps.Keys(l.m.holding))
	clear(l.m.dirty)
	clear(l.m.healthy)
	clear(l.m.holding)
	l.m.mu.Unlock()
	for _, id := range well {
		l.m.setError(ctx, id, "")
	}
	for _, id := range holding {
		l.updateDeferred(ctx, id)
	}
	maps.DeleteFunc(l.running, func(_ string, r *runner) bool { return r.hasEnded() })
	var again time.Duration
	for id, restart := range ids {
		if _, holds := l.held[id]; holds {
			l.updateDeferred(ctx, id)
		}
		if (l.running[id] != nil || l.poller.hasWatcher(id)) && !restart {
			continue
		}
		r, err := l.m.selectRow(l.m.opt.Store.Reader(ctx), id)
		switch {
		case err == nil && r.State == Active:
			l.startRow(ctx, r)
		case err == nil || errors.Is(err, ErrNotFound):
			l.stopWatcher(id)
			delete(l.told, id)
		case ctx.Err() == nil:
			l.m.opt.Log.Error("watcher not read, retrying", "watcher", id, "err", err)
			l.m.markDirty(id, restart)
			again = time.Second
		}
	}
	return again
}

// findForeignChanges marks the rows that another process added, changed or ended.
func (l *loop) findForeignChanges(ctx context.Context) {
	rows, err := l.m.selectRows(l.m.opt.Store.Reader(ctx), " WHERE state = ?", string(Active))
	if err != nil {
		if ctx.Err() == nil {
			l.m.opt.Log.Warn("changes of watchers by other instances not read", "err", err)
		}
		return // the next write of another process leads here again
	}
	active := map[string]bool{}
	for _, r := range rows {
		active[r.ID] = true
		t := l.clock.byID[r.ID]
		if l.known[r.ID] != requestOf(r.Spec) || t != nil && !t.next.Equal(r.NextAt) {
			l.m.markDirty(r.ID, true)
		}
	}
	for id := range l.known {
		if !active[id] {
			l.m.markDirty(id, true)
		}
	}
}

// requestOf returns the parts of a watcher that only a request changes.
func requestOf(s Spec) string {
	return fmt.Sprint(s.Kind, s.Mode, s.Action, s.Missed, string(s.Config), s.PollPolicy)
}

func (l *loop) stopWatcher(id string) {
	delete(l.known, id)
	l.clock.removeTimer(id)
	l.poller.removeWatcher(id)
	if r, ok := l.running[id]; ok {
		r.cancel()
	}
}

// startRow starts or restarts the watcher of an active row.
func (l *loop) startRow(ctx context.Context, r row) {
	l.stopWatcher(r.ID)
	l.known[r.ID] = requestOf(r.Spec)
	if l.told[r.ID] == nil {
		l.told[r.ID] = newTold(r.LastError)
	}
	made, err := l.m.buildWatcher(r.Spec)
	if timed, ok := made.(Timed); ok && err == nil && !r.NextAt.IsZero() {
		l.clock.setTimer(&timer{spec: r.Spec, timed: timed, next: r.NextAt, last: r.lastAt, zone: l.zoneOf(r)})
		return
	}
	if _, ok := made.(MessageWatcher); ok && err == nil {
		return // message watchers only run when a message arrives
	}
	if polled, ok := made.(Polled); ok && err == nil {
		l.schedulePoll(ctx, r, polled)
		return
	}
	if _, timed := made.(Timed); !timed && r.NextAt.IsZero() && !errors.Is(err, ErrPermanent) {
		l.startRunner(ctx, r.Spec) // start it even if New failed, because superviseWatcher calls New again
		return
	}
	l.m.markBroken(ctx, r.Spec, err)
}

// schedulePoll adds a watcher to the poller. A watcher without a baseline is polled immediately.
func (l *loop) schedulePoll(ctx context.Context, r row, made Polled) {
	p, err := selectPoll(l.m.opt.Store.Reader(ctx), r.ID)
	checked, perr := r.PollPolicy.parsePace()
	if perr != nil || errors.Is(err, ErrNotFound) {
		l.m.markBroken(ctx, r.Spec, fmt.Errorf("%w: %w", ErrPermanent, errors.Join(err, perr)))
		return
	}
	due := time.Now().Round(0)
	switch {
	case err != nil: // the first poll reads the row again
		due = due.Add(firstRetry)
	case p.based || p.fails > 0:
		due = l.poller.spreadStart(l.m.pollInterval(made, r.Spec)).Round(0)
	}
	if most := time.Now().Add(longestWish); p.notBefore.Before(most) { // ignore a later time, which was computed with a wrong clock
		due = laterOf(due, p.notBefore)
	}
	e := &pollEntry{id: r.ID, hours: checked.hours, due: due, told: l.told[r.ID]}
	if g, ok := made.(Grouped); ok {
		e.group = g.Group()
	}
	if t, ok := made.(TopicPolled); ok {
		e.topic = t.Topic()
	}
	l.poller.scheduleWatcher(e)
}

// runDue fires the due watchers. It returns the time to sleep, or -1 to sleep until a row changes.
func (l *loop) runDue(ctx context.Context) time.Duration {
	now := time.Now()
	jump := clockJump(l.looked, now)
	l.looked = now
	l.runAt(ctx, now, jump)
	return l.clock.sleepTime(time.Now())
}

// runAt runs the work that is due at now. jump is the movement of the wall clock beyond the time
// elapsed since the last check.
func (l *loop) runAt(ctx context.Context, now time.Time, jump time.Duration) {
	l.compareClock(ctx, now, jump)
	for t := l.clock.firstDue(now); t != nil && ctx.Err() == nil; t = l.clock.firstDue(now) {
		l.fireTimer(ctx, t, now)
	}
}

// compareClock handles a jump of the wall clock and a change of the zone.
func (l *loop) compareClock(ctx context.Context, now time.Time, jump time.Duration) {
	if jump > smallJump || jump < -smallJump {
		l.m.opt.Log.Info("wall clock jumped", "by", jump.Round(time.Second).String())
		l.poller.wakePoller()
	}
	if zone := l.m.opt.Zone(); !sameZone(zone, l.zone) {
		l.m.opt.Log.Info("time zone changed", "from", l.zone.String(), "to", zone.String())
		l.zone = zone
	}
	l.moveTimers(ctx, now)
	if jump < -smallJump {
		l.rebaseClock(ctx, now)
	}
}

func (l *loop) rebaseClock(ctx context.Context, now time.Time) {
	changed := l.clock.rebaseTimers(now)
	if len(changed) == 0 {
		return
	}
	err := l.m.opt.Store.Write(ctx, func(tx *store.Tx) error { return saveTimes(tx, changed) })
	if err != nil && ctx.Err() == nil { // the next start recomputes the times
		l.m.opt.Log.Error("new times of watchers not saved", "err", err)
	}
}

// fireTimer runs the due occurrences of one timed watcher.
func (l *loop) fireTimer(ctx context.Context, t *timer, now time.Time) {
	var b dueBatch
	zone := l.m.inOneZone(func() { b = planBatch(t.timed, t.spec.Missed, t.next, now) })
	gone := false
	save := func(tx *store.Tx) error {
		err := b.saveBatch(tx, t, now, zone)
		gone = errors.Is(err, errGone)
		return err
	}
	var err error
	if signals := b.batchSignals(l.m.noticeLabel(t.spec), t.spec, now, zone); len(signals) > 0 {
		err = l.m.opt.Sink.Fire(ctx, t.spec.ID, signals, save)
	} else { // the user excluded the occurrence
		err = l.m.opt.Store.Write(ctx, save)
	}
	id := t.spec.ID
	switch {
	case err == nil:
		t.next, t.last, t.zone, t.retry, t.fails = b.next, b.last, zone, time.Time{}, 0
		l.told[id].resetErrors()
		if b.next.IsZero() {
			l.clock.removeTimer(id)
			delete(l.told, id)
			return
		}
	case gone || errors.Is(err, ErrNotFound):
		l.clock.removeTimer(id)
		l.m.markDirty(id, true)
		return
	default:
		t.fails++
		t.retry = now.Add(restartBackoff().Delay(t.fails))
		l.m.reportTrouble(ctx, l.told[id], id, err)
	}
	l.clock.fixTimer(t)
}

// saveBatch stores the times that the batch handled. It runs in the transaction of the signals.
func (b dueBatch) saveBatch(tx *store.Tx, t *timer, now time.Time, zone *time.Location) error {
	state, firedAt := Active, store.Millis(t.spec.FiredAt)
	if b.next.IsZero() {
		state = Done
	}
	if len(b.run) > 0 || state == Done {
		firedAt = store.Millis(now)
	}
	return requireRow(tx.Exec(`UPDATE watchers SET next_at = ?, last_at = ?, zone = ?, state = ?, fired = fired + ?, fired_at = max(fired_at, ?), last_error = ''
		WHERE id = ? AND state = ? AND next_at = ?`,
		store.Millis(b.next), store.Millis(b.last), zone.String(), string(state), len(b.run), firedAt, t.spec.ID, string(Active), store.Millis(t.next)))
}
