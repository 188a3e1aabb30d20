package dateparse

import (
	"slices"
	"time"
	"unicode/utf8"

	"hob/platform/text/sorting"
)

// Match is a time mentioned in a sentence. At most one of Moment and Every is set. Period is set
// for a time range; Moment is also set if the range is one unit ("next week", "tomorrow morning").
// All three are nil for a time that cannot be resolved: either it has two readings, and Parse(Text)
// returns the question to ask, or it is a recurrence that cannot be expressed, and ParseEvery(Text)
// returns the reason.
type Match struct {
	Start, End int // bytes in the sentence, on rune boundaries
	Text       string
	Moment     *Moment
	Every      *Every
	Period     *Period
}

// maxSentence limits the text that Find reads, in bytes. A longer text is truncated.
const maxSentence = 16 << 10

// Find returns the times mentioned in a sentence, longest first, without overlaps. A match includes
// leading words ("at 5", "on Friday"). Words that are only sometimes times ("may", "second", "sat")
// are matched only if the context supports this.
func Find(sentence string, now time.Time) []Match {
	if len(sentence) > maxSentence {
		cut := maxSentence
		for cut > 0 && !utf8.RuneStart(sentence[cut]) {
			cut--
		}
		sentence = sentence[:cut]
	}
	p := newParser(sentence, now)
	var all []foundMatch
	for i := range p.toks {
		p.work.limit = min(p.work.steps+maxSteps, maxTotalSteps)
		if p.mayBegin(i) {
			all = append(all, p.matchesAt(i)...)
		}
	}
	sorting.StableByFunc(all, func(a, b foundMatch) int {
		if d := p.byteLength(b) - p.byteLength(a); d != 0 {
			return d
		}
		if a.start != b.start {
			return a.start - b.start
		}
		return a.rank - b.rank
	})
	var out []Match
	var taken []foundMatch
	for _, f := range all {
		if slices.ContainsFunc(taken, func(t foundMatch) bool { return f.start < t.end && t.start < f.end }) {
			continue
		}
		taken = append(taken, f)
		out = append(out, p.toMatch(f))
	}
	return out
}

// foundMatch is a match in tokens. rank determines the order of kinds for matches of the same
// length.
type foundMatch struct {
	start, end, rank int
	m                Match
}

// byteLength returns the length of a match in bytes.
func (p *parser) byteLength(f foundMatch) int { return p.toks[f.end-1].end - p.toks[f.start].start }

// mayBegin reports whether a match may start at token i: not inside a word,
// number, address or code.
func (p *parser) mayBegin(i int) bool {
	if !p.toks[i].word && p.tokenNumber(i) < 0 && !p.isWord(i, "@", "~", "'") {
		return false
	}
	if i == 0 || !p.isGlued(i) {
		return p.tokenNumber(i) < 0 || !p.isWord(i-1, "$", "€", "£", "#")
	}
	return p.isWord(i-1, "(", "[", "{", `"`, "'", "=", ":", ",", ";", "*", "<", ">", "!", "?", "…") && p.tokenNumber(i-2) < 0
}

// mayEnd reports whether a match may end before token i.
func (p *parser) mayEnd(i int) bool {
	if i >= len(p.toks) || !p.isGlued(i) {
		return true
	}
	if p.toks[i].word || p.tokenNumber(i) >= 0 || p.isWord(i, "%", "@", "_", "$", "€", "£", "°") {
		return false
	}
	if p.isWord(i, "/", "-", ":", ".", "'") && p.isGlued(i+1) && i+1 < len(p.toks) && (p.toks[i+1].word || p.tokenNumber(i+1) >= 0) {
		return false
	}
	return true
}

// matchesAt lists the longest match of each kind that starts at token i.
func (p *parser) matchesAt(i int) []foundMatch {
	var out []foundMatch
	end := i
	everys, read := p.parseRecurrences(i)
	for _, e := range everys {
		if p.mayEnd(e.end) {
			every := e.every
			end = e.end
			out = append(out, foundMatch{i, e.end, 0, Match{Every: &every}})
			break
		}
	}
	if read > end && p.mayEnd(read) {
		return []foundMatch{{i, read, 0, Match{}}}
	}
	if more, ok := p.recurrenceEnd(i, end); ok {
		return []foundMatch{{i, more, 0, Match{}}}
	}
	for _, r := range p.parseRanges(i) {
		if p.mayEnd(r.end) {
			rank := 2
			if p.isWord(i, "for") { // "for 2 hours from 2pm" is a range, not a single time
				rank = 0
			}
			out = append(out, foundMatch{i, r.end, rank, Match{Period: r.period}})
			break
		}
	}
	for _, c := range p.resolveReadings(i) {
		if !p.mayEnd(c.end) {
			continue
		}
		m := Match{Period: c.period}
		if end, ok := p.contradictingDate(c.end); ok {
			return []foundMatch{{i, end, 0, Match{}}}
		}
		if c.ambiguous == nil {
			moment := c.moment
			m.Moment = &moment
		}
		out = append(out, foundMatch{i, c.end, 1, m})
		break
	}
	return out
}

// contradictingDate finds a date that follows the text before i and conflicts with it, such as "25
// December" after "tomorrow" on any day but 24 December. It returns the end of that date.
func (p *parser) contradictingDate(i int) (int, bool) {
	for _, a := range p.parsePieces(i) {
		if a.s.set&(fDom|fWeekday|fFeast) != 0 && !a.s.weak && !a.s.loose && p.mayEnd(a.end) && p.isResolvable(a.s) {
			return a.end, true
		}
	}
	return 0, false
}

// recurrenceEnd returns the end of the whole recurrence of which only the part up to end can be
// expressed: "every first Monday at 9", "every day until June".
func (p *parser) recurrenceEnd(i, end int) (int, bool) {
	next := end
	switch {
	case p.isWord(i, "every", "each"):
		next = i + 1
	case end == i:
		return 0, false
	}
	last := end
	for _, j := range []int{next, p.skipWord(end, "starting", "beginning", "until", "till", "from", "through", "except")} {
		if j == end && end > i {
			continue
		}
		for _, a := range p.parseExpression(j) {
			if p.mayEnd(a.end) && a.end > last {
				last = a.end
			}
			break
		}
		for _, r := range p.parseRanges(j) {
			if p.mayEnd(r.end) && r.end > last {
				last = r.end
			}
			break
		}
	}
	return last, last > end
}

func (p *parser) toMatch(f foundMatch) Match {
	m := f.m
	m.Start, m.End = p.toks[f.start].start, p.toks[f.end-1].end
	m.Text = p.src[m.Start:m.End]
	if m.Period != nil {
		m.Period.Text = m.Text
	}
	return m
}
