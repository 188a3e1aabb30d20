package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// QuietWindow is a weekly period in which only critical notices are sent.
type QuietWindow struct {
	Start, End TimeOfDay
	// Days lists the weekdays on which the window begins. Empty means every day.
	Days []time.Weekday
	// Zone is the time zone of the times. Nil means the user's time zone.
	Zone *time.Location
}

func (q QuietWindow) String() string {
	s := fmt.Sprintf("%s-%s", q.Start, q.End)
	if len(q.Days) > 0 {
		var days []string
		for _, d := range q.Days {
			days = append(days, strings.ToLower(d.String()[:3]))
		}
		s += " on " + strings.Join(days, ", ")
	}
	if q.Zone != nil {
		s += " (" + q.Zone.String() + ")"
	}
	return s
}

// windowEnd reports whether now is within the window, and returns the end of the window.
func (q QuietWindow) windowEnd(now time.Time, owner *time.Location) (time.Time, bool) {
	loc := owner
	if q.Zone != nil {
		loc = q.Zone
	}
	local := now.In(loc)
	over := 0
	if q.End <= q.Start {
		over = 1
	}
	for _, day := range []int{-1, 0} {
		y, m, d := local.Date()
		weekday := time.Date(y, m, d+day, 12, 0, 0, 0, time.UTC).Weekday()
		if len(q.Days) > 0 && !slices.Contains(q.Days, weekday) {
			continue
		}
		from, to := q.Start.instantOn(local, day, false), q.End.instantOn(local, day+over, true)
		if !now.Before(from) && now.Before(to) {
			return to, true
		}
	}
	return time.Time{}, false
}

// activeWindow reports whether one of the windows is active. It returns that window, and the time
// at which the last of the adjoining windows ends.
func activeWindow(list []QuietWindow, now time.Time, owner *time.Location) (until time.Time, which QuietWindow, on bool) {
	at := now
	for range 64 { // limited, because windows of whole days may adjoin each other forever
		longest := at
		for _, q := range list {
			end, is := q.windowEnd(at, owner)
			if is && end.After(longest) {
				if longest = end; !on {
					which, on = q, true
				}
			}
		}
		if longest.Equal(at) {
			break
		}
		at = longest
	}
	return at, which, on
}

// QuietPeriods returns the periods of the configured quiet hours within [from, to). A window that begins
// between two steps of 5 min begins at the second one.
func (n *Notifier) QuietPeriods(from, to time.Time) (out [][2]time.Time) {
	const step = 5 * time.Minute
	for at := from; at.Before(to); {
		until, _, on := activeWindow(n.o.Quiet, at, n.o.Zone())
		if !on {
			at = at.Truncate(step).Add(step)
			continue
		}
		if until.After(to) {
			until = to
		}
		out = append(out, [2]time.Time{at, until})
		at = until
	}
	return out
}
