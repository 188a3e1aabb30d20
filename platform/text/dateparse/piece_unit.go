package dateparse

import "time"

// nthPiece reads "the first Monday", "third last week", "last day", "the first
// two weeks", "fifth last day of"; the container follows as another piece.
func (p *parser) nthPiece(i int) []candidateParse {
	j := p.skipWord(i, "the")
	n, k, ok := 0, j, false
	if r, isOrd := p.parseOrdinal(j); isOrd {
		n, k, ok = r.n, r.end, true
		if p.isWord(k, "last", "to") {
			end := p.skipWord(k+1, "last")
			if p.isWord(k, "to") && end == k+1 {
				return nil
			}
			n, k = -n, end
		}
	} else if p.isWord(j, "last", "final") {
		n, k, ok = -1, j+1, true
	} else if p.isWord(j, "penultimate") {
		n, k, ok = -2, j+1, true
	}
	if !ok || n == 0 {
		return nil
	}
	count := 1
	if n == 1 || n == -1 {
		for _, r := range p.parseCardinal(k) {
			if u, _, ok := p.parseUnit(r.end); ok && u >= unitDay && r.n >= 1 && r.n < 1000 {
				count, k = r.n, r.end
				break
			}
		}
	}
	s := spec{set: fNth, nth: nth{n: n, count: count}}
	if wd, ok := weekdayName(p.tokenText(k)); ok && count == 1 {
		s.nth.wd, s.nth.byDay = wd, true
		end := p.skipAbbreviation(k)
		return append(p.ofTheUnit(s, end), candidateParse{end, s})
	}
	u, end, ok := p.parseUnit(k)
	if !ok || u < unitDay || u == unitFortnight || u == unitYear || u == unitQuarter && n > 0 && n < 5 && count == 1 || u > unitYear || u == unitNight {
		return nil
	}
	if !p.isWord(end, "of", "in") && count == 1 && u != unitQuarter && !p.whole {
		return nil
	}
	s.nth.unit = u
	return append(p.ofTheUnit(s, end), candidateParse{end, s})
}

// ofTheUnit parses the container "of the month", which means the current month.
func (p *parser) ofTheUnit(s spec, i int) []candidateParse {
	if !p.isWord(i, "of", "in") || !p.isWord(i+1, "the", "my") {
		return nil
	}
	u, end, ok := p.parseUnit(i + 2)
	if !ok || u != unitWeek && u != unitMonth && u != unitQuarter && u != unitYear || p.isWord(end, "of", "after", "before") {
		return nil
	}
	return []candidateParse{{end, overlaySpec(s, spanSpec(unitSpan(p.today, u.grainOf(), 0), u.grainOf()))}}
}

// weekOf reads "the week of May 4", "w/c Feb 4", "week 31 of 2027", "week
// beginning Monday", "weekend of thanksgiving", "labor day weekend".
func (p *parser) weekOf(i int) []candidateParse {
	j := p.skipWord(i, "the")
	k := 0
	switch {
	case p.isWord(j, "wc"):
		k = j + 1
	case p.isWord(j, "w") && p.isWord(j+1, "/") && p.isWord(j+2, "c"):
		k = j + 3
	case p.isWord(j, "week", "weekend") && p.isWord(j+1, "of", "beginning", "starting", "commencing", "containing"):
		k = p.skipWord(p.skipWord(j+2, "on"), "the")
	case p.isWord(j, "week") && p.isWord(p.skipWord(j+1, "number", "no", "nr"), p.tokenText(p.skipWord(j+1, "number", "no", "nr"))):
		return p.isoWeek(p.skipWord(j+1, "number", "no", "nr"))
	case p.isWord(j, "weekend"):
		return p.bareWeekend(j, i)
	default:
		return p.feastWeekend(j)
	}
	var out []candidateParse
	for _, a := range p.parseExpression(k) {
		if a.s.either != nil || a.s.set&(fClock|fPart|fInstant) != 0 {
			continue
		}
		if span, g, ok := p.resolveDays(a.s); ok && g <= Day {
			w := daySpan{span.lo.weekStart(), span.lo.weekStart() + 7}
			if p.isWord(j, "weekend") {
				out = append(out, candidateParse{a.end, spanSpec(weekendNear(span.lo), Day)})
				continue
			}
			out = append(out, candidateParse{a.end, spanSpec(w, Week)})
		}
	}
	return out
}

// weekendNear returns the weekend nearest to a day: the previous one for a Monday, otherwise the
// weekend of the same week.
func weekendNear(d day) daySpan {
	sat := d.weekStart() + 5
	if d.weekdayOf() == time.Monday {
		sat -= 7
	}
	return daySpan{sat, sat + 2}
}

func (p *parser) bareWeekend(j, i int) []candidateParse {
	lo := p.today.weekStart() + 5
	if p.past && lo > p.today {
		lo -= 7
	}
	s := spanSpec(daySpan{lo, lo + 2}, Day)
	s.weak = j == i
	return []candidateParse{{j + 1, s}}
}

func (p *parser) feastWeekend(i int) []candidateParse {
	var out []candidateParse
	for _, a := range p.feastPiece(i) {
		end := a.end
		s := a.s
		for _, y := range p.parseYear(end) {
			s, end = overlaySpec(s, yearSpec(y.n)), y.end
			break
		}
		if p.isWord(end, "weekend") {
			if span, _, ok := p.resolveDays(s); ok {
				out = append(out, candidateParse{end + 1, spanSpec(weekendNear(span.lo), Day)})
			}
		}
	}
	return out
}

// isoWeek parses the number of a week. The week is in the current year unless another year follows.
func (p *parser) isoWeek(i int) []candidateParse {
	n := p.tokenNumber(i)
	if n < 1 || n > 53 || len(p.tokenText(i)) > 2 {
		return nil
	}
	y, _, _ := p.today.civilDate()
	out := []candidateParse{{i + 1, weekSpec(y, n)}}
	k := p.skipWord(p.skipWord(i+1, ","), "of", "in")
	for _, r := range p.parseYear(k) {
		return append([]candidateParse{{r.end, weekSpec(r.n, n)}}, out...)
	}
	for _, a := range p.parseQualified(k) {
		if a.s.set == fSpan && a.s.grain == Year && k > i+1 {
			fy, _, _ := a.s.span.lo.civilDate()
			return append([]candidateParse{{a.end, weekSpec(fy, n)}}, out...)
		}
	}
	return out
}

func weekSpec(y, n int) spec {
	lo := newDay(y, 1, 4).weekStart() + day(7*(n-1))
	return spanSpec(daySpan{lo, lo + 7}, Week)
}

// parseClosest reads "the closest Monday to Oct 5th", "the second nearest Friday to
// today".
func (p *parser) parseClosest(i int) []candidateParse {
	j := p.skipWord(i, "the")
	n := 1
	if r, ok := p.parseOrdinal(j); ok {
		n, j = r.n, r.end
	}
	if !p.isWord(j, "closest", "nearest") {
		return nil
	}
	j++
	to := 0
	match := func(day) bool { return false }
	if wd, ok := weekdayName(p.tokenText(j)); ok {
		to = p.skipDot(j + 1)
		match = func(d day) bool { return d.weekdayOf() == wd }
	} else if fs := p.feastPiece(j); len(fs) > 0 {
		to = fs[0].end
		match = func(d day) bool {
			y, _, _ := d.civilDate()
			for _, f := range p.daysOf(fs[0].s.feast, y) {
				if f == d {
					return true
				}
			}
			return false
		}
	}
	if to == 0 || !p.isWord(to, "to") {
		return nil
	}
	var out []candidateParse
	for _, a := range p.parseExpression(to + 1) {
		span, g, ok := p.resolveDays(a.s)
		if !ok || g > Day || a.s.either != nil {
			continue
		}
		if d, ok := nearestDay(span.lo, n, match); ok {
			out = append(out, candidateParse{a.end, daySpec(d)})
		}
	}
	return out
}

// nearestDay returns the day that matches and is the nth nearest to d.
func nearestDay(d day, n int, match func(day) bool) (day, bool) {
	for off := day(0); off < 366*4; off++ {
		for _, c := range []day{d + off, d - off} {
			if match(c) && (off > 0 || c == d) {
				if n--; n == 0 {
					return c, true
				}
			}
			if off == 0 {
				break
			}
		}
	}
	return 0, false
}
