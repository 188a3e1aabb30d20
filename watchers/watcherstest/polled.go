package watcherstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/platform/store"
	"hob/watchers"
)

// testPolled checks the contract of polled kinds.
func (s Suite) testPolled(t *testing.T) {
	t.Run("is a polled kind", func(t *testing.T) {
		d := s.New()
		made, err := d.New(s.testSpec(s.Config(t)), s.driverDeps(Open(t, d)))
		p, ok := made.(watchers.Polled)
		if err != nil || !ok {
			t.Fatalf("New made a %T, %v", made, err)
		}
		if every := p.Every(); every != 0 && every < time.Minute {
			t.Errorf("Every() = %s, out of range", every)
		}
	})
	if s.Fail != nil {
		t.Run("reports a failing source once, and its recovery once", s.testFailingSource)
	}
}

// pollOnce creates the driver's watcher and polls it once, as the poller does.
func (s Suite) pollOnce(t *testing.T, st *store.Store, config json.RawMessage, p watchers.Progress) (watchers.Found, error) {
	t.Helper()
	made, err := s.New().New(s.testSpec(config), s.driverDeps(st))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return made.(watchers.Polled).Poll(ctx, p)
}

// testRepeatable checks that the same Progress returns the same signals again, since the first
// result may not have been stored. It also checks that the results fit into the database.
func (s Suite) testRepeatable(t *testing.T) {
	st, config := Open(t, s.New()), s.Config(t)
	s.Provoke(t, config, 0)
	begun := time.Now()
	first, err := s.pollOnce(t, st, config, watchers.Progress{Begun: begun, First: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Provoke(t, config, 1)
	p := watchers.Progress{Begun: begun, Cursor: first.Cursor}
	known := map[string]bool{}
	for _, sig := range first.Signals {
		known[sig.Key] = true
	}
	keys := func(f watchers.Found) string {
		var out []string
		for _, sig := range f.Signals {
			if !known[sig.Key] {
				out = append(out, sig.Key)
			}
		}
		return strings.Join(out, " ")
	}
	one, err1 := s.pollOnce(t, st, config, p)
	two, err2 := s.pollOnce(t, st, config, p)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if keys(one) == "" || keys(one) != keys(two) {
		t.Errorf("the same progress gave %q, then %q", keys(one), keys(two))
	}
	for _, f := range []watchers.Found{first, one} {
		if f.Cursor != nil && !json.Valid(f.Cursor) || len(f.Cursor) > 1<<20 {
			t.Errorf("a cursor of %d bytes, or not JSON: %.200s", len(f.Cursor), f.Cursor)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	made, err := s.New().New(s.testSpec(config), s.driverDeps(st))
	if err != nil {
		t.Fatal(err)
	}
	if f, err := made.(watchers.Polled).Poll(cancelled, p); err == nil && len(f.Signals) > 0 {
		t.Error("Poll succeeds although its context has ended")
	}
}

// testRestarts stops the manager at random times while events happen and the sink sometimes fails.
// Each event must fire once.
func (s Suite) testRestarts(t *testing.T) {
	const rounds = 12
	b := s.newBench(t)
	b.createWatcher()
	stop := Start(t, b.m)
	Eventually(t, "the baseline", func() bool { return b.hasBaseline() })
	for n := range rounds {
		if n%3 == 1 {
			b.sink.Fail(ErrSink)
		}
		s.Provoke(t, b.config, n+1)
		<-time.After(rand.N(40 * time.Millisecond))
		stop()
		b.sink.Fail(nil)
		b.restartManager()
		stop = Start(t, b.m)
		if s.Merges {
			Eventually(t, "the change is reported", func() bool { return len(b.sink.Fired()) > n })
		}
	}
	b.expectFired(rounds)
	stop()
}

// hasBaseline reports whether the watcher has its baseline.
func (b *bench) hasBaseline() bool {
	var based bool
	err := b.st.Reader(context.Background()).QueryRow("SELECT based FROM watcher_polls WHERE watcher = ?", b.spec.ID).Scan(&based)
	return err == nil && based
}

func (s Suite) testFailingSource(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	b := s.newBench(t)
	b.createWatcher()
	stop := Start(t, b.m)
	Eventually(t, "the baseline", func() bool { return b.hasBaseline() })
	s.Fail(t, true)
	Eventually(t, "the failure is reported", func() bool { return len(b.sink.Notices()) == 1 })
	stop()
	b.restartManager()
	stop = Start(t, b.m)
	<-time.After(300 * time.Millisecond)
	s.Provoke(t, b.config, 1)
	s.Fail(t, false)
	Eventually(t, "the recovery is reported", func() bool { return len(b.sink.Notices()) == 2 })
	b.expectFired(1)
	stop()
	var texts []string
	for _, n := range b.sink.Notices() {
		texts = append(texts, n.Text)
	}
	if len(texts) != 2 || !strings.Contains(texts[0], "problem") || !strings.Contains(texts[1], "works again") {
		t.Errorf("reported %q", texts)
	}
	if got, err := b.m.Get(context.Background(), b.spec.ID); err != nil || got.LastError != "" || got.Fired != 1 {
		t.Errorf("afterwards %s", fmt.Sprint(got, err))
	}
}
