package dateparse

import "time"

// day is a calendar day counted from 1970-01-01, free of zones.
type day int

func dayOf(t time.Time) day {
	y, m, d := t.Date()
	return newDay(y, m, d)
}

// newDay normalises like time.Date: the 0th is the last day of the month before.
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

// addMonths moves by whole months and stays inside the month reached: one
// month after 31 January is the last day of February.
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

// localTime returns the wall-clock time of a day in loc. A time that the zone skips
// moves forward to the first instant after the gap; a time that occurs twice
// is the first of the two. time.Date promises neither.
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

// wallClock returns the wall-clock reading at t as a UTC time.
func wallClock(t time.Time) time.Time {
	_, off := t.Zone()
	return t.UTC().Add(time.Duration(off) * time.Second)
}

// daySpan is a run of days [lo, hi).
type daySpan struct{ lo, hi day }

func (s daySpan) containsSpan(o daySpan) bool { return s.lo <= o.lo && o.hi <= s.hi }

// unitSpan returns the calendar unit around d, moved by n such units.
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
