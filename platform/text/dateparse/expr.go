package dateparse

// candidateParse is one reading of a token range that ends before end.
type candidateParse struct {
	end int
	s   spec
}

// connector is a word between two pieces or before the first piece.
type connector struct {
	end int
	at  bool // a word that introduces a time of day
	any bool // there is a connecting word
}

// connectorsAt lists the positions at which the next piece may start: directly at i, or after words
// such as ", on the".
func (p *parser) connectorsAt(i int) []connector {
	out := []connector{{end: i}}
	j := connector{end: i}
	for range 4 {
		switch {
		case p.isWord(j.end, ",") && !j.any:
		case p.isWord(j.end, "at", "@", "around", "about", "approximately", "approx", "circa", "roughly", "exactly", "~", "by"):
			j.at = true
		case p.isWord(j.end, "no", "not") && p.isWord(j.end+1, "later") && p.isWord(j.end+2, "than"):
			j.end += 2
			j.at = true
		case p.isWord(j.end, "on", "over", "in", "of", "the", "for", "during", "sometime", "within", "from", "starting", "beginning", "to"):
			if p.isWord(j.end, "to", "from") && !p.isLeadingConnector(j.end) {
				return out
			}
		case p.tokenText(j.end) == "t" && !j.any && p.isGlued(j.end) && p.isGlued(j.end+1) && p.tokenNumber(j.end+1) >= 0 && p.tokenNumber(j.end-1) >= 0:
		case p.tokenText(j.end) == "-" && i > 0:
		default:
			return out
		}
		j.end++
		j.any = true
		out = append(out, j)
	}
	return out
}

// isLeadingConnector reports whether a connecting word at i belongs to the moment itself rather
// than starting a range ("from 5 to 7").
func (p *parser) isLeadingConnector(i int) bool {
	_, j, ok := p.parseQualifier(i + 1)
	return ok && p.isWord(i, "from") && p.isWord(j, "week", "month", "year", "weekend")
}

// parseExpression parses a moment that starts at i: pieces joined by connecting words. The result
// is sorted longest first and contains one reading per end.
func (p *parser) parseExpression(i int) []candidateParse {
	if got, ok := p.exprs[i]; ok {
		return got
	}
	p.exprs[i] = nil // a piece that calls parseExpression at its own start must find nothing
	w := expressionWalk{p: p, best: map[int]spec{}}
	w.extendReading(i, spec{}, true)
	var out []candidateParse
	for end := len(p.toks); end > i; end-- {
		if s, ok := w.best[end]; ok {
			out = append(out, candidateParse{end, s})
		}
	}
	p.exprs[i] = out
	return out
}

// expressionWalk collects, for each end, the first reading that resolves.
type expressionWalk struct {
	p     *parser
	best  map[int]spec
	depth int
}

func (w *expressionWalk) extendReading(i int, s spec, first bool) {
	if w.depth > 7 {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	for _, j := range w.p.connectorsAt(i) {
		for _, a := range w.p.parsePieces(j.end) {
			if !w.p.work.spendStep() {
				return
			}
			w.joinPiece(s, a, j, first)
		}
	}
}

func (w *expressionWalk) joinPiece(s spec, a candidateParse, j connector, first bool) {
	b := a.s
	if j.at && b.set == fYear {
		return // "at 1030" is not a year
	}
	if b.loose && j.at {
		b.loose = false
	}
	if j.any && first {
		b.weak = false
	}
	if b.loose && !first {
		return // a bare number after a date is not an hour
	}
	m := b
	if !first {
		var ok bool
		if m, ok = mergeSpecs(s, b); !ok {
			return
		}
		if s.loose && b.set&fPart == 0 && !(w.p.whole && b.set&fSpan != 0 && b.grain == Day) {
			return
		}
		if s.loose {
			m.loose = false
		}
		m.weak = false
	}
	if _, seen := w.best[a.end]; !seen && !m.loose {
		if w.p.isResolvable(m) {
			w.best[a.end] = m
		} else if c, ok := w.p.askWeekdayConflict(m); ok {
			w.best[a.end], m = c, c
		}
	}
	w.extendReading(a.end, m, false)
}

// parsePieces reads every single piece that starts at i.
func (p *parser) parsePieces(i int) []candidateParse {
	if i >= len(p.toks) {
		return nil
	}
	if got, ok := p.parts[i]; ok {
		return got
	}
	var out []candidateParse
	for _, read := range []func(int) []candidateParse{
		p.nowPiece, p.relativeDay, p.numericDate, p.monthDate, p.weekdayDate, p.nthPiece, p.parseQualified, p.parsePeriodEdge,
		p.weekOf, p.clockPiece, p.partPiece, p.parseShift, p.blockPiece, p.feastPiece, p.dayOfMonth, p.yearPiece,
		p.parseClosest, p.parseDecade, p.bareHour,
	} {
		out = append(out, read(i)...)
	}
	p.parts[i] = out
	return out
}
