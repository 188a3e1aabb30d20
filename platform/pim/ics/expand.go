package ics

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"hob/platform/pim"
)

// Limits of a rule.
const (
	maxRule  = 500     // bytes
	maxSteps = 100_000 // occurrences that are examined
	// maxSpent is the total time limit for the rules of one object.
	maxSpent = time.Second
)

// expandSeries returns the occurrences of a series in the span.
func (x *expander) expandSeries(s *series) (out []pim.Event, err error) {
	moved := map[string]bool{}
	for _, o := range s.others {
		moved[o.replaces.recurrenceKey()] = true
		if e := o.occurrenceAt(o.start); x.overlapsRange(e.Start, e.End) {
			e.Occurrence = o.replaces.recurrenceKey()
			if s.master != nil && s.master.Cancelled {
				e.Cancelled = true
			}
			out = append(out, e)
		}
	}
	m := s.master
	if m == nil {
		return out, nil
	}
	starts, err := x.occurrenceStarts(m)
	recurs := len(m.rules)+len(m.added) > 0
	for _, at := range starts {
		e := m.occurrenceAt(at)
		if !x.overlapsRange(e.Start, e.End) || moved[at.recurrenceKey()] {
			continue
		}
		if recurs {
			e.Occurrence = at.recurrenceKey()
		}
		if out = append(out, e); len(out) >= maxFound {
			break
		}
	}
	return out, err
}

// occurrenceStarts returns the possible start times of a series in the range, without
// excluded dates.
func (x *expander) occurrenceStarts(m *component) (out []moment, err error) {
	gone := map[string]bool{}
	for _, r := range m.removed {
		r.date = r.date || m.start.date
		gone[r.recurrenceKey()] = true
		if r.date && !m.start.date { // a date excludes all times of that day
			gone[r.wall.Format("20060102")] = true
		}
	}
	seen := map[string]bool{}
	add := func(at moment) {
		if n := at.recurrenceKey(); !seen[n] && !gone[n] && !gone[at.wall.Format("20060102")] {
			seen[n] = true
			out = append(out, at)
		}
	}
	add(m.start)
	for _, at := range m.added {
		at.date = m.start.date
		add(at)
	}
	// extend the range, because rules expand in wall-clock time, which differs from UTC, and an
	// occurrence may begin before the range
	from, to := x.From.AddDate(0, 0, -1).Add(-m.length).AddDate(0, 0, -min(m.days, 3660)).UTC(), x.To.AddDate(0, 0, 1).UTC()
	for _, text := range m.rules {
		began := time.Now()
		walls, rerr := x.expandRule(text, m.start, from, to)
		x.spent += time.Since(began)
		if rerr != nil && err == nil {
			err = fmt.Errorf("the recurrence rule of %q: %w", pim.SanitizeLine(m.Title, 60), rerr)
		}
		for _, w := range walls {
			add(moment{w, m.start.date, m.start.zone})
		}
	}
	return out, err
}

// expandRule expands a rule in wall-clock time, so that a meeting at 9:00 stays at 9:00 when the
// clocks change (RFC 5545, 3.3.10).
func (x *expander) expandRule(text string, start moment, from, to time.Time) (out []time.Time, err error) {
	if len(text) > maxRule || x.spent > maxSpent {
		return nil, pim.ErrTooLarge
	}
	o, err := rrule.StrToROption(strings.ToUpper(strings.TrimSuffix(strings.TrimSpace(text), ";")))
	if err != nil {
		return nil, err
	}
	if err := checkRuleCost(o); err != nil {
		return nil, err
	}
	if o.Dtstart = start.wall; !o.Until.IsZero() {
		if z := strings.Contains(strings.ToUpper(text), "UNTIL="); z && !start.date && utcUntil(text) {
			o.Until = start.zone.toWall(o.Until)
		}
		if start.date { // the last day is included
			o.Until = o.Until.Truncate(24 * time.Hour).Add(24*time.Hour - time.Second)
		}
	}
	r, err := rrule.NewRRule(*o)
	if err != nil {
		return nil, err
	}
	next := r.Iterator()
	began := time.Now()
	for n := 0; n < maxSteps; n++ {
		w, ok := next()
		if !ok || w.After(to) {
			return out, nil
		}
		if !w.Before(from) {
			out = append(out, w)
		}
		if len(out) > maxFound || n%256 == 0 && time.Since(began) > maxSpent {
			break
		}
	}
	return out, pim.ErrTooLarge
}

func utcUntil(text string) bool {
	_, after, _ := strings.Cut(strings.ToUpper(text), "UNTIL=")
	value, _, _ := strings.Cut(after, ";")
	return strings.HasSuffix(value, "Z")
}

// checkRuleCost rejects unusual rules that are slow to expand, because the library iterates over
// them up to the year 9999.
func checkRuleCost(o *rrule.ROption) error {
	switch {
	case o.Freq == rrule.SECONDLY || o.Freq == rrule.MINUTELY:
		return fmt.Errorf("%w: event recurs every minute or more often", pim.ErrTooLarge)
	case o.Interval < 0 || o.Interval > 10_000:
		return fmt.Errorf("the interval %d is out of range", o.Interval)
	case len(o.Byeaster) > 0:
		return fmt.Errorf("BYEASTER is not defined in RFC 5545")
	case o.Freq == rrule.DAILY && o.Interval <= 1 && len(o.Bymonthday) > 0:
		o.Freq = rrule.MONTHLY // this yields the same days, but iterates by month
	}
	o.Bysecond = nil
	if max(1, len(o.Byhour))*max(1, len(o.Byminute)) > 96 {
		return fmt.Errorf("%w: too many occurrences per day", pim.ErrTooLarge)
	}
	if o.Freq == rrule.HOURLY || o.Freq == rrule.DAILY || o.Freq == rrule.WEEKLY {
		if len(o.Bymonthday)+len(o.Byyearday)+len(o.Byweekno) > 0 || o.Freq != rrule.WEEKLY && len(o.Bysetpos) > 0 {
			return fmt.Errorf("%w: BYMONTHDAY, BYYEARDAY, BYWEEKNO or BYSETPOS does not fit the frequency", pim.ErrTooLarge)
		}
	}
	for _, pos := range o.Bysetpos { // a position must not exceed the number of occurrences in a week
		if o.Freq == rrule.WEEKLY && max(pos, -pos) > max(1, len(o.Byweekday))*max(1, len(o.Byhour))*max(1, len(o.Byminute)) {
			return fmt.Errorf("%w: BYSETPOS exceeds the number of occurrences in a week", pim.ErrTooLarge)
		}
	}
	if o.Freq == rrule.HOURLY && len(o.Byhour) > 0 && o.Interval > 1 {
		return fmt.Errorf("%w: the interval may never reach an hour in BYHOUR", pim.ErrTooLarge)
	}
	slices.Sort(o.Bymonth)
	o.Bymonth = slices.Compact(o.Bymonth)
	return nil
}
