package pim

import (
	"cmp"
	"slices"
	"time"
)

// ByDue sorts reminders by due time; those without a due time come last. A date
// without a time counts from its start.
func ByDue(list []Reminder) { slices.SortStableFunc(list, CompareDue) }

// CompareDue returns the comparison function of ByDue.
func CompareDue(a, b Reminder) int {
	if a.Due.IsZero() != b.Due.IsZero() {
		return cmp.Compare(b.Due.Unix(), a.Due.Unix()) // the zero time is the least
	}
	return a.Due.Compare(b.Due)
}

// Overdue reports whether a reminder should have been done by then.
func (r Reminder) Overdue(now time.Time) bool {
	switch {
	case r.Done || r.Due.IsZero():
		return false
	case r.AllDay:
		return !r.Due.AddDate(0, 0, 1).After(now)
	}
	return r.Due.Before(now)
}
