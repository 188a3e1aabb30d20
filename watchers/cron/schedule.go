package cron

import (
	"math/bits"
	"strings"
	"time"
)

// schedule fires at wall-clock times in a zone whose offset may change.
//
// When the clocks are set forward, a time that does not exist fires at the first instant after the
// gap. When they are set back, a repeated time fires only the first time. A schedule with the hour
// "*" expresses a frequency instead of certain times of the day. It follows real time, so that
// "every 15 minutes" neither pauses for an hour in autumn nor fires more often in spring.
type schedule struct {
	fields *fields
	zone   func() *time.Location
}

// schedules holds the schedules of one cron expression, one per line.
type schedules struct {
	lines []*fields
	zone  func() *time.Location
	fixed bool // the configuration names the zone
}

// Next implements watchers.Timed. It returns the earliest time of all lines.
func (s schedules) Next(t time.Time) (time.Time, bool) {
	var first time.Time
	loc := s.zone()
	for _, f := range s.lines {
		n, ok := (&schedule{fields: f, zone: func() *time.Location { return loc }}).Next(t)
		if ok && (first.IsZero() || n.Before(first)) {
			first = n
		}
	}
	return first, !first.IsZero()
}

// Carry implements watchers.ZoneBound. It returns the same wall-clock time in the other zone.
func (s schedules) Carry(at time.Time, from, to *time.Location) (time.Time, bool) {
	if s.fixed {
		return at, true
	}
	_, offset := at.In(from).Zone()
	wall := asUTC(at, offset)
	if s.isFrequency() {
		return time.Time{}, false
	}
	var nominal time.Time
	for _, f := range s.lines {
		if n, ok := f.nominalMinute(wall); ok && n.After(nominal) {
			nominal = n
		}
	}
	if nominal.IsZero() {
		nominal = wall
	}
	first, _ := wallInstants(nominal, to, false)
	return first, true
}

// oftenADay is the minimum number of runs per day for a schedule to be described as a frequency.
const oftenADay = 7

// isFrequency reports whether the schedule expresses a frequency per hour or day instead of certain
// times of the day.
func (s schedules) isFrequency() bool {
	n := 0
	for _, f := range s.lines {
		n += bits.OnesCount64(f.spec.Minute&^starBit) * bits.OnesCount64(f.spec.Hour&^starBit)
		if strings.ContainsAny(strings.Fields(f.text)[1], "*/-") {
			return true
		}
	}
	return n >= oftenADay
}

// nominalMinute returns the scheduled calendar minute of an occurrence that fired at the wall-clock
// time wall. A clock change may have skipped the scheduled minute itself.
func (f *fields) nominalMinute(wall time.Time) (out time.Time, found bool) {
	const longestJump = 24 * time.Hour // Samoa skipped a whole day
	for w := wall.Add(-longestJump - time.Minute); ; {
		n, ok := f.nextMinute(w)
		if !ok || n.After(wall) {
			return out, found
		}
		w, out, found = n, n, true
	}
}

// Next implements watchers.Timed.
func (s *schedule) Next(t time.Time) (time.Time, bool) {
	t = t.In(s.zone())
	_, offset := t.Zone()
	start, end := t.ZoneBounds()
	shift := changeAt(start)
	wall := asUTC(t, offset)
	if start.IsZero() || t.Sub(start) > shift {
		// without a clock change nearby, use calendar arithmetic with one offset
		n, ok := s.fields.nextMinute(wall)
		if !ok {
			return time.Time{}, false
		}
		if at := n.Add(-time.Duration(offset) * time.Second); end.IsZero() || at.Before(end) {
			return at.In(t.Location()), true
		}
	}
	return s.nextNearChange(t, wall.Add(-shift-time.Minute), max(shift, changeAt(end)))
}

// changeAt returns the change of the UTC offset at t. It returns 0 for the zero time.
func changeAt(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	_, before := t.Add(-time.Nanosecond).Zone()
	_, after := t.Zone()
	return (time.Duration(after-before) * time.Second).Abs()
}

// nextNearChange checks the instants of each matching calendar minute, starting at wall. Without
// real time, the instants never decrease from one minute to the next, so the first instant after t
// is the result. With real time, they may decrease by the amount of the clock change.
func (s *schedule) nextNearChange(t, wall time.Time, change time.Duration) (time.Time, bool) {
	var best time.Time
	for {
		n, ok := s.fields.nextMinute(wall)
		if !ok {
			return best, !best.IsZero()
		}
		first, second := wallInstants(n, t.Location(), s.fields.everyHour)
		if !best.IsZero() && first.Sub(best) > change {
			return best, true
		}
		for _, at := range []time.Time{first, second} {
			if at.After(t) && (best.IsZero() || at.Before(best)) {
				best = at
			}
		}
		if !s.fields.everyHour && !best.IsZero() {
			return best, true
		}
		wall = n
	}
}

// wallInstants returns the instants at which a clock in loc shows wall. If the time wall does not
// exist, first is the end of the gap or, with realTime, the instant at which an unchanged clock
// would show wall. second is set if wall occurs twice and realTime is set.
func wallInstants(wall time.Time, loc *time.Location, realTime bool) (first, second time.Time) {
	near := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, loc)
	start, end := near.ZoneBounds()
	for _, change := range []time.Time{start, end} {
		if change.IsZero() {
			continue
		}
		_, before := change.Add(-time.Nanosecond).Zone()
		_, after := change.Zone()
		old := wall.Add(-time.Duration(before) * time.Second)
		fresh := wall.Add(-time.Duration(after) * time.Second)
		switch {
		case !old.Before(change) && fresh.Before(change): // the time is in the gap
			if realTime {
				return old.In(loc), time.Time{}
			}
			return change.In(loc), time.Time{}
		case old.Before(change) && !fresh.Before(change): // the time occurs twice
			if realTime {
				return old.In(loc), fresh.In(loc)
			}
			return old.In(loc), time.Time{}
		}
	}
	return near, time.Time{}
}

// asUTC returns the wall-clock time of t at the given offset, represented in UTC.
func asUTC(t time.Time, offset int) time.Time {
	return t.UTC().Add(time.Duration(offset) * time.Second)
}
