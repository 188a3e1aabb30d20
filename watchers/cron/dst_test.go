package cron

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"hob/watchers"
)

// rule is a cron expression with an independent calculation of its occurrences.
type rule struct {
	name     string
	text     string
	match    func(wall time.Time) bool
	realTime bool // the hour is "*"
}

func atClock(h, m int) func(time.Time) bool {
	return func(w time.Time) bool { return w.Hour() == h && w.Minute() == m }
}

var rules = []rule{
	{name: "daily 02:30", text: "30 2 * * *", match: atClock(2, 30)},
	{name: "daily 03:30", text: "30 3 * * *", match: atClock(3, 30)},
	{name: "daily midnight", text: "0 0 * * *", match: atClock(0, 0)},
	{name: "weekdays 02:15", text: "15 2 * * 1-5", match: func(w time.Time) bool {
		return atClock(2, 15)(w) && w.Weekday() != time.Saturday && w.Weekday() != time.Sunday
	}},
	{name: "Sundays as 7", text: "30 1 * * 7", match: func(w time.Time) bool { return atClock(1, 30)(w) && w.Weekday() == time.Sunday }},
	{name: "several hours", text: "*/20 1-4 * * *", match: func(w time.Time) bool {
		return w.Hour() >= 1 && w.Hour() <= 4 && w.Minute()%20 == 0
	}},
	{name: "every other hour", text: "5 */2 * * *", match: func(w time.Time) bool { return w.Hour()%2 == 0 && w.Minute() == 5 }},
	{name: "hourly", text: "0 * * * *", match: func(w time.Time) bool { return w.Minute() == 0 }, realTime: true},
	{name: "hourly at :45", text: "45 * * * *", match: func(w time.Time) bool { return w.Minute() == 45 }, realTime: true},
	{name: "every 10 minutes", text: "*/10 * * * *", match: func(w time.Time) bool { return w.Minute()%10 == 0 }, realTime: true},
	{name: "three times an hour", text: "10,20,30 * * * *", match: func(w time.Time) bool {
		return w.Minute() == 10 || w.Minute() == 20 || w.Minute() == 30
	}, realTime: true},
	{name: "every minute on Sundays", text: "* * * * 0", match: func(w time.Time) bool { return w.Weekday() == time.Sunday }, realTime: true},
}

// wallMinutes returns the wall-clock time of each minute, starting one minute before from.
func wallMinutes(loc *time.Location, from, to time.Time) []time.Time {
	var out []time.Time
	for t := from.Add(-time.Minute); t.Before(to); t = t.Add(time.Minute) {
		_, offset := t.In(loc).Zone()
		out = append(out, t.UTC().Add(time.Duration(offset)*time.Second).Truncate(time.Minute))
	}
	return out
}

// expectedWalk computes the occurrences after from by checking every minute, without knowing the zone's
// rules.
func (r rule) expectedWalk(walls []time.Time, from time.Time) []time.Time {
	var out []time.Time
	latest := walls[0] // the latest time the clock ever showed
	for i, w := range walls[1:] {
		add := func(after time.Duration) {
			out = append(out, from.Add(time.Duration(i)*time.Minute+after))
		}
		for missing := latest.Add(time.Minute); missing.Before(w); missing = missing.Add(time.Minute) {
			switch {
			case !r.match(missing):
			case r.realTime:
				add(missing.Sub(latest) - time.Minute)
			default:
				add(0)
			}
		}
		if (r.realTime || w.After(latest)) && r.match(w) {
			add(0)
		}
		if w.After(latest) {
			latest = w
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// TestYear compares a year of occurrences with expectedWalk.
func TestYear(t *testing.T) {
	for _, name := range []string{"Europe/Vilnius", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"} {
		t.Run(name, func(t *testing.T) {
			loc := loadZone(t, name)
			from := time.Date(2026, 1, 1, 0, 0, 0, 0, loc).UTC()
			to := from.AddDate(1, 0, 1)
			clock := wallMinutes(loc, from, to)
			for _, r := range rules {
				if r.text == "30 2 * * *" || r.text == "30 3 * * *" || r.text == "0 * * * *" || r.text == "15 2 * * 1-5" {
					t.Run(r.name, func(t *testing.T) { checkRule(t, r, r.expectedWalk(clock, from), loc, from, to) })
				}
			}
		})
	}
}

// TestChanges compares the next occurrence after each minute with expectedWalk, in the days around
// each clock change.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		zone    string
		year    int
		changes int
	}{
		{"Europe/Vilnius", 2026, 2},
		{"America/New_York", 2026, 2},
		{"Australia/Lord_Howe", 2026, 2}, // changes by half an hour
		{"America/Havana", 2026, 2},      // changes at midnight
		{"Antarctica/Troll", 2026, 2},    // changes by two hours
		{"Africa/Casablanca", 2026, 2},   // changes around Ramadan
		{"America/St_Johns", 2010, 2},    // the clocks change at 00:01
		{"Pacific/Apia", 2011, 3},        // the zone skipped 30 December
	} {
		t.Run(c.zone, func(t *testing.T) {
			loc := loadZone(t, c.zone)
			year := time.Date(c.year, 1, 1, 0, 0, 0, 0, loc)
			_, at := year.ZoneBounds()
			n := 0
			for ; at.Before(year.AddDate(1, 0, 0)); _, at = at.ZoneBounds() {
				n++
				from, to := at.AddDate(0, 0, -3).UTC().Truncate(time.Minute), at.AddDate(0, 0, 4).UTC()
				clock := wallMinutes(loc, from, to)
				for _, r := range rules {
					t.Run(at.Format("Jan ")+r.name, func(t *testing.T) { checkRule(t, r, r.expectedWalk(clock, from), loc, from, to) })
				}
			}
			if n != c.changes {
				t.Errorf("the clocks change %d times, want %d", n, c.changes)
			}
		})
	}
}

func checkRule(t *testing.T, r rule, want []time.Time, loc *time.Location, from, to time.Time) {
	s := parseTimed(t, r.text, loc)
	i := 0
	for at, ok := s.Next(from.Add(-time.Millisecond)); ok && at.Before(to); at, ok = s.Next(at) {
		if i >= len(want) || !at.Equal(want[i]) {
			t.Fatalf("occurrence %d is %s, want %s", i, at.In(loc), showAround(want, i, loc))
		}
		i++
	}
	if i != len(want) {
		t.Fatalf("%d occurrences, want %d: missing %s", i, len(want), showAround(want, i, loc))
	}
	// After a restart at any instant the next occurrence is the same.
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		at := from.Add(time.Duration(rng.Int64N(int64(to.Sub(from) - 48*time.Hour)))).Truncate(time.Millisecond)
		next, ok := s.Next(at)
		k, _ := slices.BinarySearchFunc(want, at.Add(time.Nanosecond), time.Time.Compare)
		if k < len(want) && (!ok || !next.Equal(want[k])) {
			t.Fatalf("Next(%s) = %s, want %s", at.In(loc), next, showAround(want, k, loc))
		}
	}
}

func showAround(list []time.Time, i int, loc *time.Location) string {
	if i >= len(list) {
		return "none"
	}
	return list[i].In(loc).String()
}

func loadZone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func parseTimed(t testing.TB, text string, loc *time.Location) watchers.Timed {
	t.Helper()
	raw, err := json.Marshal(config{Cron: text})
	if err != nil {
		t.Fatal(err)
	}
	made, err := New().New(watchers.Spec{Config: raw}, watchers.Deps{Zone: func() *time.Location { return loc }})
	if err != nil {
		t.Fatal(err)
	}
	return made.(watchers.Timed)
}

// The clock changes of 2026 in Vilnius: on 29 March 03:00 becomes 04:00, and on 25 October 04:00
// becomes 03:00.
func TestChangeDays(t *testing.T) {
	for _, c := range []struct{ name, text, after, want string }{
		{"in the gap", "30 3 * * *", "2026-03-28T12:00:00+02:00", "2026-03-29T04:00:00+03:00"},
		{"day after the gap", "30 3 * * *", "2026-03-29T04:00:00+03:00", "2026-03-30T03:30:00+03:00"},
		{"moved time equals the next time", "0 3,4 * * *", "2026-03-29T01:00:00+02:00", "2026-03-29T04:00:00+03:00"},
		{"fires once for both", "0 3,4 * * *", "2026-03-29T04:00:00+03:00", "2026-03-30T03:00:00+03:00"},
		{"twice: the first", "30 3 * * *", "2026-10-25T00:00:00+03:00", "2026-10-25T03:30:00+03:00"},
		{"twice: not the second", "30 3 * * *", "2026-10-25T03:30:00+03:00", "2026-10-26T03:30:00+02:00"},
		{"restart between the two", "30 3 * * *", "2026-10-25T03:10:00+02:00", "2026-10-26T03:30:00+02:00"},
		{"hourly in autumn", "0 * * * *", "2026-10-25T03:00:00+03:00", "2026-10-25T03:00:00+02:00"},
		{"hourly in spring", "30 * * * *", "2026-03-29T02:30:00+02:00", "2026-03-29T04:30:00+03:00"},
		{"leap day", "0 9 29 2 *", "2026-01-01T00:00:00+02:00", "2028-02-29T09:00:00+02:00"},
		{"leap day over 2100", "0 9 29 2 *", "2096-03-01T00:00:00+02:00", "2104-02-29T09:00:00+02:00"},
		{"either day field", "0 9 1 * 1", "2026-06-02T00:00:00+03:00", "2026-06-08T09:00:00+03:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			loc := loadZone(t, "Europe/Vilnius")
			next, ok := parseTimed(t, c.text, loc).Next(parseRFC3339(t, c.after))
			if got := next.In(loc).Format(time.RFC3339); !ok || got != c.want {
				t.Errorf("after %s: %s, want %s", c.after, got, c.want)
			}
		})
	}
}

func parseRFC3339(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestInterval(t *testing.T) {
	for _, c := range []struct{ name, config, after, want string }{
		{"before the anchor", `{"interval":"90m","anchor":"2026-03-01T10:07:00+02:00"}`, "2026-02-01T00:00:00Z", "2026-03-01T10:07:00+02:00"},
		{"at the anchor", `{"interval":"90m","anchor":"2026-03-01T10:07:00+02:00"}`, "2026-03-01T10:07:00+02:00", "2026-03-01T11:37:00+02:00"},
		{"later", `{"interval":"90m","anchor":"2026-03-01T10:07:00+02:00"}`, "2026-03-01T12:00:00+02:00", "2026-03-01T13:07:00+02:00"},
		{"elapsed time across the change", `{"interval":"12h","anchor":"2026-03-28T20:00:00+02:00"}`, "2026-03-28T20:00:00+02:00", "2026-03-29T09:00:00+03:00"},
		{"days keep the time of day", `{"interval":"24h","anchor":"2026-03-28T20:00:00+02:00"}`, "2026-03-28T20:00:00+02:00", "2026-03-29T20:00:00+03:00"},
		{"days in another zone", `{"interval":"48h","anchor":"2026-03-20T09:00:00-04:00"}`, "2026-03-20T12:00:00+02:00", "2026-03-22T09:00:00+02:00"},
		{"since creation", `{"interval":"2h"}`, "2026-03-01T00:30:00Z", "2026-03-01T04:00:00+02:00"},
		{"descriptor", `{"cron":"@every 2h"}`, "2026-03-01T00:30:00Z", "2026-03-01T04:00:00+02:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			loc := loadZone(t, "Europe/Vilnius")
			spec := watchers.Spec{Config: json.RawMessage(c.config), CreatedAt: parseRFC3339(t, "2026-03-01T00:00:00Z")}
			made, err := New().New(spec, watchers.Deps{Zone: func() *time.Location { return loc }})
			if err != nil {
				t.Fatal(err)
			}
			next, ok := made.(watchers.Timed).Next(parseRFC3339(t, c.after))
			if got := next.In(loc).Format(time.RFC3339); !ok || got != c.want {
				t.Errorf("after %s: %s, want %s", c.after, got, c.want)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	for config, want := range map[string]string{
		`{"cron":"0 8 * * 1-5"}`:                             "every weekday at 08:00",
		`{"cron":"0 8 * * *","tz":"Europe/Vilnius"}`:         "every day at 08:00 (Europe/Vilnius time)",
		`{"interval":"90m"}`:                                 "every 90 minutes",
		`{"cron":"0 8 * * 1#1","tz":"Europe/Vilnius"}`:       "on the first Monday of each month at 08:00 (Europe/Vilnius time)",
		`{"cron":"0 9 * * *; 30 17 * * *"}`:                  "every day at 09:00 and 17:30",
		`{"cron":"@daily"}`:                                  "every day at 00:00",
		`{"interval":"48h","anchor":"2026-03-01T07:00:00Z"}`: "every other day at 09:00",
	} {
		t.Run(config, func(t *testing.T) {
			if got := New().DescribeConfigIn(json.RawMessage(config), loadZone(t, "Europe/Vilnius")); got != want {
				t.Errorf("DescribeIn = %q, want %q", got, want)
			}
		})
	}
}

func TestSunday(t *testing.T) {
	for in, want := range map[string]string{
		"7": "0", "5-7": "5-6,0", "0-7": "0-6,0", "7-7": "0", "1-7/2": "1,3,5,0", "1,7": "1,0", "SUN": "SUN", "*": "*", "*/7": "*/7", "x-7/y": "x-7/y",
	} {
		if got := normalizeSunday(in); got != want {
			t.Errorf("sunday(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzCron(f *testing.F) {
	for _, r := range rules {
		f.Add(r.text, int64(1774742400), "Europe/Vilnius")
	}
	for _, s := range []string{"TZ=UTC", "@every 1s", "@", "0 0 31 2 *", "* * * * 1-7/2", "? ? ? ? ?", "0-59/100 * * * *", ",", "1/9223372036854775807 * * * *", "0 9 L 2 *", "0 9 * 2 1#5", "0 9 * * 5L; 30 8 1 * *"} {
		f.Add(s, int64(1792889999), "Australia/Lord_Howe")
	}
	f.Fuzz(func(t *testing.T, text string, unix int64, name string) {
		raw, err := json.Marshal(config{Cron: text})
		if err != nil {
			t.Skip()
		}
		loc, err := time.LoadLocation(name)
		if err != nil {
			loc = time.UTC
		}
		_ = New().DescribeConfig(raw)
		made, err := New().New(watchers.Spec{Config: raw}, watchers.Deps{Zone: func() *time.Location { return loc }})
		if err != nil {
			return
		}
		from := time.Unix(unix%(250<<30), 0)
		for range 20 {
			next, ok := made.(watchers.Timed).Next(from)
			if !ok {
				return
			}
			if !next.After(from) {
				t.Fatalf("%q in %s: Next(%s) = %s", text, loc, from, next)
			}
			from = next
		}
	})
}

func FuzzConfig(f *testing.F) {
	for _, s := range []string{`{"cron":"0 8 * * 1-5"}`, `{"interval":"90m","anchor":"2026-03-01T10:07:00+02:00"}`, `{"interval":"2562047h"}`, `{"cron":"x","tz":"../../etc/passwd"}`, `{}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		d := New()
		_ = d.DescribeConfig(json.RawMessage(raw))
		made, err := d.New(watchers.Spec{Config: json.RawMessage(raw), CreatedAt: time.Unix(1e9, 0)}, watchers.Deps{Zone: func() *time.Location { return time.UTC }})
		if err != nil {
			return
		}
		now := time.Unix(1_774_742_400, 0)
		if next, ok := made.(watchers.Timed).Next(now); ok && !next.After(now) {
			t.Fatalf("%s: Next(%s) = %s", raw, now, next)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, text := range []string{"0 8 * * 1-5", "*/5 * * * *", "0 0 29 2 *"} {
		b.Run(fmt.Sprintf("%q", text), func(b *testing.B) {
			s := parseTimed(b, text, loadZone(b, "Europe/Vilnius"))
			now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
			for b.Loop() {
				s.Next(now)
			}
		})
	}
}
