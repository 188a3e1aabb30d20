package tools

import "strings"

// queryMeanings returns, for each word and phrase of a request, the terms that it may mean.
func (x *index) queryMeanings(list []string) [][]weightedTerm {
	var out [][]weightedTerm
	for i, w := range list {
		for n := 2; n <= x.table.longest && i+n <= len(list); n++ {
			if terms := x.table.phrases[strings.Join(list[i:i+n], " ")]; terms != nil {
				out = append(out, x.appendUsedTerms(nil, terms, 1))
			}
		}
		if m := x.wordMeaning(w); len(m) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// wordMeaning returns the possible meanings of a word. If the tools' specs contain the word, it
// primarily means itself. Prefixes in other languages, parts of compounds and typing errors are
// considered only for unknown words.
func (x *index) wordMeaning(w string) []weightedTerm {
	if x.table.isStopWord(w) {
		return nil
	}
	if m := x.exactMeaning(w); m != nil {
		return m
	}
	if m := x.prefixMeaning(w, 2); m != nil {
		return m
	}
	if m := x.compoundMeaning(w, false); m != nil {
		return m
	}
	if m := x.correctTypos(w); m != nil {
		return m
	}
	return x.compoundMeaning(w, true)
}

// exactMeaning returns the meaning of a word that occurs unchanged in a tool's spec or in the table
// of synonyms.
func (x *index) exactMeaning(w string) []weightedTerm {
	s := stemEnglish(w)
	var out []weightedTerm
	weight := 1.0
	if t := x.terms[s]; t != nil {
		out = append(out, weightedTerm{t, 1})
		weight = meant
	}
	terms := x.table.exact[w]
	if terms == nil {
		terms = x.table.stems[s]
	}
	if out == nil && terms != nil {
		more, _ := x.table.matchPrefixes(w)
		terms = joinMeanings(terms, more)
	}
	return x.appendUsedTerms(out, terms, weight)
}

// prefixMeaning returns the meaning of a word that starts with a prefix from the table. The rest of
// the word is an ending or the second part of a compound: "Kalendereintrag".
func (x *index) prefixMeaning(w string, depth int) []weightedTerm {
	terms, rest := x.table.matchPrefixes(w)
	if terms == nil {
		return nil
	}
	out := x.appendUsedTerms(nil, terms, 1)
	if depth > 0 && len(rest) > 3 {
		out = append(out, x.compoundTailMeaning(rest, depth-1)...)
	}
	return out
}

// compoundTailMeaning returns the meaning of the last part of a compound. Linking letters, as in
// German and Dutch, may precede that part.
func (x *index) compoundTailMeaning(w string, depth int) []weightedTerm {
	for _, joint := range []string{"", "s", "n", "en", "es", "e"} {
		r, ok := strings.CutPrefix(w, joint)
		if !ok || len(r) < 3 || x.table.isStopWord(r) {
			continue
		}
		if m := x.exactMeaning(r); m != nil {
			return m
		}
		if m := x.prefixMeaning(r, depth); m != nil {
			return m
		}
	}
	return nil
}

// compoundMeaning returns the meaning of two known words that are written as one: "emptytrash",
// "Papierkorb". One of them may contain a typing error.
func (x *index) compoundMeaning(w string, mistyped bool) []weightedTerm {
	for i := len(w) - 3; i >= 3; i-- {
		if x.table.isStopWord(w[:i]) {
			continue
		}
		first, second := x.exactMeaning(w[:i]), x.compoundTailMeaning(w[i:], 0)
		switch {
		case first == nil && second == nil || !mistyped && (first == nil || second == nil):
			continue
		case first == nil:
			first = x.correctTypos(w[:i])
		case second == nil:
			second = x.correctTypos(w[i:])
		}
		if first != nil && second != nil {
			return append(first, second...)
		}
	}
	return nil
}

// correctTypos returns the meaning of the nearest known words.
func (x *index) correctTypos(w string) []weightedTerm {
	found, errors := x.lexicon.nearestWords(w)
	weight := slipped
	if errors > 1 {
		weight = twice
	}
	var out []weightedTerm
	for _, f := range found {
		for _, m := range x.exactMeaning(f) {
			out = append(out, weightedTerm{m.term, m.weight * weight})
		}
	}
	return out
}

// appendUsedTerms appends the terms that at least one tool uses.
func (x *index) appendUsedTerms(out []weightedTerm, terms []termMeaning, weight float64) []weightedTerm {
	for _, m := range terms {
		t := x.terms[m.stem]
		if t == nil || hasTerm(out, t) {
			continue
		}
		out = append(out, weightedTerm{t, weight * m.weight})
	}
	return out
}

func hasTerm(list []weightedTerm, t *term) bool {
	for _, w := range list {
		if w.term == t {
			return true
		}
	}
	return false
}
