package offline

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
)

// askWhichWeek asks which week is meant if a record weeks ahead is moved to a day of the week: after "3 January",
// "move it to Monday" may mean the Monday after that day.
func (w *intentDraft) askWhichWeek(it item, t timing, move func(timing) plan) (plan, bool) {
	old, _, day := w.itemTime(it)
	if !day || t.every != "" || t.part || !w.g.lex.containsWord("weekdays", strings.ToLower(firstField(t.phrase))) || old.Before(t.at.AddDate(0, 0, 4)) {
		return noPlan()
	}
	near := t.at
	for near.Before(startOfDay(old).AddDate(0, 0, -3)) {
		near = near.AddDate(0, 0, 7)
	}
	q := question{text: "On " + dateparse.FormatDay(near, w.s.now) + " or on " + dateparse.FormatDay(t.at, w.s.now) + "?"}
	for _, at := range []time.Time{near, t.at} {
		moved := t
		moved.at, moved.phrase = at, at.Format("2 January 2006")
		if t.clock {
			moved.phrase += at.Format(" at 15:04")
		}
		q.options = append(q.options, option{at.Format("2 January Monday 2nd") + " " + ordinalForm(at.Day()), move(moved)})
	}
	return plan{outcome: ask, question: &q}, true
}

// moveItem returns the plan that moves a record to t. A time of day alone keeps the day, and a day
// alone keeps the time of day.
func (w *intentDraft) moveItem(it item, t timing) (plan, bool) {
	onlyClock := t.clock && !t.part && w.isClockOnly(t)
	switch it.kind {
	case "reminder":
		if every := w.recurrenceOf(it); every != "" || t.every != "" {
			if e, err := dateparse.ParseEvery(every, w.s.now); err == nil && onlyClock && e.Except != "" && len(strings.Fields(e.Cron)) == 5 {
				return w.moveToClock(it, t, func(at time.Time) call {
					f := strings.Fields(e.Cron)
					e.Cron = strings.Join(append([]string{strconv.Itoa(at.Minute()), strconv.Itoa(at.Hour())}, f[2:]...), " ")
					return call{"update_reminder", argsOf("reminder", it.ref, "every", dateparse.DescribeEvery(e))}
				})
			}
			if f := strings.Fields(every); onlyClock && len(f) == 5 {
				return w.moveToClock(it, t, func(at time.Time) call {
					f[0], f[1] = strconv.Itoa(at.Minute()), strconv.Itoa(at.Hour())
					return call{"update_reminder", argsOf("reminder", it.ref, "every", strings.Join(f, " "))}
				})
			}
			if example := map[string]string{"month": "every month on the 1st", "year": "every year on 3 May"}[w.unknownDay(it, t)]; example != "" {
				return planReply("I changed nothing, because the day is missing. Say, for example, “make it " + example + "”.")
			}
			if next, ok := w.keepClock(it, t); ok {
				return planCall("update_reminder", argsOf("reminder", it.ref, "every", next))
			}
			if p, ok := w.askFewerDays(it, every, t); ok {
				return p, true
			}
			next, ok := mergeRecurrence(every, t)
			if !ok {
				return planQuestion("That reminder repeats. How often should I remind you, and at what time?", w.timeAnswer(func(when string) string { return "remind me " + when + " to " + it.ref }))
			}
			return planCall("update_reminder", argsOf("reminder", it.ref, "every", next))
		}
		if t.part { // "in the afternoon" keeps the day
			old, clock, day := w.itemTime(it)
			if next := startOfDay(w.s.now).AddDate(0, 0, 1); clock && day && t.phrase == "tonight" && !old.Before(next) && old.Before(next.Add(5*time.Hour)) {
				return planReply(quoteText(it.ref) + " is already set for tonight: " + dateparse.Format(old, w.s.now) + ".")
			}
			m, err := dateparse.Parse(old.Format("2 January 2006 ")+"in the "+strings.TrimPrefix(strings.TrimPrefix(t.phrase, "in "), "the "), w.s.now)
			if day && err == nil && m.HasClock && sameDay(m.Time, old) {
				return planCall("update_reminder", argsOf("reminder", it.ref, "at", m.Time.Format(time.RFC3339)))
			}
		}
		if !onlyClock {
			return planCall("update_reminder", argsOf("reminder", it.ref, "at", t.dueDate()))
		}
		return w.moveToClock(it, t, func(at time.Time) call {
			when := at.Format("15:04")
			if old, _, _ := w.itemTime(it); old.Hour() < 12 && at.Hour() >= 12 && w.g.talk.hasOnlyClock(it, w.g, w.s.now) && atClock(w.s.now, at).After(w.s.now) {
				when = atClock(w.s.now, at).Format(time.RFC3339) // "wake me at 6", "no, 6 in the evening": the next such time
			}
			return call{"update_reminder", argsOf("reminder", it.ref, "at", when)}
		})
	case "task":
		if t.every != "" {
			return noPlan()
		}
		old, clock, day := w.itemTime(it)
		due := t.dueDate()
		switch {
		case clock && !t.clock: // a day alone keeps the time of day
			due = atClock(t.at, old).Format(time.RFC3339)
		case day && onlyClock: // a time of day alone keeps the day
			return w.moveToClock(it, t, func(at time.Time) call {
				return call{"update_task", argsOf("task", it.ref, "due", atClock(old, at).Format(time.RFC3339))}
			})
		}
		return planCall("update_task", argsOf("task", it.ref, "due", due))
	case "expense", "habit":
		if t.every != "" || onlyClock {
			return noPlan()
		}
		times := w.s.timesInside(0, len(w.s.tokens))
		if c, ok := w.captureOf("time"); ok && c.span != nil { // "that was yesterday, not today"
			times = []*span{c.span}
		}
		day, err := w.pastDay(times)
		if err != nil {
			return noPlan()
		}
		return w.redoLast(it, argsOf("date", day))
	}
	return noPlan()
}

// hasOnlyClock reports whether the message that created a record named a time of day but no day.
func (d *dialogue) hasOnlyClock(it item, g *grammar, now time.Time) bool {
	for n := range recent {
		x, _ := d.exchangeAgo(n)
		if it.made == nil || it.made.tool != "create_reminder" || len(x.acts) == 0 || it.made != &x.acts[len(x.acts)-1] {
			continue
		}
		spans := g.parseSentence(x.own, now).allTimes()
		return len(spans) == 1 && isBareClock(spans[0].originalPhrase(), now) && !strings.Contains(strings.ToLower(x.own), "tomorrow")
	}
	return false
}

// askFewerDays asks before "make it half past 8 at weekends" drops the other days of a recurrence, because it may mean
// another time on these days only.
func (w *intentDraft) askFewerDays(it item, every string, t timing) (plan, bool) {
	was, now := strings.Fields(every), strings.Fields(t.every)
	if len(was) != 5 || len(now) != 5 || was[2] != "*" || now[2] != "*" || was[1] == now[1] && was[0] == now[0] || !strings.ContainsAny(t.phrase, "0123456789") {
		return noPlan()
	}
	old, fresh := weekdaysOf(was[4]), weekdaysOf(now[4])
	if len(fresh) >= len(old) || slices.ContainsFunc(fresh, func(d int) bool { return !slices.Contains(old, d) }) {
		return noPlan()
	}
	agreed := plan{outcome: act, accounted: true, calls: []call{{"update_reminder", argsOf("reminder", it.ref, "every", t.every)}}}
	return planConfirmation("That leaves out the other days. Should I remind you only "+dateparse.DescribeEvery(dateparse.Every{Cron: t.every})+"?", agreed), true
}

// moveToClock returns the plan that moves a record to a time of day, or asks for the half of the day.
func (w *intentDraft) moveToClock(it item, t timing, move func(time.Time) call) (plan, bool) {
	times := w.clocksFor(t, it)
	if len(times) > 1 {
		return askHalf(times, func(at time.Time) plan { return plan{outcome: act, accounted: true, calls: []call{move(at)}} }), true
	}
	return planCalls(move(times[0]))
}

// clocksFor returns the times of day to which a record is moved; see halfOfDay.
func (w *intentDraft) clocksFor(t timing, it item) []time.Time {
	old, known, onDay := w.itemTime(it)
	today := onDay && old.Format(time.DateOnly) <= w.s.now.Format(time.DateOnly)
	clock := t.at
	if !today {
		clock = w.literalClock(t) // on another day, the time of day may be earlier than now
	}
	if !known || saysHalfOfDay(t.phrase) {
		return []time.Time{clock}
	}
	hour := clock.Hour()
	if hour > 12 {
		hour -= 12
	}
	return w.halfOfDay(hour, clock.Minute(), old, today)
}

// hasHalfOfDay matches times of day that can mean only one half of the day.
var hasHalfOfDay = lazyregexp.New(`(?i)[ap]\.?m\b|noon|midnight|morning|afternoon|evening|night|(^|[^\d:.])(0\d|1[3-9]|2\d)(:|h|\b)`)

// saysHalfOfDay reports whether a time of day can mean only one half of the day, unlike "20 to 6".
func saysHalfOfDay(phrase string) bool {
	return hasHalfOfDay.MatchString(dayOfMonth.ReplaceAllString(minutesBefore.ReplaceAllString(phrase, ""), ""))
}

// dayOfMonth matches a date whose figures are no time of day: "19 dec", "December 19", "2026-12-19".
var dayOfMonth = lazyregexp.New(`(?i)\b\d{1,2} (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\pL*|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\pL* \d{1,2}\b|\b\d{4}-\d\d-\d\d\b`)

var minutesBefore = lazyregexp.New(`(?i)\b\d+ (to|past|before|after) `)

// literalClock returns the time of day of a phrase on a later day.
func (w *intentDraft) literalClock(t timing) time.Time {
	if m, err := dateparse.Parse("1 January 2099 at "+t.phrase, w.s.now); err == nil {
		return m.Time
	}
	return t.at
}

func firstTen(s string) string { return s[:min(10, len(s))] }

// recurrenceOf returns the recurrence of a reminder, "" if it does not repeat: from the call that created
// or changed it, its result, or the line that showed it.
func (w *intentDraft) recurrenceOf(it item) string {
	shown := ""
	if it.made == nil {
		_, shown, _ = strings.Cut(it.line, "(")
		shown, _, _ = strings.Cut(shown, ", next ")
	} else if every := it.made.stringArg("every"); every != "" {
		return every
	} else if _, rest, ok := strings.Cut(it.made.text, "remind you "); ok {
		shown, _, _ = strings.Cut(rest, ": ")
	}
	e, err := dateparse.ParseEvery(shown, w.s.now)
	switch {
	case err != nil:
		return ""
	case e.Cron == "" || e.Except != "":
		return shown
	}
	return e.Cron
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

// unknownDay returns the period of a recurrence, such as "every month", if neither its words nor the record
// name a day in it.
func (w *intentDraft) unknownDay(it item, t timing) string {
	period, tail := w.g.barePeriod(t.phrase)
	if _, _, day := w.itemTime(it); day || tail != "" && !strings.HasPrefix(tail, "at ") {
		return ""
	}
	return period
}

// keepClock adds the current time of day of a record to the recurrence t, as in "make it every 4
// days". It returns false if the two cannot be combined.
func (w *intentDraft) keepClock(it item, t timing) (string, bool) {
	old, clock, day := w.itemTime(it)
	if t.every == "" || !clock {
		return "", false
	}
	phrase := t.phrase + " at " + old.Format("15:04")
	if day {
		phrase = w.g.recurrenceOn(phrase, old)
	}
	e, err := dateparse.ParseEvery(phrase, w.s.now)
	if err != nil {
		return "", false
	}
	if e.Cron == "" || e.Except != "" {
		return phrase, true
	}
	return e.Cron, true
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
