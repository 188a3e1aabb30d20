package dateparse

import "time"

// nthIn finds the nth unit of the container c.
func (n nth) nthIn(c daySpan) (daySpan, bool) {
	var all []daySpan
	switch {
	case n.byDay:
		for d := c.lo; d < c.hi; d++ {
			if d.weekdayOf() == n.wd {
				all = append(all, daySpan{d, d + 1})
			}
		}
	case n.unit == unitDay:
		for d := c.lo; d < c.hi; d++ {
			all = append(all, daySpan{d, d + 1})
		}
	case n.unit == unitWorkday:
		for d := c.lo; d < c.hi; d++ {
			if isWorkday(d) {
				all = append(all, daySpan{d, d + 1})
			}
		}
	case n.unit == unitWeek || n.unit == unitWeekend:
		all = weeksOf(c, n.unit == unitWeekend)
	case n.unit == unitMonth || n.unit == unitQuarter:
		for d := c.lo; d < c.hi; {
			u := unitSpan(d, n.unit.grainOf(), 0)
			all = append(all, u)
			d = u.hi
		}
	}
	i := n.n - 1
	if n.n < 0 {
		i = len(all) + n.n - (n.count - 1)
	}
	if i < 0 || i+n.count > len(all) || len(all) == 1 && c.hi-c.lo == 1 {
		return daySpan{}, false
	}
	return daySpan{all[i].lo, all[i+n.count-1].hi}, true
}

// weeksOf lists the weeks of c. As in ISO 8601 a week belongs where its Thursday
// is; a weekend where its Saturday is.
func weeksOf(c daySpan, ends bool) []daySpan {
	var all []daySpan
	for mon := c.lo.weekStart(); mon < c.hi; mon += 7 {
		if sat := mon + 5; ends && sat >= c.lo && sat < c.hi {
			all = append(all, daySpan{sat, sat + 2})
		}
		if thu := mon + 3; !ends && thu >= c.lo && thu < c.hi {
			all = append(all, daySpan{mon, mon + 7})
		}
	}
	return all
}

func isWorkday(d day) bool { return d.weekdayOf() != time.Saturday && d.weekdayOf() != time.Sunday }
