package watcherstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/store"
	"hob/watchers"
)

// Suite describes a kind of watcher for Run.
type Suite struct {
	// New creates a new driver, as a new process does.
	New func() watchers.Driver
	// Config returns a valid configuration. Each configuration needs a separate source of events,
	// because watchers are tested at the same time. Watched files are in t.TempDir(). Config is not
	// called concurrently.
	Config func(t *testing.T) json.RawMessage
	// Bad lists configurations that must be rejected. An unknown key is always tested.
	Bad []string

	// Provoke causes the n-th event, which must fire exactly once. It is for event-driven kinds. n
	// starts at 0. Event 0 happens before the watcher exists, by more than the resolution of file
	// times, and must never fire.
	Provoke func(t *testing.T, config json.RawMessage, n int)

	// Heard returns the n-th message. It is for message watchers.
	Heard func(n int) watchers.Message

	// Polled marks a polled kind. Timeless means that its source has no times, so that events
	// before the first Poll are not new. Fail turns errors of the source on and off; a polled kind
	// should set it. Network and Secret are passed to the driver.
	Polled   bool
	Timeless bool
	Fail     func(t *testing.T, on bool)
	Network  *safehttp.Client
	Secret   func(ref string) (string, error)
	// Account is also passed to the driver.
	Account func(name, server string) (pim.Account, error)
	// Merges means that two events between two polls fire once, such as two changes of a page.
	Merges bool
	// Resources is also passed to the driver.
	Resources watchers.Resources
	// Search is also passed to the driver.
	Search watchers.SearchFunc
}

// Run checks a driver against the contract.
func Run(t *testing.T, s Suite) {
	t.Run("refuses bad configurations", s.testRefuses)
	t.Run("describes itself", s.testDescribes)
	t.Run("describes its kind", s.testKind)
	if s.Provoke == nil && s.Heard == nil {
		t.Run("times go forward", s.testForward)
		return
	}
	s.testEvents(t)
	if s.Polled {
		s.testPolled(t)
	}
}

// testEvents tests watchers with events, all at the same time, because these tests mostly wait to
// check that no further signals fire. No goroutine may remain afterwards.
func (s Suite) testEvents(t *testing.T) {
	var mu sync.Mutex
	config := s.Config
	s.Config = func(t *testing.T) json.RawMessage {
		mu.Lock()
		defer mu.Unlock()
		return config(t)
	}
	tests := map[string]func(*testing.T){
		"fires each new event once, over restarts": s.testFiresOnce,
		"cancelled and restored":                   s.testCancelled,
	}
	if !s.Timeless {
		tests["created without a manager"] = s.testOffline
	}
	if s.Heard != nil {
		tests["a message that is not stored fires nothing"] = s.notTaken
	} else {
		tests["a failed save fires again"] = s.saveFails
	}
	if s.Polled {
		tests["a failed poll moves nothing"] = s.testRepeatable
		tests["fires each event once over stops at random times"] = s.testRestarts
	}
	leaks := goleak.IgnoreCurrent()
	t.Run("events", func(t *testing.T) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	goleak.VerifyNone(t, leaks)
}

func (s Suite) driverDeps(st *store.Store) watchers.Deps {
	return watchers.Deps{
		Store: st, Log: slog.New(slog.DiscardHandler), Zone: func() *time.Location { return time.UTC },
		AllowedRead: func(string) error { return nil }, Trouble: func(context.Context, string, error) {},
		Network: s.Network, Secret: s.Secret, Account: s.Account, Called: func(store.Querier, string) []string { return nil }, Resources: s.Resources, Search: s.Search,
	}
}

func (s Suite) testSpec(config json.RawMessage) watchers.Spec {
	spec := watchers.Spec{Kind: s.New().Describe().Kind, Config: config, Report: "test", Mode: watchers.Notify}
	if s.Polled {
		spec.Every = "20ms"
	}
	return spec
}

func (s Suite) testRefuses(t *testing.T) {
	d := s.New()
	st := Open(t, d)
	good := s.Config(t)
	if _, err := d.New(s.testSpec(good), s.driverDeps(st)); err != nil {
		t.Fatalf("the valid configuration %s is rejected: %v", good, err)
	}
	unknown := strings.TrimSuffix(strings.TrimSpace(string(good)), "}") + `, "no_such_key": 1}`
	for _, bad := range append([]string{unknown, `[]`, `"x"`, `{`, string(good) + `{}`}, s.Bad...) {
		if made, err := d.New(s.testSpec(json.RawMessage(bad)), s.driverDeps(st)); err == nil {
			t.Errorf("the configuration %s is accepted: %+v", bad, made)
		}
		_ = d.DescribeConfig(json.RawMessage(bad)) // must not panic
	}
}

func (s Suite) testDescribes(t *testing.T) {
	d, config := s.New(), s.Config(t)
	text := d.DescribeConfig(config)
	if text == "" || strings.ContainsAny(text, "{}\n") || text != d.DescribeConfig(config) {
		t.Errorf("Describe(%s) = %q", config, text)
	}
}

// testKind checks the description of the kind against its watchers.
func (s Suite) testKind(t *testing.T) {
	d, config := s.New(), s.Config(t)
	about := d.Describe()
	made, err := d.New(s.testSpec(config), s.driverDeps(Open(t, d)))
	if err != nil {
		t.Fatal(err)
	}
	_, timed := made.(watchers.Timed)
	_, polled := made.(watchers.Polled)
	if about.Kind == "" || about.Timed != timed || about.Polled != polled {
		t.Errorf("the kind %q is timed: %v, polled: %v, but makes a %T", about.Kind, about.Timed, about.Polled, made)
	}
	if !timed && (about.Options == "" || about.Keywords == "") {
		t.Errorf("the kind %s has the options %q and the keywords %q; both are required", about.Kind, about.Options, about.Keywords)
	}
	keys := map[string]any{}
	if err := json.Unmarshal(config, &keys); err != nil {
		t.Fatal(err)
	}
	if _, named := keys[about.Argument]; about.Argument != "" && !named {
		t.Errorf("%s names no source under the key %s", config, about.Argument)
	}
	for _, f := range about.Flags {
		if !strings.Contains(about.Options, f.Key) || about.Plural == "" || f.Title == "" {
			t.Errorf("the flag %q needs a title, a place in the options, and a plural of the kind", f.Key)
		}
	}
}

func (s Suite) testForward(t *testing.T) {
	d := s.New()
	made, err := d.New(s.testSpec(s.Config(t)), s.driverDeps(Open(t, d)))
	if err != nil {
		t.Fatal(err)
	}
	timed, ok := made.(watchers.Timed)
	if !ok {
		t.Fatalf("New made a %T, but Provoke is missing", made)
	}
	at := time.Date(2025, 12, 31, 23, 59, 59, 999_000_000, time.UTC)
	for range 500 {
		next, ok := timed.Next(at)
		if !ok {
			if _, again := timed.Next(at.AddDate(1, 0, 0)); again {
				t.Errorf("Next finds no occurrence after %s, but a later call does", at)
			}
			return
		}
		if !next.After(at) {
			t.Fatalf("Next(%s) = %s, want a later time", at, next)
		}
		if same, _ := timed.Next(at); !same.Equal(next) {
			t.Fatalf("Next(%s) = %s, then %s", at, next, same)
		}
		if between, _ := timed.Next(next.Add(-time.Millisecond)); !between.Equal(next) {
			t.Fatalf("Next(%s) = %s although %s is between them", next.Add(-time.Millisecond), between, next)
		}
		at = next
	}
}

// bench contains a driver with its manager, sink and database. It can restart them.
type bench struct {
	t      *testing.T
	s      Suite
	st     *store.Store
	sink   *Sink
	m      *watchers.Manager
	config json.RawMessage
	spec   watchers.Spec
}

func (s Suite) newBench(t *testing.T) *bench {
	b := &bench{t: t, s: s, config: s.Config(t)}
	b.st = Open(t, s.New())
	b.sink = NewSink(b.st)
	b.restartManager()
	b.provokeEvent(0)
	<-time.After(50 * time.Millisecond)
	return b
}

// provokeEvent causes the n-th event.
func (b *bench) provokeEvent(n int) {
	b.t.Helper()
	if b.s.Heard == nil {
		b.s.Provoke(b.t, b.config, n)
		return
	}
	if err := b.passMessage(n, nil); err != nil {
		b.t.Fatal(err)
	}
}

// passMessage passes the n-th message in a transaction. The transaction returns end.
func (b *bench) passMessage(n int, end error) error {
	return b.st.Write(context.Background(), func(tx *store.Tx) error {
		heard, err := b.m.DispatchTx(tx, b.s.Heard(n))
		for _, h := range heard {
			b.sink.TakeTx(tx, h.Spec.ID, h.Signal)
		}
		return errors.Join(err, end)
	})
}

func (b *bench) createWatcher() { b.spec = Create(b.t, b.st, b.m, b.s.testSpec(b.config)) }

// restartManager creates a new driver and manager, as a new process does.
func (b *bench) restartManager() {
	opt := Options(b.st, b.sink, b.s.New())
	opt.Network, opt.Secret, opt.Account = b.s.Network, b.s.Secret, b.s.Account
	opt.Resources, opt.Search = func() watchers.Resources { return b.s.Resources }, b.s.Search
	m, err := watchers.New(opt)
	if err != nil {
		b.t.Fatal(err)
	}
	b.m = m
}

// expectFired waits until n signals have fired in total. Then it waits briefly for an unexpected
// further signal.
func (b *bench) expectFired(n int) {
	b.t.Helper()
	holdsWithin(15*time.Second, func() bool { return len(b.sink.Fired()) >= n })
	holdsWithin(700*time.Millisecond, func() bool { return len(b.sink.Fired()) > n })
	got := b.sink.Fired()
	if len(got) != n {
		var texts []string
		for _, f := range got {
			texts = append(texts, fmt.Sprintf("%s (%s)", f.Text, f.Key))
		}
		b.t.Fatalf("fired %d times, want %d:\n%s\ntroubles: %v", len(got), n, strings.Join(texts, "\n"), b.sink.Troubles())
	}
	for _, f := range got {
		if f.Key == "" || f.Text == "" || strings.ContainsRune(f.Text, '\n') || !json.Valid(f.Payload) || f.At.IsZero() || f.Source == "" {
			b.t.Errorf("incomplete signal: %+v", f)
		}
	}
}

func (s Suite) testFiresOnce(t *testing.T) {
	b := s.newBench(t)
	stop := Start(t, b.m)
	b.createWatcher()
	b.expectFired(0)
	b.provokeEvent(1)
	b.expectFired(1)
	stop()
	b.restartManager()
	stop = Start(t, b.m)
	b.expectFired(1)
	stop()
	b.provokeEvent(2)
	b.restartManager()
	stop = Start(t, b.m)
	b.expectFired(2)
	b.provokeEvent(3)
	b.expectFired(3)
	stop()
	got, err := b.m.Get(context.Background(), b.spec.ID)
	if err != nil || got.Fired != 3 || got.FiredAt.IsZero() || got.State != watchers.Active {
		t.Errorf("after three firings: %+v, %v", got, err)
	}
}

func (s Suite) testOffline(t *testing.T) {
	b := s.newBench(t)
	b.createWatcher()
	b.provokeEvent(1)
	b.restartManager()
	stop := Start(t, b.m)
	b.expectFired(1)
	stop()
}

func (s Suite) saveFails(t *testing.T) {
	b := s.newBench(t)
	stop := Start(t, b.m)
	b.createWatcher()
	b.expectFired(0)
	b.sink.Fail(ErrSink)
	b.provokeEvent(1)
	Eventually(t, "the sink is called", func() bool { return b.sink.Calls() > 0 })
	Eventually(t, "the failure is reported", func() bool { return len(b.sink.Troubles()) > 0 })
	b.sink.Fail(nil)
	b.expectFired(1)
	stop()
	if n := len(b.sink.Troubles()); n != 1 {
		t.Errorf("reported %d times about one kind of error: %v", n, b.sink.Troubles())
	}
}

func (s Suite) notTaken(t *testing.T) {
	b := s.newBench(t)
	stop := Start(t, b.m)
	b.createWatcher()
	if err := b.passMessage(1, ErrSink); !errors.Is(err, ErrSink) {
		t.Fatal(err)
	}
	b.expectFired(0)
	b.provokeEvent(1)
	b.expectFired(1)
	stop()
}

func (s Suite) testCancelled(t *testing.T) {
	b := s.newBench(t)
	stop := Start(t, b.m)
	b.createWatcher()
	if s.Timeless {
		Eventually(t, "the baseline", b.hasBaseline)
	}
	b.provokeEvent(1)
	b.expectFired(1)
	ctx := context.Background()
	var was watchers.Spec
	err := b.st.Write(ctx, func(tx *store.Tx) (err error) {
		was, err = b.m.CancelTx(tx, b.spec.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.provokeEvent(2)
	b.expectFired(1)
	if err := b.st.Write(ctx, func(tx *store.Tx) error { return b.m.RestoreTx(tx, was) }); err != nil {
		t.Fatal(err)
	}
	b.expectFired(1)
	b.provokeEvent(3)
	b.expectFired(2)
	stop()
}
