package when

import "time"

// rangeAlt is one reading of a stretch of tokens as a period with two ends, or
// with one and an open side.
type rangeAlt struct {
	end       int
	period    *Period
	ambiguous []string
}

// ranges reads "from X to Y", "between X and Y", "X - Y", "since X", "after X",
// "before X", "X for 2 hours", "3 days from X". Longest first.
func (p *parser) ranges(i int) []rangeAlt {
	var out []rangeAlt
	out = append(out, p.twoEnded(i)...)
	out = append(out, p.lasting(i)...)
	out = append(out, p.openEnded(i)...)
	for a := 1; a < len(out); a++ {
		for b := a; b > 0 && out[b].end > out[b-1].end; b-- {
			out[b], out[b-1] = out[b-1], out[b]
		}
	}
	return out
}

// twoEnded reads ranges with both ends said. A day may stand before the range
// ("Tuesday from 2 to 3pm") or after it ("2 to 3pm on Tuesday").
func (p *parser) twoEnded(i int) []rangeAlt {
	var out []rangeAlt
	heads := []alt{{i, spec{}}}
	for _, a := range p.expr(i) {
		if a.s.set&(fClock|fInstant) == 0 && a.s.choices == nil {
			heads = append(heads, a)
		}
	}
	for _, head := range heads {
		j := head.end
		if head.end > i {
			j = p.skip(j, ",")
		}
		open := p.rangeWord(j)
		if head.end > i && open == j && p.num(j) < 0 {
			continue
		}
		out = append(out, p.pairs(head, open, open > j)...)
	}
	return out
}

// rangeWord skips what opens a range: "from", "between", "at", "on".
func (p *parser) rangeWord(i int) int {
	j := p.skip(i, "at", "on", "in", "during", "anytime", "sometime")
	return p.skip(j, "from", "between")
}

// pairs reads the two ends that start at i.
func (p *parser) pairs(head alt, i int, opened bool) []rangeAlt {
	between := p.is(i-1, "between")
	var out []rangeAlt
	for _, from := range p.ends(i, opened) {
		j, ok := p.rangeJoin(from.end, between)
		if !ok || p.cutsDate(i, from.end) {
			continue
		}
		for _, to := range p.ends(j, true) {
			out = append(out, p.pairUp(head, from, to, opened)...)
		}
	}
	return out
}

// rangeJoin skips the word between the ends.
func (p *parser) rangeJoin(i int, between bool) (int, bool) {
	switch {
	case p.is(i, "to", "until", "till", "til", "through", "thru", "-", "~"):
		return p.skip(p.skip(i+1, "the"), "about", "around"), true
	case between && p.is(i, "and"):
		return p.skip(i+1, "the"), true
	}
	return 0, false
}

// cutsDate reports whether a dash at end lies inside a written date: 2026-03.
func (p *parser) cutsDate(i, end int) bool {
	if !p.is(end, "-") || !p.glued(end) {
		return false
	}
	w, ok := p.written(i)
	if !ok || w.end <= end || w.sep != "-" {
		return false
	}
	_, ok = w.spec()
	return ok
}

// ends reads one end of a range: an ordinary moment, or the bare number that
// the other end explains ("3 to 5pm", "9th through 17th").
func (p *parser) ends(i int, _ bool) []alt {
	out := append([]alt{}, p.expr(i)...)
	out = append(out, p.bareHour(i)...)
	j := p.skip(i, "the")
	if r, ok := p.dayNumber(j); ok {
		s := domSpec(r.n)
		s.loose = true
		out = append(out, alt{r.end, s})
	}
	for _, y := range p.year(i) {
		out = append(out, alt{y.end, yearSpec(y.n)})
	}
	return out
}

// pairUp joins two ends with the day before and any day after the range.
func (p *parser) pairUp(head, from, to alt, opened bool) []rangeAlt {
	var out []rangeAlt
	if r, ok := p.span(head.s, from.s, to.s, spec{}, opened); ok {
		r.end = to.end
		out = append(out, r)
	}
	if head.s.set != 0 {
		return out
	}
	for _, j := range p.joints(to.end) {
		for _, tail := range p.expr(j.end) {
			if tail.s.set&(fClock|fInstant) != 0 || tail.s.choices != nil {
				continue
			}
			if r, ok := p.span(tail.s, from.s, to.s, spec{}, opened); ok {
				r.end = tail.end
				out = append(out, r)
			}
		}
	}
	return out
}

// span resolves a range whose ends share what ctx says and complete each other.
func (p *parser) span(ctx, from, to, _ spec, opened bool) (rangeAlt, bool) {
	if from.choices != nil || to.choices != nil {
		return p.disambiguate(from, to)
	}
	a, b, ok := complete(from, to)
	if !ok {
		return rangeAlt{}, false
	}
	if a.loose && b.loose && !opened && ctx.set == 0 {
		return rangeAlt{}, false
	}
	if ctx.set != 0 {
		if a, ok = merge(ctx, a); !ok {
			return rangeAlt{}, false
		}
		if b.set&(fSpan|fYear|fMonth|fDom|fWeekday) == 0 || b.set&fDate == fDom {
			if b, ok = merge(ctx, b); !ok {
				return rangeAlt{}, false
			}
		}
	}
	a.loose, b.loose, a.weak, b.weak = false, false, false, false
	lo, ok := p.resolve(a)
	if !ok {
		return rangeAlt{}, false
	}
	hi, ok := p.rangeEnd(a, b, lo)
	if !ok || !hi.After(lo.Time) {
		return rangeAlt{}, false
	}
	return rangeAlt{period: &Period{From: lo.Time, To: hi}}, true
}

func (p *parser) disambiguate(from, to spec) (rangeAlt, bool) {
	all := append(append([]string{}, from.choices...), to.choices...)
	return rangeAlt{ambiguous: all}, true
}

// complete gives each end what only the other one says: "3 to 5pm", "9 to 17
// April", "January to March 2017".
func complete(a, b spec) (spec, spec, bool) {
	clocks := fClock | fInstant
	if a.set&fClock != 0 && b.set&fClock != 0 {
		a, b = shareHalf(a, b), shareHalf(b, a)
		if a.set&fDate == 0 && b.set&fDate != 0 {
			if m, ok := merge(datesOf(b), a); ok {
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
		a = overlay(a, monthSpec(b.month))
		a.loose = false
	}
	if b.set&fMonth == 0 && b.set&fDom != 0 && a.set&fMonth != 0 && a.set&fDom != 0 {
		if b.dom > a.dom {
			b = overlay(b, monthSpec(a.month))
			if a.set&fYear != 0 {
				b = overlay(b, yearSpec(a.year))
			}
		}
		b.loose = false
	}
	if a.set&(fYear|fSpan) == 0 && b.set&fYear != 0 && a.set&fMonth != 0 {
		y := b.year
		if b.set&fMonth != 0 && a.month > b.month {
			y--
		}
		a = overlay(a, yearSpec(y))
	}
	return a, b, true
}

// datesOf keeps what a spec says about the day.
func datesOf(s spec) spec {
	s.set &= fDate
	s.clock, s.part = clock{}, partNone
	return s
}

// shareHalf gives the bare hour of a the half of the day that b names, when
// that keeps a before b on the clock.
func shareHalf(a, b spec) spec {
	if a.clock.half != halfUnknown || b.clock.half == halfUnknown || b.clock.half == halfBoth {
		return a
	}
	if a.set&fPart != 0 {
		return a
	}
	a.clock.half = b.clock.half
	c, ok := a.clock.fix()
	if !ok || b.clock.h*60+b.clock.m <= c.h*60+c.m {
		a.clock.half = halfAM + halfPM - b.clock.half
		c, _ = a.clock.fix()
	}
	a.clock = c
	return a
}

// rangeEnd finds the end of a range that begins at lo: the first moment after
// lo that b describes. A day, month or year that ends a range belongs to it.
func (p *parser) rangeEnd(a, b spec, lo Moment) (time.Time, bool) {
	if b.set&fInstant != 0 {
		return b.at, true
	}
	from := *p
	from.now, from.today, from.past, from.memo = lo.Time, dayOf(lo.Time), false, nil
	if b.set&fClock != 0 && b.set&fDate == 0 {
		if a.set&fPart != 0 && b.set&fPart == 0 {
			b.set |= fPart
			b.part = a.part
		}
		if t, ok := from.laterClock(b); ok {
			return t, true
		}
	}
	if b.set&(fClock|fPart) != 0 {
		m, ok := from.resolve(b)
		return m.Time, ok
	}
	b.set &^= fPick
	if b.set&fDate == fWeekday && from.today.weekday() == b.wd {
		return time.Time{}, false
	}
	span, _, ok := from.days(b)
	return span.hi.start(p.now.Location()), ok
}

// laterClock is the first time after now that the clock of s can mean, so that
// in "from 9 to 5" the 5 is the afternoon's.
func (p *parser) laterClock(s spec) (time.Time, bool) {
	hours := s.clock.hours()
	if s.clock.half == halfUnknown {
		hours = []int{s.clock.h, s.clock.h + 12, s.clock.h + 24}
	} else {
		hours = append(hours, hours[0]+24)
	}
	for _, h := range hours {
		if m := p.onDay(p.today, h, s); m.Time.After(p.now) {
			return m.Time, true
		}
	}
	return time.Time{}, false
}

// lasting reads a start with a length: "from 9 for 2 hours", "for 3 days from
// tomorrow", "a week starting Monday".
func (p *parser) lasting(i int) []rangeAlt {
	var out []rangeAlt
	add := func(end int, s spec, l length) {
		s.loose = false
		if m, ok := p.resolve(s); ok && s.choices == nil {
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
	j := i + 1
	switch kind {
	case "since", "after", "before", "until", "till", "til", "through":
	case "starting", "beginning":
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
	if past := kind == "since" || p.past && kind == "after"; past != p.past {
		other := *p
		other.past, other.memo = past, map[int][]alt{}
		look = &other
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
	if a.s.choices != nil {
		return rangeAlt{end: a.end, ambiguous: a.s.choices}, true
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
	case "starting", "beginning":
		pd.From = m.Time
	case "before":
		pd.To = m.Time
	case "through":
		pd.From, pd.To = p.now, until
	default:
		pd.From, pd.To = p.now, m.Time
	}
	return rangeAlt{end: a.end, period: pd}, !pd.From.After(pd.To) || pd.To.IsZero()
}

// orLater reads "3pm or later", "1/1/2016 and after".
func (p *parser) orLater(i int) []rangeAlt {
	var out []rangeAlt
	for _, a := range p.expr(i) {
		if !p.is(a.end, "or", "and") || a.s.choices != nil {
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
