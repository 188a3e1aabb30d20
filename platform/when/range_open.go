package when

import "time"

// lasting reads a start with a length: "from 9 for 2 hours", "for 3 days from
// tomorrow", "a week starting Monday".
func (p *parser) lasting(i int) []rangeAlt {
	var out []rangeAlt
	add := func(end int, s spec, l length) {
		s.loose = false
		if m, ok := p.looking(false).resolve(s); ok && s.either == nil {
			to := l.from(m.Time, 1)
			if to.After(m.Time) && to.Year() <= 9999 {
				out = append(out, rangeAlt{end: end, period: &Period{From: m.Time, To: to}})
			}
		}
	}
	j := p.skip(i, "from", "at", "starting", "beginning")
	for _, a := range p.ends(j, j > i) {
		if p.is(a.end, "for") && (!a.s.loose || j > i) {
			for _, l := range p.lengths(a.end + 1) {
				add(l.end, a.s, l.l)
			}
		}
	}
	j = p.skip(i, "for")
	for _, l := range p.lengths(j) {
		k := p.skip(l.end, ",")
		switch {
		case p.is(k, "starting", "beginning", "commencing"):
		case p.is(k, "from") && (j > i || k > l.end):
		default:
			continue
		}
		k = p.skip(p.skip(k+1, "from", "on", "at"), "at")
		for _, a := range p.ends(k, true) {
			add(a.end, a.s, l.l)
		}
	}
	return out
}

// openEnded reads "since X", "after X", "before X", "until X", "X or later".
func (p *parser) openEnded(i int) []rangeAlt {
	var out []rangeAlt
	kind := p.text(i)
	if p.is(i-1, "no", "not") {
		return nil
	}
	j := i + 1
	switch kind {
	case "since", "after", "before", "until", "till", "til", "through":
	case "starting", "beginning":
		if p.is(j, "of") {
			return nil
		}
		j = p.skip(j, "on", "from", "in")
	case "later", "earlier":
		if !p.is(j, "than") {
			return p.orLater(i)
		}
		j++
		kind = map[string]string{"later": "after", "earlier": "before"}[kind]
	default:
		return p.orLater(i)
	}
	look := p
	if past := kind == "since" || p.past && kind == "after"; past != p.past || past && kind == "since" {
		look = p.looking(past)
		look.back = kind == "since"
	}
	for _, a := range look.ends(j, true) {
		if r, ok := look.open(kind, a); ok {
			out = append(out, r)
		}
	}
	return out
}

func (p *parser) open(kind string, a alt) (rangeAlt, bool) {
	a.s.loose = false
	if a.s.either != nil {
		if s, ok := p.settle(a.s); ok {
			return p.open(kind, alt{a.end, s})
		}
		words := p.choices(a.s)
		return rangeAlt{end: a.end, ambiguous: words}, words != nil
	}
	m, ok := p.resolve(a.s)
	if !ok {
		return rangeAlt{}, false
	}
	until := m.Time
	if !m.HasClock {
		if span, _, ok := p.days(a.s); ok {
			m.Time, until = span.lo.start(p.now.Location()), span.hi.start(p.now.Location())
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
			pd.To = (dayOf(until) + 1).start(p.now.Location())
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
	for _, a := range p.expr(i) {
		if !p.is(a.end, "or", "and") || a.s.either != nil {
			continue
		}
		kind := ""
		switch {
		case p.is(a.end+1, "later", "after", "onwards"):
			kind = "starting"
		case p.is(a.end+1, "earlier", "before"):
			kind = "before"
		default:
			continue
		}
		if r, ok := p.open(kind, alt{a.end + 2, a.s}); ok {
			out = append(out, r)
		}
	}
	return out
}

// dayThenClock reads the part of a day that a clock bounds: "tomorrow after
// 5pm", "on Friday before noon".
func (p *parser) dayThenClock(i int) []rangeAlt {
	var out []rangeAlt
	for _, d := range p.expr(i) {
		k := p.skip(d.end, ",")
		if d.s.set&(fClock|fInstant) != 0 || d.s.set&fDate == 0 || d.s.dayGrain() != Day || !p.is(k, "after", "before", "until", "till", "from") {
			continue
		}
		for _, c := range append(p.clockPiece(k+1), p.bareHour(k+1)...) {
			s, ok := merge(d.s, c.s)
			if !ok {
				continue
			}
			if s, ok = p.settle(s); !ok {
				continue
			}
			s.loose = false
			m, ok := p.resolve(s)
			if !ok {
				continue
			}
			day := dayOf(m.Time)
			pd := &Period{From: day.start(p.now.Location()), To: m.Time}
			if p.is(k, "after", "from") {
				pd = &Period{From: m.Time, To: (day + 1).start(p.now.Location())}
			}
			out = append(out, rangeAlt{end: c.end, period: pd})
		}
	}
	return out
}

// restOf parses the remaining or elapsed part of a unit: "the rest of the week",
// "later this month", "earlier this year", "year to date".
func (p *parser) restOf(i int) []rangeAlt {
	j := p.skip(p.skip(i, "for", "in", "over"), "the")
	var k int
	gone := false
	switch {
	case p.is(j, "rest", "remainder", "remaining") && p.is(j+1, "of"):
		k = p.skip(j+2, "the", "this", "my")
	case p.is(j, "later") && p.is(j+1, "this"):
		k = j + 2
	case p.is(j, "earlier") && p.is(j+1, "this"):
		k, gone = j+2, true
	case p.is(j, "ytd", "mtd"):
		g := Year
		if p.is(j, "mtd") {
			g = Month
		}
		return []rangeAlt{p.rest(j+1, g, true)}
	default:
		if u, end, ok := p.unit(j); ok && u >= unitWeek {
			if e, ok := p.phrase(end, "to", "date"); ok {
				return []rangeAlt{p.rest(e, u.grain(), true)}
			}
		}
		return nil
	}
	if p.is(k, "today", "day") {
		return []rangeAlt{p.rest(k+1, Day, gone)}
	}
	u, end, ok := p.unit(k)
	if !ok || u < unitDay || u > unitYear {
		return nil
	}
	return []rangeAlt{p.rest(end, u.grain(), gone)}
}

func (p *parser) rest(end int, g Grain, gone bool) rangeAlt {
	span := unitSpan(p.today, g, 0)
	pd := &Period{From: p.now, To: span.hi.start(p.now.Location())}
	if gone {
		pd = &Period{From: span.lo.start(p.now.Location()), To: p.now}
	}
	return rangeAlt{end: end, period: pd}
}
