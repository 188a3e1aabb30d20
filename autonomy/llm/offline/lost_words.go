package offline

import (
	"slices"
	"strings"
)

// fillerLists are the lists of words that a request may contain although no record keeps them.
var fillerLists = []string{
	"prepositions", "articles", "belonging", "joints", "joiners", "pronouns", "own-needs", "hesitations", "interjections", "answer-fillers",
	"repeat-words", "additional-words", "time-words", "time-edges", "typo-units", "day-words", "correction-starts", "plain-reminders", "levels", "numbers",
}

// findLostWord returns the first word of the sentence that is in no text and no time of the plan and is no part of a
// request, such as the "on" of "put the oven on at 17:00", or "".
func (d *planReview) findLostWord() string {
	if d.isFollowUp() || d.p.answered || d.p.accounted || d.p.question != nil || d.p.intent.name != "reminder.add" && d.p.intent.name != "task.add" {
		return ""
	}
	kept := map[string]int{}
	for _, c := range d.allCalls() {
		if c.name != "create_reminder" && c.name != "create_task" || strings.HasSuffix(stringOf(c.args["project"]), " list") {
			return ""
		}
		for _, name := range []string{"text", "title", "project"} {
			for _, t := range splitTokens(stringOf(c.args[name]), d.g.lex) {
				kept[t.norm]++
			}
		}
	}
	for i, t := range d.s.tokens {
		particle := d.isParticleOfVerb(i)
		switch {
		case t.kind != word, !particle && (d.s.isInTime(i) || d.g.lex.containsWord("prepositions", t.norm) && d.s.spanAt(i) != nil):
		case kept[t.norm] > 0:
			kept[t.norm]--
		case particle, !d.isRequestWord(t.norm):
			return t.norm
		}
	}
	return ""
}

// isRequestWord reports whether a word may belong to the request instead of a record.
func (d *planReview) isRequestWord(norm string) bool {
	if isDigit(norm[0]) || d.g.requestWords[norm] || slices.ContainsFunc(fillerLists, func(list string) bool { return d.g.lex.containsWord(list, norm) }) {
		return true
	}
	for w := range d.g.requestWords {
		if len(norm) > 3 && isTypo(norm, w) {
			return true
		}
	}
	return false
}

// isParticleOfVerb reports whether token i precedes a time and belongs to the verb before it: "take the bins out
// at 7", "put the oven on at 17:00".
func (d *planReview) isParticleOfVerb(i int) bool {
	s := d.s
	if i == 0 || i+1 >= len(s.tokens) || !d.g.lex.containsWord("particles", s.tokens[i].norm) || s.tokens[i-1].norm == "heads" {
		return false
	}
	if d.g.lex.containsWord("prepositions", s.tokens[i].norm) {
		return s.isParticle(i) && (s.spanAt(i+1) != nil || slices.ContainsFunc(s.spans, func(sp span) bool { return sp.from == i && sp.to > i+1 }))
	}
	return s.spanAt(i+1) != nil
}

// isParticle reports whether token i is a preposition that belongs to the words before it, because another one follows:
// "turn the heating on at 6", "drop by at 5".
func (s *sentence) isParticle(i int) bool {
	if i+1 >= len(s.tokens) || !s.lex.containsWord("prepositions", s.tokens[i+1].norm) {
		return false
	}
	switch next := s.tokens[i+1].norm; s.tokens[i].norm {
	case "on", "in":
		return true
	case "by":
		return next == "at" || next == "on" || next == "in"
	}
	return false
}

// splitsName reports whether a time begins with a part of the day that may end a name in a record: "the allotment
// evening next Tuesday at 6".
func (d *planReview) splitsName() bool {
	return slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool {
		if sp.from == 0 || !d.g.lex.containsWord("named-parts", d.s.tokens[sp.from].norm) {
			return false
		}
		before := d.s.tokens[sp.from-1]
		return before.kind == word && !d.isRequestWord(before.norm) && slices.ContainsFunc(d.allCalls(), func(c call) bool {
			return strings.HasSuffix(strings.ToLower(strings.TrimRight(stringOf(c.args["text"])+stringOf(c.args["title"]), "'’")), before.norm)
		})
	})
}

// offersTimes reports whether a time is followed by an alternative: "in a day or two", "at 5 or 6".
func (d *planReview) offersTimes() bool {
	return slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool {
		if sp.to+1 >= len(d.s.tokens) || d.s.tokens[sp.to].norm != "or" {
			return false
		}
		next := d.s.tokens[sp.to+1].norm
		_, number := d.g.lex.meaningOf("numbers", next)
		return number || isDigit(next[0]) || d.s.spanAt(sp.to+1) != nil
	})
}
