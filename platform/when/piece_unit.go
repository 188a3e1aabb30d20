package when

import "time"

// nthPiece reads "the first Monday", "third last week", "last day", "the first
// two weeks", "fifth last day of"; the container follows as another piece.
func (p *parser) nthPiece(i int) []alt {
	j := p.skip(i, "the")
	n, k, ok := 0, j, false
	if r, isOrd := p.ordinal(j); isOrd {
		n, k, ok = r.n, r.end, true
		if p.is(k, "last", "to") {
			end := p.skip(k+1, "last")
			if p.is(k, "to") && end == k+1 {
				return nil
			}
			n, k = -n, end
		}
	} else if p.is(j, "last", "final") {
		n, k, ok = -1, j+1, true
	} else if p.is(j, "penultimate") {
		n, k, ok = -2, j+1, true
	}
	if !ok || n == 0 {
		return nil
	}
	count := 1
	if n == 1 || n == -1 {
		for _, r := range p.cardinal(k) {
			if u, _, ok := p.unit(r.end); ok && u >= unitDay && r.n >= 1 && r.n < 1000 {
				count, k = r.n, r.end
				break
			}
		}
	}
	s := spec{set: fNth, nth: nth{n: n, count: count}}
	if wd, ok := weekdayName(p.text(k)); ok && count == 1 {
		s.nth.wd, s.nth.byDay = wd, true
		end := p.abbreviated(k)
		return append(p.ofTheUnit(s, end), alt{end, s})
	}
	u, end, ok := p.unit(k)
	if !ok || u < unitDay || u == unitFortnight || u == unitYear || u == unitQuarter && n > 0 && n < 5 && count == 1 || u > unitYear || u == unitNight {
		return nil
	}
	if !p.is(end, "of", "in") && count == 1 && u != unitQuarter && !p.whole {
		return nil
	}
	s.nth.unit = u
	return append(p.ofTheUnit(s, end), alt{end, s})
}

// ofTheUnit reads the container "of the month", which is the current one.
func (p *parser) ofTheUnit(s spec, i int) []alt {
	if !p.is(i, "of", "in") || !p.is(i+1, "the", "my") {
		return nil
	}
	u, end, ok := p.unit(i + 2)
	if !ok || u != unitWeek && u != unitMonth && u != unitQuarter && u != unitYear || p.is(end, "of", "after", "before") {
		return nil
	}
	return []alt{{end, overlay(s, spanSpec(unitSpan(p.today, u.grain(), 0), u.grain()))}}
}

// weekOf reads "the week of May 4", "w/c Feb 4", "week 31 of 2027", "week
// beginning Monday", "weekend of thanksgiving", "labor day weekend".
func (p *parser) weekOf(i int) []alt {
	j := p.skip(i, "the")
	k := 0
	switch {
	case p.is(j, "wc"):
		k = j + 1
	case p.is(j, "w") && p.is(j+1, "/") && p.is(j+2, "c"):
		k = j + 3
	case p.is(j, "week", "weekend") && p.is(j+1, "of", "beginning", "starting", "commencing", "containing"):
		k = p.skip(p.skip(j+2, "on"), "the")
	case p.is(j, "week") && p.is(p.skip(j+1, "number", "no", "nr"), p.text(p.skip(j+1, "number", "no", "nr"))):
		return p.isoWeek(p.skip(j+1, "number", "no", "nr"))
	case p.is(j, "weekend"):
		return p.bareWeekend(j, i)
	default:
		return p.feastWeekend(j)
	}
	var out []alt
	for _, a := range p.expr(k) {
		if a.s.either != nil || a.s.set&(fClock|fPart|fInstant) != 0 {
			continue
		}
		if span, g, ok := p.days(a.s); ok && g <= Day {
			w := daySpan{span.lo.monday(), span.lo.monday() + 7}
			if p.is(j, "weekend") {
				out = append(out, alt{a.end, spanSpec(weekendNear(span.lo), Day)})
				continue
			}
			out = append(out, alt{a.end, spanSpec(w, Week)})
		}
	}
	return out
}

// weekendNear returns the weekend next to a day: for a Monday the previous one,
// otherwise the one of its week.
func weekendNear(d day) daySpan {
	sat := d.monday() + 5
	if d.weekday() == time.Monday {
		sat -= 7
	}
	return daySpan{sat, sat + 2}
}

func (p *parser) bareWeekend(j, i int) []alt {
	lo := p.today.monday() + 5
	if p.past && lo > p.today {
		lo -= 7
	}
	s := spanSpec(daySpan{lo, lo + 2}, Day)
	s.weak = j == i
	return []alt{{j + 1, s}}
}

func (p *parser) feastWeekend(i int) []alt {
	var out []alt
	for _, a := range p.feastPiece(i) {
		end := a.end
		s := a.s
		for _, y := range p.year(end) {
			s, end = overlay(s, yearSpec(y.n)), y.end
			break
		}
		if p.is(end, "weekend") {
			if span, _, ok := p.days(s); ok {
				out = append(out, alt{end + 1, spanSpec(weekendNear(span.lo), Day)})
			}
		}
	}
	return out
}

// isoWeek reads the number of a week, of this year unless another follows.
func (p *parser) isoWeek(i int) []alt {
	n := p.num(i)
	if n < 1 || n > 53 || len(p.text(i)) > 2 {
		return nil
	}
	y, _, _ := p.today.civil()
	out := []alt{{i + 1, weekSpec(y, n)}}
	k := p.skip(p.skip(i+1, ","), "of", "in")
	for _, r := range p.year(k) {
		return append([]alt{{r.end, weekSpec(r.n, n)}}, out...)
	}
	for _, a := range p.qualified(k) {
		if a.s.set == fSpan && a.s.grain == Year && k > i+1 {
			fy, _, _ := a.s.span.lo.civil()
			return append([]alt{{a.end, weekSpec(fy, n)}}, out...)
		}
	}
	return out
}

func weekSpec(y, n int) spec {
	lo := date(y, 1, 4).monday() + day(7*(n-1))
	return spanSpec(daySpan{lo, lo + 7}, Week)
}

// closest reads "the closest Monday to Oct 5th", "the second nearest Friday to
// today".
func (p *parser) closest(i int) []alt {
	j := p.skip(i, "the")
	n := 1
	if r, ok := p.ordinal(j); ok {
		n, j = r.n, r.end
	}
	if !p.is(j, "closest", "nearest") {
		return nil
	}
	j++
	to := 0
	match := func(day) bool { return false }
	if wd, ok := weekdayName(p.text(j)); ok {
		to = p.dot(j + 1)
		match = func(d day) bool { return d.weekday() == wd }
	} else if fs := p.feastPiece(j); len(fs) > 0 {
		to = fs[0].end
		match = func(d day) bool {
			y, _, _ := d.civil()
			for _, f := range p.daysOf(fs[0].s.feast, y) {
				if f == d {
					return true
				}
			}
			return false
		}
	}
	if to == 0 || !p.is(to, "to") {
		return nil
	}
	var out []alt
	for _, a := range p.expr(to + 1) {
		span, g, ok := p.days(a.s)
		if !ok || g > Day || a.s.either != nil {
			continue
		}
		if d, ok := nearest(span.lo, n, match); ok {
			out = append(out, alt{a.end, daySpec(d)})
		}
	}
	return out
}

// nearest returns the nth closest day to d that matches.
func nearest(d day, n int, match func(day) bool) (day, bool) {
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
