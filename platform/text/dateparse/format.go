package dateparse

import "time"

// Format formats an instant for people, relative to now and in now's zone: "today
// at 17:00", "tomorrow at 09:00", "Tue 24 Nov at 17:00", "Tue 24 Nov 2026 at
// 17:00" in another year.
func Format(t, now time.Time) string {
	t = t.In(now.Location())
	return FormatDay(t, now) + t.Format(" at 15:04")
}

// FormatDay formats the day of an instant: "today", "yesterday", "Tue 24 Nov".
func FormatDay(t, now time.Time) string {
	t = t.In(now.Location())
	switch dayOf(t) - dayOf(now) {
	case 0:
		return "today"
	case 1:
		return "tomorrow"
	case -1:
		return "yesterday"
	}
	if t.Year() == now.Year() {
		return t.Format("Mon 2 Jan")
	}
	return t.Format("Mon 2 Jan 2006")
}
