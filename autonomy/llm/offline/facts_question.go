package offline

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

// factQuestion describes what a remembered fact must contain to answer a question. Memory is
// searched by words, so it also finds other facts about the same person.
type factQuestion struct {
	people  []string // words for people: each answer has these words, or the name or role of the same person
	must    []string // other words that each answer must have
	some    []string // other words; a third of them may be missing
	attrs   []string // relations of package triples, of which an answer states one
	timed   bool     // whether the answer is a time
	counted bool     // whether the answer is a number
	aged    bool     // whether the answer is an age, which a birthday without a year is not
	mine    bool     // whether the question names no other person
	holder  bool     // whether the question asks who or where, so that an answer may name another person
	now     time.Time
}

// factQuestionOf returns the requirements of the question in the slot "query".
func (w *intentDraft) factQuestionOf() factQuestion {
	q := factQuestion{now: w.s.now, mine: true}
	c, ok := w.captureOf("query")
	if !ok {
		c.to = len(w.s.tokens)
	}
	ask := w.s.normalizedText(0, min(2, len(w.s.tokens)))
	q.timed = strings.HasPrefix(ask, "when ")
	q.holder = strings.HasPrefix(ask, "who ") || strings.HasPrefix(ask, "whose ") || strings.HasPrefix(ask, "where ")
	q.counted = strings.HasPrefix(ask, "how many") || strings.HasPrefix(ask, "how much") || strings.HasPrefix(ask, "how old") || strings.HasPrefix(ask, "how tall")
	for _, t := range w.s.tokens {
		if attrs, ok := w.g.lex.meaningOf("asked-attributes", t.norm); ok && t.kind == word {
			q.attrs = append(q.attrs, strings.Fields(attrs)...)
		}
	}
	if strings.HasPrefix(ask, "where ") { // a birthday is not a place
		q.attrs = slices.DeleteFunc(q.attrs, func(a string) bool { return a == "birthday" || a == "bday" })
	}
	q.aged = strings.HasPrefix(ask, "how old")
	for i := c.from; i < c.to; i++ {
		t := w.s.tokens[i]
		bare := strings.TrimSuffix(strings.TrimSuffix(t.norm, "'s"), "’s")
		if w.lacksApostrophe(i, c.to) {
			bare = strings.TrimSuffix(bare, "s")
		}
		r, _ := firstRune(w.s.originalText(i, i+1))
		person := bare != t.norm || w.g.isRole(bare) || i > 0 && unicode.IsUpper(r)
		for _, f := range textnorm.FoldedWords(bare) {
			attrs, attribute := w.g.lex.meaningOf("asked-attributes", f)
			asked := slices.ContainsFunc(strings.Fields(attrs), func(a string) bool { return slices.Contains(q.attrs, a) })
			switch {
			case t.kind == punct || w.g.lex.containsWord("question-words", f) || attribute && (asked || !w.g.lex.containsWord("private", f)):
			case person:
				q.people, q.mine = append(q.people, f), false
			case w.g.lex.containsWord("private", f):
				q.must = append(q.must, f)
			default:
				q.some = append(q.some, f)
			}
		}
	}
	return q
}

// lacksApostrophe reports whether token i is an owner without an apostrophe: "mias shoe size".
func (w *intentDraft) lacksApostrophe(i, end int) bool {
	norm := w.s.tokens[i].norm
	return len(norm) > 3 && strings.HasSuffix(norm, "s") && !strings.ContainsAny(norm, "'’") && !w.g.vocab[norm] && i+1 < end && w.s.tokens[i+1].kind == word && !w.g.lex.containsWord("question-words", w.s.tokens[i+1].norm)
}

var yearInFact = regexp.MustCompile(`\b(19|20)\d\d\b`)

// isRole reports whether a word is a relation to a person, with or without the "s" of "my mums birthday".
func (g *grammar) isRole(word string) bool {
	return g.lex.containsWord("women", word) || g.lex.containsWord("men", word) || g.lex.containsWord("family", word)
}

// selectAnswers returns the facts that answer the question.
func (q factQuestion) selectAnswers(facts []string, g *grammar) []string {
	same := aliasesIn(facts, q.now)
	return slices.DeleteFunc(slices.Clone(facts), func(f string) bool { return !q.isAnsweredBy(f, same, g) })
}

// aliasesIn returns the names of the roles and the roles of the names in facts: "my sister is called
// Julia".
func aliasesIn(facts []string, now time.Time) map[string][]string {
	same := map[string][]string{}
	for _, f := range facts {
		for _, t := range say.Read(factText(f), now) {
			name := t.Subject.Name
			if t.Attr == say.Called || t.Attr == "name" {
				name = strings.ToLower(t.Value)
			}
			if t.Subject.Role != "" && name != "" && !strings.Contains(name, " ") {
				same[t.Subject.Role], same[name] = append(same[t.Subject.Role], name), append(same[name], t.Subject.Role)
			}
		}
	}
	return same
}

// factText returns a fact without its note in parentheses.
func factText(f string) string {
	text, _ := cutDetails(strings.TrimRight(f, "."))
	return text
}

func (q factQuestion) isAnsweredBy(fact string, same map[string][]string, g *grammar) bool {
	text := factText(fact)
	has := func(word string) bool {
		return hasEveryWord(text, []string{word}) || slices.ContainsFunc(same[word], func(o string) bool { return hasEveryWord(text, []string{o}) })
	}
	lacks := func(word string) bool { return !has(word) }
	missing := 0
	for _, word := range q.some {
		if !has(word) {
			missing++
		}
	}
	switch {
	case slices.ContainsFunc(q.people, lacks):
		return false
	case statesChange(text, q.now):
		return true
	case slices.ContainsFunc(q.must, lacks), len(q.some) > 0 && missing > (len(q.some)+len(q.must)+len(q.people))/3:
		return false
	case q.timed && len(dateparse.Find(text, q.now)) == 0 && !strings.ContainsAny(text, "0123456789"):
		return false
	case q.counted && !strings.ContainsAny(text, "0123456789") && !slices.ContainsFunc(strings.Fields(text), func(f string) bool { _, ok := g.lex.meaningOf("numbers", f); return ok && len(f) > 2 }):
		return false
	case q.aged && hasEveryWord(text, []string{"birthday"}) && !yearInFact.MatchString(text):
		return false
	case q.hasOtherOwner(text, same, g):
		return false
	}
	return len(q.attrs) == 0 || q.statesAttribute(text)
}

// statesChange reports whether a fact says that something was replaced or is over. Memory finds
// such a fact through the replaced fact, so its words may differ from the words of the question.
func statesChange(text string, now time.Time) bool {
	return slices.ContainsFunc(say.Read(text, now), func(t say.Triple) bool {
		return t.Ended && t.Attr != "likes" || t.Old != "" || t.Attr == "switched" || t.Attr == "replaced"
	})
}

// statesAttribute reports whether a fact states one of the relations that the question asks for.
func (q factQuestion) statesAttribute(text string) bool {
	words := textnorm.FoldedWords(text)
	for _, t := range say.Read(text, q.now) {
		if slices.Contains(q.attrs, t.Attr) {
			return true
		}
	}
	return slices.ContainsFunc(q.attrs, func(a string) bool { return slices.Contains(words, a) })
}

// hasOtherOwner reports whether the subject of a fact belongs to a person that the question does not
// name: "my sister's birthday" does not answer "when is my birthday?".
func (q factQuestion) hasOtherOwner(text string, same map[string][]string, g *grammar) bool {
	held := q.holder && slices.ContainsFunc(strings.Fields(text), func(f string) bool { return g.lex.containsWord("holding-verbs", strings.ToLower(f)) })
	for f := range strings.FieldsSeq(strings.ToLower(text)) {
		f = strings.ReplaceAll(strings.Trim(f, ",.;:"), "’", "'")
		if g.lex.containsWord("linking-verbs", f) {
			return false
		}
		bare, owner := strings.CutSuffix(f, "'s")
		folded := textnorm.FoldedWords(bare)
		if !owner && (!q.mine || held) || !owner && !g.isRole(bare) || len(folded) == 0 || g.lex.containsWord("not-names", bare) {
			continue
		}
		known := append(same[folded[0]], folded[0])
		if !slices.ContainsFunc(slices.Concat(q.people, q.must, q.some), func(m string) bool { return slices.Contains(known, m) || wordLikeness(m, folded[0]) >= 0.6 }) {
			return true
		}
	}
	return false
}

func firstRune(s string) (rune, bool) {
	for _, r := range s {
		return r, true
	}
	return 0, false
}

// answerContact answers from what the user told Hob, and from the address books if there are any.
func (w *intentDraft) answerContact(q factQuestion, results []done) plan {
	var parts []string
	for _, d := range results {
		switch {
		case d.result == nil || d.result.Error && isUnconnected(d):
		case d.result.Error:
			parts = append(parts, formatFailure(d.result.Text))
		case d.name == "recall":
			p := plan{pick: func(facts []string) []string { return q.selectAnswers(facts, w.g) }}
			if text := p.selectFacts(d.result.Text); !foundNothing(text) {
				parts = append(parts, formatRecalled(text, p))
			}
		case !foundNothing(d.result.Text):
			parts = append(parts, d.result.Text)
		}
	}
	if len(parts) == 0 {
		return plan{outcome: unknown, say: w.g.replyText("not-told", "{words}", quoteText(w.s.text))}
	}
	return plan{outcome: chat, say: strings.Join(parts, "\n\n")}
}
