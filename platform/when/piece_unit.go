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
			if p.is(end-2, "to") {
				n--
			}
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
		return []alt{{p.dot(k + 1), s}}
	}
	u, end, ok := p.unit(k)
	if !ok || u < unitDay || u == unitFortnight || u == unitYear || u > unitYear || u == unitNight {
		return nil
	}
	if !p.is(end, "of", "in") && count == 1 && u != unitQuarter && !p.whole {
		return nil
	}
	s.nth.unit = u
	return []alt{{end, s}}
}

// edge reads "end of next month", "the beginning of 2000", "mid-November",
// "late July", "EOM".
func (p *parser) edge(i int) []alt {
	switch {
	case p.is(i, "eom"):
		return p.edgeOf(edgeEnd, i+1, spanSpec(unitSpan(p.today, Month, 0), Month))
	case p.is(i, "eoy"):
		return p.edgeOf(edgeEnd, i+1, spanSpec(unitSpan(p.today, Year, 0), Year))
	case p.is(i, "eow"):
		return p.edgeOf(edgeEnd, i+1, spanSpec(unitSpan(p.today, Week, 0), Week))
	}
	j := p.skip(i, "the")
	which, k, ok := p.edgeWord(j)
	if !ok {
		return nil
	}
	var out []alt
	if u, end, ok := p.unit(p.skip(k, "the")); ok && u.grain() >= Week && u <= unitYear && !p.is(end, "after", "before", "of") {
		out = p.edgeOf(which, end, spanSpec(unitSpan(p.today, u.grain(), 0), u.grain()))
	}
	for _, a := range p.expr(k) {
		if a.s.set&(fClock|fPart|fInstant|fPick) == 0 && a.s.choices == nil && a.s.run == nil {
			out = append(out, p.edgeOf(which, a.end, a.s)...)
		}
	}
	return out
}

type edgeKind uint8

const (
	edgeStart edgeKind = iota
	edgeMid
	edgeEnd
	edgeEarly
	edgeLate
)

func (p *parser) edgeWord(j int) (edgeKind, int, bool) {
	e, k, of := edgeStart, j+1, true
	switch {
	case p.is(j, "start", "beginning", "begin"):
	case p.is(j, "middle"):
		e = edgeMid
	case p.is(j, "end"):
		e = edgeEnd
	case p.is(j, "mid"):
		e, of = edgeMid, false
		k = p.skip(k, "-")
	case p.is(j, "early", "earlier"):
		e, of = edgeEarly, false
		k = p.skip(k, "in")
	case p.is(j, "late", "later"):
		e, of = edgeLate, false
		k = p.skip(k, "in")
	default:
		return e, 0, false
	}
	if of && !p.is(k, "of") {
		return e, 0, false
	}
	return e, p.skip(k, "of"), true
}

// edgeOf is an edge of the days that s names: a period and the one day that
// stands for it. The end of a single day is its last second.
func (p *parser) edgeOf(e edgeKind, end int, s spec) []alt {
	span, g, ok := p.days(s)
	if !ok || !p.inRange(span.lo) {
		return nil
	}
	if span.hi-span.lo == 1 {
		d := spanSpec(span, Day)
		switch e {
		case edgeEnd:
			d.set |= fClock
			d.clock = endOfDay()
		case edgeMid:
			d.set |= fPart
			d.part = partNoon
		case edgeStart, edgeEarly:
			d.set |= fPart
			d.part = partMorning
		case edgeLate:
			d.set |= fPart
			d.part = partEvening
		}
		return []alt{{end, d}}
	}
	run := edgeRun(e, span, g)
	out := spanSpec(run, Day)
	out.set |= fPick
	switch e {
	case edgeEnd:
		out.pick = span.hi - 1
	case edgeMid:
		out.pick = span.lo + (span.hi-span.lo-1)/2
	case edgeStart:
		out.pick = span.lo
	case edgeEarly, edgeLate:
		out.pick = run.lo
	}
	return []alt{{end, out}}
}

// edgeRun is the part of span that an edge covers: thirds of a year or month,
// halves where people speak of early and late.
func edgeRun(e edgeKind, span daySpan, g Grain) daySpan {
	lo, hi := span.lo, span.hi
	switch g {
	case Year:
		switch e {
		case edgeStart, edgeEarly:
			return daySpan{lo, lo.addMonths(4)}
		case edgeMid:
			return daySpan{lo.addMonths(4), lo.addMonths(8)}
		case edgeEnd, edgeLate:
			return daySpan{lo.addMonths(8), hi}
		}
	case Month:
		switch e {
		case edgeStart, edgeEarly:
			return daySpan{lo, lo + 10}
		case edgeMid:
			return daySpan{lo + 9, lo + 20}
		case edgeEnd:
			return daySpan{lo + 20, hi}
		case edgeLate:
			return daySpan{lo + 15, hi}
		}
	}
	third := max((hi-lo)/3, 1)
	switch e {
	case edgeStart, edgeEarly:
		return daySpan{lo, lo + third}
	case edgeMid:
		return daySpan{lo + third, hi - third}
	}
	return daySpan{hi - third, hi}
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
		if a.s.choices != nil || a.s.set&(fClock|fPart|fInstant) != 0 {
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

// weekendNear is the weekend that people join to a day: a Monday's is the one
// before, any other day's the one of its week.
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

// blockPiece reads quarters, halves and seasons: "Q3 2019", "2018Q4", "third
// quarter", "2019 H2", "summer". Seasons are those of meteorology, north of the
// equator.
func (p *parser) blockPiece(i int) []alt {
	var year []reading
	j := i
	if ys := p.year(i); len(ys) > 0 && p.num(i) >= 0 {
		year = ys[len(ys)-1:]
		j = p.skip(year[0].end, "-")
	}
	s, end, ok := p.block(j)
	if !ok {
		return nil
	}
	if year != nil {
		return []alt{{end, overlay(s, yearSpec(year[0].n))}}
	}
	k := p.skip(p.skip(end, "-", ","), "of", "in")
	var out []alt
	for _, y := range p.year(k) {
		out = append(out, alt{y.end, overlay(s, yearSpec(y.n))})
	}
	if e, ok := p.phrase(end, "of", "the", "year"); ok {
		out = append(out, alt{e, s})
	}
	return append(out, alt{end, s})
}

func (p *parser) block(i int) (spec, int, bool) {
	if (p.is(i, "q") || p.is(i, "h")) && p.glued(i+1) && p.num(i+1) >= 1 {
		n, size, g := p.num(i+1), 3, Quarter
		if p.is(i, "h") {
			size, g = 6, Month
		}
		if n*size > 12 || p.glued(i+2) && p.is(i+2, ":") {
			return spec{}, 0, false
		}
		return spec{set: fMonth, month: time.Month((n-1)*size + 1), months: size, grain: g}, i + 2, true
	}
	j := p.skip(i, "the")
	if r, ok := p.ordinal(j); ok && p.is(r.end, "quarter", "qtr") && r.n >= 1 && r.n <= 4 {
		return spec{set: fMonth, month: time.Month(r.n*3 - 2), months: 3, grain: Quarter}, r.end + 1, true
	}
	if r, ok := p.ordinal(j); ok && p.is(r.end, "half") && r.n >= 1 && r.n <= 2 {
		return spec{set: fMonth, month: time.Month(r.n*6 - 5), months: 6, grain: Month}, r.end + 1, true
	}
	first := time.Month(0)
	switch {
	case p.is(j, "spring", "springtime"):
		first = time.March
	case p.is(j, "summer", "summertime"):
		first = time.June
	case p.is(j, "autumn"):
		first = time.September
	case p.is(j, "fall") && (p.is(i-1, "this", "next", "last", "in") || j > i):
		first = time.September
	case p.is(j, "winter", "wintertime"):
		first = time.December
	default:
		return spec{}, 0, false
	}
	return spec{set: fMonth, month: first, months: 3, grain: Quarter, weak: true}, j + 1, true
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
			for _, f := range fs[0].s.feast.in(y) {
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
		if !ok || g > Day || a.s.choices != nil {
			continue
		}
		if d, ok := nearest(span.lo, n, match); ok {
			out = append(out, alt{a.end, daySpec(d)})
		}
	}
	return out
}

// nearest is the nth closest day to d that matches.
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
