package watchers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"hob/knowledge/store"
)

// The pace of restarts.
const (
	firstBackoff = time.Second
	maxBackoff   = 5 * time.Minute
	// healthyAfter is how long a restarted watcher must work before its last
	// error counts as over.
	healthyAfter = time.Minute
)

// backoff is the wait before try n+1: doubling, with half of it random.
func backoff(n int) time.Duration {
	d := maxBackoff
	if n < 10 {
		d = min(firstBackoff<<max(n-1, 0), maxBackoff)
	}
	return d/2 + rand.N(d/2+1)
}

// runner is one event-driven watcher at work.
type runner struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *runner) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// start runs a watcher in its own goroutine, after the one it replaces ended.
func (l *loop) start(ctx context.Context, spec Spec) {
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
		l.m.supervise(ctx, spec, told)
	})
}

// supervise runs a watcher again and again until ctx ends or it is broken.
func (m *Manager) supervise(ctx context.Context, spec Spec, told *told) {
	for fails := 0; ctx.Err() == nil; {
		started := time.Now()
		err := m.attempt(ctx, spec, told, fails > 0 || told.any())
		switch {
		case ctx.Err() != nil || errors.Is(err, errGone):
			return
		case errors.Is(err, ErrPermanent):
			m.breakDown(ctx, spec, err)
			return
		case err == nil:
			err = fmt.Errorf("the %s watcher stopped without saying why", spec.Kind)
		}
		if time.Since(started) >= healthyAfter {
			fails = 0
		}
		fails++
		m.trouble(ctx, told, spec.ID, err)
		wait := time.NewTimer(backoff(fails))
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
}

// attempt is one life of a watcher. A panic in a driver is an error of it.
func (m *Manager) attempt(ctx context.Context, spec Spec, told *told, failed bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			m.opt.Log.Error("watcher panicked", "watcher", spec.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("the %s watcher crashed: %v", spec.Kind, p)
		}
	}()
	made, err := m.buildWith(spec, m.reporter(told))
	if err != nil {
		return err
	}
	if failed {
		well := time.AfterFunc(healthyAfter, func() { m.recovered(spec.ID, told) })
		defer well.Stop()
	}
	w, ok := made.(Watcher)
	if !ok { // it could not be made at first, and is of another nature
		m.mark(spec.ID, true)
		return errGone
	}
	return w.Run(ctx, func(ctx context.Context, signals []Signal, save func(*store.Tx) error) error {
		return m.commit(ctx, spec, signals, save)
	})
}

// reporter is what a watcher calls that goes on, but not with everything.
func (m *Manager) reporter(told *told) func(context.Context, string, error) {
	return func(ctx context.Context, id string, err error) {
		if err == nil {
			if told.mended() {
				m.recovered(id, told)
			}
			return
		}
		told.keep()
		m.trouble(ctx, told, id, err)
	}
}

// commit saves a watcher's progress with its signals, of which it keeps what may
// still fire today, unless it was cancelled or paused meanwhile.
func (m *Manager) commit(ctx context.Context, spec Spec, signals []Signal, save func(*store.Tx) error) error {
	p, err := selectPoll(m.opt.Store.Reader(ctx), spec.ID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	now := time.Now()
	run, hold := m.admit(spec, m.limit(spec, &p, signals, now), now)
	fired, at := firing(run, now)
	err = m.fireWith(ctx, spec.ID, run, func(tx *store.Tx) error {
		err := one(tx.Exec("UPDATE watchers SET fired = fired + ?, fired_at = max(fired_at, ?) WHERE id = ? AND state = ?",
			fired, at, spec.ID, string(Active)))
		if err == nil && len(signals) > 0 {
			err = errors.Join(p.count(tx), m.holdTx(tx, spec.ID, hold))
		}
		if err == nil {
			err = m.keepSilences(tx, spec.ID)
		}
		if err != nil {
			return err
		}
		return save(tx)
	})
	if errors.Is(err, ErrNotFound) {
		return errGone
	}
	return err
}

// recovered makes the loop forget a watcher's last error.
func (m *Manager) recovered(id string, told *told) {
	if !told.reset() {
		return
	}
	m.mu.Lock()
	if m.running {
		m.healthy[id] = true
	}
	m.mu.Unlock()
	m.nudge()
}

// trouble logs an error and tells the owner once per kind of error.
func (m *Manager) trouble(ctx context.Context, told *told, id string, err error) {
	if ctx.Err() != nil {
		return
	}
	m.opt.Log.Warn("watcher in trouble", "watcher", id, "err", err)
	if !told.first(err) {
		return
	}
	m.setError(ctx, id, err.Error())
	m.opt.Sink.Trouble(ctx, id, err)
}

// breakDown stops a watcher for good.
func (m *Manager) breakDown(ctx context.Context, spec Spec, cause error) {
	if cause == nil {
		cause = fmt.Errorf("%w: its stored form does not fit its kind", ErrPermanent)
	}
	m.opt.Log.Error("watcher broken", "watcher", spec.ID, "err", cause)
	err := m.opt.Store.Write(ctx, func(tx *store.Tx) error {
		return one(tx.Exec("UPDATE watchers SET state = ?, last_error = ? WHERE id = ? AND state = ?",
			string(Broken), cause.Error(), spec.ID, string(Active)))
	})
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errGone) {
			m.opt.Log.Error("broken watcher not recorded", "watcher", spec.ID, "err", err)
		}
		return
	}
	m.opt.Sink.Trouble(ctx, spec.ID, cause)
}

func (m *Manager) setError(ctx context.Context, id, text string) {
	err := m.opt.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec("UPDATE watchers SET last_error = ? WHERE id = ?", text, id)
		return err
	})
	if err != nil && ctx.Err() == nil {
		m.opt.Log.Error("state of watcher not recorded", "watcher", id, "err", err)
	}
}

// told remembers which kinds of errors of one watcher the owner knows.
type told struct {
	mu      sync.Mutex
	kinds   map[string]bool
	stored  string // error of an earlier process, which was told then
	partial bool   // something does not work although the watcher runs
	lost    int    // how often in a row what was found could not be kept
}

func newTold(stored string) *told { return &told{kinds: map[string]bool{}, stored: stored} }

// first reports whether an error is of a kind that was not told yet.
func (t *told) first(err error) bool {
	kind := kindOf(err)
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.kinds[kind] || err.Error() == t.stored
	t.kinds[kind] = true
	return !known
}

func (t *told) any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.kinds) > 0 || t.stored != ""
}

func (t *told) keep() {
	t.mu.Lock()
	t.partial = true
	t.mu.Unlock()
}

// unkept counts what could not be kept, kept ends the row.
func (t *told) unkept() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost++
	return t.lost
}

func (t *told) kept() {
	t.mu.Lock()
	t.lost = 0
	t.mu.Unlock()
}

// reset forgets the errors, unless something still does not work.
func (t *told) reset() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.partial {
		return false
	}
	clear(t.kinds)
	t.stored = ""
	return true
}

// mended notes that everything works again, and reports whether that is news.
func (t *told) mended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.partial = false
	return len(t.kinds) > 0 || t.stored != ""
}

// kindOf names the root of an error without what changes from one to the next,
// such as a path.
func kindOf(err error) string {
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
