package usage

import "time"

// dayOf is the owner's day that t lies in: its name and its first instant. A
// day begins at its first instant that exists, also where clocks change at
// midnight.
func dayOf(t time.Time, zone *time.Location) (name string, from time.Time) {
	t = t.In(zone)
	return t.Format(time.DateOnly), begin(t.Year(), t.Month(), t.Day(), zone)
}

// monthOf is the owner's month that t lies in.
func monthOf(t time.Time, zone *time.Location) (name string, from time.Time) {
	t = t.In(zone)
	return t.Format("2006-01"), begin(t.Year(), t.Month(), 1, zone)
}

// begin is the first instant of a day. time.Date gives for a midnight that is
// skipped an instant of the day before, and for one that comes twice the first.
func begin(y int, m time.Month, d int, zone *time.Location) time.Time {
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	for t.Day() != d { // clocks jump by at most a few hours
		t = t.Add(15 * time.Minute)
	}
	return t
}
