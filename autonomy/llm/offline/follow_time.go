package offline

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/sorting"
)

// itemTime returns the time of a record, from the call that created or changed it, its result, or the line
// that showed the record: "- the meeting with legal (tomorrow at 11:00)".
// clock is false for a day without a time of day, and day is false for a time of day on an unknown day.
func (w *intentDraft) itemTime(it item) (at time.Time, clock, day bool) {
	if it.made == nil {
		read := listedReminders
		if it.kind == "task" {
			read = listedTasks
		}
		for _, r := range read("- "+it.line, w.s.now) {
			return r.at, r.clock, !r.at.IsZero()
		}
		return time.Time{}, false, false
	}
	for _, name := range []string{"at", "due"} {
		said := it.made.stringArg(name)
		if t, err := time.Parse(time.RFC3339, said); err == nil {
			return t.In(w.s.now.Location()), true, true
		}
	}
	if f := strings.Fields(it.made.stringArg("every")); len(f) == 5 {
		if t, err := time.Parse("15 4", f[1]+" "+f[0]); err == nil {
			return t, true, false
		}
	}
	_, shown, _ := strings.Cut(it.made.text, "remind you ")
	shown, _, _ = strings.Cut(shown, ": ")
	if at, clock, ok := dateparse.ParseFormatted(shown, w.s.now); ok {
		return at, clock, true
	}
	if i := strings.LastIndex(shown, " at "); i > 0 { // "every 3 days at 08:00"
		if t, err := time.Parse("15:04", shown[i+len(" at "):min(len(shown), i+len(" at 15:04"))]); err == nil {
			return t, true, false
		}
	}
	_, shown, _ = strings.Cut(it.made.text, "due ")
	shown = shown[:max(0, strings.IndexAny(shown, ".,)"))]
	if at, clock, ok := dateparse.ParseFormatted(shown, w.s.now); ok {
		return at, clock, true
	}
	if t, err := time.Parse("15:04", it.made.stringArg("at")); err == nil {
		return t, true, false
	}
	t, err := time.ParseInLocation(time.DateOnly, firstTen(it.made.stringArg("due")), w.s.now.Location())
	return t, false, err == nil
}

// followHour handles "move it to 3" and "no, 6": an hour without "at".
func followHour(w *intentDraft) (plan, bool) {
	hour, ok := w.numberOf("number")
	if w.hasSlot("bare") && !w.s.corrects { // "5" alone is no correction, "actually 5" is one
		return noPlan()
	}
	if said := w.slotString("number"); w.noLead() && !w.isQuestion() && clockFigure.MatchString(said) { // "no make it 6.20"
		return w.changeEach(func(it item) (plan, bool) {
			if _, clock, _ := w.itemTime(it); it.kind != "reminder" && it.kind != "task" || !clock {
				return noPlan()
			}
			return w.moveToPhrase(it, "at "+said)
		})
	}
	if !ok || hour < 1 || hour > 24 || hour != math.Trunc(hour) || !w.noLead() || w.isQuestion() {
		return noPlan()
	}
	return w.changeEach(func(it item) (plan, bool) {
		if it.kind != "reminder" && it.kind != "task" {
			return noPlan()
		}
		if at, ok := w.timerWith(it, int(hour)); ok && !w.hasSlot("part") {
			return planCall("update_reminder", argsOf("reminder", it.ref, "at", at))
		}
		_, clock, _ := w.itemTime(it)
		if part := w.slotNorm("part"); part != "" { // "make it half 5"
			if !clock {
				return noPlan()
			}
			return w.moveToPhrase(it, "at "+part+" "+strconv.Itoa(int(hour)))
		}
		if said := w.hasSlot("plain") || w.hasSlot("oops") || w.hasSlot("bare"); said && (!clock || strings.ContainsAny(it.ref, "0123456789")) {
			return noPlan() // "make it 2" may mean a number instead of a time
		}
		return w.moveToPhrase(it, "at "+strconv.Itoa(int(hour)))
	})
}

// clockFigure matches a time of day that is written like a number.
var clockFigure = lazyregexp.New(`^(?:1?\d|2[0-3])\.[0-5]\d$`)

// maxHalfGap is the maximum distance in minutes between the current and the new time of a record at
// which Hob chooses the nearer half of the day without asking.
const maxHalfGap = 4 * 60

// halfOfDay returns the times of day that a time without am or pm may mean for a record at old:
// "no, 6:30" moves 7:00 to 6:30, and 17:00 to 18:30. today is true if the record is today, which
// rules out a time that has passed. It returns two times if neither is likely enough, as for 3
// after 6:00.
func (w *intentDraft) halfOfDay(hour, minute int, old time.Time, today bool) []time.Time {
	at := time.Date(2000, 1, 1, hour, minute, 0, 0, time.UTC)
	if hour == 0 || hour > 12 {
		return []time.Time{at}
	}
	minutes := func(t time.Time) int { return t.Hour()*60 + t.Minute() }
	distance := func(t time.Time) int { return max(minutes(t)-minutes(old), minutes(old)-minutes(t)) }
	isPast := func(t time.Time) bool { return today && minutes(t) <= minutes(w.s.now) }
	near, far := time.Date(2000, 1, 1, hour%12, minute, 0, 0, time.UTC), time.Date(2000, 1, 1, hour%12+12, minute, 0, 0, time.UTC)
	if distance(far) <= distance(near) {
		near, far = far, near
	}
	const night = 5
	switch {
	case isPast(near) && !isPast(far):
		return []time.Time{far}
	case distance(near) > maxHalfGap && !isPast(far), near.Hour() < night && old.Hour() >= night && !isPast(far):
		return []time.Time{near, far}
	}
	return []time.Time{near}
}

// askHalf asks which half of the day is meant. move returns the plan for one of the times.
func askHalf(times []time.Time, move func(time.Time) plan) plan {
	sorting.ByFunc(times, time.Time.Compare)
	q := question{text: "At " + times[0].Format("15:04") + " or at " + times[1].Format("15:04") + "?"}
	for _, t := range times {
		part := "morning am night"
		if t.Hour() >= 12 {
			part = "afternoon evening pm"
		}
		q.options = append(q.options, option{t.Format("15:04 3:04pm 3pm 3 ") + part, move(t)})
	}
	return plan{outcome: ask, question: &q}
}

// moveToPhrase moves a record to a time in words.
func (w *intentDraft) moveToPhrase(it item, phrase string) (plan, bool) {
	spans := w.g.parseSentence(phrase, w.s.now).spans
	if len(spans) != 1 {
		return noPlan()
	}
	t, err := readMatch(spans[0].match, w.s.now)
	if err != nil {
		return noPlan()
	}
	return w.moveItem(it, t)
}

// followMinutes handles "make it half past": the minutes change and the hour stays.
func followMinutes(w *intentDraft) (plan, bool) {
	minutes, err := strconv.Atoi(w.meaningIn("past-hours", "minutes"))
	if err != nil || !w.noLead() || w.isQuestion() {
		return noPlan()
	}
	return w.changeEach(func(it item) (plan, bool) {
		old, clock, _ := w.itemTime(it)
		if it.kind != "reminder" && it.kind != "task" || !clock {
			return noPlan()
		}
		next := old.Add(time.Duration(minutes-old.Minute()) * time.Minute)
		return w.moveToPhrase(it, "at "+next.Format("3:04pm"))
	})
}

// followHalf handles "pm obviously": the hour stays, and the half of the day changes.
func followHalf(w *intentDraft) (plan, bool) {
	if !w.noLead() && len(w.lead) == 0 || w.isQuestion() {
		return noPlan()
	}
	early := slices.Contains([]string{"am", "in the morning", "morning"}, w.slotNorm("half"))
	return w.changeEach(func(it item) (plan, bool) {
		old, clock, _ := w.itemTime(it)
		switch {
		case it.kind != "reminder" && it.kind != "task" || !clock:
			return noPlan()
		case early == (old.Hour() < 12):
			return planReply("It is already at " + old.Format("15:04") + ", so I changed nothing.")
		}
		return w.moveToPhrase(it, "at "+old.Add(12*time.Hour).Format("3:04pm"))
	})
}

// meaningIn returns the meaning of a slot in a list, "" if it has none.
func (w *intentDraft) meaningIn(list, slot string) string {
	m, _ := w.g.lex.meaningOf(list, w.slotNorm(slot))
	return m
}

// followExcept handles "not on sundays though": it removes days of the week from a recurrence.
func followExcept(w *intentDraft) (plan, bool) {
	c, _ := w.captureOf("time")
	if !w.noLead() || w.isQuestion() {
		return noPlan()
	}
	if w.hasSlot("once") {
		return w.skipOccurrences(dateparse.Period{From: w.s.now, To: w.s.now.AddDate(0, 2, 0)}, 1)
	}
	if c.span == nil {
		return noPlan()
	}
	t, err := readMatch(c.span.match, w.s.now)
	if day := strings.ToLower(t.phrase); err == nil && w.g.lex.containsWord("weekdays", day) && (w.hasKeyword("except") || w.hasKeyword("excluding") || w.hasKeyword("never")) { // "except sunday" means each Sunday
		if e, wrong := dateparse.ParseEvery("every "+day, w.s.now); wrong == nil {
			t.every = e.Cron
		}
	}
	if err == nil && t.every == "" {
		p, ok := w.rangeOf([]*span{c.span})
		if !ok || p.To.Sub(p.From) > 32*24*time.Hour {
			return noPlan()
		}
		return w.skipOccurrences(p, maxSkipped+1)
	}
	off := strings.Fields(t.every)
	if err != nil || len(off) != 5 || off[4] == "*" || off[2] != "*" {
		return noPlan()
	}
	return w.changeEach(func(it item) (plan, bool) {
		was := strings.Fields(w.recurrenceOf(it))
		if it.kind != "reminder" || len(was) != 5 {
			return noPlan()
		}
		left := slices.DeleteFunc(weekdaysOf(was[4]), func(d int) bool { return slices.Contains(weekdaysOf(off[4]), d) })
		if len(left) == 0 || was[2] != "*" || was[3] != "*" {
			return planQuestion("That would leave no day. On which days should I remind you?", nil)
		}
		days := make([]string, len(left))
		for i, d := range left {
			days[i] = strconv.Itoa(d)
		}
		return planCall("update_reminder", argsOf("reminder", it.ref, "every", strings.Join(append(was[:4], strings.Join(days, ",")), " ")))
	})
}

// maxSkipped is the maximum number of days that one message excludes from a recurrence.
const maxSkipped = 8

// skipOccurrences handles "not this week though" and "skip tomorrow": it excludes the days in a period, at
// most limit of them, from a recurrence.
func (w *intentDraft) skipOccurrences(p dateparse.Period, limit int) (plan, bool) {
	return w.changeEach(func(it item) (plan, bool) {
		cron := w.recurrenceOf(it)
		f := strings.Fields(cron)
		if it.kind != "reminder" || len(f) != 5 || f[3] != "*" || f[2] != "*" && strings.ContainsAny(f[2], ",-/L") {
			return noPlan()
		}
		var days []string
		for day := startOfDay(p.From); day.Before(p.To) && len(days) < limit; day = day.AddDate(0, 0, 1) {
			at, clock, _ := w.itemTime(it)
			due := slices.Contains(weekdaysOf(f[4]), int(day.Weekday())) && (f[2] == "*" || f[2] == strconv.Itoa(day.Day()))
			if due && (!clock || atClock(day, at).After(w.s.now)) {
				days = append(days, day.Format(time.DateOnly))
			}
		}
		switch {
		case len(days) == 0:
			return planReply("That reminder is not due then, so I changed nothing.")
		case len(days) > maxSkipped:
			return planReply("That would exclude more than " + strconv.Itoa(maxSkipped) + " days, so I changed nothing. Cancel the reminder and set it again later instead.")
		}
		every := dateparse.DescribeEvery(dateparse.Every{Cron: cron, Except: strings.Join(days, ",")})
		return planCall("update_reminder", argsOf("reminder", it.ref, "every", every))
	})
}

// weekdaysOf lists the days in the last field of a recurrence, 0 for Sunday.
func weekdaysOf(field string) (out []int) {
	if field == "*" {
		field = "0-6"
	}
	for part := range strings.SplitSeq(field, ",") {
		first, last, ok := strings.Cut(part, "-")
		if !ok {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil {
			return nil
		}
		for d := from; d <= to; d++ {
			out = append(out, d%7)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// followLeft tells how much time is left until the record that the conversation is about.
func followLeft(w *intentDraft) (plan, bool) {
	list := w.findReferents()
	if len(list) != 1 || list[0].kind != "reminder" && list[0].kind != "task" || !w.noLead() {
		return noPlan()
	}
	at, clock, day := w.itemTime(list[0])
	if !clock || !day {
		return noPlan()
	}
	left := at.Sub(w.s.now).Round(time.Minute)
	switch {
	case left < 0:
		return planReply("None: " + quoteText(list[0].bareRef()) + " was at " + dateparse.Format(at, w.s.now) + ".")
	case left < time.Minute:
		return planReply("Less than a minute: " + quoteText(list[0].bareRef()) + " is at " + at.Format("15:04") + ".")
	}
	return planReply(lengthInWords(left) + ": " + quoteText(list[0].bareRef()) + " is " + dateparse.Format(at, w.s.now) + ".")
}

// lengthInWords writes a duration of whole minutes: "1 hour and 5 minutes".
func lengthInWords(d time.Duration) string {
	var parts []string
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		n := int(d / u.size)
		d -= time.Duration(n) * u.size
		switch {
		case n == 1:
			parts = append(parts, "1 "+u.name)
		case n > 1:
			parts = append(parts, strconv.Itoa(n)+" "+u.name+"s")
		}
	}
	return strings.Join(parts, " and ")
}

// shiftRecord moves the reminder or the task that a name means by a duration.
func (w *intentDraft) shiftRecord(name string, by time.Duration, unknown plan) (plan, bool) {
	if by == 0 || w.depth > 0 {
		return unknown, true
	}
	calls := w.g.lookupCalls(name)
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		var options []option
		for _, r := range w.g.matchRecords(f.list, name, false) {
			if c, ok := r.shiftedBy(by, f.list); ok {
				options = append(options, option{r.showLine(), plan{outcome: act, accounted: true, calls: []call{c}}})
			}
		}
		switch len(options) {
		case 0:
			return unknown
		case 1:
			return options[0].plan
		}
		return planChoice(options)
	}, calls[:2]...)
}

// shiftedBy returns the call that moves a record by a duration. The record must have a date, and a
// time of day if the duration is less than a day.
func (r record) shiftedBy(by time.Duration, others []record) (call, bool) {
	switch {
	case r.at.IsZero(), r.repeats:
	case r.kind == "reminder":
		return call{"update_reminder", argsOf("reminder", r.selectAmong(others), "shift", by.String())}, true
	case r.kind == "task" && r.clock:
		return call{"update_task", argsOf("task", r.title, "due", r.at.Add(by).Format(time.RFC3339))}, true
	case r.kind == "task" && by%(24*time.Hour) == 0:
		return call{"update_task", argsOf("task", r.title, "due", r.at.Add(by).Format(time.DateOnly))}, true
	}
	return call{}, false
}

func followWhen(w *intentDraft) (plan, bool) {
	c, _ := w.captureOf("time")
	if c.span == nil || !w.noLead() || w.isQuestion() || w.beginsWithAnd() && !w.hasSlot("ref") && !w.hasKeyword("instead") {
		return noPlan()
	}
	if x, ok := w.g.talk.exchangeAgo(0); ok && len(x.acts) == 0 && c.span.match.Every == nil && !w.hasSlot("ref") && w.s.onlyTimesAnd("prepositions") && !w.beginsWith("correction-starts") {
		return noPlan() // a bare time after a message that Hob did not understand belongs to that message
	}
	t, err := readMatch(c.span.match, w.s.now)
	if err != nil || t.vague || t.none || strings.HasSuffix(t.phrase, "later") || strings.HasSuffix(t.phrase, "earlier") { // see followShift
		return noPlan()
	}
	return w.changeEach(func(it item) (plan, bool) {
		if it.kind == "task" && w.hasKeyword("remind") { // "remind me about it at 9" sets a reminder beside the task
			return w.reminderCall(textDetails{text: it.ref, times: []*span{c.span}})
		}
		p, ok := w.askWhichWeek(it, t, func(t timing) plan {
			p, _ := w.moveItem(it, t)
			p.accounted = true
			return p
		})
		if ok {
			return p, true
		}
		return w.moveItem(it, t)
	})
}

// shiftOf returns the duration in a slot.
func (w *intentDraft) shiftOf(slot string) (time.Duration, bool) {
	return w.durationOf(w.slotString(slot))
}

func (w *intentDraft) durationOf(words string) (time.Duration, bool) {
	m, err := dateparse.Parse("in "+words, w.s.now)
	if err != nil {
		return 0, false
	}
	by := m.Time.Sub(w.s.now)
	if !m.HasClock {
		by = by.Round(time.Hour)
	}
	return by, true
}

func followShift(w *intentDraft) (plan, bool) {
	words := w.slotString("shift")
	by, ok := w.shiftOf("shift")
	if n, counted := w.numberOf("number"); w.hasSlot("few_unit") { // "5 more minutes", "another hour"
		if !counted {
			n = 1
		}
		by, ok = w.durationOf(formatFigure(n, 2) + " " + w.slotNorm("few_unit"))
	}
	if !ok || !w.noLead() {
		return noPlan()
	}
	switch w.slotNorm("way") {
	case "earlier":
		by = -by
	case "forward":
		return planQuestion("Should it be "+words+" earlier, or "+words+" later?", fillBetween("move it "+words, ""))
	}
	return w.changeEach(func(it item) (plan, bool) {
		if it.kind == "reminder" && w.recurrenceOf(it) == "" {
			return planCall("update_reminder", argsOf("reminder", it.ref, "shift", by.String()))
		}
		if it.kind == "task" && it.made != nil && it.made.stringArg("due") != "" {
			if due, err := time.Parse(time.RFC3339, it.made.stringArg("due")); err == nil {
				return planCall("update_task", argsOf("task", it.ref, "due", due.Add(by).Format(time.RFC3339)))
			}
			if due, err := time.Parse(time.DateOnly, it.made.stringArg("due")); err == nil && by%(24*time.Hour) == 0 {
				return planCall("update_task", argsOf("task", it.ref, "due", due.Add(by).Format(time.DateOnly)))
			}
		}
		return planQuestion("To which day and time should I move it?", nil)
	})
}
