package when

import "time"

// nowPiece reads "now", "right now", "at the moment".
func (p *parser) nowPiece(i int) []alt {
	end, ok := i, false
	switch {
	case p.is(i, "now", "immediately", "asap", "atm"):
		end, ok = i+1, true
	case p.is(i, "right") && p.is(i+1, "now", "away"), p.is(i, "straight") && p.is(i+1, "away"),
		p.is(i, "just") && p.is(i+1, "now"), p.is(i, "at") && p.is(i+1, "once", "present"):
		end, ok = i+2, true
	case p.is(i, "at", "this"):
		j := p.skip(i, "at")
		if j > i && p.is(j, "the", "this") && p.is(j+1, "moment") || p.is(i, "at") && p.is(j, "this") && p.is(j+1, "time") {
			end, ok = j+2, true
		}
	}
	if !ok {
		return nil
	}
	return []alt{{end, spec{set: fInstant, at: p.now, grain: Second}}}
}

// relativeDay reads "today", "tomorrow night", "the day after tomorrow".
func (p *parser) relativeDay(i int) []alt {
	j := p.skip(i, "the")
	if p.is(j, "day") && p.is(j+1, "after", "before") {
		if n, end, ok := p.dayWord(j + 2); ok && n != 0 {
			if p.is(j+1, "before") {
				n -= 2
			}
			return []alt{{end, daySpec(p.today + day(n+1))}}
		}
		if p.is(i, "the") && p.is(j+1, "after") {
			return []alt{{j + 2, spec{set: fSpan, span: daySpan{p.today + 1, p.today + 2}, grain: Day, weak: true}}}
		}
	}
	if n, end, ok := p.dayWord(i); ok {
		return []alt{{end, daySpec(p.today + day(n))}}
	}
	if p.is(i, "tonight", "tonite") {
		s := daySpec(p.today)
		s.set |= fPart
		s.part = partNight
		return []alt{{i + 1, s}}
	}
	return nil
}

func (p *parser) dayWord(i int) (int, int, bool) {
	switch {
	case p.is(i, "today"):
		return 0, i + 1, true
	case p.is(i, "tomorrow", "tomorow", "tommorow", "tommorrow", "tomorrows", "tmrw", "tmr"):
		return 1, i + 1, true
	case p.is(i, "yesterday"):
		return -1, i + 1, true
	}
	return 0, 0, false
}

// sep skips what may stand between the parts of a written date.
func (p *parser) sep(i int) int {
	if p.is(i, ",", ".") {
		return p.skip(i+1, ",")
	}
	if p.is(i, "-", "/") && p.glued(i) && p.glued(i+1) {
		return i + 1
	}
	return i
}

// dayNumber reads the day of a month: "3", "3rd", "third".
func (p *parser) dayNumber(i int) (reading, bool) {
	r, ok := p.ordinal(i)
	if !ok && p.num(i) >= 0 && len(p.text(i)) <= 2 && !(p.glued(i+1) && p.is(i+1, ":", "%")) {
		r, ok = reading{p.num(i), i + 1}, true
		if p.is(i+1, "-") && p.glued(i+1) && p.num(i+2) >= 0 && p.glued(i+2) && p.num(i+2) < 32 {
			ok = true // the first day of a range
		}
	}
	return r, ok && r.n >= 1 && r.n <= 31
}

// month reads the name of a month with its stop.
func (p *parser) month(i int) (time.Month, int, bool) {
	m, ok := monthName(p.text(i))
	return m, p.abbreviated(i), ok
}

// monthDate reads "March 3rd, 2015", "the 15th of February", "14 april 2015",
// "June of 1992" and a month alone.
func (p *parser) monthDate(i int) []alt {
	j := p.skip(i, "the")
	if r, ok := p.dayNumber(j); ok {
		k := p.skip(p.skip(p.sep(r.end), "day"), "of")
		if m, end, ok := p.month(k); ok {
			return p.withYear(overlay(domSpec(r.n), monthSpec(m)), end)
		}
	}
	if rs := p.words(j); len(rs) > 0 && rs[0].n >= 1 && rs[0].n <= 31 {
		if m, end, ok := p.month(rs[0].end); ok && p.meantName(rs[0].end) {
			return p.withYear(overlay(domSpec(rs[0].n), monthSpec(m)), end)
		}
	}
	if p.text(j) == "ides" && p.text(j+1) == "of" {
		if m, end, ok := p.month(j + 2); ok {
			return p.withYear(overlay(domSpec(ides(m)), monthSpec(m)), end)
		}
	}
	m, end, ok := p.month(j)
	if !ok {
		return nil
	}
	var out []alt
	if r, ok := p.monthDay(end); ok {
		out = append(out, p.withYear(overlay(domSpec(r.n), monthSpec(m)), r.end)...)
		if p.validMonthDay(m, r.n) {
			return append(out, p.monthYear(m, end)...)
		}
		return out
	}
	if n := p.num(p.sep(end)); n > 31 && n < 100 || p.num(end) == 0 {
		return nil
	}
	out = append(out, p.monthYear(m, end)...)
	alone := monthSpec(m)
	alone.weak = isEverydayWord(p.text(j))
	return append(out, alt{end, alone})
}

// meantName distinguishes "One may ask" from "one May": within a sentence, months
// that are also verbs must be capitalized without other evidence.
func (p *parser) meantName(i int) bool {
	return p.whole || !p.is(i, "may", "march") || p.toks[i].capital
}

func (p *parser) validMonthDay(m time.Month, d int) bool { return d <= daysIn(2024, m) }

// ides returns the Roman middle of a month.
func ides(m time.Month) int {
	switch m {
	case time.March, time.May, time.July, time.October:
		return 15
	}
	return 13
}

// monthDay reads the day after a month's name: "Mar 3", "October, 1st",
// "January twenty five", "Dec31".
func (p *parser) monthDay(end int) (reading, bool) {
	k := p.skip(p.sep(end), "the")
	if r, ok := p.dayNumber(k); ok {
		if p.is(r.end, ":") && p.glued(r.end) || p.is(r.end, "am", "pm") && p.glued(r.end) {
			return reading{}, false
		}
		return r, true
	}
	if rs := p.words(k); len(rs) > 0 && rs[0].n >= 1 && rs[0].n <= 31 {
		return rs[0], true
	}
	return reading{}, false
}

// monthYear reads the year after a month's name.
func (p *parser) monthYear(m time.Month, end int) []alt {
	var out []alt
	k := p.skip(p.skip(p.sep(end), "of", "in"), "the")
	k = p.skip(k, "year")
	for _, y := range p.year(k) {
		out = append(out, alt{y.end, overlay(monthSpec(m), yearSpec(y.n))})
	}
	if y, ok := p.shortYear(k); ok && (k > end || p.is(k, "'")) {
		out = append(out, alt{y.end, overlay(monthSpec(m), yearSpec(y.n))})
	}
	return out
}

// shortYear reads "'87", or "87" where only a year can stand.
func (p *parser) shortYear(i int) (reading, bool) {
	j := p.skip(i, "'")
	if len(p.text(j)) != 2 || p.num(j) < 0 || (j == i && p.num(j) <= 31) || p.inNumber(j) {
		return reading{}, false
	}
	return reading{century(p.num(j)), j + 1}, true
}

// century completes a year of two digits: 70 to 99 are the last century.
func century(y int) int {
	if y >= 70 {
		return 1900 + y
	}
	return 2000 + y
}

// withYear returns a day and month with the year that may follow, and without.
func (p *parser) withYear(s spec, end int) []alt {
	if !p.validMonthDay(s.month, s.dom) {
		return nil
	}
	var out []alt
	k := p.sep(end)
	k = p.skip(p.skip(k, "of", "in"), ",")
	ys := p.year(k)
	if y, ok := p.shortYear(k); ok && p.is(k, "'") {
		ys = append(ys, y)
	}
	for _, y := range ys {
		if validDate(y.n, s.month, s.dom) {
			out = append(out, alt{y.end, overlay(s, yearSpec(y.n))})
		}
	}
	return append(out, alt{end, s})
}

// weekdayDate reads "Tuesday", "thu.", "Friday 23", "monday the twenty fourth".
func (p *parser) weekdayDate(i int) []alt {
	wd, ok := weekdayName(p.text(i))
	if !ok {
		return nil
	}
	s := spec{set: fWeekday, wd: wd}
	end := p.abbreviated(i)
	var out []alt
	k := p.skip(p.skip(end, ","), "the")
	if r, ok := p.dayNumber(k); ok && p.stops(r.end) {
		_, month := monthName(p.text(p.skip(r.end, "of")))
		_, ampm, isClock := p.meridian(r.end, true)
		if !month && !(isClock && ampm > 0) && !p.is(r.end, "oclock") && (r.end > k+1 || p.num(k) > 12) {
			both := overlay(s, domSpec(r.n))
			out = append(out, alt{r.end, both})
		}
	}
	if p.is(end, "week") && !p.is(end+1, "of", "in") && end == i+1 { // British: "Tuesday week"
		if span, _, ok := p.days(s); ok {
			out = append(out, alt{end + 1, daySpec(span.lo + 7)})
		}
	}
	if p.is(end, "fortnight") { // British: "Thursday fortnight"
		if span, _, ok := p.days(s); ok {
			out = append(out, alt{end + 1, daySpec(span.lo + 14)})
		}
	}
	s.weak = isEverydayWord(p.text(i))
	if s.weak && !p.whole && p.is(i-1, "the", "a", "in", "my", "about") {
		return out
	}
	return append(out, alt{end, s})
}

// decade reads "the 1990s", "the nineties", "the 21st century".
func (p *parser) decade(i int) []alt {
	j := p.skip(i, "the")
	if n := p.num(j); n >= 1000 && n <= 2990 && n%10 == 0 && p.is(j+1, "s") && p.glued(j+1) {
		return []alt{{j + 2, spanSpec(daySpan{date(n, 1, 1), date(n+10, 1, 1)}, Year)}}
	}
	if r, ok := p.ordinal(j); ok && p.is(r.end, "century") && r.n >= 1 && r.n <= 30 {
		y := (r.n - 1) * 100
		return []alt{{r.end + 1, spanSpec(daySpan{date(y, 1, 1), date(y+100, 1, 1)}, Year)}}
	}
	return nil
}

// yearPiece reads "in 2014", "the year 2008", "2014".
func (p *parser) yearPiece(i int) []alt {
	j := p.skip(i, "the")
	j = p.skip(j, "calendar", "cy")
	marked := j > i && !p.is(i, "the")
	if p.is(j, "year") {
		j = p.skip(j+1, "of")
		marked = true
	}
	if p.glued(j) && p.is(j-1, "/", "-") || p.glued(j+1) && p.is(j+1, "/", "-") && p.num(j+2) >= 0 {
		return nil
	}
	var out []alt
	for _, y := range p.year(j) {
		s := yearSpec(y.n)
		s.weak = !marked
		out = append(out, alt{y.end, s})
	}
	if n := p.num(j); n > 0 && n < 1000 {
		if end, ok := p.eraWord(j + 1); ok {
			out = append(out, alt{end, yearSpec(n)})
		}
	}
	return out
}
