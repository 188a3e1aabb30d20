package watchers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/watchers"
	"hob/watchers/cron"
	"hob/watchers/oneshot"
	"hob/watchers/watcherstest"
)

// scriptedKind is an event-driven kind whose runs a test controls.
type scriptedKind struct {
	mu    sync.Mutex
	lives int
	live  func(ctx context.Context, n int, deps watchers.Deps, fire func(context.Context, []watchers.Signal, func(*store.Tx) error) error) error
	check func(watchers.Spec) error
}

func (*scriptedKind) Describe() watchers.Description { return watchers.Description{Kind: "scripted"} }

func (*scriptedKind) DescribeConfig(c json.RawMessage) string { return "scripted things " + string(c) }
func (*scriptedKind) Migrations() []store.MigrationSet        { return nil }

func (s *scriptedKind) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	if s.check != nil {
		if err := s.check(spec); err != nil {
			return nil, err
		}
	}
	return scriptedRun{s, deps}, nil
}

func (s *scriptedKind) countRuns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lives
}

type scriptedRun struct {
	s    *scriptedKind
	deps watchers.Deps
}

func (l scriptedRun) Run(ctx context.Context, fire func(context.Context, []watchers.Signal, func(*store.Tx) error) error) error {
	l.s.mu.Lock()
	l.s.lives++
	n := l.s.lives
	l.s.mu.Unlock()
	return l.s.live(ctx, n, l.deps, fire)
}

// managerFixture is a database with a manager that can be started and stopped.
type managerFixture struct {
	t       testing.TB
	st      *store.Store
	sink    *watcherstest.Sink
	drivers []watchers.Driver
	m       *watchers.Manager
	mu      sync.Mutex
	loc     *time.Location
	stop    func()
	dayOff  func(time.Time) bool
}

func newFixture(t testing.TB, more ...watchers.Driver) *managerFixture {
	h := &managerFixture{t: t, loc: time.UTC, drivers: append([]watchers.Driver{cron.New(), oneshot.New()}, more...)}
	h.st = watcherstest.Open(t, h.drivers...)
	h.sink = watcherstest.NewSink(h.st)
	h.restartManager(0)
	return h
}

// restartManager creates a new manager, as a new process does.
func (h *managerFixture) restartManager(limit int) {
	m, err := watchers.New(watchers.Options{
		Store: h.st, Drivers: h.drivers, Sink: h.sink, Log: slog.New(slog.DiscardHandler), Zone: h.currentZone, Max: limit,
		AllowedRead: func(string) error { return nil }, DayOff: h.dayOff,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.m = m
}

func (h *managerFixture) currentZone() *time.Location {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.loc
}

func (h *managerFixture) travelTo(loc *time.Location) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loc = loc
}

func (h *managerFixture) startManager() {
	h.restartManager(0)
	h.stop = watcherstest.Start(h.t, h.m)
}

func (h *managerFixture) createWatcher(kind, config string, change ...func(*watchers.Spec)) watchers.Spec {
	h.t.Helper()
	s := watchers.Spec{Kind: kind, Config: json.RawMessage(config), Report: "main", Provenance: provenance.Owner}
	for _, f := range change {
		f(&s)
	}
	return watcherstest.Create(h.t, h.st, h.m, s)
}

func (h *managerFixture) writeTx(fn func(*store.Tx) error) error {
	return h.st.Write(context.Background(), fn)
}

func (h *managerFixture) getSpec(id string) watchers.Spec {
	h.t.Helper()
	s, err := h.m.Get(context.Background(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *managerFixture) listKeys() []string {
	var out []string
	for _, f := range h.sink.Fired() {
		out = append(out, f.Key)
	}
	return out
}

func (h *managerFixture) listTexts() []string {
	var out []string
	for _, f := range h.sink.Fired() {
		out = append(out, f.Text)
	}
	return out
}

func timeIn(d time.Duration) string {
	return fmt.Sprintf(`{"at":%q}`, time.Now().Add(d).UTC().Format(time.RFC3339))
}

func withReminder(text string) func(*watchers.Spec) {
	return func(s *watchers.Spec) { s.Mode, s.Action = watchers.Remind, text }
}

func withPolicy(p watchers.MisfirePolicy) func(*watchers.Spec) {
	return func(s *watchers.Spec) { s.Missed = p }
}

func loadZone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}
