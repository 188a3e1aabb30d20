package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Quiet is one time of the week in which only what is critical is told.
type Quiet struct {
	Start, End Clock
	// Days are those on which it begins; none: each.
	Days []time.Weekday
	// Zone is that of the times; nil: the owner's.
	Zone *time.Location
}

func (q Quiet) String() string {
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

// until reports whether it is quiet at an instant, and when that ends.
func (q Quiet) until(now time.Time, owner *time.Location) (time.Time, bool) {
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
		from, to := q.Start.on(local, day, false), q.End.on(local, day+over, true)
		if !now.Before(from) && now.Before(to) {
			return to, true
		}
	}
	return time.Time{}, false
}

// quiet reports whether one of several is on, which one, and when the last of
// those that follow each other without a gap ends.
func quiet(list []Quiet, now time.Time, owner *time.Location) (until time.Time, which Quiet, on bool) {
	at := now
	for range 64 { // whole days can follow each other for ever
		longest := at
		for _, q := range list {
			end, is := q.until(at, owner)
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
