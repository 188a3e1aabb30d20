package dateparse

// parsePeriodEdge reads "end of next month", "the beginning of 2000", "mid-November",
// "late July", "EOM".
func (p *parser) parsePeriodEdge(i int) []candidateParse {
	switch {
	case p.isWord(i, "eom"):
		return p.edgeOf(edgeEnd, i+1, spanSpec(unitSpan(p.today, Month, 0), Month))
	case p.isWord(i, "eoy"):
		return p.edgeOf(edgeEnd, i+1, spanSpec(unitSpan(p.today, Year, 0), Year))
	case p.isWord(i, "eow"):
		return p.edgeOf(edgeEnd, i+1, spanSpec(unitSpan(p.today, Week, 0), Week))
	}
	j := p.skipWord(i, "the")
	which, k, ok := p.edgeWord(j)
	if !ok {
		return nil
	}
	var out []candidateParse
	if u, end, ok := p.parseUnit(p.skipWord(k, "the")); ok && u.grainOf() >= Week && u <= unitYear && !p.isWord(end, "after", "before", "of") {
		out = p.edgeOf(which, end, spanSpec(unitSpan(p.today, u.grainOf(), 0), u.grainOf()))
	}
	for _, a := range p.parseExpression(k) {
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
	case p.isWord(j, "start", "beginning", "begin"):
	case p.isWord(j, "middle"):
		e = edgeMid
	case p.isWord(j, "end"):
		e = edgeEnd
	case p.isWord(j, "mid"):
		e, of = edgeMid, false
		k = p.skipWord(k, "-")
	case p.isWord(j, "early", "earlier") && !p.isWord(j+1, "this") || p.isWord(j, "early"):
		e, of = edgeEarly, false
		k = p.skipWord(k, "in")
	case p.isWord(j, "late", "later") && !p.isWord(j+1, "this") || p.isWord(j, "late"):
		e, of = edgeLate, false
		k = p.skipWord(k, "in")
	default:
		return e, 0, false
	}
	if of && !p.isWord(k, "of") {
		return e, 0, false
	}
	return e, p.skipWord(k, "of"), true
}

// edgeOf returns an edge of the days that s describes: a period and its representative day. The end
// of a single day is its last second.
func (p *parser) edgeOf(e edgeKind, end int, s spec) []candidateParse {
	span, g, ok := p.resolveDays(s)
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
		return []candidateParse{{end, d}}
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
	return []candidateParse{{end, out}}
}

// edgeRun returns the part of span that an edge includes: a third of a year or month, or a half for
// "early" and "late".
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
