package offline

import (
	"slices"
	"strings"

	"hob/platform/text/credential"
	"hob/platform/text/textnorm"
)

// askLocalFact answers a question such as "wie heißt meine Frau?" from memory and notes. It quotes only what the
// user said about the person or thing in the question.
func askLocalFact(w *intentDraft) (plan, bool) {
	c, ok := w.captureOf("few_thing")
	said := w.s.originalText(c.from, c.to)
	if !ok || !w.noLead() || len(w.s.timesInside(c.from, c.to)) > 0 || w.unaccountedWords(c.from, c.to) != "" || w.g.lex.containsWord("pronouns", w.s.firstWord(c.from)) {
		return noPlan()
	}
	words := func(s string) []string { return textnorm.FoldedWords(w.g.lex.fold(s)) }
	name := said
	if noun := w.g.cleanName(said); noun != "" {
		name = noun
	}
	thing, verbs := words(said), words(w.slotMeaning("ask", "asked"))
	parts := append(words(name), words(w.slotString("about"))...)
	isAnswer := func(fact string) bool {
		have := words(fact)
		if len(verbs) == 0 {
			return !slices.ContainsFunc(parts, func(f string) bool { return !slices.Contains(have, f) })
		}
		return statesVerb(have, thing, verbs)
	}
	query := strings.TrimSpace(name + " " + w.slotString("about"))
	return planLookup(func(results []done) plan {
		var told []string
		for _, d := range results {
			switch {
			case d.result == nil || foundNothing(d.result.Text):
			case d.result.Error:
				return plan{outcome: chat, say: w.g.localResult(d, plan{}), lang: w.g}
			case d.name == "recall":
				body, _ := cutRelations(d.result.Text)
				told = append(told, factsOf(strings.TrimPrefix(strings.TrimSpace(body), preface))...)
			default:
				for _, line := range listLines(d.result.Text) {
					if note, ok := strings.CutPrefix(line, "note: "); ok {
						told = append(told, note)
					}
				}
			}
		}
		var lines []string
		for _, f := range told {
			if line := w.g.replyText("told", "{text}", factText(f)); isAnswer(factText(f)) && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 {
			lines = []string{w.g.replyText("not-told")}
		}
		return plan{outcome: chat, say: strings.Join(lines, "\n"), lang: w.g}
	}, call{"recall", argsOf("query", query)}, call{"search_knowledge", argsOf("query", query)})
}

// statesVerb reports whether the words of a fact begin or end with a person or thing, next to one of the verbs:
// "meine Frau heißt Anna", "Anna ist meine Frau" and "dass meine Frau Anna heißt". A reflexive pronoun may
// stand between the two.
func statesVerb(fact, thing, verbs []string) bool {
	n := len(thing)
	if len(fact) < n+2 {
		return false
	}
	if slices.Equal(fact[:n], thing) {
		return slices.Contains(verbs, fact[n]) || len(fact[n]) <= 2 && slices.Contains(verbs, fact[n+1]) || slices.Contains(verbs, fact[len(fact)-1])
	}
	return slices.Equal(fact[len(fact)-n:], thing) && slices.Contains(verbs, fact[len(fact)-n-1])
}

// keepLocalFact stores a birthday, or a value of the user such as "meine Schuhgröße ist 43".
func keepLocalFact(w *intentDraft) (plan, bool) {
	text := w.s.originalText(0, len(w.s.tokens))
	clock := slices.ContainsFunc(w.s.allTimes(), func(sp *span) bool { return sp.match.Moment == nil || sp.match.Moment.HasClock })
	switch value := w.slotString("few_value"); {
	case w.isQuestion() || w.depth > 0 || clock || w.s.hasWordOf(0, len(w.s.tokens), "negations", "conditions", "english") || credential.Sensitive(text) != "":
		return noPlan()
	case w.hasSlot("few_value") && (len(w.s.allTimes()) > 0 || !strings.ContainsAny(value, "0123456789") && !strings.HasPrefix(w.slotNorm("few_key"), w.g.lex.fold(w.g.replyText("favourite")))):
		return noPlan()
	}
	return planCall("remember", argsOf("text", text))
}
