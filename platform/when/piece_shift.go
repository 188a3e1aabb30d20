package when

// shift reads "in 20 minutes", "3 days ago", "two weeks from now", "5 days
// before new year", "2 sundays from now".
func (p *parser) shift(i int) []alt {
	if p.is(i, "in", "within") {
		var out []alt
		for _, l := range p.lengths(p.skip(i+1, "the", "next")) {
			out = append(out, p.shifted(l, 1)...)
			out = append(out, p.anchored(l)...)
			out = append(out, p.relative(l)...)
		}
		return out
	}
	var out []alt
	for _, l := range p.lengths(i) {
		out = append(out, p.relative(l)...)
		out = append(out, p.anchored(l)...)
	}
	if u, end, ok := p.unit(p.skip(i, "the")); ok && u >= unitDay && p.is(end, "after", "before", "following", "from") {
		for _, a := range p.anchored(lengthAlt{length{}.plus(1, u), end}) {
			if a.s.set&fInstant == 0 {
				out = append(out, a)
			}
		}
	}
	return append(out, p.weekdaysAway(i)...)
}

// relative reads the word after a length that counts from now.
func (p *parser) relative(l lengthAlt) []alt {
	i := l.end
	if n := int(l.l.n); l.l.word == unitWeekend && n > 0 && n < 1000 {
		switch {
		case p.is(i, "ago", "back"):
			return p.oneUnit(direction{n: -n}, unitWeekend, i+1)
		case p.is(i, "later", "hence"):
			return p.oneUnit(direction{n: n}, unitWeekend, i+1)
		case p.is(i, "from") && p.is(i+1, "now"):
			return p.oneUnit(direction{n: n}, unitWeekend, i+2)
		}
		return nil
	}
	switch {
	case p.is(i, "ago", "back", "earlier"):
		return p.moved(l, i+1, -1)
	case p.is(i, "before") && p.is(i+1, "now"):
		return p.moved(l, i+2, -1)
	case p.is(i, "hence", "later"):
		return p.moved(l, i+1, 1)
	case p.is(i, "from", "after") && p.is(i+1, "now"):
		return p.moved(l, i+2, 1)
	case p.is(i, "from", "after"):
		if end, ok := p.phrase(i+1, "right", "now"); ok {
			s := spec{set: fInstant, at: l.l.from(p.now, 1), grain: Second}
			return []alt{{end, s}}
		}
	}
	return nil
}

func (p *parser) moved(l lengthAlt, end, sign int) []alt {
	return p.shifted(lengthAlt{l.l, end}, sign)
}

// shifted returns now moved by l.
func (p *parser) shifted(l lengthAlt, sign int) []alt {
	t := l.l.from(p.now, sign)
	if y := t.Year(); y < 1 || y > 9999 {
		return nil
	}
	if l.l.clockwise() {
		g := Second
		if l.l.finest > Second {
			g = Minute
		}
		return []alt{{l.end, spec{set: fInstant, at: t, grain: g}}}
	}
	s := daySpec(dayOf(t))
	s.keep = true
	if l.l.word == unitYear {
		s.inYear = t.Year()
	}
	return []alt{{l.end, s}}
}

// anchored reads a length counted from something other than now: "3 days after
// January 12th", "a week from Tuesday", "an hour before noon".
func (p *parser) anchored(l lengthAlt) []alt {
	sign, i := 1, l.end
	switch {
	case p.is(i, "after", "from", "since", "following", "past"):
	case p.is(i, "before"):
		sign = -1
	case p.is(i, "prior") && p.is(i+1, "to"):
		sign = -1
		i++
	case p.is(i, "on") && l.l.word == unitWeek: // British: "a week on Tuesday"
	default:
		return nil
	}
	var out []alt
	for _, a := range p.expr(i + 1) {
		s, ok := p.settle(a.s)
		if !ok {
			out = append(out, a)
			continue
		}
		m, ok := p.resolve(s)
		if !ok {
			continue
		}
		t := l.l.from(m.Time, sign)
		if y := t.Year(); y < 1 || y > 9999 {
			continue
		}
		if m.HasClock || l.l.clockwise() {
			out = append(out, alt{a.end, spec{set: fInstant, at: t, grain: min(m.Grain, l.l.finest)}})
			continue
		}
		out = append(out, alt{a.end, daySpec(dayOf(t))})
	}
	return out
}

// weekdaysAway reads "2 sundays from now", "two thursdays ago".
func (p *parser) weekdaysAway(i int) []alt {
	for _, r := range p.cardinal(i) {
		wd, ok := weekdayPlural(p.text(r.end))
		if !ok {
			if wd, ok = weekdayName(p.text(r.end)); !ok || r.n != 1 {
				continue
			}
		}
		if r.n < 1 || r.n > maxLength {
			continue
		}
		j := r.end + 1
		switch {
		case p.is(j, "ago", "back"):
			return []alt{{j + 1, daySpec(p.nthWeekday(wd, -r.n))}}
		case p.is(j, "hence"):
			return []alt{{j + 1, daySpec(p.nthWeekday(wd, r.n))}}
		case p.is(j, "from") && p.is(j+1, "now", "today"):
			return []alt{{j + 2, daySpec(p.nthWeekday(wd, r.n))}}
		}
	}
	return nil
}
