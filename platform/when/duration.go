package when

import (
	"math"
	"time"
)

// length is an amount of time as people say it: months and days follow the
// calendar, the rest is exact.
type length struct {
	months   int
	days     int
	workdays int
	exact    time.Duration
	finest   Grain
	word     unit // the unit when there is but one
	n        float64
}

// plus adds n units.
func (l length) plus(n float64, u unit) length {
	whole, frac := math.Modf(n)
	first := l == length{}
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
	if g := u.grain(); first || g < l.finest {
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

// clockwise reports whether l is finer than whole days.
func (l length) clockwise() bool { return l.exact != 0 }

// from moves t by l, forward or (sign -1) back.
func (l length) from(t time.Time, sign int) time.Time {
	d := dayOf(t)
	if l.months != 0 {
		d = d.addMonths(sign * l.months)
	}
	d = addWorkdays(d+day(sign*l.days), sign*l.workdays)
	if d != dayOf(t) {
		h, m, s := t.Clock()
		t = local(d, h, m, s, t.Location())
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

// maxLength keeps sums inside what time.Time and time.Duration can hold.
const maxLength = 100000

// quantity is how many of a unit.
type quantity struct {
	n   float64
	end int
}

// lengths reads an amount of time that starts at i: "3 days", "an hour and a
// half", "1h30", "2 weeks and 3 days". Longest first.
func (p *parser) lengths(i int) []lengthAlt {
	var out []lengthAlt
	l, j := length{}, i
	for len(out) < 6 {
		u, n, end, ok := p.amount(j)
		if !ok {
			break
		}
		l = l.plus(n, u)
		end = p.halfMore(&l, u, end)
		out = append([]lengthAlt{{l, end}}, out...)
		_, more := unitLetter(p.text(end + 1))
		if u == unitHour && p.num(end) >= 0 && p.glued(end) && p.num(end) < 60 && !(more && p.glued(end+1)) { // 1h30
			out = append([]lengthAlt{{l.plus(float64(p.num(end)), unitMinute), end + 1}}, out...)
			break
		}
		j = p.skip(p.skip(end, ","), "and")
	}
	return out
}

type lengthAlt struct {
	l   length
	end int
}

// halfMore reads the "and a half" of "an hour and a half".
func (p *parser) halfMore(l *length, u unit, i int) int {
	if p.text(i) != "and" {
		return i
	}
	j := p.skip(i+1, "a")
	switch {
	case p.is(j, "half"):
		*l = l.plus(0.5, u)
	case p.is(j, "quarter") && !p.is(j+1, "past", "to"):
		*l = l.plus(0.25, u)
	default:
		return i
	}
	return j + 1
}

// amount reads a quantity and its unit.
func (p *parser) amount(i int) (unit, float64, int, bool) {
	for _, q := range p.quantities(i) {
		j := p.skip(p.skip(q.end, "more", "full", "whole", "further", "additional", "short", "extra"), "of")
		if u, end, ok := p.unit(j); ok {
			return u, q.n, p.dotUnit(end), q.n <= maxLength
		}
		if u, ok := unitLetter(p.text(j)); ok && p.num(j-1) >= 0 && (p.glued(j) || p.text(j) == "h") {
			return u, q.n, j + 1, q.n <= maxLength
		}
		if p.num(j-1) >= 0 && p.glued(j) {
			if p.text(j) == `"` {
				return unitSecond, q.n, j + 1, true
			}
			if p.text(j) == "'" {
				return unitMinute, q.n, j + 1, true
			}
		}
	}
	return 0, 0, 0, false
}

// dotUnit skips the full stop of "5 min." but not one that ends a sentence.
func (p *parser) dotUnit(i int) int {
	if len(p.text(i-1)) <= 3 && p.text(i) == "." && i+1 < len(p.toks) {
		return p.dot(i)
	}
	return i
}

// quantities reads "3", "2.5", "1/4", "a", "a couple of", "half a", "one and a
// half", "a few", "several".
func (p *parser) quantities(i int) []quantity {
	if p.is(i, "about", "around", "approximately", "roughly", "another", "exactly", "just", "only") {
		if rest := p.quantities(i + 1); len(rest) > 0 {
			return rest
		}
		if p.is(i, "another") {
			return []quantity{{1, i + 1}}
		}
		return nil
	}
	var out []quantity
	add := func(n float64, end int) { out = append(out, quantity{n, end}) }
	switch {
	case p.is(i, "half"):
		add(0.5, p.skip(p.skip(i+1, "of"), "a", "an"))
	case p.is(i, "a", "an") && p.is(i+1, "half"):
		add(0.5, i+2)
	case p.is(i, "a") && p.is(i+1, "couple", "pair"):
		add(2, p.skip(i+2, "of"))
	case p.is(i, "couple", "pair"):
		add(2, p.skip(i+1, "of"))
	case p.is(i, "a") && p.is(i+1, "few"):
		add(3, p.skip(i+2, "of"))
	case p.is(i, "few", "several"):
		add(3, p.skip(i+1, "of"))
	case p.is(i, "a") && p.is(i+1, "dozen"):
		add(12, i+2)
	case p.is(i, "a") && p.is(i+1, "quarter") && p.is(i+2, "of"):
		add(0.25, p.skip(i+3, "a", "an"))
	case p.is(i, "three") && p.is(i+1, "quarters") && p.is(i+2, "of"):
		add(0.75, p.skip(i+3, "a", "an"))
	}
	if n := p.num(i); n >= 0 && p.glued(i+1) && p.glued(i+2) && p.num(i+2) >= 0 {
		switch {
		case p.text(i+1) == "/" && p.num(i+2) > 0:
			add(float64(n)/float64(p.num(i+2)), i+3)
		case p.text(i+1) == "." || p.text(i+1) == ",":
			add(float64(n)+fraction(p.toks[i+2].text), i+3)
		}
	}
	for _, r := range p.cardinal(i) {
		if p.text(r.end) == "and" {
			j := p.skip(r.end+1, "a")
			if p.is(j, "half") {
				add(float64(r.n)+0.5, j+1)
			} else if p.is(j, "quarter") {
				add(float64(r.n)+0.25, j+1)
			}
		}
		add(float64(r.n), r.end)
	}
	if p.is(i, "a", "an") {
		add(1, i+1)
	}
	return out
}

func fraction(digits string) float64 {
	f, scale := 0.0, 0.1
	for _, c := range []byte(digits) {
		f += float64(c-'0') * scale
		scale /= 10
	}
	return f
}
