package offline

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/lazyregexp"
)

// signOfGuess returns a sign that a plan rests on a guess: about the record that it changes, or about one of two
// figures or facts.
func (d *planReview) signOfGuess() string {
	switch {
	case d.changesUnnamed():
		return "object"
	case !d.isStated() && d.takesOneOfTwo():
		return "or"
	case d.splitsFact():
		return "no fact"
	case d.takesOneOfAll():
		return "all"
	case d.guessesDay():
		return "day"
	case d.repeatsClock(), d.repeatsCall():
		return "clocks"
	case d.guessesTimetable():
		return "hour"
	}
	return ""
}

// isStatedPast reports whether the message reports what happened, so that it plans nothing: "ran 8k this morning in 47
// mins".
func (d *planReview) isStatedPast() bool {
	first := d.s.firstWord(0)
	bases, past := d.g.baseForm(first)
	if past && slices.Contains(bases, first) || !past && !d.isListed("past-verbs", first) || d.isListed("recording-verbs", first) || d.isListed("setting-verbs", first) || d.isListed("task-nouns", first) || d.isListed("own-needs", first) {
		return false
	}
	plans := slices.ContainsFunc(d.allCalls(), func(c call) bool {
		return c.name == "create_reminder" || c.name == "create_schedule" || c.name == "create_task"
	})
	return plans && !slices.ContainsFunc(d.s.tokens, func(t token) bool {
		return d.isWord("request-words", t) || d.isWord("reminder-words", t) || d.isWord("commands", t) || d.isWord("telling-verbs", t)
	})
}

func (d *planReview) isListed(list, norm string) bool { return d.g.lex.containsWord(list, norm) }

// lastTalk returns the last exchange that was no small talk.
func (d *planReview) lastTalk() (exchange, bool) {
	for n := range remembered {
		x, ok := d.g.talk.exchangeAgo(n)
		if !ok || len(x.acts) > 0 || !d.g.isSmallTalk(d.g.parseSentence(x.own, d.s.now)) {
			return x, ok
		}
	}
	return exchange{}, false
}

// recordID matches the id of a record.
var recordID = lazyregexp.New(`^[a-z][a-z0-9]*\d[a-z0-9]*$`)

// changesUnnamed reports whether the plan changes or removes a record that neither the message nor the last reply
// names.
func (d *planReview) changesUnnamed() bool {
	x, talked := d.lastTalk()
	if !talked || d.p.answered || d.p.looked || slices.ContainsFunc(d.s.tokens, func(t token) bool { // "the first one", "both of them"
		ref, _ := d.g.lex.meaningOf("refs", t.norm)
		_, ordinal := ordinalOf(t.norm)
		return ordinal || ref == "both" || ref == "them"
	}) {
		return false
	}
	return slices.ContainsFunc(d.allCalls(), func(c call) bool {
		verb, kind, _ := strings.Cut(c.name, "_")
		ref := stringOf(c.args[kind])
		if ref == "" || recordID.MatchString(ref) && len(ref) > 7 || !slices.Contains([]string{"update", "cancel", "complete", "delete"}, verb) || d.namesRecord(ref) {
			return false
		}
		named := slices.ContainsFunc(x.acts, func(a pastCall) bool { return slices.Contains(slices.Collect(maps.Values(a.args)), any(ref)) })
		return !named && !strings.Contains(strings.ToLower(x.reply), strings.ToLower(ref[:min(len(ref), 40)])) // a long name is cut
	})
}

// namesRecord reports whether the message contains a word of the name of a record.
func (d *planReview) namesRecord(ref string) bool {
	name := splitTokens(ref, d.g.lex)
	return slices.ContainsFunc(splitTokens(d.s.text, d.g.lex), func(t token) bool {
		return t.kind != punct && slices.ContainsFunc(name, func(n token) bool {
			short := min(len(n.norm), len(t.norm))
			return n.norm == t.norm && !d.isWord("articles", t) && !d.isWord("prepositions", t) && t.norm != "the" || short > 3 && n.norm[:short] == t.norm[:short] // "invitation" for "invitations"
		})
	})
}

// takesOneOfTwo reports whether a figure or a time is followed by another one that replaces it or is an alternative: "at
// 3, no 4", "12 or 13".
func (d *planReview) takesOneOfTwo() bool {
	for i := 1; i+1 < len(d.s.tokens); i++ {
		if t := d.s.tokens[i]; t.norm != "no" && t.norm != "nope" && t.norm != "or" && t.norm != "nah" {
			continue
		}
		next := i + 1
		for next < len(d.s.tokens)-1 && (d.s.tokens[next].kind == punct || d.isWord("prepositions", d.s.tokens[next]) || d.isWord("correction-starts", d.s.tokens[next])) {
			next++
		}
		before := i - 1
		if d.s.tokens[before].kind == punct && before > 0 {
			before--
		}
		if d.isFigure(next) && (d.isFigure(before) || d.s.isInTime(before)) {
			return true
		}
	}
	return false
}

// isFigure reports whether token i is a number or part of a time.
func (d *planReview) isFigure(i int) bool {
	t := d.s.tokens[i]
	if t.kind != word {
		return false
	}
	_, number := d.g.lex.meaningOf("numbers", t.norm)
	return strings.ContainsAny(t.norm, "0123456789") || d.s.isInTime(i) || number && !d.isWord("articles", t)
}

// takesOneOfAll reports whether the message is about several records and the plan changes only one.
func (d *planReview) takesOneOfAll() bool {
	calls := d.allCalls()
	return d.isFollowUp() && !d.p.looked && len(calls) == 1 && !strings.HasPrefix(calls[0].name, "create_") && calls[0].name != "undo" && slices.ContainsFunc(d.s.tokens, func(t token) bool {
		return t.norm == "all" || t.norm == "both" || t.norm == "them"
	})
}

// guessesDay reports whether a reminder at a bare hour is late in the evening or on the next day, although the message
// names no day: that hour of this day has passed.
func (d *planReview) guessesDay() bool {
	if d.p.answered || d.isFollowUp() || strings.Contains(d.s.text, "same") || !slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool { return isBareClock(sp.match.Text, d.s.now) && !saysHalfOfDay(sp.match.Text) }) || slices.ContainsFunc(d.s.tokens, func(t token) bool {
		return isFullClock(t.norm) || d.isWord("time-words", t) || d.isWord("weekdays", t)
	}) {
		return false
	}
	return slices.ContainsFunc(d.p.calls, func(c call) bool {
		at, err := time.Parse(time.RFC3339, stringOf(c.args["at"]))
		at = at.In(d.s.now.Location())
		_, alarm := d.g.lex.meaningOf("plain-reminders", stringOf(c.args["text"]))
		return c.name == "create_reminder" && err == nil && !alarm && !eveningActs.MatchString(stringOf(c.args["text"])) && (at.Hour() > 21 && d.s.now.Hour() < 20 || !sameDay(at, d.s.now) && at.Hour() > 9)
	})
}

// repeatsClock reports whether a recurrence names the same hour twice: "every day at 8 and 8".
func (d *planReview) repeatsClock() bool {
	for i := 2; i < len(d.s.tokens); i++ {
		if d.s.tokens[i-1].norm == "and" && d.s.tokens[i].norm == d.s.tokens[i-2].norm && d.isFigure(i) {
			return true
		}
	}
	return false
}

// repeatsCall reports whether the plan creates the same record twice: "two alarms, one at 5 and one at 5 15".
func (d *planReview) repeatsCall() bool {
	seen := map[string]bool{}
	for _, c := range d.allCalls() {
		id := c.name + string(c.encodeArgs())
		if seen[id] && strings.HasPrefix(c.name, "create_") {
			return true
		}
		seen[id] = true
	}
	return false
}

// guessesTimetable reports whether a reminder has the time of a timetable without its half of the day, which is read as
// one in the afternoon: "take the train at 6 57".
func (d *planReview) guessesTimetable() bool {
	if d.p.answered || d.isFollowUp() || slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool {
		return saysHalfOfDay(sp.match.Text) || strings.HasPrefix(strings.ToLower(sp.match.Text), "in ") // "in 4 minutes", said at 16:20
	}) {
		return false
	}
	travels := slices.ContainsFunc(d.s.tokens, func(t token) bool { return d.isWord("timetables", t) })
	return slices.ContainsFunc(d.p.calls, func(c call) bool {
		at, err := time.Parse(time.RFC3339, stringOf(c.args["at"]))
		at = at.In(d.s.now.Location())
		hour := strconv.Itoa(at.Hour() - 12)
		said := slices.ContainsFunc(d.s.tokens, func(t token) bool {
			return t.norm == hour || strings.HasPrefix(t.norm, hour+":") || strings.HasPrefix(t.norm, hour+".")
		})
		return c.name == "create_reminder" && err == nil && at.Hour() > 12 && said && (travels || at.Minute()%5 != 0)
	})
}

// splitsFact reports whether one of several facts has no verb, because it is a part of another one: "mum is allergic to
// nuts, remember that for the catering".
func (d *planReview) splitsFact() bool {
	calls := d.allCalls()
	return len(calls) > 1 && slices.ContainsFunc(calls, func(c call) bool {
		return c.name == "remember" && d.g.lacksVerb(stringOf(c.args["text"]), d.s.now)
	})
}

// lacksVerb reports whether a text has no subject with a verb, so that it states nothing.
func (g *grammar) lacksVerb(text string, now time.Time) bool {
	s := g.parseSentence(text, now)
	if g.lex.containsWord("prepositions", s.firstWord(0)) {
		return true
	}
	return !slices.ContainsFunc(s.tokens, func(t token) bool {
		_, past := g.baseForm(t.norm)
		verb := past || slices.ContainsFunc([]string{"linking-verbs", "auxiliaries", "asking-modals", "past-verbs", "holding-verbs", "task-verbs"}, func(list string) bool { return g.lex.containsWord(list, t.norm) })
		return verb || t.norm == "will" || t.start > 0 && strings.HasSuffix(t.norm, "s") && len(t.norm) > 3 || strings.Contains(t.norm, "'")
	})
}

// joinFact returns the plan for a fact whose end was read as a separate fact: "mum is allergic to nuts, remember that
// for the catering".
func (g *grammar) joinFact(left, right plan, now time.Time) (plan, bool) {
	if !left.isFact() || !right.isFact() || len(right.calls) != 1 {
		return plan{}, false
	}
	end := stringOf(right.calls[0].args["text"])
	if !g.lacksVerb(end, now) {
		return plan{}, false
	}
	last := len(left.calls) - 1
	left.calls = slices.Clone(left.calls)
	left.calls[last] = call{"remember", argsOf("text", stringOf(left.calls[last].args["text"])+", "+end)}
	return left, true
}

// strayWord returns the word at the start or the end of a record's text that belongs to the request, or "": "diesel
// down", "milk please mate".
func (r *recordText) strayWord() string {
	n := len(r.words)
	if n < 2 {
		return ""
	}
	first, last := r.words[0], r.words[n-1]
	goods := r.c.name == "log_expense" || strings.HasSuffix(stringOf(r.c.args["project"]), " list")
	switch {
	case r.isWord("request-edges", last), last.norm == "me" && r.words[n-2].norm == "for":
		return last.norm
	case n > 2 && r.isWord("request-edges", first):
		return first.norm
	case goods && (r.isWord("particles", last) || r.c.name == "log_expense" && r.isWord("particles", first) || r.isWord("telling-verbs", first) || r.isWord("person-heads", first)):
		return last.norm
	case goods && r.isWord("task-verbs", first) && strings.HasSuffix(stringOf(r.c.args["project"]), "shopping list"):
		return first.norm
	}
	return ""
}

// keepWaiting repeats the open question about records below the reply to a message that creates other ones, once. The
// user may believe that it is answered.
func (g *grammar) keepWaiting(q *question, p plan) plan {
	if q == nil || q.agree == nil && q.offer == nil || q.lang != nil || p.outcome != act || p.answered || p.question != nil || p.next != nil || p.after != nil || !p.createsRecord() {
		return p
	}
	last, ok := g.talk.exchangeAgo(0)
	before, _ := g.talk.exchangeAgo(1)
	if ok && strings.HasSuffix(last.reply, q.text) && !strings.HasSuffix(before.reply, q.text) {
		p.question = q
	}
	return p
}

// tellUnanswered says that the last question was not answered if a message leads to another question about a record.
func (g *grammar) tellUnanswered(q *question, p plan) plan {
	if q == nil || q.agree == nil && q.offer == nil || q.lang != nil || p.outcome != ask || p.answered || p.say != "" || p.lang != nil || p.question == nil || p.question == q || p.question.agree == nil && p.question.offer == nil {
		return p
	}
	if last, ok := g.talk.exchangeAgo(0); ok && strings.HasSuffix(last.reply, q.text) {
		p.say = "You did not answer yet, so I did nothing about the request before this one."
		if q.offer != nil {
			p.say = "You did not answer yet, so " + quoteText(q.offer.text) + " is not set."
		}
	}
	return p
}

// isFullClock reports whether a time of day in digits names its half of the day: "02:30".
func isFullClock(norm string) bool {
	return strings.HasPrefix(norm, "0") && strings.ContainsAny(norm, ":.")
}

// isStated reports whether the plan only stores texts as they were written.
func (d *planReview) isStated() bool {
	return !slices.ContainsFunc(d.allCalls(), func(c call) bool { return c.name != "remember" && c.name != "create_note" && c.name != "append_note" })
}
