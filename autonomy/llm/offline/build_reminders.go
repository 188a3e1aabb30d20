package offline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

func reminderBuilders() map[string]builder {
	return map[string]builder{
		"reminder.add":         addReminder,
		"reminder.add.none":    askReminder,
		"reminder.before":      addBefore,
		"reminder.move":        moveReminder,
		"reminder.several":     severalTimers,
		"follow.another":       followAnother,
		"reminder.list":        listReminders,
		"reminder.cancel":      cancelReminder,
		"reminder.one":         editOne,
		"reminder.cancel.none": whichReminder,
		"reminder.left":        timeLeft,
		"reminder.longer":      lengthenReminder,
		"follow.snooze":        followSnooze,
		"follow.before":        followBefore,
	}
}

// remindOfWhat is the question for the text of a reminder.
const remindOfWhat = "What should I remind you of?"

// askReminder asks for the text of a reminder. It keeps the time if one was given.
func askReminder(w *intentDraft) (plan, bool) {
	times := ""
	for _, sp := range w.allSpans() {
		times += " " + sp.originalPhrase()
	}
	return planQuestion(remindOfWhat, func(answer string) (string, bool) {
		s := w.g.parseSentence(answer, w.s.now)
		if reading := w.g.allReadings(s, false); len(reading) > 0 && reading[0].intent.name == "reminder.add" {
			return answer, true
		}
		if from, to, lifted := s.liftTimes(0, len(s.tokens)); from >= to && len(lifted) > 0 { // "for 5pm"
			if times != "" {
				return "", false
			}
			when := ""
			for _, sp := range lifted {
				when += " " + withoutPreposition(sp.originalPhrase())
			}
			return "remind me" + when, true
		}
		answer = strings.TrimPrefix(answer, "to ")
		return "remind me" + times + w.objectOf(answer), answer != ""
	})
}

func addReminder(w *intentDraft) (plan, bool) {
	d := w.slotDetails("text", w.cutPriority)
	d.times = append(w.allSpans(), d.times...)
	if level, ok := w.g.lex.meaningOf("levels", w.slotNorm("priority")); ok { // "a high priority reminder"
		d.priority = level
	}
	d.text = w.reminderText(d.text)
	if rest, ok := cutAnyPrefix(d.text, "remind me to ", "remind me about ", "remind me of ", "remind me that "); ok { // "don't forget to remind me to call mum"
		d.text = rest
	}
	if w.hasKeyword("timer") && parsesAsFigure(d.text) { // "timer 1h 20"
		return planQuestion("How long should the timer run?", fillBetween("set a timer for", ""))
	}
	if w.hasKeyword("wake") || w.hasKeyword("wake-up") || w.hasSlot("wake") {
		d.times = w.inTheMorning(d.times)
		if w.isUnlikelyAfternoon(d.times) {
			t, _ := w.joinTimes(d.times)
			f := strings.Fields(t.every)
			if hour, _ := strconv.Atoi(f[1]); hour > 15 { // "at 6.15 on weekdays"
				f[1] = strconv.Itoa(hour - 12)
				return planCall("create_reminder", argsOf("text", d.text, "every", strings.Join(f, " ")))
			}
			return w.askTime(nil, "At what time exactly should I wake you, in the morning?", func(when string) string { return "wake me " + when })
		}
	}
	if w.g.containsOnly("getting-up", d.text) { // "at 5.45 to get up"
		if d.times = w.inTheMorning(d.times); w.isUnlikelyAfternoon(d.times) {
			return w.askTime(nil, "At what time exactly, in the morning?", func(when string) string { return "remind me " + when + w.objectOf(d.text) })
		}
	}
	if c, ok := w.captureOf("hours"); ok { // "for 6", "half 6 tomorrow"
		if w.s.tokens[c.from].norm == "in" {
			return w.askUnit("wake me in", w.s.originalText(c.from+1, c.to))
		}
		s := w.g.parseSentence("at "+w.s.originalText(c.from, c.to), w.s.now)
		if d.times = s.allTimes(); len(d.times) == 0 || !s.onlyTimesAnd("prepositions") {
			return noPlan()
		}
	}
	if c, ok := w.captureOf("text"); ok && w.hasSlot("more") { // only after a time: "remind me to invite Raj too"
		if sp, _ := w.s.spanEnding(c.to); sp == nil {
			return noPlan()
		}
	}
	if tail, ok := strings.CutPrefix(d.text, "time to "); ok && len(d.times) > 0 && strings.HasPrefix(strings.ToLower(d.times[0].originalPhrase()), "in ") {
		d.text = tail // "in 2 days time to pay"
	}
	if d.text == "time" && len(d.times) > 0 && strings.HasPrefix(strings.ToLower(d.times[0].originalPhrase()), "in ") {
		return askReminder(w) // "in two days time at 4"
	}
	if w.isTimeUnclear(d) {
		return planQuestion("When exactly should I remind you?", w.timeAnswer(func(when string) string { return "remind me " + when + w.objectOf(withoutTo(d.text)) }))
	}
	if w.hasKeyword("alarm") {
		morning := w.inTheMorning(d.times)
		if t, err := w.joinTimes(d.times); err == nil && t.at.YearDay() == w.s.now.YearDay() && len(morning) == 1 && morning[0] != d.times[0] {
			hour := t.at.Format("15:04")
			return w.askTime(&dateparse.AmbiguousError{Phrase: t.phrase, Choices: []string{"tomorrow at " + t.at.Add(-12*time.Hour).Format("15:04"), "today at " + hour}}, "",
				func(when string) string { return "set an alarm for " + when })
		}
		if d.times = morning; w.isUnlikelyAfternoon(morning) {
			return w.askTime(nil, "At what time exactly, and is it am or pm?", func(when string) string { return "set an alarm for " + when })
		}
	}
	if c, ok := w.captureOf("timer"); ok {
		if !w.noLead() { // "saturday set a 5 minute timer"
			return noPlan()
		}
		if said := w.slotString("timer"); parsesAsFigure(said) {
			return w.askUnit("set a timer for", said)
		}
		if d.times, d.text = w.timerTime(c); len(d.times) == 0 {
			return noPlan()
		}
		if w.hasKeyword("alarm") && d.text == "timer" {
			d.text = "alarm"
		}
		if name, ok := w.captureOf("name"); ok { // "30 minutes timer for the bread"
			d.text = bareName(w.s.originalText(name.from, name.to))
			if strings.ContainsAny(d.text, "0123456789") || len(w.s.timesInside(name.from, name.to)) > 0 || w.g.isUnspecific(d.text) {
				return noPlan()
			}
		}
	}
	if w.g.lex.containsPhrase("same-deeds", strings.ToLower(d.text)) && len(strings.Fields(d.text)) == 2 { // "remind me to do it at 5"
		it, ok := w.g.talk.focusItem()
		if !ok || it.kind != "task" {
			return askReminder(w)
		}
		d.text = it.ref
	}
	if w.g.isUnspecific(d.text) {
		return askReminder(w)
	}
	if c, ok := w.captureOf("text"); ok && c.from == 0 && w.hasKeyword("reminder") { // "cancel the dentist reminder tomorrow at 9"
		if first := strings.ToLower(firstField(d.text)); w.g.lex.containsWord("to-hob", first) || w.g.lex.containsWord("record-verbs", first) {
			return noPlan()
		}
	}
	// "every weekday at 8:30 unless it rains to stand up"
	if first, _, _ := strings.Cut(strings.ToLower(d.text), " "); w.g.lex.containsWord("exception-heads", first) {
		return planQuestion("I can only exclude days, such as Sundays, 24 December or holidays; pause the reminder for other exceptions. What should I remind you of, and when, without the exception?",
			func(answer string) (string, bool) {
				return "remind me " + strings.TrimPrefix(answer, "remind me "), answer != ""
			})
	}
	if c, ok := w.captureOf("text"); ok {
		if p, ok := w.planAnchored(); ok {
			return p, true
		}
		if w.isAppointment(c) {
			return planQuestion("When should I remind you of that?", w.timeAnswer(func(when string) string {
				return "remind me " + when + " about " + quoteText(withoutTo(w.s.originalText(c.from, c.to)))
			}))
		}
		if p, ok := w.severalReminders(c); ok {
			return p, true
		}
	}
	if p, ok := w.onEvent(d); ok {
		return p, p.outcome != 0
	}
	if p, ok := w.repeatUntil(d); ok {
		return p, true
	}
	if p, ok := w.severalTimes(d); ok {
		return p, true
	}
	return w.reminderCall(d)
}

// reminderCall creates the call when the text and the time are known.
func (w *intentDraft) reminderCall(d textDetails) (plan, bool) {
	again := func(when string) string { return "remind me " + when + w.objectOf(d.text) }
	t, err := w.joinTimes(d.times)
	for i := 1; i < len(d.times) && err == nil && t.every == ""; i++ {
		if w.joinedByAnd(d.times[i-1], d.times[i]) { // "tomorrow and the day after at 8"
			err = errSeveral
		}
	}
	switch {
	case err != nil:
		return w.askTime(err, "When should I remind you?", again)
	case t.none && len(d.inner) > 0, w.isRelative(d):
		return planQuestion("When exactly should I remind you?", w.timeAnswer(again))
	case t.none:
		return planQuestion("When should I remind you?", w.timeAnswer(again))
	case t.every != "":
		if period, tail := w.g.barePeriod(t.phrase); (period == "month" || period == "year") && (tail == "" || strings.HasPrefix(tail, "at ")) { // any day would be a guess
			return planQuestion("On which day of the "+period+" should I remind you?", w.dayAnswer("every "+period+" on ", tail, again))
		}
		if p, ok := w.askWeekly(d, t); ok {
			return p, true
		}
		args := argsOf("text", d.text, "every", t.every, "priority", d.priority)
		w.fitHalf(args, t)
		p, ok := planCall("create_reminder", args)
		p.say = w.notePassed(t)
		return p, ok
	case t.vague:
		return planQuestion("On which day, and at what time, should I remind you?", w.timeAnswer(again))
	case !t.clock && t.at.Before(startOfDay(w.s.now)):
		return planQuestion("That day has already passed. When should I remind you?", w.timeAnswer(again))
	case !t.clock:
		return planQuestion("At what time should I remind you?", w.clockAnswer(t, again))
	case w.namesLead(): // "three days before at ten": before what?
		return planQuestion("When exactly should I remind you?", w.timeAnswer(again))
	case !t.at.After(w.s.now):
		return planQuestion("That time has already passed. When should I remind you?", w.timeAnswer(func(when string) string { return again(w.inSamePart(t, when)) }))
	}
	args := argsOf("text", d.text, "at", t.rfc3339(), "priority", d.priority)
	w.fitHalf(args, t)
	p, ok := planCall("create_reminder", args)
	if w.g.talk != nil && w.depth == 0 && !t.part && w.isClockOnly(t) && (w.beginsWithAnd() || w.beginsWith("additional-words")) {
		if q, ok := w.askSameDay(p); ok {
			return q, true
		}
	}
	return p, ok
}

// inSamePart returns the time of an answer. After "tonight", a bare hour such as "at 8" is one in the evening.
func (w *intentDraft) inSamePart(before timing, answer string) string {
	if !before.part || before.at.Hour() < 17 || !isBareClock(answer, w.s.now) {
		return answer
	}
	m, err := dateparse.Parse(answer+" in the evening", w.s.now)
	if err != nil || !m.HasClock {
		return answer
	}
	if !m.Time.After(w.s.now) {
		m.Time = m.Time.AddDate(0, 0, 1)
	}
	return "on " + m.Time.Format("2 January 2006 at 15:04")
}

// dayAnswer returns a function that completes a recurrence from an answer with a day, such as "the 1st" or "3
// May at 10". tail is the time of day, if the request has one.
func (w *intentDraft) dayAnswer(head, tail string, complete func(string) string) func(string) (string, bool) {
	return func(answer string) (string, bool) {
		every := head + withoutPreposition(w.timeIn(answer))
		for _, try := range []string{every + " " + tail, every} {
			if e, err := dateparse.ParseEvery(strings.TrimSpace(try), w.s.now); err == nil && e.Cron != "" {
				return complete(strings.TrimSpace(try)), true
			}
		}
		return "", false
	}
}

// onEvent handles reminders that depend on an event that Hob cannot detect, such as "remind me when
// I get home". "Notify me when ..." is not a reminder.
func (w *intentDraft) onEvent(d textDetails) (plan, bool) {
	head, event, _ := strings.Cut(d.text, " ")
	if !w.g.lex.containsWord("event-heads", strings.ToLower(head)) {
		return plan{}, false
	}
	if len(d.times) > 0 || len(d.inner) > 0 {
		return plan{}, false
	}
	if !w.hasKeyword("remind") {
		return plan{}, true
	}
	what := d.text
	if i := strings.LastIndex(d.text, " to "); i > 0 {
		event, what = event[:max(0, i-len(head)-1)], d.text[i+len(" to "):]
	}
	p, _ := planQuestion("I cannot notice "+quoteText(event)+" by myself. At what time should I remind you?",
		w.timeAnswer(func(when string) string { return "remind me " + when + " to " + what }))
	return p, true
}

// reminderText returns the text of a reminder. Alarms, timers and wake-up calls need no text from
// the user and get a default.
func (w *intentDraft) reminderText(text string) string {
	lower := strings.ToLower(text)
	for _, head := range []string{"to ", "about ", "that ", "of "} {
		if strings.HasPrefix(lower, head) {
			return text[len(head):]
		}
	}
	if text != "" || w.hasSlot("text") {
		return text
	}
	for _, t := range w.s.tokens {
		switch t.norm {
		case "wake", "wake-up", "get":
			return "wake up"
		case "alarm", "timer":
			return t.norm
		}
	}
	return ""
}

// listReminders lists all reminders, or the reminders of a day, with a given text, or of a kind
// such as alarms.
func listReminders(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	c, _ := w.captureOf("filter")
	for c.from < c.to && w.g.lex.containsWord("reminder-filter-words", w.s.tokens[c.from].norm) {
		c.from++
	}
	from, to, times := w.s.liftTimes(c.from, c.to)
	query := ""
	if from < to && !w.s.onlyWordsOf(from, to, "reminder-filter-words") {
		head := w.s.firstWord(from)
		if !w.g.lex.containsWord("reminder-filter-heads", head) || len(times) > 0 {
			return noPlan()
		}
		query = bareName(w.s.originalText(from+1, to))
	}
	if about, ok := w.captureOf("few_about"); ok && len(w.s.timesInside(about.from, about.to)) == 0 {
		query = bareName(w.s.originalText(about.from, about.to))
	}
	kind := w.plainNoun()
	if kind == "" && len(times) == 0 {
		return planCall("list_reminders", argsOf("query", query))
	}
	days, ok := w.rangeOf(times)
	if !ok || query != "" {
		return noPlan()
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		if len(times) > 0 {
			f.list = f.recordsWithin(days)
		}
		all := f.list
		if kind != "" {
			f.list = w.g.plainRecords(f.list, kind)
		}
		noun, when := cmp.Or(kind, "reminder"), ""
		if len(times) > 0 {
			when = " " + whenPhrase(days)
		}
		switch {
		case len(f.list) == 0 && len(all) > 0: // an alarm may have a name
			return plan{outcome: chat, say: f.withNotes("There are no " + noun + "s" + when + " without a name. Your reminders" + when + ":" + listRecords(all))}
		case len(f.list) == 0:
			return plan{outcome: chat, say: f.withNotes("There are no " + noun + "s" + when + ".")}
		}
		if len(f.list) > 1 {
			noun += "s"
		}
		return plan{outcome: chat, say: f.withNotes(strconv.Itoa(len(f.list)) + " " + noun + when + ":" + listRecords(f.list))}
	}, call{"list_reminders", nil})
}

// onlyWordsOf reports whether the tokens [from, to) are words of a list.
func (s *sentence) onlyWordsOf(from, to int, list string) bool {
	return !slices.ContainsFunc(s.tokens[from:to], func(t token) bool { return t.kind == word && !s.lex.containsWord(list, t.norm) })
}

// plainNoun returns "alarm" or "timer" if the sentence asks for reminders of that kind outside free text.
func (w *intentDraft) plainNoun() string {
	for _, t := range w.s.tokens {
		if kind, ok := w.g.lex.meaningOf("plain-nouns", t.norm); ok && w.hasKeyword(t.norm) {
			return kind
		}
	}
	return ""
}

// plainRecords returns the alarms or the timers among reminders. It omits timers that have a name.
func (g *grammar) plainRecords(list []record, kind string) (out []record) {
	for _, r := range list {
		plain, _ := g.lex.meaningOf("plain-reminders", strings.ToLower(r.title))
		if plain == kind {
			out = append(out, r)
		}
	}
	return out
}

// whichReminder asks which reminder to cancel. It does not ask if there is only one alarm or timer.
func whichReminder(w *intentDraft) (plan, bool) {
	cancel := func(ref string) call { return call{"cancel_reminder", argsOf("reminder", ref)} }
	kind := w.plainNoun()
	if kind == "" || w.depth > 0 {
		return w.whichOne("Which reminder should I cancel?", "list_reminders", cancel)
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		switch list := w.g.plainRecords(f.list, kind); {
		case len(list) == 1:
			return plan{outcome: act, accounted: true, calls: []call{cancel(list[0].selectAmong(f.list))}}
		case len(list) > 1:
			return choiceOf("Which "+kind+" should I cancel?", list, cancel)
		case len(f.list) == 0:
			return plan{outcome: chat, say: f.withNotes("There is no " + kind + ", so I changed nothing.")}
		}
		return choiceOf("There is no "+kind+". Which of these reminders should I cancel?", f.list, cancel)
	}, call{"list_reminders", nil})
}

// lengthenReminder handles "add 2 minutes to the pasta".
func lengthenReminder(w *intentDraft) (plan, bool) {
	n, _ := w.numberOf("number")
	by, ok := w.durationOf(formatFigure(n, 2) + " " + w.slotNorm("few_unit"))
	name := w.slotString("few_item")
	if !ok || !w.noLead() || w.isQuestion() || w.g.isUnspecific(name) {
		return noPlan()
	}
	p, _ := planRefusal("I found no timer or reminder for " + quoteText(name) + ", so I changed nothing.")
	return w.shiftRecord(thingName(name, "timer", "reminder", "alarm"), by, p)
}

// followSnooze handles "snooze that": it asks for how long.
func followSnooze(w *intentDraft) (plan, bool) {
	list := w.findReferents()
	if len(list) != 1 || list[0].kind != "reminder" || !w.noLead() || w.isQuestion() {
		return noPlan()
	}
	name := quoteFree(list[0].ref)
	return planQuestion("For how long should I put off "+quoteText(name)+"?", func(answer string) (string, bool) {
		words := strings.TrimPrefix(strings.TrimPrefix(strings.Trim(strings.ToLower(answer), " .!"), "for "), "by ")
		_, ok := w.durationOf(words)
		return "push the \"" + name + "\" reminder back by " + words, ok
	})
}

func cancelReminder(w *intentDraft) (plan, bool) {
	if p, ok := w.cancelAtTime(); ok {
		return p, true
	}
	text := w.namedThing("text", "reminder", "alarm")
	if first := strings.Trim(strings.ToLower(firstField(text)), ",."); w.hasKeyword("need") && (first == "anything" || first == "it" || first == "that") { // "I don't need a reminder for anything"
		return planReply(w.g.replyText("never-mind"))
	}
	if w.g.isUnspecific(text) {
		return whichReminder(w)
	}
	return w.editOfDay("text", text, "list_reminders", func(ref string) call { return call{"cancel_reminder", argsOf("reminder", ref)} })
}

// moveReminder handles "push the dentist reminder to Friday at 3pm" and "snooze the dentist reminder
// for 10 minutes".
func moveReminder(w *intentDraft) (plan, bool) {
	name := w.namedThing("text", "reminder", "alarm")
	if w.hasTimeAfter("text") || w.g.isUnspecific(strings.TrimPrefix(name, "me ")) || w.isAsking() || !w.noLead() {
		return noPlan()
	}
	if w.hasSlot("shift") {
		by, ok := w.shiftOf("shift")
		if !ok {
			return noPlan()
		}
		if w.slotNorm("way") == "earlier" || w.hasKeyword("forward") {
			by = -by
		}
		return planCall("update_reminder", argsOf("reminder", name, "shift", by.String()))
	}
	t, err := w.joinTimes(w.allSpans())
	again := func(when string) string { return "move the " + name + " reminder to " + when }
	switch {
	case err != nil:
		return w.askTime(err, "To which time?", again)
	case t.none, t.vague, t.part && !t.clock:
		return planQuestion("To which day and time exactly?", w.timeAnswer(again))
	case t.every != "":
		return planCall("update_reminder", argsOf("reminder", name, "every", t.every))
	}
	at := t.dueDate()
	if t.clock && !t.part && w.isClockOnly(t) {
		at = t.at.Format("15:04")
	}
	return planCall("update_reminder", argsOf("reminder", name, "at", at))
}
