package dateparse

import (
	"math"
	"time"
)

// calendarLength is a length of time: months and days follow the calendar, the rest is exact.
type calendarLength struct {
	months   int
	days     int
	workdays int
	exact    time.Duration
	finest   Grain
	word     unit // the unit, if there is only one
	n        float64
}

// addUnits adds n units.
func (l calendarLength) addUnits(n float64, u unit) calendarLength {
	whole, frac := math.Modf(n)
	first := l == calendarLength{}
	switch u {
	case unitSecond:
		l.exact += time.Duration(n * float64(time.Second))
	case unitMinute:
		l.exact += time.Duration(n * float64(time.Minute))
	case unitHour:
		l.exact += time.Duration(n * float64(time.Hour))
	case unitDay, unitNight:
		l.days += int(whole)
		l.exact += time.Duration(frac * 24 * float64(time.Hour))
	case unitWorkday:
		l.workdays += int(whole)
	case unitWeek, unitWeekend, unitFortnight:
		if u == unitFortnight {
			n *= 2
		}
		whole, frac = math.Modf(n * 7)
		l.days += int(whole)
		l.exact += time.Duration(frac * 24 * float64(time.Hour))
	case unitMonth:
		l.months += int(whole)
		l.days += int(frac * 30)
	case unitQuarter:
		l.months += int(n * 3)
	case unitYear:
		l.months += int(n * 12)
	case unitDecade:
		l.months += int(n * 120)
	case unitCentury:
		l.months += int(n * 1200)
	}
	if g := u.grainOf(); first || g < l.finest {
		l.finest = g
	}
	if l.exact != 0 && l.finest >= Day {
		l.finest = Minute
	}
	l.word, l.n = 0, 0
	if first {
		l.word, l.n = u, n
	}
	return l
}

// isSubDaily reports whether l is finer than whole days.
func (l calendarLength) isSubDaily() bool { return l.exact != 0 }

// shiftTime moves t by l, forward or, if sign is -1, backward.
func (l calendarLength) shiftTime(t time.Time, sign int) time.Time {
	d := dayOf(t)
	if l.months != 0 {
		d = d.addMonths(sign * l.months)
	}
	d = addWorkdays(d+day(sign*l.days), sign*l.workdays)
	if d != dayOf(t) {
		h, m, s := t.Clock()
		t = localTime(d, h, m, s, t.Location())
	}
	return t.Add(time.Duration(sign) * l.exact)
}

func addWorkdays(d day, n int) day {
	step := day(1)
	if n < 0 {
		step, n = -1, -n
	}
	for range n {
		d += step
		for !isWorkday(d) {
			d += step
		}
	}
	return d
}

// maxLength limits sums so that time.Time and time.Duration can represent them.
const maxLength = 100000

// quantity is a number of units.
type quantity struct {
	n   float64
	end int
}

// parseLengths returns the lengths of time that start at i, longest first: "3 days", "an hour and a
// half", "1h30", "2 weeks and 3 days".
func (p *parser) parseLengths(i int) []lengthAlt {
	var out []lengthAlt
	l, j := calendarLength{}, i
	for len(out) < 6 {
		u, n, end, ok := p.parseAmount(j)
		if !ok || u == unitQuarter && l.isSubDaily() { // no "quarter" of a year follows an hour
			break
		}
		l = l.addUnits(n, u)
		end = p.halfMore(&l, u, end)
		out = append([]lengthAlt{{l, end}}, out...)
		_, more := unitLetter(p.tokenText(end + 1))
		if u == unitHour && p.tokenNumber(end) >= 0 && p.isGlued(end) && p.tokenNumber(end) < 60 && !(more && p.isGlued(end+1)) { // 1h30
			out = append([]lengthAlt{{l.addUnits(float64(p.tokenNumber(end)), unitMinute), end + 1}}, out...)
			break
		}
		j = p.skipWord(p.skipWord(end, ","), "and")
	}
	return out
}

type lengthAlt struct {
	l   calendarLength
	end int
}

// halfMore reads the "and a half" of "an hour and a half", the "and a quarter" and the "and three quarters".
func (p *parser) halfMore(l *calendarLength, u unit, i int) int {
	if p.tokenText(i) != "and" {
		return i
	}
	j := p.skipWord(i+1, "a")
	switch {
	case p.isWord(j, "half"):
		*l = l.addUnits(0.5, u)
	case p.isWord(j, "quarter") && !p.isWord(j+1, "past") && !(p.isWord(j+1, "to") && len(p.parseCardinal(j+2)) > 0): // "an hour and a quarter to cook it"
		*l = l.addUnits(0.25, u)
	case p.isWord(j, "three") && p.isWord(j+1, "quarters") && !p.isWord(j+2, "of"):
		*l = l.addUnits(0.75, u)
		j++
	default:
		return i
	}
	return j + 1
}

// parseAmount reads a quantity and its unit.
func (p *parser) parseAmount(i int) (unit, float64, int, bool) {
	for _, q := range p.parseQuantities(i) {
		j := p.skipWord(p.skipWord(q.end, "more", "full", "whole", "further", "additional", "short", "extra"), "of")
		if u, end, ok := p.parseUnit(j); ok {
			return u, q.n, p.dotUnit(end), q.n <= maxLength
		}
		if u, ok := unitLetter(p.tokenText(j)); ok && p.tokenNumber(j-1) >= 0 && (p.isGlued(j) || p.tokenText(j) == "h") {
			return u, q.n, j + 1, q.n <= maxLength
		}
		if p.tokenNumber(j-1) >= 0 && p.isGlued(j) {
			if p.tokenText(j) == `"` {
				return unitSecond, q.n, j + 1, true
			}
			if p.tokenText(j) == "'" {
				return unitMinute, q.n, j + 1, true
			}
		}
	}
	return 0, 0, 0, false
}

// dotUnit skips the full stop of "5 min." but not one that ends a sentence.
func (p *parser) dotUnit(i int) int {
	if len(p.tokenText(i-1)) <= 3 && p.tokenText(i) == "." && i+1 < len(p.toks) {
		return p.skipDot(i)
	}
	return i
}

// parseQuantities reads "3", "2.5", "1/4", "a", "a couple of", "half a", "one and a
// half", "a few", "several".
func (p *parser) parseQuantities(i int) []quantity {
	if p.isWord(i, "about", "around", "approximately", "roughly", "another", "exactly", "just", "only") {
		if rest := p.parseQuantities(i + 1); len(rest) > 0 {
			return rest
		}
		if p.isWord(i, "another") {
			return []quantity{{1, i + 1}}
		}
		return nil
	}
	var out []quantity
	add := func(n float64, end int) { out = append(out, quantity{n, end}) }
	switch {
	case p.isWord(i, "half"):
		add(0.5, p.skipWord(p.skipWord(i+1, "of"), "a", "an"))
	case p.isWord(i, "a", "an") && p.isWord(i+1, "half"):
		add(0.5, i+2)
	case p.isWord(i, "a") && p.isWord(i+1, "couple", "pair"):
		add(2, p.skipWord(i+2, "of"))
	case p.isWord(i, "couple", "pair"):
		add(2, p.skipWord(i+1, "of"))
	case p.isWord(i, "a") && p.isWord(i+1, "few"):
		add(3, p.skipWord(i+2, "of"))
	case p.isWord(i, "few", "several"):
		add(3, p.skipWord(i+1, "of"))
	case p.isWord(i, "a") && p.isWord(i+1, "dozen"):
		add(12, i+2)
	case p.isWord(i, "a") && p.isWord(i+1, "quarter") && p.isWord(i+2, "of"):
		add(0.25, p.skipWord(i+3, "a", "an"))
	case p.isWord(i, "quarter") && p.isWord(i+1, "of") && p.isWord(i+2, "a", "an"):
		add(0.25, i+3)
	case p.isWord(i, "three"):
		if j := p.skipWord(i+1, "-"); p.isWord(j, "quarter", "quarters") && p.isWord(j+1, "of") {
			add(0.75, p.skipWord(j+2, "a", "an"))
		}
	}
	if n := p.tokenNumber(i); n >= 0 && p.isGlued(i+1) && p.isGlued(i+2) && p.tokenNumber(i+2) >= 0 {
		switch {
		case p.tokenText(i+1) == "/" && p.tokenNumber(i+2) > 0:
			add(float64(n)/float64(p.tokenNumber(i+2)), i+3)
		case p.tokenText(i+1) == "." || p.tokenText(i+1) == ",":
			add(float64(n)+parseFraction(p.toks[i+2].text), i+3)
		}
	}
	for _, r := range p.parseCardinal(i) {
		if p.tokenText(r.end) == "and" {
			j := p.skipWord(r.end+1, "a")
			switch {
			case p.isWord(j, "half"):
				add(float64(r.n)+0.5, j+1)
			case p.isWord(j, "quarter"):
				add(float64(r.n)+0.25, j+1)
			case p.isWord(j, "three") && p.isWord(j+1, "quarter", "quarters"):
				add(float64(r.n)+0.75, j+2)
			}
		}
		add(float64(r.n), r.end)
	}
	if p.isWord(i, "a", "an") {
		add(1, i+1)
	}
	return out
}

func parseFraction(digits string) float64 {
	f, scale := 0.0, 0.1
	for _, c := range []byte(digits) {
		f += float64(c-'0') * scale
		scale /= 10
	}
	return f
}
