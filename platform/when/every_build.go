package when

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// build turns a rule into a cron line or an interval; it fails for what
// neither expresses.
func (p *parser) build(r rule) (Every, bool) {
	switch r.unit {
	case unitSecond, unitMinute, unitHour:
		return p.buildShort(r)
	case unitWorkday:
		r.unit, r.days = unitDay, workweek
	case unitWeekend:
		r.unit, r.days = unitDay, weekends
	case unitNight:
		r.unit, r.part = unitDay, partNight
	case unitFortnight:
		r.unit, r.n = unitWeek, 2*r.n
	case unitQuarter:
		r.unit, r.n = unitMonth, 3*r.n
	case unitDecade, unitCentury:
		return Every{}, false
	}
	mins, hours, shift, ok := r.times()
	if !ok {
		return Every{}, false
	}
	if shift { // midnight ends the day it is said of
		if r.doms != 0 || r.months != 0 || r.start != nil {
			return Every{}, false
		}
		r.days = (r.days<<1 | r.days>>6) & allWeek
	}
	if r.n > 1 && (r.unit == unitDay || r.unit == unitWeek) {
		return p.buildDays(r, mins, hours)
	}
	if r.start != nil || r.days != 0 && r.doms != 0 {
		return Every{}, false
	}
	return p.buildCron(r, mins, hours)
}

// times lists minute and hours of the day; shift says they are 24:00.
func (r rule) times() (int, []int, bool, bool) {
	if len(r.clocks) == 0 {
		if r.part != partNone {
			_, _, at := r.part.hours()
			return 0, []int{at}, false, true
		}
		return 0, []int{9}, false, true
	}
	var hours []int
	shift := false
	for _, c := range r.clocks {
		h := c.inPart(r.part)[0]
		if h >= 24 {
			h, shift = h-24, r.days != 0 && r.days != allWeek || r.doms != 0
			if len(r.clocks) > 1 && shift {
				return 0, nil, false, false
			}
		}
		if c.m != r.clocks[0].m || c.s != 0 {
			return 0, nil, false, false
		}
		hours = append(hours, h)
	}
	slices.Sort(hours)
	return r.clocks[0].m, slices.Compact(hours), shift, true
}

// buildShort builds what recurs within a day.
func (p *parser) buildShort(r rule) (Every, bool) {
	size := map[unit]int{unitSecond: 1, unitMinute: 60, unitHour: 3600}[r.unit] * r.n
	if size < 1 || size > 366*86400 || r.doms != 0 || r.months != 0 {
		return Every{}, false
	}
	if size%60 == 0 && r.start == nil && r.part == partNone {
		minute, hour := "", ""
		switch n := size / 60; {
		case n < 60 && 60%n == 0 && len(r.clocks) == 0:
			minute, hour = "*/"+strconv.Itoa(n), "*"
			if n == 1 {
				minute = "*"
			}
		case n%60 == 0 && 24%(n/60) == 0 && n < 1440:
			minute, hour = "0", "*/"+strconv.Itoa(n/60)
			if n == 60 {
				hour = "*"
			}
			if len(r.clocks) > 0 {
				minute = strconv.Itoa(r.clocks[0].m)
			}
		}
		if minute != "" {
			if r.windows {
				to := r.to
				if minute[0] == '*' {
					to = max(r.to-1, r.from)
				}
				hour = fmt.Sprintf("%d-%d%s", r.from, to, strings.TrimPrefix(hour, "*"))
			}
			return Every{Cron: minute + " " + hour + " * * " + dayField(r.days)}, true
		}
	}
	if r.windows || r.days != 0 || len(r.clocks) > 0 || r.part != partNone {
		return Every{}, false
	}
	e := Every{Interval: time.Duration(size) * time.Second}
	e.Anchor = p.now.Add(e.Interval).Truncate(time.Second)
	if r.start != nil {
		e.Anchor = r.start.Time
	}
	return e, true
}

// buildDays builds intervals of whole days, kept as such since cron cannot
// count across weeks.
func (p *parser) buildDays(r rule, mins int, hours []int) (Every, bool) {
	if len(hours) != 1 || r.doms != 0 || r.months != 0 || bits.OnesCount8(r.days) > 1 || r.n > 1000 {
		return Every{}, false
	}
	step := r.n
	if r.unit == unitWeek {
		step *= 7
	} else if r.days != 0 {
		return Every{}, false
	}
	loc := p.now.Location()
	first := p.today
	if r.start != nil {
		first = dayOf(r.start.Time)
		if r.start.HasClock && len(r.clocks) == 0 {
			h, m, _ := r.start.Time.Clock()
			hours, mins = []int{h}, m
		}
	}
	for d := first; d < first+8; d++ {
		at := local(d, hours[0], mins, 0, loc)
		if (r.days == 0 || r.days&(1<<d.weekday()) != 0) && at.After(p.now) {
			return Every{Interval: time.Duration(step) * 24 * time.Hour, Anchor: at}, true
		}
	}
	return Every{}, false
}

// buildCron builds the cron line of what recurs by days, months or years.
func (p *parser) buildCron(r rule, mins int, hours []int) (Every, bool) {
	_, month, dom := p.today.civil()
	dom = min(dom, 28) // a day that every month has
	switch {
	case r.unit == unitWeek && r.days == 0 && r.doms == 0:
		r.days = 1 << p.today.weekday()
	case r.unit == unitWeek && r.doms != 0, r.unit == unitDay && r.doms != 0, r.unit == unitMonth && r.days != 0:
		return Every{}, false
	case r.unit == unitMonth && r.doms == 0:
		r.doms = 1 << dom
	case r.unit == unitYear && r.days != 0 || r.unit == unitYear && r.n > 1:
		return Every{}, false
	case r.unit == unitYear:
		if r.months == 0 {
			if r.doms != 0 {
				return Every{}, false
			}
			r.months, r.doms = 1<<month, 1<<dom
		}
		if r.doms == 0 {
			r.doms = 1 << 1
		}
	}
	if r.unit == unitMonth && r.n > 1 {
		if 12%r.n != 0 || r.months != 0 {
			return Every{}, false
		}
		for k := 0; k < 12; k += r.n {
			r.months |= 1 << ((int(month)-1+k)%12 + 1)
		}
	}
	line := strings.Join([]string{
		strconv.Itoa(mins), joinInts(hours), listField(uint64(r.doms)), listField(uint64(r.months)), dayField(r.days),
	}, " ")
	line, err := checkCron(line)
	return Every{Cron: line}, err == nil
}

func listField(mask uint64) string {
	if mask == 0 {
		return "*"
	}
	var ns []int
	for n := range 64 {
		if mask&(1<<n) != 0 {
			ns = append(ns, n)
		}
	}
	return joinInts(ns)
}

func dayField(mask uint8) string {
	switch mask & allWeek {
	case 0, allWeek:
		return "*"
	case workweek:
		return "1-5"
	}
	return listField(uint64(mask & allWeek))
}

func joinInts(ns []int) string {
	s := make([]string, len(ns))
	for i, n := range ns {
		s[i] = strconv.Itoa(n)
	}
	return strings.Join(s, ",")
}
