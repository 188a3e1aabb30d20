package dateparse

import "time"

// dayHalf is the half of the day to which an hour belongs.
type dayHalf uint8

const (
	halfUnknown dayHalf = iota // "at 5"
	halfAM
	halfPM
	halfBoth // the time uses the 24-hour clock: "17:30", "05:10"
)

// clockTime is a time of day.
type clockTime struct {
	h, m, s int // h is 0..24
	half    dayHalf
	grain   Grain
}

// normalizeClock converts h and the half of the day to the 24-hour clock.
func (c clockTime) normalizeClock() (clockTime, bool) {
	switch c.half {
	case halfAM:
		if c.h > 12 {
			return c, false
		}
		if c.h == 12 {
			c.h = 0
		}
	case halfPM:
		if c.h == 0 || c.h > 23 {
			return c, false
		}
		if c.h < 12 {
			c.h += 12
		}
	case halfUnknown:
		if c.h > 12 || c.h == 0 {
			c.half = halfBoth
		}
	}
	return c, c.h <= 24 && c.m < 60 && c.s < 60 && (c.h < 24 || c.m+c.s == 0)
}

// dayPart is a named part of the day.
type dayPart uint8

const (
	partNone dayPart = iota
	partEarlyMorning
	partMorning
	partNoon
	partAfternoon
	partEvening
	partNight
	partDaytime
)

func partName(w string) (dayPart, bool) {
	switch w {
	case "morning", "mornings", "breakfast", "breakfasttime", "forenoon":
		return partMorning, true
	case "lunch", "lunchtime":
		return partNoon, true
	case "afternoon", "afternoons":
		return partAfternoon, true
	case "evening", "evenings", "dinner", "dinnertime", "suppertime":
		return partEvening, true
	case "night", "nights", "nighttime":
		return partNight, true
	case "daytime":
		return partDaytime, true
	}
	return partNone, false
}

// partHours returns the start and end of a part of the day and its representative
// hour.
func (d dayPart) partHours() (from, to, at int) {
	switch d {
	case partEarlyMorning:
		return 6, 9, 6
	case partMorning:
		return 8, 12, 8
	case partNoon:
		return 12, 14, 12
	case partAfternoon:
		return 12, 18, 14
	case partEvening:
		return 18, 22, 18
	case partNight:
		return 20, 24, 20
	}
	return 8, 18, 8
}

// inPart lists the hours of the 24-hour clock that c may mean in a part of the day. Hours from 24
// on are after midnight.
func (c clockTime) inPart(d dayPart) []int {
	if c.half != halfUnknown {
		if d == partNight && c.h < 6 && c.half != halfBoth {
			return []int{c.h + 24}
		}
		return []int{c.h}
	}
	switch d {
	case partEarlyMorning, partMorning:
		return []int{c.h % 12}
	case partAfternoon, partNoon:
		if c.h >= 11 {
			return []int{c.h}
		}
		return []int{c.h + 12}
	case partEvening:
		return []int{c.h + 12}
	case partNight:
		if c.h < 5 {
			return []int{c.h + 24}
		}
		return []int{c.h + 12}
	case partDaytime, partNone:
	}
	return c.possibleHours()
}

// possibleHours lists the possible meanings of an hour if nothing else is known, the most likely
// first. 1 to 6 are in the afternoon. 7 to 12 are taken literally or, if that time has passed, 12
// hours later.
func (c clockTime) possibleHours() []int {
	switch {
	case c.half != halfUnknown:
		return []int{c.h}
	case c.h < 7:
		return []int{c.h + 12}
	}
	return []int{c.h, c.h + 12}
}

// resolveClock finds the moment that a spec with a time of day describes.
func (p *parser) resolveClock(s spec) (Moment, bool) {
	if s.set&fDate == 0 && p.back {
		return p.latestClock(s)
	}
	if s.set&fDate == 0 {
		s.span, s.grain = daySpan{p.today, p.today + 3}, Day
		for d := p.today; d < p.today+3; d++ {
			if m, ok := p.nextReading(d, s); ok {
				return m, true
			}
		}
		return Moment{}, false
	}
	if s.set&fPick != 0 {
		s.span, s.set = daySpan{s.pick, s.pick + 1}, fSpan|s.set&^(fDate|fPick)
	}
	if s.namesYear() {
		span, _, ok := p.resolveDays(s)
		if !ok || !p.inRange(span.lo) {
			return Moment{}, false
		}
		if m, ok := p.smallHours(s); ok {
			return m, true
		}
		if m, ok := p.nextReading(span.lo, s); ok && span.lo == p.today {
			return m, true
		}
		if m, ok := p.underWay(span.lo, s); ok {
			return m, true
		}
		return p.onDay(span.lo, s.hoursSaid()[0], s), true
	}
	var found Moment
	ok := false
	p.eachOccurrence(s, func(d daySpan) bool {
		if p.past {
			found, ok = p.onDay(d.lo, s.hoursSaid()[0], s), true
			return false
		}
		found, ok = p.nextReading(d.lo, s)
		return !ok
	})
	return found, ok
}

// underWay resolves an afternoon, evening or night that has already started. The result is the next
// full hour in that part of the day, or now if the last hour of that part has begun. underWay does
// not handle "this morning", which usually refers to the past.
func (p *parser) underWay(d day, s spec) (Moment, bool) {
	_, to, _ := s.part.partHours()
	if d != p.today || s.set&fClock != 0 || s.part < partNoon || !localTime(d, to, 0, 0, p.now.Location()).After(p.now) {
		return Moment{}, false
	}
	if h := p.now.Hour() + 1; h < to {
		return p.onDay(d, h, s), true
	}
	return Moment{Time: p.now, Grain: Hour, HasClock: true}, true
}

// latestClock returns the last time at which the clock showed s.
func (p *parser) latestClock(s spec) (Moment, bool) {
	for d := p.today; d > p.today-2; d-- {
		hours := s.hoursSaid()
		for i := len(hours) - 1; i >= 0; i-- {
			if m := p.onDay(d, hours[i], s); !m.Time.After(p.now) {
				return m, true
			}
		}
	}
	return Moment{}, false
}

// hoursSaid lists the hours that s may mean, the most likely first.
func (s spec) hoursSaid() []int {
	if s.set&fClock == 0 {
		_, _, at := s.part.partHours()
		return []int{at}
	}
	return s.clock.inPart(s.part)
}

// smallHours resolves times after midnight. For example, "tonight at 1" means the current night if
// it is already after midnight.
func (p *parser) smallHours(s spec) (Moment, bool) {
	if s.part != partNight || s.span.lo != p.today || p.now.Hour() >= 5 || s.set&fClock == 0 || s.clock.h >= 6 {
		return Moment{}, false
	}
	m := p.onDay(p.today, s.clock.h, s)
	return m, m.Time.After(p.now)
}

// nextReading returns the first moment that s may mean on day d and that has not passed.
func (p *parser) nextReading(d day, s spec) (Moment, bool) {
	for _, h := range s.hoursSaid() {
		if h >= 24 && d > p.today && s.clock.half == halfUnknown && s.set&fPart == 0 {
			continue
		}
		if m := p.onDay(d, h, s); m.Time.After(p.now) {
			return m, true
		}
	}
	return Moment{}, false
}

// onDay returns hour h of day d with the minutes and zone of s.
func (p *parser) onDay(d day, h int, s spec) Moment {
	loc := p.now.Location()
	if s.set&fZone != 0 {
		loc = s.zone
	}
	g, mi, sec := s.clock.grain, s.clock.m, s.clock.s
	if s.set&fClock == 0 {
		g, mi, sec = Hour, 0, 0
	}
	t := localTime(d+day(h/24), h%24, mi, sec, loc).In(p.now.Location())
	return Moment{Time: t, Grain: g, HasClock: true}
}

// partSpan returns the start and end, on the day of m, of the part of the day that s names.
func partSpan(s spec, m time.Time) (time.Time, time.Time) {
	from, to, _ := s.part.partHours()
	d := dayOf(m)
	return localTime(d, from, 0, 0, m.Location()), localTime(d+day(to/24), to%24, 0, 0, m.Location())
}
