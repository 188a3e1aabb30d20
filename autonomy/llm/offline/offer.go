package offline

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
)

// offer is a reminder that an open question offers. Until the user agrees or declines, messages can change
// its times and its text. Each change asks again.
type offer struct {
	text  string
	times []map[string]any // arguments of create_reminder: "at" or "every"
}

// withOffer attaches the reminder that a question offers at a time. A text that refers only to something
// else, such as "the same", is never offered, and neither is what only a command can do ("set quiet hours").
func (w *intentDraft) withOffer(p plan, t timing, text string) (plan, bool) {
	about, _ := commandFor(text, w.g.lex)
	if about == aboutQuiet || w.g.isOnlyReference(text) || onlyOne.MatchString(text) || p.question == nil || strings.HasSuffix(strings.ToLower(text), " that day") {
		return noPlan()
	}
	args := argsOf("at", t.rfc3339())
	if t.every != "" {
		args = argsOf("every", t.every)
	}
	if t.every != "" || t.clock && !t.none {
		p.question.offer = &offer{text: text, times: []map[string]any{args}}
	}
	return p, true
}

// isOnlyReference reports whether a text consists only of words that refer to something else, such as
// "too", "the same" or "that one".
func (g *grammar) isOnlyReference(text string) bool {
	for _, f := range strings.Fields(strings.ToLower(text)) {
		f = strings.Trim(f, `.,!?;:"“”`)
		if f != "" && !g.lex.containsWord("reference-words", f) && !g.lex.containsWord("unspecific", f) {
			return false
		}
	}
	return true
}

// amendQuestion applies a message to the question of the last reply: it declines it, or changes the reminder
// that the question offers.
func (g *grammar) amendQuestion(q *question, text string, now time.Time) (plan, bool) {
	if q.lang != nil || !g.isLatest(q) {
		return noPlan()
	}
	w := &intentDraft{g: g, interpretation: interpretation{s: g.parseSentence(text, now)}}
	if slots, ok := w.tryEdge("prefix.instead", capture{to: len(w.s.tokens)}); ok { // "Saturday instead of Friday"
		w.s = g.parseSentence(w.s.originalText(slots["rest"].from, slots["rest"].to), now)
	}
	if m := instead.FindStringSubmatch(text); m != nil && q.offer != nil { // "no wait, Friday I'm on nights, make it Thursday"
		w.s = g.parseSentence(m[1], now)
	}
	if q.offer != nil && q.offer.dropsOffer(text) { // "cancel the dinner"
		p := g.planNeverMind()
		p.say = "OK, " + quoteText(q.offer.text) + " is not set."
		return p, true
	}
	all := capture{to: len(w.s.tokens)}
	if slots, ok := w.tryEdge("prefix.decline", all); ok && w.isSeparate(slots["rest"]) {
		named := all.to
		if rest := slots["rest"]; rest.from < rest.to {
			named = rest.from
		}
		if strings.Contains(w.s.normalizedText(0, named), "reminder") && !strings.Contains(q.text, "remind") { // an older one
			return g.planRequests(text, now, 0), true
		}
		return w.declineQuestion(slots["rest"])
	}
	if q.offer == nil || g.classOf(w.s) == aQuestion && !g.lex.containsWord("asking-modals", w.s.firstWord(0)) {
		return noPlan()
	}
	if slots, ok := w.tryEdge("prefix.lead", all); ok {
		return w.addLead(*q.offer, slots)
	}
	if m := offeredEvent.FindStringSubmatch(q.offer.text); m != nil { // "no, two hours" after "an hour before"
		from := 0
		for from < all.to-1 && (w.s.tokens[from].kind == punct || g.lex.containsWord("correction-starts", w.s.tokens[from].norm)) {
			from++
		}
		if by, ok := w.durationOf(w.s.originalText(from, all.to)); ok && by > 0 {
			return w.addLead(*q.offer, map[string]capture{"lead": {from: from, to: all.to}})
		}
	}
	if slots, ok := w.tryEdge("prefix.length", all); ok {
		length := w.s.originalText(slots["length"].from, slots["length"].to)
		if by, ok := w.durationOf(length); ok && by > 0 {
			return w.offerAgain(offer{q.offer.text + " (" + length + ")", q.offer.times})
		}
		return noPlan()
	}
	if p, ok := w.moveOffer(*q.offer); ok {
		return p, true
	}
	if slots, ok := w.tryEdge("prefix.detail", all); ok && len(w.s.allTimes()) == 0 {
		way, detail := w.s.normalizedText(slots["way"].from, slots["way"].to), w.s.originalText(slots["few_detail"].from, slots["few_detail"].to)
		if !g.isOnlyReference(detail) && !strings.Contains(" "+strings.ToLower(q.offer.text)+" ", " "+way+" ") {
			return w.offerAgain(offer{q.offer.text + " " + way + " " + detail, q.offer.times})
		}
	}
	return noPlan()
}

// instead matches a correction that first gives its reason.
var instead = lazyregexp.New(`(?i)^(?:no|nope|wait|actually|sorry|oh|hm|oops)\b.*[,.;–—-] *(?:so |please |can you |can we )*(make (?:it|that) [^,;]+)$`)

// isLatest reports whether the conversation is still about a question: the question is the last
// reply, or it offers a reminder and the exchange since then mentioned no record.
func (g *grammar) isLatest(q *question) bool {
	last, _ := g.talk.exchangeAgo(0)
	before, _ := g.talk.exchangeAgo(1)
	if strings.HasSuffix(last.reply, q.text) {
		return true
	}
	_, mentioned := last.listItems()
	return q.offer != nil && !mentioned && strings.HasSuffix(before.reply, q.text)
}

// isSeparate reports whether the words after "cancel it" are a separate clause: "drop it at the post
// office" and "cancel that gym contract" may be the text that Hob asked for.
func (w *intentDraft) isSeparate(rest capture) bool {
	if rest.from == rest.to {
		return true
	}
	first := w.s.firstWord(rest.from)
	return w.s.tokens[rest.from].kind == punct || w.s.tokens[rest.from-1].kind == punct || w.g.lex.containsWord("pronouns", first) || w.g.lex.containsWord("joints", first) || w.g.lex.containsWord("condition-words", first)
}

// planNeverMind drops Hob's question.
func (g *grammar) planNeverMind() plan {
	return plan{outcome: chat, say: g.replyText("never-mind"), intent: g.intentNamed("nevermind"), accounted: true, answered: true}
}

// declineQuestion handles "cancel it, I quit yoga". The rest may be a reason or another request. A
// rest with a time is declined, because it may be a correction.
func (w *intentDraft) declineQuestion(rest capture) (plan, bool) {
	p := w.g.planNeverMind()
	if rest.from < rest.to {
		next := w.g.inDialogue(nil).planRequests(w.s.originalText(rest.from, len(w.s.tokens)), w.s.now, 0)
		switch {
		case next.intent != nil && next.intent.rank >= 0 && (next.outcome == act || next.outcome == ask) && !next.intent.statement:
			p = next
		case len(w.s.allTimes()) > 0:
			return noPlan()
		}
	}
	p.answered = true
	return p, true
}

// offerAgain asks whether a changed offer is right.
func (w *intentDraft) offerAgain(o offer) (plan, bool) {
	agreed := plan{outcome: act, accounted: true}
	var when []string
	for _, args := range o.times {
		args = maps.Clone(args)
		args["text"] = o.text
		agreed.calls = append(agreed.calls, call{"create_reminder", args})
		made := pastCall{args: args}
		if every := made.stringArg("every"); every != "" {
			e, err := dateparse.ParseEvery(every, w.s.now)
			if err != nil {
				return noPlan()
			}
			rule := dateparse.DescribeEvery(e)
			if n := hourStep(e.Cron); n > 0 {
				rule += ", next " + dateparse.Format(w.s.now.Truncate(time.Hour).Add(time.Duration(n-w.s.now.Hour()%n)*time.Hour), w.s.now) + ","
			}
			when = append(when, rule)
			continue
		}
		at, err := time.Parse(time.RFC3339, made.stringArg("at"))
		if err != nil || !at.After(w.s.now) {
			return noPlan()
		}
		when = append(when, dateparse.Format(at.In(w.s.now.Location()), w.s.now))
	}
	p := planConfirmation("Should I remind you "+strings.Join(when, " and ")+" of "+quoteText(o.text)+"?", agreed)
	p.question.offer = &o
	return p, true
}

// addLead handles "and add a reminder an hour before". If the reminder is not additional, it
// replaces the offered reminder, and its text contains the time of the event.
func (w *intentDraft) addLead(o offer, slots map[string]capture) (plan, bool) {
	lead := w.s.originalText(slots["lead"].from, slots["lead"].to)
	if a, known := w.parseLead(lead); known && (a.part != "" || a.days > 0) { // "the evening before", "the day before"
		return w.addDayLead(o, a, slots)
	}
	by, ok := w.durationOf(lead)
	old, clock, day := w.itemTime(offeredItem(o.times[0]))
	if !ok || by <= 0 || len(o.times) > 1 || !clock || !day {
		return noPlan()
	}
	if m := offeredEvent.FindStringSubmatch(o.text); m != nil { // "actually 30 minutes before"
		if at, err := time.Parse("15:04", m[2]); err == nil {
			o.text, old = m[1], atClock(old, at)
		}
	}
	early := argsOf("at", old.Add(-by).Format(time.RFC3339))
	if _, more := slots["more"]; more {
		return w.offerAgain(offer{o.text, []map[string]any{early, o.times[0]}})
	}
	return w.offerAgain(offer{o.text + " (" + old.Format("15:04") + ")", []map[string]any{early}})
}

// addDayLead handles "the evening before" and "two days before". Days before the event keep its time of day.
func (w *intentDraft) addDayLead(o offer, a anchor, slots map[string]capture) (plan, bool) {
	at, clock, day := w.itemTime(offeredItem(o.times[0]))
	if len(o.times) > 1 || !clock || !day || offeredEvent.MatchString(o.text) {
		return noPlan()
	}
	early := at.AddDate(0, 0, -a.days)
	if a.part != "" {
		m, err := dateparse.Parse(at.AddDate(0, 0, -1).Format("2 January 2006")+" in the "+a.part, w.s.now)
		if err != nil || !m.HasClock {
			return noPlan()
		}
		early = m.Time
	}
	args := argsOf("at", early.Format(time.RFC3339))
	if _, more := slots["more"]; more {
		return w.offerAgain(offer{o.text, []map[string]any{args, o.times[0]}})
	}
	return w.offerAgain(offer{o.text + " (" + at.Format("2 January, 15:04") + ")", []map[string]any{args}})
}

// offeredEvent matches the text of an offered reminder that precedes its event.
var offeredEvent = lazyregexp.New(`^(.+) \((\d\d:\d\d)\)$`)

// offeredItem returns an offered reminder as a record of the conversation.
func offeredItem(args map[string]any) item {
	return item{kind: "reminder", made: &pastCall{tool: "create_reminder", args: args}}
}

// moveOffer handles "no, she can only do 11:30", "and the same every week" and "on Friday too".
func (w *intentDraft) moveOffer(o offer) (plan, bool) {
	if every := offeredItem(o.times[0]).made.stringArg("every"); every != "" && len(o.times) == 1 && w.g.lex.containsWord("starting-words", w.s.firstWord(0)) { // "starting wednesday"
		text := strings.Trim(strings.ToLower(w.s.text), " .!")
		if e, err := dateparse.ParseEvery(every+" "+text, w.s.now); err == nil && !e.Anchor.IsZero() {
			return w.offerAgain(offer{o.text, []map[string]any{argsOf("every", every+" "+text)}})
		}
		return noPlan()
	}
	if by, ok := w.offeredShift(); ok {
		old, clock, _ := w.itemTime(offeredItem(o.times[0]))
		if len(o.times) > 1 || !clock {
			return noPlan()
		}
		return w.offerAgain(offer{o.text, []map[string]any{argsOf("at", old.Add(by).Format(time.RFC3339))}})
	}
	t, more, ok := w.amendedTime(o.text)
	if !ok || len(o.times) > 1 {
		return noPlan()
	}
	more = more || w.beginsWithAnd() && !w.s.hasWordOf(0, len(w.s.tokens), "moving-verbs") // "and the Sunday", but not "and make it Sunday"
	if old, _, day := w.itemTime(offeredItem(o.times[0])); day && !more && t.every == "" && !t.part && w.g.lex.containsWord("weekdays", strings.ToLower(firstField(t.phrase))) {
		for t.at.Before(startOfDay(old).AddDate(0, 0, -3)) { // "move it to Wednesday" after a day next week
			t.at = t.at.AddDate(0, 0, 7)
		}
	}
	next, ok := w.mergeTime(offeredItem(o.times[0]), t)
	if m := offeredEvent.FindStringSubmatch(o.text); m != nil && t.every == "" { // "they moved it to 11" after "an hour before"
		old, _, day := w.itemTime(offeredItem(o.times[0]))
		was, err := time.Parse("15:04", m[2])
		event := item{kind: "reminder", made: &pastCall{tool: "create_reminder", args: argsOf("at", atClock(old, was).Format(time.RFC3339))}}
		moved, known := w.mergeTime(event, t)
		at, err2 := time.Parse(time.RFC3339, (&pastCall{args: moved}).stringArg("at"))
		switch {
		case !day || err != nil || err2 != nil || !known:
			return noPlan()
		case w.hasWord("moved") || w.hasWord("changed") || w.hasWord("pushed") || !at.Before(atClock(old, was)):
			lead := atClock(old, was).Sub(old)
			at = at.In(w.s.now.Location())
			return w.offerAgain(offer{m[1] + " (" + at.Format("15:04") + ")", []map[string]any{argsOf("at", at.Add(-lead).Format(time.RFC3339))}})
		}
	}
	switch {
	case !ok:
		return noPlan()
	case more && t.every == "":
		return w.offerAgain(offer{o.text, []map[string]any{o.times[0], next}})
	}
	return w.offerAgain(offer{o.text, []map[string]any{next}})
}

// offeredShift parses "move it an hour later", which is relative to the offered time and not to now.
func (w *intentDraft) offeredShift() (time.Duration, bool) {
	last := len(w.s.tokens) - 1
	for last > 0 && w.s.tokens[last].kind == punct {
		last--
	}
	if last < 2 || w.s.tokens[last].norm != "later" && w.s.tokens[last].norm != "earlier" {
		return 0, false
	}
	from := 0
	for from < last && !isDigit(w.s.tokens[from].norm[0]) && (w.g.isAmendWord(w.s.tokens[from].norm) || w.s.tokens[from].norm == "it" || w.s.tokens[from].norm == "that") && !w.g.lex.containsWord("articles", w.s.tokens[from].norm) {
		from++
	}
	by, ok := w.durationOf(w.s.originalText(from, last))
	if w.s.tokens[last].norm == "earlier" {
		by = -by
	}
	return by, ok && by != 0
}

// amendedTime returns the time in a message that contains nothing else. more is true for an
// additional time.
func (w *intentDraft) amendedTime(offered string) (t timing, more, ok bool) {
	spans := w.s.allTimes()
	if w.hasWord("both") || w.hasWord("all") || w.hasWord("second") || w.hasWord("first") || w.hasWord("third") { // more than the offer
		return timing{}, false, false
	}
	inside := func(i int) bool {
		return slices.ContainsFunc(spans, func(sp *span) bool { return i >= sp.from && i < sp.to })
	}
	isNot := func(i int) bool { return i >= 0 && w.g.lex.containsWord("negations", w.s.tokens[i].norm) }
	spans = slices.DeleteFunc(slices.Clone(spans), func(sp *span) bool {
		return sp.from > 0 && w.s.tokens[sp.from-1].norm == "not" || sp.from > 1 && w.s.tokens[sp.from-2].norm == "not" && w.g.lex.containsWord("suiting-verbs", w.s.tokens[sp.from-1].norm) // "Friday, not Thursday", "she can not do Thursday"
	})
	named := strings.Fields(strings.ToLower(offered))
	all := w.s.allTimes()
	number := ""
	for i, tok := range w.s.tokens {
		switch {
		case tok.kind == punct, inside(i), slices.Contains(named, tok.norm):
		case slices.ContainsFunc(all, func(sp *span) bool { return i >= sp.from && i < sp.to }): // a rejected time
		case isNot(i) && tok.norm != "no" && !slices.ContainsFunc(all, func(sp *span) bool {
			return sp.from == i+1 || sp.from == i+2 && w.g.lex.containsWord("suiting-verbs", w.s.tokens[i+1].norm)
		}):
			return timing{}, false, false
		case w.g.lex.containsWord("additional-words", tok.norm):
			more = true
		case isDigit(tok.norm[0]) && (len(tok.norm) < 3 || strings.ContainsAny(tok.norm, ".:") && isBareClock(tok.norm, w.s.now)) && number == "":
			number = tok.norm
		case !w.g.isAmendWord(tok.norm):
			return timing{}, false, false
		}
	}
	if len(spans) == 0 && number != "" {
		spans, number = w.g.parseSentence("at "+number, w.s.now).allTimes(), ""
	}
	if len(spans) == 0 || number != "" {
		return timing{}, false, false
	}
	t, err := w.joinTimes(spans)
	return t, more, err == nil && !t.none && !t.vague
}

// isAmendWord reports whether a word may accompany a new time for an offer.
func (g *grammar) isAmendWord(word string) bool {
	return slices.ContainsFunc([]string{"amend-words", "answer-fillers", "reference-words", "pronouns", "interjections", "correction-starts", "prepositions", "please", "negations"}, func(list string) bool {
		return g.lex.containsWord(list, word)
	})
}

// mergeTime returns the arguments of a reminder at t. A day alone keeps the time of day, and a time
// of day alone keeps the day. A recurrence keeps the time of day, and also the day of the week
// unless it names one.
func (w *intentDraft) mergeTime(it item, t timing) (map[string]any, bool) {
	old, clock, day := w.itemTime(it)
	cron := strings.Fields(it.made.stringArg("every"))
	onlyClock := t.clock && !t.part && w.isClockOnly(t)
	switch {
	case t.every != "":
		return w.mergeEvery(t, old, clock, day)
	case t.part && day: // "in the evening" keeps the day
		m, err := dateparse.Parse(old.Format("2 January 2006 ")+"in the "+strings.TrimPrefix(strings.TrimPrefix(t.phrase, "in "), "the "), w.s.now)
		if err == nil && m.HasClock && sameDay(m.Time, old) {
			return argsOf("at", m.Time.Format(time.RFC3339)), true
		}
		return argsOf("at", t.rfc3339()), true
	case len(cron) == 5 && onlyClock:
		at := w.clocksFor(t, it)[0]
		cron[0], cron[1] = strconv.Itoa(at.Minute()), strconv.Itoa(at.Hour())
		return argsOf("every", strings.Join(cron, " ")), true
	case len(cron) > 0:
		next, ok := mergeRecurrence(strings.Join(cron, " "), t)
		return argsOf("every", next), ok
	case onlyClock && day:
		return argsOf("at", atClock(old, w.clocksFor(t, it)[0]).Format(time.RFC3339)), true
	case !t.clock && clock:
		return argsOf("at", atClock(t.at, old).Format(time.RFC3339)), true
	}
	return argsOf("at", t.rfc3339()), t.clock
}

// recurrenceOn adds the day to a recurrence that names none: "every month at 9" becomes "every month on the
// 1st at 9".
func (g *grammar) recurrenceOn(phrase string, day time.Time) string {
	period, tail := g.barePeriod(phrase)
	if period == "" || tail != "" && !strings.HasPrefix(tail, "at ") {
		return phrase
	}
	head := map[string]string{"week": "every " + day.Format("Monday"), "month": "every month on the " + ordinalForm(day.Day()), "year": "every year on " + day.Format("2 January")}[period]
	return strings.TrimSpace(head + " " + tail)
}

// barePeriod splits a recurrence that starts with "every week", "every month" or "every year".
func (g *grammar) barePeriod(phrase string) (period, tail string) {
	words := strings.Fields(strings.ToLower(phrase))
	for n := len(words); n > 0; n-- {
		if period, ok := g.lex.meaningOf("bare-periods", strings.Join(words[:n], " ")); ok {
			return period, strings.Join(words[n:], " ")
		}
	}
	return "", ""
}

// mergeEvery returns the recurrence t with the current time of day and day of the week of a record.
func (w *intentDraft) mergeEvery(t timing, old time.Time, clock, day bool) (map[string]any, bool) {
	tries := []string{t.phrase}
	if clock {
		tries = slices.Insert(tries, 0, t.phrase+" at "+old.Format("15:04"))
	}
	if day {
		tries[0] = w.g.recurrenceOn(tries[0], old)
	}
	if strings.HasSuffix(strings.ToLower(t.phrase), " weeks") && day {
		tries = slices.Insert(tries, 0, t.phrase+" on "+old.Format("Monday at 15:04"))
	}
	for _, try := range tries {
		e, err := dateparse.ParseEvery(try, w.s.now)
		switch {
		case err != nil:
		case e.Cron == "" || e.Except != "":
			return argsOf("every", try), true
		default:
			return argsOf("every", e.Cron), true
		}
	}
	return nil, false
}
