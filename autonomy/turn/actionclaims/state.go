package actionclaims

import (
	"slices"
	"strings"
)

// maxSubject is the maximum number of words in the subject of a statement, such as "the reminder
// about the dentist on Friday".
const maxSubject = 7

// maxComplete is the maximum number of words in an answer that only says that something is
// complete.
const maxComplete = 25

// statementWords returns the words that statements about a state contain. A text without any of
// them contains no such statement.
func (l *language) statementWords() map[string]bool {
	out := map[string]bool{}
	for _, s := range slices.Concat(l.states, l.promises) {
		for _, w := range s.words {
			if len(w) > 3 {
				out[w] = true
			}
		}
	}
	for _, m := range []map[string]Kind{l.base.strong, l.base.weak, l.doing.strong, l.doing.weak} {
		for w := range m {
			out[w] = true
		}
	}
	return out
}

// mayState reports whether a sentence with these words may contain a statement about a state.
func (l *language) mayState(words []string) bool {
	return slices.ContainsFunc(expandContractions(words), func(w string) bool { return l.telling[w] })
}

// parseStateClause parses a clause about a state, the future, or an action in progress. all holds
// the words of the whole sentence.
func (l *language) parseStateClause(c clause, all []string) (Claim, bool) {
	w := expandContractions(c.words)
	if slices.ContainsFunc(w, l.isNonFactual) || slices.ContainsFunc(all, func(x string) bool { return l.condition[x] }) {
		return Claim{}, false
	}
	found, ok := l.parseStatement(w, all)
	for !ok && len(w) > 1 && (l.leads[w[0]] || l.joins[w[0]] || l.but[w[0]]) {
		w = w[1:]
		found, ok = l.parseStatement(w, all)
	}
	found.Phrase = c.text
	return found, ok
}

func (l *language) parseStatement(w, all []string) (Claim, bool) {
	if kind, ok := l.plainForm(w, slices.ContainsFunc(all, func(x string) bool { return l.things[singularForm(x)] })); ok {
		return Claim{Kind: kind}, true
	}
	skipped := l.adverbs
	if len(skipped) == 0 {
		skipped = l.fillers
	}
	w = slices.DeleteFunc(slices.Clone(w), func(x string) bool { return skipped[x] && !l.isVerb(x) })
	for _, p := range l.promises {
		if hasPrefixWords(w, p.words) {
			return Claim{Kind: p.kind, State: true, Owned: true}, true
		}
	}
	habit := slices.ContainsFunc(w, func(x string) bool { return l.habit[x] })
	for i := 1; i <= maxSubject && i < len(w); i++ {
		if !l.isClaimSubject(w[:i]) {
			continue
		}
		owned := slices.ContainsFunc(w[:i], func(x string) bool { return l.own[x] })
		for _, s := range l.states {
			if hasPrefixWords(w[i:], s.words) && (!habit || owned && !l.is[s.words[0]]) {
				return Claim{Kind: s.kind, State: true, Owned: owned || l.pronouns[w[i-1]], Impersonal: true}, true
			}
		}
		if kind, ok := l.parseParticiple(w[i:], w[i-1]); ok && !habit {
			return Claim{Kind: kind, State: true, Owned: owned, Impersonal: true}, true
		}
	}
	return Claim{}, false
}

// isNonFactual reports whether w shows that a clause does not state a fact. Some words in unless,
// such as "will", do not count here.
func (l *language) isNonFactual(w string) bool {
	return l.unless[w] && w != "will" && w != "werde" && w != "zal" && w != "ne" && w != "time"
}

// plainForm returns the kind of a claim such as "i managed to send it" or "i am sending it".
func (l *language) plainForm(w []string, thing bool) (Kind, bool) {
	for _, form := range []struct {
		openers [][]string
		verbs   verbSet
	}{{l.managed, l.base}, {l.progress, l.doing}} {
		for _, o := range form.openers {
			if !hasPrefixWords(w, o) {
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(w[len(o):]), func(x string) bool { return l.fillers[x] })
			if len(rest) < 2 || !l.after[rest[1]] {
				continue
			}
			if k := form.verbs.strong[rest[0]]; k != 0 {
				return k, true
			}
			if k := form.verbs.weak[rest[0]]; k != 0 && thing {
				return k, true
			}
		}
	}
	return 0, false
}

// isClaimSubject reports whether the words may be the subject of a statement, which is a definite
// item or a pronoun for it.
func (l *language) isClaimSubject(w []string) bool {
	last := w[len(w)-1]
	if l.pronouns[last] {
		return len(w) == 1
	}
	if slices.ContainsFunc(w, func(x string) bool { return l.is[x] || l.being[x] }) {
		return false
	}
	certain := l.own[w[0]] || isDefiniteArticle(w[0]) || l.pronouns[w[0]]
	return certain && slices.ContainsFunc(w, func(x string) bool { return l.things[singularForm(x)] || l.things[x] || l.subjects[x] })
}

// isDefiniteArticle reports whether w is a definite article or a word such as "this" in one of the
// languages.
func isDefiniteArticle(w string) bool {
	switch w {
	case "the", "this", "that", "der", "die", "das", "le", "la", "les", "el", "los", "las", "il", "lo", "i", "gli", "de", "het", "o", "a", "os", "as":
		return true
	}
	return strings.HasPrefix(w, "l'")
}

// parseParticiple parses clauses such as "is set for ...". If the subject is a pronoun, it accepts
// only verbs that are unlikely to mean something else.
func (l *language) parseParticiple(tail []string, subject string) (Kind, bool) {
	if len(tail) < 2 || !l.is[tail[0]] {
		return 0, false
	}
	verb := tail[1]
	if l.free { // the verb comes last
		verb = tail[len(tail)-1]
	}
	if l.pronouns[subject] {
		return max(l.strong[verb], l.weak[verb]), l.strong[verb] != 0 || l.weakState(verb, tail[2:])
	}
	k := max(l.strong[verb], l.weak[verb])
	return k, k != 0
}

// weakState reports whether a weak English verb makes a claim here. It does in "it is set for 5"
// and "it is added", but not in "it is written in Go".
func (l *language) weakState(verb string, rest []string) bool {
	if l.name != "en" || verb != "added" && verb != "set" {
		return false
	}
	return len(rest) == 0 || slices.Contains([]string{"for", "to", "at", "up"}, rest[0])
}

// findFamily returns the family of the item named in a sentence.
func (l *language) findFamily(words []string) Family {
	for _, w := range words {
		switch {
		case l.plan[w], l.plan[singularForm(w)]:
			return Plan
		case l.text[w], l.text[singularForm(w)]:
			return Text
		}
	}
	return AnyFamily
}

// parseCompletion parses an answer that only says that something is complete.
func parseCompletion(answer, own string) []Claim {
	if strings.ContainsAny(answer, "`>|") || strings.Contains(answer, ":\n") || len(splitWords(answer)) > maxComplete {
		return nil
	}
	list := splitSentences(own)
	if len(list) == 0 || strings.HasSuffix(list[0], "?") || strings.HasSuffix(list[0], ":") {
		return nil
	}
	first := list[0]
	for _, l := range languages() {
		parts := splitClauses(first)
		for _, c := range parts {
			w := slices.DeleteFunc(expandContractions(c.words), func(x string) bool { return l.fillers[x] && x != "all" })
			for len(w) > 1 && l.leads[w[0]] && !slices.ContainsFunc(l.complete, func(p []string) bool { return slices.Equal(w, p) }) {
				w = w[1:]
			}
			if slices.ContainsFunc(l.complete, func(p []string) bool { return slices.Equal(w, p) }) {
				return []Claim{{Kind: Changed, Phrase: c.text, Language: l.name, Complete: true, Impersonal: true}}
			}
		}
	}
	return nil
}

func hasPrefixWords(w, with []string) bool {
	return len(w) >= len(with) && slices.Equal(w[:len(with)], with)
}

// expandContractions expands English contractions. For example, "it's" becomes "it" and "is".
func expandContractions(words []string) []string {
	out := make([]string, 0, len(words)+2)
	for _, w := range words {
		head, tail, ok := strings.Cut(w, "'")
		full := map[string]string{"s": "is", "re": "are", "ll": "will", "m": "am", "ve": "have"}[tail]
		if !ok || full == "" || head == "" || tail == "s" && (head == "let" || head == "what" || head == "who") {
			out = append(out, w)
			continue
		}
		out = append(out, head, full)
	}
	return out
}
