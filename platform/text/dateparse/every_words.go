package dateparse

import "time"

// everyWord parses "every" or "each" and the unit after it.
func (p *parser) everyWord(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	j := p.skipWord(i, "on", "in", "at", "once")
	if !p.isWord(j, "every", "each", "all") || r.marked {
		if p.isWord(i, "everyday") && !r.marked && !p.isOwned(i) {
			r.marked, r.unit, r.n = true, unitDay, 1
			return i + 1, r, true
		}
		return 0, r, false
	}
	every := p.tokenText(j)
	j++
	if p.isWord(j, "single") {
		j++
	}
	r.marked, r.n = true, 1
	k := j
	switch {
	case p.isWord(k, "second") && p.nthOf(k):
		return p.everyNth(k, r)
	case p.isWord(k, "other", "second") && !p.isWord(p.skipWord(k+1, "of"), "of"):
		r.n, k = 2, k+1
	default:
		if end, next, ok := p.everyNth(k, r); ok && every != "all" {
			return end, next, true
		}
		if rd, ok := p.parseOrdinal(k); ok && p.isUnitOrDay(rd.end) {
			r.n, k = rd.n, rd.end
		}
	}
	if every == "all" && !p.isWord(k, "weekends", "weekdays", "mornings", "evenings", "nights") {
		if _, ok := weekdayPlural(p.tokenText(k)); !ok {
			return 0, r, false
		}
	}
	return p.everyTarget(k, r)
}

func (p *parser) isUnitOrDay(i int) bool {
	if _, ok := weekdayName(p.tokenText(i)); ok {
		return true
	}
	_, ok := unitName(p.tokenText(i))
	return ok
}

// everyTarget parses the text after "every".
func (p *parser) everyTarget(k int, r recurrenceRule) (int, recurrenceRule, bool) {
	if end, next, ok := p.dayNames(k, r); ok {
		if r.n > 1 {
			next.unit = unitWeek
		}
		return end, next, true
	}
	if r.n == 1 {
		for _, l := range p.parseLengths(k) {
			if l.l.word != 0 && l.l.n == float64(int(l.l.n)) && l.l.n >= 1 {
				r.unit, r.n = l.l.word, int(l.l.n)
				return l.end, r, l.l.n < 10000 && l.l.word != unitWorkday
			}
			if l.l.months == 0 && l.l.days == 0 && l.l.workdays == 0 && l.l.exact >= time.Minute {
				r.unit, r.n = unitSecond, int(l.l.exact/time.Second)
				return l.end, r, true
			}
		}
	}
	if u, end, ok := p.parseUnit(k); ok && !(u == unitWorkday && r.n > 1) {
		r.unit = u
		return end, r, true
	}
	if part, ok := partName(p.tokenText(k)); ok && r.n == 1 {
		r.unit, r.part = unitDay, part
		return k + 1, r, true
	}
	if p.isWord(k, "noon", "midday", "midnight") && r.n == 1 {
		r.unit = unitDay
		return k, r, true
	}
	return p.everyDate(k, r)
}

// everyDate reads "every 15th", "every May 5th", "every March", "every Christmas".
func (p *parser) everyDate(k int, r recurrenceRule) (int, recurrenceRule, bool) {
	if r.n != 1 {
		return 0, r, false
	}
	for _, a := range p.monthDate(k) {
		if a.s.set == fMonth|fDom {
			r.months, r.doms = 1<<a.s.month, 1<<a.s.dom
			r.unit = unitYear
			return a.end, r, true
		}
		if a.s.set == fMonth {
			r.months, r.unit = 1<<a.s.month, unitYear
			return a.end, r, true
		}
	}
	for _, a := range p.feastPiece(k) {
		if m, d, ok := a.s.feast.sameDate(); ok && a.s.set == fFeast {
			r.months, r.doms, r.unit = 1<<m, 1<<d, unitYear
			return a.end, r, true
		}
	}
	if rd, ok := p.parseOrdinal(k); ok && rd.n >= 1 && rd.n <= 31 {
		r.doms, r.unit = r.doms|1<<rd.n, unitMonth
		end := rd.end
		if e, ok := p.matchPhrase(end, "of", "the", "month"); ok {
			end = e
		}
		return end, r, true
	}
	return 0, r, false
}

// sameDate returns the month and day of a holiday whose date is the same in every year.
func (f *holiday) sameDate() (time.Month, int, bool) {
	var m time.Month
	var d int
	for y := 2020; y < 2034; y++ {
		days := f.daysInYear(y)
		if len(days) != 1 {
			return 0, 0, false
		}
		_, mm, dd := days[0].civilDate()
		if y > 2020 && (mm != m || dd != d) {
			return 0, 0, false
		}
		m, d = mm, dd
	}
	return m, d, true
}

// parseAdverb reads "daily", "hourly", "weekly", "nightly" and plural days.
func (p *parser) parseAdverb(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	u, n := unit(0), 1
	switch p.tokenText(i) {
	case "minutely":
		u = unitMinute
	case "hourly":
		u = unitHour
	case "daily":
		u = unitDay
	case "nightly":
		u, r.part = unitDay, partNight
	case "weekly":
		u = unitWeek
	case "fortnightly", "biweekly":
		u, n = unitWeek, 2
	case "monthly":
		u = unitMonth
	case "bimonthly":
		u, n = unitMonth, 2
	case "quarterly":
		u = unitQuarter
	case "semiannually", "biannually":
		u, n = unitMonth, 6
	case "yearly", "annually":
		u = unitYear
	case "semi", "bi":
		if i = p.skipWord(i+1, "-"); p.isWord(i, "weekly") {
			u, n = unitWeek, 2
		} else if p.isWord(i, "monthly") {
			u, n = unitMonth, 2
		} else if p.isWord(i, "annually", "yearly") {
			u, n = unitMonth, 6
		}
	}
	if u == 0 || r.marked || p.isOwned(i) {
		return 0, r, false
	}
	r.marked, r.unit, r.n = true, u, n
	return i + 1, r, true
}

// isOwned reports whether the word at i belongs to a noun phrase: "my weekly report".
func (p *parser) isOwned(i int) bool {
	return p.isWord(i-1, "the", "a", "an", "my", "your", "our", "his", "her", "their", "its", "this", "that", "in", "of", "some")
}
