package when

func clockSpec(c clock) (spec, bool) {
	c, ok := c.fix()
	return spec{set: fClock, clock: c}, ok
}

// clockPiece parses a marked time of day: "5pm", "17:30", "half past three",
// "noon", "15h20".
func (p *parser) clockPiece(i int) []alt {
	var out []alt
	add := func(c clock, end int) {
		if s, ok := clockSpec(c); ok {
			end = p.skip(end, "ish")
			out = append(out, p.zoned(s, end)...)
		}
	}
	if c, end, ok := p.namedClock(i); ok {
		add(c, end)
		if p.is(i, "this", "same") && len(out) > 0 {
			out[0].s.weak = true
		}
	}
	if c, end, ok := p.pastClock(i); ok {
		add(c, end)
	}
	for _, r := range p.hourMinute(i) {
		if h, end, ok := p.meridian(r.end, r.digits); ok {
			r.c.half = h
			add(r.c, end)
			continue
		}
		if end := p.skip(r.end, "oclock"); end > r.end {
			c := r.c
			if h, e, ok := p.meridian(end, false); ok {
				c.half, end = h, e
			}
			add(c, end)
			continue
		}
		if r.marked || p.is(r.end, "ish") {
			add(r.c, r.end)
		}
	}
	return out
}

// bareHour reads a time of day that nothing marks: the "5" of "at 5", the
// "3 15" of "at 3 15". It is believed only next to other evidence.
func (p *parser) bareHour(i int) []alt {
	var out []alt
	for _, r := range p.hourMinute(i) {
		if r.marked || p.is(r.end, "ish") || p.is(r.end, "%", "$", "€", "£", "/") && p.glued(r.end) {
			continue
		}
		if _, ok := unitName(p.text(r.end)); ok && r.c.grain == Hour || p.measures(r.end) {
			continue
		}
		if p.num(i) > 24 && r.end == i+1 && !p.is(i-1, "at", "@", "around", "about", "by", "from", "between", "to", "until", "till", "-", "and") {
			continue // "building 134"
		}
		if !p.whole && !p.meantHour(i, r) {
			continue
		}
		if s, ok := clockSpec(r.c); ok {
			s.loose = true
			out = append(out, p.zoned(s, r.end)...)
		}
	}
	return out
}

// meantHour distinguishes "around 5" from "around 5 apples", "at three" from "at
// one with nature": no noun may follow the number.
func (p *parser) meantHour(i int, r hm) bool {
	if !p.is(i-1, "about", "around", "by", "approximately", "roughly", "circa", "~") && r.digits || r.c.grain != Hour {
		return true
	}
	if r.end >= len(p.toks) || !p.toks[r.end].word {
		return true
	}
	_, day := weekdayName(p.text(r.end))
	return day || p.is(r.end, "to", "on", "and", "in", "for", "today", "tomorrow", "tonight", "this", "next", "please", "so", "if",
		"but", "then", "every", "each", "at", "until", "till", "from", "because", "when", "o", "oclock", "sharp", "through")
}

// measures reports whether the number before i counts something else than
// hours: "at 6.45 percent", "at 20 euros".
func (p *parser) measures(i int) bool {
	return p.is(i, "percent", "per", "degrees", "dollars", "euros", "pounds", "cents", "bucks", "miles", "km", "kilometers",
		"kilometres", "metres", "meters", "mph", "kmh", "points", "people", "persons", "times", "items", "places", "locations",
		"stores", "shops", "pieces", "kg", "kilos", "grams", "litres", "liters", "eur", "usd", "gbp", "x", "or", "%")
}

func (p *parser) namedClock(i int) (clock, int, bool) {
	if p.num(i) == 12 && p.is(i+1, "noon", "midday", "midnight") {
		i++
	}
	switch {
	case p.is(i, "noon", "midday", "noonish", "noontime"):
		return clock{h: 12, half: halfBoth, grain: Hour}, i + 1, true
	case p.is(i, "midnight"):
		return clock{h: 24, half: halfBoth, grain: Hour}, i + 1, true
	case p.is(i, "mid") && p.is(p.skip(i+1, "-"), "night"):
		return clock{h: 24, half: halfBoth, grain: Hour}, p.skip(i+1, "-") + 1, true
	case p.is(i, "eod", "cob", "eob"):
		if p.is(i, "eod") {
			return endOfDay(), i + 1, true
		}
		return clock{h: 17, half: halfBoth, grain: Hour}, i + 1, true
	}
	if p.is(i, "this", "same") && p.is(i+1, "time") { // "this time tomorrow"
		h, m, _ := p.now.Clock()
		return clock{h: h, m: m, half: halfBoth, grain: Minute}, i + 2, true
	}
	if end, ok := p.phrase(p.skip(i, "the"), "close", "of", "business"); ok {
		return clock{h: 17, half: halfBoth, grain: Hour}, end, true
	}
	j := p.skip(i, "the")
	if p.text(j) == "end" && p.text(j+1) == "of" {
		if k := p.skip(j+2, "the", "my"); p.is(k, "day") {
			return endOfDay(), k + 1, true
		}
	}
	return clock{}, 0, false
}

func endOfDay() clock { return clock{h: 23, m: 59, s: 59, half: halfBoth, grain: Second} }

// pastClock reads "half past three", "a quarter to noon", "20 minutes past 3pm".
func (p *parser) pastClock(i int) (clock, int, bool) {
	var minutes, j int
	switch k := p.skip(i, "a"); {
	case p.is(i, "half"):
		minutes, j = 30, i+1
		if c, end, ok := p.wholeHour(j); ok && p.num(end) < 0 { // British: half seven
			if _, isUnit := unitName(p.text(end)); !isUnit && (p.whole || p.is(i-1, "at", "around", "about")) {
				c.m, c.grain = 30, Minute
				return c, end, c.h < 24
			}
		}
	case p.is(k, "quarter"):
		minutes, j = 15, k+1
	default:
		rs := p.cardinal(i)
		if len(rs) == 0 || rs[0].n < 1 || rs[0].n > 59 {
			return clock{}, 0, false
		}
		minutes, j = rs[0].n, p.skip(rs[0].end, "minutes", "minute", "min", "mins")
	}
	sign := 1
	switch {
	case p.is(j, "past", "after") || p.is(j, "from") && p.is(j-1, "minutes", "minute", "min", "mins", "quarter"):
	case p.is(j, "to", "till", "til", "before", "of"):
		sign = -1
		if p.num(i) >= 0 && p.num(i) <= 12 && j == i+1 {
			return clock{}, 0, false // "5 to 7" is rather a range
		}
	default:
		return clock{}, 0, false
	}
	if p.text(j) == "of" && p.text(i) != "quarter" {
		return clock{}, 0, false
	}
	c, end, ok := p.wholeHour(j + 1)
	if !ok {
		return clock{}, 0, false
	}
	c.grain = Minute
	c.m = minutes
	if sign < 0 {
		c.m = 60 - minutes
		c.h--
		if c.h <= 0 && c.half != halfBoth {
			c.h += 12
			if c.half == halfAM {
				c.half = halfPM
			} else if c.half == halfPM {
				c.half = halfAM
			}
		} else if c.h < 0 {
			c.h = 23
		}
	}
	return c, end, true
}

// wholeHour reads the hour of "half past three pm".
func (p *parser) wholeHour(i int) (clock, int, bool) {
	if c, end, ok := p.namedClock(i); ok {
		c.h %= 24
		return c, end, c.m == 0
	}
	for _, r := range p.hourMinute(i) {
		if r.c.grain != Hour {
			continue
		}
		c, end := r.c, r.end
		end = p.skip(end, "oclock")
		if h, e, ok := p.meridian(end, r.digits && end == r.end); ok {
			c.half, end = h, e
			if c.h == 12 && h == halfAM {
				c.h, c.half = 0, halfBoth
			}
		}
		if _, ok := c.fix(); ok {
			return c, end, true
		}
	}
	return clock{}, 0, false
}

// meridian reads "am", "p.m.", "a m", "p . m ." and, right after digits, "p".
func (p *parser) meridian(i int, digits bool) (half, int, bool) {
	var h half
	switch p.text(i) {
	case "am":
		return halfAM, i + 1, true
	case "pm":
		return halfPM, i + 1, true
	case "a":
		h = halfAM
	case "p":
		h = halfPM
	default:
		return 0, 0, false
	}
	j := p.skip(i+1, ".")
	if p.text(j) == "m" {
		return h, p.skip(j+1, "."), true
	}
	if digits && p.glued(i) {
		return h, p.dot(i + 1), true
	}
	return 0, 0, false
}

// partPiece reads a part of the day: "in the morning", "late evening", "at
// night"; "this morning" and "tonight" are read by relativeDay and qualified.
func (p *parser) partPiece(i int) []alt {
	if p.is(i, "first") && p.is(i+1, "thing") {
		return []alt{{i + 2, spec{set: fPart, part: partMorning, weak: true}}}
	}
	j, early := i, false
	if p.is(j, "early", "late", "mid") {
		early = p.is(j, "early")
		j = p.skip(p.skip(p.skip(j+1, "-"), "in"), "the")
	}
	part, ok := partName(p.text(j))
	if !ok {
		return nil
	}
	if early && part == partMorning {
		part = partEarlyMorning
	}
	if p.is(j, "breakfast", "lunch", "dinner", "nights", "mornings", "evenings", "afternoons") && !p.is(j+1, "time") {
		return nil
	}
	return []alt{{p.skip(j+1, "time"), spec{set: fPart, part: part, weak: true}}}
}
