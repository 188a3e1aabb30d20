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

// figureLists are the further lists of such words for tools that record figures.
var figureLists = []string{"habits", "units", "weights", "currencies", "more-currencies", "cents"}

// wordFamilies maps the tools that create a record from the words of a request to the head of the names of their
// intents.
var wordFamilies = map[string]string{
	"create_reminder": "reminder.", "create_task": "task.", "log_expense": "money.", "log_habit": "habit.", "remember": "memory.",
	"create_note": "note.", "append_note": "note.", "create_schedule": "schedule.",
}

// findLostWord returns the first word of the sentence that is in no text and no time of the plan and is no part of a
// request, such as the "on" of "put the oven on at 17:00", or "".
func (d *planReview) findLostWord() string {
	if d.isFollowUp() || d.p.answered || d.p.accounted || d.p.question != nil {
		return ""
	}
	kept := map[string]int{}
	lists := fillerLists
	d.intents = nil
	for _, c := range d.allCalls() {
		family := wordFamilies[c.name]
		if strings.HasSuffix(stringOf(c.args["project"]), " list") {
			family = "list."
		}
		if family == "" {
			return ""
		}
		if strings.HasPrefix(c.name, "log_") {
			lists = append(fillerLists[:len(fillerLists):len(fillerLists)], figureLists...)
		}
		for _, in := range d.g.intents {
			if strings.HasPrefix(in.name, family) || in == d.p.intent {
				d.intents = append(d.intents, in)
			}
		}
		for _, v := range c.args {
			for _, t := range splitTokens(stringOf(v), d.g.lex) {
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
		case i > 2 && (d.s.tokens[i-2].norm == "for" && d.s.tokens[i-3].norm == "list" || d.s.tokens[i-1].norm == "for" && d.s.tokens[i-2].norm == "list"): // "a packing list for the trip"
		case particle, !d.isRequestWord(t.norm, lists):
			return t.norm
		}
	}
	return ""
}

// isRequestWord reports whether a word may belong to the request instead of a record.
func (d *planReview) isRequestWord(norm string, lists []string) bool {
	if strings.ContainsAny(norm, "0123456789") || d.g.requestWords[norm] || slices.ContainsFunc(lists, func(list string) bool { return d.g.lex.containsWord(list, norm) }) {
		return true
	}
	for _, in := range d.intents {
		if slices.ContainsFunc(in.patterns, func(p node) bool { return hasLiteral(p, norm) }) {
			return true
		}
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
		return before.kind == word && !d.isRequestWord(before.norm, fillerLists) && slices.ContainsFunc(d.allCalls(), func(c call) bool {
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
