package offline

import (
	"slices"
	"strings"
	"unicode"

	"hob/platform/text/credential"
	"hob/platform/text/dateparse"
	"hob/platform/text/person"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

// stateFact stores a statement such as "my sister is Anna". Every part of the message must be such a
// statement.
func stateFact(w *intentDraft) (plan, bool) {
	text := w.slotString("text")
	if w.isQuestion() || w.isAsking() || !w.noLead() || say.OwnWords(text) != strings.TrimSpace(text) {
		return noPlan()
	}
	if kind := credential.Sensitive(text); kind != "" && w.statesSecret(text) {
		return planRefusal(w.g.replyText("secret", "{kind}", kind))
	}
	if first, _, _ := strings.Cut(strings.ReplaceAll(text, "’", "'"), " "); strings.HasSuffix(first, "'s") && !w.g.lex.containsWord("not-names", strings.TrimSuffix(first, "'s")) {
		text = upperFirst(text) // "anna's birthday"
	}
	text = w.tidyStatement(w.ownRole(text))
	if len(say.Lasting(text, w.s.now)) == 0 && !w.g.vocab[w.s.firstWord(0)] && !w.g.lex.containsWord("not-names", w.s.firstWord(0)) {
		if _, verb, ok := strings.Cut(text, " "); !ok || !w.isThirdPerson(firstField(verb)) {
			return noPlan() // "try to speak slowly"
		}
		text = upperFirst(text) // "dave lives in Leeds"
	}
	if last := w.s.tokens[len(w.s.tokens)-1].norm; w.g.lex.containsWord("open-references", last) || w.s.hasWordOf(0, len(w.s.tokens), "hob-words") { // "I have no answer for that"
		return noPlan()
	}
	if len(say.Lasting(text, w.s.now)) == 0 || len(say.Unread(text, w.s.now)) > 0 || w.isCallReport() {
		return noPlan()
	}
	p, ok := w.keepStatement(w.separateFacts(text)...)
	p.accounted = true // package triples parses the complete text
	return p, ok
}

// isThirdPerson reports whether a word can follow a name in a statement: "lives", "is", "and", "used".
func (w *intentDraft) isThirdPerson(verb string) bool {
	verb = strings.ToLower(verb)
	_, past := w.g.baseForm(verb)
	return past || strings.HasSuffix(verb, "s") || strings.HasSuffix(verb, "ed") || verb == "and" || w.g.lex.containsWord("auxiliaries", verb) || w.g.lex.containsWord("asked-attributes", verb)
}

// isCallReport reports whether "called" is a call and not a name: "I already called mum", "Tom called at 9".
func (w *intentDraft) isCallReport() bool {
	for i, t := range w.s.tokens {
		switch {
		case i == 0 || t.norm == "already" || t.norm == "just" || t.norm == "have" || t.norm == "has":
		case t.norm == "called":
			return !strings.HasSuffix(w.s.firstWord(0), "'s")
		default:
			return false
		}
	}
	return false
}

// ownRole adds "my" before a relative without a possessive: "dad's doctor is Dr Patel".
func (w *intentDraft) ownRole(text string) string {
	first, rest, _ := strings.Cut(strings.ReplaceAll(text, "’", "'"), " ")
	role, owner := strings.CutSuffix(strings.ToLower(first), "'s")
	if !owner || !w.g.lex.containsWord("women", role) && !w.g.lex.containsWord("men", role) || rest == "" {
		return text
	}
	return "my " + role + "'s " + rest
}

// keepPlace stores a statement about where something is, who has it or who owes what. It declines
// if the place is vague, or contains a time and may therefore be an appointment.
func keepPlace(w *intentDraft) (plan, bool) {
	if w.isQuestion() || w.g.classOf(w.s) == aQuestion || !w.noLead() || w.depth > 0 || len(w.s.tokens) > 20 || w.isNegated() {
		return noPlan()
	}
	has := func(list string, tokens []token) bool {
		return slices.ContainsFunc(tokens, func(t token) bool { return w.g.lex.containsWord(list, t.norm) })
	}
	owned := func(name string) bool { // "my drill", "Tom's bike", "the keys"
		c, ok := w.captureOf(name)
		first := w.s.firstWord(c.from)
		return !ok || w.g.lex.containsWord("owned-starts", first) || strings.HasSuffix(first, "'s") || w.isPerson(c)
	}
	if has("no-statement", w.s.tokens) || has("hob-words", w.s.tokens) || has("condition-words", w.s.tokens[1:]) {
		return noPlan()
	}
	if !owned("few_thing") {
		if w.s.hasWordOf(0, len(w.s.tokens), "linking-verbs") && w.hasSlot("place") {
			return w.askWhere()
		}
		return noPlan()
	}
	if c, ok := w.captureOf("few_thing"); ok && has("event-nouns", w.s.tokens[c.from:c.to]) {
		return noPlan()
	}
	if w.hasSlot("rest") && w.hasSlot("few_owner") && w.s.firstWord(w.restStart()) == "and" { // see statePair
		return noPlan()
	}
	if c, ok := w.captureOf("place"); ok && (slices.ContainsFunc(w.s.allTimes(), func(sp *span) bool { return sp.to > c.from && sp.from < c.to }) || w.g.isUnspecific(w.slotString("place"))) {
		return noPlan()
	}
	if c, ok := w.captureOf("few_who"); ok && !owned("few_who") || ok && w.isPerson(c) && w.hasOrdinaryWord(c) {
		return noPlan()
	}
	if c, ok := w.captureOf("few_debtor"); ok && !w.isPerson(c) && !w.g.lex.containsWord("owned-starts", w.s.firstWord(c.from)) && (c.to-c.from > 2 || w.hasOrdinaryWord(c)) {
		return noPlan()
	}
	if c, ok := w.captureOf("role"); ok {
		if who, _ := w.captureOf("few_who"); c.to-c.from > 3 || len(w.s.timesInside(c.from, c.to)) > 0 || !w.isPerson(who) {
			return noPlan()
		}
	}
	if !owned("few_owner") {
		return noPlan()
	}
	if w.hasSlot("few_key") && w.hasSlot("time") && !has("yearly-days", w.s.tokens) {
		return noPlan()
	}
	if w.g.lex.containsWord("person-words", w.s.firstWord(0)) { // "her birthday is ..."
		return w.asPersonStatement()
	}
	return w.keepStatement(w.s.originalText(0, len(w.s.tokens)))
}

// keepTrait stores a statement about what a person is, such as "Jonas weighs 14 kilos".
func keepTrait(w *intentDraft) (plan, bool) {
	text := w.s.originalText(0, len(w.s.tokens))
	who, named := w.captureOf("few_who")
	value, valued := w.captureOf("value")
	switch {
	case w.hasKeyword("allergic") || w.hasKeyword("intolerant"): // "jo is allergic to nuts"
		name := w.s.firstWord(who.from)
		if !w.mayBeKept() || !w.isPlainStatement(text) || !w.isKnownPerson(who) && (who.to-who.from != 1 || w.g.vocab[name] || w.g.lex.containsWord("pronouns", name) || w.g.lex.containsWord("reference-words", name)) {
			return noPlan()
		}
	case w.hasSlot("kin"): // "i have two cats, Miso and Pickle"
		if names := w.slotString("value"); !w.mayBeKept() || names == strings.ToLower(names) || !w.isPlainStatement(names) || len(strings.Fields(names)) > 8 || strings.ContainsAny(names, "0123456789") {
			return noPlan()
		}
	case !w.mayBeKept(), named && !w.isKnownPerson(who), !w.isPlainStatement(text), len(say.Lasting(text, w.s.now)) > 0: // see stateFact
		return noPlan()
	case w.hasKeyword("called") && w.g.lex.containsWord("not-names", w.s.firstWord(value.from)): // "our meeting is called off"
		return noPlan()
	case w.hasKeyword("weigh"), w.hasKeyword("weighs"), w.hasKeyword("size"):
		if valued && !strings.ContainsAny(w.s.originalText(value.from, value.to), "0123456789") {
			return noPlan() // "he weighs the flour"
		}
	}
	if named && w.isPerson(who) {
		text = upperFirst(text)
	}
	return w.keepStatement(text)
}

// offerHabit asks whether to store what a person usually does, such as "I take my coffee black".
func offerHabit(w *intentDraft) (plan, bool) {
	who, _ := w.captureOf("few_who")
	verb, _ := w.captureOf("verb")
	about := func(t token) bool { return w.g.lex.containsWord("hob-words", t.norm) }
	if rest, ok := w.captureOf("rest"); !ok || slices.ContainsFunc(w.s.tokens[rest.from:], about) || !w.mayBeKept() || !w.isKnownPerson(who) || !w.isPlainStatement(w.s.originalText(who.from, who.to)+" "+w.s.originalText(verb.from, rest.to)) {
		return noPlan()
	}
	text := w.s.originalText(0, len(w.s.tokens))
	p, ok := w.keepStatement(text)
	if !ok || p.outcome != act {
		return p, ok
	}
	return planConfirmation("Should I remember that "+person.ToSecond(w.tidyStatement(text))+"?", p), true
}

// mayBeKept reports whether a message is a complete statement and not a question.
func (w *intentDraft) mayBeKept() bool {
	return !w.isQuestion() && w.g.classOf(w.s) != aQuestion && w.noLead() && w.depth == 0
}

// isKnownPerson reports whether a range is the user, a name, or a person, animal or thing with a
// possessive: "my mum".
func (w *intentDraft) isKnownPerson(c capture) bool {
	switch w.s.firstWord(c.from) {
	case "i", "we":
		return c.to == c.from+1
	case "my", "our":
		return c.to > c.from+1 && c.to <= c.from+4
	}
	return w.isPerson(c) && !w.hasOrdinaryWord(c)
}

func (w *intentDraft) restStart() int {
	c, _ := w.captureOf("rest")
	return c.from
}

// asPersonStatement handles the sentence like a statement that begins with a pronoun.
func (w *intentDraft) asPersonStatement() (plan, bool) {
	d := *w
	d.caps = []capture{{name: "text", from: 0, to: len(w.s.tokens)}}
	if d.g.talk == nil {
		d.g = d.g.inDialogue(&dialogue{})
	}
	return stateAboutPerson(&d)
}

// statesSecret reports whether text begins like a statement, so that "open https://..." with a key is
// not answered with the advice for secrets.
func (w *intentDraft) statesSecret(text string) bool {
	first, _, _ := strings.Cut(strings.ToLower(text), " ")
	return say.Mine(first) || slices.Contains([]string{"the", "password", "pin", "iban", "here"}, strings.Trim(first, ":"))
}

// learnName stores the name of the user. A name has at most 3 words, none of which has another
// meaning in requests.
func learnName(w *intentDraft) (plan, bool) {
	if w.isQuestion() || !w.noLead() {
		return noPlan()
	}
	if c, ok := w.captureOf("few_self"); ok {
		if name := w.s.originalText(c.from, c.to); w.isPerson(c) && !w.hasOrdinaryWord(c) {
			return planQuestion("Is “"+name+"” your name?", func(answer string) (string, bool) {
				return "my name is " + name, w.g.lex.containsWord("yes", strings.ToLower(strings.Trim(answer, " .!")))
			})
		}
		return noPlan()
	}
	c, _ := w.captureOf("few_name")
	if len(strings.Fields(w.s.originalText(c.from, c.to))) > 3 || len(w.s.timesInside(c.from, c.to)) > 0 || w.hasOrdinaryWord(c) {
		return noPlan()
	}
	return w.keepStatement("my name is " + upperFirst(w.s.originalText(c.from, c.to)))
}

// amendName corrects the name of the user after Hob stored it or asked about it.
func amendName(w *intentDraft) (plan, bool) {
	x, _ := w.g.talk.exchangeAgo(0)
	asked := strings.HasPrefix(x.reply, "Is “") && strings.HasSuffix(x.reply, "” your name?")
	if !asked && !isAbout(x.shownFact(), "my", "name") {
		return noPlan()
	}
	return learnName(w)
}

// hasOrdinaryWord reports whether a range contains a word that is not a name.
func (w *intentDraft) hasOrdinaryWord(c capture) bool {
	return slices.ContainsFunc(w.s.tokens[c.from:c.to], func(t token) bool {
		return t.kind != word || w.g.lex.containsWord("not-names", t.norm) || strings.IndexFunc(t.norm, unicode.IsDigit) >= 0
	})
}

// tellName answers "what's my name?".
func tellName(w *intentDraft) (plan, bool) {
	p, _ := planCall("recall", argsOf("query", "my name"))
	p.keep = func(fact string) bool { return isAbout(fact, "my", "name") || strings.HasPrefix(fact, "I am called ") }
	p.none = w.g.replyText("no-name")
	return p, true
}

// isAbout reports whether a fact states the attribute of the user and not of another person: "my
// wife's name is Julia" does not state the name of the user.
func isAbout(fact, owner, attr string) bool {
	words := strings.Fields(strings.ToLower(fact))
	i := slices.Index(words, attr)
	return i > 0 && strings.Trim(words[i-1], ".,") == owner || i > 1 && words[i-2] == owner && !strings.Contains(words[i-1], "'") && !strings.Contains(words[i-1], "’")
}

// askPerson answers questions about people and their belongings from memory. A fact answers a
// question only if it contains the words of the question.
func askPerson(w *intentDraft) (plan, bool) {
	c, ok := w.captureOf("query")
	if ok && (w.onlyTime(c) || len(w.s.timesInside(c.from, c.to)) > 0) {
		return noPlan()
	}
	if first := w.s.firstWord(0); ok && (first != "who" || w.s.tokens[c.from].norm == "the") { // a person's name
		if w.hasOrdinaryWord(c) || len(strings.Fields(w.s.originalText(c.from, c.to))) > 2 {
			return noPlan()
		}
	}
	for _, t := range w.s.tokens { // the intent memory.ask handles questions with "my" and "I"
		if w.g.lex.containsWord("own", t.norm) {
			return noPlan()
		}
	}
	words := w.contentWords()
	if len(words) == 0 {
		return noPlan()
	}
	p, _ := planCall("recall", argsOf("query", strings.Join(words, " ")))
	p.keep = func(fact string) bool { return hasEveryWord(fact, words) }
	if first := w.s.firstWord(0); first == "where" || first == "when" || first == "how" { // another fact about the person is not an answer
		q := w.factQuestionOf()
		p.pick = func(facts []string) []string { return q.selectAnswers(facts, w.g) }
	}
	if w.hasSlot("few_noun") { // "which school does Ella go to?": "Ella goes to Oak Hill" and "Ella's school is Oak Hill" answer it
		name := textnorm.FoldedWords(w.slotString("query"))
		verb, noun := w.slotNorm("word_verb"), textnorm.FoldedWords(w.slotString("few_noun"))
		p.calls[0].args["query"] = strings.Join(name, " ")
		p.keep = func(fact string) bool {
			does := slices.ContainsFunc(textnorm.FoldedWords(fact), func(h string) bool { return strings.HasPrefix(h, verb) && len(h) <= len(verb)+2 })
			return hasEveryWord(fact, name) && (does || hasEveryWord(fact, noun))
		}
	}
	keep, pick := p.keep, p.pick
	p.keep, p.pick = nil, func(facts []string) []string { // notes and tasks may answer too
		facts = slices.DeleteFunc(slices.Clone(facts), func(f string) bool { return !keep(f) })
		if pick != nil {
			facts = pick(facts)
		}
		return facts
	}
	p.unanswered = w.g.denyAnswer(w.s.text)
	return p, true
}

// contentWords returns the words of a question that an answer must contain.
func (w *intentDraft) contentWords() (out []string) {
	for _, t := range w.s.tokens {
		for _, f := range textnorm.FoldedWords(strings.TrimSuffix(strings.TrimSuffix(t.norm, "'s"), "’s")) {
			if t.kind != punct && !w.g.lex.containsWord("question-words", f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// hasEveryWord reports whether a fact contains all words. Similar forms count: "lives" for "live".
func hasEveryWord(fact string, words []string) bool {
	have := textnorm.FoldedWords(fact)
	return !slices.ContainsFunc(words, func(w string) bool {
		return !slices.ContainsFunc(have, func(h string) bool { return wordLikeness(w, h) >= 0.6 || len(w) == 3 && strings.HasPrefix(h, w) })
	})
}

// amendFact completes or corrects the fact of the previous exchange: "it's Julia" after a question
// that memory could not answer, "no, it's Julie" or "that's wrong, she works at Bosch now" after a
// fact.
func amendFact(w *intentDraft) (plan, bool) {
	if w.isQuestion() || w.isAsking() || !w.noLead() {
		return noPlan()
	}
	x, _ := w.g.talk.exchangeAgo(0)
	fact := x.shownFact()
	if c, ok := w.captureOf("value"); ok {
		value := w.s.originalText(c.from, c.to)
		if strings.ContainsAny(value, ",;") || w.g.lex.containsWord("no-values", strings.ToLower(value)) { // "it's changed, it's Dr Owen now"
			return noPlan()
		}
		if fact == "" {
			if subject := w.openSubject(x); subject != "" && !w.s.hasWordOf(0, c.from, "person-subjects") && len(strings.Fields(value)) <= 12 {
				return w.keepStatement(subject + " is " + value)
			}
			return noPlan()
		}
		list := say.Read(fact, w.s.now)
		role := w.g.lex.containsWord("owned-starts", w.s.firstWord(c.from)) && w.g.isRole(w.s.firstWord(c.from+1))                      // "he is my son" states a different fact
		about := w.s.hasWordOf(0, c.from, "person-subjects")                                                                            // "she is 4" does not correct a name
		if role || about && len(list) == 1 && (list[0].Attr == say.Called || list[0].Attr == "name" || strings.Contains(fact, "'s ")) { // "she's 58" after her birthday
			return w.asPersonStatement()
		}
		if !w.correctsFact(c.from) && (len(list) != 1 || !strings.ContainsAny(list[0].Value, "0123456789") || !strings.ContainsAny(value, "0123456789")) {
			if about && len(list) == 1 && !list[0].Subject.Owner {
				return w.asPersonStatement()
			}
			return noPlan()
		}
		if len(list) == 1 && (len(dateparse.Find(list[0].Value, w.s.now)) > 0) != (len(dateparse.Find(value, w.s.now)) > 0) {
			return noPlan()
		}
		if len(list) == 1 && list[0].Value != "" && strings.Count(fact, list[0].Value) == 1 && len(strings.Fields(value)) <= len(strings.Fields(list[0].Value))+3 {
			if _, number := strings.CutPrefix(list[0].Value, "number "); number && isDigit(value[0]) {
				value = "number " + value
			}
			p, ok := w.keepStatement(strings.Replace(fact, list[0].Value, value, 1))
			if made := w.g.talk.statedFact(fact); ok && p.outcome == act && made != nil && list[0].Attr == "is" { // memory would keep both
				p.calls, p.then = []call{made.undoCall()}, p.calls
			}
			return p, ok
		}
	}
	if known := say.Read(fact+".", w.s.now); w.hasSlot("place") && len(known) == 1 && !known[0].Subject.Owner && known[0].Subject.Text != "" {
		where := w.slotNorm("where")
		if where == "to" || where == "into" {
			where = "in"
		}
		return w.keepStatement(known[0].Subject.Text + " is " + where + " " + w.slotString("place"))
	}
	if !w.hasSlot("text") {
		return noPlan()
	}
	return stateAboutPerson(w)
}

// correctsFact reports whether a message says before its value that it corrects a fact: "no, it's Sue". "He's 30" after
// "my brother is Tom" states a further one.
func (w *intentDraft) correctsFact(from int) bool {
	return w.hasSlot("oops") || w.s.hasWordOf(0, from, "correction-starts", "negations", "second-thoughts") || slices.ContainsFunc(w.s.tokens[:from], func(t token) bool {
		return slices.Contains([]string{"now", "actually", "really", "meant", "mean", "should", "wrong", "was"}, t.norm)
	}) || w.hasKeyword("instead") || w.hasKeyword("actually")
}

// statedFact returns the call of the conversation that stored a fact, or nil.
func (d *dialogue) statedFact(fact string) *pastCall {
	for n := range remembered {
		x, _ := d.exchangeAgo(n)
		for i, p := range x.acts {
			if p.tool == "remember" && !p.failed && p.stringArg("text") == fact {
				return &x.acts[i]
			}
		}
	}
	return nil
}

// forgetShown forgets the fact of the previous exchange. A fact that was just stored is undone, so the
// fact that it replaced comes back.
func forgetShown(w *intentDraft) (plan, bool) {
	x, _ := w.g.talk.exchangeAgo(0)
	switch fact := x.shownFact(); {
	case fact == "", w.hasKeyword("it") && x.acts[0].tool == "recall": // "forget it" means the question
		return noPlan()
	case x.acts[len(x.acts)-1].tool == "remember":
		return planCalls(x.acts[len(x.acts)-1].undoCall())
	default:
		return planCall("forget", argsOf("query", fact))
	}
}

// shownFact returns the only fact that an exchange stored or showed.
func (x *exchange) shownFact() string {
	acts := x.acts
	if n := len(acts); n > 1 && acts[n-1].tool == "remember" && !slices.ContainsFunc(acts[:n-1], func(p pastCall) bool { return p.tool != "undo" && p.tool != "remember" }) {
		acts = acts[n-1:] // a correction, or several facts of one message
	}
	if len(acts) != 1 || acts[0].failed {
		return ""
	}
	switch p := acts[0]; p.tool {
	case "remember":
		return p.stringArg("text")
	case "recall":
		text, _ := cutRelations(p.text)
		body, ok := strings.CutPrefix(strings.TrimSpace(text), preface)
		facts := factsOf(body)
		if len(facts) > 1 { // the answer shows only the facts that match the question
			reply := strings.ToLower(x.reply)
			facts = slices.DeleteFunc(facts, func(f string) bool { return !strings.Contains(reply, strings.ToLower(person.ToSecond(factText(f)))) })
		}
		if !ok || len(facts) != 1 || strings.Contains(p.text, bygone) {
			return ""
		}
		if i := strings.LastIndex(facts[0], " ("); i > 0 {
			return facts[0][:i]
		}
	}
	return ""
}

// openSubject returns the subject of a question that memory could not answer: "my wife's name" for
// "what is my wife's name?".
func (w *intentDraft) openSubject(x exchange) string {
	if len(x.acts) == 0 || x.acts[0].tool != "recall" || !foundNothing(x.acts[0].text) {
		return ""
	}
	alone := w.g.inDialogue(nil)
	s := alone.parseSentence(x.own, w.s.now)
	for _, r := range alone.allReadings(s, false) {
		d := intentDraft{interpretation: r, g: alone}
		switch {
		case r.intent.name == "memory.name.ask":
			return "my name"
		case r.intent.name == "memory.ask" || r.intent.name == "memory.person":
			if q := d.slotString("query"); !alone.lex.containsWord("pronouns", strings.ToLower(firstField(q))) && slices.Contains([]string{"is", "are", "was"}, s.firstWord(s.skipPunctuation(0)+1)) {
				return strings.TrimRight(q, "?!. ")
			}
		}
	}
	return ""
}
