package watchers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/store"
	"hob/watchers"
	"hob/watchers/watcherstest"
)

// source is a polled kind over a list of lines.
type source struct {
	mu     sync.Mutex
	kind   string
	group  string
	lines  []line
	err    error
	polls  []time.Time
	now    int // polls in progress
	most   int
	take   time.Duration // duration of a poll
	extra  watchers.Found
	blind  watchers.Found // returned together with err
	firsts int
}

type line struct {
	text string
	at   time.Time
}

func (s *source) Describe() watchers.Description {
	return watchers.Description{Kind: "source" + s.kind, Polled: true, Options: "url", Keywords: "source"}
}
func (*source) DescribeConfig(c json.RawMessage) string { return "lines" }
func (*source) Migrations() []store.MigrationSet        { return nil }

func (s *source) New(spec watchers.Spec, _ watchers.Deps) (any, error) {
	var c struct {
		Name string `json:"name"`
	}
	if err := watchers.Decode(spec.Config, &c); err != nil {
		return nil, err
	}
	return polledSource{s}, nil
}

func (s *source) addItem(text string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line{text, at})
}

func (s *source) failWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *source) countReads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.polls)
}

type polledSource struct{ s *source }

func (polledSource) Every() time.Duration { return 10 * time.Minute }
func (a polledSource) Group() string      { return a.s.group }

func (a polledSource) Poll(ctx context.Context, p watchers.Progress) (watchers.Found, error) {
	s := a.s
	s.mu.Lock()
	s.polls = append(s.polls, time.Now())
	s.now++
	s.most = max(s.most, s.now)
	if p.First {
		s.firsts++
	}
	take := s.take
	s.mu.Unlock()
	if take > 0 {
		select {
		case <-time.After(take):
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	if s.err != nil {
		return s.blind, s.err
	}
	f := s.extra
	for _, l := range s.lines {
		f.Signals = append(f.Signals, watchers.Signal{Key: l.text, Text: l.text, Payload: json.RawMessage(`{}`), At: l.at})
	}
	f.Cursor = json.RawMessage(strconv.Itoa(len(s.lines)))
	return f, ctx.Err()
}

func fixedInterval(d string) func(*watchers.Spec) { return func(s *watchers.Spec) { s.Every = d } }

// sources is a driver with a source for each name, because the suite uses several at the same time.
type sources struct {
	*source
	mu     sync.Mutex
	byName map[string]*source
}

func (s *sources) sourceNamed(name string) *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[name] == nil {
		s.byName[name] = &source{}
	}
	return s.byName[name]
}

func (s *sources) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	if _, err := s.source.New(spec, deps); err != nil {
		return nil, err
	}
	return polledSource{s.sourceNamed(string(spec.Config))}, nil
}

func TestPolled_Conformance(t *testing.T) {
	s := &sources{source: &source{}, byName: map[string]*source{}}
	config := func(t *testing.T) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"name":%q}`, t.Name())) }
	watcherstest.Run(t, watcherstest.Suite{
		New:    func() watchers.Driver { return s },
		Config: config,
		Provoke: func(t *testing.T, config json.RawMessage, n int) {
			s.sourceNamed(string(config)).addItem(fmt.Sprintf("%s %d", t.Name(), n), time.Now())
		},
		Polled: true,
		Fail: func(t *testing.T, on bool) {
			if s.sourceNamed(string(config(t))).failWith(nil); on {
				s.sourceNamed(string(config(t))).failWith(errors.New("no answer"))
			}
		},
	})
}

func TestPolled_Baseline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		for i := range 50 {
			s.addItem(fmt.Sprint("old ", i), time.Time{})
		}
		s.addItem("from the future", time.Now().AddDate(1, 0, 0))
		h.startManager()
		w := h.createWatcher("source", `{}`)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(h.listKeys()); n != 0 {
			t.Fatalf("%d items from before the baseline fired", n)
		}
		s.addItem("new", time.Now().AddDate(-1, 0, 0))
		time.Sleep(12 * time.Minute)
		if diff := cmp.Diff([]string{"new"}, h.listKeys()); diff != "" {
			t.Error(diff)
		}
		h.stop()
		if got := h.getSpec(w.ID); got.Fired != 1 || got.FiredAt.IsZero() {
			t.Errorf("after the first signal: %+v", got)
		}
	})
}

// Items dated between the creation and the first poll are new.
func TestPolled_CreatedOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		s.addItem("old", time.Now())
		time.Sleep(time.Second)
		h.createWatcher("source", `{}`)
		time.Sleep(time.Hour)
		s.addItem("dated", time.Now())
		s.addItem("undated", time.Time{})
		h.startManager()
		time.Sleep(time.Hour)
		synctest.Wait()
		if diff := cmp.Diff([]string{"dated"}, h.listKeys()); diff != "" {
			t.Error(diff)
		}
		h.stop()
	})
}

// A key fires once, also if the item disappears and returns, and across a pause.
func TestPolled_KeysFireOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		h.startManager()
		w := h.createWatcher("source", `{}`)
		time.Sleep(time.Minute)
		s.addItem("a", time.Time{})
		time.Sleep(15 * time.Minute)
		s.mu.Lock()
		s.lines = nil
		s.mu.Unlock()
		time.Sleep(15 * time.Minute)
		s.addItem("a", time.Time{})
		time.Sleep(15 * time.Minute)
		for _, state := range []watchers.State{watchers.Paused, watchers.Active} {
			if err := h.writeTx(func(tx *store.Tx) error { _, err := h.m.SetStateTx(tx, w.ID, state); return err }); err != nil {
				t.Fatal(err)
			}
			s.addItem("in the pause", time.Now())
			time.Sleep(time.Hour)
		}
		h.stop()
		s.addItem("b", time.Time{})
		h.startManager()
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		h.stop()
		if diff := cmp.Diff([]string{"a", "b"}, h.listKeys()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPolled_Interval(t *testing.T) {
	for _, c := range []struct {
		name, every      string
		extra            watchers.Found
		atLeast, atMost  int
		wantErr, wantSay string
	}{
		{"default of the kind", "", watchers.Found{}, 131, 145, "", ""},
		{"configured interval", "1h", watchers.Found{}, 22, 25, "", "lines (every 1h)"},
		{"minimum interval", "1s", watchers.Found{}, 1300, 1441, "", ""},
		{"wait requested by the source", "", watchers.Found{Wait: 3 * time.Hour}, 7, 9, "", ""},
		{"excessive wait requested by the source", "", watchers.Found{Wait: 100_000 * time.Hour}, 1, 2, "", ""},
		{"days", "2d", watchers.Found{}, 1, 1, "", ""},
		{"nonsense", "often", watchers.Found{}, 0, 0, `"every" must be a duration such as "30m"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &source{extra: c.extra}
				h := newFixture(t, s)
				h.startManager()
				defer h.stop()
				spec := watchers.Spec{Kind: "source", Config: json.RawMessage(`{}`), Report: "main"}
				spec.Every = c.every
				err := h.writeTx(func(tx *store.Tx) (err error) { spec, err = h.m.CreateTx(tx, spec); return err })
				if c.wantErr != "" {
					if err == nil || !errors.Is(err, watchers.ErrInvalid) || !strings.Contains(err.Error(), c.wantErr) {
						t.Fatalf("%v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				if n := s.countReads(); n < c.atLeast || n > c.atMost {
					t.Errorf("%d requests a day, want %d to %d", n, c.atLeast, c.atMost)
				}
				if c.wantSay != "" && h.m.Describe(spec) != c.wantSay {
					t.Errorf("description = %q", h.m.Describe(spec))
				}
			})
		})
	}
}

func TestPolled_Wake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		at := time.Now().Add(4*time.Minute + 30*time.Second)
		s.extra.Wake = at
		h.startManager()
		h.createWatcher("source", `{}`, fixedInterval("10m"))
		time.Sleep(4*time.Minute + 29*time.Second)
		synctest.Wait()
		if n := s.countReads(); n != 1 {
			t.Errorf("%d polls before the interval ended, want 1", n)
		}
		s.mu.Lock()
		s.extra.Wake = time.Time{}
		s.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		if n := s.countReads(); n != 2 {
			t.Errorf("%d polls after the interval, want 2", n)
		}
		h.stop()
	})
}

// The keys of a PollPolicy may appear among the configuration keys of a kind.
func TestPolled_PolicyInConfig(t *testing.T) {
	h := newFixture(t, &source{})
	s := h.createWatcher("source", `{"name":"x","every":"2h","active_hours":"Mon-Fri 08:00-18:00","per_day":3}`)
	if string(s.Config) != `{"name":"x"}` || h.m.Describe(s) != "lines (every 2h, only Mon-Fri 08:00-18:00, at most 3 a day)" {
		t.Errorf("%s: %s", s.Config, h.m.Describe(s))
	}
	if got := h.getSpec(s.ID); got.PollPolicy != s.PollPolicy {
		t.Errorf("stored as %+v", got.PollPolicy)
	}
	for _, bad := range []string{
		`{"every":5}`, `{"active_hours":"at night"}`, `{"active_hours":"8-8"}`, `{"active_hours":"foo-bar 8-9"}`, `{"per_day":-1}`,
		`{"per_day":"many"}`, `{"every":"-1h"}`, `{"every":"9999h"}`, `{"active_hours":"25:00-26:00"}`,
	} {
		err := h.writeTx(func(tx *store.Tx) error {
			_, err := h.m.CreateTx(tx, watchers.Spec{Kind: "source", Config: json.RawMessage(bad), Report: "x"})
			return err
		})
		if !errors.Is(err, watchers.ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	err := h.writeTx(func(tx *store.Tx) error {
		_, err := h.m.CreateTx(tx, watchers.Spec{Kind: "cron", Config: json.RawMessage(`{"cron":"0 8 * * *","every":"1h"}`), Report: "x"})
		return err
	})
	if !errors.Is(err, watchers.ErrInvalid) {
		t.Errorf("a pace for cron: %v", err)
	}
}

func TestPolled_ActiveHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins on Sat 1 Jan 2000 at 00:00 UTC
		s := &source{}
		h := newFixture(t, s)
		h.travelTo(loadZone(t, "Europe/Vilnius")) // UTC+2
		h.startManager()
		h.createWatcher("source", `{}`, func(s *watchers.Spec) { s.Hours = "mon-fri 08:00-18:00" })
		time.Sleep(14 * 24 * time.Hour)
		synctest.Wait()
		h.stop()
		perDay := map[string]int{}
		for _, at := range s.polls {
			local := at.In(loadZone(t, "Europe/Vilnius"))
			perDay[local.Weekday().String()]++
			if local.Hour() < 8 || local.Hour() >= 18 {
				t.Errorf("polled at %s, outside of the active hours", local)
			}
		}
		if perDay["Saturday"]+perDay["Sunday"] > 0 || perDay["Monday"] < 100 || len(perDay) != 5 {
			t.Errorf("%v", perDay)
		}
	})
}

// Items that appear outside of the active hours fire when the hours begin.
func TestPolled_FiresAfterTheNight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		h.startManager()
		h.createWatcher("source", `{}`, func(s *watchers.Spec) { s.Hours = "22:00-02:00" }) // the hours include midnight; the test starts at 00:00
		time.Sleep(3 * time.Hour)
		s.addItem("in the day", time.Time{})
		time.Sleep(18*time.Hour + 59*time.Minute)
		synctest.Wait()
		if n := len(h.listKeys()); n != 0 {
			t.Fatal("fired outside of its hours")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		h.stop()
		if diff := cmp.Diff([]string{"in the day"}, h.listKeys()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPolled_DailyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		h.startManager()
		w := h.createWatcher("source", `{}`, func(s *watchers.Spec) { s.PerDay, s.Title = 3, "The lines" })
		time.Sleep(time.Minute)
		for day := range 2 {
			for i := range 10 {
				s.addItem(fmt.Sprint(day, " ", i), time.Time{})
				time.Sleep(20 * time.Minute)
			}
			h.stop() // the count is per day, not per process
			h.startManager()
			s.addItem(fmt.Sprint(day, " late"), time.Time{})
			time.Sleep(24*time.Hour - 200*time.Minute)
		}
		synctest.Wait()
		h.stop()
		if diff := cmp.Diff([]string{"0 0", "0 1", "0 2", "1 0", "1 1", "1 2"}, h.listTexts()); diff != "" {
			t.Error(diff)
		}
		var notices []string
		for _, n := range h.sink.Notices() {
			notices = append(notices, n.Text)
		}
		say := "The lines has fired 3 times today, its daily limit. I will skip the rest of today."
		if diff := cmp.Diff([]string{say, say}, notices); diff != "" {
			t.Error(diff)
		}
		if got := h.getSpec(w.ID); got.Fired != 6 {
			t.Errorf("counted %d", got.Fired)
		}
	})
}

func TestPolled_Failures(t *testing.T) {
	for _, c := range []struct {
		name           string
		err            func() error
		least, most    int // polls in six hours
		notices        int
		wantIn, longer string
	}{
		{"an invalid answer", func() error { return errors.New("status 500") }, 8, 14, 1, "status 500", ""},
		{"no network", func() error { return fmt.Errorf("look up: %w", watchers.ErrOffline) }, 70, 150, 0, "", ""},
		{"asked to wait", func() error { return watchers.Later(time.Now().Add(2*time.Hour), errors.New("too many")) }, 3, 12, 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &source{}
				h := newFixture(t, s)
				h.startManager()
				w := h.createWatcher("source", `{}`, func(s *watchers.Spec) { s.Title = "Lines" })
				time.Sleep(time.Minute)
				before := s.countReads()
				s.failWith(c.err())
				for range 6 {
					time.Sleep(time.Hour)
					synctest.Wait()
					h.stop() // a restart keeps the schedule
					h.startManager()
				}
				if n := s.countReads() - before; n < c.least || n > c.most {
					t.Errorf("%d requests in six hours, want %d to %d", n, c.least, c.most)
				}
				if got := h.getSpec(w.ID); got.State != watchers.Active || got.LastError == "" {
					t.Errorf("%+v", got)
				}
				s.addItem("meanwhile", time.Time{})
				s.failWith(nil)
				time.Sleep(9 * time.Hour)
				synctest.Wait()
				h.stop()
				if diff := cmp.Diff([]string{"meanwhile"}, h.listTexts()); diff != "" {
					t.Error(diff)
				}
				if n := h.sink.Notices(); len(n) != 2*c.notices {
					t.Fatalf("notices = %v", n)
				} else if c.notices > 0 && (!strings.Contains(n[0].Text, c.wantIn) || !strings.HasPrefix(n[1].Text, "Watching Lines works again")) {
					t.Errorf("notices = %q, %q", n[0].Text, n[1].Text)
				}
				if got := h.getSpec(w.ID); got.LastError != "" {
					t.Errorf("LastError = %q, want none", got.LastError)
				}
			})
		})
	}
}

func TestPolled_OfflineForDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{err: fmt.Errorf("look up: %w", watchers.ErrOffline)}
		h := newFixture(t, s)
		h.startManager()
		h.createWatcher("source", `{}`)
		time.Sleep(72 * time.Hour)
		synctest.Wait()
		h.stop()
		if n := len(h.sink.Notices()); n != 1 {
			t.Errorf("reported %d times", n)
		}
	})
}

func TestPolled_PermanentError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{err: fmt.Errorf("%w: there is no such repository", watchers.ErrPermanent)}
		h := newFixture(t, s)
		h.startManager()
		w := h.createWatcher("source", `{}`)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		h.stop()
		if got := h.getSpec(w.ID); got.State != watchers.Broken || s.countReads() != 1 || len(h.sink.Troubles()) != 1 {
			t.Errorf("%+v, %d requests, reported %v", got, s.countReads(), h.sink.Troubles())
		}
	})
}

func TestPolled_Panics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		s.extra.Signals = []watchers.Signal{{Key: "x"}}
		h := newFixture(t, s, &source{kind: "2"})
		h.startManager()
		w := h.createWatcher("source", `{}`)
		s.mu.Lock()
		s.polls = nil
		s.mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		h.stop()
		if got := h.getSpec(w.ID); got.State != watchers.Active {
			t.Errorf("%+v", got)
		}
	})
}

// A few workers poll all watchers. Only one watcher of a group is polled at a time, and after Later
// the whole group waits.
func TestPolled_Workers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone := &source{take: time.Second}
		shared := &source{kind: "2", group: "one host", take: time.Second}
		h := newFixture(t, alone, shared)
		h.startManager()
		for range 40 {
			h.createWatcher("source", `{}`, fixedInterval("10m"))
			h.createWatcher("source2", `{}`, fixedInterval("10m"))
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if alone.most < 2 || alone.most > 4 || shared.most != 1 {
			t.Errorf("%d concurrent polls (of 4 workers) and %d (of one host)", alone.most, shared.most)
		}
		if a, b := alone.countReads(), shared.countReads(); a < 40*10 || b < 40*10 {
			t.Errorf("%d and %d polls in 2 h", a, b)
		}
		shared.failWith(watchers.Later(time.Now().Add(time.Hour), errors.New("limit")))
		time.Sleep(12 * time.Minute)
		before := shared.countReads()
		time.Sleep(40 * time.Minute)
		synctest.Wait()
		if n := shared.countReads() - before; n != 0 {
			t.Errorf("%d more polls although the host requested a delay", n)
		}
		shared.failWith(nil)
		before = shared.countReads()
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		h.stop()
		if n := shared.countReads() - before; n < 40 {
			t.Errorf("%d of 40 watchers were polled after the delay", n)
		}
	})
}

// A restart spreads the first polls, and watchers keep their baseline.
func TestPolled_Restart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		h.startManager()
		for range 200 {
			h.createWatcher("source", `{}`, fixedInterval("1h"))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		h.stop()
		before := s.countReads()
		h.startManager()
		time.Sleep(time.Second)
		synctest.Wait()
		if n := s.countReads() - before; n > 40 {
			t.Errorf("%d of 200 watchers were polled in the first second", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		h.stop()
		if n := s.countReads() - before; n != 200 || s.firsts != 200 {
			t.Errorf("%d of 200 watchers were polled in 1 min; %d baselines", n, s.firsts)
		}
	})
}

func TestPolled_CancelDuringAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		h.startManager()
		w := h.createWatcher("source", `{}`)
		time.Sleep(time.Minute)
		s.mu.Lock()
		s.take = time.Minute
		s.mu.Unlock()
		s.addItem("a", time.Time{})
		time.Sleep(11 * time.Minute) // a poll is running or about to start
		if err := h.writeTx(func(tx *store.Tx) error { _, err := h.m.CancelTx(tx, w.ID); return err }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		h.stop()
		if n := len(h.listKeys()); n > 1 {
			t.Errorf("fired %d times", n)
		}
		var rows int
		err := h.st.Reader(t.Context()).QueryRow("SELECT (SELECT count(*) FROM watcher_polls) + (SELECT count(*) FROM watcher_keys)").Scan(&rows)
		if err != nil || rows != 0 {
			t.Errorf("%d rows remain, %v", rows, err)
		}
	})
}

// A watcher whose source is unavailable fires its known signals once, at their time.
func TestPolled_KnownSignalsWhileTheSourceIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		h.startManager()
		w := h.createWatcher("source", `{}`)
		time.Sleep(time.Minute)
		s.failWith(errors.New("no answer"))
		time.Sleep(10 * time.Hour) // by now it is polled every few hours
		s.mu.Lock()
		s.blind.Wake = time.Now().Add(5 * time.Hour)
		s.mu.Unlock()
		time.Sleep(5*time.Hour - time.Second)
		synctest.Wait()
		s.mu.Lock()
		s.blind = watchers.Found{Signals: []watchers.Signal{{Key: "meeting", Text: "meeting", Payload: json.RawMessage(`{}`)}}}
		s.mu.Unlock()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"meeting"}, h.listKeys()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(20 * time.Hour)
		s.failWith(nil)
		time.Sleep(20 * time.Hour)
		synctest.Wait()
		h.stop()
		if got := h.getSpec(w.ID); len(h.listKeys()) != 1 || got.Fired != 1 || got.LastError != "" {
			t.Errorf("fired %v, then %+v", h.listKeys(), got)
		}
	})
}
