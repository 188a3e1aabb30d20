package when

import "time"

// parser parses one sentence. It is not safe for concurrent use and is not
// reused.
type parser struct {
	src   string
	toks  []token
	now   time.Time
	today day
	whole bool          // the input must be a single time: weak words count
	past  bool          // what has no year means the latest such time, not the next
	back  bool          // a bare time of day means the latest such time
	exprs map[int][]alt // what expr read, by start
	parts map[int][]alt // what pieces read, by start
	work  *work
}

// work is what all parsers of one sentence share: how much they have done, so
// that hostile input cannot keep them busy, and the holidays they looked up.
type work struct {
	steps  int
	limit  int
	feasts map[feastYear][]day
}

type feastYear struct {
	feast *feast
	year  int
}

const (
	maxSteps      = 20000  // for all that starts at one token
	maxTotalSteps = 200000 // for a sentence
)

// step counts one unit of work; it reports whether there is some left.
func (w *work) step() bool {
	w.steps++
	return w.steps <= w.limit
}

func newParser(src string, now time.Time) *parser {
	return &parser{
		src: src, toks: lex(src), now: now, today: dayOf(now), exprs: map[int][]alt{}, parts: map[int][]alt{},
		work: &work{limit: maxSteps, feasts: map[feastYear][]day{}},
	}
}

// daysOf returns the cached days of a holiday.
func (p *parser) daysOf(f *feast, year int) []day {
	key := feastYear{f, year}
	days, ok := p.work.feasts[key]
	if !ok {
		days = f.in(year)
		p.work.feasts[key] = days
	}
	return days
}

// text returns the folded text of token i, "" outside the sentence.
func (p *parser) text(i int) string {
	if i < 0 || i >= len(p.toks) {
		return ""
	}
	return p.toks[i].text
}

// num returns the value of token i when it is a run of digits, else -1.
func (p *parser) num(i int) int {
	if i < 0 || i >= len(p.toks) {
		return -1
	}
	return p.toks[i].n
}

func (p *parser) glued(i int) bool { return i > 0 && i < len(p.toks) && p.toks[i].glued }

// is reports whether token i is one of words.
func (p *parser) is(i int, words ...string) bool {
	t := p.text(i)
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

// phrase returns the position after the given words if they are at i.
func (p *parser) phrase(i int, words ...string) (int, bool) {
	for _, w := range words {
		if p.text(i) != w {
			return 0, false
		}
		i++
	}
	return i, true
}

// skip returns i+1 when token i is one of words, else i.
func (p *parser) skip(i int, words ...string) int {
	if p.is(i, words...) {
		return i + 1
	}
	return i
}

// dot skips the full stop of an abbreviation.
func (p *parser) dot(i int) int {
	if p.text(i) == "." && p.glued(i) {
		return i + 1
	}
	return i
}

// abbreviated returns the position after the short name at i and its stop.
func (p *parser) abbreviated(i int) int {
	if n := len(p.text(i)); n <= 5 && !p.is(i, "march", "april", "may", "june", "july") && i+2 < len(p.toks) {
		return p.dot(i + 1)
	}
	return i + 1
}

// inNumber reports whether the digits at i belong to a decimal, an amount or a
// longer code such as 12:30, 1.5, $20 or 12-1234.
func (p *parser) inNumber(i int) bool {
	if p.glued(i) && (p.is(i-1, "$", "€", "£", "#", "%") || p.is(i-1, ".", ",", ":") && p.num(i-2) >= 0) {
		return true
	}
	if p.glued(i+1) && p.is(i+1, "%", "$", "€", "£") {
		return true
	}
	return p.glued(i+1) && p.is(i+1, ".", ",", ":") && p.glued(i+2) && p.num(i+2) >= 0
}

// skipEnd skips what may follow a phrase that is a whole time.
func (p *parser) skipEnd(i int) int {
	for p.is(i, ".", "!", "?", ",", ";") {
		i++
	}
	return i
}
