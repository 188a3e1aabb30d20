package dateparse

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/lazyregexp"
)

// Period is a time range [From, To). An open end is the zero time: "after Friday" has no To, and
// "before Friday" has no From.
type Period struct {
	From, To time.Time
	Text     string
}

// noMonth matches an ISO 8601 month that does not exist. The text must then be rejected; otherwise
// it could be parsed as a range from a year to a day.
var noMonth = lazyregexp.New(`^\s*\d{4}-(0?0|1[3-9]|[2-9]\d)\s*$`)

// periodOf returns the period of a moment, or nil if the moment is an instant or a day.
func (p *parser) periodOf(s spec, m Moment) *Period {
	loc := p.now.Location()
	switch {
	case s.run != nil:
		return &Period{From: s.run.From, To: s.run.To}
	case s.set&(fClock|fInstant) != 0:
		return nil
	case s.set&fPart != 0:
		from, to := partSpan(s, m.Time)
		return &Period{From: from, To: to}
	}
	span, _, ok := p.resolveDays(s)
	if !ok || span.hi-span.lo < 2 {
		return nil
	}
	return &Period{From: span.lo.startIn(loc), To: span.hi.startIn(loc)}
}

// ParsePeriod parses a complete phrase for a time range: "today", "last week", "in March", "since
// Monday", "between 3 May and 9 May". A month or weekday without a year is the latest one that has
// started. Both ends of a range of days are included; see docs/dates.md. The error is an
// *AmbiguousError or wraps ErrNotUnderstood.
func ParsePeriod(phrase string, now time.Time) (Period, error) {
	if len(phrase) > maxPhrase || noMonth.MatchString(phrase) {
		return Period{}, notUnderstood(phrase, periodForms)
	}
	p := newParser(phrase, now)
	p.whole, p.past = true, true
	text := strings.TrimSpace(phrase)
	look := []func() (*Period, []string){p.wholeUnit, p.wholeRange}
	if p.isWord(0, "for") { // "for 3 days from Monday" is not a single day
		slices.Reverse(look)
	}
	for _, read := range look {
		pd, ask := read()
		if ask != nil {
			return Period{}, &AmbiguousError{Phrase: text, Choices: ask}
		}
		if pd != nil {
			pd.Text = text
			return *pd, nil
		}
	}
	return Period{}, notUnderstood(phrase, periodForms)
}

// wholeUnit parses the whole phrase as one unit of time.
func (p *parser) wholeUnit() (*Period, []string) {
	for _, c := range p.resolveReadings(0) {
		if p.skipEnd(c.end) != len(p.toks) {
			continue
		}
		if c.ambiguous != nil {
			return nil, c.ambiguous
		}
		if pd, ok := p.asPeriod(c); ok {
			return &pd, nil
		}
	}
	return nil, nil
}

// wholeRange parses the whole phrase as a range with ends.
func (p *parser) wholeRange() (*Period, []string) {
	for _, r := range p.parseRanges(0) {
		if p.skipEnd(r.end) == len(p.toks) {
			return r.period, r.ambiguous
		}
	}
	return nil, nil
}

// asPeriod returns the period of a moment. For a day it is the whole day.
func (p *parser) asPeriod(c candidate) (Period, bool) {
	if c.period != nil {
		return *c.period, true
	}
	if c.moment.Grain < Day {
		return Period{}, false
	}
	d := dayOf(c.moment.Time)
	loc := p.now.Location()
	return Period{From: d.startIn(loc), To: (d + 1).startIn(loc)}, true
}
