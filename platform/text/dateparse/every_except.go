package dateparse

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// DaysOff is the entry in Every.Except for the days off in the owner's own calendar.
const DaysOff = "days off"

// parseExceptions reads "except on 24 December and 1 January", "but not on public
// holidays", "except Sundays".
func (p *parser) parseExceptions(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	j := i + 1
	switch {
	case !r.marked || r.not != 0 || len(r.except) > 0:
		return 0, r, false
	case p.isWord(i, "except", "excluding"):
		j = p.skipWord(j, "for")
	case p.isWord(i, "but", "and") && p.isWord(j, "not"):
		j++
	default:
		return 0, r, false
	}
	end := 0
	for {
		k, next, ok := p.parseException(p.skipWord(p.skipWord(p.skipWord(j, "on"), "all", "any"), "my", "the"), r)
		if !ok {
			return end, r, end > 0
		}
		end, r = k, next
		if j = p.skipWord(p.skipWord(k, ","), "and", "or"); j == k {
			return end, r, true
		}
	}
}

// parseException parses one entry of such a list.
func (p *parser) parseException(i int, r recurrenceRule) (int, recurrenceRule, bool) {
	j := p.skipWord(i, "public", "bank", "national", "official", "legal", "statutory")
	switch {
	case p.isWord(j, "holiday", "holidays"):
		return j + 1, r.withException(DaysOff), true
	case p.isWord(i, "day", "days") && p.isWord(i+1, "off"):
		return i + 2, r.withException(DaysOff), true
	}
	for _, a := range p.parsePieces(i) {
		if entry, ok := a.s.exceptionDate(); ok {
			return a.end, r.withException(entry), true
		}
	}
	if d, ok := p.dayNumber(i); ok { // "24 and 25 December"
		if k := p.skipWord(p.skipWord(d.end, ","), "and", "or"); k > d.end {
			for _, a := range p.parsePieces(k) {
				s := a.s
				if s.dom = d.n; a.s.set&fDom != 0 {
					if entry, ok := s.exceptionDate(); ok {
						return d.end, r.withException(entry), true
					}
				}
			}
		}
	}
	if end, days, ok := p.dayNames(i, recurrenceRule{from: -1}); ok && days.days != 0 {
		r.not |= days.days
		return end, r, true
	}
	return 0, r, false
}

func (r recurrenceRule) withException(entry string) recurrenceRule {
	if !slices.Contains(r.except, entry) {
		r.except = append(slices.Clone(r.except), entry)
	}
	return r
}

// exceptionDate returns a date as an exception. It contains the year if the text does.
func (s spec) exceptionDate() (string, bool) {
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

// ExceptDate reports whether an exception is a day in every year ("12-24") or in one year
// ("2026-12-24").
func ExceptDate(s string) bool {
	if len(s) == len("12-24") {
		s = "2024-" + s // a leap year
	}
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// dropExceptedWeekdays removes the excepted weekdays from the rule's days.
func (r recurrenceRule) dropExceptedWeekdays() (recurrenceRule, bool) {
	if r.not == 0 {
		return r, true
	}
	if r.days == 0 {
		if r.doms != 0 || r.hasNthWeekday() || r.unit > unitDay || r.unit == unitDay && r.n > 1 {
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
	return ", except on " + joinWithAnd(out)
}
