package offline

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

func accountBuilders() map[string]builder {
	return map[string]builder{
		"contact.find":  findContact,
		"calendar.day":  calendarOf,
		"calendar.slot": findSlot,
		"calendar.meet": arrangeMeeting,
		"event.add":     addEvent,
		"event.move":    moveEvent,
		"event.delete":  deleteEvent,
	}
}

// findContact handles requests for contact data, such as "Anna's phone number" or "the address of
// my brother".
func findContact(w *intentDraft) (plan, bool) {
	who := bareName(w.slotString("who") + w.slotString("few_who"))
	for _, s := range []string{"'s", "\u2019s", "'", "\u2019"} {
		who = strings.TrimSuffix(who, s)
	}
	switch strings.ToLower(who) {
	case "", "my", "your", "our", "the", "me", "you", "him", "her", "them", "his", "their", "its", "it", "this", "that":
		return noPlan()
	}
	if w.g.isUnspecific(who) || w.hasSlot("few_who") && isDescriptive(who) {
		return noPlan()
	}
	find := call{"search_contacts", argsOf("query", who)}
	if w.hasSlot("few_who") && w.hasKeyword("what") { // the user may also have told Hob this, so recall comes first
		about := bareName(strings.TrimRight(w.s.originalText(0, len(w.s.tokens)), " .!?"))
		for _, head := range []string{"what is ", "what's ", "what\u2019s "} {
			if len(about) > len(head) && strings.EqualFold(about[:len(head)], head) {
				about = about[len(head):]
			}
		}
		q := w.factQuestionOf()
		return planLookup(func(results []done) plan { return w.answerContact(q, results) }, call{"recall", argsOf("query", about)}, find)
	}
	return plan{outcome: act, calls: []call{find}}, true
}

// isDescriptive reports whether a word before "mail" or "phone" describes it instead of naming a
// person.
func isDescriptive(who string) bool {
	for _, head := range []string{"my ", "the ", "a ", "an ", "any "} {
		who = strings.TrimPrefix(strings.ToLower(who), head)
	}
	return slices.Contains(strings.Fields("today yesterday tonight monday tuesday wednesday thursday friday saturday sunday work private personal last latest newest recent first next new old unread other another better second own any some a an every each all"), who)
}

func calendarOf(w *intentDraft) (plan, bool) {
	t, err := w.joinTimes(w.allSpans())
	var args map[string]any
	switch {
	case err != nil || t.every != "":
		return noPlan()
	case t.none:
	case t.vague:
		args = argsOf("days_ahead", 7)
	case !sameDay(t.at, w.s.now):
		args = argsOf("date", t.at.Format(time.DateOnly))
	}
	p, ranged := w.rangeOf(w.allSpans())
	if ranged && !t.none && p.To.Sub(p.From) < 20*time.Hour {
		args = argsOf("date", p.From.Format(time.DateOnly))
	}
	return planLookup(func(results []done) plan {
		switch d := results[0]; {
		case d.result == nil:
			return plan{outcome: chat, say: w.g.replyText("no-result", "{tool}", d.name)}
		case !d.result.Error && ranged && p.To.Sub(p.From) < 20*time.Hour: // "between 9 and 10"
			f := readRecords(results, w.s.now)
			if f.list = f.recordsWithin(p); len(f.list) == 0 {
				return plan{outcome: chat, say: f.withNotes("Nothing is in your calendar " + whenPhrase(p) + ".")}
			}
			return plan{outcome: chat, say: f.withNotes("In your calendar " + whenPhrase(p) + ":" + listRecords(f.list))}
		case !d.result.Error:
			return plan{outcome: chat, say: formatSuccess(d, plan{})}
		case !ranged || !isUnconnected(d):
			return plan{outcome: chat, say: formatFailure(d.result.Text)}
		}
		return w.listWithoutCalendar(p)
	}, call{"read_calendar", args})
}

// listWithoutCalendar lists what reminders and tasks plan in a range, because no calendar is connected.
func (w *intentDraft) listWithoutCalendar(p dateparse.Period) plan {
	const lead = "No calendar is connected, so I looked at your reminders and tasks. "
	list, _ := w.listRange(p, lead+"Nothing is planned "+whenPhrase(p)+".")
	list.calls = list.calls[:2]
	say := list.next
	list.next = func(results []done) plan {
		out := say(results)
		out.say = lead + strings.TrimPrefix(out.say, lead)
		return out
	}
	return list
}

// isUnconnected reports whether a calendar could not be read because no account has a calendar.
func isUnconnected(d done) bool {
	_, why := withoutCode(strings.TrimSpace(d.result.Text))
	return strings.HasPrefix(why, "no account has calendars")
}

// addEvent adds a calendar event. It lasts one hour if a time of day is given, otherwise the whole
// day.
func addEvent(w *intentDraft) (plan, bool) {
	d := w.slotDetails("text", nil)
	d.times = append(w.allSpans(), d.times...)
	title := strings.Trim(strings.TrimSpace(d.text), ".,:;")
	if w.g.isUnspecific(title) {
		return noPlan()
	}
	if noun := w.slotNorm("kind"); w.g.lex.containsWord("prepositions", strings.ToLower(firstField(title))) || strings.HasPrefix(strings.ToLower(title), "with ") { // "an appointment with the vet"
		title = noun + " " + title
	}
	if w.g.lex.containsWord("articles", strings.ToLower(firstField(title))) {
		title = bareName(title)
	}
	again := func(when string) string { return "put " + title + " " + when + " in my calendar" }
	if p, ok := w.hoursOf(d.times); ok { // "between 9 and 12"
		return planCall("create_calendar_event", argsOf("title", upperFirst(title), "start", p.From.Format(time.RFC3339), "end", p.To.Format(time.RFC3339)))
	}
	t, err := w.joinTimes(d.times)
	switch {
	case err != nil:
		return w.askTime(err, "When is it?", again)
	case t.every != "":
		return noPlan()
	case t.none, t.vague:
		return planQuestion("When is it?", w.timeAnswer(again))
	}
	start := t.at.Format(time.DateOnly)
	if t.clock {
		start = t.rfc3339()
	}
	return planCall("create_calendar_event", argsOf("title", upperFirst(title), "start", start))
}

// meetingArgs returns the people and the length of a meeting in a sentence, and its times. "on Friday for an hour" is one
// time, which pieces of a pattern may overlap.
func (w *intentDraft) meetingArgs(length string) (args map[string]any, times []*span, ok bool) {
	args, times = map[string]any{}, w.allSpans()
	said := w.slotString("few_length")
	c, named := w.captureOf("who")
	for k := range w.s.spans {
		sp := &w.s.spans[k]
		if !named || sp.from >= c.to || sp.to <= c.from {
			continue
		}
		day, rest, split := strings.Cut(sp.originalPhrase(), " for ")
		if !split || sp.from <= c.from || said != "" && !strings.HasSuffix(rest, said) {
			return nil, nil, false
		}
		said, c.to, times = rest, sp.from, w.g.parseSentence(day, w.s.now).allTimes()
	}
	if said != "" {
		by, ok := w.durationOf(strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(said), "'s"), "’s"))
		if !ok || by < time.Minute || by > 12*time.Hour {
			return nil, nil, false
		}
		args[length] = int(by.Minutes())
	}
	if !named {
		return args, times, true
	}
	who := parseAddressees(strings.TrimSuffix(strings.TrimSuffix(w.s.originalText(c.from, c.to), " on"), " at"))
	args["attendees"] = who
	return args, times, len(who) > 0 && !slices.ContainsFunc(who, func(x any) bool { return w.g.isUnspecific(x.(string)) || len(strings.Fields(x.(string))) > 3 })
}

// meetingDays adds the days on which a meeting may take place to the arguments of find_free_time. It returns false
// if the times name a part of a day, because the tool searches whole days.
func (w *intentDraft) meetingDays(args map[string]any, times []*span) (dateparse.Period, bool) {
	p, ok := w.rangeOf(times)
	if len(times) == 0 {
		return p, ok
	}
	if !ok || p.To.Sub(p.From) < 20*time.Hour {
		return p, false
	}
	args["date"] = p.From.Format(time.DateOnly)
	args["days_ahead"] = min(max(int(p.To.Sub(p.From).Hours()/24+0.5), 1), maxAhead)
	return p, true
}

// findSlot handles "find a free slot of 30 minutes with Anna next week".
func findSlot(w *intentDraft) (plan, bool) {
	args, times, ok := w.meetingArgs("min_duration_minutes")
	if !ok {
		return noPlan()
	}
	p, ok := w.meetingDays(args, times)
	if !ok {
		return noPlan()
	}
	return planLookup(func(results []done) plan {
		switch d := results[0]; {
		case d.result == nil:
			return plan{outcome: chat, say: w.g.replyText("no-result", "{tool}", d.name)}
		case d.result.Error && isUnconnected(d) && !w.hasSlot("who"):
			return w.listWithoutCalendar(p)
		case d.result.Error:
			return plan{outcome: chat, say: formatFailure(d.result.Text)}
		default:
			return plan{outcome: chat, say: formatSuccess(d, plan{})}
		}
	}, call{"find_free_time", args})
}

// arrangeMeeting handles "arrange a meeting with Anna and Tom on Friday for an hour". A meeting at a given time is an
// event.
func arrangeMeeting(w *intentDraft) (plan, bool) {
	args, times, ok := w.meetingArgs("duration_minutes")
	t, err := w.joinTimes(times)
	if _, hours := w.hoursOf(times); !ok || err != nil || t.every != "" || t.clock || hours || w.isQuestion() {
		return noPlan()
	}
	kind := w.slotNorm("kind")
	if args["duration_minutes"] == nil {
		said := strings.TrimRight(strings.TrimSpace(w.s.text), ".! ")
		return planQuestion("How long is the "+kind+"?", func(answer string) (string, bool) {
			length := strings.TrimPrefix(strings.Trim(strings.ToLower(answer), " .!"), "for ")
			_, ok := w.durationOf(length)
			return said + " for " + length, ok
		})
	}
	if t.vague || len(times) > 0 && severalDays(times[0].match.Period) {
		args["min_duration_minutes"] = args["duration_minutes"]
		delete(args, "duration_minutes")
		if _, ok := w.meetingDays(args, times); !ok {
			return noPlan()
		}
		out, _ := planCall("find_free_time", args)
		out.say = "Say “arrange a " + kind + " with ... on ...” with the day that you want."
		return out, true
	}
	var names []string
	for _, x := range args["attendees"].([]any) {
		names = append(names, x.(string))
	}
	args["title"] = upperFirst(kind) + " with " + strings.Join(names, " and ")
	if !t.none {
		args["preferred_time"] = t.at.Format(time.DateOnly)
	}
	return planCall("schedule_meeting", args)
}

func moveEvent(w *intentDraft) (plan, bool) {
	what := thingName(bareName(w.slotString("text")), "meeting", "appointment", "event")
	t, err := w.joinTimes(w.allSpans())
	if w.g.isUnspecific(what) || err != nil || t.none || t.every != "" || t.vague || !w.noLead() || strings.ContainsAny(what, "/.") {
		return noPlan()
	}
	start := t.at.Format(time.DateOnly) + " " + t.at.Format("15:04")
	if !t.clock {
		return planQuestion("At what time?", w.clockAnswer(t, func(when string) string { return "move " + what + " to " + when }))
	}
	if words := strings.Fields(t.phrase); len(words) == 1 || len(words) == 2 && (words[0] == "at" || words[1] == "pm" || words[1] == "am") {
		start = t.at.Format("15:04") // the event keeps its day
	}
	return planCall("update_calendar_event", argsOf("event", what, "start", start))
}

func deleteEvent(w *intentDraft) (plan, bool) {
	d := w.slotDetails("text", nil)
	what := thingName(bareName(d.text), "meeting", "appointment", "event")
	if w.g.isUnspecific(what) {
		return noPlan()
	}
	if first := strings.ToLower(firstField(d.text)); first == "all" || first == "every" || first == "everything" {
		return planQuestion("I delete calendar events one at a time, so I changed nothing. Which event should I delete?", fillBetween("delete the event", ""))
	}
	t, err := w.joinTimes(d.times)
	if err != nil || t.every != "" || t.vague {
		return noPlan()
	}
	args := argsOf("event", what)
	if !t.none {
		args["on"] = t.at.Format(time.DateOnly)
	}
	return planCall("delete_calendar_event", args)
}
