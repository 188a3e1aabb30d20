package watchers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"hob/platform/retry"
	"hob/platform/store"
)

// healthyAfter is the time for which a restarted watcher must run before its last error is cleared.
const healthyAfter = time.Minute

// restartBackoff returns the backoff for restarts: 1 s, 2 s, 4 s and so on up to 5 min. Half of
// each wait is random.
func restartBackoff() retry.Backoff {
	return retry.Backoff{First: time.Second, Max: 5 * time.Minute, Jitter: 0.5}
}

// runner is one running event-driven watcher.
type runner struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *runner) hasEnded() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// startRunner runs a watcher in its own goroutine. It waits until the previous goroutine of this
// watcher has ended.
func (l *loop) startRunner(ctx context.Context, spec Spec) {
	ctx, cancel := context.WithCancel(ctx)
	r := &runner{cancel: cancel, done: make(chan struct{})}
	before, told := l.running[spec.ID], l.told[spec.ID]
	l.running[spec.ID] = r
	l.wg.Go(func() {
		defer close(r.done)
		defer cancel()
		if before != nil {
			<-before.done
		}
		l.m.superviseWatcher(ctx, spec, told)
	})
}

// superviseWatcher restarts a watcher until ctx ends or the watcher is broken.
func (m *Manager) superviseWatcher(ctx context.Context, spec Spec, told *reportedErrors) {
	s := retry.Supervisor{
		Backoff: restartBackoff(), Healthy: healthyAfter,
		Failed: func(err error, delay time.Duration) (time.Duration, bool) {
			if errors.Is(err, ErrPermanent) {
				m.markBroken(ctx, spec, err)
				return 0, false
			}
			if p, ok := errors.AsType[*retry.PanicError](err); ok {
				m.logPanic(spec, p)
				err = fmt.Errorf("the %s watcher crashed: %v", spec.Kind, p.Value)
			}
			m.reportTrouble(ctx, told, spec.ID, err)
			return delay, true
		},
	}
	err := s.Run(ctx, func(ctx context.Context) error { // markBroken reports the error
		err := m.runOnce(ctx, spec, told)
		if errors.Is(err, errGone) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("the %s watcher stopped without an error", spec.Kind)
		}
		return err
	})
	if p, ok := errors.AsType[*retry.PanicError](err); ok && ctx.Err() != nil {
		m.logPanic(spec, p)
	}
}

func (m *Manager) logPanic(spec Spec, p *retry.PanicError) {
	m.opt.Log.Error("watcher panicked", "watcher", spec.ID, "panic", fmt.Sprint(p.Value), "stack", string(p.Stack))
}

// runOnce runs a watcher once.
func (m *Manager) runOnce(ctx context.Context, spec Spec, told *reportedErrors) error {
	made, err := m.buildWith(spec, m.troubleReporter(told))
	if err != nil {
		return err
	}
	if told.hasErrors() {
		well := time.AfterFunc(healthyAfter, func() { m.clearError(spec.ID, told) })
		defer well.Stop()
	}
	w, ok := made.(Watcher)
	if !ok { // New failed before and has now returned a watcher that is not event-driven; the loop restarts it
		m.markDirty(spec.ID, true)
		return errGone
	}
	return w.Run(ctx, func(ctx context.Context, signals []Signal, save func(*store.Tx) error) error {
		return m.commitSignals(ctx, spec, signals, save)
	})
}

// troubleReporter returns the function with which a watcher reports that only a part of it works.
func (m *Manager) troubleReporter(told *reportedErrors) func(context.Context, string, error) {
	return func(ctx context.Context, id string, err error) {
		if err == nil {
			if told.markRecovered() {
				m.clearError(id, told)
			}
			return
		}
		told.keepPartial()
		m.reportTrouble(ctx, told, id, err)
	}
}

// commitSignals stores a watcher's progress together with the signals that may still fire today. It
// fails if the watcher was canceled or paused in the meantime.
func (m *Manager) commitSignals(ctx context.Context, spec Spec, signals []Signal, save func(*store.Tx) error) error {
	p, err := selectPoll(m.opt.Store.Reader(ctx), spec.ID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	now := time.Now()
	run, hold := m.splitByHours(spec, m.limitPerDay(spec, &p, signals, now), now)
	err = m.commitFiring(ctx, spec.ID, firing{signals: run, at: now, save: func(tx *store.Tx) error {
		if len(signals) > 0 {
			if err := errors.Join(p.saveDayCount(tx), m.holdTx(tx, spec.ID, hold)); err != nil {
				return err
			}
		}
		if err := m.writeSilences(tx, spec.ID); err != nil {
			return err
		}
		return save(tx)
	}})
	if errors.Is(err, ErrNotFound) {
		return errGone
	}
	return err
}

// clearError makes the loop clear a watcher's last error.
func (m *Manager) clearError(id string, told *reportedErrors) {
	if !told.resetErrors() {
		return
	}
	m.mu.Lock()
	if m.running {
		m.healthy[id] = true
	}
	m.mu.Unlock()
	m.wakeLoop()
}

// reportTrouble logs an error. It notifies the user once per kind of error.
func (m *Manager) reportTrouble(ctx context.Context, told *reportedErrors, id string, err error) {
	if ctx.Err() != nil {
		return
	}
	m.opt.Log.Warn("watcher failed", "watcher", id, "err", err)
	if !told.isNew(err) {
		return
	}
	m.setError(ctx, id, err.Error())
	m.opt.Sink.ReportError(ctx, id, err)
}

// markBroken stops a watcher until the user resumes it.
func (m *Manager) markBroken(ctx context.Context, spec Spec, cause error) {
	if cause == nil {
		cause = fmt.Errorf("%w: the stored data does not match this kind of watcher", ErrPermanent)
	}
	m.opt.Log.Error("watcher broken", "watcher", spec.ID, "err", cause)
	err := m.opt.Store.Write(ctx, func(tx *store.Tx) error {
		return requireRow(tx.Exec("UPDATE watchers SET state = ?, last_error = ? WHERE id = ? AND state = ?",
			string(Broken), cause.Error(), spec.ID, string(Active)))
	})
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errGone) {
			m.opt.Log.Error("broken state not recorded", "watcher", spec.ID, "err", err)
		}
		return
	}
	m.opt.Sink.ReportError(ctx, spec.ID, cause)
}

func (m *Manager) setError(ctx context.Context, id, text string) {
	err := m.opt.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec("UPDATE watchers SET last_error = ? WHERE id = ?", text, id)
		return err
	})
	if err != nil && ctx.Err() == nil {
		m.opt.Log.Error("watcher state not recorded", "watcher", id, "err", err)
	}
}

// reportedErrors records which kinds of errors of one watcher were reported to the user.
type reportedErrors struct {
	mu      sync.Mutex
	kinds   map[string]bool
	stored  string // last error that a previous process reported
	partial bool   // the watcher is running, but only a part of it works
	lost    int    // consecutive failures to store results
}

func newTold(stored string) *reportedErrors {
	return &reportedErrors{kinds: map[string]bool{}, stored: stored}
}

// isNew reports whether no error of the same kind was reported before, and records err.
func (t *reportedErrors) isNew(err error) bool {
	kind := errorKind(err)
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.kinds[kind] || err.Error() == t.stored
	t.kinds[kind] = true
	return !known
}

func (t *reportedErrors) hasErrors() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.kinds) > 0 || t.stored != ""
}

func (t *reportedErrors) keepPartial() {
	t.mu.Lock()
	t.partial = true
	t.mu.Unlock()
}

// countLost counts a failure to store results. The method kept resets the count.
func (t *reportedErrors) countLost() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost++
	return t.lost
}

func (t *reportedErrors) clearLost() {
	t.mu.Lock()
	t.lost = 0
	t.mu.Unlock()
}

// resetErrors forgets the recorded errors, unless only a part of the watcher works.
func (t *reportedErrors) resetErrors() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.partial {
		return false
	}
	clear(t.kinds)
	t.stored = ""
	return true
}

// markRecovered records that all parts of the watcher work again. It reports whether an error had
// been reported.
func (t *reportedErrors) markRecovered() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.partial = false
	return len(t.kinds) > 0 || t.stored != ""
}

// errorKind returns the root cause of an error without variable parts such as paths.
func errorKind(err error) string {
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return n.Error()
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
