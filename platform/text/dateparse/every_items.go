package dateparse

import "time"

// parseTimeWindow reads "between 9 and 17", "from 9am to 5pm" for minutes and hours.
func (p *parser) parseTimeWindow(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	if r.windows || r.unit != unitMinute && r.unit != unitHour || !p.isWord(i, "between", "from") {
		return 0, r, false
	}
	for _, from := range p.hourEnds(i + 1) {
		if !p.isWord(from.end, "to", "until", "till", "and", "-", "through") {
			continue
		}
		for _, to := range p.hourEnds(from.end + 1) {
			a, b := shareHalf(from.s, to.s), shareHalf(to.s, from.s)
			lo, hi := a.clock.h, b.clock.h
			if a.clock.half == halfUnknown && b.clock.half == halfUnknown {
				lo = a.clock.possibleHours()[0]
				if hi <= lo {
					hi += 12
				}
			}
			if a.clock.m == 0 && b.clock.m == 0 && lo < hi && hi <= 24 {
				r.from, r.to, r.windows = lo, min(hi, 23), true
				return to.end, r, true
			}
		}
	}
	return 0, r, false
}

func (p *parser) hourEnds(i int) []candidateParse {
	return append(p.clockPiece(i), p.bareHour(i)...)
}

// perMonth reads "of every month", "of each month", "of the month".
func (p *parser) perMonth(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	if r.doms == 0 && !r.marked || !p.isWord(i, "of", "in") {
		return 0, r, false
	}
	if p.isWord(i+1, "every", "each", "the", "a") && p.isWord(i+2, "month", "year", "quarter") {
		u, _ := unitName(p.tokenText(i + 2))
		if p.isWord(i+1, "every", "each") {
			r.marked, r.n = true, 1
			r.unit = u
		} else if r.unit != u {
			return 0, r, false
		}
		return i + 3, r, true
	}
	if p.isWord(i+1, "every", "each") {
		r.marked, r.n = true, 1
		return p.everyTarget(i+2, r)
	}
	return 0, r, false
}

// domList reads "on the 1st and 15th", "on day 1", "the 19th".
func (p *parser) domList(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	j := p.skipWord(p.skipWord(i, "on"), "the")
	named := false
	if p.isWord(j, "day", "days") && p.tokenNumber(j+1) >= 0 {
		j, named = j+1, true
	}
	var doms uint32
	end := 0
	for {
		rd, ok := p.parseOrdinal(j)
		if !ok && named && p.tokenNumber(j) >= 0 {
			rd, ok = numberReading{p.tokenNumber(j), j + 1}, true
		}
		if !ok || rd.n < 1 || rd.n > 31 || p.isUnitOrDay(rd.end) && !p.isWord(rd.end, "day") {
			break
		}
		doms |= 1 << rd.n
		end = p.skipWord(rd.end, "day")
		if !p.isWord(end, ",", "and") {
			break
		}
		j = p.skipWord(p.skipWord(p.skipWord(end, ","), "and"), "the")
	}
	if end == 0 || r.doms != 0 || r.days != 0 {
		return 0, r, false
	}
	if m, e, ok := p.parseMonth(p.skipWord(end, "of")); ok { // yearly on the 5th of May
		if r.months != 0 {
			return 0, r, false
		}
		r.months, end = 1<<m, e
	}
	r.doms = doms
	return end, r, true
}

// dayList reads "on Monday and Thursday", "Mondays", "weekdays", "on weekends".
func (p *parser) dayList(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	if r.days != 0 || r.doms != 0 {
		return 0, r, false
	}
	j := p.skipWord(i, "on", "at", "during")
	if k := p.skipWord(j, "the"); p.isWord(k, "weekend", "weekends", "weekdays") {
		j = k
	}
	return p.dayNames(j, r)
}

// dayNames parses a list or range of weekdays. A plural implies repetition.
func (p *parser) dayNames(j int, r recurrenceRule) (int, recurrenceRule, bool) {
	switch {
	case p.isWord(j, "m") && p.isWord(j+1, "-") && p.isWord(j+2, "f") && r.n <= 1:
		r.days, r.marked = workweek, true
		return j + 3, r, true
	case p.isWord(j, "weekday", "weekdays", "workday", "workdays", "workweek"),
		p.isWord(j, "business", "working", "work") && p.isWord(j+1, "day", "days"):
		if r.n > 1 && (r.unit == 0 || r.unit >= unitDay) {
			return 0, r, false // every other weekday
		}
		r.days = workweek
		end := p.skipWord(j+1, "day", "days")
		r.marked = r.marked || p.isWord(end-1, "weekdays", "workdays", "days")
		return end, r, true
	case p.isWord(j, "weekend", "weekends"):
		if r.n > 1 && (r.unit == 0 || r.unit >= unitDay) {
			return 0, r, false // every other weekday
		}
		r.days = weekends
		r.marked = r.marked || p.isWord(j, "weekends")
		return p.skipWord(j+1, "day", "days"), r, true
	}
	end := 0
	for {
		wd, plural, ok := p.dayName(j)
		if !ok {
			break
		}
		r.marked = r.marked || plural
		end = p.skipDot(j + 1)
		if len(p.tokenText(j)) > 4 {
			end = j + 1
		}
		if k := p.skipWord(end, "to", "through", "thru", "-", "until"); k > end {
			if last, plural, ok := p.dayName(k); ok {
				for d := wd; d != last; d = (d + 1) % 7 {
					r.days |= 1 << d
				}
				r.days |= 1 << last
				r.soft = !r.marked && !plural && r.n <= 1
				r.marked = r.marked || plural || r.soft
				return k + 1, r, true
			}
		}
		r.days |= 1 << wd
		j = p.skipWord(p.skipWord(p.skipWord(p.skipWord(end, ",", "/", "+"), "and", "&"), "on"), "every", "each")
		if j == end {
			break
		}
	}
	return end, r, end > 0
}

func (p *parser) dayName(i int) (time.Weekday, bool, bool) {
	if wd, ok := weekdayName(p.tokenText(i)); ok {
		return wd, false, true
	}
	wd, ok := weekdayPlural(p.tokenText(i))
	return wd, ok, ok
}

// clockList reads "at 8:30", "9am", "at 8 and 18", "at 15 past" for an hour.
func (p *parser) clockList(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	j := p.skipWord(i, "at", "@", "around", "about", "by")
	if len(r.clocks) > 0 {
		return 0, r, false
	}
	if r.unit == unitHour && r.n == 1 {
		return p.pastTheHour(j, r)
	}
	var clocks []clockTime
	end := 0
	for {
		alts := p.clockPiece(j)
		if len(alts) == 0 && j > i {
			alts = p.bareHour(j)
		}
		if len(alts) == 0 || alts[0].s.set&fZone != 0 {
			break
		}
		clocks = append(clocks, alts[0].s.clock)
		end = alts[0].end
		k := p.skipWord(p.skipWord(p.skipWord(end, ","), "and", "&"), "at")
		if k == end {
			break
		}
		j = k
		i = j - 1 // the first time of day makes a bare number after "and" an hour
	}
	if end == 0 {
		return 0, r, false
	}
	r.clocks = shareHalves(clocks)
	return end, r, true
}

// shareHalves applies the am or pm of the last hour to preceding hours that have none: "8 and
// 10pm".
func shareHalves(cs []clockTime) []clockTime {
	last := cs[len(cs)-1]
	for i, c := range cs {
		if c.half == halfUnknown && (last.half == halfAM || last.half == halfPM) {
			c.half = last.half
			cs[i], _ = c.normalizeClock()
		}
	}
	return cs
}

func (p *parser) pastTheHour(j int, r recurrenceRule) (int, recurrenceRule, bool) {
	m, end := -1, 0
	switch {
	case p.isWord(j, "on") && p.isWord(j+1, "the") && p.isWord(j+2, "hour"):
		return j + 3, r, true
	case p.tokenText(j) == ":" && p.tokenNumber(j+1) >= 0:
		m, end = p.tokenNumber(j+1), j+2
	case p.isWord(j, "half") && p.isWord(j+1, "past"):
		m, end = 30, j+2
	case p.isWord(p.skipWord(j, "a"), "quarter") && p.isWord(p.skipWord(j, "a")+1, "past"):
		m, end = 15, p.skipWord(j, "a")+2
	default:
		for _, c := range p.parseCardinal(j) {
			if k := p.skipWord(c.end, "minutes", "minute", "min", "mins"); p.isWord(k, "past") {
				m, end = c.n, k+1
			}
		}
	}
	if m < 0 || m > 59 {
		return 0, r, false
	}
	if e, ok := p.matchPhrase(end, "the", "hour"); ok {
		end = e
	}
	r.clocks = []clockTime{{m: m, half: halfBoth, grain: Minute}}
	return end, r, true
}

// partItem reads "in the morning", "mornings", "evening".
func (p *parser) partItem(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	j := p.skipWord(p.skipWord(i, "in", "at", "during"), "the")
	part, ok := partName(p.tokenText(j))
	if !ok || r.part != partNone && r.part != part {
		return 0, r, false
	}
	if p.isWord(j, "mornings", "afternoons", "evenings", "nights") && !r.marked {
		if !p.whole && r.days == 0 && j == i {
			return 0, r, false // "late nights"
		}
		r.marked = true
		if r.unit == 0 {
			r.unit, r.n = unitDay, 1
		}
	}
	r.part = part
	return p.skipWord(j+1, "time"), r, true
}

// inMonths reads "in March", "on 5 May" of a yearly recurrence.
func (p *parser) inMonths(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	j := p.skipWord(i, "in", "on")
	if j == i || r.months != 0 {
		return 0, r, false
	}
	for _, a := range p.monthDate(j) {
		switch a.s.set {
		case fMonth | fDom:
			if r.doms != 0 {
				continue
			}
			r.doms, r.months = 1<<a.s.dom, 1<<a.s.month
			return a.end, r, true
		case fMonth:
			r.months = 1 << a.s.month
			end := a.end
			for p.isWord(end, ",", "and") {
				m, e, ok := p.parseMonth(p.skipWord(p.skipWord(end, ","), "and"))
				if !ok {
					break
				}
				r.months |= 1 << m
				end = e
			}
			return end, r, true
		}
	}
	return 0, r, false
}
