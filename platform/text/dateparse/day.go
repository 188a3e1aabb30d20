package dateparse

import "time"

// day is a calendar day, counted from 1970-01-01 and independent of zones.
type day int

func dayOf(t time.Time) day {
	y, m, d := t.Date()
	return newDay(y, m, d)
}

// newDay normalizes like time.Date: day 0 is the last day of the previous month.
func newDay(y int, m time.Month, d int) day {
	s := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()
	if s < 0 {
		s -= 86399
	}
	return day(s / 86400)
}

func (d day) civilDate() (int, time.Month, int) {
	return time.Unix(int64(d)*86400, 0).UTC().Date()
}

func (d day) weekdayOf() time.Weekday {
	return time.Weekday(((int(d)+4)%7 + 7) % 7)
}

// weekStart returns the first day of d's week; weeks begin on Monday.
func (d day) weekStart() day {
	return d - day((int(d.weekdayOf())+6)%7)
}

// startIn returns the first instant of the day in loc.
func (d day) startIn(loc *time.Location) time.Time { return localTime(d, 0, 0, 0, loc) }

// addMonths adds whole months and stays inside the resulting month: one month after 31 January is
// the last day of February.
func (d day) addMonths(n int) day {
	y, m, dd := d.civilDate()
	first := newDay(y, m+time.Month(n), 1)
	fy, fm, _ := first.civilDate()
	return first + day(min(dd, daysIn(fy, fm))-1)
}

func daysIn(y int, m time.Month) int { return int(newDay(y, m+1, 1) - newDay(y, m, 1)) }

// validDate reports whether y-m-d is a day of the calendar.
func validDate(y int, m time.Month, d int) bool {
	return y >= 1 && y <= 9999 && m >= 1 && m <= 12 && d >= 1 && d <= daysIn(y, m)
}

// localTime returns the wall-clock time of a day in loc. For a time that the zone skips, it returns
// the first instant after the gap. For a time that occurs twice, it returns the first one.
// time.Date guarantees neither.
func localTime(d day, hour, minute, second int, loc *time.Location) time.Time {
	y, m, dd := d.civilDate()
	wall := time.Date(y, m, dd, hour, minute, second, 0, time.UTC)
	t := time.Date(y, m, dd, hour, minute, second, 0, loc)
	got := wallClock(t)
	start, end := t.ZoneBounds()
	switch {
	case got.After(wall) && !start.IsZero():
		return start.In(loc)
	case got.Before(wall) && !end.IsZero():
		return end.In(loc)
	case start.IsZero():
		return t
	}
	_, before := start.Add(-time.Nanosecond).Zone()
	if first := wall.Add(-time.Duration(before) * time.Second); first.Before(start) {
		return first.In(loc)
	}
	return t
}

// wallClock returns the wall-clock time at t as a UTC time.
func wallClock(t time.Time) time.Time {
	_, off := t.Zone()
	return t.UTC().Add(time.Duration(off) * time.Second)
}

// daySpan is a run of days [lo, hi).
type daySpan struct{ lo, hi day }

func (s daySpan) containsSpan(o daySpan) bool { return s.lo <= o.lo && o.hi <= s.hi }

// unitSpan returns the calendar unit that contains d, shifted by n such units.
func unitSpan(d day, g Grain, n int) daySpan {
	y, m, _ := d.civilDate()
	switch g {
	case Week:
		lo := d.weekStart() + day(7*n)
		return daySpan{lo, lo + 7}
	case Month:
		lo := newDay(y, m+time.Month(n), 1)
		return daySpan{lo, lo.addMonths(1)}
	case Quarter:
		lo := newDay(y, (m-1)/3*3+1+time.Month(3*n), 1)
		return daySpan{lo, lo.addMonths(3)}
	case Year:
		lo := newDay(y+n, 1, 1)
		return daySpan{lo, newDay(y+n+1, 1, 1)}
	}
	return daySpan{d + day(n), d + day(n) + 1}
}

// dayOfMonth reads "the 15th", "15th", "20 of this month".
func (p *parser) dayOfMonth(i int) []candidateParse {
	j := p.skipWord(i, "the")
	r, ok := p.dayNumber(j)
	if !ok {
		return nil
	}
	end := r.end
	if p.isWord(end, "day") && p.isWord(end+1, "of") && end > j+1 {
		end++
	}
	ordinal := p.tokenNumber(j) < 0 || r.end > j+1
	ofMonth := p.isWord(end, "of", "in") && p.ofMonth(end+1)
	if !ordinal && (!ofMonth && j == i || p.isWord(r.end, "oclock", "past", "to")) || p.isGlued(r.end) && p.isWord(r.end, ":", "/", "%") {
		return nil
	}
	if _, ok := weekdayName(p.tokenText(end)); ok {
		return nil // "first Monday" is not Monday the 1st
	}
	if !ofMonth && !p.meantDay(i, r.end, ordinal && p.tokenNumber(j) >= 0) {
		return nil
	}
	s := domSpec(r.n)
	s.weak = j == i || p.tokenNumber(j) < 0
	if e, ok := p.matchPhrase(end, "of", "the", "month"); ok {
		return []candidateParse{{e, domSpec(r.n)}}
	}
	return []candidateParse{{end, s}}
}

// meantDay distinguishes "on the 15th" from "on the 15th floor", and "the first" from "at first".
func (p *parser) meantDay(i, end int, digits bool) bool {
	if _, isUnit := unitName(p.tokenText(end)); isUnit || p.isWord(end, "time", "times", "century", "floor", "place", "street", "avenue",
		"row", "page", "chapter", "item", "season", "inning", "grade", "person", "birthday", "anniversary", "edition", "version",
		"draft", "round", "game", "line", "one", "option", "attempt", "half", "step", "street", "class", "party", "world") {
		return false
	}
	if p.whole || p.isWord(i-1, "and", "to", "through", "-", "between", "from") {
		return true
	}
	if p.isWord(i-1, "in", "at") || !p.isWord(i, "the") && !digits {
		return false
	}
	return digits || p.isWord(i-1, "on", "by") && (!p.toks[min(end, len(p.toks)-1)].word || end >= len(p.toks) ||
		p.isWord(end, "at", "and", "of", "between", "from", "in", "to"))
}

// ofMonth reports whether "this month" or a similar phrase is at i.
func (p *parser) ofMonth(i int) bool {
	_, j, ok := p.parseQualifier(i)
	if !ok {
		j = p.skipWord(i, "the")
	}
	return p.isWord(j, "month") && j > i
}
