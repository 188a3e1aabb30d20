package dateparse

import "time"

// nowPiece reads "now", "right now", "at the moment".
func (p *parser) nowPiece(i int) []candidateParse {
	end, ok := i, false
	switch {
	case p.isWord(i, "now", "immediately", "asap", "atm"):
		end, ok = i+1, true
	case p.isWord(i, "right") && p.isWord(i+1, "now", "away"), p.isWord(i, "straight") && p.isWord(i+1, "away"),
		p.isWord(i, "just") && p.isWord(i+1, "now"), p.isWord(i, "at") && p.isWord(i+1, "once", "present"):
		end, ok = i+2, true
	case p.isWord(i, "at", "this"):
		j := p.skipWord(i, "at")
		if j > i && p.isWord(j, "the", "this") && p.isWord(j+1, "moment") || p.isWord(i, "at") && p.isWord(j, "this") && p.isWord(j+1, "time") {
			end, ok = j+2, true
		}
	}
	if !ok {
		return nil
	}
	return []candidateParse{{end, spec{set: fInstant, at: p.now, grain: Second}}}
}

// relativeDay reads "today", "tomorrow night", "the day after tomorrow".
func (p *parser) relativeDay(i int) []candidateParse {
	j := p.skipWord(i, "the")
	if p.isWord(j, "day") && p.isWord(j+1, "after", "before") {
		if n, end, ok := p.dayWord(j + 2); ok && n != 0 {
			if p.isWord(j+1, "before") {
				n -= 2
			}
			return []candidateParse{{end, daySpec(p.today + day(n+1))}}
		}
		if p.isWord(i, "the") && p.isWord(j+1, "after") {
			return []candidateParse{{j + 2, spec{set: fSpan, span: daySpan{p.today + 1, p.today + 2}, grain: Day, weak: true}}}
		}
	}
	if n, end, ok := p.dayWord(i); ok {
		return []candidateParse{{end, daySpec(p.today + day(n))}}
	}
	if p.isWord(i, "tonight", "tonite") {
		s := daySpec(p.today)
		s.set |= fPart
		s.part = partNight
		return []candidateParse{{i + 1, s}}
	}
	return nil
}

func (p *parser) dayWord(i int) (int, int, bool) {
	switch {
	case p.isWord(i, "today"):
		return 0, i + 1, true
	case p.isWord(i, "tomorrow", "tomorow", "tommorow", "tommorrow", "tomorrows", "tmrw", "tmr"):
		return 1, i + 1, true
	case p.isWord(i, "yesterday"):
		return -1, i + 1, true
	}
	return 0, 0, false
}

// skipDateSeparator skips a separator between the parts of a written date.
func (p *parser) skipDateSeparator(i int) int {
	if p.isWord(i, ",", ".") {
		return p.skipWord(i+1, ",")
	}
	if p.isWord(i, "-", "/") && p.isGlued(i) && p.isGlued(i+1) {
		return i + 1
	}
	return i
}

// dayNumber reads the day of a month: "3", "3rd", "third".
func (p *parser) dayNumber(i int) (numberReading, bool) {
	r, ok := p.parseOrdinal(i)
	if !ok && p.tokenNumber(i) >= 0 && len(p.tokenText(i)) <= 2 && !(p.isGlued(i+1) && p.isWord(i+1, ":", "%")) {
		r, ok = numberReading{p.tokenNumber(i), i + 1}, true
		if p.isWord(i+1, "-") && p.isGlued(i+1) && p.tokenNumber(i+2) >= 0 && p.isGlued(i+2) && p.tokenNumber(i+2) < 32 {
			ok = true // accept the number because it is the first day of a range
		}
	}
	return r, ok && r.n >= 1 && r.n <= 31
}

// parseMonth parses the name of a month, including the full stop of an abbreviation.
func (p *parser) parseMonth(i int) (time.Month, int, bool) {
	m, ok := monthName(p.tokenText(i))
	return m, p.skipAbbreviation(i), ok
}

// monthDate reads "March 3rd, 2015", "the 15th of February", "14 april 2015",
// "June of 1992" and a month alone.
func (p *parser) monthDate(i int) []candidateParse {
	j := p.skipWord(i, "the")
	if r, ok := p.dayNumber(j); ok {
		k := p.skipWord(p.skipWord(p.skipDateSeparator(r.end), "day"), "of")
		if m, end, ok := p.parseMonth(k); ok {
			return p.withYear(overlaySpec(domSpec(r.n), monthSpec(m)), end)
		}
	}
	if rs := p.parseNumberWords(j); len(rs) > 0 && rs[0].n >= 1 && rs[0].n <= 31 {
		if m, end, ok := p.parseMonth(rs[0].end); ok && p.meantName(rs[0].end) {
			return p.withYear(overlaySpec(domSpec(rs[0].n), monthSpec(m)), end)
		}
	}
	if p.tokenText(j) == "ides" && p.tokenText(j+1) == "of" {
		if m, end, ok := p.parseMonth(j + 2); ok {
			return p.withYear(overlaySpec(domSpec(idesDay(m)), monthSpec(m)), end)
		}
	}
	m, end, ok := p.parseMonth(j)
	if !ok {
		return nil
	}
	var out []candidateParse
	if r, ok := p.monthDay(end); ok {
		out = append(out, p.withYear(overlaySpec(domSpec(r.n), monthSpec(m)), r.end)...)
		if p.validMonthDay(m, r.n) {
			return append(out, p.monthYear(m, end)...)
		}
		return out
	}
	if n := p.tokenNumber(p.skipDateSeparator(end)); n > 31 && n < 100 || p.tokenNumber(end) == 0 {
		return nil
	}
	out = append(out, p.monthYear(m, end)...)
	alone := monthSpec(m)
	alone.weak = isEverydayWord(p.tokenText(j))
	return append(out, candidateParse{end, alone})
}

// meantName distinguishes "One may ask" from "one May". Within a sentence and without other
// evidence, months that are also verbs must be capitalized.
func (p *parser) meantName(i int) bool {
	return p.whole || !p.isWord(i, "may", "march") || p.toks[i].capital
}

func (p *parser) validMonthDay(m time.Month, d int) bool { return d <= daysIn(2024, m) }

// idesDay returns the Roman middle of a month.
func idesDay(m time.Month) int {
	switch m {
	case time.March, time.May, time.July, time.October:
		return 15
	}
	return 13
}

// monthDay reads the day after a month's name: "Mar 3", "October, 1st",
// "January twenty five", "Dec31".
func (p *parser) monthDay(end int) (numberReading, bool) {
	k := p.skipWord(p.skipDateSeparator(end), "the")
	if r, ok := p.dayNumber(k); ok {
		if p.isWord(r.end, ":") && p.isGlued(r.end) || p.isWord(r.end, "am", "pm") && p.isGlued(r.end) {
			return numberReading{}, false
		}
		return r, true
	}
	if rs := p.parseNumberWords(k); len(rs) > 0 && rs[0].n >= 1 && rs[0].n <= 31 {
		return rs[0], true
	}
	return numberReading{}, false
}

// monthYear reads the year after a month's name.
func (p *parser) monthYear(m time.Month, end int) []candidateParse {
	var out []candidateParse
	k := p.skipWord(p.skipWord(p.skipDateSeparator(end), "of", "in"), "the")
	k = p.skipWord(k, "year")
	for _, y := range p.parseYear(k) {
		out = append(out, candidateParse{y.end, overlaySpec(monthSpec(m), yearSpec(y.n))})
	}
	if y, ok := p.shortYear(k); ok && (k > end || p.isWord(k, "'")) {
		out = append(out, candidateParse{y.end, overlaySpec(monthSpec(m), yearSpec(y.n))})
	}
	return out
}

// shortYear parses "'87", or "87" at a position where only a year is possible.
func (p *parser) shortYear(i int) (numberReading, bool) {
	j := p.skipWord(i, "'")
	if len(p.tokenText(j)) != 2 || p.tokenNumber(j) < 0 || (j == i && p.tokenNumber(j) <= 31) || p.inNumber(j) {
		return numberReading{}, false
	}
	return numberReading{completeYear(p.tokenNumber(j)), j + 1}, true
}

// completeYear completes a two-digit year: 70 to 99 become 1970 to 1999, and 0 to 69 become 2000 to
// 2069.
func completeYear(y int) int {
	if y >= 70 {
		return 1900 + y
	}
	return 2000 + y
}

// withYear returns the readings of a day and month with the year that may follow and without it.
func (p *parser) withYear(s spec, end int) []candidateParse {
	if !p.validMonthDay(s.month, s.dom) {
		return nil
	}
	var out []candidateParse
	k := p.skipDateSeparator(end)
	k = p.skipWord(p.skipWord(k, "of", "in"), ",")
	ys := p.parseYear(k)
	if y, ok := p.shortYear(k); ok && p.isWord(k, "'") {
		ys = append(ys, y)
	}
	for _, y := range ys {
		if validDate(y.n, s.month, s.dom) {
			out = append(out, candidateParse{y.end, overlaySpec(s, yearSpec(y.n))})
		}
	}
	return append(out, candidateParse{end, s})
}

// weekdayDate reads "Tuesday", "thu.", "Friday 23", "monday the twenty fourth".
func (p *parser) weekdayDate(i int) []candidateParse {
	wd, ok := weekdayName(p.tokenText(i))
	if !ok {
		return nil
	}
	s := spec{set: fWeekday, wd: wd}
	end := p.skipAbbreviation(i)
	var out []candidateParse
	k := p.skipWord(p.skipWord(end, ","), "the")
	if r, ok := p.dayNumber(k); ok && p.mayEnd(r.end) {
		_, month := monthName(p.tokenText(p.skipWord(r.end, "of")))
		_, ampm, isClock := p.parseMeridian(r.end, true)
		if !month && !(isClock && ampm > 0) && !p.isWord(r.end, "oclock") && (r.end > k+1 || p.tokenNumber(k) > 12) {
			both := overlaySpec(s, domSpec(r.n))
			out = append(out, candidateParse{r.end, both})
		}
	}
	if p.isWord(end, "week") && !p.isWord(end+1, "of", "in") && end == i+1 { // British: "Tuesday week"
		if span, _, ok := p.resolveDays(s); ok {
			out = append(out, candidateParse{end + 1, daySpec(span.lo + 7)})
		}
	}
	if p.isWord(end, "fortnight") { // British: "Thursday fortnight"
		if span, _, ok := p.resolveDays(s); ok {
			out = append(out, candidateParse{end + 1, daySpec(span.lo + 14)})
		}
	}
	s.weak = isEverydayWord(p.tokenText(i))
	if s.weak && !p.whole && p.isWord(i-1, "the", "a", "in", "my", "about") {
		return out
	}
	return append(out, candidateParse{end, s})
}

// parseDecade reads "the 1990s", "the nineties", "the 21st century".
func (p *parser) parseDecade(i int) []candidateParse {
	j := p.skipWord(i, "the")
	if n := p.tokenNumber(j); n >= 1000 && n <= 2990 && n%10 == 0 && p.isWord(j+1, "s") && p.isGlued(j+1) {
		return []candidateParse{{j + 2, spanSpec(daySpan{newDay(n, 1, 1), newDay(n+10, 1, 1)}, Year)}}
	}
	if r, ok := p.parseOrdinal(j); ok && p.isWord(r.end, "century") && r.n >= 1 && r.n <= 30 {
		y := (r.n - 1) * 100
		return []candidateParse{{r.end + 1, spanSpec(daySpan{newDay(y, 1, 1), newDay(y+100, 1, 1)}, Year)}}
	}
	return nil
}

// yearPiece reads "in 2014", "the year 2008", "2014".
func (p *parser) yearPiece(i int) []candidateParse {
	j := p.skipWord(i, "the")
	j = p.skipWord(j, "calendar", "cy")
	marked := j > i && !p.isWord(i, "the")
	if p.isWord(j, "year") {
		j = p.skipWord(j+1, "of")
		marked = true
	}
	if p.isGlued(j) && p.isWord(j-1, "/", "-") || p.isGlued(j+1) && p.isWord(j+1, "/", "-") && p.tokenNumber(j+2) >= 0 {
		return nil
	}
	var out []candidateParse
	for _, y := range p.parseYear(j) {
		s := yearSpec(y.n)
		s.weak = !marked
		out = append(out, candidateParse{y.end, s})
	}
	if n := p.tokenNumber(j); n > 0 && n < 1000 {
		if end, ok := p.eraWord(j + 1); ok {
			out = append(out, candidateParse{end, yearSpec(n)})
		}
	}
	return out
}
