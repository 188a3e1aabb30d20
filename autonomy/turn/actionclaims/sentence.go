package actionclaims

import (
	"slices"
	"strings"
)

// short is the maximum number of words in a sentence without a subject, such as "Sent the mail to
// Ada."
const short = 14

// findSentenceClaims returns the claims in one sentence. all holds the words of the sentence.
func (l *language) findSentenceClaims(s string, all []string) (out []Claim) {
	if slices.ContainsFunc(all, func(w string) bool { return l.example[w] }) {
		return nil
	}
	for _, c := range splitClauses(s) {
		if c.colon && l.reports[c.words[len(c.words)-1]] {
			break
		}
		for _, part := range l.splitClause(c) {
			found, ok := l.parseStateClause(part, all)
			if !ok {
				found, ok = l.parseClause(part, slices.ContainsFunc(all, func(w string) bool { return l.things[singularForm(w)] }))
			}
			if !ok {
				continue
			}
			found.Language, found.Family = l.name, l.findFamily(all)
			found.Earlier = slices.ContainsFunc(all, func(w string) bool { return l.earlier[w] })
			out = append(out, found)
		}
	}
	return out
}

// splitClause splits a clause at words such as "but".
func (l *language) splitClause(c clause) (out []clause) {
	from := 0
	for i, w := range c.words {
		if l.but[w] && i > from {
			out = append(out, clause{text: c.text, words: c.words[from:i]})
			from = i
		}
	}
	return append(out, clause{text: c.text, words: c.words[from:]})
}

// parseClause parses a clause. thing reports whether the sentence names an item that outlasts the
// answer.
func (l *language) parseClause(c clause, thing bool) (Claim, bool) {
	w := c.words
	for len(w) > 0 && (l.leads[w[0]] || l.joins[w[0]] || l.but[w[0]]) && !l.isVerb(w[0]) {
		w = w[1:]
	}
	if len(w) == 0 {
		return Claim{}, false
	}
	if slices.ContainsFunc(w, func(x string) bool { return l.unless[x] }) {
		return Claim{}, false
	}
	if rest, ok := l.cutOpener(w); ok {
		kind, ok := l.findVerbKind(rest, thing)
		return Claim{Kind: kind, Phrase: c.text}, ok
	}
	if l.said[w[0]] {
		kind, ok := l.claimKind(w[0], thing)
		return Claim{Kind: kind, Phrase: c.text}, ok
	}
	kind, ok := l.parseImpersonal(w)
	return Claim{Kind: kind, Phrase: c.text, Impersonal: true}, ok
}

// cutOpener removes the opening words of a claim.
func (l *language) cutOpener(w []string) (rest []string, ok bool) {
	for _, o := range l.openers {
		if len(w) > len(o) && slices.Equal(w[:len(o)], o) {
			return w[len(o):], true
		}
	}
	return nil, false
}

// findVerbKind returns the kind of the verb that follows, also considering verbs that are joined to
// it.
func (l *language) findVerbKind(w []string, thing bool) (Kind, bool) {
	for _, x := range w {
		if l.isVerb(x) {
			if k, ok := l.claimKind(x, thing); ok {
				return k, true
			}
			continue // a weak verb, to which a stronger one may be joined
		}
		if !l.free && !l.fillers[x] && !l.joins[x] {
			break
		}
	}
	return l.findJoinedVerb(w, thing)
}

// findJoinedVerb finds a strong verb after a joining word, as in "... and saved it".
func (l *language) findJoinedVerb(w []string, thing bool) (Kind, bool) {
	for i := 2; i < len(w); i++ {
		if l.joins[w[i-1]] && l.strong[w[i]] != 0 && l.isVerb(w[0]) {
			return l.claimKind(w[i], thing)
		}
	}
	return 0, false
}

func (l *language) isVerb(w string) bool { return l.strong[w] != 0 || l.weak[w] != 0 }

func (l *language) claimKind(verb string, thing bool) (Kind, bool) {
	if k := l.strong[verb]; k != 0 {
		return k, true
	}
	return l.weak[verb], l.weak[verb] != 0 && thing
}

// parseImpersonal parses a sentence that has no subject ("Sent it to Ada") or whose subject is the
// item ("The mail has been sent").
func (l *language) parseImpersonal(w []string) (Kind, bool) {
	if len(w) > short {
		return 0, false
	}
	if k := l.strong[w[0]]; k != 0 && (len(w) == 1 || l.after[w[1]]) {
		return k, true
	}
	for i, x := range w {
		if !l.isVerb(x) {
			continue
		}
		if i == 0 {
			return 0, false
		}
		k := max(l.strong[x], l.weak[x])
		head := w[:i]
		for len(head) > 0 && (l.being[head[len(head)-1]] || l.fillers[head[len(head)-1]]) {
			head = head[:len(head)-1]
		}
		if n := len(head); n > 0 && n <= 3 && l.things[singularForm(head[n-1])] {
			return k, len(w) == i+1 || l.being[w[i-1]] || l.after[w[i+1]]
		}
		return 0, false
	}
	return 0, false
}

// singularForm removes the plural ending. It is approximate, and the same for all languages.
func singularForm(w string) string {
	if len(w) > 4 {
		return strings.TrimSuffix(w, "s")
	}
	return w
}
