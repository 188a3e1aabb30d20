package when

// alt is one way to read a token range that ends before end.
type alt struct {
	end int
	s   spec
}

// joint is what may stand between two pieces, and before the first.
type joint struct {
	end int
	at  bool // a word that announces a time of day
	any bool // some word at all
}

// joints lists the positions a next piece may start at: right at i, or after
// words such as ", on the".
func (p *parser) joints(i int) []joint {
	out := []joint{{end: i}}
	j := joint{end: i}
	for range 4 {
		switch {
		case p.is(j.end, ",") && !j.any:
		case p.is(j.end, "at", "@", "around", "about", "approximately", "approx", "circa", "roughly", "exactly", "~", "by"):
			j.at = true
		case p.is(j.end, "no", "not") && p.is(j.end+1, "later") && p.is(j.end+2, "than"):
			j.end += 2
			j.at = true
		case p.is(j.end, "on", "over", "in", "of", "the", "for", "during", "sometime", "within", "from", "starting", "beginning", "to"):
			if p.is(j.end, "to", "from") && !p.leads(j.end) {
				return out
			}
		case p.text(j.end) == "t" && !j.any && p.glued(j.end) && p.glued(j.end+1) && p.num(j.end+1) >= 0 && p.num(j.end-1) >= 0:
		case p.text(j.end) == "-" && i > 0:
		default:
			return out
		}
		j.end++
		j.any = true
		out = append(out, j)
	}
	return out
}

// leads reports whether a connecting word at i belongs to the moment itself
// and is not the start of a range ("from 5 to 7").
func (p *parser) leads(i int) bool {
	_, j, ok := p.qualifier(i + 1)
	return ok && p.is(i, "from") && p.is(j, "week", "month", "year", "weekend")
}

// expr reads a moment that starts at i: pieces joined by connecting words. The
// result is ordered longest first and holds one reading per end.
func (p *parser) expr(i int) []alt {
	if got, ok := p.exprs[i]; ok {
		return got
	}
	p.exprs[i] = nil // a piece that recurses to its own start finds nothing
	w := walk{p: p, best: map[int]spec{}}
	w.extend(i, spec{}, true)
	var out []alt
	for end := len(p.toks); end > i; end-- {
		if s, ok := w.best[end]; ok {
			out = append(out, alt{end, s})
		}
	}
	p.exprs[i] = out
	return out
}

// walk collects, for each end, the first reading that resolves.
type walk struct {
	p     *parser
	best  map[int]spec
	depth int
}

func (w *walk) extend(i int, s spec, first bool) {
	if w.depth > 7 {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	for _, j := range w.p.joints(i) {
		for _, a := range w.p.pieces(j.end) {
			if !w.p.work.step() {
				return
			}
			w.join(s, a, j, first)
		}
	}
}

func (w *walk) join(s spec, a alt, j joint, first bool) {
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
		if m, ok = merge(s, b); !ok {
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
		if w.p.valid(m) {
			w.best[a.end] = m
		} else if c, ok := w.p.contradiction(m); ok {
			w.best[a.end], m = c, c
		}
	}
	w.extend(a.end, m, false)
}

// pieces reads every single piece that starts at i.
func (p *parser) pieces(i int) []alt {
	if i >= len(p.toks) {
		return nil
	}
	if got, ok := p.parts[i]; ok {
		return got
	}
	var out []alt
	for _, read := range []func(int) []alt{
		p.nowPiece, p.relativeDay, p.numericDate, p.monthDate, p.weekdayDate, p.nthPiece, p.qualified, p.edge,
		p.weekOf, p.clockPiece, p.partPiece, p.shift, p.blockPiece, p.feastPiece, p.dayOfMonth, p.yearPiece,
		p.closest, p.decade, p.bareHour,
	} {
		out = append(out, read(i)...)
	}
	p.parts[i] = out
	return out
}
