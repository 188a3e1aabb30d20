package dateparse

// candidate is a resolved reading of a token range.
type candidate struct {
	end       int
	moment    Moment
	period    *Period
	ambiguous []string
}

// resolveReadings resolves the readings that start at i, longest first.
func (p *parser) resolveReadings(i int) []candidate {
	var out []candidate
	for _, a := range p.parseExpression(i) {
		if !p.whole && a.s.weak {
			continue
		}
		s, ok := p.settleDates(a.s)
		if !ok {
			if words := p.describeChoices(a.s); words != nil {
				out = append(out, candidate{end: a.end, ambiguous: words})
			}
			continue
		}
		if m, ok := p.resolveSpec(s); ok {
			out = append(out, candidate{end: p.skipTrailingWords(a.end), moment: m, period: p.periodOf(s, m)})
		}
	}
	return out
}

// skipTrailingWords skips words that do not change the meaning, as in "3pm approximately" and "5
// sharp".
func (p *parser) skipTrailingWords(i int) int {
	if p.isWord(i, "or") && p.isWord(i+1, "so", "thereabouts") {
		return i + 2
	}
	return p.skipWord(i, "approximately", "sharp", "exactly", "ish", "roughly")
}

// settleDates selects one of the possible dates of s. ok is false if the rest of s matches none or
// several of them.
func (p *parser) settleDates(s spec) (spec, bool) {
	if s.either == nil {
		return s, true
	}
	rs := p.dateReadings(s)
	if len(rs) != 1 {
		return s, false
	}
	return rs[0], true
}

// dateReadings lists the possible dates of an ambiguous s.
func (p *parser) dateReadings(s spec) []spec {
	var out []spec
	for _, e := range s.either {
		base := s
		base.either = nil
		base.set &^= fDom | fMonth | fYear
		if m := overlaySpec(base, e); p.isResolvable(m) {
			m.weak = s.weak
			out = append(out, m)
		}
	}
	return out
}

// describeChoices describes the readings of an ambiguous s in a form that Parse
// understands.
func (p *parser) describeChoices(s spec) []string {
	var out []string
	for _, r := range p.dateReadings(s) {
		m, ok := p.resolveSpec(r)
		if !ok {
			continue
		}
		form := "2 January 2006"
		if m.HasClock {
			form += " at 15:04"
		}
		out = append(out, m.Time.Format(form))
	}
	return out
}

// askWeekdayConflict makes a spec ambiguous if its weekday conflicts with its date. The two
// readings are the date and the nearest day with that weekday.
func (p *parser) askWeekdayConflict(s spec) (spec, bool) {
	const both = fWeekday | fDom | fMonth
	if s.set&both != both || s.either != nil || s.set&(fNth|fFeast) != 0 {
		return s, false
	}
	wd := s.wd
	s.set &^= fWeekday
	span, _, ok := p.resolveDays(s)
	if !ok {
		return s, false
	}
	d, ok := nearestDay(span.lo, 1, func(d day) bool { return d.weekdayOf() == wd })
	if !ok {
		return s, false
	}
	said := spec{set: s.set & (fDom | fMonth | fYear), dom: s.dom, month: s.month, months: s.months, year: s.year, grain: Day}
	s.either = []spec{said, daySpec(d)}
	s.set &^= fSpan
	return s, true
}
