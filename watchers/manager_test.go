package watchers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/platform/store"
	"hob/watchers"
	"hob/watchers/all"
	"hob/watchers/watcherstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAllDrivers(t *testing.T) {
	st := watcherstest.Open(t, all.Drivers()...)
	if _, err := watchers.New(watcherstest.Options(st, nil, all.Drivers()...)); err != nil {
		t.Fatal(err)
	}
}

func TestNew(t *testing.T) {
	if _, err := watchers.New(watchers.Options{}); err == nil {
		t.Error("New accepts no store")
	}
	st := watcherstest.Open(t)
	if _, err := watchers.New(watcherstest.Options(st, nil, &scriptedKind{}, &scriptedKind{})); err == nil {
		t.Error("a duplicate kind was accepted")
	}
	m, err := watchers.New(watchers.Options{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Run(context.Background()); err == nil {
		t.Error("Run without a sink returned no error")
	}
}

func TestNew_RejectsMistakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		good := watchers.Spec{Kind: "cron", Config: json.RawMessage(`{"cron":"0 8 * * *"}`), Action: "brief me", Mode: watchers.Do}
		for _, c := range []struct {
			name, want string
			change     func(*watchers.Spec)
		}{
			{"unknown kind", "cron, oneshot", func(s *watchers.Spec) { s.Kind = "smoke" }},
			{"unknown mode", "notify, remind or do", func(s *watchers.Spec) { s.Mode = "shout" }},
			{"unknown policy", "run_once, skip or run_all", func(s *watchers.Spec) { s.Missed = "maybe" }},
			{"nothing to do", "action is empty", func(s *watchers.Spec) { s.Action = " " }},
			{"too long", "longer than", func(s *watchers.Spec) { s.Action = strings.Repeat("x", 10_001) }},
			{"not JSON", "not JSON", func(s *watchers.Spec) { s.Config = json.RawMessage("{") }},
			{"large", "larger than", func(s *watchers.Spec) { s.Config = json.RawMessage(`"` + strings.Repeat("x", 70_000) + `"`) }},
			{"never comes", "have no day 31", func(s *watchers.Spec) { s.Config = json.RawMessage(`{"cron":"0 0 31 2 *"}`) }},
			{"in the past", "no future occurrence", func(s *watchers.Spec) {
				s.Kind, s.Config = "oneshot", json.RawMessage(`{"at":"1999-12-31T00:00:00Z"}`)
			}},
		} {
			s := good
			c.change(&s)
			err := h.writeTx(func(tx *store.Tx) error {
				_, err := h.m.CreateTx(tx, s)
				return err
			})
			if !errors.Is(err, watchers.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want it to say %q", c.name, err, c.want)
			}
		}
		h.restartManager(2)
		for i := range 3 {
			err := h.writeTx(func(tx *store.Tx) error {
				_, err := h.m.CreateTx(tx, good)
				return err
			})
			if (err == nil) != (i < 2) {
				t.Errorf("watcher %d of 2: %v", i, err)
			}
		}
	})
}

func TestCreate_Defaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		got := h.createWatcher("cron", `{ "cron" : "0 8 * * 1-5" }`, func(s *watchers.Spec) { s.Action = " brief me " })
		want := watchers.Spec{
			ID: got.ID, Kind: "cron", Timed: true, Title: "brief me", Config: json.RawMessage(`{"cron":"0 8 * * 1-5"}`), Mode: watchers.Do, Action: "brief me",
			Report: "main", Missed: watchers.RunOnce, Provenance: "owner", State: watchers.Active, CreatedAt: time.Now().UTC(),
			NextAt: time.Date(2000, 1, 3, 8, 0, 0, 0, time.UTC), Zone: "UTC",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(want, h.getSpec(got.ID)); d != "" {
			t.Errorf("stored: %s", d)
		}
		if got := h.m.Describe(got); got != "every weekday at 08:00: brief me" {
			t.Errorf("Describe = %q", got)
		}
		silent := h.createWatcher("cron", `{"cron":"0 8 * * *"}`)
		if silent.Mode != watchers.Notify || silent.Title != "every day at 08:00" {
			t.Errorf("watcher without an action: %+v", silent)
		}
	})
}

func TestFind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		pills := h.createWatcher("cron", `{"cron":"0 8 * * *"}`, withReminder("take the blue pills"))
		red := h.createWatcher("cron", `{"cron":"0 9 * * *"}`, withReminder("take the red pills"))
		mum := h.createWatcher("oneshot", timeIn(time.Hour), withReminder("call Mum"))
		old := h.createWatcher("oneshot", timeIn(time.Minute), withReminder("call Dad"))
		h.startManager()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		h.stop()
		reminders := watchers.Filter{Modes: []watchers.Mode{watchers.Remind}}
		for _, c := range []struct {
			words string
			f     watchers.Filter
			want  string
			err   error
		}{
			{pills.ID, reminders, pills.ID, nil},
			{strings.ToUpper(red.ID[:6]), reminders, red.ID, nil},
			{"Take the red pills!", reminders, red.ID, nil},
			{"blue", reminders, pills.ID, nil},
			{"mum", reminders, mum.ID, nil},
			{"pills", reminders, "", watchers.ErrAmbiguous},
			{"call", reminders, mum.ID, nil}, // the other reminder is finished
			{"dad", reminders, "", watchers.ErrNotFound},
			{"dad", watchers.Filter{States: []watchers.State{watchers.Done}}, old.ID, nil},
			{"mum", watchers.Filter{Kinds: []string{"cron"}}, "", watchers.ErrNotFound},
			{"mum", watchers.Filter{Modes: []watchers.Mode{watchers.Do}}, "", watchers.ErrNotFound},
			{"", reminders, "", watchers.ErrNotFound},
		} {
			got, err := h.m.Find(context.Background(), c.words, c.f)
			if got.ID != c.want || !errors.Is(err, c.err) {
				t.Errorf("Find(%q) = %q, %v", c.words, got.Action, err)
			}
		}
		_, err := h.m.Find(context.Background(), "pills", reminders)
		if !strings.Contains(err.Error(), pills.ID) || !strings.Contains(err.Error(), "red pills") {
			t.Errorf("the error does not list the matching watchers: %v", err)
		}
	})
}

func TestPauseCancelRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.startManager()
		s := h.createWatcher("cron", `{"cron":"0 * * * *"}`)
		set := func(state watchers.State) error {
			return h.writeTx(func(tx *store.Tx) error {
				_, err := h.m.SetStateTx(tx, s.ID, state)
				return err
			})
		}
		fired := func(want int) {
			t.Helper()
			time.Sleep(3 * time.Hour)
			synctest.Wait()
			if n := len(h.listKeys()); n != want {
				t.Fatalf("fired %d times, want %d", n, want)
			}
		}
		fired(3)
		failOnError(t, set(watchers.Paused))
		fired(3)
		failOnError(t, set(watchers.Active))
		fired(6)
		if err := set(watchers.Done); !errors.Is(err, watchers.ErrInvalid) {
			t.Errorf("setting the state done by hand = %v", err)
		}
		var was watchers.Spec
		failOnError(t, h.writeTx(func(tx *store.Tx) (err error) {
			was, err = h.m.CancelTx(tx, s.ID)
			return err
		}))
		fired(6)
		if _, err := h.m.Get(t.Context(), s.ID); !errors.Is(err, watchers.ErrNotFound) {
			t.Errorf("Get after cancel = %v", err)
		}
		failOnError(t, h.writeTx(func(tx *store.Tx) error { return h.m.RestoreTx(tx, was) }))
		fired(6 + 1 + 3) // one for the missed occurrences
		if err := h.writeTx(func(tx *store.Tx) error { return h.m.RestoreTx(tx, was) }); !errors.Is(err, watchers.ErrInvalid) {
			t.Errorf("second RestoreTx = %v", err)
		}
		for _, f := range []func(tx *store.Tx) error{
			func(tx *store.Tx) error { _, err := h.m.CancelTx(tx, "nobody"); return err },
			func(tx *store.Tx) error { _, err := h.m.SetStateTx(tx, "nobody", watchers.Paused); return err },
		} {
			if err := h.writeTx(f); !errors.Is(err, watchers.ErrNotFound) {
				t.Errorf("unknown watcher: got %v, want ErrNotFound", err)
			}
		}
		h.stop()
	})
}

func TestResume_PassedReminder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		s := h.createWatcher("oneshot", timeIn(time.Hour), withReminder("stretch"))
		state := func(st watchers.State) error {
			return h.writeTx(func(tx *store.Tx) error { _, err := h.m.SetStateTx(tx, s.ID, st); return err })
		}
		failOnError(t, state(watchers.Paused))
		time.Sleep(2 * time.Hour)
		if err := state(watchers.Active); !errors.Is(err, watchers.ErrInvalid) || h.getSpec(s.ID).State != watchers.Paused {
			t.Errorf("resume after its time = %v", err)
		}
	})
}

func TestCreate_RolledBackNeverStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scriptedKind{live: func(ctx context.Context, _ int, _ watchers.Deps, _ fireFunc) error { <-ctx.Done(); return nil }}
		h := newFixture(t, d)
		h.startManager()
		no := errors.New("no")
		err := h.writeTx(func(tx *store.Tx) error {
			if _, err := h.m.CreateTx(tx, watchers.Spec{Kind: "scripted", Config: json.RawMessage(`{}`)}); err != nil {
				return err
			}
			return no
		})
		if !errors.Is(err, no) {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if d.countRuns() != 0 {
			t.Error("the rolled-back watcher runs")
		}
		h.stop()
	})
}

func TestRun_RemovesOldFinishedWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		for i := range 3 {
			h.createWatcher("oneshot", timeIn(time.Minute), withReminder(fmt.Sprint("no ", i)))
		}
		h.startManager()
		time.Sleep(time.Hour)
		h.stop()
		if list, err := h.m.List(t.Context(), watchers.Filter{}); err != nil || len(list) != 3 {
			t.Fatalf("%d, %v", len(list), err)
		}
		time.Sleep(100 * 24 * time.Hour)
		h.startManager()
		synctest.Wait()
		h.stop()
		if list, err := h.m.List(t.Context(), watchers.Filter{}); err != nil || len(list) != 0 {
			t.Fatalf("%d, %v", len(list), err)
		}
	})
}

func failOnError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
