package dateparse

import (
	"fmt"
	"strings"
	"time"
)

// Every is a recurrence: either a cron line or an interval with a first time.
type Every struct {
	// Cron has five fields (minute, hour, day of month, month, day of week 0-6 from Sunday) and is
	// interpreted in the owner's zone. It is "" if the recurrence is an Interval.
	Cron string
	// Interval is the time between occurrences. If it consists of whole days, it follows the
	// calendar, so that "every other day at 9" stays at 9 when the clocks change. Use Next to
	// compute occurrences.
	Interval time.Duration
	Anchor   time.Time // first occurrence of an Interval
	// Except lists the days without an occurrence, separated by commas: "12-24" in each year,
	// "2026-12-24" in one year, and DaysOff.
	Except string
}

// Next returns the first occurrence of an Interval after t. For a cron line it returns the zero
// time.
func (e Every) Next(t time.Time) time.Time {
	if e.Interval <= 0 || e.Anchor.IsZero() {
		return time.Time{}
	}
	if t.Before(e.Anchor) {
		return e.Anchor
	}
	const oneDay = 24 * time.Hour
	if e.Interval%oneDay != 0 {
		return e.Anchor.Add((t.Sub(e.Anchor)/e.Interval + 1) * e.Interval)
	}
	loc := e.Anchor.Location()
	step, first := day(e.Interval/oneDay), dayOf(e.Anchor)
	h, m, s := e.Anchor.Clock()
	for d := first + (dayOf(t.In(loc))-first)/step*step; ; d += step {
		if next := localTime(d, h, m, s, loc); next.After(t) {
			return next
		}
	}
}

// ParseEvery parses a complete recurrence phrase: "every weekday at 8:30", "daily at 7", "each
// Monday and Thursday 9am", "every 90 minutes", "on the 1st of every month at 9", or a cron line
// with five fields. The default time is 09:00, or 08:00 with "morning". The error wraps
// ErrNotUnderstood. If neither a cron line nor an interval can express the phrase, the error
// explains why.
func ParseEvery(phrase string, now time.Time) (Every, error) {
	if len(phrase) > maxPhrase {
		return Every{}, notUnderstood(phrase, everyForms)
	}
	text := strings.TrimSpace(phrase)
	if !looksLikeCron(text) && strings.Contains(text, ";") {
		return parseRecurrenceList(strings.Split(text, ";"), phrase, now)
	}
	if looksLikeCron(text) {
		line, err := checkCron(text)
		if err != nil {
			return Every{}, cronError(text, err)
		}
		return Every{Cron: line}, nil
	}
	p := newParser(text, now)
	p.whole = true
	everys, read := p.parseRecurrences(0)
	for _, e := range everys {
		if p.skipEnd(e.end) == len(p.toks) {
			return e.every, nil
		}
	}
	if e, ok := p.parseJoinedRecurrences(text, now); ok {
		return e, nil
	}
	if err := cannotBe(text); err != nil {
		return Every{}, err
	}
	if more, ok := p.recurrenceEnd(0, read); p.skipEnd(read) == len(p.toks) || ok && p.skipEnd(more) == len(p.toks) {
		return Every{}, fmt.Errorf("%q: %w: neither a cron line nor an interval can express this in one schedule; split it into several schedules or use a form such as %s",
			truncateRunes(text, 80), ErrNotUnderstood, everyForms)
	}
	return Every{}, notUnderstood(text, everyForms)
}

// everyAlt is one reading of a token range as a recurrence.
type everyAlt struct {
	end   int
	every Every
	timed bool // the text contains a time of day, or the number of times per day
}

// recurrenceRule is the recurrence parsed so far.
type recurrenceRule struct {
	marked  bool // the rule contains a word that implies repetition
	unit    unit // 0 if the rule contains only days
	n       int  // every n units
	days    uint8
	doms    uint32
	months  uint16
	clocks  []clockTime
	part    dayPart
	from    int // window of hours, for minutes and hours
	to      int
	windows bool
	nths    []nthDay
	lastDom bool // the last day of the month
	soft    bool // "Monday to Friday" repeats only with a time of day
	start   *Moment
	not     uint8    // excluded weekdays
	except  []string // excluded days; see Every.Except
}

// hasTimeOfDay reports whether a rule contains a time of day, so that the default time does not
// apply.
func (r recurrenceRule) hasTimeOfDay() bool {
	return len(r.clocks) > 0 || r.part != partNone || r.windows || r.unit >= unitSecond && r.unit <= unitHour
}

const (
	allWeek  = 0x7f
	workweek = 0x3e
	weekends = 0x41
)

// parseRecurrences parses the recurrences that start at i, longest first, and returns the position
// up to which it understood the text.
func (p *parser) parseRecurrences(i int) ([]everyAlt, int) {
	var out []everyAlt
	read := i
	r := recurrenceRule{from: -1}
	for range 12 {
		end, next, ok := p.ruleItem(i, r)
		if !ok {
			break
		}
		i, r = end, next
		if !r.marked {
			continue
		}
		if r.soft && !p.whole && len(r.clocks) == 0 {
			continue
		}
		read = i
		if e, ok := p.buildRecurrence(r); ok {
			out = append([]everyAlt{{i, e, r.hasTimeOfDay()}}, out...)
		}
	}
	return out, read
}

// ruleItem parses one more detail of the recurrence.
func (p *parser) ruleItem(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	j := p.skipWord(i, ",", "-")
	for _, read := range []func(int, recurrenceRule) (int, recurrenceRule, bool){
		p.everyWord, p.parseAdverb, p.timesA, p.parseStarting, p.parseTimeWindow, p.nthItem, p.perMonth, p.domList, p.dayList, p.clockList, p.partItem, p.inMonths, p.parseExceptions,
	} {
		if end, next, ok := read(j, r); ok && end > j {
			return end, next, true
		}
	}
	return i, r, false
}

// timesA parses "once a day", "twice a day", "three times a day". It does not parse "once every
// hour", which everyWord handles.
func (p *parser) timesA(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	if r.marked {
		return 0, r, false
	}
	n, j := 0, i
	switch {
	case p.isWord(i, "once"):
		n, j = 1, i+1
	case p.isWord(i, "twice"):
		n, j = 2, i+1
	default:
		for _, c := range p.parseCardinal(i) {
			if p.isWord(c.end, "times") {
				n, j = c.n, c.end+1
			}
		}
	}
	if n == 0 || !p.isWord(j, "a", "an", "per", "each", "every") {
		return 0, r, false
	}
	u, end, ok := p.parseUnit(j + 1)
	switch {
	case !ok || u < unitHour:
		return 0, r, false
	case n == 1:
		r.marked, r.unit, r.n = true, u, 1
	case u == unitHour && 60%n == 0:
		r.marked, r.unit, r.n = true, unitMinute, 60/n
	case u == unitDay && n <= 4:
		r.marked, r.unit, r.n = true, unitDay, 1
		for k := range n {
			r.clocks = append(r.clocks, clockTime{h: 8 + k*12/(n-1+n%2*0), half: halfBoth, grain: Hour})
		}
	default:
		return 0, r, false
	}
	return end, r, true
}

// parseStarting parses "starting Monday", "from tomorrow": the first time of an interval.
func (p *parser) parseStarting(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	if r.start != nil || !p.isWord(i, "starting", "beginning", "from", "commencing") || p.isWord(i, "from") && r.unit >= unitSecond && r.unit <= unitHour {
		return 0, r, false
	}
	for _, a := range p.parseExpression(p.skipWord(i+1, "from", "on", "at", "in")) {
		if a.s.either != nil || a.s.weak && !p.whole {
			continue
		}
		if p.isWord(a.end, "to", "until", "till", "-") {
			return 0, r, false
		}
		if m, ok := p.resolveSpec(a.s); ok {
			r.start = &m
			return a.end, r, true
		}
	}
	return 0, r, false
}
