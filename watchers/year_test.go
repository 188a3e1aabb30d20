package watchers_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"hob/platform/store/storetest"
	"hob/watchers"
)

// The years with unusual clock changes in the zones of the virtual year.
var virtualYears = []struct {
	year  int
	zones []string
}{
	{2010, []string{"America/St_Johns"}},                      // the clocks change at 00:01
	{2011, []string{"Pacific/Apia"}},                          // the zone skipped 30 December
	{2018, []string{"America/Sao_Paulo", "America/Asuncion"}}, // the clocks change at midnight
	{2024, []string{
		"Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Kathmandu", "Africa/Casablanca", "Antarctica/Troll",
		"America/Havana", "Australia/Sydney", "America/Los_Angeles",
	}},
}

// TestVirtualYear simulates a year of schedules in many zones, on a machine that sleeps and
// restarts at random. Each occurrence must fire once or be handled as its policy requires, and no
// occurrence may be late while Hob runs. HOB_TEST_LONG=1 simulates all years with 20 seeds; the
// default is two years with some of the zones. HOB_TEST_SEEDS sets the number of seeds.
func TestVirtualYear(t *testing.T) {
	storetest.FileOnly(t, "a year has more transactions than a connection carries in minutes")
	if raceDetector {
		t.Skip("a virtual year sometimes crashes the race detector (golang/go#78156); make test runs this test without the race detector")
	}
	years, seeds := slices.Clone(virtualYears[2:]), 1
	if os.Getenv("HOB_TEST_LONG") != "" {
		years, seeds = virtualYears, 20
	} else {
		years[1].zones = years[1].zones[:4]
	}
	if n, err := strconv.Atoi(os.Getenv("HOB_TEST_SEEDS")); err == nil {
		seeds = n
	}
	for seed := range uint64(seeds) {
		for _, v := range years {
			t.Run(fmt.Sprintf("%d seed %d", v.year, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { liveAYear(t, v.year, v.zones, seed) })
			})
		}
	}
}

// span is a period in which the machine was on.
type span struct{ from, to time.Time }

// trackedSchedule is a schedule with its expected occurrences from an independent calculation.
type trackedSchedule struct {
	spec watchers.Spec
	name string
	want []time.Time
}

func liveAYear(t *testing.T, year int, zones []string, seed uint64) {
	begin := time.Date(year, 1, 1, 12, 0, 0, 0, time.UTC)
	end := begin.AddDate(1, 0, 1)
	time.Sleep(time.Until(begin))
	rng := rand.New(rand.NewPCG(seed, uint64(year)))
	h := newFixture(t)
	var all []trackedSchedule
	var changes []time.Time
	policies := []watchers.MisfirePolicy{watchers.RunOnce, watchers.Skip, watchers.RunAll}
	for i, name := range zones {
		r := readZone(loadZone(t, name), begin, end)
		changes = append(changes, r.listChanges()...)
		tz := name
		if i == 0 { // the first zone is the user's, so its schedules name no zone
			h.travelTo(r.loc)
			tz = ""
		}
		for _, c := range almanac {
			p := policies[rng.IntN(len(policies))]
			config, err := json.Marshal(map[string]string{"cron": c.cron, "tz": tz})
			if err != nil {
				t.Fatal(err)
			}
			s := h.createWatcher("cron", string(config), withPolicy(p))
			all = append(all, trackedSchedule{s, fmt.Sprintf("%s in %s, %s", c.cron, name, p), r.expectTimes(c, begin, end)})
		}
		missing := changes[len(changes)-len(r.listChanges()):]
		for _, at := range append(missing, begin.Add(time.Duration(rng.Int64N(int64(300*24*time.Hour))))) {
			at = at.Truncate(time.Second)
			s := h.createWatcher("oneshot", fmt.Sprintf(`{"at":%q}`, at.Format(time.RFC3339)), withReminder("once"), withPolicy(policies[rng.IntN(3)]))
			all = append(all, trackedSchedule{s, "once at " + at.String(), []time.Time{at}})
		}
	}
	var on []span
	for time.Now().Before(end) {
		h.startManager()
		from := time.Now()
		near := slices.ContainsFunc(changes, func(c time.Time) bool { return time.Until(c).Abs() < 16*time.Hour })
		stay, away := 2*time.Hour, 8*24*time.Hour
		if near {
			stay, away = 7*time.Hour, 4*time.Hour
		}
		time.Sleep(min(time.Duration(rng.Int64N(int64(stay))), time.Until(end)))
		synctest.Wait()
		on = append(on, span{from, time.Now()})
		h.stop()
		time.Sleep(min(time.Duration(rng.Int64N(int64(away))), time.Until(end)))
	}
	h.startManager()
	synctest.Wait()
	h.stop()
	fired := map[string][]watchers.Signal{}
	for _, f := range h.sink.Fired() {
		fired[f.Watcher] = append(fired[f.Watcher], f.Signal)
	}
	for _, w := range all {
		if problem := accountFor(w, fired[w.spec.ID], on); problem != "" {
			t.Errorf("%s: %s", w.name, problem)
		}
	}
}

// accountFor checks that the signals cover all expected occurrences, in order. It returns "" if they
// do, or a description of the first difference.
func accountFor(w trackedSchedule, signals []watchers.Signal, on []span) string {
	left := w.want
	for _, s := range signals {
		var p struct{ Missed, Skipped int }
		if err := json.Unmarshal(s.Payload, &p); err != nil {
			return err.Error()
		}
		n := p.Missed + 1
		if s.Skipped > 0 {
			n = s.Skipped
		}
		if n > len(left) || !left[n-1].Equal(s.At) {
			return fmt.Sprintf("%q of %s covers %d, but the due occurrences are %v", s.Text, s.At, n, left[:min(n, 3, len(left))])
		}
		switch {
		case s.Skipped > 0 && w.spec.Missed == watchers.RunOnce,
			s.Late > 0 && w.spec.Missed == watchers.Skip,
			p.Missed > 0 && w.spec.Missed != watchers.RunOnce:
			return fmt.Sprintf("%q is against its policy", s.Text)
		}
		for i, at := range left[:n] {
			here := slices.ContainsFunc(on, func(o span) bool { return !at.Before(o.from) && at.Before(o.to) })
			if here && (i < n-1 || s.Late > 0 || s.Skipped > 0) {
				return fmt.Sprintf("%s was missed (%q) although Hob was there", at, s.Text)
			}
		}
		left = left[n:]
	}
	if len(left) > 0 {
		return fmt.Sprintf("%d of %d are not accounted for, the first %s", len(left), len(w.want), left[0])
	}
	return ""
}

// entry is a cron expression with an independent calculation of its occurrences.
type entry struct {
	cron string
	h, m int // if h < 0, the entry occurs each hour
	day  func(date time.Time) bool
}

func onDayOfMonth(n int) func(time.Time) bool { return func(d time.Time) bool { return d.Day() == n } }

var almanac = []entry{
	{"0 * * * *", -1, 0, func(time.Time) bool { return true }},
	{"0 0 * * *", 0, 0, func(time.Time) bool { return true }},
	{"30 2 * * *", 2, 30, func(time.Time) bool { return true }},
	{"15 8 * * 1-5", 8, 15, func(d time.Time) bool { return d.Weekday() != time.Saturday && d.Weekday() != time.Sunday }},
	{"45 1 * * 0", 1, 45, func(d time.Time) bool { return d.Weekday() == time.Sunday }},
	{"5 0 1 * *", 0, 5, onDayOfMonth(1)},
	{"0 9 29 * *", 9, 0, onDayOfMonth(29)},
	{"0 9 30 * *", 9, 0, onDayOfMonth(30)},
	{"0 9 31 * *", 9, 0, onDayOfMonth(31)},
	{"0 9 L * *", 9, 0, func(d time.Time) bool { return d.AddDate(0, 0, 1).Day() == 1 }},
	{"0 9 * * 1#1,1#5", 9, 0, func(d time.Time) bool { return d.Weekday() == time.Monday && (d.Day() <= 7 || d.Day() > 28) }},
	{"0 9 * * 5L", 9, 0, func(d time.Time) bool { return d.Weekday() == time.Friday && d.AddDate(0, 0, 7).Month() != d.Month() }},
	{"0 9 29 2 *", 9, 0, func(d time.Time) bool { return d.Day() == 29 && d.Month() == time.February }},
}

// segment is a period without clock changes in a zone.
type segment struct {
	from, to time.Time
	offset   time.Duration
}

// zoneRead contains the UTC offsets of a zone over time. readZone determines them by checking the
// clock, without the zone's rules.
type zoneRead struct {
	loc  *time.Location
	segs []segment
}

func readZone(loc *time.Location, begin, end time.Time) zoneRead {
	offset := func(t time.Time) time.Duration {
		_, s := t.In(loc).Zone()
		return time.Duration(s) * time.Second
	}
	r := zoneRead{loc: loc}
	from := begin.AddDate(0, 0, -5)
	for t, last := from, end.AddDate(0, 0, 5); ; t = t.Add(time.Hour) {
		next := t.Add(time.Hour)
		if !next.Before(last) {
			r.segs = append(r.segs, segment{from, last, offset(t)})
			return r
		}
		if offset(next) == offset(t) {
			continue
		}
		var change time.Time
		for change = t; offset(change) == offset(t); change = change.Add(time.Second) {
		}
		r.segs = append(r.segs, segment{from, change, offset(t)})
		from = change
	}
}

func (r zoneRead) listChanges() []time.Time {
	var out []time.Time
	for _, s := range r.segs[1:] {
		out = append(out, s.from)
	}
	return out
}

// expectTimes lists the occurrences in (begin, end].
func (r zoneRead) expectTimes(e entry, begin, end time.Time) []time.Time {
	var out []time.Time
	y, m, d := begin.Date()
	for date := time.Date(y, m, d-3, 0, 0, 0, 0, time.UTC); date.Before(end.AddDate(0, 0, 3)); date = date.AddDate(0, 0, 1) {
		if !e.day(date) {
			continue
		}
		if e.h < 0 {
			for h := range 24 {
				out = append(out, r.eachInstant(date.Add(time.Duration(h)*time.Hour+time.Duration(e.m)*time.Minute))...)
			}
			continue
		}
		out = append(out, r.firstInstant(date.Add(time.Duration(e.h)*time.Hour+time.Duration(e.m)*time.Minute)))
	}
	slices.SortFunc(out, time.Time.Compare)
	out = slices.CompactFunc(out, time.Time.Equal)
	return slices.DeleteFunc(out, func(t time.Time) bool { return !t.After(begin) || t.After(end) })
}

// firstInstant returns the time at which the clocks show wall for the first time, or at which they skip
// wall.
func (r zoneRead) firstInstant(wall time.Time) time.Time {
	for _, s := range r.segs {
		if at := wall.Add(-s.offset); at.Before(s.to) {
			if at.Before(s.from) {
				return s.from
			}
			return at
		}
	}
	return time.Time{}
}

// eachInstant returns all times at which the clocks show wall. If the clocks skip wall, it returns the
// time at which an unchanged clock would show wall.
func (r zoneRead) eachInstant(wall time.Time) []time.Time {
	var out []time.Time
	for i, s := range r.segs {
		at := wall.Add(-s.offset)
		next := segment{}
		if i+1 < len(r.segs) {
			next = r.segs[i+1]
		}
		gap := !next.from.IsZero() && !at.Before(s.to) && wall.Add(-next.offset).Before(next.from)
		if !at.Before(s.from) && at.Before(s.to) || gap {
			out = append(out, at)
		}
	}
	return out
}
