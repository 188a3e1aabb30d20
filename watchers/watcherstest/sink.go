// Package watcherstest contains the conformance suite for all kinds of watchers (Run), and the
// sink, store and wait helpers that tests of watchers share. Only tests import it.
package watcherstest

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/watchers"
)

// ErrSink is the error of a Sink that is set to fail.
var ErrSink = errors.New("the sink is set to fail")

// Fired is one signal that a Sink received.
type Fired struct {
	Watcher string
	watchers.Signal
}

// Sink is a watchers.Sink that commits to a real store and records committed signals. It drops
// repeated keys, as the contract requires.
type Sink struct {
	store *store.Store

	mu       sync.Mutex
	fail     error
	calls    int
	fired    []Fired
	keys     map[string]bool
	troubles []error
	moves    []watchers.ZoneChange
}

// NewSink returns a sink over the store.
func NewSink(st *store.Store) *Sink { return &Sink{store: st, keys: map[string]bool{}} }

// Fire implements watchers.Sink.
func (s *Sink) Fire(ctx context.Context, watcher string, signals []watchers.Signal, save func(*store.Tx) error) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		s.mu.Lock()
		fail := s.fail
		s.calls++
		s.mu.Unlock()
		// save the progress first, so that a failure must roll it back
		if err := save(tx); err != nil {
			return err
		}
		if fail != nil {
			return fail
		}
		s.TakeTx(tx, watcher, signals...)
		return nil
	})
}

// TakeTx records signals once the transaction is committed.
func (s *Sink) TakeTx(tx *store.Tx, watcher string, signals ...watchers.Signal) {
	tx.AfterCommit(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, sig := range signals {
			if k := watcher + "\x00" + sig.Key; !s.keys[k] {
				s.keys[k] = true
				s.fired = append(s.fired, Fired{watcher, sig})
			}
		}
	})
}

// Moved implements watchers.ZoneChangeSink.
func (s *Sink) Moved(ctx context.Context, move watchers.ZoneChange, save func(*store.Tx) error) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		if err := save(tx); err != nil {
			return err
		}
		tx.AfterCommit(func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.moves = append(s.moves, move)
		})
		return nil
	})
}

// Moves returns the reported zone changes.
func (s *Sink) Moves() []watchers.ZoneChange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.moves)
}

// ReportError implements watchers.Sink.
func (s *Sink) ReportError(_ context.Context, _ string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.troubles = append(s.troubles, err)
}

// Fail makes all calls of Fire fail with err. If err is nil, they succeed again.
func (s *Sink) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// Fired returns the committed signals, except for notices.
func (s *Sink) Fired() []Fired { return s.selectFired(false) }

// Notices returns the notices about watchers themselves.
func (s *Sink) Notices() []Fired { return s.selectFired(true) }

func (s *Sink) selectFired(notices bool) []Fired {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.fired), func(f Fired) bool { return f.Notice != notices })
}

// Calls returns the number of calls of Fire, including failed ones.
func (s *Sink) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Troubles returns the reported errors.
func (s *Sink) Troubles() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.troubles)
}

// Open creates a database in its own folder with the tables of the manager and the drivers. It
// closes the database at the end of the test.
func Open(t testing.TB, drivers ...watchers.Driver) *store.Store {
	t.Helper()
	st, err := storetest.Open(context.Background(), filepath.Join(t.TempDir(), "hob.db"), watchers.AllMigrations(drivers), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// Options returns the options of a manager that uses the store. Folders and firings are not
// limited.
func Options(st *store.Store, sink watchers.Sink, drivers ...watchers.Driver) watchers.Options {
	return watchers.Options{
		Store: st, Drivers: drivers, Sink: sink, Log: slog.New(slog.DiscardHandler),
		AllowedRead: func(string) error { return nil }, MinEvery: 10 * time.Millisecond, PerDay: 100_000,
	}
}

// Start runs the manager. stop cancels Run and waits until it has ended.
func Start(t testing.TB, m *watchers.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("Run did not return after its context ended")
		}
	})
	t.Cleanup(stop)
	return stop
}

// Create stores a watcher.
func Create(t testing.TB, st *store.Store, m *watchers.Manager, spec watchers.Spec) watchers.Spec {
	t.Helper()
	var out watchers.Spec
	err := st.Write(context.Background(), func(tx *store.Tx) (err error) {
		out, err = m.CreateTx(tx, spec)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Eventually waits for at most 10 s until cond returns true.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !holdsWithin(10*time.Second, cond) {
		t.Fatalf("did not happen: %s", what)
	}
}

// holdsWithin polls cond until it returns true or d has elapsed. It reports whether cond returned
// true.
func holdsWithin(d time.Duration, cond func() bool) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if cond() {
			return true
		}
		select {
		case <-deadline.C:
			return cond()
		case <-tick.C:
		}
	}
}
