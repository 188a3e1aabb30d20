package notify

import (
	"fmt"
	"time"
)

// TimeOfDay is a clock time in minutes since midnight, up to 24:00.
type TimeOfDay int

// ParseClock parses a clock time such as "07:00" or "24:00".
func ParseClock(s string) (TimeOfDay, error) {
	if s == "24:00" {
		return 24 * 60, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time of day such as \"07:00\"", s)
	}
	return TimeOfDay(t.Hour()*60 + t.Minute()), nil
}

func (c TimeOfDay) String() string { return fmt.Sprintf("%02d:%02d", int(c)/60, int(c)%60) }

// instantOn returns the instant of the clock time c on the day of local plus the given number of
// days. If the clock time occurs twice, last selects the second instant. If a clock change skips
// it, instantOn returns the instant of the change.
func (c TimeOfDay) instantOn(local time.Time, days int, last bool) time.Time {
	loc := local.Location()
	y, m, d := local.Date()
	wall := time.Date(y, m, d+days, int(c)/60, int(c)%60, 0, 0, time.UTC)
	with := func(around time.Time) time.Time {
		_, off := around.In(loc).Zone()
		return wall.Add(-time.Duration(off) * time.Second).In(loc)
	}
	shows := func(t time.Time) bool { return t.Format(time.DateTime) == wall.Format(time.DateTime) }
	first, second := with(wall.Add(-26*time.Hour)), with(wall.Add(26*time.Hour))
	if second.Before(first) {
		first, second = second, first
	}
	switch {
	case shows(first) && (!last || !shows(second)):
		return first
	case shows(second):
		return second
	}
	// A clock change skips this time, so return the instant of the change. second is after the
	// change, so its zone period begins at the change.
	if start, _ := second.ZoneBounds(); !start.IsZero() {
		return start.In(loc)
	}
	return second
}
