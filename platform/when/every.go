package when

import (
	"fmt"
	"strings"
	"time"
)

// Every is a recurrence: either a cron line or an interval with a first time.
type Every struct {
	// Cron has five fields (minute, hour, day of month, month, day of week
	// 0-6 from Sunday) and is read in the owner's zone; "" when the recurrence
	// is an Interval.
	Cron string
	// Interval is the distance between occurrences. One of whole days is meant
	// on the calendar, so that "every other day at 9" stays at 9 when the
	// clocks change: use Next.
	Interval time.Duration
	Anchor   time.Time // first occurrence of an Interval
}

// Next is the first occurrence of an Interval after t, the zero time when e is
// a cron line.
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
		if next := local(d, h, m, s, loc); next.After(t) {
			return next
		}
	}
}

// ParseEvery reads a phrase that is, as a whole, a recurrence: "every weekday
// at 8:30", "daily at 7", "each Monday and Thursday 9am", "every 90 minutes",
// "on the 1st of every month at 9", or a cron line of five fields. Without a
// time of day it is 09:00, in the morning 08:00. The error wraps
// ErrNotUnderstood; the phrase may also be something that neither a cron line
// nor an interval can express, and the error says so.
func ParseEvery(phrase string, now time.Time) (Every, error) {
	if len(phrase) > maxPhrase {
		return Every{}, notUnderstood(phrase, everyForms)
	}
	text := strings.TrimSpace(phrase)
	if looksLikeCron(text) {
		line, err := checkCron(text)
		if err != nil {
			return Every{}, cronError(text, err)
		}
		return Every{Cron: line}, nil
	}
	p := newParser(text, now)
	p.whole = true
	everys, read := p.everys(0)
	for _, e := range everys {
		if p.skipEnd(e.end) == len(p.toks) {
			return e.every, nil
		}
	}
	if more, ok := p.beyond(0, read); p.skipEnd(read) == len(p.toks) || ok && p.skipEnd(more) == len(p.toks) {
		return Every{}, fmt.Errorf("%q: %w that one schedule can repeat: neither a cron line nor an interval expresses it; split it, or use a form such as %s",
			clip(text, 80), ErrNotUnderstood, everyForms)
	}
	return Every{}, notUnderstood(text, everyForms)
}

// everyAlt is one reading of a stretch of tokens as a recurrence.
type everyAlt struct {
	end   int
	every Every
}

// rule is what was said about a recurrence so far.
type rule struct {
	marked  bool // a word that repeats was said
	unit    unit // 0 when only days were said
	n       int  // every n units
	days    uint8
	doms    uint32
	months  uint16
	clocks  []clock
	part    dayPart
	from    int // window of hours, for minutes and hours
	to      int
	windows bool
	start   *Moment
}

const (
	allWeek  = 0x7f
	workweek = 0x3e
	weekends = 0x41
)

// everys reads the recurrences that start at i, longest first, and tells how
// far it understood what was said.
func (p *parser) everys(i int) ([]everyAlt, int) {
	var out []everyAlt
	read := i
	r := rule{from: -1}
	for range 12 {
		end, next, ok := p.ruleItem(i, r)
		if !ok {
			break
		}
		i, r = end, next
		if !r.marked {
			continue
		}
		read = i
		if e, ok := p.build(r); ok {
			out = append([]everyAlt{{i, e}}, out...)
		}
	}
	return out, read
}

// ruleItem reads one more thing said about the recurrence.
func (p *parser) ruleItem(i int, r rule) (int, rule, bool) {
	j := p.skip(i, ",", "-")
	for _, read := range []func(int, rule) (int, rule, bool){
		p.everyWord, p.adverb, p.timesA, p.starting, p.window, p.perMonth, p.domList, p.dayList, p.clockList, p.partItem, p.inMonths,
	} {
		if end, next, ok := read(j, r); ok && end > j {
			return end, next, true
		}
	}
	return i, r, false
}

// everyWord reads "every" or "each" and what it counts.
func (p *parser) everyWord(i int, r rule) (int, rule, bool) {
	j := p.skip(i, "on", "in", "at")
	if !p.is(j, "every", "each", "all") || r.marked {
		if p.is(i, "everyday") && !r.marked && !p.isOwned(i) {
			r.marked, r.unit, r.n = true, unitDay, 1
			return i + 1, r, true
		}
		return 0, r, false
	}
	every := p.text(j)
	j++
	if p.is(j, "single") {
		j++
	}
	r.marked, r.n = true, 1
	k := j
	switch {
	case p.is(k, "other", "second") && !p.is(p.skip(k+1, "of"), "of"):
		r.n, k = 2, k+1
	default:
		if rd, ok := p.ordinal(k); ok && p.isUnitOrDay(rd.end) {
			r.n, k = rd.n, rd.end
		}
	}
	if every == "all" && !p.is(k, "weekends", "weekdays", "mornings", "evenings", "nights") {
		if _, ok := weekdayPlural(p.text(k)); !ok {
			return 0, r, false
		}
	}
	return p.everyTarget(k, r)
}

func (p *parser) isUnitOrDay(i int) bool {
	if _, ok := weekdayName(p.text(i)); ok {
		return true
	}
	_, ok := unitName(p.text(i))
	return ok
}

// everyTarget reads what stands after "every".
func (p *parser) everyTarget(k int, r rule) (int, rule, bool) {
	if end, next, ok := p.dayNames(k, r); ok {
		if r.n > 1 {
			next.unit = unitWeek
		}
		return end, next, true
	}
	if r.n == 1 {
		for _, l := range p.lengths(k) {
			if l.l.word != 0 && l.l.n == float64(int(l.l.n)) && l.l.n >= 1 {
				r.unit, r.n = l.l.word, int(l.l.n)
				return l.end, r, l.l.n < 10000 && l.l.word != unitWorkday
			}
			if l.l.months == 0 && l.l.days == 0 && l.l.workdays == 0 && l.l.exact >= time.Minute {
				r.unit, r.n = unitSecond, int(l.l.exact/time.Second)
				return l.end, r, true
			}
		}
	}
	if u, end, ok := p.unit(k); ok && !(u == unitWorkday && r.n > 1) {
		r.unit = u
		return end, r, true
	}
	if part, ok := partName(p.text(k)); ok && r.n == 1 {
		r.unit, r.part = unitDay, part
		return k + 1, r, true
	}
	if p.is(k, "noon", "midday", "midnight") && r.n == 1 {
		r.unit = unitDay
		return k, r, true
	}
	return p.everyDate(k, r)
}

// everyDate reads "every 15th", "every May 5th", "every March", "every Christmas".
func (p *parser) everyDate(k int, r rule) (int, rule, bool) {
	if r.n != 1 {
		return 0, r, false
	}
	for _, a := range p.monthDate(k) {
		if a.s.set == fMonth|fDom {
			r.months, r.doms = 1<<a.s.month, 1<<a.s.dom
			r.unit = unitYear
			return a.end, r, true
		}
		if a.s.set == fMonth {
			r.months, r.unit = 1<<a.s.month, unitYear
			return a.end, r, true
		}
	}
	for _, a := range p.feastPiece(k) {
		if m, d, ok := a.s.feast.sameDate(); ok && a.s.set == fFeast {
			r.months, r.doms, r.unit = 1<<m, 1<<d, unitYear
			return a.end, r, true
		}
	}
	if rd, ok := p.ordinal(k); ok && rd.n >= 1 && rd.n <= 31 {
		r.doms, r.unit = r.doms|1<<rd.n, unitMonth
		end := rd.end
		if e, ok := p.phrase(end, "of", "the", "month"); ok {
			end = e
		}
		return end, r, true
	}
	return 0, r, false
}

// sameDate is the day of the year of a feast that never moves.
func (f *feast) sameDate() (time.Month, int, bool) {
	var m time.Month
	var d int
	for y := 2020; y < 2034; y++ {
		days := f.in(y)
		if len(days) != 1 {
			return 0, 0, false
		}
		_, mm, dd := days[0].civil()
		if y > 2020 && (mm != m || dd != d) {
			return 0, 0, false
		}
		m, d = mm, dd
	}
	return m, d, true
}

// adverb reads "daily", "hourly", "weekly", "nightly" and plural days.
func (p *parser) adverb(i int, r rule) (int, rule, bool) {
	u, n := unit(0), 1
	switch p.text(i) {
	case "minutely":
		u = unitMinute
	case "hourly":
		u = unitHour
	case "daily":
		u = unitDay
	case "nightly":
		u, r.part = unitDay, partNight
	case "weekly":
		u = unitWeek
	case "fortnightly", "biweekly":
		u, n = unitWeek, 2
	case "monthly":
		u = unitMonth
	case "bimonthly":
		u, n = unitMonth, 2
	case "quarterly":
		u = unitQuarter
	case "semiannually", "biannually":
		u, n = unitMonth, 6
	case "yearly", "annually":
		u = unitYear
	case "semi", "bi":
		if p.is(p.skip(i+1, "-"), "annually") {
			u, n = unitMonth, 6
			i = p.skip(i+1, "-")
		}
	}
	if u == 0 || r.marked || p.isOwned(i) {
		return 0, r, false
	}
	r.marked, r.unit, r.n = true, u, n
	return i + 1, r, true
}

// isOwned reports whether the word at i describes a noun: "my weekly report".
func (p *parser) isOwned(i int) bool {
	return p.is(i-1, "the", "a", "an", "my", "your", "our", "his", "her", "their", "its", "this", "that", "in", "of", "some")
}

// timesA reads "once a day", "twice a day", "three times a day", "once every
// hour" is read as the "every" that follows.
func (p *parser) timesA(i int, r rule) (int, rule, bool) {
	if r.marked {
		return 0, r, false
	}
	n, j := 0, i
	switch {
	case p.is(i, "once"):
		n, j = 1, i+1
	case p.is(i, "twice"):
		n, j = 2, i+1
	default:
		for _, c := range p.cardinal(i) {
			if p.is(c.end, "times") {
				n, j = c.n, c.end+1
			}
		}
	}
	if n == 0 || !p.is(j, "a", "an", "per", "each", "every") {
		return 0, r, false
	}
	u, end, ok := p.unit(j + 1)
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
			r.clocks = append(r.clocks, clock{h: 8 + k*12/(n-1+n%2*0), half: halfBoth, grain: Hour})
		}
	default:
		return 0, r, false
	}
	return end, r, true
}

// starting reads "starting Monday", "from tomorrow", the first time of an
// interval.
func (p *parser) starting(i int, r rule) (int, rule, bool) {
	if r.start != nil || !p.is(i, "starting", "beginning", "from", "commencing") || p.is(i, "from") && r.unit >= unitSecond && r.unit <= unitHour {
		return 0, r, false
	}
	for _, a := range p.expr(p.skip(i+1, "from", "on", "at", "in")) {
		if a.s.either != nil || a.s.weak && !p.whole {
			continue
		}
		if p.is(a.end, "to", "until", "till", "-") {
			return 0, r, false
		}
		if m, ok := p.resolve(a.s); ok {
			r.start = &m
			return a.end, r, true
		}
	}
	return 0, r, false
}
