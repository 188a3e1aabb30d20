package dateparse

// parseShift reads "in 20 minutes", "3 days ago", "two weeks from now", "5 days
// before new year", "2 sundays from now".
func (p *parser) parseShift(i int) []candidateParse {
	if p.isWord(i, "in", "within") {
		var out []candidateParse
		for _, l := range p.parseLengths(p.skipWord(i+1, "the", "next")) {
			out = append(out, p.shiftNow(l, 1)...)
			out = append(out, p.parseAnchored(l)...)
			out = append(out, p.parseRelative(l)...)
		}
		return out
	}
	var out []candidateParse
	for _, l := range p.parseLengths(i) {
		out = append(out, p.parseRelative(l)...)
		out = append(out, p.parseAnchored(l)...)
	}
	if u, end, ok := p.parseUnit(p.skipWord(i, "the")); ok && u >= unitDay && p.isWord(end, "after", "before", "following", "from") {
		for _, a := range p.parseAnchored(lengthAlt{calendarLength{}.addUnits(1, u), end}) {
			if a.s.set&fInstant == 0 {
				out = append(out, a)
			}
		}
	}
	return append(out, p.weekdaysAway(i)...)
}

// parseRelative parses the word after a length of time that is counted from now.
func (p *parser) parseRelative(l lengthAlt) []candidateParse {
	i := l.end
	if n := int(l.l.n); l.l.word == unitWeekend && n > 0 && n < 1000 {
		switch {
		case p.isWord(i, "ago", "back"):
			return p.oneUnit(direction{n: -n}, unitWeekend, i+1)
		case p.isWord(i, "later", "hence"):
			return p.oneUnit(direction{n: n}, unitWeekend, i+1)
		case p.isWord(i, "from") && p.isWord(i+1, "now"):
			return p.oneUnit(direction{n: n}, unitWeekend, i+2)
		}
		return nil
	}
	switch {
	case p.isWord(i, "ago", "back", "earlier"):
		return p.alternativeShift(l, i+1, -1)
	case p.isWord(i, "before") && p.isWord(i+1, "now"):
		return p.alternativeShift(l, i+2, -1)
	case p.isWord(i, "hence", "later"):
		return p.alternativeShift(l, i+1, 1)
	case p.isWord(i, "from", "after") && p.isWord(i+1, "now"):
		return p.alternativeShift(l, i+2, 1)
	case p.isWord(i, "from", "after"):
		if end, ok := p.matchPhrase(i+1, "right", "now"); ok {
			s := spec{set: fInstant, at: l.l.shiftTime(p.now, 1), grain: Second}
			return []candidateParse{{end, s}}
		}
	}
	return nil
}

func (p *parser) alternativeShift(l lengthAlt, end, sign int) []candidateParse {
	return p.shiftNow(lengthAlt{l.l, end}, sign)
}

// shiftNow returns now moved by l.
func (p *parser) shiftNow(l lengthAlt, sign int) []candidateParse {
	t := l.l.shiftTime(p.now, sign)
	if y := t.Year(); y < 1 || y > 9999 {
		return nil
	}
	if l.l.isSubDaily() {
		g := Second
		if l.l.finest > Second {
			g = Minute
		}
		return []candidateParse{{l.end, spec{set: fInstant, at: t, grain: g}}}
	}
	s := daySpec(dayOf(t))
	s.keep = true
	if l.l.word == unitYear {
		s.inYear = t.Year()
	}
	return []candidateParse{{l.end, s}}
}

// parseAnchored parses a length that is counted from a time other than now: "3 days after January
// 12th", "a week from Tuesday", "an hour before noon".
func (p *parser) parseAnchored(l lengthAlt) []candidateParse {
	sign, i := 1, l.end
	switch {
	case p.isWord(i, "after", "from", "since", "following", "past"):
	case p.isWord(i, "before"):
		sign = -1
	case p.isWord(i, "prior") && p.isWord(i+1, "to"):
		sign = -1
		i++
	case p.isWord(i, "on") && l.l.word == unitWeek: // British English: "a week on Tuesday"
	default:
		return nil
	}
	var out []candidateParse
	for _, a := range p.parseExpression(i + 1) {
		s, ok := p.settleDates(a.s)
		if !ok {
			out = append(out, a)
			continue
		}
		m, ok := p.resolveSpec(s)
		if !ok {
			continue
		}
		t := l.l.shiftTime(m.Time, sign)
		if y := t.Year(); y < 1 || y > 9999 {
			continue
		}
		if m.HasClock || l.l.isSubDaily() {
			out = append(out, candidateParse{a.end, spec{set: fInstant, at: t, grain: min(m.Grain, l.l.finest)}})
			continue
		}
		out = append(out, candidateParse{a.end, daySpec(dayOf(t))})
	}
	return out
}

// weekdaysAway reads "2 sundays from now", "two thursdays ago".
func (p *parser) weekdaysAway(i int) []candidateParse {
	for _, r := range p.parseCardinal(i) {
		wd, ok := weekdayPlural(p.tokenText(r.end))
		if !ok {
			if wd, ok = weekdayName(p.tokenText(r.end)); !ok || r.n != 1 {
				continue
			}
		}
		if r.n < 1 || r.n > maxLength {
			continue
		}
		j := r.end + 1
		switch {
		case p.isWord(j, "ago", "back"):
			return []candidateParse{{j + 1, daySpec(p.nthWeekday(wd, -r.n))}}
		case p.isWord(j, "hence"):
			return []candidateParse{{j + 1, daySpec(p.nthWeekday(wd, r.n))}}
		case p.isWord(j, "from") && p.isWord(j+1, "now", "today"):
			return []candidateParse{{j + 2, daySpec(p.nthWeekday(wd, r.n))}}
		}
	}
	return nil
}
