package when

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// DaysOff in Every.Except are the days off that the owner's own calendar names.
const DaysOff = "days off"

// except reads "except on 24 December and 1 January", "but not on public
// holidays", "except Sundays".
func (p *parser) except(i int, r rule) (int, rule, bool) {
	j := i + 1
	switch {
	case !r.marked || r.not != 0 || len(r.except) > 0:
		return 0, r, false
	case p.is(i, "except", "excluding"):
		j = p.skip(j, "for")
	case p.is(i, "but", "and") && p.is(j, "not"):
		j++
	default:
		return 0, r, false
	}
	end := 0
	for {
		k, next, ok := p.exception(p.skip(p.skip(p.skip(j, "on"), "all", "any"), "my", "the"), r)
		if !ok {
			return end, r, end > 0
		}
		end, r = k, next
		if j = p.skip(p.skip(k, ","), "and", "or"); j == k {
			return end, r, true
		}
	}
}

// exception reads one of them.
func (p *parser) exception(i int, r rule) (int, rule, bool) {
	j := p.skip(i, "public", "bank", "national", "official", "legal", "statutory")
	switch {
	case p.is(j, "holiday", "holidays"):
		return j + 1, r.without(DaysOff), true
	case p.is(i, "day", "days") && p.is(i+1, "off"):
		return i + 2, r.without(DaysOff), true
	}
	for _, a := range p.pieces(i) {
		if entry, ok := a.s.dated(); ok {
			return a.end, r.without(entry), true
		}
	}
	if d, ok := p.dayNumber(i); ok { // "24 and 25 December"
		if k := p.skip(p.skip(d.end, ","), "and", "or"); k > d.end {
			for _, a := range p.pieces(k) {
				s := a.s
				if s.dom = d.n; a.s.set&fDom != 0 {
					if entry, ok := s.dated(); ok {
						return d.end, r.without(entry), true
					}
				}
			}
		}
	}
	if end, days, ok := p.dayNames(i, rule{from: -1}); ok && days.days != 0 {
		r.not |= days.days
		return end, r, true
	}
	return 0, r, false
}

func (r rule) without(entry string) rule {
	if !slices.Contains(r.except, entry) {
		r.except = append(slices.Clone(r.except), entry)
	}
	return r
}

// dated returns a date as an exception, with its year if one was given.
func (s spec) dated() (string, bool) {
	switch {
	case s.either != nil || s.dom < 1 || s.dom > 31 || s.months != 1:
	case s.set == fMonth|fDom:
		out := fmt.Sprintf("%02d-%02d", s.month, s.dom)
		return out, ExceptDate(out)
	case s.set == fYear|fMonth|fDom:
		out := fmt.Sprintf("%04d-%02d-%02d", s.year, s.month, s.dom)
		return out, ExceptDate(out)
	}
	return "", false
}

// ExceptDate reports whether an exception is a day of each year ("12-24") or of
// one ("2026-12-24").
func ExceptDate(s string) bool {
	if len(s) == len("12-24") {
		s = "2024-" + s // a leap year
	}
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// spare takes the weekdays out that were excepted.
func (r rule) spare() (rule, bool) {
	if r.not == 0 {
		return r, true
	}
	if r.days == 0 {
		if r.doms != 0 || r.nth() || r.unit > unitDay || r.unit == unitDay && r.n > 1 {
			return r, false
		}
		r.days = allWeek
	}
	r.days &^= r.not
	return r, r.days != 0
}

// describeExcept describes exceptions in a form that can be parsed again.
func describeExcept(list string) string {
	var out []string
	for e := range strings.SplitSeq(list, ",") {
		switch e = strings.TrimSpace(e); {
		case e == "":
			continue
		case len(e) == len("12-24") && ExceptDate(e):
			at, _ := time.Parse(time.DateOnly, "2024-"+e)
			e = at.Format("2 January")
		case ExceptDate(e):
			at, _ := time.Parse(time.DateOnly, e)
			e = at.Format("2 January 2006")
		}
		out = append(out, e)
	}
	if len(out) == 0 {
		return ""
	}
	return ", except on " + and(out)
}
