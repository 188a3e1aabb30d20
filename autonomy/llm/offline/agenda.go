package offline

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

func agendaBuilders() map[string]builder {
	return map[string]builder{
		"agenda":          showAgenda,
		"calendar.next":   nextRecord,
		"calendar.free":   freeAt,
		"calendar.with":   func(w *intentDraft) (plan, bool) { return w.whenIs(w.slotString("who"), nil) },
		"calendar.when":   whenIsRecord,
		"follow.ask_when": followAskWhen,
		"day.did":         whatIDid,
		"day.hobdid":      whatHobDid,
	}
}

// rangeOf returns the range of a time: an hour for a time of day, otherwise its period or its day.
func (w *intentDraft) rangeOf(spans []*span) (dateparse.Period, bool) {
	if len(spans) == 0 {
		day := startOfDay(w.s.now)
		return dateparse.Period{From: day, To: day.AddDate(0, 0, 1), Text: "today"}, true
	}
	t, err := w.joinTimes(spans)
	if err != nil || t.every != "" {
		return dateparse.Period{}, false
	}
	p := spans[len(spans)-1].match.Period
	switch {
	case t.clock && !t.part:
		return dateparse.Period{From: t.at, To: t.at.Add(time.Hour), Text: dateparse.Format(t.at, w.s.now)}, true
	case len(spans) == 1 && p != nil && !p.From.IsZero() && !p.To.IsZero():
		return dateparse.Period{From: p.From, To: p.To, Text: t.phrase}, true
	case t.vague, t.part:
		q, err := dateparse.ParsePeriod(t.phrase, w.s.now)
		q.Text = t.phrase
		return q, err == nil && !q.From.IsZero() && !q.To.IsZero()
	}
	day := startOfDay(t.at)
	return dateparse.Period{From: day, To: day.AddDate(0, 0, 1), Text: dateparse.FormatDay(day, w.s.now)}, true
}

// isOneDay reports whether a range is a whole day.
func isOneDay(p dateparse.Period) bool {
	return p.From.Equal(startOfDay(p.From)) && p.To.Equal(p.From.AddDate(0, 0, 1))
}

// readRange returns the calls that list what is planned in a range.
func readRange(p dateparse.Period) []call {
	days := int(p.To.Add(-time.Second).Sub(startOfDay(p.From)).Hours()/24) + 1
	return []call{
		{"list_reminders", nil},
		{"list_tasks", nil},
		{"read_calendar", map[string]any{"date": p.From.Format(time.DateOnly), "days_ahead": min(max(days, 1), maxAhead)}},
	}
}

// recordsWithin returns the records in a range. A day without a time of day counts if the range is at
// least a day.
func (f foundRecords) recordsWithin(p dateparse.Period) (out []record) {
	whole := p.To.Sub(p.From) > 20*time.Hour
	for _, r := range f.list {
		switch {
		case r.at.IsZero(), !r.clock && !whole:
		case !r.end.IsZero() && r.at.Before(p.To) && r.end.After(p.From), !r.at.Before(p.From) && r.at.Before(p.To):
			out = append(out, r)
		}
	}
	return out
}

// showAgenda handles "what am I doing on Friday afternoon?". For a whole day, the answer is a
// briefing.
func showAgenda(w *intentDraft) (plan, bool) {
	p, ok := w.rangeOf(w.allSpans())
	if !ok || w.hasWord("due") { // "anything due today?" asks for tasks
		return noPlan()
	}
	if isOneDay(p) {
		return w.briefDay(p.From)
	}
	return w.listRange(p, "Nothing is planned "+whenPhrase(p)+".")
}

// listRange plans the list of what is planned in a range.
func (w *intentDraft) listRange(p dateparse.Period, nothing string) (plan, bool) {
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		list := f.recordsWithin(p)
		say := nothing
		told := w.toldAbout(p)
		if told != "" {
			say = "Nothing is planned " + whenPhrase(p) + "."
		}
		if len(list) > 0 {
			say = "Planned " + whenPhrase(p) + ":" + listRecords(list)
		}
		return plan{outcome: chat, say: f.withNotes(say + f.withoutClock(p) + told)}
	}, readRange(p)...)
}

// withoutClock lists the records of the days of a range of hours that have no time of day: they may be due in it.
func (f foundRecords) withoutClock(p dateparse.Period) string {
	if p.To.Sub(p.From) > 20*time.Hour {
		return ""
	}
	list := slices.DeleteFunc(slices.Clone(f.list), func(r record) bool {
		return r.clock || r.at.Before(startOfDay(p.From)) || !r.at.Before(p.To)
	})
	if len(list) == 0 {
		return ""
	}
	return "\nOn that day, without a time:" + listRecords(list)
}

// whenPhrase returns the words of a range in a sentence.
func whenPhrase(p dateparse.Period) string {
	first, _, _ := strings.Cut(strings.ToLower(p.Text), " ")
	if len(first) == 3 && strings.Contains("mon tue wed thu fri sat sun", first) || strings.HasSuffix(first, "day") && first != "today" {
		return "on " + p.Text
	}
	if first == "the" { // "for the weekend"
		return "at " + p.Text
	}
	return p.Text
}

// listRecords formats records as a list in the format of the tools, so that the user can then refer
// to them with "it".
func listRecords(list []record) string {
	var b strings.Builder
	for _, r := range list {
		b.WriteString("\n- " + r.showLine())
	}
	return b.String()
}

// withNotes adds a note about the data that could not be read to an answer.
func (f foundRecords) withNotes(say string) string {
	if note := f.unreadText(); note != "" {
		return say + "\n\n" + note
	}
	return say
}

// freeAt handles questions about whether the user is free.
func freeAt(w *intentDraft) (plan, bool) {
	p, ok := w.rangeOf(w.allSpans())
	if !ok || len(w.allSpans()) == 0 {
		return noPlan()
	}
	if p.To.Sub(p.From) > time.Hour {
		yes := "Yes, you are free "
		if w.slotNorm("free") == "busy" || w.slotNorm("free") == "booked" {
			yes = "No, you are free "
		}
		return w.listRange(p, yes+whenPhrase(p)+": nothing is planned.")
	}
	day := startOfDay(p.From)
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		untimed := f.withoutClock(p)
		f.list = slices.DeleteFunc(f.list, func(r record) bool { return !r.clock })
		var busy []record
		for _, r := range f.recordsWithin(p) {
			if r.kind != "event" || !r.at.After(p.From) { // an event that begins later leaves the time free until then
				busy = append(busy, r)
			}
		}
		if len(busy) > 0 {
			return plan{outcome: chat, say: f.withNotes("No, " + p.Text + " is taken:" + listRecords(busy))}
		}
		say := "Yes, " + p.Text + " is free."
		if later := f.recordsWithin(dateparse.Period{From: p.From, To: day.AddDate(0, 0, 1)}); len(later) > 0 {
			say += " Next: " + later[0].showLine() + "."
		}
		return plan{outcome: chat, say: f.withNotes(say + untimed + w.toldAbout(dateparse.Period{From: day, To: day.AddDate(0, 0, 1)}))}
	}, readRange(dateparse.Period{From: day, To: day.AddDate(0, 0, 1)})...)
}

// followAskWhen handles "what time will that be?" about the record that the conversation is about.
func followAskWhen(w *intentDraft) (plan, bool) {
	if list := w.g.talk.openList(); list != "" && w.hasKeyword("read") && w.slotNorm("ref") == "it" {
		return w.planList(list)
	}
	items := w.findReferents()
	if len(items) > 1 && (w.hasKeyword("show") || w.hasKeyword("read") || w.hasKeyword("list") || w.hasKeyword("repeat")) {
		return w.showItems(items)
	}
	if len(items) != 1 {
		return noPlan()
	}
	it := items[0]
	list := map[string]string{"reminder": "list_reminders", "task": "list_tasks"}[it.kind]
	if list == "" {
		return noPlan()
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		found := w.g.matchRecords(f.list, it.bareRef(), true)
		if same := slices.DeleteFunc(slices.Clone(found), func(r record) bool { return !strings.EqualFold(r.title, it.bareRef()) }); len(same) > 0 {
			found = same
		}
		if one := slices.DeleteFunc(slices.Clone(found), func(r record) bool { return r.when != it.shownTime() }); len(one) > 0 { // of the same name
			found = one
		}
		switch {
		case len(found) > 1:
			return plan{outcome: chat, say: "I found:" + listRecords(found)}
		case len(found) == 1 && found[0].at.IsZero():
			return plan{outcome: chat, say: upperFirst(found[0].showLine()) + " has no date."}
		case len(found) == 1:
			return plan{outcome: chat, say: upperFirst(found[0].showLine()) + "."}
		}
		return plan{outcome: chat, say: f.withNotes("I found no open " + it.kind + " " + quoteText(it.bareRef()) + ".")}
	}, call{list, nil})
}

// showItems shows several records of the conversation: "read them back".
func (w *intentDraft) showItems(items []item) (plan, bool) {
	if slices.ContainsFunc(items, func(it item) bool { return it.kind != "reminder" && it.kind != "task" }) {
		return noPlan()
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		f.list = slices.DeleteFunc(f.list, func(r record) bool {
			return !slices.ContainsFunc(items, func(it item) bool {
				return it.kind == r.kind && strings.EqualFold(bareName(it.bareRef()), bareName(r.title))
			})
		})
		if len(f.list) == 0 {
			return plan{outcome: chat, say: f.withNotes("None of them is open.")}
		}
		return plan{outcome: chat, say: f.withNotes(strings.TrimSpace(listRecords(f.list)))}
	}, call{"list_reminders", nil}, call{"list_tasks", nil})
}

// nextRecord handles "what is my next appointment?". Every calendar event counts as an appointment;
// a reminder counts only if its text says so.
func nextRecord(w *intentDraft) (plan, bool) {
	if !w.noLead() || len(w.allSpans()) > 0 {
		return noPlan()
	}
	noun, calls := w.slotNorm("noun"), []call{{"list_reminders", nil}, {"read_calendar", map[string]any{"days_ahead": 31}}}
	if !w.hasSlot("noun") && (w.hasSlot("kind") && w.slotNorm("kind") != "one" || w.hasKeyword("remind") || w.hasKeyword("wake")) {
		calls = calls[:1]
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		f.list = slices.DeleteFunc(f.list, func(r record) bool { return r.at.IsZero() || !r.clock || !r.at.After(w.s.now) || r.kind == "task" })
		named := slices.DeleteFunc(slices.Clone(f.list), func(r record) bool {
			return r.kind != "event" && noun != "" && !strings.Contains(strings.ToLower(r.title), strings.TrimSuffix(noun, "s"))
		})
		switch {
		case len(named) > 0:
			return plan{outcome: chat, say: f.withNotes("Next: " + named[0].showLine() + ".")}
		case len(f.list) > 0:
			return plan{outcome: chat, say: f.withNotes("I found no " + noun + ". The next entry is: " + f.list[0].showLine() + ".")}
		}
		return plan{outcome: chat, say: f.withNotes(map[bool]string{true: "No reminder is coming up.", false: "Nothing is coming up in your calendar and reminders."}[len(calls) == 1])}
	}, calls...)
}

// whenIsRecord handles "when is the dentist?" and "how long is the review?". Memory answers if no
// record has that name.
func whenIsRecord(w *intentDraft) (plan, bool) {
	name := w.recordNameOf("text")
	words := w.g.recordWords(name)
	if !w.noLead() || len(words) == 0 || len(words) > 5 || slices.ContainsFunc(words, func(s string) bool { return w.g.lex.containsWord("memory-dates", s) }) {
		return noPlan()
	}
	ask := "when is "
	if w.hasSlot("length") {
		ask = "how long is "
	}
	var fallback plan
	for _, r := range w.g.allReadings(w.g.parseSentence(ask+name, w.s.now), false) {
		if r.intent.name == "memory.ask" {
			fallback, _ = w.g.build[r.intent.name](&intentDraft{interpretation: r, g: w.g})
			fallback.intent = r.intent
		}
	}
	return w.whenIs(name, &fallback)
}

// recordNameOf returns the name of a record in a slot.
func (w *intentDraft) recordNameOf(slot string) string {
	c, ok := w.captureOf(slot)
	if !ok || len(w.s.timesInside(c.from, c.to)) > 0 {
		return ""
	}
	name := bareName(w.recordName(c.from, c.to))
	for _, tail := range []string{" again", " exactly", " now", " then"} {
		name = strings.TrimSuffix(name, tail)
	}
	return name
}

// whenIs plans the answer to when a record is, or how long it takes.
func (w *intentDraft) whenIs(name string, fallback *plan) (plan, bool) {
	name = bareName(name)
	if w.g.isUnspecific(name) || len(w.g.recordWords(name)) == 0 {
		return noPlan()
	}
	if rest, ok := cutAnyPrefix(name, "next "); ok { // "my next yoga"
		name = rest
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		var list []record
		for _, r := range w.g.matchRecords(f.list, name, true) {
			if !r.at.IsZero() && (r.at.After(w.s.now) || r.end.After(w.s.now) || r.kind == "task" || !r.clock) {
				list = append(list, r)
			}
		}
		switch {
		case len(list) == 0 && fallback != nil && len(fallback.calls) > 0 && len(f.unread) == 0:
			return *fallback
		case len(list) == 0:
			return plan{outcome: chat, say: f.withNotes("I found no " + quoteText(name) + " with a date in your reminders, tasks and calendar.")}
		case w.hasSlot("length"):
			return plan{outcome: chat, say: f.withNotes(list[0].lengthText())}
		case len(list) == 1:
			return plan{outcome: chat, say: f.withNotes(upperFirst(list[0].showLine()) + ".")}
		}
		return plan{outcome: chat, say: f.withNotes("I found:" + listRecords(list))}
	}, w.g.lookupCalls(name)...)
}

// lengthText returns the text that states how long an event takes.
func (r record) lengthText() string {
	if r.end.IsZero() {
		return upperFirst(r.showLine()) + ". Its end is not known."
	}
	return upperFirst(r.showLine()) + " takes " + strings.TrimSuffix(strings.TrimSuffix(r.end.Sub(r.at).String(), "0s"), "0m") + ", until " + r.end.Format("15:04") + "."
}

// whatIDid handles "what did I do today?" from finished tasks, expenses and habits.
func whatIDid(w *intentDraft) (plan, bool) {
	p, ok := w.rangeOf(w.allSpans())
	if !ok || p.From.After(w.s.now) {
		return noPlan()
	}
	period, today := p.Text, isOneDay(p) && sameDay(p.From, w.s.now)
	if isOneDay(p) {
		period = p.From.Format(time.DateOnly)
	}
	calls := []call{{"list_tasks", argsOf("status", "done")}, {"spending_summary", argsOf("period", period)}}
	if today {
		calls = append(calls, call{"habit_streak", nil})
	}
	return planLookup(func(results []done) plan {
		var lines []string
		for _, d := range results {
			if d.result == nil || d.result.Error {
				continue
			}
			switch d.name {
			case "list_tasks":
				for _, line := range listLines(d.result.Text) {
					title, details := cutDetails(line)
					day, _, _ := strings.Cut(strings.TrimPrefix(details, "done "), ", ")
					if at, _, ok := dateparse.ParseFormatted(day, w.s.now); ok && !at.Before(p.From) && at.Before(p.To) {
						lines = append(lines, "finished: "+title)
					}
				}
			case "spending_summary":
				if first, _, _ := strings.Cut(d.result.Text, "\n"); strings.HasPrefix(first, "You spent ") {
					lines = append(lines, "spent: "+strings.TrimPrefix(first, "You spent "))
				}
			case "habit_streak":
				for line := range strings.Lines(d.result.Text) {
					name, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
					if ok && strings.Contains(rest, " in a row") && !strings.Contains(rest, "Not done yet today") {
						lines = append(lines, "habit: "+name)
					}
				}
			}
		}
		if len(lines) == 0 {
			return plan{outcome: chat, say: "I have no finished task, expense or habit of yours for " + p.Text + "."}
		}
		return plan{outcome: chat, say: upperFirst(p.Text) + ":\n- " + strings.Join(lines, "\n- ")}
	}, calls...)
}

// whatHobDid handles "what did you do?" from the actions of this conversation.
func whatHobDid(w *intentDraft) (plan, bool) {
	p, ok := w.rangeOf(w.allSpans())
	if !ok {
		return noPlan()
	}
	if w.hasSlot("did") {
		return w.whatChangedLast()
	}
	var lines []string
	for n := 0; ; n++ {
		x, ok := w.g.talk.exchangeAgo(n)
		if !ok {
			break
		}
		if !x.at.IsZero() && (x.at.Before(p.From) || !x.at.Before(p.To)) {
			continue
		}
		for _, act := range slices.Backward(x.acts) {
			if !act.failed && (createdKinds[act.tool][0] != "" || slices.Contains(removedKinds, act.tool)) {
				lines = append(lines, oneLine(act.text, 120))
			}
		}
	}
	if len(lines) == 0 {
		return planReply("I changed nothing in this conversation " + whenPhrase(p) + ". The command “hob audit list” shows all actions.")
	}
	slices.Reverse(lines)
	return planReply("In this conversation " + whenPhrase(p) + ":\n- " + strings.Join(lines[max(0, len(lines)-10):], "\n- "))
}

// whatChangedLast handles "what did you just delete?": the latest exchange that changed a record.
func (w *intentDraft) whatChangedLast() (plan, bool) {
	for n := range recent {
		x, _ := w.g.talk.exchangeAgo(n)
		var lines []string
		for _, act := range x.acts {
			if !act.failed && (createdKinds[act.tool][0] != "" || slices.Contains(removedKinds, act.tool)) {
				lines = append(lines, oneLine(act.text, 200))
			}
		}
		if len(lines) > 0 {
			return planReply(strings.Join(lines, "\n"))
		}
	}
	return planReply("I changed nothing in the last messages.")
}
