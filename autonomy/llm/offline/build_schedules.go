package offline

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
)

func scheduleBuilders() map[string]builder {
	return map[string]builder{
		"schedule.add":    addSchedule,
		"event.offer":     offerEvent,
		"schedule.list":   listSchedules,
		"schedule.pause":  func(w *intentDraft) (plan, bool) { return pauseSchedule(w, false) },
		"schedule.resume": func(w *intentDraft) (plan, bool) { return pauseSchedule(w, true) },
		"schedule.cancel": cancelSchedule,
	}
}

// addSchedule plans a new schedule. It needs a time and an action that Hob can execute.
func addSchedule(w *intentDraft) (plan, bool) {
	if w.depth > 0 || w.g.lex.containsWord("prepositions", w.slotNorm("action")) {
		return noPlan()
	}
	d := textDetails{text: w.slotString("action")}
	inner := w.planInner(d.text)
	if len(inner.calls) == 0 { // the time may be at the end of the action
		d = w.slotDetails("action", nil)
		inner = w.planInner(d.text)
	}
	if slices.ContainsFunc(inner.calls, func(c call) bool { return c.name == "create_watcher" }) {
		return noPlan() // a watcher has its own poll interval
	}
	d.times = append(w.allSpans(), d.times...)
	action := strings.TrimPrefix(strings.TrimPrefix(d.text, "to "), "then ")
	again := func(when string) string { return when + " " + action }
	switch {
	case len(d.times) == 0 && !w.hasKeyword("schedule"):
		return noPlan()
	case action == "" || w.g.isUnspecific(action):
		if !w.hasKeyword("schedule") {
			return noPlan()
		}
		return planQuestion("What should I do then?", func(answer string) (string, bool) { return w.slotString("time") + " " + answer, true })
	case !w.hasKeyword("schedule") && w.isLengthOfTime(d.times), inner.intent != nil && inner.intent.name == "memory.ask": // "mute for the next hour", "give me a few ideas for tonight"
		return noPlan()
	case inner.outcome == chat, inner.outcome == ask && len(inner.calls) == 0 && inner.question.complete != nil:
		return noPlan()
	case len(inner.calls) == 0:
		return w.cannotSchedule(d, action)
	}
	t, err := w.joinTimes(d.times)
	switch {
	case t.every == "" && !w.hasKeyword("schedule") && inner.isLog(): // "ran 8k this morning in 47 mins", "biscuit is 960g now"
		return noPlan()
	case t.every == "" && w.g.lex.containsWord("record-changes", strings.ToLower(firstField(action))) && len(w.lead) == 0: // "cancel the dentist reminder tomorrow at 9"
		return planQuestion("I am not sure whether the time belongs to the record. I changed nothing. Can you say it without the time?", nil)
	case t.every == "" && (w.isAsking() || w.g.classOf(w.s) == aStatement || w.g.classOf(w.s) == aQuestion): // "what did I do yesterday?", "any alarms for tomorrow?"
		return noPlan()
	case err != nil:
		return w.askTime(err, "When should I do that?", again)
	case t.none:
		return planQuestion("When should I do that?", w.timeAnswer(again))
	case t.every != "":
		if period, tail := w.g.barePeriod(t.phrase); (period == "month" || period == "year" || period == "week" && strings.EqualFold(t.phrase, "weekly")) && (tail == "" || strings.HasPrefix(tail, "at ")) { // any day would be a guess
			return planQuestion("On which day of the "+period+" should I do that?", w.dayAnswer("every "+period+" on ", tail, again))
		}
		return planCall("create_schedule", argsOf("every", t.every, "action", action))
	case t.vague:
		return planQuestion("On which day, and at what time, should I do that?", w.timeAnswer(again))
	case !t.clock:
		return planQuestion("At what time should I do that?", w.clockAnswer(t, again))
	case !t.at.After(w.s.now):
		return planQuestion("That time has already passed. When should I do that?", w.timeAnswer(again))
	}
	return planCall("create_schedule", argsOf("at", t.rfc3339(), "action", action))
}

// isLog reports whether a plan only stores what happened or what is so.
func (p plan) isLog() bool {
	return len(p.calls) > 0 && !slices.ContainsFunc(p.calls, func(c call) bool { return c.name != "remember" && !strings.HasPrefix(c.name, "log_") })
}

// isLengthOfTime reports whether the only time follows "for", and is no start of an action.
func (w *intentDraft) isLengthOfTime(times []*span) bool {
	if len(times) != 1 {
		return false
	}
	sp := times[0]
	return strings.HasPrefix(strings.ToLower(sp.originalPhrase()), "for ") || sp.from > 0 && sp.owner.tokens[sp.from-1].norm == "for"
}

// cannotSchedule handles a time with an action that needs a language model, because a schedule
// would only fail later.
func (w *intentDraft) cannotSchedule(d textDetails, action string) (plan, bool) {
	t, err := w.joinTimes(d.times)
	hours, ranged := w.hoursOf(d.times)
	if ranged {
		t, err = timing{at: hours.From, clock: true}, nil
	}
	length := ""
	if m := clockRange.FindStringSubmatch(strings.TrimSpace(joinPhrases(d.times))); err != nil && m != nil { // "every saturday 9:30 to 10:45"
		e, wrong := dateparse.ParseEvery(m[1]+" at "+m[2], w.s.now)
		end, late := dateparse.Parse("at "+m[3], w.s.now)
		if f := strings.Fields(e.Cron); wrong == nil && late == nil && end.HasClock && len(f) == 5 {
			t, err = timing{every: e.Cron, phrase: m[1] + " at " + m[2]}, nil
			length = " (" + m[2] + "–" + m[3] + ")"
		}
	}
	if err != nil || t.none || t.every == "" && (!t.clock || !t.at.After(w.s.now)) || w.isQuestion() {
		return noPlan()
	}
	named := w.eventName(action)
	inner := w.g.parseSentence(named, w.s.now)
	clock := slices.ContainsFunc(inner.allTimes(), func(sp *span) bool { return sp.match.Moment != nil && sp.match.Moment.HasClock })
	if clock || inner.hasWordOf(0, len(inner.tokens), "hob-words") || w.g.lex.containsWord("anchors", inner.tokens[len(inner.tokens)-1].norm) || w.g.unexplainedText(inner, false) != "" { // the text contains a second request
		return noPlan()
	}
	if !w.g.isDoable(named, w.s.now) || w.g.lex.containsWord("order-verbs", strings.ToLower(strings.Fields(named)[0])) && !w.g.lex.containsWord("book-nouns", inner.firstWord(1)) || w.g.lex.containsWord("questions", strings.ToLower(strings.Fields(action)[0])) {
		return noPlan()
	}
	action = named
	times := ""
	for _, sp := range d.times {
		times += " " + sp.originalPhrase()
	}
	verb, rest, _ := strings.Cut(action, " ")
	if after, ok := cutAnyPrefix(strings.ToLower(times), " in for ", " in on ", " in at ", " down for "); ok && rest != "" && w.g.lex.containsWord("pencil-verbs", strings.ToLower(verb)) { // "put dentist in for tuesday 9am"
		action, times = rest, " on "+withoutPreposition(after)
	}
	if length != "" {
		action, times = action+length, " "+t.phrase
	}
	if ranged {
		action += " (" + hours.From.Format("15:04") + "–" + hours.To.Format("15:04") + ")"
		times = " on " + hours.From.Format("2 January 2006") + " at " + hours.From.Format("15:04")
	}
	t, times = w.preferNoon(t, times)
	p, _ := planQuestion("Should I remind you "+w.offeredTime(t, strings.TrimSpace(times))+" of "+quoteText(action)+"?",
		func(answer string) (string, bool) {
			return "remind me" + times + ` to "` + quoteFree(action) + `"`, w.g.isYes(answer, w.s.now)
		})
	return w.withOffer(p, t, action)
}

// clockRange matches a recurrence with two times of day.
var clockRange = lazyregexp.New(`(?i)^((?:every|each) [a-z ]+?)(?: at| from)? (\d[\d:.apm]*) ?(?:to|till|til|until|-|–) ?(\d[\d:.apm]*)$`)

// joinPhrases joins the words of times.
func joinPhrases(times []*span) string {
	var out []string
	for _, sp := range times {
		out = append(out, sp.originalPhrase())
	}
	return strings.Join(out, " ")
}

// cutAnyPrefix removes the first of the prefixes with which s begins.
func cutAnyPrefix(s string, prefixes ...string) (string, bool) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(s, p); ok {
			return rest, true
		}
	}
	return s, false
}

// offeredTime returns the time of an offer as Hob understood it, so that an agreement brings no
// surprise. A recurrence, a day and a time from now on stay as the user wrote them.
func (w *intentDraft) offeredTime(t timing, phrase string) string {
	if t.every != "" || !t.clock || strings.HasPrefix(strings.ToLower(phrase), "in ") {
		return phrase
	}
	return dateparse.Format(t.at, w.s.now)
}

// preferNoon moves the time of an offer from midnight to noon of the same day if the message does not name the night:
// "lunch with Mum at 12.30", said in the afternoon.
func (w *intentDraft) preferNoon(t timing, phrase string) (timing, string) {
	lower := strings.ToLower(phrase)
	if t.every != "" || !t.clock || t.at.Hour() != 0 || strings.Contains(lower, "night") || strings.Contains(lower, "am") || strings.Contains(lower, "00") || strings.HasPrefix(strings.TrimSpace(lower), "in ") {
		return t, phrase
	}
	t.at = t.at.Add(12 * time.Hour)
	return t, " on " + t.at.Format("2 January 2006 at 15:04")
}

// isDoable reports whether a text can be an action or an event to remind of, unlike "they called" and
// "hmm, too early".
func (g *grammar) isDoable(text string, now time.Time) bool {
	s := g.parseSentence(text, now)
	first := s.firstWord(0)
	for _, list := range []string{"questions", "to-hob", "pronouns", "reactions"} {
		if g.lex.containsWord(list, first) {
			return false
		}
	}
	if g.lex.containsWord("answer-fillers", first) && first != "the" && !g.lex.containsWord("articles", first) {
		return false
	}
	if bases, past := g.baseForm(first); past && !slices.Contains(bases, first) && !g.lex.containsWord("setting-verbs", first) || g.lex.containsWord("past-verbs", first) { // "walked the dog at 7"
		return false
	}
	for i := 1; i < min(3, len(s.tokens)); i++ { // "Tom called", "my train left"
		if _, past := g.baseForm(s.tokens[i].norm); (past && len(s.tokens[i].norm) > 3 || g.lex.containsWord("past-verbs", s.tokens[i].norm)) && (i == 1 || g.lex.containsWord("owned-starts", first)) {
			return false
		}
	}
	if slices.ContainsFunc(s.tokens, func(t token) bool { return g.lex.containsWord("negations", t.norm) || t.norm == "but" }) {
		return false
	}
	isSentence := slices.ContainsFunc(s.tokens, func(t token) bool { return g.lex.containsWord("linking-verbs", t.norm) })
	if first == "" {
		return false
	}
	last := s.tokens[len(s.tokens)-1].norm
	return !isSentence && !g.lex.containsWord("prepositions", last) && !g.lex.containsWord("joiners", last) // "meeting moved to"
}

// eventName returns the name of an event without the words that only state that it takes place: "i
// have a meeting with Lisa" becomes "meeting with Lisa".
func (w *intentDraft) eventName(action string) string {
	part := *w
	part.s = w.g.parseSentence(action, w.s.now)
	if slots, ok := part.tryEdge("prefix.event", capture{to: len(part.s.tokens)}); ok && part.s.firstWord(slots["rest"].from) != "to" {
		name := part.s.originalText(slots["rest"].from, slots["rest"].to)
		if who, ok := slots["few_who"]; ok && !w.g.lex.containsWord("pronouns", part.s.firstWord(who.from)) { // "Theo has football practice"
			name = part.s.originalText(who.from, who.to) + ": " + name
		}
		return name
	}
	return strings.TrimSuffix(strings.TrimSuffix(action, "'s"), "’s") // "football's on thursday"
}

// offerEvent offers a reminder of an appointment whose time is in the middle, as in "dinner with
// Sarah on Friday at 7pm at Luigi's".
func offerEvent(w *intentDraft) (plan, bool) {
	c, _ := w.captureOf("event")
	at, ok := w.captureOf("time")
	named := slices.ContainsFunc(w.s.tokens[c.from:c.to], func(t token) bool { return w.g.lex.containsWord("event-nouns", t.norm) })
	for i := c.from; i < c.to; i++ {
		named = named || w.s.endsName(i) // "parents evening"
	}
	if !ok || !named || c.to-c.from > 8 || w.isQuestion() || w.isAsking() || w.depth > 0 {
		return noPlan()
	}
	t, err := readMatch(at.span.match, w.s.now)
	hours, ranged := w.hoursOf([]*span{at.span})
	if ranged {
		t, err = timing{at: hours.From, clock: true}, nil
	}
	tail := w.s.originalText(at.to, len(w.s.tokens))
	where := tail == "" || w.g.lex.containsWord("tail-heads", w.s.firstWord(at.to)) && len(w.s.timesInside(at.to, len(w.s.tokens))) == 0 && w.isPlainStatement(tail) && !w.s.hasWordOf(at.to, len(w.s.tokens), "hob-words", "commands")
	if err == nil && t.every != "" && strings.ContainsAny(t.phrase, "0123456789") && where { // "book club is on the first Thursday of every month at 7.30pm"
		text := strings.TrimSpace(w.eventName(w.s.originalText(c.from, min(c.to, at.from))) + " " + tail)
		p, _ := planQuestion("Should I remind you "+t.phrase+" of "+quoteText(text)+"?", func(answer string) (string, bool) {
			return "remind me " + t.phrase + ` to "` + quoteFree(text) + `"`, w.g.isYes(answer, w.s.now)
		})
		return w.withOffer(p, t, text)
	}
	if err != nil || t.every != "" || t.vague || t.clock && !t.at.After(w.s.now) || tail == "" && !(w.hasKeyword("is") || w.hasKeyword("are")) || tail == "" && !t.clock || len(w.s.timesInside(at.to, len(w.s.tokens))) > 0 {
		return noPlan()
	}
	if !t.clock && slices.ContainsFunc(w.s.tokens, func(t token) bool { return strings.ContainsAny(t.norm, ".:") && isBareClock(t.norm, w.s.now) }) { // "concert on Sunday 13th December 7.30, be there for 6"
		return noPlan()
	}
	if tail != "" && strings.ContainsAny(tail[:1], "0123456789") { // "GP on Friday 9.40"
		return noPlan()
	}
	if first := c.from + 1; w.g.lex.containsWord("pencil-verbs", w.s.firstWord(c.from)) && first < c.to { // "put the MOT for the car on 12 January in Leeds"
		for first < c.to-1 && (w.s.tokens[first].norm == "the" || w.g.lex.containsWord("articles", w.s.tokens[first].norm) || w.g.lex.containsWord("owned-starts", w.s.tokens[first].norm)) {
			first++
		}
		if w.g.lex.containsWord("event-nouns", w.s.tokens[first].norm) && (first+1 >= c.to || w.g.lex.containsWord("prepositions", w.s.tokens[first+1].norm) || w.s.tokens[first+1].norm == "with") {
			c.from = first
		}
	}
	end := min(c.to, at.from)
	for end > c.from+1 && w.g.lex.containsWord("anchor-verbs", w.s.tokens[end-1].norm) { // "my flight is at 6:40 from Luton"
		end--
	}
	name := w.eventName(w.s.originalText(c.from, end))
	if tail != "" && w.s.tokens[at.to].kind == punct { // "haircut on Saturday at 11, costs about 35"
		next := w.s.firstWord(at.to)
		if p := w.planInner(tail); p.intent != nil && p.intent.rank >= 0 && p.outcome != unknown || w.g.lex.containsWord("joints", next) || w.g.lex.containsWord("commands", next) || w.g.lex.containsWord("record-verbs", next) || w.g.lex.containsWord("questions", next) || w.g.lex.containsWord("negations", next) {
			return noPlan()
		}
		name += ","
	}
	text := strings.TrimSpace(name + " " + tail)
	if w.s.hasWordOf(at.to, len(w.s.tokens), "hob-words", "commands") {
		return noPlan()
	}
	phrase := at.span.originalPhrase()
	if ranged {
		text += " (" + hours.From.Format("15:04") + "–" + hours.To.Format("15:04") + ")"
		phrase = "on " + hours.From.Format("2 January 2006 at 15:04")
	}
	t, phrase = w.preferNoon(t, phrase)
	p, _ := planQuestion("Should I remind you "+w.offeredTime(t, phrase)+" of "+quoteText(text)+"?", func(answer string) (string, bool) {
		return "remind me " + phrase + ` to "` + quoteFree(text) + `"`, w.g.isYes(answer, w.s.now)
	})
	return w.withOffer(p, t, text)
}

// planInner plans an action that is part of this request.
func (w *intentDraft) planInner(action string) plan {
	return w.g.planRequests(action, w.s.now, w.depth+1)
}

// hasKeyword reports whether a word occurs in the sentence outside free text slots.
func (w *intentDraft) hasKeyword(word string) bool {
	for i, t := range w.s.tokens {
		if t.norm != word {
			continue
		}
		free := false
		for _, c := range w.caps {
			free = free || i >= c.from && i < c.to
		}
		if !free {
			return true
		}
	}
	return false
}

func listSchedules(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	return planCall("list_schedules", nil)
}

func pauseSchedule(w *intentDraft, resume bool) (plan, bool) {
	text := bareName(w.slotString("text"))
	if w.hasKeyword("brief") || w.hasKeyword("briefing") && text == "" {
		text = "briefing"
	}
	if w.g.isUnspecific(text) || text == "schedule" {
		verb := "pause"
		if resume {
			verb = "resume"
		}
		return planQuestion("Which schedule should I "+verb+"?", fillBetween(verb+" the schedule", ""))
	}
	return planCall("pause_schedule", argsOf("schedule", text, "resume", resume))
}

func cancelSchedule(w *intentDraft) (plan, bool) {
	text := bareName(w.slotString("text"))
	if text == "" && (w.hasKeyword("briefing") || w.hasKeyword("brief")) {
		text = "briefing"
	}
	if w.g.isUnspecific(text) {
		return planQuestion("Which schedule should I cancel?", fillBetween("cancel the schedule", ""))
	}
	return planCall("cancel_schedule", argsOf("schedule", text))
}
