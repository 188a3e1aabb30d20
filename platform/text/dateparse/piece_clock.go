package dateparse

func clockSpec(c clockTime) (spec, bool) {
	c, ok := c.normalizeClock()
	return spec{set: fClock, clock: c}, ok
}

// clockPiece parses a marked time of day: "5pm", "17:30", "half past three",
// "noon", "15h20".
func (p *parser) clockPiece(i int) []candidateParse {
	var out []candidateParse
	add := func(c clockTime, end int) {
		if s, ok := clockSpec(c); ok {
			end = p.skipWord(end, "ish")
			out = append(out, p.withOptionalZone(s, end)...)
		}
	}
	if c, end, ok := p.namedClock(i); ok {
		add(c, end)
		if p.isWord(i, "this", "same") && len(out) > 0 {
			out[0].s.weak = true
		}
	}
	if c, end, ok := p.pastClock(i); ok {
		add(c, end)
	}
	for _, r := range p.hourMinute(i) {
		if h, end, ok := p.parseMeridian(r.end, r.digits); ok {
			r.c.half = h
			add(r.c, end)
			continue
		}
		if end := p.skipWord(r.end, "oclock"); end > r.end {
			c := r.c
			if h, e, ok := p.parseMeridian(end, false); ok {
				c.half, end = h, e
			}
			add(c, end)
			continue
		}
		if r.marked || p.isWord(r.end, "ish") {
			add(r.c, r.end)
		}
	}
	return out
}

// bareHour parses an hour without "am", "pm" or another mark: the "5" in "at 5", the "3 15" in "at
// 3 15". It is accepted only together with other evidence.
func (p *parser) bareHour(i int) []candidateParse {
	var out []candidateParse
	for _, r := range p.hourMinute(i) {
		if r.marked || p.isWord(r.end, "ish") || p.isWord(r.end, "%", "$", "€", "£", "/") && p.isGlued(r.end) {
			continue
		}
		if _, ok := unitName(p.tokenText(r.end)); ok && r.c.grain == Hour || p.isMeasurement(r.end) {
			continue
		}
		if p.tokenNumber(i) > 24 && r.end == i+1 && !p.isWord(i-1, "at", "@", "around", "about", "by", "from", "between", "to", "until", "till", "-", "and") {
			continue // "building 134"
		}
		if !p.whole && !p.meantHour(i, r) {
			continue
		}
		if s, ok := clockSpec(r.c); ok {
			s.loose = true
			out = append(out, p.withOptionalZone(s, r.end)...)
		}
	}
	return out
}

// meantHour distinguishes "around 5" from "around 5 apples", and "at three" from "at one with
// nature". No noun may follow the number.
func (p *parser) meantHour(i int, r hourReading) bool {
	if !p.isWord(i-1, "about", "around", "by", "approximately", "roughly", "circa", "~") && r.digits || r.c.grain != Hour {
		return true
	}
	if r.end >= len(p.toks) || !p.toks[r.end].word {
		return true
	}
	_, day := weekdayName(p.tokenText(r.end))
	return day || p.isWord(r.end, "to", "on", "and", "in", "for", "today", "tomorrow", "tonight", "this", "next", "please", "so", "if",
		"but", "then", "every", "each", "at", "until", "till", "from", "because", "when", "o", "oclock", "sharp", "through")
}

// isMeasurement reports whether the number before i counts something other than hours: "at 6.45
// percent", "at 20 euros".
func (p *parser) isMeasurement(i int) bool {
	return p.isWord(i, "percent", "per", "degrees", "dollars", "euros", "pounds", "cents", "bucks", "miles", "km", "kilometers",
		"kilometres", "metres", "meters", "mph", "kmh", "points", "people", "persons", "times", "items", "places", "locations",
		"stores", "shops", "pieces", "kg", "kilos", "grams", "litres", "liters", "eur", "usd", "gbp", "x", "or", "%")
}

func (p *parser) namedClock(i int) (clockTime, int, bool) {
	if p.tokenNumber(i) == 12 && p.isWord(i+1, "noon", "midday", "midnight") {
		i++
	}
	switch {
	case p.isWord(i, "noon", "midday", "noonish", "noontime"):
		return clockTime{h: 12, half: halfBoth, grain: Hour}, i + 1, true
	case p.isWord(i, "midnight"):
		return clockTime{h: 24, half: halfBoth, grain: Hour}, i + 1, true
	case p.isWord(i, "mid") && p.isWord(p.skipWord(i+1, "-"), "night"):
		return clockTime{h: 24, half: halfBoth, grain: Hour}, p.skipWord(i+1, "-") + 1, true
	case p.isWord(i, "eod", "cob", "eob"):
		if p.isWord(i, "eod") {
			return endOfDay(), i + 1, true
		}
		return clockTime{h: 17, half: halfBoth, grain: Hour}, i + 1, true
	}
	if p.isWord(i, "this", "same") && p.isWord(i+1, "time") { // "this time tomorrow"
		h, m, _ := p.now.Clock()
		return clockTime{h: h, m: m, half: halfBoth, grain: Minute}, i + 2, true
	}
	if end, ok := p.matchPhrase(p.skipWord(i, "the"), "close", "of", "business"); ok {
		return clockTime{h: 17, half: halfBoth, grain: Hour}, end, true
	}
	j := p.skipWord(i, "the")
	if p.tokenText(j) == "end" && p.tokenText(j+1) == "of" {
		if k := p.skipWord(j+2, "the", "my"); p.isWord(k, "day") {
			return endOfDay(), k + 1, true
		}
	}
	return clockTime{}, 0, false
}

func endOfDay() clockTime { return clockTime{h: 23, m: 59, s: 59, half: halfBoth, grain: Second} }

// pastClock reads "half past three", "a quarter to noon", "20 minutes past 3pm".
func (p *parser) pastClock(i int) (clockTime, int, bool) {
	var minutes, j int
	switch k := p.skipWord(i, "a"); {
	case p.isWord(i, "half"):
		minutes, j = 30, i+1
		if c, end, ok := p.wholeHour(j); ok && p.tokenNumber(end) < 0 { // British: half seven
			if _, isUnit := unitName(p.tokenText(end)); !isUnit && (p.whole || p.isWord(i-1, "at", "around", "about")) {
				c.m, c.grain = 30, Minute
				return c, end, c.h < 24
			}
		}
	case p.isWord(k, "quarter"):
		minutes, j = 15, k+1
	default:
		rs := p.parseCardinal(i)
		if len(rs) == 0 || rs[0].n < 1 || rs[0].n > 59 {
			return clockTime{}, 0, false
		}
		minutes, j = rs[0].n, p.skipWord(rs[0].end, "minutes", "minute", "min", "mins")
	}
	sign := 1
	switch {
	case p.isWord(j, "past", "after") || p.isWord(j, "from") && p.isWord(j-1, "minutes", "minute", "min", "mins", "quarter"):
	case p.isWord(j, "to", "till", "til", "before", "of"):
		sign = -1
		if p.tokenNumber(i) >= 0 && p.tokenNumber(i) <= 12 && j == i+1 {
			return clockTime{}, 0, false // "5 to 7" is more likely a range
		}
	default:
		return clockTime{}, 0, false
	}
	if p.tokenText(j) == "of" && p.tokenText(i) != "quarter" {
		return clockTime{}, 0, false
	}
	c, end, ok := p.wholeHour(j + 1)
	if !ok {
		return clockTime{}, 0, false
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
func (p *parser) wholeHour(i int) (clockTime, int, bool) {
	if c, end, ok := p.namedClock(i); ok {
		c.h %= 24
		return c, end, c.m == 0
	}
	for _, r := range p.hourMinute(i) {
		if r.c.grain != Hour {
			continue
		}
		c, end := r.c, r.end
		end = p.skipWord(end, "oclock")
		if h, e, ok := p.parseMeridian(end, r.digits && end == r.end); ok {
			c.half, end = h, e
			if c.h == 12 && h == halfAM {
				c.h, c.half = 0, halfBoth
			}
		}
		if _, ok := c.normalizeClock(); ok {
			return c, end, true
		}
	}
	return clockTime{}, 0, false
}

// parseMeridian reads "am", "p.m.", "a m", "p . m ." and, right after digits, "p".
func (p *parser) parseMeridian(i int, digits bool) (dayHalf, int, bool) {
	var h dayHalf
	switch p.tokenText(i) {
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
	j := p.skipWord(i+1, ".")
	if p.tokenText(j) == "m" {
		return h, p.skipWord(j+1, "."), true
	}
	if digits && p.isGlued(i) {
		return h, p.skipDot(i + 1), true
	}
	return 0, 0, false
}

// partPiece parses a part of the day: "in the morning", "late evening", "at night". It does not
// parse "tonight" and "this morning", which relativeDay and parseQualified handle.
func (p *parser) partPiece(i int) []candidateParse {
	if p.isWord(i, "first") && p.isWord(i+1, "thing") {
		return []candidateParse{{i + 2, spec{set: fPart, part: partMorning, weak: true}}}
	}
	j, early := i, false
	if p.isWord(j, "early", "late", "mid") {
		early = p.isWord(j, "early")
		j = p.skipWord(p.skipWord(p.skipWord(j+1, "-"), "in"), "the")
	}
	part, ok := partName(p.tokenText(j))
	if !ok {
		return nil
	}
	if early && part == partMorning {
		part = partEarlyMorning
	}
	if p.isWord(j, "breakfast", "lunch", "dinner", "nights", "mornings", "evenings", "afternoons") && !p.isWord(j+1, "time") {
		return nil
	}
	return []candidateParse{{p.skipWord(j+1, "time"), spec{set: fPart, part: part, weak: true}}}
}
