package watchers_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/watchers"
)

// The user's zone changes while Hob runs, or while it is off. The schedule fires once on each
// calendar day.
func TestTravel(t *testing.T) {
	for _, c := range []struct {
		name, config  string
		policy        watchers.MisfirePolicy
		from, to      string
		leave, arrive string // times in UTC; if they differ, the machine is off in between
		want          []string
		moves         int
	}{
		{
			"west, after the day's time", `{"cron":"0 8 * * *"}`, watchers.RunOnce, "Europe/Berlin", "America/New_York", "2026-06-10T10:00:00Z", "2026-06-10T10:00:00Z",
			[]string{"09 08:00 Berlin", "10 08:00 Berlin", "11 08:00 New_York", "12 08:00 New_York"},
			1,
		},
		{
			"west, before the day's time", `{"cron":"0 8 * * *"}`, watchers.RunOnce, "Europe/Berlin", "America/New_York", "2026-06-10T04:00:00Z", "2026-06-10T04:00:00Z",
			[]string{"09 08:00 Berlin", "10 08:00 New_York", "11 08:00 New_York", "12 08:00 New_York"},
			1,
		},
		{
			"east, over the day's time", `{"cron":"0 8 * * *"}`, watchers.RunOnce, "America/New_York", "Europe/Berlin", "2026-06-10T11:00:00Z", "2026-06-10T11:00:00Z",
			[]string{"09 08:00 New_York", "10 08:00 Berlin late", "11 08:00 Berlin", "12 08:00 Berlin"},
			1,
		},
		{
			"east, over the day's time, skipped", `{"cron":"0 8 * * *"}`, watchers.Skip, "America/New_York", "Europe/Berlin", "2026-06-10T11:00:00Z", "2026-06-10T11:00:00Z",
			[]string{"09 08:00 New_York", "10 08:00 Berlin skipped", "11 08:00 Berlin", "12 08:00 Berlin"},
			1,
		},
		{
			"over the date line, off during the journey", `{"cron":"0 8 * * *"}`, watchers.RunAll, "America/Los_Angeles", "Asia/Tokyo", "2026-06-09T20:00:00Z", "2026-06-10T20:00:00Z",
			[]string{"09 08:00 Los_Angeles", "10 08:00 Tokyo late", "11 08:00 Tokyo", "12 08:00 Tokyo"},
			1,
		},
		{
			"back over the date line, off during the journey", `{"cron":"0 8 * * *"}`, watchers.RunAll, "Asia/Tokyo", "America/Los_Angeles", "2026-06-10T08:00:00Z", "2026-06-10T18:00:00Z",
			[]string{"09 08:00 Tokyo", "10 08:00 Tokyo", "11 08:00 Los_Angeles", "12 08:00 Los_Angeles"},
			1,
		},
		{
			"every other day", `{"interval":"48h","anchor":"2026-06-08T08:00:00+00:00"}`, watchers.RunOnce, "Europe/London", "America/New_York", "2026-06-10T10:00:00Z", "2026-06-10T10:00:00Z",
			[]string{"10 08:00 London", "12 08:00 New_York"},
			1,
		},
		{
			"with a fixed zone", `{"cron":"0 8 * * *","tz":"Europe/Berlin"}`, watchers.RunOnce, "Europe/Berlin", "America/New_York", "2026-06-10T10:00:00Z", "2026-06-10T10:00:00Z",
			[]string{"09 08:00 Berlin", "10 08:00 Berlin", "11 02:00 New_York", "12 02:00 New_York"},
			0,
		},
		{
			"a pace goes on", `{"interval":"12h","anchor":"2026-06-09T06:00:00Z"}`, watchers.RunOnce, "Europe/Berlin", "Asia/Kathmandu", "2026-06-10T10:00:00Z", "2026-06-10T10:00:00Z",
			[]string{"09 08:00 Berlin", "09 20:00 Berlin", "10 08:00 Berlin", "10 23:45 Kathmandu", "11 11:45 Kathmandu", "11 23:45 Kathmandu", "12 11:45 Kathmandu"},
			0,
		},
		{
			"ignores a zone with the same times", `{"cron":"0 8 * * *"}`, watchers.RunOnce, "Europe/Berlin", "Europe/Rome", "2026-06-10T10:00:00Z", "2026-06-10T10:00:00Z",
			[]string{"09 08:00 Berlin", "10 08:00 Berlin", "11 08:00 Rome", "12 08:00 Rome"},
			0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loc := loadZone(t, c.from)
				begin := time.Date(2026, 6, 9, 7, 0, 0, 0, loc)
				time.Sleep(time.Until(begin))
				h := newFixture(t)
				h.travelTo(loc)
				h.createWatcher("cron", c.config, withReminder("pills"), withPolicy(c.policy))
				h.startManager()
				time.Sleep(time.Until(parseUTC(t, c.leave)))
				synctest.Wait()
				if c.arrive != c.leave {
					h.stop()
					time.Sleep(time.Until(parseUTC(t, c.arrive)))
				}
				h.travelTo(loadZone(t, c.to))
				if c.arrive != c.leave {
					h.startManager()
				}
				time.Sleep(time.Minute)
				h.stop() // a restart in the new zone causes no second notice
				h.startManager()
				time.Sleep(time.Until(time.Date(2026, 6, 12, 20, 0, 0, 0, h.currentZone())))
				synctest.Wait()
				h.stop()
				var got []string
				for _, f := range h.sink.Fired() {
					got = append(got, formatSignal(f.Signal, c.from, c.to, parseUTC(t, c.leave)))
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
				if n := len(h.sink.Moves()); n != c.moves {
					t.Errorf("reported %d zone changes: %+v", n, h.sink.Moves())
				}
			})
		})
	}
}

// formatSignal formats a signal with the wall-clock time at which it fired.
func formatSignal(s watchers.Signal, from, to string, leave time.Time) string {
	var p struct{ Due, Last string }
	_ = json.Unmarshal(s.Payload, &p)
	due, _ := time.Parse(time.RFC3339, p.Due+p.Last)
	where := to
	out := ""
	if s.Late > 0 {
		out = " late"
	}
	if s.Skipped > 0 {
		out = " skipped"
	}
	if s.At.Before(leave) && out == "" {
		where = from
	}
	_, city, _ := strings.Cut(where, "/")
	return due.Format("02 15:04 ") + city + out
}

func parseUTC(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// The user gets one line that names the next occurrence.
func TestTravel_IsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.travelTo(loadZone(t, "Europe/Berlin"))
		h.startManager()
		h.createWatcher("cron", `{"cron":"0 8 * * *"}`, withReminder("pills"))
		h.createWatcher("cron", `{"cron":"30 18 * * *"}`, withReminder("dinner"))
		h.createWatcher("oneshot", timeIn(100*time.Hour), withReminder("an instant stays what it is"))
		time.Sleep(10 * time.Hour)
		h.travelTo(loadZone(t, "Asia/Tokyo"))
		time.Sleep(time.Minute)
		synctest.Wait()
		h.stop()
		var got []string
		for _, m := range h.sink.Moves() {
			got = append(got, m.Text)
		}
		want := []string{"The time zone is now Asia/Tokyo (it was Europe/Berlin). 2 schedules and reminders use the new zone. Next: pills, tomorrow at 08:00."}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

// During two months of travel with a machine that is sometimes off, a time of day occurs once on
// each calendar day.
func TestTravel_Random(t *testing.T) {
	places := []string{"Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati", "Pacific/Pago_Pago", "America/Havana", "Australia/Lord_Howe"}
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 11))
				h := newFixture(t)
				h.travelTo(loadZone(t, places[0]))
				time.Sleep(time.Until(time.Date(2026, 3, 1, 12, 0, 0, 0, h.currentZone())))
				s := h.createWatcher("cron", fmt.Sprintf(`{"cron":"30 %d * * *"}`, rng.IntN(24)), withPolicy(watchers.RunAll))
				for range 40 {
					h.startManager()
					time.Sleep(time.Duration(rng.Int64N(int64(40 * time.Hour))))
					if rng.IntN(3) == 0 {
						h.travelTo(loadZone(t, places[rng.IntN(len(places))]))
						time.Sleep(time.Duration(rng.Int64N(int64(time.Hour))))
					}
					h.stop()
					if rng.IntN(3) == 0 {
						h.travelTo(loadZone(t, places[rng.IntN(len(places))]))
					}
					time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Hour))))
				}
				days := 0
				for _, f := range h.sink.Fired() {
					var p struct{ Due time.Time }
					if err := json.Unmarshal(f.Payload, &p); err != nil || f.Watcher != s.ID {
						t.Fatal(err)
					}
					y, m, d := p.Due.Date()
					day := int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
					if days != 0 && day != days+1 {
						t.Errorf("%s is %d days after the last occurrence", p.Due, day-days)
					}
					days = day
				}
				if days == 0 {
					t.Error("nothing fired")
				}
			})
		})
	}
}

// The wall clock jumps after a suspend and when a user sets it.
func TestTravel_WallClockJumps(t *testing.T) {
	noon := time.Date(2026, 6, 10, 12, 0, 30, 0, time.UTC)
	const look = 30 * time.Second
	for _, c := range []struct {
		name   string
		policy watchers.MisfirePolicy
		to     []time.Duration // wall-clock times of the checks, relative to noon
		want   []string
	}{
		{"time passes", watchers.RunOnce, []time.Duration{look, 2 * look, time.Hour, time.Hour + look}, []string{"13:00"}},
		{"a sleep", watchers.RunOnce, []time.Duration{look, 5 * time.Hour, 6 * time.Hour}, []string{"17:00 for 4", "18:00"}},
		{"a sleep, each", watchers.RunAll, []time.Duration{look, 3 * time.Hour}, []string{"13:00 late", "14:00 late", "15:00"}},
		{"a sleep, none", watchers.Skip, []time.Duration{look, 3*time.Hour + 5*time.Minute, 4 * time.Hour}, []string{"skipped 3", "16:00"}},
		{"set back by two hours", watchers.RunOnce, []time.Duration{time.Hour, 2 * time.Hour, 0, time.Hour, 2 * time.Hour, 3 * time.Hour}, []string{"13:00", "14:00", "15:00"}},
		{"set back before the first occurrence", watchers.RunOnce, []time.Duration{look, -3 * time.Hour, -2 * time.Hour}, []string{"10:00"}},
		{"set forward and back", watchers.RunOnce, []time.Duration{look, 9 * time.Hour, look, time.Hour, 9 * time.Hour, 10 * time.Hour}, []string{"21:00 for 8", "22:00"}},
		{"temporarily wrong by years", watchers.RunOnce, []time.Duration{look, 30000 * time.Hour, 2 * look, time.Hour}, []string{"12:00 for more than 10000", "13:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newFixture(t)
			h.createWatcher("cron", `{"cron":"0 * * * *"}`, withReminder("x"), withPolicy(c.policy), func(s *watchers.Spec) { s.CreatedAt = noon })
			hand, err := watchers.NewHand(h.m, noon)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range c.to {
				hand.To(noon.Add(d).Truncate(time.Minute), look)
			}
			var got []string
			for _, f := range h.sink.Fired() {
				var p struct{ Missed, Skipped int }
				if err := json.Unmarshal(f.Payload, &p); err != nil {
					t.Fatal(err)
				}
				text := f.At.Format("15:04")
				switch {
				case p.Skipped > 0:
					text = fmt.Sprint("skipped ", p.Skipped)
				case p.Missed >= 10000: // larger numbers are not exact
					text += " for more than 10000"
				case p.Missed > 0:
					text += fmt.Sprint(" for ", p.Missed)
				case f.Late > 0:
					text += " late"
				}
				got = append(got, text)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
