package dateparse

// rangeAlt is one reading of a token range as a period with two ends, or with one
// open end.
type rangeAlt struct {
	end       int
	period    *Period
	ambiguous []string
}

// parseRanges returns the ranges that start at i, longest first: "from X to Y", "between X and Y",
// "X - Y", "since X", "after X", "before X", "X for 2 hours", "3 days from X".
func (p *parser) parseRanges(i int) []rangeAlt {
	var out []rangeAlt
	out = append(out, p.twoEnded(i)...)
	out = append(out, p.parseStartWithLength(i)...)
	out = append(out, p.openEnded(i)...)
	out = append(out, p.dayThenClock(i)...)
	out = append(out, p.restOf(i)...)
	for a := 1; a < len(out); a++ {
		for b := a; b > 0 && out[b].end > out[b-1].end; b-- {
			out[b], out[b-1] = out[b-1], out[b]
		}
	}
	return out
}

// twoEnded parses ranges with both ends. A day may precede the range ("Tuesday
// from 2 to 3pm") or follow it ("2 to 3pm on Tuesday").
func (p *parser) twoEnded(i int) []rangeAlt {
	var out []rangeAlt
	heads := []candidateParse{{i, spec{}}}
	for _, a := range append(p.nthPiece(i), p.parseExpression(i)...) {
		if a.s.set&(fClock|fInstant) == 0 && a.s.either == nil {
			heads = append(heads, a)
		}
	}
	for _, head := range heads {
		j := head.end
		if head.end > i {
			j = p.skipWord(j, ",")
		}
		open := p.rangeWord(j)
		if head.end > i && open == j && p.tokenNumber(j) < 0 {
			continue
		}
		out = append(out, p.parseRangeEnds(head, open, open > j)...)
	}
	return out
}

// rangeWord skips a word that starts a range: "from", "between", "at", "on".
func (p *parser) rangeWord(i int) int {
	j := p.skipWord(i, "at", "on", "in", "during", "anytime", "sometime")
	return p.skipWord(j, "from", "between")
}

// parseRangeEnds reads the two ends that start at i.
func (p *parser) parseRangeEnds(head candidateParse, i int, opened bool) []rangeAlt {
	between := p.isWord(i-1, "between")
	var out []rangeAlt
	for _, from := range p.parseRangeEnd(i, opened) {
		j, ok := p.rangeJoin(from.end, between)
		if !ok || p.cutsDate(i, from.end) {
			continue
		}
		dated := len(p.clockPiece(j)) == 0 && len(p.bareHour(j)) == 0
		for _, to := range p.parseRangeEnd(j, true) {
			to.s.own = dated
			out = append(out, p.pairUp(head, from, to, opened)...)
		}
	}
	return out
}

// rangeJoin skips the word between the two ends.
func (p *parser) rangeJoin(i int, between bool) (int, bool) {
	if p.isWord(i, "-") && p.isGlued(i) && p.isGlued(i+1) && p.numberWord(i-1) && p.numberWord(i+1) {
		return 0, false // twenty-seven
	}
	switch {
	case p.isWord(i, "to", "until", "till", "til", "through", "thru", "-", "~"):
		return p.skipWord(p.skipWord(i+1, "the"), "about", "around"), true
	case between && p.isWord(i, "and"):
		return p.skipWord(i+1, "the"), true
	}
	return 0, false
}

func (p *parser) numberWord(i int) bool {
	return p.tokenNumber(i) < 0 && len(p.parseNumberWords(i)) > 0
}

// cutsDate reports whether a dash at end is inside a written date: 2026-03.
func (p *parser) cutsDate(i, end int) bool {
	if !p.isWord(end, "-") || !p.isGlued(end) {
		return false
	}
	w, ok := p.parseWrittenDate(i)
	if !ok || w.end <= end || w.sep != "-" {
		return false
	}
	_, ok = w.toSpec()
	return ok
}

// parseRangeEnd parses one end of a range: an ordinary moment, or a number that the other end
// completes ("3 to 5pm", "9th through 17th").
func (p *parser) parseRangeEnd(i int, _ bool) []candidateParse {
	out := append([]candidateParse{}, p.parseExpression(i)...)
	if n := p.tokenNumber(i); n < 1900 || n > 2099 || len(p.tokenText(i)) != 4 { // 2014-2018 are years
		out = append(out, p.bareHour(i)...)
	}
	j := p.skipWord(i, "the")
	if r, ok := p.dayNumber(j); ok {
		s := domSpec(r.n)
		s.loose = true
		out = append(out, candidateParse{r.end, s})
	}
	for _, y := range p.parseYear(i) {
		out = append(out, candidateParse{y.end, yearSpec(y.n)})
	}
	return out
}

// pairUp combines two ends with the day that precedes and any day that follows the range.
func (p *parser) pairUp(head, from, to candidateParse, opened bool) []rangeAlt {
	var out []rangeAlt
	if r, ok := p.resolveSpan(head.s, from.s, to.s, opened); ok && (head.s.set == 0 || p.contextFits(head.s, from.s)) {
		r.end = to.end
		out = append(out, r)
	}
	for _, j := range p.connectorsAt(to.end) {
		for _, tail := range p.parseExpression(j.end) {
			if tail.s.set&(fClock|fInstant) != 0 || tail.s.either != nil || head.s.set == 0 && !p.contextFits(tail.s, from.s) {
				continue
			}
			ctx, ok := mergeSpecs(head.s, tail.s)
			if !ok || head.s.set != 0 && head.s.set&fNth == 0 {
				continue
			}
			if r, ok := p.resolveSpan(ctx, from.s, to.s, opened); ok {
				r.end = tail.end
				out = append(out, r)
			}
		}
	}
	return out
}

// contextFits reports whether a day that precedes or follows a range can be its context. If the
// range has times of day, the context must not be longer than a day.
func (p *parser) contextFits(ctx, from spec) bool {
	if from.set&(fClock|fPart) != 0 {
		return ctx.set&fDate == 0 || ctx.dayGrain() == Day
	}
	return true
}

// resolveSpan resolves a range. Both ends share the context ctx, and each completes the other.
func (p *parser) resolveSpan(ctx, from, to spec, opened bool) (rangeAlt, bool) {
	from, to, ask := p.disambiguateRange(from, to)
	if ask != nil {
		return rangeAlt{ambiguous: ask}, true
	}
	a, b, ok := completeEnds(from, to)
	if !ok {
		return rangeAlt{}, false
	}
	if a.loose && b.loose && !opened && (!p.whole || a.set == fDom) && ctx.set == 0 {
		return rangeAlt{}, false
	}
	if ctx.set != 0 {
		if a, ok = mergeSpecs(ctx, a); !ok {
			return rangeAlt{}, false
		}
		if b.set&(fSpan|fYear|fMonth|fDom|fWeekday) == 0 || b.set&fDate == fDom {
			if b, ok = mergeSpecs(ctx, b); !ok {
				return rangeAlt{}, false
			}
		}
	}
	a.loose, b.loose, a.weak, b.weak = false, false, false, false
	if pd, ok := p.enclosingRange(a, b); ok {
		return rangeAlt{period: pd}, true
	}
	look := p
	if p.past && !p.back && a.set&fClock != 0 {
		look = p.withDirection(false) // times of day are searched forward, and only days and months backward
	}
	if b.set&fInstant != 0 && !b.at.After(p.now) {
		look = p.withDirection(true)
	}
	lo, ok := look.resolveSpec(a)
	if !ok {
		return rangeAlt{}, false
	}
	hi, ok := p.rangeEnd(a, b, lo)
	if !ok || !hi.After(lo.Time) {
		return rangeAlt{}, false
	}
	return rangeAlt{period: &Period{From: lo.Time, To: hi}}, true
}

// completeEnds copies to each end the parts that only the other end has: "3 to 5pm", "9 to 17
// April", "January to March 2017".
func completeEnds(a, b spec) (spec, spec, bool) {
	clocks := fClock | fInstant
	if a.set&fClock != 0 && b.set&fClock != 0 {
		if a.set&fPart == 0 && b.set&fPart != 0 && a.clock.half == halfUnknown && a.clock.h < b.clock.h {
			a.set |= fPart
			a.part = b.part
		}
		a = shareHalf(a, b) // b is the first such hour after a; see rangeEnd
		if a.set&fDate == 0 && b.set&fDate != 0 && !b.own {
			if m, ok := mergeSpecs(datesOf(b), a); ok {
				a = m
			}
		}
		return a, b, true
	}
	if a.set&clocks != 0 && b.set&clocks == 0 || b.set&clocks != 0 && a.set&clocks == 0 {
		return a, b, a.set&fInstant != 0 || b.set&fInstant != 0
	}
	if a.set&fDate == fDom && b.set&fDate == fDom && a.loose && b.loose {
		return a, b, true
	}
	if a.set&fMonth == 0 && a.set&fDom != 0 && b.set&fMonth != 0 {
		m := b.month
		if b.set&fDom != 0 && a.dom > b.dom { // "from the 27th to the 3rd of April" starts in March
			m = (m+10)%12 + 1
		}
		a = overlaySpec(a, monthSpec(m))
		a.loose = false
	}
	if b.set&fMonth == 0 && b.set&fDom != 0 && a.set&fMonth != 0 && a.set&fDom != 0 {
		if b.dom > a.dom {
			b = overlaySpec(b, monthSpec(a.month))
			if a.set&fYear != 0 {
				b = overlaySpec(b, yearSpec(a.year))
			}
		}
		b.loose = false
	}
	if a.set&(fYear|fSpan) == 0 && b.set&fYear != 0 && a.set&fMonth != 0 {
		y := b.year
		if b.set&fMonth != 0 && a.month > b.month {
			y--
		}
		a = overlaySpec(a, yearSpec(y))
	}
	return a, b, true
}
