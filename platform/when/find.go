package when

import (
	"slices"
	"time"
	"unicode/utf8"
)

// Match is a time mentioned in a sentence. At most one of Moment and Every is
// set. Period is set for a range of time; Moment is also set if the range is one
// unit ("next week", "tomorrow morning"). All three are nil for a time that
// cannot be resolved: one with two readings, for which Parse(Text) returns the
// question to ask, or a recurrence that cannot be expressed, for which
// ParseEvery(Text) returns the reason.
type Match struct {
	Start, End int // bytes in the sentence, on rune boundaries
	Text       string
	Moment     *Moment
	Every      *Every
	Period     *Period
}

// maxSentence bounds what Find reads, in bytes; a longer text is cut.
const maxSentence = 16 << 10

// Find returns the times mentioned in a sentence, longest first, without
// overlaps. A match includes leading words ("at 5", "on Friday"). Words that are
// only sometimes times ("may", "second", "sat") count only with supporting
// context.
func Find(sentence string, now time.Time) []Match {
	if len(sentence) > maxSentence {
		cut := maxSentence
		for cut > 0 && !utf8.RuneStart(sentence[cut]) {
			cut--
		}
		sentence = sentence[:cut]
	}
	p := newParser(sentence, now)
	var all []found
	for i := range p.toks {
		p.work.limit = min(p.work.steps+maxSteps, maxTotalSteps)
		if p.begins(i) {
			all = append(all, p.at(i)...)
		}
	}
	slices.SortStableFunc(all, func(a, b found) int {
		if d := p.bytes(b) - p.bytes(a); d != 0 {
			return d
		}
		if a.start != b.start {
			return a.start - b.start
		}
		return a.rank - b.rank
	})
	var out []Match
	var taken []found
	for _, f := range all {
		if slices.ContainsFunc(taken, func(t found) bool { return f.start < t.end && t.start < f.end }) {
			continue
		}
		taken = append(taken, f)
		out = append(out, p.match(f))
	}
	return out
}

// found is a match in tokens. rank orders the kinds where they tie.
type found struct {
	start, end, rank int
	m                Match
}

// bytes returns the length of a match in bytes.
func (p *parser) bytes(f found) int { return p.toks[f.end-1].end - p.toks[f.start].start }

// begins reports whether a match may start at token i: not inside a word,
// number, address or code.
func (p *parser) begins(i int) bool {
	if !p.toks[i].word && p.num(i) < 0 && !p.is(i, "@", "~", "'") {
		return false
	}
	if i == 0 || !p.glued(i) {
		return p.num(i) < 0 || !p.is(i-1, "$", "€", "£", "#")
	}
	return p.is(i-1, "(", "[", "{", `"`, "'", "=", ":", ",", ";", "*", "<", ">", "!", "?", "…") && p.num(i-2) < 0
}

// stops reports whether a match may end before token i.
func (p *parser) stops(i int) bool {
	if i >= len(p.toks) || !p.glued(i) {
		return true
	}
	if p.toks[i].word || p.num(i) >= 0 || p.is(i, "%", "@", "_", "$", "€", "£", "°") {
		return false
	}
	if p.is(i, "/", "-", ":", ".", "'") && p.glued(i+1) && i+1 < len(p.toks) && (p.toks[i+1].word || p.num(i+1) >= 0) {
		return false
	}
	return true
}

// at lists the longest match of each kind that starts at token i.
func (p *parser) at(i int) []found {
	var out []found
	end := i
	everys, read := p.everys(i)
	for _, e := range everys {
		if p.stops(e.end) {
			every := e.every
			end = e.end
			out = append(out, found{i, e.end, 0, Match{Every: &every}})
			break
		}
	}
	if read > end && p.stops(read) {
		return []found{{i, read, 0, Match{}}}
	}
	if more, ok := p.beyond(i, end); ok {
		return []found{{i, more, 0, Match{}}}
	}
	for _, r := range p.ranges(i) {
		if p.stops(r.end) {
			rank := 2
			if p.is(i, "for") { // "for 2 hours from 2pm" is not a single time
				rank = 0
			}
			out = append(out, found{i, r.end, rank, Match{Period: r.period}})
			break
		}
	}
	for _, c := range p.moments(i) {
		if !p.stops(c.end) {
			continue
		}
		m := Match{Period: c.period}
		if end, ok := p.contradicted(c.end); ok {
			return []found{{i, end, 0, Match{}}}
		}
		if c.ambiguous == nil {
			moment := c.moment
			m.Moment = &moment
		}
		out = append(out, found{i, c.end, 1, m})
		break
	}
	return out
}

// contradicted reports whether a conflicting date follows what was read up to i:
// "tomorrow 25 December" on another day.
func (p *parser) contradicted(i int) (int, bool) {
	for _, a := range p.pieces(i) {
		if a.s.set&(fDom|fWeekday|fFeast) != 0 && !a.s.weak && !a.s.loose && p.stops(a.end) && p.valid(a.s) {
			return a.end, true
		}
	}
	return 0, false
}

// beyond returns the real end of a recurrence of which only a part, up to end,
// can be expressed: "every first Monday at 9", "every day until June".
func (p *parser) beyond(i, end int) (int, bool) {
	next := end
	switch {
	case p.is(i, "every", "each"):
		next = i + 1
	case end == i:
		return 0, false
	}
	last := end
	for _, j := range []int{next, p.skip(end, "starting", "beginning", "until", "till", "from", "through", "except")} {
		if j == end && end > i {
			continue
		}
		for _, a := range p.expr(j) {
			if p.stops(a.end) && a.end > last {
				last = a.end
			}
			break
		}
		for _, r := range p.ranges(j) {
			if p.stops(r.end) && r.end > last {
				last = r.end
			}
			break
		}
	}
	return last, last > end
}

func (p *parser) match(f found) Match {
	m := f.m
	m.Start, m.End = p.toks[f.start].start, p.toks[f.end-1].end
	m.Text = p.src[m.Start:m.End]
	if m.Period != nil {
		m.Period.Text = m.Text
	}
	return m
}
