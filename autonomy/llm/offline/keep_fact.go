package offline

import (
	"slices"
	"strings"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/person"
)

// keepRequest matches a request to keep the statement before it: "..., and he will be nine. Please remember it."
var keepRequest = lazyregexp.New(`(?i)[.,;!]\s*(?:so |and )?(?:(?:please|kindly|could you|can you|would you)[ ,]+)*(?:(?:remember|note|keep|save) (?:this|that|it)(?: down| in mind)?|make a note of (?:this|that|it)|(?:do not|don['’]?t) (?:let me )?forget(?: this| that| it)?)(?: for me)?(?:,? please)?[.!? ]*$`)

// planKept plans the storing of a statement that ends with the request to keep it. The statement must name no time of
// day and no day that is counted from today, which would be an appointment.
func (g *grammar) planKept(s *sentence, depth int) (plan, bool) {
	at := keepRequest.FindStringIndex(s.text)
	if at == nil || g.code != "" || depth > 0 || len(s.tokens) == 0 || at[0] <= s.tokens[0].start {
		return noPlan()
	}
	part := g.parseSentence(s.text[s.tokens[0].start:at[0]], s.now)
	n := len(part.tokens)
	if n < 4 || n > maxPlain || g.starters[part.firstWord(0)] && !g.lex.containsWord("owned-starts", part.firstWord(0)) && part.firstWord(0) != "the" && part.firstWord(0) != "i" || strings.Contains(part.text, "?") || g.classOf(part) == aQuestion {
		return noPlan()
	}
	if slices.ContainsFunc(part.allTimes(), func(sp *span) bool {
		m := sp.match.Moment
		relative := slices.ContainsFunc(strings.Fields(strings.ToLower(sp.match.Text)), func(f string) bool { return g.lex.containsWord("relative-days", f) })
		return m == nil || m.HasClock || m.Grain > dateparse.Day || relative
	}) {
		return noPlan()
	}
	states := false
	for i, t := range part.tokens {
		switch {
		case t.kind != word && t.kind != punct, g.lex.containsWord("condition-words", t.norm), g.lex.containsWord("reminder-words", t.norm), i > 0 && g.lex.containsWord("request-words", t.norm), g.lex.containsWord("hob-words", t.norm), g.lex.containsWord("w-words", t.norm):
			return noPlan()
		case i > 0 && g.lex.containsWord("linking-verbs", t.norm), t.norm == "allergic", i == 1 && t.norm == "am":
			states = true
		}
	}
	if !states {
		return noPlan()
	}
	w := intentDraft{g: g, interpretation: interpretation{s: part}}
	p, ok := w.keepStatement(part.originalText(0, n))
	p.intent, p.accounted = g.intentNamed("memory.add"), true
	return p, ok && p.intent != nil
}

// phoneNumber matches the number of a telephone.
var phoneNumber = lazyregexp.New(`^(?:[+0(][0-9 ()/-]{6,}[0-9]|\d{3,4}[- ]\d{3,4}[- ]\d{3,4})$`)

// keepContact stores the number or address of a person: "save Kev's number 404-555-0148". It asks if the message does not
// say what to do with it.
func keepContact(w *intentDraft) (plan, bool) {
	value := strings.Trim(w.slotString("value"), " .!:")
	if !w.mayBeKept() || !phoneNumber.MatchString(value) && !(strings.Contains(value, "@") && !strings.Contains(value, " ")) {
		return noPlan()
	}
	if c, ok := w.captureOf("few_owner"); ok {
		last := w.s.tokens[c.to-1].norm
		if !strings.HasSuffix(last, "'s") && !strings.HasSuffix(last, "s'") && !w.g.lex.containsWord("owned-starts", w.s.firstWord(c.from)) {
			return noPlan()
		}
		return w.keepStatement(w.slotString("few_owner") + " " + w.slotString("what") + " is " + value)
	}
	c, _ := w.captureOf("few_who")
	if w.s.hasWordOf(c.from, c.to, "pronouns", "sum-units", "questions") || strings.ContainsAny(w.s.originalText(c.from, c.to), "0123456789") {
		return noPlan()
	}
	text := w.s.originalText(c.from, w.s.lastWordBefore(len(w.s.tokens))+1)
	p, ok := w.keepStatement(text)
	if !ok || p.outcome != act {
		return p, ok
	}
	return planConfirmation("Should I remember that "+person.ToSecond(w.tidyStatement(text))+"?", p), true
}

// askWhere asks whether to keep where something is that has no owner: "passport is in the blue box".
func (w *intentDraft) askWhere() (plan, bool) {
	c, _ := w.captureOf("few_thing")
	text := w.s.originalText(0, len(w.s.tokens))
	if c.to-c.from > 3 || w.s.hasWordOf(c.from, c.to, "pronouns", "references", "event-nouns", "questions", "negations", "time-words") || !w.isPlainStatement(text) {
		return noPlan()
	}
	p, ok := w.keepStatement(text)
	if !ok || p.outcome != act {
		return noPlan()
	}
	return planConfirmation("Should I remember that "+person.ToSecond(w.tidyStatement(text))+"?", p), true
}
