package usage

import "time"

// dayOf returns the name and the first instant of the day that contains t. If the clocks change at
// midnight, the day begins at its first existing instant.
func dayOf(t time.Time, zone *time.Location) (name string, from time.Time) {
	t = t.In(zone)
	return t.Format(time.DateOnly), dayStart(t.Year(), t.Month(), t.Day(), zone)
}

// monthOf returns the name and the first instant of the month that contains t.
func monthOf(t time.Time, zone *time.Location) (name string, from time.Time) {
	t = t.In(zone)
	return t.Format("2006-01"), dayStart(t.Year(), t.Month(), 1, zone)
}

// dayStart returns the first instant of a day. If midnight is skipped, time.Date returns an instant
// of the previous day; if midnight is repeated, time.Date returns the first of the two.
func dayStart(y int, m time.Month, d int, zone *time.Location) time.Time {
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	for t.Day() != d { // clocks change by at most a few hours
		t = t.Add(15 * time.Minute)
	}
	return t
}
