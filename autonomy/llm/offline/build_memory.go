package offline

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/credential"
	"hob/platform/text/textnorm"
)

func memoryBuilders() map[string]builder {
	return map[string]builder{
		"memory.add": addMemory,
		"memory.add.none": func(*intentDraft) (plan, bool) {
			return planQuestion("What should I remember?", fillBetween("remember that", ""))
		},
		"memory.all":        func(*intentDraft) (plan, bool) { return planCall("recall", listAllArgs()) },
		"memory.about":      aboutMemory,
		"memory.ask":        askMemory,
		"memory.debt":       askDebts,
		"memory.forget":     forgetMatching,
		"memory.forget.all": forgetAll,
		"memory.forget.every": func(w *intentDraft) (plan, bool) {
			return planCall("forget", argsOf("query", bareName(w.slotString("query")), "everything", true))
		},
		"memory.state":    stateFact,
		"memory.kept":     keepPlace,
		"memory.contact":  keepContact,
		"memory.trait":    keepTrait,
		"memory.habit":    offerHabit,
		"memory.pair":     statePair,
		"memory.name":     learnName,
		"memory.name.ask": tellName,
		"memory.person":   askPerson,
		"follow.fact":     amendFact,
		"follow.name":     amendName,
		"follow.person":   askAboutPerson,
		"follow.forget":   forgetShown,
		"search.all":      searchAll,
	}
}

// listAllArgs returns the arguments that list all memory entries.
func listAllArgs() map[string]any { return map[string]any{"query": "", "limit": 100} }

func addMemory(w *intentDraft) (plan, bool) {
	text := w.slotString("text")
	if key := w.slotString("few_key"); key != "" { // "my shoe size is 43"
		if text == "" || w.isQuestion() || w.asksInside("text") || w.namesHob("few_key") || w.g.lex.containsWord("own-kinds", strings.ToLower(key)) || w.g.lex.containsWord("finished", strings.ToLower(text)) {
			return noPlan()
		}
		whole := w.s.originalText(0, len(w.s.tokens))
		if own := w.ownRole(whole); w.s.firstWord(0) != "my" {
			private := slices.ContainsFunc(strings.Fields(strings.ToLower(key)), func(f string) bool { return w.g.lex.containsWord("private", f) })
			named := strings.HasSuffix(w.s.firstWord(0), "'s") && whole != strings.ToLower(whole[:1])+whole[1:] && private // "Dave's number is 07700 900312"
			if own == whole && !named || !strings.Contains(key, " ") {                                                     // "dad's doctor is Dr Patel"
				return noPlan()
			}
			whole = own
		}
		if w.isEvent(key) {
			return noPlan()
		}
		return w.keepStatement(w.separateFacts(w.tidyStatement(whole))...)
	}
	lower := strings.ToLower(text)
	if strings.HasPrefix(lower, "to ") || strings.HasPrefix(lower, "me to ") { // "remember to call mum"
		return noPlan()
	}
	first := w.s.firstWord(0)
	open := w.g.lex.containsWord("open-questions", strings.ToLower(firstField(text))) && !w.hasKeyword("that") || w.hasKeyword("this") && !strings.Contains(text, " ")
	if w.g.isUnspecific(text) || open && (first == "remember" || first == "memorise" || first == "memorize") { // "remember this email"
		return planQuestion("What should I remember?", fillBetween("remember that", ""))
	}
	if c, _ := w.captureOf("text"); w.isBareThing(c) { // "don't forget the dentist", "remember the milk"
		return planQuestion("When should I remind you of "+quoteText(text)+"?", w.timeAnswer(func(when string) string { return "remind me " + when + " about " + text }))
	}
	p, ok := planCall("remember", argsOf("text", text))
	if kind := credential.Sensitive(text); kind != "" {
		p.say = w.g.replyText("secret-kept", "{kind}", kind)
	}
	return p, ok
}

// isBareThing reports whether a request to remember names only a thing, and so says nothing to remember.
func (w *intentDraft) isBareThing(c capture) bool {
	first := w.s.firstWord(0)
	if first != "do" && first != "remember" || w.hasKeyword("that") || w.hasKeyword("this") || w.hasKeyword("for") || c.to-c.from > 3 || c.to-c.from < 2 {
		return false
	}
	article := w.g.lex.containsWord("owned-starts", w.s.firstWord(c.from))
	return article && len(w.s.timesInside(c.from, c.to)) == 0 && !w.s.hasWordOf(c.from, c.to, "linking-verbs", "auxiliaries") && !strings.ContainsAny(w.s.originalText(c.from, c.to), "0123456789")
}

// asksInside reports whether a slot contains a question or a request: "dead what do i do", "lost, can you help".
func (w *intentDraft) asksInside(slot string) bool {
	c, ok := w.captureOf(slot)
	for i := c.from; ok && i < c.to; i++ {
		norm, next := w.s.tokens[i].norm, w.s.firstWord(i+1)
		switch {
		case i > c.from && w.s.tokens[i].kind == punct && w.g.lex.containsWord("please", norm): // "cold please make more"
			return true
		case !w.g.lex.containsWord("questions", norm):
		case norm == "what", norm == "when" && i == c.from, norm == "how" && next != "", i == c.to-1 && !w.g.lex.containsWord("auxiliaries", norm):
			return true
		case w.g.lex.containsWord("pronouns", next) && (i == c.from || norm == "can" || norm == "could" || norm == "should" || norm == "do"), next == "anyone", next == "u":
			return true
		}
		if i > c.from && norm == "i" && w.g.lex.containsWord("wish-words", next) { // "lost and I need help"
			return true
		}
	}
	return false
}

// namesHob reports whether a slot contains "you" or "your": "my answer to your question".
func (w *intentDraft) namesHob(slot string) bool {
	c, _ := w.captureOf(slot)
	return w.s.hasWordOf(c.from, c.to, "hob-words")
}

// isEvent reports whether a statement gives the time of an appointment, as "my haircut is tomorrow at 9" and
// unlike "my dentist is now Dr Patel".
func (w *intentDraft) isEvent(key string) bool {
	named := slices.ContainsFunc(strings.Fields(strings.ToLower(key)), func(f string) bool { return w.g.lex.containsWord("event-nouns", f) })
	return named && slices.ContainsFunc(w.s.allTimes(), func(sp *span) bool {
		return sp.match.Moment != nil && sp.match.Moment.HasClock && sp.match.Moment.Time.After(w.s.now)
	})
}

// isQuestion reports whether the sentence ends in a question mark and is no request such as "could you make it 6?".
func (w *intentDraft) isQuestion() bool {
	if w.s.requested && w.g.lex.containsWord("requested-verbs", w.s.firstWord(0)) {
		return false
	}
	return strings.HasSuffix(strings.TrimRight(w.s.text, " \t\n"), "?")
}

func aboutMemory(w *intentDraft) (plan, bool) {
	c, _ := w.captureOf("query")
	query := bareName(w.trimQuestion(c))
	if w.onlyTime(c) || w.g.isOnlyTime(query, w.s.now) || w.hasKeyword("anything") && len(w.s.timesInside(c.from, c.to)) > 0 { // "what about Monday night?"
		return noPlan()
	}
	switch strings.ToLower(query) {
	case "me", "us", "myself":
		return planCall("recall", listAllArgs())
	case "me before", "us before", "me earlier", "me previously":
		return planCall("recall", argsOf("query", "before"))
	case "you", "yourself", "hob":
		return noPlan()
	case "family", "relatives", "whole family":
		return w.recallFamily()
	}
	if w.g.isUnspecific(query) {
		return planQuestion("About what?", fillBetween("what do you know about", ""))
	}
	if words := " " + w.slotNorm("query"); w.hasKeyword("remind") && (strings.Contains(words, " to ") || !w.isQuestion() && w.hasKeyword("when") && !strings.HasSuffix(words, " is")) {
		return noPlan() // "remind me when I get home to feed the cat"
	}
	return planCall("recall", argsOf("query", query))
}

// recallFamily lists the facts that name a relation of the family.
func (w *intentDraft) recallFamily() (plan, bool) {
	p, _ := planCall("recall", listAllArgs())
	p.keep = func(fact string) bool {
		return slices.ContainsFunc(strings.Fields(strings.ToLower(factText(fact))), func(f string) bool {
			f = strings.Trim(f, ".,;:!?")
			for _, end := range []string{"'s", "’s", "s"} {
				f = strings.TrimSuffix(f, end)
			}
			return slices.ContainsFunc([]string{"women", "men", "relatives"}, func(list string) bool { return w.g.lex.containsWord(list, f) || w.g.lex.containsWord(list, f+"s") })
		})
	}
	p.none = "I found no fact about your family. Ask for a person by name, for example \"what do you know about Anna?\"."
	return p, true
}

// askMemory answers questions about the user's own data from memory. Questions about the world
// need a language model.
func askMemory(w *intentDraft) (plan, bool) {
	c, ok := w.captureOf("query")
	if !ok || len(w.s.tokens) > 40 || !w.isPersonal(c) {
		return noPlan()
	}
	if s := w.s; s.firstWord(0) == "do" && !w.g.lex.containsWord("pronouns", s.firstWord(1)) && (!w.isQuestion() || s.tokens[0].start > 0) {
		return noPlan() // "can you do my taxes"
	}
	query := bareName(w.trimQuestion(c))
	if w.g.isUnspecific(query) || w.onlyTime(c) || w.g.isOnlyTime(query, w.s.now) || query == "I" || strings.HasPrefix(strings.ToLower(query), "if ") {
		return noPlan()
	}
	for i := c.from; i < c.to; i++ { // memory is searched by words, so "Mias" does not find "Mia"
		if owner := w.s.originalText(i, i+1); w.lacksApostrophe(i, c.to) {
			query = strings.Replace(query, owner, strings.TrimSuffix(owner, "s")+"'s", 1)
		}
	}
	p, _ := planCall("recall", argsOf("query", query))
	q := w.factQuestionOf()
	p.pick = func(facts []string) []string { return q.selectAnswers(facts, w.g) }
	p.unanswered = w.g.denyAnswer(w.s.text)
	return p, true
}

// askDebts answers "who owes me money?" and "how much do I owe Tom?" from the facts that say who owes what.
func askDebts(w *intentDraft) (plan, bool) {
	who := textnorm.FoldedWords(w.slotString("few_who"))
	if len(who) == 1 && w.g.lex.containsWord("open-references", who[0]) { // "how much do I owe him?"
		if who = w.g.talk.lastDebtor(); len(who) == 0 {
			return noPlan()
		}
	}
	mine := w.hasKeyword("me") || w.hasKeyword("us")
	p, _ := planCall("recall", listAllArgs()) // "lent" and "owes" have no word in common
	p.keep = func(fact string) bool {
		words := strings.Fields(strings.ToLower(factText(fact)))
		i := slices.IndexFunc(words, func(f string) bool { return f == "owe" || f == "owes" || f == "lent" || f == "borrowed" })
		if i < 1 || !hasEveryWord(fact, who) {
			return false
		}
		owner := words[0] == "i" || words[0] == "we"
		if words[i] == "lent" {
			owner = !owner
		}
		return owner != mine
	}
	p.none = w.g.replyText("not-told", "{words}", quoteText(w.s.text))
	return p, true
}

// lastDebtor returns the name in the latest fact of the conversation about who owes what.
func (d *dialogue) lastDebtor() []string {
	for n := range remembered {
		x, _ := d.exchangeAgo(n)
		for _, p := range slices.Backward(x.acts) {
			words := textnorm.FoldedWords(p.stringArg("text"))
			i := slices.IndexFunc(words, func(f string) bool { return f == "owe" || f == "owes" })
			switch {
			case p.failed || p.tool != "remember" || i < 1 || i+1 >= len(words):
			case words[0] == "i" || words[0] == "we":
				return words[i+1 : i+2]
			default:
				return words[:i]
			}
		}
	}
	return nil
}

// isPersonal reports whether a question is about the user's data: it contains "my" or "I", asks
// about something that belongs to another person, or asks for data that people note down, such as a
// password.
func (w *intentDraft) isPersonal(query capture) bool {
	if w.slotNorm("ask") == "who" && w.isPerson(query) {
		return true
	}
	for _, t := range w.s.tokens[query.from:query.to] {
		switch {
		case t.norm == "you" || t.norm == "your" || t.norm == "hob":
			return false
		case w.g.lex.containsWord("own", t.norm), w.g.lex.containsWord("private", t.norm), strings.HasSuffix(t.norm, "'s") && len(t.norm) > 2, strings.HasSuffix(t.norm, "s'"):
			return true
		}
	}
	return false
}

// onlyTime reports whether a question has no subject except a time, as in "what did I do
// yesterday?".
func (w *intentDraft) onlyTime(c capture) bool {
	for from := c.from; from < c.to; from++ {
		if sp := w.s.spanAt(from); sp != nil && sp.to >= c.to {
			return !slices.ContainsFunc(w.s.tokens[c.from:from], func(t token) bool { return !w.g.lex.containsWord("auxiliaries", t.norm) })
		}
	}
	return false
}

// isOnlyTime reports whether a text names a time and nothing else.
func (g *grammar) isOnlyTime(text string, now time.Time) bool {
	s := g.parseSentence(text, now)
	return len(s.spans) > 0 && s.onlyTimesAnd("prepositions")
}

// isPerson reports whether a query may be a person's name: one or two capitalized words, as in
// "who is Anna?".
func (w *intentDraft) isPerson(query capture) bool {
	words := strings.Fields(w.s.originalText(query.from, query.to))
	for _, f := range words {
		if r, _ := utf8.DecodeRuneInString(f); !unicode.IsUpper(r) {
			return false
		}
	}
	return len(words) == 1 || len(words) == 2
}

// trimQuestion removes question words: "did I park the car" becomes "park the car".
func (w *intentDraft) trimQuestion(c capture) string {
	from, to := c.from, c.to
	for from < to-1 {
		switch w.s.tokens[from].norm {
		case "is", "are", "was", "were", "did", "do", "does", "has", "have", "i", "we", "me", "us", "about", "again", "the", "my", "our", "a", "an", "am", "it", "there", "got", "call", "called", "where", "when", "who", "what", "which", "whose", "whether":
			from++
			continue
		}
		break
	}
	for to-1 > from {
		switch w.s.tokens[to-1].norm {
		case "is", "are", "was", "again", "called", "were", "located", "like", "have", "has", "to", "say", "said", "tell", "told", "?":
			to--
			continue
		}
		break
	}
	query := w.s.originalText(from, to)
	query += " "
	for _, aux := range []string{" called ", " named ", " did I ", " do I ", " have I ", " did we ", " do we ", " have we "} {
		query = strings.Replace(strings.Replace(query, aux, " ", 1), strings.ToLower(aux), " ", 1) // "which level did I park on"
	}
	return strings.TrimSpace(query)
}

func forgetMatching(w *intentDraft) (plan, bool) {
	query := w.slotString("query")
	lower := strings.ToLower(query)
	switch w.s.firstWord(1) {
	case "it": // "forget it, I already called" erases nothing
		return planReply(w.g.replyText("forget-it"))
	case "where", "who", "when", "why", "how", "which": // no fact is named
		return planRefusal(w.g.replyText("forget-question"))
	}
	for _, head := range []string{"about ", "that ", "the fact that "} {
		if strings.HasPrefix(lower, head) {
			query, lower = query[len(head):], lower[len(head):]
		}
	}
	all := false
	for _, head := range []string{"everything about ", "everything you know about ", "all about ", "all you know about "} {
		if strings.HasPrefix(lower, head) {
			query, lower, all = query[len(head):], lower[len(head):], true
		}
	}
	for _, head := range []string{"everything from ", "all from "} {
		if strings.HasPrefix(lower, head) {
			return forgetFrom(strings.TrimSpace(query[len(head):]))
		}
	}
	if w.g.isUnspecific(query) || strings.HasPrefix(lower, "to ") {
		return noPlan()
	}
	if all {
		return planCall("forget", argsOf("query", bareName(query), "everything", true))
	}
	if p, ok := w.forgetRecord(query); ok {
		return p, true
	}
	return planCall("forget", argsOf("query", bareName(query)))
}

// forgetRecord asks whether "forget the chips" deletes the reminder or the task for chips that the conversation mentioned.
func (w *intentDraft) forgetRecord(query string) (plan, bool) {
	words := textnorm.FoldedWords(bareName(query))
	for n := range recent {
		x, _ := w.g.talk.exchangeAgo(n)
		list, _ := x.listItems()
		for _, it := range slices.Backward(list) {
			if len(words) == 0 || !hasEveryWord(it.ref, words) {
				continue
			}
			if it.kind != "reminder" && it.kind != "task" {
				return noPlan()
			}
			verb := map[string]string{"reminder": "cancel", "task": "delete"}[it.kind]
			return planConfirmation("Should I "+verb+" the "+it.kind+" "+quoteText(it.ref)+"?",
				plan{outcome: act, accounted: true, calls: []call{deleteRecord(record{kind: it.kind}, it.ref)}}), true
		}
	}
	return noPlan()
}

// forgetFrom erases everything from an unambiguously named source: "file:/a/b", an address, or a
// path.
func forgetFrom(place string) (plan, bool) {
	kind, rest, _ := strings.Cut(place, ":")
	switch {
	case strings.Contains(place, " "):
		return noPlan()
	case strings.HasPrefix(rest, "//"):
		return planCall("forget", argsOf("source", "url:"+place))
	case rest != "" && slices.Contains([]string{"event", "session", "mail", "file", "url", "import"}, kind):
		return planCall("forget", argsOf("source", place))
	case strings.HasPrefix(place, "/"):
		return planCall("forget", argsOf("source", "file:"+place))
	}
	return noPlan()
}

func forgetAll(w *intentDraft) (plan, bool) {
	if len(w.s.tokens) > 1 {
		return planRefusal(w.g.replyText("forget-all"))
	}
	return planQuestion("What should I forget?", fillBetween("forget", ""))
}

func searchAll(w *intentDraft) (plan, bool) {
	query := bareName(w.slotString("query"))
	lower := strings.ToLower(query)
	for _, head := range []string{"for ", "about ", "on ", "anything about ", "everything about ", "mentions of "} {
		if strings.HasPrefix(lower, head) {
			query, lower = bareName(query[len(head):]), lower[len(head):]
		}
	}
	if w.g.isUnspecific(query) {
		return planQuestion("What should I search for?", fillBetween("search for", ""))
	}
	if strings.Contains(lower, " on the web") || strings.HasPrefix(lower, "the web") || strings.HasPrefix(lower, "the internet") ||
		strings.HasSuffix(lower, " online") || strings.HasPrefix(lower, "web for") || strings.HasPrefix(lower, "internet for") || strings.HasPrefix(lower, "google") {
		return planRefusal(w.g.replyText("no-web"))
	}
	return planCall("search_knowledge", argsOf("query", query))
}

// denyAnswer returns the reply to a question without an answer.
func (g *grammar) denyAnswer(question string) string {
	return g.replyText("not-told", "{words}", quoteText(question))
}
