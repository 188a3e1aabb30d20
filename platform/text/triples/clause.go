package triples

import (
	"slices"
)

// opening is the result of readOpening: the clause without its introduction.
type opening struct {
	toks            []tok
	sure, now, more bool
	skip            bool // the clause is not a statement by the speaker
}

// readOpening removes the introductory words of a statement and determines its certainty.
func readOpening(toks []tok) opening {
	o := opening{toks: toks}
	for len(o.toks) > 0 {
		n := 0
		if n = matchLeading(o.toks, "lead sure"); n > 0 {
			o.sure = true
		} else if n = matchLeading(o.toks, "lead more"); n > 0 {
			o.more = true
		} else if n = matchLeading(o.toks, "lead now"); n > 0 {
			o.now = true
		} else if n = matchLeading(o.toks, "lead"); n == 0 {
			break
		}
		if n == len(o.toks) {
			break
		}
		o.toks = o.toks[n:]
	}
	if len(o.toks) == 0 {
		return o
	}
	o.skip = isListed("skip", o.toks[0].w)
	for i := range o.toks {
		o.skip = o.skip || matchLeading(o.toks[i:], "skip phrase") > 0
	}
	return o
}

// clause is a part of a sentence with one verb.
type clause struct {
	toks []tok
	verb verbMatch
}

// verbMatch is a verb in a clause. The name of the verb is empty for a form of "be".
type verbMatch struct {
	verb

	at, n int
	was   bool
	gap   []tok // small words inside the form: "now" in "live now in"
}

// splitClauses splits a sentence into clauses with one verb each. If there is no boundary between
// two verbs, the second verb belongs to the value of the first.
func splitClauses(toks []tok) []clause {
	verbs := verbsOf(toks)
	if len(verbs) == 0 {
		return nil
	}
	var out []clause
	start := 0
	cur := verbs[0]
	for _, next := range verbs[1:] {
		cut := findBoundary(toks, cur.at+cur.n, next.at)
		if cut < 0 {
			continue
		}
		out = append(out, newClause(toks[start:cut.endIndex()], cur, start))
		start, cur = cut.startIndex(toks), next
	}
	return append(out, newClause(toks[start:], cur, start))
}

func newClause(toks []tok, v verbMatch, start int) clause {
	v.at -= start
	return clause{toks: toks, verb: v}
}

// cut is the index of the first token after a clause, or -1 if there is no boundary.
type cut int

func (c cut) endIndex() int { return int(c) }

// startIndex returns the index of the first token of the next clause, after the joining word.
func (c cut) startIndex(toks []tok) int {
	if slices.Contains(joining, toks[c].w) {
		return int(c) + 1
	}
	return int(c)
}

var joining = []string{"and", "but", "und", "aber", "et", "mais", "y", "pero", "e", "ma", "o", "bet", "ir", "ale", "while", "whereas", "so"}

// findBoundary finds the end of a clause, or returns -1 if there is none. The boundary is a comma,
// or a joining word that a new verb follows.
func findBoundary(toks []tok, from, to int) cut {
	comma := -1
	for i := to - 1; i >= from; i-- {
		if i > from && slices.Contains(joining, toks[i].w) && isSubjectOrEmpty(toks[i+1:to]) {
			return cut(i)
		}
		if toks[i].after != 0 && i+1 <= to && comma < 0 && isSubjectOrEmpty(toks[i+1:to]) && (toks[i].after == ';' || i+1 < to) {
			comma = i + 1
		}
	}
	return cut(comma)
}

// isSubjectOrEmpty reports whether the words before a verb name a subject or whether there are
// none.
func isSubjectOrEmpty(toks []tok) bool {
	o := readOpening(toks)
	_, rest := readManner(o.toks)
	if len(rest) == 0 || len(o.toks) == 0 {
		return true
	}
	_, ok := subjectOf(rest)
	return ok
}

// verbsOf lists the verbs of a sentence. It includes a form of "be" unless it is an auxiliary of a
// listed verb.
func verbsOf(toks []tok) []verbMatch {
	var out []verbMatch
	for i := 0; i < len(toks); i++ {
		if v, ok := verbAt(toks, i); ok && (i > 0 || v.impliesSubject()) {
			out = append(out, v)
			i += v.n - 1
			continue
		}
		if w := toks[i].w; isListed("is", w) || isListed("was", w) {
			if i == 0 || w == "am" && !isListed("i", toks[i-1].w) {
				continue
			}
			out = append(out, verbMatch{at: i, n: 1, was: isListed("was", w)})
		}
	}
	// drop auxiliaries: the first verb in "is called", "was moved to" and "does live in"
	var kept []verbMatch
	for i, v := range out {
		if v.name == "" && i+1 < len(out) && out[i+1].name != "" && onlyBetween(toks[v.at+1:out[i+1].at]) {
			continue
		}
		kept = append(kept, v)
	}
	return kept
}

// impliesSubject reports whether v is a first-person form that does not need "I" before it.
func (v verb) impliesSubject() bool {
	return isListed("dropped", v.words[0]) || len(v.words) > 2 && v.words[0] == "mi"
}

// matchGapped matches a form that may contain small words between its first and second word: "wohne
// jetzt nicht mehr in".
func matchGapped(toks []tok, words []string) (n int, gap []tok) {
	if hasPrefixWords(toks, words) {
		return len(words), nil
	}
	if len(words) < 2 || toks[0].w != words[0] {
		return 0, nil
	}
	for g := 1; g <= 3 && g < len(toks); g++ {
		if w := toks[g].w; !isListed("now", w) && !isListed("not", w) && w != "mehr" && w != "plus" && w != "piu" && w != "mas" {
			return 0, nil
		}
		if hasPrefixWords(toks[g+1:], words[1:]) {
			return len(words) + g, toks[1 : g+1]
		}
	}
	return 0, nil
}

func verbAt(toks []tok, i int) (verbMatch, bool) {
	if i > 0 && toks[i].capital { // a name
		return verbMatch{}, false
	}
	for _, v := range known().verbs[toks[i].w] {
		n, gap := matchGapped(toks[i:], v.words)
		rest := toks[min(i+n, len(toks)):]
		if n == 0 || v.flags["cap"] && (len(rest) == 0 || !startsWithName(rest)) || v.flags["from"] && (len(rest) == 0 || !slices.Contains(froms, rest[0].w)) {
			continue
		}
		if v.flags["from"] && v.flags["time"] && !slices.ContainsFunc(rest, func(t tok) bool { return hasDigit(t.w) || isForeignTime([]tok{t}) }) {
			continue
		}
		return verbMatch{verb: v, at: i, n: n, gap: gap}, true
	}
	return verbMatch{}, false
}

var froms = []string{"from", "von", "de", "da"}

// startsWithName reports whether the tokens start with a name, or with "my" and a name.
func startsWithName(toks []tok) bool {
	return toks[0].capital || isListed("mine", toks[0].w) || isListed("now", toks[0].w)
}

func onlyBetween(toks []tok) bool {
	return !slices.ContainsFunc(toks, func(t tok) bool { return !isListed("between", t.w) })
}

// verbManner holds the meaning of the modifiers before a verb.
type verbManner struct{ ended, more, now, sure, past, has bool }

// readManner removes modifiers at the end of the words before a verb, and returns their meaning.
func readManner(toks []tok) (verbManner, []tok) {
	m := verbManner{}
	for len(toks) > 0 {
		t := toks[len(toks)-1]
		if !isListed("between", t.w) || len(toks) == 1 && isListed("i", t.w) {
			break
		}
		switch {
		case t.w == "used", t.w == "finished", t.w == "stopped", t.w == "quit", t.w == "gave":
			m.ended, m.sure = true, true
		case t.w == "was" || t.w == "were":
			m.past = true
		case t.w == "has" || t.w == "have":
			m.has = true
		case t.w == "actually" || t.w == "really":
			m.sure = true
		case isListed("not", t.w):
			m.ended = true
		case isListed("more", t.w):
			m.more = true
		case isListed("now", t.w):
			m.now = true
		}
		if t.w == "longer" || t.w == "mehr" {
			m.sure = true
		}
		toks = toks[:len(toks)-1]
	}
	return m, toks
}
