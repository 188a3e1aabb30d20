package dateparse

import "time"

// parser parses one sentence. It is not safe for concurrent use and is not
// reused.
type parser struct {
	src   string
	toks  []token
	now   time.Time
	today day
	whole bool                     // the input must be a single time, so ambiguous words are accepted
	past  bool                     // a time without a year means the latest one, not the next
	back  bool                     // a bare time of day means the latest such time
	exprs map[int][]candidateParse // results of parseExpression, by start
	parts map[int][]candidateParse // results of parsePieces, by start
	work  *workBudget
}

// workBudget is shared by all parsers of one sentence. It counts their steps, so that hostile input
// cannot exhaust the CPU. It also caches the days of holidays.
type workBudget struct {
	steps  int
	limit  int
	feasts map[feastYear][]day
}

type feastYear struct {
	feast *holiday
	year  int
}

const (
	maxSteps      = 20000  // limit for all readings that start at one token
	maxTotalSteps = 200000 // limit for a sentence
)

// spendStep counts one step of work and reports whether the limit allows it.
func (w *workBudget) spendStep() bool {
	w.steps++
	return w.steps <= w.limit
}

func newParser(src string, now time.Time) *parser {
	return &parser{
		src: src, toks: tokenizeSentence(src), now: now, today: dayOf(now), exprs: map[int][]candidateParse{}, parts: map[int][]candidateParse{},
		work: &workBudget{limit: maxSteps, feasts: map[feastYear][]day{}},
	}
}

// daysOf returns the days of a holiday in a year, and caches them.
func (p *parser) daysOf(f *holiday, year int) []day {
	key := feastYear{f, year}
	days, ok := p.work.feasts[key]
	if !ok {
		days = f.daysInYear(year)
		p.work.feasts[key] = days
	}
	return days
}

// tokenText returns the folded text of token i, or "" if i is outside the sentence.
func (p *parser) tokenText(i int) string {
	if i < 0 || i >= len(p.toks) {
		return ""
	}
	return p.toks[i].text
}

// tokenNumber returns the value of token i if it consists of digits, otherwise -1.
func (p *parser) tokenNumber(i int) int {
	if i < 0 || i >= len(p.toks) {
		return -1
	}
	return p.toks[i].n
}

func (p *parser) isGlued(i int) bool { return i > 0 && i < len(p.toks) && p.toks[i].glued }

// isWord reports whether token i is one of words.
func (p *parser) isWord(i int, words ...string) bool {
	t := p.tokenText(i)
	if t == "" {
		return false
	}
	for _, w := range words {
		if t == w {
			return true
		}
	}
	return false
}

// matchPhrase reports whether the given words are at i, and returns the position after them.
func (p *parser) matchPhrase(i int, words ...string) (int, bool) {
	for _, w := range words {
		if p.tokenText(i) != w {
			return 0, false
		}
		i++
	}
	return i, true
}

// skipWord returns i+1 if token i is one of words, otherwise i.
func (p *parser) skipWord(i int, words ...string) int {
	if p.isWord(i, words...) {
		return i + 1
	}
	return i
}

// skipDot skips the full stop of an abbreviation.
func (p *parser) skipDot(i int) int {
	if p.tokenText(i) == "." && p.isGlued(i) {
		return i + 1
	}
	return i
}

// skipAbbreviation returns the position after the abbreviation at i, including its full stop.
func (p *parser) skipAbbreviation(i int) int {
	if n := len(p.tokenText(i)); n <= 5 && !p.isWord(i, "march", "april", "may", "june", "july") && i+2 < len(p.toks) {
		return p.skipDot(i + 1)
	}
	return i + 1
}

// inNumber reports whether the digits at i belong to a decimal, an amount or a
// longer code such as 12:30, 1.5, $20 or 12-1234.
func (p *parser) inNumber(i int) bool {
	if p.isGlued(i) && (p.isWord(i-1, "$", "€", "£", "#", "%") || p.isWord(i-1, ".", ",", ":") && p.tokenNumber(i-2) >= 0) {
		return true
	}
	if p.isGlued(i+1) && p.isWord(i+1, "%", "$", "€", "£") {
		return true
	}
	return p.isGlued(i+1) && p.isWord(i+1, ".", ",", ":") && p.isGlued(i+2) && p.tokenNumber(i+2) >= 0
}

// skipEnd skips tokens that may follow a phrase that is a complete time.
func (p *parser) skipEnd(i int) int {
	for p.isWord(i, ".", "!", "?", ",", ";") {
		i++
	}
	return i
}
