package dateparse

import "time"

// parseStartWithLength reads a start with a length: "from 9 for 2 hours", "for 3 days from
// tomorrow", "a week starting Monday".
func (p *parser) parseStartWithLength(i int) []rangeAlt {
	var out []rangeAlt
	add := func(end int, s spec, l calendarLength) {
		s.loose = false
		if m, ok := p.withDirection(false).resolveSpec(s); ok && s.either == nil {
			to := l.shiftTime(m.Time, 1)
			if to.After(m.Time) && to.Year() <= 9999 {
				out = append(out, rangeAlt{end: end, period: &Period{From: m.Time, To: to}})
			}
		}
	}
	j := p.skipWord(i, "from", "at", "starting", "beginning")
	for _, a := range p.parseRangeEnd(j, j > i) {
		if p.isWord(a.end, "for") && (!a.s.loose || j > i) {
			for _, l := range p.parseLengths(a.end + 1) {
				add(l.end, a.s, l.l)
			}
		}
	}
	j = p.skipWord(i, "for")
	for _, l := range p.parseLengths(j) {
		k := p.skipWord(l.end, ",")
		switch {
		case p.isWord(k, "starting", "beginning", "commencing"):
		case p.isWord(k, "from") && (j > i || k > l.end):
		default:
			continue
		}
		k = p.skipWord(p.skipWord(k+1, "from", "on", "at"), "at")
		for _, a := range p.parseRangeEnd(k, true) {
			add(a.end, a.s, l.l)
		}
	}
	return out
}

// openEnded reads "since X", "after X", "before X", "until X", "X or later".
func (p *parser) openEnded(i int) []rangeAlt {
	var out []rangeAlt
	kind := p.tokenText(i)
	if p.isWord(i-1, "no", "not") {
		return nil
	}
	j := i + 1
	switch kind {
	case "since", "after", "before", "until", "till", "til", "through":
	case "starting", "beginning":
		if p.isWord(j, "of") {
			return nil
		}
		j = p.skipWord(j, "on", "from", "in")
	case "later", "earlier":
		if !p.isWord(j, "than") {
			return p.orLater(i)
		}
		j++
		kind = map[string]string{"later": "after", "earlier": "before"}[kind]
	default:
		return p.orLater(i)
	}
	look := p
	if past := kind == "since" || p.past && kind == "after"; past != p.past || past && kind == "since" {
		look = p.withDirection(past)
		look.back = kind == "since"
	}
	for _, a := range look.parseRangeEnd(j, true) {
		if r, ok := look.openRange(kind, a); ok {
			out = append(out, r)
		}
	}
	return out
}

func (p *parser) openRange(kind string, a candidateParse) (rangeAlt, bool) {
	a.s.loose = false
	if a.s.either != nil {
		if s, ok := p.settleDates(a.s); ok {
			return p.openRange(kind, candidateParse{a.end, s})
		}
		words := p.describeChoices(a.s)
		return rangeAlt{end: a.end, ambiguous: words}, words != nil
	}
	m, ok := p.resolveSpec(a.s)
	if !ok {
		return rangeAlt{}, false
	}
	until := m.Time
	if !m.HasClock {
		if span, _, ok := p.resolveDays(a.s); ok {
			m.Time, until = span.lo.startIn(p.now.Location()), span.hi.startIn(p.now.Location())
		}
	}
	pd := &Period{}
	switch kind {
	case "since":
		pd.From = m.Time
		if m.Time.Before(p.now) {
			pd.To = p.now
		}
	case "after":
		pd.From = until
		if m.HasClock && a.s.set&fInstant == 0 {
			pd.To = (dayOf(until) + 1).startIn(p.now.Location())
		}
	case "starting", "beginning":
		pd.From = m.Time
	case "before":
		pd.To = m.Time
	case "through":
		pd.From, pd.To = p.now, until
	default:
		pd.From, pd.To = p.now, m.Time
	}
	if pd.From.Equal(p.now) && pd.To.Before(p.now) {
		pd.From = time.Time{}
	}
	return rangeAlt{end: a.end, period: pd}, !pd.From.After(pd.To) || pd.To.IsZero()
}

// orLater reads "3pm or later", "1/1/2016 and after".
func (p *parser) orLater(i int) []rangeAlt {
	var out []rangeAlt
	for _, a := range p.parseExpression(i) {
		if !p.isWord(a.end, "or", "and") || a.s.either != nil {
			continue
		}
		kind := ""
		switch {
		case p.isWord(a.end+1, "later", "after", "onwards"):
			kind = "starting"
		case p.isWord(a.end+1, "earlier", "before"):
			kind = "before"
		default:
			continue
		}
		if r, ok := p.openRange(kind, candidateParse{a.end + 2, a.s}); ok {
			out = append(out, r)
		}
	}
	return out
}

// dayThenClock parses a part of a day that a time of day limits: "tomorrow after 5pm", "on Friday
// before noon".
func (p *parser) dayThenClock(i int) []rangeAlt {
	var out []rangeAlt
	for _, d := range p.parseExpression(i) {
		k := p.skipWord(d.end, ",")
		if d.s.set&(fClock|fInstant) != 0 || d.s.set&fDate == 0 || d.s.dayGrain() != Day || !p.isWord(k, "after", "before", "until", "till", "from") {
			continue
		}
		for _, c := range append(p.clockPiece(k+1), p.bareHour(k+1)...) {
			s, ok := mergeSpecs(d.s, c.s)
			if !ok {
				continue
			}
			if s, ok = p.settleDates(s); !ok {
				continue
			}
			s.loose = false
			m, ok := p.resolveSpec(s)
			if !ok {
				continue
			}
			day := dayOf(m.Time)
			pd := &Period{From: day.startIn(p.now.Location()), To: m.Time}
			if p.isWord(k, "after", "from") {
				pd = &Period{From: m.Time, To: (day + 1).startIn(p.now.Location())}
			}
			out = append(out, rangeAlt{end: c.end, period: pd})
		}
	}
	return out
}

// restOf parses the remaining or elapsed part of a unit: "the rest of the week",
// "later this month", "earlier this year", "year to date".
func (p *parser) restOf(i int) []rangeAlt {
	j := p.skipWord(p.skipWord(i, "for", "in", "over"), "the")
	var k int
	gone := false
	switch {
	case p.isWord(j, "rest", "remainder", "remaining") && p.isWord(j+1, "of"):
		k = p.skipWord(j+2, "the", "this", "my")
	case p.isWord(j, "later") && p.isWord(j+1, "this"):
		k = j + 2
	case p.isWord(j, "earlier") && p.isWord(j+1, "this"):
		k, gone = j+2, true
	case p.isWord(j, "ytd", "mtd"):
		g := Year
		if p.isWord(j, "mtd") {
			g = Month
		}
		return []rangeAlt{p.restOfUnit(j+1, g, true)}
	default:
		if u, end, ok := p.parseUnit(j); ok && u >= unitWeek {
			if e, ok := p.matchPhrase(end, "to", "date"); ok {
				return []rangeAlt{p.restOfUnit(e, u.grainOf(), true)}
			}
		}
		return nil
	}
	if p.isWord(k, "today", "day") {
		return []rangeAlt{p.restOfUnit(k+1, Day, gone)}
	}
	u, end, ok := p.parseUnit(k)
	if !ok || u < unitDay || u > unitYear {
		return nil
	}
	return []rangeAlt{p.restOfUnit(end, u.grainOf(), gone)}
}

func (p *parser) restOfUnit(end int, g Grain, gone bool) rangeAlt {
	span := unitSpan(p.today, g, 0)
	pd := &Period{From: p.now, To: span.hi.startIn(p.now.Location())}
	if gone {
		pd = &Period{From: span.lo.startIn(p.now.Location()), To: p.now}
	}
	return rangeAlt{end: end, period: pd}
}
