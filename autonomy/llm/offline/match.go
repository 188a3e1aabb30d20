package offline

import "strings"

// run is one attempt to match one pattern with one sentence.
type run struct {
	s     *sentence
	g     *grammar
	loose bool // whether to accept a typo of one letter in a literal
	typos int
	score int
	caps  []capture
	// budget limits the number of steps on nonsense input. It is shared by the patterns tried on
	// one sentence. Nil means unlimited.
	budget *int
}

// spendStep uses one step of the budget and reports whether it was available.
func (r *run) spendStep() bool {
	if r.budget == nil {
		return true
	}
	*r.budget--
	return *r.budget >= 0
}

// capture is the content of a slot: the tokens [from, to), and for typed slots the value.
type capture struct {
	name     string
	from, to int
	span     *span
	value    float64
	currency string
	path     string
}

const (
	maxSteps  = 300_000 // an ordinary sentence needs a few thousand steps
	maxTypos  = 2
	maxInside = 60 // maximum number of tokens in a free slot before another piece
)

// tryMatch matches all of tokens [from, end).
func (r *run) tryMatch(n node, from int) bool {
	return n.matchAt(r, from, func(i int) bool { return r.s.skipPunctuation(i) == len(r.s.tokens) })
}

func (w literal) matchAt(r *run, i int, next func(int) bool) bool {
	if w == ":" { // the only punctuation mark that patterns may contain
		return i < len(r.s.tokens) && r.s.tokens[i].kind == punct && r.s.tokens[i].norm == ":" && next(i+1)
	}
	i = r.s.skipPunctuation(i)
	if i >= len(r.s.tokens) || r.s.tokens[i].kind != word || !r.spendStep() {
		return false
	}
	t := r.s.tokens[i].norm
	gain := 2
	if t != string(w) {
		if !r.loose || r.typos >= maxTypos || r.g.vocab[t] || !isTypo(t, string(w)) {
			return false
		}
		gain = 1
		r.typos++
		defer func() { r.typos-- }()
	}
	r.score += gain
	if next(i + 1) {
		return true
	}
	r.score -= gain
	return false
}

func (a oneOf) matchAt(r *run, i int, next func(int) bool) bool {
	for _, n := range a {
		if n.matchAt(r, i, next) {
			return true
		}
	}
	return false
}

func (s series) matchAt(r *run, i int, next func(int) bool) bool {
	if len(s) == 0 {
		return next(i)
	}
	if isHopeless(s[0], r, i) { // most patterns fail here, before a closure is created
		return false
	}
	return s[0].matchAt(r, i, func(j int) bool { return s[1:].matchAt(r, j, next) })
}

// isHopeless reports whether a piece certainly does not match at token i.
func isHopeless(n node, r *run, i int) bool {
	switch n := n.(type) {
	case literal:
		if n == ":" {
			return false
		}
		i = r.s.skipPunctuation(i)
		if i >= len(r.s.tokens) || r.s.tokens[i].kind != word {
			return true
		}
		t := r.s.tokens[i].norm
		return t != string(n) && (!r.loose || r.typos >= maxTypos || r.g.vocab[t])
	case series:
		return len(n) > 0 && isHopeless(n[0], r, i)
	case oneOf:
		for _, a := range n {
			if !isHopeless(a, r, i) {
				return false
			}
		}
		return true
	case named:
		return isHopeless(n.node, r, i)
	}
	return false
}

func (m maybe) matchAt(r *run, i int, next func(int) bool) bool {
	return m.node.matchAt(r, i, next) || next(i)
}

func (n named) matchAt(r *run, i int, next func(int) bool) bool {
	return n.node.matchAt(r, i, func(j int) bool {
		return r.takeCapture(capture{name: n.name, from: r.s.skipPunctuation(i), to: j}, 0, next)
	})
}

// takeCapture stores a capture while the rest of the pattern is matched.
func (r *run) takeCapture(c capture, gain int, next func(int) bool) bool {
	r.caps = append(r.caps, c)
	r.score += gain
	if next(c.to) {
		return true
	}
	r.caps = r.caps[:len(r.caps)-1]
	r.score -= gain
	return false
}

func (s slot) matchAt(r *run, i int, next func(int) bool) bool {
	i = r.s.skipPunctuation(i)
	if i >= len(r.s.tokens) {
		return false
	}
	c := capture{name: s.name, from: i}
	switch s.kind {
	case slotTime:
		return r.timeSlot(c, next)
	case slotPath:
		return r.pathSlot(c, next)
	case slotAmount:
		m, ok := r.s.moneyAt(i)
		if !ok {
			return false
		}
		c.to, c.value, c.currency = m.to, m.value, m.currency
		return r.takeCapture(c, 2, next)
	case slotNumber:
		v, ok := r.s.numberAt(i)
		if !ok || s.name == "number_year" && v < 1900 {
			return false
		}
		c.to, c.value = i+1, v
		return r.takeCapture(c, 2, next)
	case slotClock:
		t, ok := r.s.clockAt(i)
		c.to, c.value, c.path = i+1, t.value, t.path
		if s.name == "clock_colon" && !strings.Contains(r.s.tokens[i].norm, ":") {
			return false
		}
		return ok && r.takeCapture(c, 2, next)
	case slotDate:
		date, ok := r.s.dateAt(i)
		c.to, c.path = i+1, date
		return ok && r.takeCapture(c, 2, next)
	case slotOf:
		meaning, ok := r.s.lex.meaningOf(strings.Split(s.name, "_")[1], r.s.tokens[i].norm)
		c.to, c.path = i+1, meaning
		return ok && r.takeCapture(c, 2, next)
	case slotWord:
		if r.s.tokens[i].kind != word {
			return false
		}
		c.to = i + 1
		return r.takeCapture(c, 0, next)
	case slotLink, slotRepo, slotSite:
		where, ok := r.s.tokens[i].urlOf()
		switch s.kind {
		case slotRepo:
			where, ok = r.s.tokens[i].repositoryOf(r.g.site)
		case slotSite:
			where, ok = r.s.tokens[i].siteOf()
		}
		if !ok {
			return false
		}
		c.to, c.path = i+1, where
		return r.takeCapture(c, 2, next)
	case slotQuote:
		if r.s.tokens[i].kind != quoted {
			return false
		}
		c.to = i + 1
		return r.takeCapture(c, 2, next)
	}
	return r.textSlot(s, c, next)
}

func (r *run) textSlot(s slot, c capture, next func(int) bool) bool {
	n := len(r.s.tokens)
	last := n
	if s.kind == slotFew {
		last = min(n, c.from+4)
		for j := c.from; j < last; j++ {
			if r.s.tokens[j].kind == punct {
				last = j
			}
		}
	}
	if s.greedy {
		for c.to = last; c.to > c.from; c.to-- {
			if r.takeCapture(c, 0, next) {
				return true
			}
		}
		return false
	}
	for c.to = c.from + 1; c.to <= last; c.to++ {
		if c.to-c.from > maxInside && c.to < n {
			c.to = n // this is the only possible end
		}
		if r.takeCapture(c, 0, next) {
			return true
		}
	}
	return false
}

func (r *run) timeSlot(c capture, next func(int) bool) bool {
	for k := range r.s.spans {
		sp := &r.s.spans[k]
		if !r.s.beginsAt(sp, c.from) {
			continue
		}
		c.span, c.to = sp, sp.to
		if r.takeCapture(c, 2, next) {
			return true
		}
	}
	return false
}

// pathSlot matches a path, or the name of a well-known folder, such as "my Downloads folder".
func (r *run) pathSlot(c capture, next func(int) bool) bool {
	t := r.s.tokens[c.from]
	if t.kind == path {
		c.path, c.to = t.inner, c.from+1
		return r.takeCapture(c, 2, next)
	}
	i := c.from
	if t.norm == "my" || t.norm == "the" {
		i++
	}
	for words := 2; words >= 1; words-- {
		p, ok := r.s.lex.meaningOf("folders", r.s.normalizedText(i, i+words))
		if !ok {
			continue
		}
		c.path, c.to = p, i+words
		if j := c.to; j < len(r.s.tokens) && r.s.lex.containsWord("folder-words", r.s.tokens[j].norm) {
			c.to++
		}
		return r.takeCapture(c, 2, next)
	}
	return false
}

// isTypo reports whether typed is want with one typo: two adjacent letters swapped, one letter
// extra or missing, or (in words of six letters and more) one letter replaced. Short words must
// match exactly, because "mote" is not "note". A plural is a different form and not a typo.
func isTypo(typed, want string) bool {
	if len(want) < 4 || len(typed) < 4 || len(typed) > len(want)+1 || len(want) > len(typed)+1 || typed == want+"s" {
		return false
	}
	i := 0
	for i < len(typed) && i < len(want) && typed[i] == want[i] {
		i++
	}
	switch {
	case len(typed) == len(want)+1:
		return typed[i+1:] == want[i:]
	case len(want) == len(typed)+1:
		return typed[i:] == want[i+1:]
	case i+1 < len(want) && typed[i] == want[i+1] && typed[i+1] == want[i]:
		return typed[i+2:] == want[i+2:]
	}
	return len(want) >= 6 && i < len(want) && i > 0 && typed[i+1:] == want[i+1:]
}
