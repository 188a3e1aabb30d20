package offline

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/credential"
	"hob/platform/text/dateparse"
	"hob/platform/text/person"
	say "hob/platform/text/triples"
)

// tidyStatement returns a statement as it is stored: without a remark such as "btw" at its end, with a
// capital "I" and the apostrophes of "im" and "wifes".
func (w *intentDraft) tidyStatement(text string) string {
	part := *w.g.parseSentence(text, w.s.now)
	if len(part.tokens) == 0 {
		return text
	}
	w.g.peelEnd(&part, w.g.remarks)
	for n := len(part.tokens) - 1; n > 0 && part.tokens[n].kind == punct && !strings.Contains(")]}>", part.tokens[n].norm); n-- { // ", please"
		part.tokens = part.tokens[:n]
	}
	last := part.tokens[len(part.tokens)-1].end
	words := strings.Fields(strings.TrimRight(part.text[:last], " .,;!"))
	for i, f := range words {
		bare := strings.TrimRight(f, ",.;")
		if form, ok := w.g.lex.meaningOf("written-forms", strings.ToLower(bare)); ok && (len(bare) > 1 || bare == "i") {
			words[i] = form + f[len(bare):]
		}
		if one, plural := strings.CutSuffix(bare, "s"); plural && i > 0 && i+1 < len(words) && w.g.isRole(strings.ToLower(one)) && w.g.lex.containsWord("private", strings.ToLower(strings.Trim(words[i+1], ",."))) {
			words[i] = one + "'s" // "my wifes birthday"
		}
	}
	return strings.Join(words, " ")
}

// dateDays replaces days such as "tomorrow" by their date, because the statement is read on other days. The date of
// a birthday has no year.
func (w *intentDraft) dateDays(text string) string {
	s := w.g.parseSentence(text, w.s.now)
	form := "on 2 January 2006"
	if slices.ContainsFunc(s.tokens, func(t token) bool { return w.g.lex.containsWord("yearly-days", t.norm) }) {
		form = "on 2 January"
	}
	out := s.text
	for _, sp := range slices.Backward(s.allTimes()) {
		m := sp.match
		relative := slices.ContainsFunc(strings.Fields(strings.ToLower(m.Text)), func(f string) bool { return w.g.lex.containsWord("relative-days", f) })
		if m.Moment != nil && m.Moment.HasClock && isBareClock(m.Text, w.s.now) { // "at 8 in the morning" is no day
			continue
		}
		if m.Moment == nil || m.Moment.Grain > dateparse.Day || m.Period != nil && m.Moment.HasClock || !relative {
			continue
		}
		day := m.Moment.Time.Format(form)
		if m.Moment.HasClock {
			day += m.Moment.Time.Format(" at 15:04")
		}
		out = out[:m.Start] + day + out[m.End:]
	}
	return out
}

// keepStatement returns the plan that stores a statement that the user did not ask to store. A
// secret is not stored.
func (w *intentDraft) keepStatement(texts ...string) (plan, bool) {
	out := plan{outcome: act}
	for _, text := range texts {
		words := strings.Fields(strings.ToLower(w.tidyStatement(text)))
		if len(words) > 0 && w.g.lex.containsWord("dangling-ends", words[len(words)-1]) { // a half of a remark
			return planQuestion("I am not sure how to read the end of "+quoteText(text)+", so I kept nothing. What should I remember?", fillBetween("remember that", ""))
		}
		if kind := credential.Sensitive(text); kind != "" {
			return planRefusal(w.g.replyText("secret", "{kind}", kind))
		}
		out.calls = append(out.calls, call{"remember", argsOf("text", w.dateDays(w.tidyStatement(text)))})
	}
	return out, len(out.calls) > 0
}

// separateFacts returns the facts of a statement. If a fact about a person has only "she" or "her", it gets
// the name or role from the fact before it, so that it can be found alone.
func (w *intentDraft) separateFacts(text string) []string {
	list := say.Lasting(text, w.s.now)
	var out []string
	who, role, replaced := "", "", false
	for _, t := range list {
		full := t.Text
		if named, ok := replacePronoun(w.g, full, who); ok && who != "" {
			full, replaced = named, true
		} else if rest, ok := strings.CutPrefix(full, t.Subject.Text+" "); ok && who != "" && t.Subject.Role == role && !strings.Contains(text, full) {
			full, replaced = who+" "+withVerb(w.g, text, rest), true // package triples inserted the subject of the previous fact
		}
		if !slices.Contains(out, full) {
			out = append(out, full)
		}
		if name := subjectPhrase(t); name != "" && (who == "" || t.Subject.Role != role) {
			who, role = name, t.Subject.Role
		}
	}
	if len(out) < 2 || !replaced {
		return []string{text}
	}
	return out
}

// withVerb returns the rest of a fact with the "is" of "she's" before it.
func withVerb(g *grammar, text, rest string) string {
	head, _, ok := strings.Cut(text, " "+rest)
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(head, "’", "'")))
	if !ok || len(words) == 0 {
		return rest
	}
	if verb, _ := g.lex.meaningOf("person-pronouns", words[len(words)-1]); verb == "is" {
		return "is " + rest
	}
	return rest
}

// subjectPhrase returns the person or animal that a statement is about, with the name if it is known: "my
// sister Julia". It returns "" for the user and for things.
func subjectPhrase(t say.Triple) string {
	s := t.Subject
	if s.Owner || s.Role == "" && s.Name == "" {
		return ""
	}
	text := s.Text
	text = capitalizedAs(text, t.Text)
	if strings.EqualFold(text, s.Role) { // "my sister is Julia"
		text = "my " + text
	}
	for _, mark := range []string{"'s ", "’s "} { // "my brother's name"
		if head, _, ok := strings.Cut(text, mark); ok {
			text = head
		}
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "'s"), "’s")
	if name := strings.TrimSpace(t.Value); (t.Attr == say.Called || t.Attr == "name") && s.Name == "" && name != "" && len(strings.Fields(name)) <= 2 {
		return text + " " + capitalizedAs(name, t.Text)
	}
	return text
}

// capitalizedAs returns words with the capital letters that they have in text.
func capitalizedAs(words, text string) string {
	lower := strings.ToLower(text)
	if i := strings.Index(lower, strings.ToLower(words)); i >= 0 && len(lower) == len(text) {
		return text[i : i+len(words)]
	}
	return words
}

// replacePronoun replaces the pronoun at the start of text by a person: "her birthday is ..."
// becomes "my sister's birthday is ...". The bool result is false if text does not start with a
// pronoun.
func replacePronoun(g *grammar, text, who string) (string, bool) {
	first, rest, _ := strings.Cut(strings.ReplaceAll(text, "’", "'"), " ")
	form, ok := g.lex.meaningOf("person-pronouns", strings.ToLower(first))
	if !ok || rest == "" {
		return text, false
	}
	if form == "is" {
		if form = " is"; g.lex.containsWord("perfect-verbs", strings.ToLower(firstField(rest))) { // "she's moved to Leeds"
			form = " has"
		}
	}
	return who + form + " " + rest, true
}

// recentSubject returns the person that the most recent exchanges were about, if the pronoun can
// refer to that person, and how many exchanges ago. The search ends at an exchange that called
// tools but stored or showed no fact.
func (w *intentDraft) recentSubject(pronoun string) (who string, ago int) {
	for n := range recent {
		x, ok := w.g.talk.exchangeAgo(n)
		if !ok {
			break
		}
		fact := x.shownFact()
		if fact == "" && len(x.acts) > 0 {
			return "", 0
		}
		for _, t := range slices.Backward(say.Read(fact+".", w.s.now)) {
			who := subjectPhrase(t)
			if who == "" {
				continue
			}
			role := t.Subject.Role
			women, men := w.g.lex.containsWord("women", role), w.g.lex.containsWord("men", role)
			if strings.HasPrefix(pronoun, "he") && pronoun != "her" && pronoun != "hers" && women || strings.HasPrefix(pronoun, "hi") && women || (strings.HasPrefix(pronoun, "she") || pronoun == "her") && men {
				return "", 0
			}
			return who, n
		}
	}
	return "", 0
}

// stateAboutPerson handles a statement that begins with "she" or "her". The conversation determines
// who is meant; otherwise Hob asks. A statement of an unknown form is stored only if the user
// agrees.
func stateAboutPerson(w *intentDraft) (plan, bool) {
	if w.isQuestion() || w.isAsking() || !w.noLead() || len(w.s.tokens) > 20 {
		return noPlan()
	}
	text := w.tidyStatement(w.slotString("text"))
	pronoun, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(text, "’", "'")), " ")
	if _, ok := replacePronoun(w.g, text, "x"); !ok {
		return noPlan()
	}
	alone := w.g.inDialogue(nil)
	keep := func(who string) (plan, bool) {
		full, _ := replacePronoun(w.g, text, who)
		if len(say.Lasting(full, w.s.now)) > 0 && len(say.Unread(full, w.s.now)) == 0 {
			return w.keepStatement(w.separateFacts(full)...)
		}
		p := alone.planSingle(w.g.parseSentence(full, w.s.now), 0, false)
		return p, p.outcome == act && p.intent.statement && len(p.calls) == 1
	}
	who, ago := w.recentSubject(pronoun)
	if who == "" {
		if _, ok := keep("my sister"); !ok || !w.g.lex.containsWord("person-words", pronoun) {
			return noPlan()
		}
		return planQuestion("Who is “"+pronoun+"”?", func(answer string) (string, bool) {
			answer = strings.Trim(answer, " .!")
			full, ok := replacePronoun(w.g, text, answer)
			first, _, _ := strings.Cut(strings.ToLower(answer), " ")
			return full, ok && len(strings.Fields(answer)) <= 3 && (w.g.lex.containsWord("owned-starts", first) || answer != strings.ToLower(answer))
		})
	}
	if p, ok := keep(who); ok {
		return p, true
	}
	full, _ := replacePronoun(w.g, text, who)
	if ago > 0 || !w.isPlainStatement(full) {
		return noPlan()
	}
	p, ok := w.keepStatement(full)
	if !ok || p.outcome != act {
		return p, ok
	}
	return planConfirmation("Should I remember that "+person.ToSecond(full)+"?", p), true
}

// askAboutPerson answers a question about "he" or "her" for the person that the conversation is about.
func askAboutPerson(w *intentDraft) (plan, bool) {
	if w.g.classOf(w.s) != aQuestion || !w.noLead() || len(w.s.tokens) > 14 {
		return noPlan()
	}
	at := slices.IndexFunc(w.s.tokens, func(t token) bool { return w.g.lex.containsWord("person-words", t.norm) })
	if at < 1 || slices.ContainsFunc(w.s.tokens[at+1:], func(t token) bool { return w.g.lex.containsWord("person-words", t.norm) }) {
		return noPlan()
	}
	pronoun := w.s.tokens[at]
	who, _ := w.recentSubject(pronoun.norm)
	form, ok := w.g.lex.meaningOf("person-pronouns", pronoun.norm)
	if who == "" || !ok || form == "is" || form != "" && at+1 == len(w.s.tokens) { // "who lives with her"
		return noPlan()
	}
	from := w.s.tokens[0].start
	text := w.s.text[from:pronoun.start] + who + form + w.s.text[pronoun.end:]
	p := w.g.inDialogue(nil).planAll(text, w.s.now, 0)
	return p, p.outcome == act && p.intent != nil && strings.HasPrefix(p.intent.name, "memory.")
}

// isPlainStatement reports whether a statement is short and contains no doubt, condition, negation,
// question or time.
func (w *intentDraft) isPlainStatement(text string) bool {
	s := w.g.parseSentence(text, w.s.now)
	return len(s.tokens) <= 14 && len(s.allTimes()) == 0 && !slices.ContainsFunc(s.tokens, func(t token) bool {
		return t.kind != word && t.kind != punct || w.g.lex.containsWord("condition-words", t.norm) || w.g.lex.containsWord("negations", t.norm) || w.g.lex.containsWord("no-statement", t.norm) || w.g.lex.containsWord("questions", t.norm) && !w.g.lex.containsWord("linking-verbs", t.norm) && t.norm != "has" && t.norm != "am"
	})
}

// statePair handles "my wife's birthday is 4 March and my son's is 9 June".
func statePair(w *intentDraft) (plan, bool) {
	if w.isQuestion() || !w.noLead() || w.isNegated() {
		return noPlan()
	}
	what := w.slotString("what")
	var texts []string
	for _, part := range [][2]string{{"few_owner", "time"}, {"few_other", "time_b"}} {
		owner := w.slotString(part[0])
		if bare := strings.TrimSuffix(owner, "s"); bare != owner && !strings.HasSuffix(bare, "'") && !strings.HasSuffix(bare, "’") {
			owner = bare + "'s"
		}
		if w.g.lex.containsWord("person-words", strings.ToLower(owner)) {
			return noPlan()
		}
		c, _ := w.captureOf(part[1])
		texts = append(texts, owner+" "+what+" is on "+withoutPreposition(c.span.originalPhrase()))
	}
	return w.keepStatement(texts...)
}

// stateForeign returns the plan that stores a statement in another language, with the answer in it.
func (g *grammar) stateForeign(text string, now time.Time) (plan, bool) {
	// "ich mag Eier" may be about the shopping
	tastes := func(t say.Triple) bool { return slices.Contains([]string{"likes", "prefers", "owns"}, t.Attr) }
	facts := say.Lasting(text, now)
	if strings.Contains(text, "?") || len(facts) == 0 || slices.ContainsFunc(facts, tastes) || len(say.Unread(text, now)) > 0 || credential.Sensitive(text) != "" || say.OwnWords(text) != strings.TrimSpace(text) {
		return noPlan()
	}
	var lang *grammar
	hits := 0
	for _, l := range g.languages {
		if n := l.countSignals(text); n > hits {
			lang, hits = l, n
		}
	}
	if lang == nil || 3*hits < len(strings.Fields(text)) || lang.lex.containsWord("question words", lang.lex.fold(firstField(text))) {
		return noPlan()
	}
	state := g.intentNamed("memory.state")
	return plan{outcome: act, calls: []call{{"remember", argsOf("text", strings.TrimRight(strings.TrimSpace(text), " .,;!"))}}, lang: lang, intent: state, accounted: true}, state != nil
}

func (g *grammar) intentNamed(name string) *intent {
	for _, in := range g.intents {
		if in.name == name {
			return in
		}
	}
	return nil
}
