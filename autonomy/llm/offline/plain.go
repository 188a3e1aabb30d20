package offline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// confirmUnlessPlain asks before it executes a plan that is not plain: the sentence or a text of a record shows a sign
// of more than the plan contains. The question names all that the plan would do. q is the open question, if any.
func (g *grammar) confirmUnlessPlain(q *question, p plan, text string, now time.Time) plan {
	if p.heard != "" {
		text = p.heard
	}
	if next := p.next; next != nil {
		intent := p.intent
		p.next = func(results []done) plan {
			found := next(results)
			if found.intent == nil {
				found.intent = intent
			}
			found.looked = true
			return g.confirmUnlessPlain(q, found, text, now)
		}
		return p
	}
	if p.lang == nil {
		d := planReview{g: g, s: g.parseSentence(text, now), p: p}
		if say := d.correctFeast(); say != "" {
			return plan{outcome: chat, say: say, intent: p.intent}
		}
		if d.plansPast() {
			return plan{outcome: chat, say: g.replyText("statement"), intent: p.intent}
		}
		if slices.ContainsFunc(d.offeredCalls(), d.isUnreadable) {
			return d.askForOne()
		}
		if asked, ok := d.askEarlierDays(); ok {
			return asked
		}
	}
	if p.outcome != act || !g.changesRecords(p) {
		return p
	}
	if p.lang != nil {
		return p.declineUnlessPlain(text, now)
	}
	d := planReview{g: g, s: g.parseSentence(text, now), p: p, lostClock: q != nil && strings.Contains(q.text, " can mean ")}
	if d.isStatedPast() {
		return plan{outcome: chat, say: g.replyText("statement"), intent: p.intent}
	}
	if d.firstSign() == "" {
		return p
	}
	d.moveToNoon()
	d.cleanTexts()
	p = d.p
	if slices.ContainsFunc(d.allCalls(), d.isUnreadable) {
		return d.askForOne()
	}
	asked, ok := g.readBack(p, now)
	if !ok && d.isFollowUp() && d.refersFar() {
		asked, ok = planQuestion("I am not sure which one you mean, so I changed nothing. Can you name it?", nil)
	}
	if !ok && !slices.ContainsFunc(d.allCalls(), func(c call) bool { _, known := describeCall(c, now); return known }) { // the tool has another check
		return p
	}
	if p.question != nil || !ok || d.repeatsCall() {
		return d.askForOne()
	}
	asked.intent, asked.answered = p.intent, p.answered
	return asked
}

// declineUnlessPlain declines a plan in another language if a text of a record shows that it contains more.
func (p plan) declineUnlessPlain(text string, now time.Time) plan {
	for _, c := range p.calls {
		at, err := time.Parse(time.RFC3339, stringOf(c.args["at"]))
		if c.name == "create_reminder" && err == nil && sameDay(at.In(now.Location()), now) && slices.ContainsFunc(strings.Fields(p.lang.lex.fold(text)), func(f string) bool { return p.lang.lex.containsWord("weekday", f) }) { // "el lunes a las 9", said on a Monday
			return plan{outcome: unknown, say: p.lang.replyText("not-understood", "{words}", quoteText(text)), lang: p.lang}
		}
		for _, name := range freeArgs {
			words := strings.Fields(p.lang.lex.fold(stringOf(c.args[name])))
			if len(words) == 0 || c.name == "remember" || c.name == "create_note" {
				continue
			}
			last := words[len(words)-1]
			spends := c.name == "log_expense"
			timed := func(f string) bool { return p.lang.timeWords[f] && len(f) > 3 } // "restaurant hier soir"
			if len(words) > 1 && (timed(last) || len(words[0]) == 1 && c.name != "log_expense" && !isDigit(words[0][0]) || slices.Contains([]string{"si", "wenn", "falls", "cuando", "quand"}, words[0])) || spends && slices.ContainsFunc(words, timed) ||
				c.name == "create_task" && isDigit(words[0][0]) || // "je dois 20 euros à Paul"
				strings.ContainsAny(stringOf(c.args[name]), ";:?!()") || len(words) > maxWords[name] || len(words) > 1 && (p.lang.lex.containsWord("prepositions", last) || p.lang.lex.containsWord("articles", last)) ||
				spends && slices.ContainsFunc(words, func(f string) bool {
					return strings.ContainsAny(f, "0123456789") || p.lang.lex.containsWord("leftover", f)
				}) {
				return plan{outcome: unknown, say: p.lang.replyText("not-understood", "{words}", quoteText(text)), lang: p.lang}
			}
		}
	}
	return p
}

// planReview is a finished plan and its sentence while they are searched for signs that the plan is not plain.
type planReview struct {
	g *grammar
	s *sentence
	p plan
	// lostClock is whether the message answers the question which time of day is meant.
	lostClock bool
	intents   []*intent // the requests that lead to such calls
}

// firstSign returns the first sign that the plan is not plain, or "".
func (d *planReview) firstSign() string {
	if sign := d.signOfGuess(); sign != "" {
		return sign
	}
	if slices.ContainsFunc(d.allCalls(), d.isUnreadable) {
		return "unreadable"
	}
	if sign := d.signInSentence(); sign != "" {
		return sign
	}
	for _, c := range d.allCalls() {
		for _, name := range freeArgs {
			text, _ := c.args[name].(string)
			if text == "" || d.isQuoted(text) || d.isFollowUp() && d.p.accounted && (name == "reminder" || name == "task") { // the name of a record of the conversation
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
		case d.g.lex.containsWord("second-thoughts", t.norm), !stated && d.g.lex.containsWord("hedges", t.norm) && !(t.norm == "instead" && i == len(d.s.tokens)-1):
			return "correction " + t.norm
		}
	}
	for _, sp := range d.s.allTimes() {
		if sp.match.Moment != nil && sp.match.Moment.HasClock {
			clocks++
		}
	}
	spent, made, lost := d.countCalls("log_expense"), d.countTimed(), d.findLostWord()
	switch {
	case d.movesFurther():
		return "addition"
	case d.isFollowUp() && (d.followsMiss() || d.leavesQuestion() || d.refersFar()):
		return "miss"
	case made+spent > 0 && d.followsRefusal():
		return "refusal"
	case made > 0 && d.offersTimes():
		return "or"
	case d.countCalls("create_reminder") > 0 && d.p.question != nil && d.p.question.offer != nil: // "choir Tuesday 8pm, and remind me at 6 to warm up"
		return "offer"
	case made > 0 && d.splitsName():
		return "name"
	case lost != "":
		return "lost " + lost
	case d.isLongInterval():
		return "interval"
	case d.guessesEvening():
		return "evening"
	case d.repeatsTexts():
		return "parts"
	case made > 0 && d.losesTopic():
		return "about"
	case made > 0 && (d.namesToday() || d.ignoresDay()):
		return "day"
	case d.lostClock && clocks == 0 && d.hasRule(), d.guessesNight(), d.guessesHalf():
		return "hour"
	case words > maxPlain:
		return "length"
	case !d.isFollowUp() && (spent == 1 && figures > 1 || spent > 1 && figures != spent):
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
	tokens := splitTokens(d.s.text, d.g.lex) // polite words are no tokens of the sentence
	for i, t := range tokens {
		moves := i+1 < len(tokens) && d.g.lex.containsWord("moving-verbs", tokens[i+1].norm) // "and make it quarter to"
		if d.g.lex.containsWord("additional-words", t.norm) || t.norm == "another" || i < 3 && t.norm == "and" && !moves {
			return true
		}
	}
	return false
}

// namesToday reports whether the sentence names the day of the week of today: "on Monday at 7", said on a Monday.
func (d *planReview) namesToday() bool {
	return slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool {
		m := sp.match.Moment
		return m != nil && sameDay(m.Time, d.s.now) && (strings.Contains(strings.ToLower(sp.match.Text), strings.ToLower(d.s.now.Format("Mon"))) || strings.Contains(sp.match.Text, ordinalForm(d.s.now.Day()))) && !strings.Contains(strings.ToLower(sp.match.Text), "today")
	})
}

// ignoresDay reports whether the message before this one, or the last one with an open question, led to no record and
// names a day, and this one only a time of day: "parents evening thursday 5.40", then "remind me at 5 to set off".
func (d *planReview) ignoresDay() bool {
	ago := 0
	for i := range 3 {
		if x, ok := d.g.talk.exchangeAgo(i); ok && d.g.leavesOffer() && strings.HasSuffix(x.reply, "?") {
			ago = i
			break
		}
	}
	x, ok := d.g.talk.exchangeAgo(ago)
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

// followsMiss reports whether Hob did not understand the message before this one. The user may believe otherwise.
func (d *planReview) followsMiss() bool {
	x, ok := d.g.talk.exchangeAgo(0)
	return ok && (len(x.acts) == 0 || strings.Contains(x.reply, "so I changed nothing")) && slices.ContainsFunc([]string{"I did not understand", "I recorded nothing", "I found no ", "I do not know", "I cannot "}, func(head string) bool { return strings.HasPrefix(x.reply, head) })
}

// followsRefusal reports whether Hob could not use a message about the question that is still open. It may have been a
// correction of another part: "it's £38 now" after "At what time?".
func (d *planReview) followsRefusal() bool {
	for n := range recent {
		x, ok := d.g.talk.exchangeAgo(n)
		if !ok || !strings.HasSuffix(x.reply, "?") || slices.ContainsFunc(x.acts, pastCall.changesRecords) {
			return false
		}
		if strings.HasPrefix(x.reply, "I cannot use ") && strings.ContainsAny(x.own, "0123456789") {
			return true
		}
	}
	return false
}

// leavesQuestion reports whether the message changes one record, which it does not name, while a question about another
// one is open.
func (d *planReview) leavesQuestion() bool {
	x, ok := d.g.talk.exchangeAgo(0)
	if !ok || d.p.answered || len(d.p.calls) != 1 || !strings.HasSuffix(x.reply, "?") || slices.ContainsFunc(x.acts, pastCall.changesRecords) {
		return false
	}
	name := strings.Fields(strings.ToLower(stringOf(d.p.calls[0].args["reminder"]) + stringOf(d.p.calls[0].args["task"])))
	return len(name) > 0 && !slices.ContainsFunc(d.s.tokens, func(t token) bool { return len(t.norm) > 2 && slices.Contains(name, t.norm) })
}

// isLongInterval reports whether a reminder repeats every 3 or more hours of the day, although the user may count from
// now.
func (d *planReview) isLongInterval() bool {
	return slices.ContainsFunc(d.p.calls, func(c call) bool {
		return c.name == "create_reminder" && hourStep(stringOf(c.args["every"])) > 2
	})
}

// hourStep returns n of a recurrence every n hours of the day, or 0.
func hourStep(every string) int {
	var n int
	if _, err := fmt.Sscanf(every, "0 */%d * * *", &n); err != nil {
		return 0
	}
	return n
}

// guessesEvening reports whether a reminder rings in the morning because of a bare hour, although its text is about an
// event that may be in the evening: "choir practice on Friday at 7".
func (d *planReview) guessesEvening() bool {
	return slices.ContainsFunc(d.p.calls, func(c call) bool {
		at, err := time.Parse(time.RFC3339, stringOf(c.args["at"]))
		hour := at.In(d.s.now.Location()).Hour()
		first := strings.ToLower(firstField(stringOf(c.args["text"])))
		verb := slices.ContainsFunc([]string{"task-verbs", "task-nouns", "to-hob", "record-verbs"}, func(list string) bool { return d.g.lex.containsWord(list, first) })
		if c.name != "create_reminder" || err != nil || hour < 5 || hour > 9 || verb {
			return false
		}
		said := slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool {
			return saysHalfOfDay(sp.match.Text) || strings.Contains(strings.ToLower(sp.match.Text), "morning") || strings.HasPrefix(strings.TrimSpace(sp.match.Text), "in ")
		})
		return !said && slices.ContainsFunc(strings.Fields(strings.ToLower(stringOf(c.args["text"]))), func(f string) bool { return d.g.lex.containsWord("late-events", f) })
	})
}

// repeatsTexts reports whether two reminders have texts with the same first word, which may be one text that was split.
func (d *planReview) repeatsTexts() bool {
	seen := map[string]string{}
	for _, c := range d.p.calls {
		text := strings.ToLower(stringOf(c.args["text"]))
		first := firstField(text)
		if was, ok := seen[first]; ok && was != text && c.name == "create_reminder" && !d.g.lex.containsWord("task-verbs", first) && !d.g.lex.containsWord("task-nouns", first) {
			return true
		}
		seen[first] = text
	}
	return false
}

// hasRule reports whether the plan creates a reminder that repeats.
func (d *planReview) hasRule() bool {
	return slices.ContainsFunc(d.p.calls, func(c call) bool { return c.name == "create_reminder" && c.args["every"] != nil })
}

// guessesNight reports whether a reminder rings at night although the sentence does not say so.
func (d *planReview) guessesNight() bool {
	if d.p.answered || slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool {
		return saysHalfOfDay(sp.match.Text) || strings.HasPrefix(strings.ToLower(sp.match.Text), "in ")
	}) || strings.Contains(strings.ToLower(d.s.text), "night") {
		return false
	}
	return slices.ContainsFunc(d.p.calls, func(c call) bool {
		at, err := time.Parse(time.RFC3339, stringOf(c.args["at"]))
		at = at.In(d.s.now.Location())
		_, alarm := d.g.lex.meaningOf("plain-reminders", stringOf(c.args["text"]))
		return c.name == "create_reminder" && err == nil && at.Hour() < 5 && at.Sub(d.s.now) > 2*time.Hour && !slices.ContainsFunc(d.s.tokens, func(t token) bool {
			return isFullClock(t.norm) || alarm && at.Hour() > 2 && isDigit(t.norm[0]) && strings.ContainsAny(t.norm, ":.") // "alarm 4:30"
		})
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
