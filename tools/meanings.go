package tools

import "strings"

// meanings returns, for each word and phrase of a request, the terms that it may mean.
func (x *index) meanings(list []string) [][]wanted {
	var out [][]wanted
	for i, w := range list {
		for n := 2; n <= x.table.longest && i+n <= len(list); n++ {
			if terms := x.table.phrases[strings.Join(list[i:i+n], " ")]; terms != nil {
				out = append(out, x.want(nil, terms, 1))
			}
		}
		if m := x.meaning(w); len(m) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// meaning returns the terms that a word may mean. A word that tools use means itself first.
// Foreign prefixes, parts of compounds and typing errors are tried on unknown words only.
func (x *index) meaning(w string) []wanted {
	if x.table.empty(w) {
		return nil
	}
	if m := x.known(w); m != nil {
		return m
	}
	if m := x.foreign(w, 2); m != nil {
		return m
	}
	if m := x.compound(w, false); m != nil {
		return m
	}
	if m := x.mistyped(w); m != nil {
		return m
	}
	return x.compound(w, true)
}

// known returns the meaning of a word that a tool or the table contains unchanged.
func (x *index) known(w string) []wanted {
	s := stem(w)
	var out []wanted
	weight := 1.0
	if t := x.terms[s]; t != nil {
		out = append(out, wanted{t, 1})
		weight = meant
	}
	terms := x.table.exact[w]
	if terms == nil {
		terms = x.table.stems[s]
	}
	if out == nil && terms != nil {
		more, _ := x.table.starts(w)
		terms = join(terms, more)
	}
	return x.want(out, terms, weight)
}

// foreign returns the meaning of a word that starts with a prefix from the table. The rest
// is an ending or the second part of a compound: "Kalendereintrag".
func (x *index) foreign(w string, depth int) []wanted {
	terms, rest := x.table.starts(w)
	if terms == nil {
		return nil
	}
	out := x.want(nil, terms, 1)
	if depth > 0 && len(rest) > 3 {
		out = append(out, x.rest(rest, depth-1)...)
	}
	return out
}

// rest returns the meaning of a compound's last part, after the linking letters of German
// and Dutch.
func (x *index) rest(w string, depth int) []wanted {
	for _, joint := range []string{"", "s", "n", "en", "es", "e"} {
		r, ok := strings.CutPrefix(w, joint)
		if !ok || len(r) < 3 || x.table.empty(r) {
			continue
		}
		if m := x.known(r); m != nil {
			return m
		}
		if m := x.foreign(r, depth); m != nil {
			return m
		}
	}
	return nil
}

// compound returns the meaning of two known words written as one: "emptytrash",
// "Papierkorb". One of them may be mistyped.
func (x *index) compound(w string, mistyped bool) []wanted {
	for i := len(w) - 3; i >= 3; i-- {
		if x.table.empty(w[:i]) {
			continue
		}
		first, second := x.known(w[:i]), x.rest(w[i:], 0)
		switch {
		case first == nil && second == nil || !mistyped && (first == nil || second == nil):
			continue
		case first == nil:
			first = x.mistyped(w[:i])
		case second == nil:
			second = x.mistyped(w[i:])
		}
		if first != nil && second != nil {
			return append(first, second...)
		}
	}
	return nil
}

// mistyped returns the meaning of the nearest known words.
func (x *index) mistyped(w string) []wanted {
	found, errors := x.lexicon.nearest(w)
	weight := slipped
	if errors > 1 {
		weight = twice
	}
	var out []wanted
	for _, f := range found {
		for _, m := range x.known(f) {
			out = append(out, wanted{m.term, m.weight * weight})
		}
	}
	return out
}

// want appends the terms that at least one tool uses.
func (x *index) want(out []wanted, terms []meaning, weight float64) []wanted {
	for _, m := range terms {
		t := x.terms[m.stem]
		if t == nil || has(out, t) {
			continue
		}
		out = append(out, wanted{t, weight * m.weight})
	}
	return out
}

func has(list []wanted, t *term) bool {
	for _, w := range list {
		if w.term == t {
			return true
		}
	}
	return false
}
