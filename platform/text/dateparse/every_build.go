package dateparse

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// buildRecurrence converts a rule to a cron line or an interval. It fails if neither can express
// the rule.
func (p *parser) buildRecurrence(r recurrenceRule) (Every, bool) {
	e, ok := p.buildAll(r)
	e.Except = strings.Join(r.except, ", ")
	return e, ok
}

func (p *parser) buildAll(r recurrenceRule) (Every, bool) {
	switch r.unit {
	case unitSecond, unitMinute, unitHour:
		r, ok := r.dropExceptedWeekdays()
		if !ok {
			return Every{}, false
		}
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
	r, ok := r.dropExceptedWeekdays()
	if !ok {
		return Every{}, false
	}
	slots, shift, ok := r.timeSlots()
	if !ok {
		return Every{}, false
	}
	if shift { // 24:00 ends the named day, so the cron line uses the next one
		if r.doms != 0 || r.months != 0 || r.start != nil || r.hasNthWeekday() {
			return Every{}, false
		}
		r.days = (r.days<<1 | r.days>>6) & allWeek
	}
	if r.n > 1 && (r.unit == unitDay || r.unit == unitWeek) {
		if len(slots) != 1 || r.hasNthWeekday() {
			return Every{}, false
		}
		return p.buildDays(r, slots[0].minute, slots[0].hours)
	}
	if r.start != nil || r.days != 0 && r.doms != 0 || r.hasNthWeekday() && (r.days != 0 || r.doms != 0) {
		return Every{}, false
	}
	return p.buildCron(r, slots)
}

// hasNthWeekday reports whether a rule contains an nth weekday or the last day of a month.
func (r recurrenceRule) hasNthWeekday() bool { return len(r.nths) > 0 || r.lastDom }

// timeSlot is a set of hours of the day with the same minute.
type timeSlot struct {
	minute int
	hours  []int
}

// slotsOf groups times of day by their minute.
func slotsOf(times []int) []timeSlot {
	var out []timeSlot
	slices.Sort(times)
	for _, t := range slices.Compact(times) {
		i := slices.IndexFunc(out, func(s timeSlot) bool { return s.minute == t%60 })
		if i < 0 {
			i, out = len(out), append(out, timeSlot{minute: t % 60})
		}
		out[i].hours = append(out[i].hours, t/60)
	}
	return out
}

// timeSlots returns the times of the day. shift is true if they are 24:00.
func (r recurrenceRule) timeSlots() (slots []timeSlot, shift, ok bool) {
	if len(r.clocks) == 0 {
		at := 9
		if r.part != partNone {
			_, _, at = r.part.partHours()
		}
		return []timeSlot{{0, []int{at}}}, false, true
	}
	var times []int
	for _, c := range r.clocks {
		h := c.inPart(r.part)[0]
		if h >= 24 {
			h, shift = h-24, r.days != 0 && r.days != allWeek || r.doms != 0 || r.hasNthWeekday()
			if len(r.clocks) > 1 && shift {
				return nil, false, false
			}
		}
		if c.s != 0 {
			return nil, false, false
		}
		times = append(times, h*60+c.m)
	}
	return slotsOf(times), shift, true
}

// buildShort builds a recurrence of every n seconds, minutes or hours.
func (p *parser) buildShort(r recurrenceRule) (Every, bool) {
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
	if r.windows && r.start == nil && r.part == partNone && len(r.clocks) == 0 && size%60 == 0 {
		return r.buildWindow(size / 60)
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

// buildWindow lists the times of "every 90 minutes between 9 and 17".
func (r recurrenceRule) buildWindow(step int) (Every, bool) {
	var times []int
	for t := r.from * 60; t <= r.to*60; t += step {
		times = append(times, t)
	}
	slots := slotsOf(times)
	if len(slots) > maxLines {
		return Every{}, false
	}
	return joinLines(slots, "*", "*", dayField(r.days))
}

// joinLines returns the cron lines of times of day on certain days.
func joinLines(slots []timeSlot, dom, month, dow string) (Every, bool) {
	var lines []string
	for _, s := range slots {
		lines = append(lines, strings.Join([]string{strconv.Itoa(s.minute), joinInts(s.hours), dom, month, dow}, " "))
	}
	line, err := checkCron(strings.Join(lines, "; "))
	return Every{Cron: line}, err == nil
}

// buildDays builds intervals of whole days. They remain intervals, because cron cannot count days
// across weeks.
func (p *parser) buildDays(r recurrenceRule, mins int, hours []int) (Every, bool) {
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
		at := localTime(d, hours[0], mins, 0, loc)
		if (r.days == 0 || r.days&(1<<d.weekdayOf()) != 0) && at.After(p.now) {
			return Every{Interval: time.Duration(step) * 24 * time.Hour, Anchor: at}, true
		}
	}
	return Every{}, false
}

// buildCron returns the cron line of a recurrence by days, months or years.
func (p *parser) buildCron(r recurrenceRule, slots []timeSlot) (Every, bool) {
	_, month, dom := p.today.civilDate()
	dom = min(dom, 28) // use a day that exists in every month
	switch {
	case r.unit == unitWeek && r.days == 0 && r.doms == 0:
		r.days = 1 << p.today.weekdayOf()
	case r.unit == unitWeek && r.doms != 0, r.unit == unitDay && r.doms != 0, r.unit == unitMonth && r.days != 0:
		return Every{}, false
	case r.hasNthWeekday():
		if r.unit != unitMonth {
			return Every{}, false
		}
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
	days, dow := listField(uint64(r.doms)), dayField(r.days)
	if r.lastDom {
		days = "L"
	}
	if len(r.nths) > 0 {
		dow = writeNths(r.nths)
	}
	return joinLines(slots, days, listField(uint64(r.months)), dow)
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
