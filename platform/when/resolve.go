package when

import "time"

// horizon is the number of years searched for a date without a year; a weekday on
// 29 February needs up to 40.
const horizon = 40

// valid reports whether s, as said so far, can be resolved.
func (p *parser) valid(s spec) bool {
	if s.either != nil {
		return true
	}
	_, ok := p.resolve(s)
	return ok
}

// resolve finds the moment that s describes, the next one where s leaves a
// choice.
func (p *parser) resolve(s spec) (Moment, bool) {
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
	span, g, ok := p.days(s)
	if !ok || s.set&fZone != 0 {
		return Moment{}, false
	}
	d := span.lo
	if s.set&fPick != 0 {
		d, g = s.pick, Day
	}
	m := Moment{Time: d.start(p.now.Location()), Grain: g}
	if s.keep && g == Day {
		h, mi, sec := p.now.Clock()
		m.Time = local(d, h, mi, sec, p.now.Location())
	}
	return m, p.inRange(d)
}

func (p *parser) inRange(d day) bool {
	y, _, _ := d.civil()
	return y >= 1 && y <= 9999
}

// days finds the run of days that the date constraints of s describe.
func (p *parser) days(s spec) (daySpan, Grain, bool) {
	var found daySpan
	ok := false
	g := s.dayGrain()
	p.occurrences(s, func(d daySpan) bool {
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
		return s.nth.unit.grain()
	case s.set&(fDom|fWeekday|fFeast|fPick) != 0:
		return Day
	case s.set&(fMonth|fSpan) != 0:
		return s.grain
	}
	return Year
}

// fixed reports whether s names its year or span, so that it does not recur.
func (s spec) fixed() bool { return s.set&(fSpan|fYear) != 0 }

// occurrences yields the runs of days that satisfy s: all of them inside the
// span or year that s names, else those from today on (the latest first when
// the parser looks back), until yield returns false.
func (p *parser) occurrences(s spec, yield func(daySpan) bool) {
	if s.set&fDate == 0 || s.set&fNth != 0 && s.set&(fSpan|fYear|fMonth) == 0 {
		return // "the first Monday" of nothing
	}
	if s.fixed() {
		w := s.span
		if s.set&fSpan == 0 {
			w = daySpan{date(s.year, 1, 1), date(s.year+1, 1, 1)}
		} else if s.set&fYear != 0 {
			if y, _, _ := s.span.lo.civil(); y != s.year {
				return
			}
		}
		p.within(s, w, yield)
		return
	}
	if p.past {
		p.latest(s, yield)
		return
	}
	y, _, _ := p.today.civil()
	going := true
	ahead := horizon
	if full := fWeekday | fDom | fMonth; s.set&full == full && !(s.month == time.February && s.dom == 29) {
		ahead = 2 // a weekday with a date limits the search
	}
	for n := 0; n < ahead && going; n++ {
		p.within(s, daySpan{date(y+n, 1, 1), date(y+n+1, 1, 1)}, func(d daySpan) bool {
			if d.hi <= p.today || p.skipsToday(s) && d.lo <= p.today {
				return true
			}
			going = yield(d)
			return going
		})
	}
}

// skipsToday: who means today does not say its weekday, unless with an hour
// that is still to come.
func (p *parser) skipsToday(s spec) bool {
	return s.set&fDate == fWeekday && s.set&(fClock|fPart) == 0
}

// latest yields the last occurrence that has begun.
func (p *parser) latest(s spec, yield func(daySpan) bool) {
	y, _, _ := p.today.civil()
	for n := range horizon {
		var last daySpan
		p.within(s, daySpan{date(y-n, 1, 1), date(y-n+1, 1, 1)}, func(d daySpan) bool {
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

// within yields what satisfies s inside the window w.
func (p *parser) within(s spec, w daySpan, yield func(daySpan) bool) {
	if !p.work.step() {
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
			if s.matches(d) && !yield(daySpan{d, d + 1}) {
				return
			}
		}
	case s.set&fMonth != 0:
		y, _, _ := w.lo.civil()
		for ; date(y, 1, 1) < w.hi; y++ {
			lo := date(y, s.month, 1)
			run := daySpan{lo, lo.addMonths(s.months)}
			if w.contains(run) || w.lo == date(y, 1, 1) && w.hi == date(y+1, 1, 1) && lo < w.hi {
				if !yield(run) {
					return
				}
			}
		}
	default:
		yield(w)
	}
}

// withinNth yields the nth unit of each container; a weekday next to a longer
// unit is searched within it: "Friday of the first week of May".
func (p *parser) withinNth(s spec, w daySpan, yield func(daySpan) bool) {
	n, inner := s.nth, spec{}
	s.set &^= fNth
	if !n.byDay && n.unit.grain() > Day {
		inner = s
		inner.set &= fWeekday
		s.set &^= fWeekday
	}
	p.within(s, w, func(c daySpan) bool {
		r, ok := n.in(c)
		if !ok {
			return true
		}
		if inner.set == 0 {
			return yield(r)
		}
		for d := r.lo; d < r.hi; d++ {
			if inner.matches(d) {
				return yield(daySpan{d, d + 1})
			}
		}
		return true
	})
}

// withinMonths yields the day of the month that s names, month by month.
func withinMonths(s spec, w daySpan, yield func(daySpan) bool) {
	y, m, _ := w.lo.civil()
	for ; date(y, m, 1) < w.hi; m++ {
		d := date(y, m, s.dom)
		if d >= w.lo && d < w.hi && s.matches(d) && !yield(daySpan{d, d + 1}) {
			return
		}
	}
}

func (p *parser) withinFeast(s spec, w daySpan, yield func(daySpan) bool) {
	lo, _, _ := w.lo.civil()
	hi, _, _ := w.hi.civil()
	for y := lo; y <= hi; y++ {
		for _, d := range p.daysOf(s.feast, y) {
			if w.contains(daySpan{d, d + 1}) && s.matches(d) && !yield(daySpan{d, d + 1}) {
				return
			}
		}
	}
}

// matches checks the single-day constraints of s.
func (s spec) matches(d day) bool {
	if s.set&fWeekday != 0 && d.weekday() != s.wd {
		return false
	}
	if s.set&(fMonth|fDom) == 0 {
		return true
	}
	_, m, dd := d.civil()
	if s.set&fDom != 0 && dd != s.dom {
		return false
	}
	return s.set&fMonth == 0 || m >= s.month && m < s.month+time.Month(s.months)
}
