package watchers_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/watchers"
	"hob/watchers/watcherstest"
)

func TestTimed_OneshotFiresOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.startManager()
		s := h.createWatcher("oneshot", timeIn(time.Hour), withReminder("stretch"))
		time.Sleep(time.Hour - time.Second)
		synctest.Wait()
		if n := len(h.listKeys()); n != 0 {
			t.Fatalf("fired %d times before its time", n)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		fired := h.sink.Fired()
		if len(fired) != 1 || fired[0].Text != "stretch" || fired[0].Late != 0 || fired[0].Watcher != s.ID {
			t.Fatalf("fired %+v", fired)
		}
		got := h.getSpec(s.ID)
		if got.State != watchers.Done || !got.NextAt.IsZero() || got.Fired != 1 || !got.FiredAt.Equal(time.Now()) {
			t.Errorf("after the occurrence: %+v", got)
		}
		h.stop()
		h.startManager()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n := len(h.listKeys()); n != 1 {
			t.Errorf("fired %d times after a restart", n)
		}
		h.stop()
	})
}

func TestTimed_MissedOccurrences(t *testing.T) {
	at := func(kind, config string) func(h *managerFixture, p watchers.MisfirePolicy) {
		return func(h *managerFixture, p watchers.MisfirePolicy) {
			h.createWatcher(kind, config, withReminder("stretch"), withPolicy(p))
		}
	}
	daily := at("cron", `{"cron":"0 8 * * *"}`)
	for _, c := range []struct {
		name   string
		create func(*managerFixture, watchers.MisfirePolicy)
		policy watchers.MisfirePolicy
		want   []string
	}{
		{"daily, run once", daily, watchers.RunOnce, []string{
			"stretch (one late run for 3 missed times; the last was due at 08:00)", "stretch",
		}},
		{"daily, skip", daily, watchers.Skip, []string{
			"Skipped 3 times: stretch (due from Sat 1 Jan at 08:00 to today at 08:00)", "stretch",
		}},
		{"daily, run all", daily, watchers.RunAll, []string{
			"stretch (ran late, was due on Sat 1 Jan at 08:00)", "stretch (ran late, was due on Sun 2 Jan at 08:00)",
			"stretch (ran late, was due at 08:00)", "stretch",
		}},
		{"reminder, run once", at("oneshot", `{"at":"2000-01-02T09:30:00Z"}`), watchers.RunOnce, []string{
			"stretch (ran late, was due on Sun 2 Jan at 09:30)",
		}},
		{"reminder, skip", at("oneshot", `{"at":"2000-01-02T09:30:00Z"}`), watchers.Skip, []string{
			"Skipped: stretch (was due on Sun 2 Jan at 09:30)",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFixture(t)
				c.create(h, c.policy) // no manager runs yet
				time.Sleep(2*24*time.Hour + 10*time.Hour)
				h.startManager()
				time.Sleep(23 * time.Hour)
				synctest.Wait()
				h.stop()
				if d := cmp.Diff(c.want, h.listTexts()); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

// TestTimed_DayBecomesADayOff checks that an occurrence does not fire if its day becomes a day off
// after the occurrence was computed.
func TestTimed_DayBecomesADayOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins on Saturday, 1 January 2000
		h := newFixture(t)
		var leave atomic.Value
		leave.Store("")
		h.dayOff = func(day time.Time) bool { return day.Format(time.DateOnly) == leave.Load() }
		h.restartManager(0)
		h.createWatcher("cron", `{"cron":"0 8 * * *","except":["days off"]}`, withReminder("stretch"))
		h.startManager()
		time.Sleep(12 * time.Hour)
		leave.Store("2000-01-02")
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		h.stop()
		if d := cmp.Diff([]string{"stretch", "stretch"}, h.listTexts()); d != "" {
			t.Error(d)
		}
	})
}

// Over the weeks around a clock change, with the process killed and started at random times,
// each occurrence fires exactly once.
func TestTimed_RandomRestarts(t *testing.T) {
	loc := loadZone(t, "Europe/Vilnius")
	for _, begin := range []time.Time{
		time.Date(2026, 3, 26, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 22, 12, 0, 0, 0, time.UTC),
	} {
		for _, config := range []string{`{"cron":"30 3 * * *"}`, `{"cron":"*/30 * * * *"}`, `{"cron":"15 2,3,4 * * 0"}`, `{"interval":"95m"}`} {
			t.Run(begin.Format("Jan ")+config, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(time.Until(begin))
					h := newFixture(t)
					h.travelTo(loc)
					s := h.createWatcher("cron", config, withPolicy(watchers.RunAll))
					rng := rand.New(rand.NewPCG(uint64(begin.Unix()), 3))
					end := begin.AddDate(0, 0, 7)
					for time.Now().Before(end) {
						h.startManager()
						time.Sleep(time.Duration(rng.Int64N(int64(5 * time.Hour))))
						h.stop()
						time.Sleep(time.Duration(rng.Int64N(int64(3 * time.Hour))))
					}
					h.startManager()
					synctest.Wait()
					h.stop()
					if d := cmp.Diff(expectedTimes(t, h, s, begin), h.listKeys()); d != "" {
						t.Error(d)
					}
				})
			})
		}
	}
}

// expectedTimes returns the keys of all occurrences from begin until now.
func expectedTimes(t *testing.T, h *managerFixture, s watchers.Spec, begin time.Time) []string {
	t.Helper()
	made, err := h.drivers[0].New(s, watchers.Deps{Zone: h.currentZone})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for at, ok := made.(watchers.Timed).Next(begin); ok && !at.After(time.Now()); at, ok = made.(watchers.Timed).Next(at) {
		out = append(out, s.ID+"@"+at.UTC().Format(time.RFC3339))
	}
	if len(out) == 0 {
		t.Fatal("no occurrence is expected; the test checks nothing")
	}
	return out
}

func TestTimed_ZoneChangesWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.startManager()
		s := h.createWatcher("cron", `{"cron":"0 8 * * *"}`)
		fixed := h.createWatcher("cron", `{"cron":"0 8 * * *","tz":"UTC"}`)
		time.Sleep(9 * time.Hour) // 8:00 UTC has fired
		h.travelTo(loadZone(t, "America/New_York"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, want := h.getSpec(s.ID).NextAt, time.Date(2000, 1, 2, 13, 0, 0, 0, time.UTC); !got.Equal(want) {
			t.Errorf("in New York next is %s, want %s", got, want)
		}
		if got, want := h.getSpec(fixed.ID).NextAt, time.Date(2000, 1, 2, 8, 0, 0, 0, time.UTC); !got.Equal(want) {
			t.Errorf("with a fixed zone next is %s, want %s", got, want)
		}
		time.Sleep(30 * time.Hour)
		synctest.Wait()
		h.stop()
		var mine []string
		for _, f := range h.sink.Fired() {
			if f.Watcher == s.ID {
				mine = append(mine, f.At.Format("02 15:04"))
			}
		}
		if d := cmp.Diff([]string{"01 08:00", "02 13:00"}, mine); d != "" {
			t.Error(d)
		}
	})
}

func TestTimed_FailingSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.startManager()
		s := h.createWatcher("oneshot", timeIn(time.Minute), withReminder("stretch"))
		other := h.createWatcher("oneshot", timeIn(10*time.Minute), withReminder("drink"))
		h.sink.Fail(watcherstest.ErrSink)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if len(h.listKeys()) != 0 || h.sink.Calls() < 3 || h.sink.Calls() > 15 {
			t.Fatalf("fired %v in %d tries", h.listKeys(), h.sink.Calls())
		}
		if n := len(h.sink.Troubles()); n != 1 {
			t.Errorf("reported %d times", n)
		}
		if got := h.getSpec(s.ID); got.LastError == "" || got.State != watchers.Active {
			t.Errorf("meanwhile: %+v", got)
		}
		h.sink.Fail(nil)
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		h.stop()
		if got := h.listTexts(); len(got) != 2 || !strings.HasPrefix(got[0], "stretch (ran late") && !strings.HasPrefix(got[1], "stretch (ran late") {
			t.Errorf("fired %q", got)
		}
		for _, id := range []string{s.ID, other.ID} {
			if got := h.getSpec(id); got.LastError != "" || got.State != watchers.Done || got.Fired != 1 {
				t.Errorf("after the recovery: %+v", got)
			}
		}
	})
}

func TestUpcoming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		ctx := context.Background()
		if _, ok := h.m.Next(ctx); ok {
			t.Error("a manager without watchers reports a next time")
		}
		h.createWatcher("cron", `{"cron":"0 8,20 * * *"}`, withReminder("pills"))
		h.createWatcher("oneshot", `{"at":"2000-01-02T12:00:00Z"}`, withReminder("lunch"))
		h.createWatcher("oneshot", `{"at":"2000-02-02T12:00:00Z"}`, withReminder("later"))
		h.createWatcher("cron", `{"interval":"1s"}`, func(s *watchers.Spec) { s.Title = "often" })
		if next, ok := h.m.Next(ctx); !ok || !next.Equal(time.Date(2000, 1, 1, 0, 0, 1, 0, time.UTC)) {
			t.Errorf("next = %s", next)
		}
		from := time.Date(2000, 1, 2, 8, 0, 0, 0, time.UTC)
		list, err := h.m.Upcoming(ctx, from, from.Add(12*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		often := 0
		for _, o := range list {
			if o.Spec.Title == "often" {
				often++
				continue
			}
			got = append(got, o.At.Format("15:04 ")+o.Spec.Title)
		}
		if d := cmp.Diff([]string{"08:00 pills", "12:00 lunch"}, got); d != "" || often != 100 {
			t.Errorf("%s; %d of the frequent one", d, often)
		}
	})
}

// BenchmarkThousandTimed fires 1,000 watchers that are due at the same time.
func BenchmarkThousandTimed(b *testing.B) {
	h := newFixture(b)
	const n = 1000
	for b.Loop() {
		b.StopTimer()
		before := len(h.sink.Fired())
		for range n {
			h.createWatcher("oneshot", `{"at":"1999-01-01T00:00:00Z"}`, func(s *watchers.Spec) { s.CreatedAt = time.Unix(1, 0) })
		}
		b.StartTimer()
		h.startManager()
		watcherstest.Eventually(b, "all fire", func() bool { return len(h.sink.Fired()) == before+n })
		h.stop()
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "fired/s")
}
