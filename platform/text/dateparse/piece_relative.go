package dateparse

import "time"

// direction is the meaning of "next", "this" and "last" before a unit.
type direction struct {
	n    int  // -1, 0, +1
	soon bool // "coming": the first one after today instead of the one in the next week
}

func (p *parser) parseQualifier(i int) (direction, int, bool) {
	j := p.skipWord(i, "the")
	switch {
	case p.isWord(j, "this", "current"), p.isWord(j, "same") && j > i:
		j = p.skipWord(j+1, "same", "current", "very")
		if p.isWord(j, "coming", "upcoming", "past") {
			break
		}
		return direction{}, j, true
	}
	switch {
	case p.isWord(j, "next", "following"):
		return direction{n: 1}, j + 1, true
	case p.isWord(j, "coming", "upcoming"):
		return direction{n: 1, soon: true}, j + 1, true
	case p.isWord(j, "last", "previous", "prior", "preceding"):
		return direction{n: -1}, j + 1, true
	case p.isWord(j, "past"):
		return direction{n: -1, soon: true}, j + 1, true
	}
	return direction{}, 0, false
}

// parseQualified reads "next week", "this friday", "last 3 months", "two upcoming
// weeks", "last night", "next Christmas", "Wednesday after next".
func (p *parser) parseQualified(i int) []candidateParse {
	out := p.afterNext(i)
	if dir, j, ok := p.parseQualifier(i); ok {
		out = append(out, p.parseCountedUnits(i, j, dir)...)
		out = append(out, p.oneQualified(j, dir)...)
	}
	j := p.skipWord(i, "the")
	for _, r := range p.parseCardinal(j) { // "two upcoming weeks"
		if dir, k, ok := p.parseQualifier(r.end); ok && dir.n != 0 {
			if u, end, ok := p.parseUnit(k); ok {
				out = append(out, p.unitsFromNow(dir, r.n, u, end)...)
			}
		}
	}
	return out
}

// parseCountedUnits reads "last 3 days", "next couple of weeks", "last 2 months and 3 days".
func (p *parser) parseCountedUnits(_, j int, dir direction) []candidateParse {
	if dir.n == 0 || p.isWord(j, "a", "an", "half") {
		return nil
	}
	var out []candidateParse
	for _, l := range p.parseLengths(j) {
		if l.l.word == 0 {
			l.l.word, l.l.n = unitDay, 0
		}
		if l.l.n != float64(int(l.l.n)) || p.tokenNumber(j) < 0 && l.l.n < 2 && l.l.n != 0 {
			continue
		}
		if l.l.n == 0 {
			out = append(out, p.runLength(dir, l)...)
			continue
		}
		out = append(out, p.unitsFromNow(dir, int(l.l.n), l.l.word, l.end)...)
	}
	return out
}

// unitsFromNow returns n units before or after now, as a period that ends or begins now. If a
// moment is needed, "the next two weeks" is the start of the second week from now.
func (p *parser) unitsFromNow(dir direction, n int, u unit, end int) []candidateParse {
	if n < 1 || n > maxLength {
		return nil
	}
	l := calendarLength{}.addUnits(float64(n), u)
	out := p.runLength(dir, lengthAlt{l, end})
	if l.isSubDaily() || len(out) == 0 || u == unitWorkday || u == unitWeekend {
		return out
	}
	g := u.grainOf()
	k := n
	switch u {
	case unitFortnight:
		k *= 2
	case unitDecade:
		k *= 10
	case unitCentury:
		k *= 100
	}
	s := spanSpec(unitSpan(p.today, g, dir.n*k), g)
	s.run = out[0].s.run
	if u == unitQuarter { // calendar quarters
		first, last := unitSpan(p.today, g, min(dir.n, dir.n*n)), unitSpan(p.today, g, max(dir.n, dir.n*n))
		s.run = &Period{From: first.lo.startIn(p.now.Location()), To: last.hi.startIn(p.now.Location())}
	}
	return []candidateParse{{end, s}}
}

func (p *parser) runLength(dir direction, l lengthAlt) []candidateParse {
	t := l.l.shiftTime(p.now, dir.n)
	s := spec{set: fInstant, at: t, grain: Minute}
	if !l.l.isSubDaily() {
		s = daySpec(dayOf(t))
	}
	s.run = &Period{From: p.now, To: t}
	if dir.n < 0 {
		s.run = &Period{From: t, To: p.now}
	}
	if y := t.Year(); y < 1 || y > 9999 {
		return nil
	}
	return []candidateParse{{l.end, s}}
}

// oneQualified reads what follows a single "next", "this" or "last".
func (p *parser) oneQualified(j int, dir direction) []candidateParse {
	var out []candidateParse
	if u, end, ok := p.parseUnit(j); ok {
		out = append(out, p.oneUnit(dir, u, end)...)
	}
	if wd, ok := weekdayName(p.tokenText(j)); ok {
		out = append(out, p.oneWeekday(dir, wd, p.skipAbbreviation(j))...)
	}
	if part, ok := partName(p.tokenText(j)); ok {
		s := daySpec(p.today + day(dir.n))
		s.set |= fPart
		s.part = part
		out = append(out, candidateParse{p.skipWord(j+1, "time"), s})
	}
	if p.isWord(j, "early", "late") {
		if ps := p.partPiece(j); len(ps) > 0 {
			s := overlaySpec(daySpec(p.today+day(dir.n)), ps[0].s)
			s.weak = false
			out = append(out, candidateParse{ps[0].end, s})
		}
	}
	if p.isWord(j, "workweek", "working", "work") && (p.isWord(j, "workweek") || p.isWord(j+1, "week")) {
		lo := unitSpan(p.today, Week, dir.n).lo
		out = append(out, candidateParse{p.skipWord(j+1, "week"), spanSpec(daySpan{lo, lo + 5}, Week)})
	}
	for _, read := range []func(int) []candidateParse{p.monthDate, p.feastPiece, p.blockPiece} {
		for _, a := range read(j) {
			if a.s.set == fMonth && !p.meantName(j) {
				continue
			}
			if span, g, ok := p.neighborOccurrence(a.s, dir); ok && !a.s.namesYear() && a.s.either == nil {
				out = append(out, candidateParse{a.end, spanSpec(span, g)})
			}
		}
	}
	return out
}

func (p *parser) oneUnit(dir direction, u unit, end int) []candidateParse {
	switch u {
	case unitSecond, unitMinute, unitHour:
		if dir.n == 0 {
			return nil
		}
		return p.runLength(dir, lengthAlt{calendarLength{}.addUnits(1, u), end})
	case unitWorkday:
		if dir.n == 0 {
			return nil
		}
		return []candidateParse{{end, daySpec(addWorkdays(p.today, dir.n))}}
	case unitNight:
		s := daySpec(p.today + day(dir.n))
		s.set |= fPart
		s.part = partNight
		return []candidateParse{{end, s}}
	case unitWeekend:
		lo := unitSpan(p.today, Week, dir.n).lo + 5
		if dir.soon && dir.n > 0 && p.today < p.today.weekStart()+5 {
			lo -= 7
		}
		if dir.n < 0 && p.today.weekdayOf() == time.Sunday && dir.soon {
			lo = p.today.weekStart() - 2
		}
		return []candidateParse{{end, spanSpec(daySpan{lo, lo + 2}, Day)}}
	case unitFortnight:
		lo := unitSpan(p.today, Week, 2*dir.n).lo
		return []candidateParse{{end, spanSpec(daySpan{lo, lo + 14}, Week)}}
	case unitDecade, unitCentury:
		y, _, _ := p.today.civilDate()
		n := 10
		if u == unitCentury {
			n = 100
		}
		y = (y/n + dir.n) * n
		return []candidateParse{{end, spanSpec(daySpan{newDay(y, 1, 1), newDay(y+n, 1, 1)}, Year)}}
	}
	return []candidateParse{{end, spanSpec(unitSpan(p.today, u.grainOf(), dir.n), u.grainOf())}}
}

// oneWeekday resolves a weekday with a direction. "next Tuesday" is the Tuesday of the next
// calendar week, "last Tuesday" that of the previous week, and "this Tuesday" that of the current
// week. "coming" and "past" select the nearest one.
func (p *parser) oneWeekday(dir direction, wd time.Weekday, end int) []candidateParse {
	d := p.today.weekStart() + day((int(wd)+6)%7) + day(7*dir.n)
	if dir.soon && dir.n > 0 {
		d = p.nthWeekday(wd, 1)
	} else if dir.soon {
		d = p.nthWeekday(wd, -1)
	}
	out := []candidateParse{{end, daySpec(d)}}
	if r, ok := p.dayNumber(p.skipWord(p.skipWord(end, ","), "the")); ok && p.mayEnd(r.end) && p.tokenNumber(r.end-1) != r.n {
		s := daySpec(d)
		s = overlaySpec(s, domSpec(r.n))
		out = append([]candidateParse{{r.end, s}}, out...)
	}
	return out
}

// nthWeekday returns the nth weekday wd after today (n > 0) or before it (n < 0).
func (p *parser) nthWeekday(wd time.Weekday, n int) day {
	if n > 0 {
		ahead := (int(wd)-int(p.today.weekdayOf())+6)%7 + 1
		return p.today + day(ahead+7*(n-1))
	}
	back := (int(p.today.weekdayOf())-int(wd)+6)%7 + 1
	return p.today - day(back+7*(-n-1))
}

// neighborOccurrence returns the next, current or last occurrence of something that recurs.
func (p *parser) neighborOccurrence(s spec, dir direction) (daySpan, Grain, bool) {
	y, _, _ := p.today.civilDate()
	step := 1
	if dir.n < 0 {
		step = -1
	}
	for n := 0; n < horizon; n++ {
		var found daySpan
		p.eachWithin(s, daySpan{newDay(y+step*n, 1, 1), newDay(y+step*n+1, 1, 1)}, func(d daySpan) bool {
			switch {
			case dir.n < 0 && d.hi <= p.today:
				found = d
			case dir.n > 0 && d.lo > p.today, dir.n == 0 && d.hi > p.today:
				found = d
				return false
			}
			return true
		})
		if found.hi > found.lo {
			return found, s.dayGrain(), true
		}
	}
	return daySpan{}, 0, false
}

// afterNext reads "the week after next", "wednesday after next", "the week
// after", "tomorrow week".
func (p *parser) afterNext(i int) []candidateParse {
	j := p.skipWord(i, "the")
	if wd, ok := weekdayName(p.tokenText(j)); ok {
		if end, ok := p.matchPhrase(j+1, "after", "next"); ok {
			return []candidateParse{{end, daySpec(p.nthWeekday(wd, 2))}}
		}
		if end, ok := p.matchPhrase(j+1, "before", "last"); ok {
			return []candidateParse{{end, daySpec(p.nthWeekday(wd, -2))}}
		}
	}
	u, end, ok := p.parseUnit(j)
	if !ok || u < unitDay {
		if n, end, ok := p.dayWord(i); ok && p.isWord(end, "week") && n >= 0 {
			return []candidateParse{{end + 1, daySpec(p.today + day(n+7))}}
		}
		return nil
	}
	if e, ok := p.matchPhrase(end, "after", "next"); ok {
		return p.oneUnit(direction{n: 2}, u, e)
	}
	if e, ok := p.matchPhrase(end, "before", "last"); ok {
		return p.oneUnit(direction{n: -2}, u, e)
	}
	if p.isWord(i, "the") && p.isWord(end, "after") {
		out := p.oneUnit(direction{n: 1}, u, end+1)
		for k := range out {
			out[k].s.weak = true
		}
		return out
	}
	return nil
}
