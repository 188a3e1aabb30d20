package offline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

// confirmUnlessPlain asks before it executes a plan that is not plain: the sentence or a text of a record shows a sign
// of more than the plan contains. The question names all that the plan would do. q is the open question, if any.
func (g *grammar) confirmUnlessPlain(q *question, p plan, text string, now time.Time) plan {
	if next := p.next; next != nil {
		intent := p.intent
		p.next = func(results []done) plan {
			found := next(results)
			if found.intent == nil {
				found.intent = intent
			}
			return g.confirmUnlessPlain(q, found, text, now)
		}
		return p
	}
	if p.outcome != act || p.lang != nil || !g.changesRecords(p) {
		return p
	}
	d := planReview{g: g, s: g.parseSentence(text, now), p: p, lostClock: q != nil && strings.Contains(q.text, " can mean ")}
	if d.firstSign() == "" {
		return p
	}
	if p.question != nil {
		alone, _ := planQuestion("I am not sure how to read all of that, so I changed nothing. Can you send one request at a time?", nil)
		alone.intent = p.intent
		return alone
	}
	asked, ok := g.readBack(p, now)
	if !ok {
		return p
	}
	asked.intent, asked.answered = p.intent, p.answered
	return asked
}

// planReview is a finished plan and its sentence while they are searched for signs that the plan is not plain.
type planReview struct {
	g *grammar
	s *sentence
	p plan
	// lostClock is whether the message answers the question which time of day is meant.
	lostClock bool
}

// firstSign returns the first sign that the plan is not plain, or "".
func (d *planReview) firstSign() string {
	if sign := d.signInSentence(); sign != "" {
		return sign
	}
	for _, c := range d.allCalls() {
		for _, name := range freeArgs {
			text, _ := c.args[name].(string)
			if text == "" || d.isQuoted(text) {
				continue
			}
			if sign := d.signInText(c, name, text); sign != "" {
				return name + " " + sign
			}
		}
	}
	return ""
}

// allCalls returns the calls of the plan that create or change a record.
func (d *planReview) allCalls() []call {
	return append(d.p.calls[:len(d.p.calls):len(d.p.calls)], d.p.then...)
}

// isQuoted reports whether the user wrote a text in quotes.
func (d *planReview) isQuoted(text string) bool {
	return slices.ContainsFunc(d.s.tokens, func(t token) bool { return t.kind == quoted && t.inner == text })
}

// isFollowUp reports whether the message changes a record of the conversation.
func (d *planReview) isFollowUp() bool {
	return d.p.intent != nil && strings.HasPrefix(d.p.intent.name, "follow.")
}

// maxPlain is the maximum number of words in a plain sentence.
const maxPlain = 26

// signInSentence returns a sign in the sentence: a correction after its start, or more words, times or amounts than a
// plain request has.
func (d *planReview) signInSentence() string {
	if d.p.intent == nil || d.p.intent.verbatim {
		return ""
	}
	words, clocks, figures := 0, 0, 0
	stated := d.countCalls("remember") == len(d.allCalls())
	for i, t := range d.s.tokens {
		words++
		switch {
		case d.s.isInTime(i), t.kind != word:
		case strings.ContainsAny(t.norm, "0123456789"):
			if i == 0 || !d.isCurrency(i-1) && !(d.s.tokens[i-1].norm == "and" && d.isCurrency(i-2)) { // "4 pounds 50"
				figures++
			}
		case i < 3 || d.isFollowUp():
		case d.g.lex.containsWord("second-thoughts", t.norm), !stated && d.g.lex.containsWord("hedges", t.norm):
			return "correction " + t.norm
		}
	}
	for _, sp := range d.s.allTimes() {
		if sp.match.Moment != nil && sp.match.Moment.HasClock {
			clocks++
		}
	}
	spent, made := d.countCalls("log_expense"), d.countTimed()
	switch {
	case d.movesFurther():
		return "addition"
	case made > 0 && (d.namesToday() || d.ignoresDay()):
		return "day"
	case d.lostClock && clocks == 0 && d.hasRule(), d.guessesNight():
		return "hour"
	case words > maxPlain:
		return "length"
	case spent == 1 && figures > 1, spent > 1 && figures != spent:
		return "amounts"
	case made > 0 && clocks > made && d.p.question == nil && !d.isFollowUp() && d.p.intent.name != "reminder.before":
		return "times"
	}
	return ""
}

// movesFurther reports whether a message that moves a record may ask for a further one: "and quarter past", "also at 6".
func (d *planReview) movesFurther() bool {
	if d.countCalls("update_reminder")+d.countCalls("update_task") == 0 {
		return false
	}
	for i, t := range splitTokens(d.s.text, d.g.lex) { // polite words are no tokens of the sentence
		if d.g.lex.containsWord("additional-words", t.norm) || t.norm == "another" || i < 3 && t.norm == "and" {
			return true
		}
	}
	return false
}

// namesToday reports whether the sentence names the day of the week of today: "on Monday at 7", said on a Monday.
func (d *planReview) namesToday() bool {
	return slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool {
		m := sp.match.Moment
		return m != nil && sameDay(m.Time, d.s.now) && strings.Contains(strings.ToLower(sp.match.Text), strings.ToLower(d.s.now.Format("Mon"))) && !strings.Contains(strings.ToLower(sp.match.Text), "today")
	})
}

// ignoresDay reports whether the message before this one, which led to no record, names a day, and this one only a time
// of day: "parents evening thursday 5.40", then "remind me at 5 to set off".
func (d *planReview) ignoresDay() bool {
	x, ok := d.g.talk.exchangeAgo(0)
	if !ok || slices.ContainsFunc(x.acts, pastCall.changesRecords) || d.p.answered {
		return false
	}
	other := slices.ContainsFunc(d.g.parseSentence(x.own, d.s.now).allTimes(), func(sp *span) bool {
		return sp.match.Every != nil || sp.match.Period != nil || sp.match.Moment != nil && !sameDay(sp.match.Moment.Time, d.s.now) && !isBareClock(sp.match.Text, d.s.now)
	})
	return other && !slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool {
		return sp.match.Every != nil || !isBareClock(sp.match.Text, d.s.now)
	})
}

// hasRule reports whether the plan creates a reminder that repeats.
func (d *planReview) hasRule() bool {
	return slices.ContainsFunc(d.p.calls, func(c call) bool { return c.name == "create_reminder" && c.args["every"] != nil })
}

// guessesNight reports whether a reminder rings at night although the sentence does not say so.
func (d *planReview) guessesNight() bool {
	if d.p.answered || slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool { return saysHalfOfDay(sp.match.Text) }) || strings.Contains(strings.ToLower(d.s.text), "night") {
		return false
	}
	return slices.ContainsFunc(d.p.calls, func(c call) bool {
		at, err := time.Parse(time.RFC3339, stringOf(c.args["at"]))
		at = at.In(d.s.now.Location())
		return c.name == "create_reminder" && err == nil && at.Hour() < 5 && at.Hour() > 0 && at.Sub(d.s.now) > 2*time.Hour && !slices.ContainsFunc(d.s.tokens, func(t token) bool { return isDigit(t.norm[0]) && strings.ContainsAny(t.norm, ":.") })
	})
}

// isCurrency reports whether token i is the name of a currency.
func (d *planReview) isCurrency(i int) bool {
	if i < 0 {
		return false
	}
	_, ok := d.g.lex.meaningOf("currencies", d.s.tokens[i].norm)
	return ok || d.s.tokens[i].norm == "pound" || d.s.tokens[i].norm == "pounds" || d.s.tokens[i].norm == "quid"
}

// countCalls returns the number of calls of a tool in the plan.
func (d *planReview) countCalls(tool string) (n int) {
	for _, c := range d.allCalls() {
		if c.name == tool {
			n++
		}
	}
	return n
}

// countTimed returns the number of records with a time that the plan creates.
func (d *planReview) countTimed() (n int) {
	for _, c := range d.allCalls() {
		if strings.HasPrefix(c.name, "create_") && slices.ContainsFunc(timeArgs, func(name string) bool { return c.args[name] != nil }) {
			n++
		}
	}
	return n
}

// maxWords is the maximum number of words in a plain text of a record, by argument.
var maxWords = map[string]int{"text": 9, "title": 9, "category": 5, "vendor": 3, "task": 9, "reminder": 9, "habit": 4, "note": 9}

// signInText returns a sign in a free text of a call.
func (d *planReview) signInText(c call, name, text string) string {
	lex := d.g.lex
	s := d.g.parseSentence(text, d.s.now)
	words := slices.DeleteFunc(slices.Clone(s.tokens), func(t token) bool { return t.kind == punct })
	if len(words) == 0 {
		return ""
	}
	last := words[len(words)-1]
	stated := c.name == "remember" || c.name == "create_note" || c.name == "append_note"
	for i, t := range words {
		switch {
		case t.kind != word:
		case lex.containsWord("second-thoughts", t.norm) && (i > 0 || !stated), !stated && lex.containsWord("hedges", t.norm):
			return "correction " + t.norm
		case i > 0 && lex.containsWord("request-words", t.norm):
			return "request " + t.norm
		}
	}
	if stated {
		switch {
		case slices.ContainsFunc(s.tokens, func(t token) bool { return t.kind == punct && lex.containsWord("please", t.norm) }):
			return "request please"
		case len(words) > 1 && c.name == "remember" && lex.containsWord("open-references", words[0].norm), c.name == "create_note" && (lex.containsWord("prepositions", words[0].norm) || d.isAmount(words) || d.quotesPart(text)):
			return "reference " + words[0].norm
		}
		if c.name != "remember" || d.p.intent != nil && d.p.intent.verbatim {
			return ""
		}
		if lex.containsWord("dangling-ends", last.norm) {
			return "end"
		}
		if len(words) > 18 {
			return "length"
		}
		return ""
	}
	if d.p.answered && d.isNoText(words) {
		return "answer"
	}
	if len(words) > maxWords[name] {
		return "length"
	}
	for i, t := range s.tokens {
		if t.kind == punct && i < len(s.tokens)-1 && !d.isPlainMark(s, i, words[0].norm) {
			return "mark " + t.norm
		}
	}
	first := words[0]
	if len(words) > 1 && !(first.norm == "not" && words[1].norm == "to") && (lex.containsWord("prepositions", first.norm) || lex.containsWord("joints", first.norm) || lex.containsWord("loose-starts", first.norm)) {
		return "start " + first.norm
	}
	if len(words) > 1 && (lex.containsWord("loose-ends", last.norm) || lex.containsWord("prepositions", last.norm) && !lex.containsWord("phrasal-verbs", first.norm) && !lex.containsWord("linking-verbs", words[len(words)-2].norm)) {
		return "end " + last.norm
	}
	spends := c.name == "log_expense"
	item := strings.HasSuffix(stringOf(c.args["project"]), " list")
	if item && d.countWords(words, "groceries") > 1 && d.countWords(words, "joiners") == 0 {
		return "items"
	}
	if item && len(words) > 3 && !slices.ContainsFunc(words, func(t token) bool {
		return lex.containsWord("prepositions", t.norm) || lex.containsWord("belonging", t.norm) || lex.containsWord("joiners", t.norm)
	}) {
		return "items"
	}
	for i, t := range words {
		prev, next := "", ""
		if i > 0 {
			prev = words[i-1].norm
		}
		if i+1 < len(words) {
			next = words[i+1].norm
		}
		_, number := lex.meaningOf("numbers", t.norm)
		number = number && !lex.containsWord("articles", t.norm)
		digit := t.kind == word && isDigit(t.norm[0])
		switch {
		case t.kind != word, prev == "at" && i == len(words)-1 && len(t.norm) == 5 && t.norm[2] == ':': // "dentist at 15:00", which Hob wrote
		case i > 0 && strings.HasSuffix(strings.TrimSpace(s.text[:t.start]), ".") && lex.containsWord("person-subjects", t.norm): // "call Tom. He owes me money"
		case i > 0 && lex.containsWord("clause-subjects", t.norm):
			return "clause " + t.norm
		case i > 0 && (lex.containsWord("negations", t.norm) || lex.containsWord("condition-words", t.norm) || lex.containsWord("w-words", t.norm)):
			return "clause " + t.norm
		case lex.containsWord("time-words", t.norm) && !(lex.containsWord("named-parts", t.norm) && lex.containsWord("part-names", prev)) && (next == "" || lex.containsWord("prepositions", next) || lex.containsWord("joiners", next) || lex.containsWord("joints", next)), t.norm == "every":
			return "time " + t.norm
		case spends && (digit || number && (i > 0 || len(words) > 2) || lex.containsWord("no-purpose", t.norm)):
			return "figure " + t.norm
		case digit && (strings.Contains(t.norm, ":") || lex.containsWord("prepositions", prev) || prev == "or" || lex.containsWord("typo-units", next) || i == len(words)-1 && len(t.norm) < 3):
			return "figure " + t.norm
		}
	}
	return ""
}

// countWords returns how many words are in a list.
func (d *planReview) countWords(words []token, list string) (n int) {
	for _, t := range words {
		if d.g.lex.containsWord(list, t.norm) {
			n++
		}
	}
	return n
}

// isNoText reports whether an answer left nothing that a record can be about: "no, at 4pm" to "What should I remind you of?".
func (d *planReview) isNoText(words []token) bool {
	return !slices.ContainsFunc(words, func(t token) bool {
		return t.kind != word || !slices.ContainsFunc([]string{"answer-fillers", "negations", "correction-starts", "reference-words", "yes"}, func(list string) bool { return d.g.lex.containsWord(list, t.norm) })
	})
}

// isAmount reports whether a note begins with an amount of money: "thirty-two pounds for diesel" may be an expense.
func (d *planReview) isAmount(words []token) bool {
	_, number := d.g.lex.meaningOf("numbers", words[0].norm)
	if head, _, ok := strings.Cut(words[0].norm, "-"); ok {
		_, number = d.g.lex.meaningOf("numbers", head)
	}
	if !number && !isDigit(words[0].norm[0]) {
		return strings.ContainsAny(words[0].norm, "£$€")
	}
	return slices.ContainsFunc(words[1:min(len(words), 4)], func(t token) bool {
		_, money := d.g.lex.meaningOf("currencies", t.norm)
		return money || d.g.lex.containsWord("cents", t.norm) || t.norm == "pounds" || t.norm == "pound" || t.norm == "quid"
	})
}

// quotesPart reports whether a note contains a quotation and other words: the words "Dear Sir".
func (d *planReview) quotesPart(text string) bool {
	return slices.ContainsFunc(d.s.tokens, func(t token) bool {
		return t.kind == quoted && strings.Contains(t.inner, " ") && strings.Contains(text, t.inner) && len(text) < len(t.inner)+20
	})
}

// isPlainMark reports whether a mark inside a text joins no second request: "buy milk, eggs and bread", "Dr. Smith".
func (d *planReview) isPlainMark(s *sentence, i int, first string) bool {
	lex := d.g.lex
	next := s.firstWord(i + 1)
	switch s.tokens[i].norm {
	case ",":
		return next != "" && isDigit(next[0]) || lex.containsWord("purchase-verbs", first) && !d.g.starters[next] && !lex.containsWord("task-verbs", next)
	case ".":
		return i > 0 && lex.containsWord("titles", s.tokens[i-1].norm) || lex.containsWord("person-subjects", next)
	case "(", ")":
		return strings.Count(s.text, "(") == strings.Count(s.text, ")") && (s.tokens[i].norm == ")" || len(next) > 1)
	}
	return false
}

func stringOf(v any) string {
	s, _ := v.(string)
	return s
}

// readBack returns the question that names all that a plan would do. The bool result is false if the plan calls a tool
// that has no short description.
func (g *grammar) readBack(p plan, now time.Time) (plan, bool) {
	calls := append(p.calls[:len(p.calls):len(p.calls)], p.then...)
	if len(p.then) > 0 {
		calls = p.then
	}
	p.accounted = true
	if o, ok := offerOf(calls); ok && p.say == "" && p.question == nil && p.after == nil && len(p.then) == 0 {
		w := &intentDraft{g: g, interpretation: interpretation{s: g.parseSentence("", now)}}
		if q, ok := w.offerAgain(o); ok {
			return q, true
		}
	}
	var lines []string
	for _, c := range calls {
		if g.lex.containsWord("reading-tools", c.name) {
			continue
		}
		line, ok := describeCall(c, now)
		if !ok {
			return noPlan()
		}
		lines = append(lines, line)
	}
	if len(lines) == 1 {
		return planConfirmation("Should I "+lines[0]+"?", p), true
	}
	return planConfirmation("- "+strings.Join(lines, "\n- ")+"\nShould I do all of that?", p), len(lines) > 0
}

// offerOf returns the reminders that calls create, if they all have the same text.
func offerOf(calls []call) (o offer, ok bool) {
	for _, c := range calls {
		text := stringOf(c.args["text"])
		if c.name != "create_reminder" || o.text != "" && text != o.text {
			return o, false
		}
		o.text = text
		if every := stringOf(c.args["every"]); every != "" {
			o.times = append(o.times, argsOf("every", every))
			continue
		}
		o.times = append(o.times, argsOf("at", c.args["at"]))
	}
	return o, len(calls) > 0
}

// describeCall describes a call as the end of "Should I ...".
func describeCall(c call, now time.Time) (string, bool) {
	arg := func(name string) string { return stringOf(c.args[name]) }
	switch c.name {
	case "create_reminder":
		return "remind you " + whenOf(c, now) + " of " + quoteText(arg("text")), true
	case "update_reminder":
		when := whenOf(c, now)
		switch text := arg("text"); {
		case when != "":
			return "move the reminder " + quoteText(arg("reminder")) + " to " + strings.TrimPrefix(when, "to "), true
		case text != "":
			return "change the reminder " + quoteText(arg("reminder")) + " to " + quoteText(text), true
		case arg("shift") != "":
			return "move the reminder " + quoteText(arg("reminder")) + " by " + arg("shift"), true
		}
		return "", false
	case "cancel_reminder":
		return "cancel the reminder " + quoteText(arg("reminder")), true
	case "create_task":
		line := "add the task " + quoteText(arg("title"))
		if project := arg("project"); strings.HasSuffix(project, " list") {
			line = "add " + quoteText(arg("title")) + " to your " + project
		} else if project != "" {
			line += " in the project " + project
		}
		if due := whenOf(c, now); due != "" {
			line += ", due " + due
		}
		if priority := arg("priority"); priority != "" {
			line += ", priority " + priority
		}
		return line, true
	case "complete_task":
		return "mark " + quoteText(arg("task")) + " as done", true
	case "delete_task":
		return "delete the task " + quoteText(arg("task")), true
	case "log_expense":
		amount, _ := c.args["amount"].(float64)
		line := "log " + strings.TrimSpace(strconv.FormatFloat(amount, 'f', 2, 64)+" "+arg("currency")) + " for " + quoteText(cmp.Or(arg("category"), "other"))
		if vendor := arg("vendor"); vendor != "" {
			line += " at " + quoteText(vendor)
		}
		if day := whenOf(c, now); day != "" {
			line += ", " + day
		}
		return line, true
	case "remember":
		return "remember that " + toOwner(arg("text")), true
	case "create_note":
		return "write the note " + quoteText(cmp.Or(arg("text"), arg("title"))), true
	}
	return "", false
}

// whenOf describes the time of a call, or returns "".
func whenOf(c call, now time.Time) string {
	if every := stringOf(c.args["every"]); every != "" {
		if e, err := dateparse.ParseEvery(every, now); err == nil {
			return dateparse.DescribeEvery(e)
		}
		return every
	}
	for _, name := range []string{"at", "due", "date"} {
		said := stringOf(c.args[name])
		if said == "" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, said); err == nil {
			return dateparse.Format(at.In(now.Location()), now)
		}
		if day, err := time.ParseInLocation("2006-01-02", said, now.Location()); err == nil {
			return dateparse.FormatDay(day, now)
		}
		return said
	}
	return ""
}
