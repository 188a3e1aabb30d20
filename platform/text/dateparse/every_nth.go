package dateparse

import "time"

// nthItem reads "on the first Monday of every month", "the last day of the month".
func (p *parser) nthItem(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	if r.days != 0 || r.doms != 0 || len(r.nths) > 0 || r.lastDom {
		return 0, r, false
	}
	nths, last, end, ok := p.nthDays(p.skipWord(i, "on"))
	if !ok {
		return 0, r, false
	}
	e, each, named := p.ofTheMonth(end)
	switch {
	case named && (each || p.whole || r.marked):
		end = e
	case named || r.unit != unitMonth:
		return 0, r, false
	}
	if !r.marked || r.unit == 0 {
		r.unit, r.n = unitMonth, 1
	}
	if r.unit != unitMonth {
		return 0, r, false
	}
	r.marked, r.nths, r.lastDom = true, nths, last
	return end, r, true
}

// everyNth reads what follows "every": "first Monday", "2nd and 4th Tuesday of the
// month", "last day of the month".
func (p *parser) everyNth(k int, r recurrenceRule) (int, recurrenceRule, bool) {
	nths, last, end, ok := p.nthDays(k)
	if !ok {
		return 0, r, false
	}
	e, _, named := p.ofTheMonth(end)
	if named {
		end = e
	}
	if !named && !last && nths[0].n > 1 { // "every third Thursday" means every three weeks
		return 0, r, false
	}
	r.unit, r.n, r.nths, r.lastDom = unitMonth, 1, nths, last
	return end, r, true
}

// nthDays reads "the first and third Monday", "last Friday", "last day".
func (p *parser) nthDays(i int) (nths []nthDay, last bool, end int, ok bool) {
	j := p.skipWord(i, "the")
	var ns []int
	for {
		n := -1
		if rd, ok := p.parseOrdinal(j); ok && rd.n >= 1 && rd.n <= 5 {
			n, j = rd.n, rd.end
		} else if p.isWord(j, "last") {
			j++
		} else {
			return nil, false, 0, false
		}
		ns = append(ns, n)
		k := p.skipWord(p.skipWord(p.skipWord(j, ","), "and", "&"), "the")
		if k == j {
			break
		}
		j = k
	}
	if p.isWord(j, "day") && len(ns) == 1 && ns[0] == -1 {
		return nil, true, j + 1, true
	}
	wd, _, ok := p.dayName(j)
	if !ok {
		return nil, false, 0, false
	}
	for _, n := range ns {
		nths = append(nths, nthDay{n, int(wd)})
	}
	return nths, false, j + 1, true
}

// ofTheMonth reads "of the month", "of every month", "in each month".
func (p *parser) ofTheMonth(i int) (end int, each, ok bool) {
	if !p.isWord(i, "of", "in") || !p.isWord(i+1, "the", "a", "every", "each") || !p.isWord(i+2, "month") {
		return 0, false, false
	}
	return i + 3, p.isWord(i+1, "every", "each"), true
}

// nthOf reports whether "second Monday" at i is followed by "of the month".
func (p *parser) nthOf(i int) bool {
	_, _, end, ok := p.nthDays(i)
	if !ok {
		return false
	}
	_, _, named := p.ofTheMonth(end)
	return named
}

// nthIn finds the nth unit of the container c.
func (n nth) nthIn(c daySpan) (daySpan, bool) {
	var all []daySpan
	switch {
	case n.byDay:
		for d := c.lo; d < c.hi; d++ {
			if d.weekdayOf() == n.wd {
				all = append(all, daySpan{d, d + 1})
			}
		}
	case n.unit == unitDay:
		for d := c.lo; d < c.hi; d++ {
			all = append(all, daySpan{d, d + 1})
		}
	case n.unit == unitWorkday:
		for d := c.lo; d < c.hi; d++ {
			if isWorkday(d) {
				all = append(all, daySpan{d, d + 1})
			}
		}
	case n.unit == unitWeek || n.unit == unitWeekend:
		all = weeksOf(c, n.unit == unitWeekend)
	case n.unit == unitMonth || n.unit == unitQuarter:
		for d := c.lo; d < c.hi; {
			u := unitSpan(d, n.unit.grainOf(), 0)
			all = append(all, u)
			d = u.hi
		}
	}
	i := n.n - 1
	if n.n < 0 {
		i = len(all) + n.n - (n.count - 1)
	}
	if i < 0 || i+n.count > len(all) || len(all) == 1 && c.hi-c.lo == 1 {
		return daySpan{}, false
	}
	return daySpan{all[i].lo, all[i+n.count-1].hi}, true
}

// weeksOf lists the weeks of c. As in ISO 8601, a week belongs to the unit that contains its
// Thursday; a weekend belongs to the unit that contains its Saturday.
func weeksOf(c daySpan, ends bool) []daySpan {
	var all []daySpan
	for mon := c.lo.weekStart(); mon < c.hi; mon += 7 {
		if sat := mon + 5; ends && sat >= c.lo && sat < c.hi {
			all = append(all, daySpan{sat, sat + 2})
		}
		if thu := mon + 3; !ends && thu >= c.lo && thu < c.hi {
			all = append(all, daySpan{mon, mon + 7})
		}
	}
	return all
}

func isWorkday(d day) bool { return d.weekdayOf() != time.Saturday && d.weekdayOf() != time.Sunday }
