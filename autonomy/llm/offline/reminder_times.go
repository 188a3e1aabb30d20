package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
)

// lengthPhrase matches a length of time with an article, unlike "for next week".
var lengthPhrase = lazyregexp.New(`(?i)^(for )?(the|a|the whole|the next|the coming|the rest of the) .*(week|weeks|month|months|days)\b`)

// askWeekly asks whether "from Thursday to Sunday at 8" means each week. Without "every", it may mean the next such
// days only.
func (w *intentDraft) askWeekly(d textDetails, t timing) (plan, bool) {
	f := strings.Fields(t.every)
	lower := strings.ToLower(t.phrase)
	if len(f) != 5 || f[4] == "*" || f[4] == "1-5" || f[2] != "*" || !dayRange.MatchString(lower) {
		return noPlan()
	}
	first, err := dateparse.Parse(dayRange.FindStringSubmatch(lower)[1], w.s.now)
	clock, err2 := time.Parse("15 4", f[1]+" "+f[0])
	if err != nil || err2 != nil {
		return noPlan()
	}
	once := plan{outcome: act, accounted: true}
	var last time.Time
	for i := range 7 {
		at := atClock(first.Time.AddDate(0, 0, i), clock)
		if !slices.Contains(weekdaysOf(f[4]), int(at.Weekday())) {
			break
		}
		once.calls, last = append(once.calls, call{"create_reminder", argsOf("text", d.text, "at", at.Format(time.RFC3339))}), at
	}
	weekly, _ := planCall("create_reminder", argsOf("text", d.text, "every", t.every))
	weekly.accounted = true
	if len(once.calls) < 2 || !atClock(first.Time, clock).After(w.s.now) {
		return noPlan()
	}
	return plan{outcome: ask, question: &question{
		text:    "Only from " + dateparse.FormatDay(first.Time, w.s.now) + " to " + dateparse.FormatDay(last, w.s.now) + ", or every week?",
		options: []option{{"only this once just these days no", once}, {"every week each always weekly repeat", weekly}},
	}}, true
}

// dayRange matches a range of days of the week that does not say "every".
var dayRange = lazyregexp.New(`^(?:from )?(\pL+day|mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun) (?:to|until|till|through|-) `)

// isTimeUnclear reports whether the words around the time leave doubt about it: "at 20 to to leave" lacks the
// hour, and "tomorrow's meeting at 9" has the day of the meeting.
func (w *intentDraft) isTimeUnclear(d textDetails) bool {
	c, ok := w.captureOf("text")
	if !ok || len(d.times) != 1 || d.times[0].owner != w.s {
		return false
	}
	sp := d.times[0]
	before := func(i int) string {
		if i == 0 {
			return ""
		}
		return w.s.tokens[i-1].norm
	}
	switch i := sp.to; {
	case i+1 < len(w.s.tokens) && w.s.tokens[i].norm == "to" && w.s.tokens[i+1].norm == "to":
		return true
	case i < len(w.s.tokens) && w.s.tokens[i].norm == "to" && sp.from > c.from && slices.Contains([]string{"me", "us", "with", "for"}, before(c.from)): // "remind me loudly at 5 to pay"
		return true
	case sp.match.Every != nil && strings.Contains(strings.ToLower(sp.originalPhrase()), " each "): // "for the 1st of each month"
		return false
	case before(sp.from) == "for" && lengthPhrase.MatchString(sp.originalPhrase()), lengthPhrase.MatchString(sp.originalPhrase()) && strings.HasPrefix(strings.ToLower(sp.originalPhrase()), "for "): // "for the next week at 8"
		return true
	}
	t, err := readMatch(sp.match, w.s.now)
	if err != nil || !t.clock || t.part || sp.from <= c.from || !isBareClock(sp.originalPhrase(), w.s.now) {
		return false
	}
	return slices.ContainsFunc(w.s.tokens[c.from:sp.from], func(t token) bool {
		day, owner := strings.CutSuffix(t.norm, "'s")
		m, err := dateparse.Parse(day, w.s.now)
		return owner && err == nil && m.Grain == dateparse.Day && !sameDay(m.Time, w.s.now)
	})
}

// isUnlikelyAfternoon reports whether a recurrence was parsed as an afternoon time although the
// user did not write so: "an alarm for 5:45 on weekdays" probably does not mean 17:45.
func (w *intentDraft) isUnlikelyAfternoon(times []*span) bool {
	t, err := w.joinTimes(times)
	return err == nil && isAfternoonRule(t.every) && !saysHalfOfDay(t.phrase)
}

// isAppointment reports whether the time at the end belongs to the event instead of the reminder, as
// in "remind me tomorrow that I have to be at the airport at 6".
func (w *intentDraft) isAppointment(c capture) bool {
	if !w.s.lex.containsPhrase("appointment-clauses", w.s.normalizedText(0, c.to)) || len(w.s.timesInside(0, c.to)) == 0 {
		return false
	}
	_, _, tail := w.s.liftTimes(w.s.skipPunctuation(c.from), c.to)
	for _, sp := range tail {
		if sp.to >= c.to {
			return true
		}
	}
	return false
}

// isAfternoonRule reports whether a recurrence is in the afternoon.
func isAfternoonRule(every string) bool {
	f := strings.Fields(every)
	if len(f) != 5 {
		return false
	}
	hour, err := strconv.Atoi(f[1])
	return err == nil && hour >= 12
}

// inTheMorning interprets the time of a wake-up request as a time in the morning, because "wake me
// at 7" never means the evening.
func (w *intentDraft) inTheMorning(times []*span) []*span {
	t, err := w.joinTimes(times)
	if err != nil || len(times) != 1 || !t.clock || t.every != "" || t.part || t.at.Hour() <= 12 || t.at.Hour() == 0 {
		return times
	}
	if slices.ContainsFunc(w.s.tokens, func(t token) bool { return w.g.lex.containsWord("late-words", t.norm) }) { // "in the afternoon at 3"
		return times
	}
	said := times[0].originalPhrase()
	for _, try := range []string{said + "am", said + " in the morning"} {
		if m := w.g.parseSentence(try, w.s.now).allTimes(); len(m) == 1 && len(m[0].originalPhrase()) == len(try) && m[0].match.Moment != nil && m[0].match.Moment.Time.Hour() < 12 {
			return m
		}
	}
	return times
}

// cancelAtTime handles "cancel the reminder at 5" and "cancel tomorrow's reminder": the time selects the
// reminder, not a number in its text.
func (w *intentDraft) cancelAtTime() (plan, bool) {
	return w.editAtTime("cancel", func(_ record, ref string) (call, bool) {
		return call{"cancel_reminder", argsOf("reminder", ref)}, true
	})
}

// editOne handles "cancel the 7 one" and "change the 9am one to half 9".
func editOne(w *intentDraft) (plan, bool) {
	if !w.hasSlot("time") && !w.hasSlot("hours") {
		return w.cancelAtTime()
	}
	spans := w.allSpans()
	if w.hasSlot("hours") {
		spans = w.g.parseSentence("at "+w.slotString("hours"), w.s.now).allTimes()
	}
	t, err := w.joinTimes(spans)
	if err != nil || t.every != "" || t.vague || t.none {
		return noPlan()
	}
	return w.editAtTime("move", func(r record, ref string) (call, bool) {
		at := t.dueDate()
		switch {
		case isBareClock("at "+t.phrase, w.s.now) && !saysHalfOfDay(t.phrase):
			at = fmt.Sprintf("%02d:%02d", t.at.Hour()%12+r.at.Hour()/12*12, t.at.Minute())
		case t.clock && !t.part && w.isClockOnly(t):
			at = t.at.Format("15:04")
		}
		return call{"update_reminder", argsOf("reminder", ref, "at", at)}, !r.repeats
	})
}

// editAtTime plans an edit of the reminder at the time in the slot "text". The edit is false if the reminder cannot
// be edited.
func (w *intentDraft) editAtTime(verb string, edit bulkEdit) (plan, bool) {
	said := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(strings.TrimPrefix(w.slotString("text"), "at ")), "'s"), "’s")
	m, err := dateparse.Parse(said, w.s.now)
	if err != nil || parsesAsFigure(said) {
		m, err = dateparse.Parse("at "+said, w.s.now)
	}
	if err != nil || m.Grain > dateparse.Day || !w.noLead() || w.isQuestion() || w.depth > 0 {
		return noPlan()
	}
	bare := m.HasClock && isBareClock("at "+said, w.s.now)
	isMeant := func(r record) bool {
		switch {
		case !m.HasClock:
			return !r.at.IsZero() && sameDay(r.at, m.Time)
		case !bare:
			return r.clock && r.at.Equal(m.Time)
		}
		half := 24
		if !saysHalfOfDay(said) {
			half = 12
		}
		return r.clock && r.at.Hour()%half == m.Time.Hour()%half && r.at.Minute() == m.Time.Minute()
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		list := slices.DeleteFunc(slices.Clone(f.list), func(r record) bool { return !isMeant(r) })
		var options []option
		for _, r := range list {
			c, ok := edit(r, r.selectAmong(f.list))
			if !ok {
				return plan{outcome: chat, say: quoteText(r.title) + " repeats, so I changed nothing. Say its name and the new times instead."}
			}
			options = append(options, option{r.showLine(), plan{outcome: act, accounted: true, calls: []call{c}}})
		}
		switch len(options) {
		case 0:
			return plan{outcome: chat, say: f.withNotes("I found no reminder for " + quoteText(said) + ", so I changed nothing.")}
		case 1:
			return options[0].plan
		}
		return choiceOf("Which reminder should I "+verb+"?", list, func(ref string) call {
			at := slices.IndexFunc(list, func(r record) bool { return r.selectAmong(list) == ref })
			c := options[max(0, at)].plan.calls[0]
			return c
		})
	}, call{"list_reminders", nil})
}

// followBefore handles "remind me an hour before" about the record that the conversation is about.
func followBefore(w *intentDraft) (plan, bool) {
	list := w.findReferents()
	lead, ok := w.parseLead(w.slotString("lead"))
	if len(list) == 1 && list[0].kind == "fact" && ok && w.noLead() { // after "my mum's birthday is on 4 May"
		subject, _, stated := strings.Cut(list[0].ref, " is ")
		named := slices.ContainsFunc(strings.Fields(strings.ToLower(subject)), func(f string) bool { return w.g.lex.containsWord("yearly-days", f) })
		if p := w.g.inDialogue(nil).planRequests("remind me "+w.slotString("lead")+" before "+subject, w.s.now, w.depth); stated && named && p.outcome != unknown {
			return p, true
		}
		return noPlan()
	}
	if !ok || len(list) != 1 || w.isQuestion() || !w.noLead() || list[0].kind != "reminder" && list[0].kind != "task" || w.recurrenceOf(list[0]) != "" {
		return noPlan()
	}
	at, clock, day := w.itemTime(list[0])
	if !day || at.Year() < w.s.now.Year() {
		return noPlan()
	}
	lead.before = true
	r := record{kind: list[0].kind, title: list[0].ref, at: at, clock: clock}
	p := w.remindAround(lead, r, list[0].ref)
	p.accounted = true
	return p, true
}

// lastDay matches a recurrence with its last day: "every day at 8 until the 14th".
var lastDay = lazyregexp.New(`(?i)^(.*(?:every|each|daily|weekdays).*) (?:until|till|til|up to|ending(?: on)?) (?:on )?(.+)$`)

// repeatUntilDay handles a recurrence that ends on a day: it offers the single reminders, or, if these are too many,
// the recurrence without an end.
func (w *intentDraft) repeatUntilDay(d textDetails, phrase string) (plan, bool) {
	m := lastDay.FindStringSubmatch(phrase)
	if m == nil {
		return noPlan()
	}
	e, err := dateparse.ParseEvery(m[1], w.s.now)
	last, late := dateparse.Parse(m[2], w.s.now)
	f := strings.Fields(e.Cron)
	if err != nil || late != nil || last.HasClock || last.Grain != dateparse.Day || e.Except != "" || len(f) != 5 || f[2] != "*" || f[3] != "*" || !strings.ContainsAny(m[1], "0123456789") {
		return noPlan()
	}
	clock, err := time.Parse("15 4", f[1]+" "+f[0])
	if err != nil {
		return noPlan()
	}
	agreed := plan{outcome: act, accounted: true}
	var first, end time.Time
	for day := startOfDay(w.s.now); !day.After(last.Time); day = day.AddDate(0, 0, 1) {
		at := atClock(day, clock)
		if !at.After(w.s.now) || !slices.Contains(weekdaysOf(f[4]), int(day.Weekday())) {
			continue
		}
		if first.IsZero() {
			first = at
		}
		end = at
		if agreed.calls = append(agreed.calls, call{"create_reminder", argsOf("text", d.text, "at", at.Format(time.RFC3339))}); len(agreed.calls) > maxRepeats {
			endless := plan{outcome: act, accounted: true, calls: []call{{"create_reminder", argsOf("text", d.text, "every", e.Cron)}}}
			return planConfirmation("A reminder repeats until you cancel it, and I can set at most "+strconv.Itoa(maxRepeats)+" single ones. Should I remind you "+
				dateparse.DescribeEvery(e)+" of "+quoteText(d.text)+" without an end?", endless), true
		}
	}
	if len(agreed.calls) == 0 {
		return noPlan()
	}
	return planConfirmation(fmt.Sprintf("That is %d reminders of %s, the first %s, the last %s. Should I set them?", len(agreed.calls), quoteText(d.text),
		dateparse.Format(first, w.s.now), dateparse.Format(end, w.s.now)), agreed), true
}

// shortRule matches "every 45 minutes until 5pm" and "every 20 minutes for the next two hours".
var shortRule = lazyregexp.New(`(?i)^every (.*?(?:minutes?|mins?|hours?|half hour)) (until|till|til|for) (?:the next )?(.+)$`)

// maxRepeats is the maximum number of reminders that one sentence sets.
const maxRepeats = 24

// repeatUntil handles a recurrence that ends today: it offers the single reminders.
func (w *intentDraft) repeatUntil(d textDetails) (plan, bool) {
	phrase := ""
	for _, sp := range d.times {
		phrase += " " + sp.originalPhrase()
	}
	m := shortRule.FindStringSubmatch(strings.TrimSpace(phrase))
	if m == nil && w.depth == 0 && !w.g.isUnspecific(d.text) {
		return w.repeatUntilDay(d, strings.TrimSpace(phrase))
	}
	if m == nil || w.g.isUnspecific(d.text) || w.depth > 0 {
		return noPlan()
	}
	every := strings.ToLower(m[1])
	switch every {
	case "half hour":
		every = "half an hour"
	case "hour":
		every = "an hour"
	}
	step, ok := w.durationOf(every)
	end := w.s.now
	if by, timed := w.durationOf(m[3]); strings.EqualFold(m[2], "for") && timed {
		end = end.Add(by)
	} else if t, err := dateparse.Parse("at "+m[3], w.s.now); err == nil && t.HasClock {
		end = t.Time
	}
	if !ok || step < 5*time.Minute || !end.After(w.s.now.Add(step)) || end.Sub(w.s.now) > 24*time.Hour {
		return noPlan()
	}
	agreed := plan{outcome: act, accounted: true}
	for at := w.s.now.Truncate(time.Minute).Add(step); !at.After(end) && len(agreed.calls) <= maxRepeats; at = at.Add(step) {
		agreed.calls = append(agreed.calls, call{"create_reminder", argsOf("text", d.text, "at", at.Format(time.RFC3339))})
	}
	if len(agreed.calls) > maxRepeats {
		return noPlan()
	}
	n := len(agreed.calls)
	last := w.s.now.Truncate(time.Minute).Add(time.Duration(n) * step)
	return planConfirmation(fmt.Sprintf("That is %d reminders of %s, the first %s, the last %s. Should I set them?", n, quoteText(d.text),
		dateparse.Format(w.s.now.Truncate(time.Minute).Add(step), w.s.now), dateparse.Format(last, w.s.now)), agreed), true
}

// objectOf returns what to remind of as the end of a request: " to call mum", " about the dentist".
func (w *intentDraft) objectOf(text string) string {
	first, tail, _ := strings.Cut(text, " ")
	switch first = strings.ToLower(first); {
	case w.g.lex.containsWord("owned-starts", first):
		return " about " + text
	case first == "for" || first == "about" || first == "of":
		return " about " + tail
	}
	return " to " + text
}
