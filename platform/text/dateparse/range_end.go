package dateparse

import "time"

// datesOf returns only the date of a spec.
func datesOf(s spec) spec {
	s.set &= fDate
	s.clock, s.part = clockTime{}, partNone
	return s
}

// shareHalf applies the am or pm of b to the hour of a if a has none and is then before b.
func shareHalf(a, b spec) spec {
	if a.clock.half != halfUnknown || b.clock.half == halfUnknown || b.clock.half == halfBoth {
		return a
	}
	if a.set&fPart != 0 {
		return a
	}
	a.clock.half = b.clock.half
	c, ok := a.clock.normalizeClock()
	if !ok || b.clock.h*60+b.clock.m <= c.h*60+c.m {
		a.clock.half = halfAM + halfPM - b.clock.half
		c, _ = a.clock.normalizeClock()
	}
	a.clock = c
	return a
}

// rangeEnd finds the end of a range that begins at lo: the first moment after lo that b describes.
// A day, month or year at the end of a range is included in it.
func (p *parser) rangeEnd(a, b spec, lo Moment) (time.Time, bool) {
	if b.set&fInstant != 0 {
		return b.at, true
	}
	from := *p
	from.now, from.today, from.past = lo.Time, dayOf(lo.Time), false
	if b.set&fClock != 0 && b.set&fDate == 0 {
		if a.set&fPart != 0 && b.set&fPart == 0 {
			b.set |= fPart
			b.part = a.part
		}
		if t, ok := from.laterClock(b); ok {
			return t, true
		}
	}
	if b.set&(fClock|fPart) != 0 {
		m, ok := from.resolveSpec(b)
		return m.Time, ok
	}
	b.set &^= fPick
	if b.set&fDate == fWeekday && from.today.weekdayOf() == b.wd {
		return time.Time{}, false
	}
	span, _, ok := from.resolveDays(b)
	return span.hi.startIn(p.now.Location()), ok
}

// laterClock returns the first time after now that the time of day in s may mean. In "from 9 to 5",
// the 5 is therefore in the afternoon.
func (p *parser) laterClock(s spec) (time.Time, bool) {
	hours := s.clock.possibleHours()
	if s.clock.half == halfUnknown {
		hours = []int{s.clock.h, s.clock.h + 12, s.clock.h + 24}
	} else {
		hours = append(hours, hours[0]+24)
	}
	for _, h := range hours {
		if m := p.onDay(p.today, h, s); m.Time.After(p.now) {
			return m.Time, true
		}
	}
	return time.Time{}, false
}

// withDirection returns a parser of the same sentence that resolves recurring dates in
// the past or in the future.
func (p *parser) withDirection(back bool) *parser {
	other := *p
	other.past, other.back = back, back
	other.exprs, other.parts = map[int][]candidateParse{}, map[int][]candidateParse{}
	return &other
}

// enclosingRange returns a range of months or dates that includes now. For example, in September
// "from August to October" has already started.
func (p *parser) enclosingRange(a, b spec) (*Period, bool) {
	if p.past || a.set&fMonth == 0 || b.set&fMonth == 0 || (a.set|b.set)&(fClock|fPart|fInstant|fYear|fSpan) != 0 {
		return nil, false
	}
	hi, _, ok := p.resolveDays(b)
	if !ok {
		return nil, false
	}
	back := p.withDirection(true)
	back.today = hi.hi - 1
	lo, _, ok := back.resolveDays(a)
	if !ok || lo.lo >= hi.hi {
		return nil, false
	}
	loc := p.now.Location()
	return &Period{From: lo.lo.startIn(loc), To: hi.hi.startIn(loc)}, true
}

// disambiguateRange handles ambiguous ends of a range. If one end is unambiguous, it determines the
// order of day and month for the other.
func (p *parser) disambiguateRange(from, to spec) (spec, spec, []string) {
	if len(from.either) == 2 && to.order != orderUnknown {
		from = p.applyDateOrder(from, to.order)
	}
	if len(to.either) == 2 && from.order != orderUnknown {
		to = p.applyDateOrder(to, from.order)
	}
	from, okFrom := p.settleDates(from)
	to, okTo := p.settleDates(to)
	var ask []string
	if !okFrom {
		ask = append(ask, p.describeChoices(from)...)
	}
	if !okTo {
		ask = append(ask, p.describeChoices(to)...)
	}
	return from, to, ask
}

// applyDateOrder selects the reading of an ambiguous date that has the given order.
func (p *parser) applyDateOrder(s spec, o dateOrder) spec {
	s.either = s.either[o-orderDayFirst : o-orderDayFirst+1]
	return s
}
