package dateparse

import "time"

// horizon is the number of years that are searched for a date without a year. The next 29 February
// on a given weekday can be up to 40 years away.
const horizon = 40

// isResolvable reports whether s can be resolved with its current constraints.
func (p *parser) isResolvable(s spec) bool {
	if s.either != nil {
		return true
	}
	_, ok := p.resolveSpec(s)
	return ok
}

// resolveSpec finds the moment that s describes, or the next one if several are possible.
func (p *parser) resolveSpec(s spec) (Moment, bool) {
	if s.set&fInstant != 0 {
		if s.set&fSpan != 0 {
			if d := dayOf(s.at); d < s.span.lo || d >= s.span.hi {
				return Moment{}, false
			}
		}
		return Moment{Time: s.at, Grain: s.grain, HasClock: true}, true
	}
	if s.set&(fClock|fPart) != 0 {
		return p.resolveClock(s)
	}
	span, g, ok := p.resolveDays(s)
	if !ok || s.set&fZone != 0 {
		return Moment{}, false
	}
	d := span.lo
	if s.set&fPick != 0 {
		d, g = s.pick, Day
	}
	m := Moment{Time: d.startIn(p.now.Location()), Grain: g}
	if s.keep && g == Day {
		h, mi, sec := p.now.Clock()
		m.Time = localTime(d, h, mi, sec, p.now.Location())
	}
	return m, p.inRange(d)
}

func (p *parser) inRange(d day) bool {
	y, _, _ := d.civilDate()
	return y >= 1 && y <= 9999
}

// resolveDays finds the run of days that the date constraints of s describe.
func (p *parser) resolveDays(s spec) (daySpan, Grain, bool) {
	var found daySpan
	ok := false
	g := s.dayGrain()
	p.eachOccurrence(s, func(d daySpan) bool {
		found, ok = d, true
		return false
	})
	return found, g, ok
}

// dayGrain returns the precision of the date constraints of s.
func (s spec) dayGrain() Grain {
	switch {
	case s.set&fNth != 0:
		if s.nth.byDay {
			return Day
		}
		if s.set&fWeekday != 0 {
			return Day
		}
		return s.nth.unit.grainOf()
	case s.set&(fDom|fWeekday|fFeast|fPick) != 0:
		return Day
	case s.set&(fMonth|fSpan) != 0:
		return s.grain
	}
	return Year
}

// namesYear reports whether s names its year or span, so that it does not recur.
func (s spec) namesYear() bool { return s.set&(fSpan|fYear) != 0 }

// eachOccurrence yields the runs of days that satisfy s until yield returns false. If s contains a
// span or year, it yields all runs within it. Otherwise it yields those from today on or, if the
// parser looks back, only the last one that has started.
func (p *parser) eachOccurrence(s spec, yield func(daySpan) bool) {
	if s.set&fDate == 0 || s.set&fNth != 0 && s.set&(fSpan|fYear|fMonth) == 0 {
		return // "the first Monday" without a container
	}
	if s.namesYear() {
		w := s.span
		if s.set&fSpan == 0 {
			w = daySpan{newDay(s.year, 1, 1), newDay(s.year+1, 1, 1)}
		} else if s.set&fYear != 0 {
			if y, _, _ := s.span.lo.civilDate(); y != s.year {
				return
			}
		}
		p.eachWithin(s, w, yield)
		return
	}
	if p.past {
		p.latestOccurrence(s, yield)
		return
	}
	y, _, _ := p.today.civilDate()
	going := true
	ahead := horizon
	if full := fWeekday | fDom | fMonth; s.set&full == full && !(s.month == time.February && s.dom == 29) {
		ahead = 2 // a weekday together with a date limits the search
	}
	for n := 0; n < ahead && going; n++ {
		p.eachWithin(s, daySpan{newDay(y+n, 1, 1), newDay(y+n+1, 1, 1)}, func(d daySpan) bool {
			if d.hi <= p.today || p.skipsToday(s) && d.lo <= p.today {
				return true
			}
			going = yield(d)
			return going
		})
	}
}

// skipsToday reports whether today must be skipped, because the name of a weekday does not mean
// today unless a time of day follows.
func (p *parser) skipsToday(s spec) bool {
	return s.set&fDate == fWeekday && s.set&(fClock|fPart) == 0
}

// latestOccurrence yields the last occurrence that has started.
func (p *parser) latestOccurrence(s spec, yield func(daySpan) bool) {
	y, _, _ := p.today.civilDate()
	for n := range horizon {
		var last daySpan
		p.eachWithin(s, daySpan{newDay(y-n, 1, 1), newDay(y-n+1, 1, 1)}, func(d daySpan) bool {
			if d.lo <= p.today && !(p.skipsToday(s) && d.lo == p.today) {
				last = d
			}
			return true
		})
		if last.hi > last.lo {
			yield(last)
			return
		}
	}
}

// eachWithin yields the runs of days inside the window w that satisfy s.
func (p *parser) eachWithin(s spec, w daySpan, yield func(daySpan) bool) {
	if !p.work.spendStep() {
		return
	}
	if s.set&fNth != 0 {
		p.withinNth(s, w, yield)
		return
	}
	switch {
	case s.set&fFeast != 0:
		p.withinFeast(s, w, yield)
	case s.set&fDom != 0:
		withinMonths(s, w, yield)
	case s.set&fWeekday != 0:
		for d := w.lo; d < w.hi; d++ {
			if s.matchesDay(d) && !yield(daySpan{d, d + 1}) {
				return
			}
		}
	case s.set&fMonth != 0:
		y, _, _ := w.lo.civilDate()
		for ; newDay(y, 1, 1) < w.hi; y++ {
			lo := newDay(y, s.month, 1)
			run := daySpan{lo, lo.addMonths(s.months)}
			if w.containsSpan(run) || w.lo == newDay(y, 1, 1) && w.hi == newDay(y+1, 1, 1) && lo < w.hi {
				if !yield(run) {
					return
				}
			}
		}
	default:
		yield(w)
	}
}

// withinNth yields the nth unit of each container. A weekday next to a longer unit is searched for
// within that unit: "Friday of the first week of May".
func (p *parser) withinNth(s spec, w daySpan, yield func(daySpan) bool) {
	n, inner := s.nth, spec{}
	s.set &^= fNth
	if !n.byDay && n.unit.grainOf() > Day {
		inner = s
		inner.set &= fWeekday
		s.set &^= fWeekday
	}
	p.eachWithin(s, w, func(c daySpan) bool {
		r, ok := n.nthIn(c)
		if !ok {
			return true
		}
		if inner.set == 0 {
			return yield(r)
		}
		for d := r.lo; d < r.hi; d++ {
			if inner.matchesDay(d) {
				return yield(daySpan{d, d + 1})
			}
		}
		return true
	})
}

// withinMonths yields the day of the month in s for each month.
func withinMonths(s spec, w daySpan, yield func(daySpan) bool) {
	y, m, _ := w.lo.civilDate()
	for ; newDay(y, m, 1) < w.hi; m++ {
		d := newDay(y, m, s.dom)
		if d >= w.lo && d < w.hi && s.matchesDay(d) && !yield(daySpan{d, d + 1}) {
			return
		}
	}
}

func (p *parser) withinFeast(s spec, w daySpan, yield func(daySpan) bool) {
	lo, _, _ := w.lo.civilDate()
	hi, _, _ := w.hi.civilDate()
	for y := lo; y <= hi; y++ {
		for _, d := range p.daysOf(s.feast, y) {
			if w.containsSpan(daySpan{d, d + 1}) && s.matchesDay(d) && !yield(daySpan{d, d + 1}) {
				return
			}
		}
	}
}

// matchesDay reports whether d satisfies the single-day constraints of s.
func (s spec) matchesDay(d day) bool {
	if s.set&fWeekday != 0 && d.weekdayOf() != s.wd {
		return false
	}
	if s.set&(fMonth|fDom) == 0 {
		return true
	}
	_, m, dd := d.civilDate()
	if s.set&fDom != 0 && dd != s.dom {
		return false
	}
	return s.set&fMonth == 0 || m >= s.month && m < s.month+time.Month(s.months)
}
