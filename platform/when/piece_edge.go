package when

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
		if a.s.set&(fPart|fClock|fInstant) == fPart && (which == edgeEarly || which == edgeLate) {
			if which == edgeEarly && a.s.part == partMorning {
				a.s.part = partEarlyMorning
			}
			out = append(out, a) // "late last night"
		}
		if a.s.set&(fClock|fPart|fInstant|fPick) == 0 && a.s.either == nil && a.s.run == nil {
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
	case p.is(j, "early", "earlier") && !p.is(j+1, "this") || p.is(j, "early"):
		e, of = edgeEarly, false
		k = p.skip(k, "in")
	case p.is(j, "late", "later") && !p.is(j+1, "this") || p.is(j, "late"):
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

// edgeOf returns an edge of the days that s names: a period and its
// representative day. The end of a single day is its last second.
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

// edgeRun returns the part of span that an edge covers: thirds of a year or
// month, halves for "early" and "late".
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
