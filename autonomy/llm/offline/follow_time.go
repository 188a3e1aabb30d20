package offline

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
)

// itemTime returns the time of a record, from the call that created or changed it, its result, or the line
// that showed the record: "- the meeting with legal (tomorrow at 11:00)".
// clock is false for a day without a time of day, and day is false for a time of day on an unknown day.
func (w *intentDraft) itemTime(it item) (at time.Time, clock, day bool) {
	if it.made == nil {
		_, shown, _ := strings.Cut(it.line, "(")
		shown, _, _ = strings.Cut(shown, ")")
		at, clock, day = dateparse.ParseFormatted(strings.TrimPrefix(shown, "due "), w.s.now)
		return at, clock && day, day
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
	if at, clock, ok := dateparse.ParseFormatted(strings.SplitN(shown, ": ", 2)[0], w.s.now); ok {
		return at, clock, true
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

// followHour handles "move it to 3" and "no, 6": an hour without "at". It is in the half of the day that
// is closer to the time of the record.
func followHour(w *intentDraft) (plan, bool) {
	hour, ok := w.numberOf("number")
	if !ok || hour < 1 || hour > 24 || hour != math.Trunc(hour) || !w.noLead() || w.isQuestion() {
		return noPlan()
	}
	return w.changeEach(func(it item) (plan, bool) {
		if it.kind != "reminder" && it.kind != "task" {
			return noPlan()
		}
		old, clock, day := w.itemTime(it)
		if said := w.hasSlot("plain") || w.hasSlot("oops"); said && (!clock || strings.ContainsAny(it.ref, "0123456789")) {
			return noPlan() // "make it 2" may mean a number of things
		}
		if !clock {
			return w.moveToPhrase(it, "at "+strconv.Itoa(int(hour)))
		}
		next := nearestHour(old, int(hour))
		if day && !atClock(old, next).After(w.s.now) && next.Hour() < 12 {
			next = next.Add(12 * time.Hour)
		}
		return w.moveToPhrase(it, "at "+next.Format("3:04pm"))
	})
}

// nearestHour returns the time of day with the given hour that is closest to old. Of two that are
// equally close, it returns the later one.
func nearestHour(old time.Time, hour int) time.Time {
	at := time.Date(2000, 1, 1, hour, 0, 0, 0, time.UTC)
	if hour >= 12 {
		return at
	}
	if later := hour + 12; math.Abs(float64(later*60-old.Hour()*60-old.Minute())) <= math.Abs(float64(hour*60-old.Hour()*60-old.Minute())) {
		return at.Add(12 * time.Hour)
	}
	return at
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

// meaningIn returns the meaning of a slot in a list, "" if it has none.
func (w *intentDraft) meaningIn(list, slot string) string {
	m, _ := w.g.lex.meaningOf(list, w.slotNorm(slot))
	return m
}

// followExcept handles "not on sundays though": it removes days of the week from a recurrence.
func followExcept(w *intentDraft) (plan, bool) {
	c, _ := w.captureOf("time")
	if c.span == nil || !w.noLead() || w.isQuestion() {
		return noPlan()
	}
	t, err := readMatch(c.span.match, w.s.now)
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
		return planReply("None: " + quoteText(list[0].ref) + " was at " + dateparse.Format(at, w.s.now) + ".")
	case left < time.Minute:
		return planReply("Less than a minute: " + quoteText(list[0].ref) + " is at " + at.Format("15:04") + ".")
	}
	return planReply(lengthInWords(left) + ": " + quoteText(list[0].ref) + " is " + dateparse.Format(at, w.s.now) + ".")
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

// shiftedBy returns the call that moves a record by a duration. It needs a time, and a time of day for less
// than a day.
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

// replaceSame replaces "the same time" and "the same day" by those of the record that the conversation is
// about, or of the one that the open question offers.
func (g *grammar) replaceSame(q *question, text string, now time.Time) string {
	found := ""
	for phrase := range g.lex.lists["same-times"] {
		if i := strings.Index(" "+strings.ToLower(text)+" ", " "+phrase+" "); i >= 0 && len(phrase) > len(found) && len(strings.ToLower(text)) == len(text) {
			found = phrase
		}
	}
	if found == "" || g.talk == nil {
		return text
	}
	w := intentDraft{g: g, interpretation: interpretation{s: g.parseSentence(text, now)}}
	it, ok := g.talk.focusItem()
	if q != nil && q.agree != nil && len(q.agree.calls) == 1 {
		c := q.agree.calls[0]
		it, ok = item{made: &pastCall{tool: c.name, args: c.args}}, true
	}
	at, clock, day := w.itemTime(it)
	with := "at " + at.Format("15:04")
	if g.lex.lists["same-times"][found] == "day" {
		with, clock = "on "+at.Format("2 January 2006"), day
	}
	if !ok || !clock {
		return text
	}
	i := strings.Index(" "+strings.ToLower(text)+" ", " "+found+" ")
	return text[:i] + with + text[i+len(found):]
}

func followWhen(w *intentDraft) (plan, bool) {
	c, _ := w.captureOf("time")
	if c.span == nil || !w.noLead() || w.isQuestion() || w.beginsWithAnd() && !w.hasSlot("ref") {
		return noPlan()
	}
	t, err := readMatch(c.span.match, w.s.now)
	if err != nil || t.vague || t.none {
		return noPlan()
	}
	return w.changeEach(func(it item) (plan, bool) { return w.moveItem(it, t) })
}

// moveItem returns the plan that moves a record to t. A time of day alone keeps the day, and a day
// alone keeps the time of day.
func (w *intentDraft) moveItem(it item, t timing) (plan, bool) {
	onlyClock := t.clock && !t.part && w.isClockOnly(t)
	switch it.kind {
	case "reminder":
		if every := w.recurrenceOf(it); every != "" || t.every != "" {
			next, ok := mergeRecurrence(every, t)
			if !ok {
				return planQuestion("That reminder repeats. How often should I remind you, and at what time?", w.timeAnswer(func(when string) string { return "remind me " + when + " to " + it.ref }))
			}
			return planCall("update_reminder", argsOf("reminder", it.ref, "every", next))
		}
		at := t.dueDate()
		if onlyClock {
			at = w.nearestClock(t, it).Format("15:04")
		}
		return planCall("update_reminder", argsOf("reminder", it.ref, "at", at))
	case "task":
		if t.every != "" {
			return noPlan()
		}
		due := t.dueDate()
		if old, clock, _ := w.itemTime(it); clock && !t.clock { // a day alone keeps the time of day
			due = atClock(t.at, old).Format(time.RFC3339)
		}
		if it.made != nil && onlyClock {
			if day, err := time.ParseInLocation(time.DateOnly, firstTen(it.made.stringArg("due")), w.s.now.Location()); err == nil {
				due = time.Date(day.Year(), day.Month(), day.Day(), t.at.Hour(), t.at.Minute(), 0, 0, w.s.now.Location()).Format(time.RFC3339)
			}
		}
		return planCall("update_task", argsOf("task", it.ref, "due", due))
	case "expense", "habit":
		if t.every != "" || onlyClock {
			return noPlan()
		}
		day, err := w.pastDay(w.s.timesInside(0, len(w.s.tokens)))
		if err != nil {
			return noPlan()
		}
		return w.redoLast(it, argsOf("date", day))
	}
	return noPlan()
}

// nearestClock returns the time of day to which a record is moved. Without am or pm, it is in the half
// of the day that is nearer to the time so far: "no, 6:30" moves 7:00 to 6:30, and 17:00 to 18:30.
func (w *intentDraft) nearestClock(t timing, it item) time.Time {
	old, known, onDay := w.itemTime(it)
	today := onDay && old.Format(time.DateOnly) <= w.s.now.Format(time.DateOnly)
	clock := t.at
	if !today {
		clock = w.literalClock(t) // on another day, the time of day may be earlier than now
	}
	if !known || hasHalfOfDay.MatchString(t.phrase) {
		return clock
	}
	other := clock.Add(12 * time.Hour)
	minutes := func(at time.Time) int { return at.Hour()*60 + at.Minute() }
	distance := func(at time.Time) int { return max(minutes(at)-minutes(old), minutes(old)-minutes(at)) }
	isPast := today && minutes(other) <= minutes(w.s.now)
	if distance(other) < distance(clock) && !isPast {
		return other
	}
	return clock
}

// hasHalfOfDay matches times of day that can mean only one half of the day.
var hasHalfOfDay = lazyregexp.New(`(?i)[ap]\.?m\b|noon|midnight|morning|afternoon|evening|night|\b(0\d|1[3-9]|2\d)(:|h|\b)`)

// literalClock returns the time of day of a phrase on a later day.
func (w *intentDraft) literalClock(t timing) time.Time {
	if m, err := dateparse.Parse("1 January 2099 at "+t.phrase, w.s.now); err == nil {
		return m.Time
	}
	return t.at
}

func firstTen(s string) string { return s[:min(10, len(s))] }

// recurrenceOf returns the recurrence of a reminder that this conversation created.
func (w *intentDraft) recurrenceOf(it item) string {
	if it.made == nil {
		return ""
	}
	return it.made.stringArg("every")
}

// isClockOnly reports whether the phrase names a time of day without a day.
func (w *intentDraft) isClockOnly(t timing) bool {
	onDay := func(day string) bool {
		m, err := dateparse.Parse(day+" at "+t.phrase, w.s.now)
		return err == nil && m.HasClock
	}
	if onDay("1 January 2030") && onDay("2 February 2031") && !strings.HasPrefix(strings.ToLower(t.phrase), "in ") {
		return true
	}
	return strings.Contains(strings.ToLower(t.phrase), "noon") || strings.Contains(strings.ToLower(t.phrase), "midnight")
}

// mergeRecurrence combines a recurrence with new days or a new time of day.
func mergeRecurrence(old string, t timing) (string, bool) {
	was, now := strings.Fields(old), strings.Fields(t.every)
	switch {
	case t.every != "" && (old == "" || strings.ContainsAny(t.phrase, "0123456789") || strings.Contains(t.phrase, "morning") || strings.Contains(t.phrase, "evening")):
		return t.every, true
	case len(was) != 5:
		return "", false
	case len(now) == 5:
		return strings.Join(append(slices.Clone(was[:2]), now[2:]...), " "), true
	case t.every == "" && t.clock:
		return strings.Join(append([]string{strconv.Itoa(t.at.Minute()), strconv.Itoa(t.at.Hour())}, was[2:]...), " "), true
	case t.every == "":
		return strings.Join([]string{was[0], was[1], "*", "*", strconv.Itoa(int(t.at.Weekday()))}, " "), was[4] != "*"
	}
	return "", false
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
