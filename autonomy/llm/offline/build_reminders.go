package offline

import "strings"

func reminderBuilders() map[string]builder {
	return map[string]builder{
		"reminder.add":      addReminder,
		"reminder.add.none": askReminder,
		"reminder.list":     listReminders,
		"reminder.cancel":   cancelReminder,
		"reminder.cancel.none": func(*wish) (plan, bool) {
			return asking("Which reminder should I cancel?", fill("cancel the reminder", ""))
		},
	}
}

// askReminder asks for the text of a reminder; it keeps a given time.
func askReminder(w *wish) (plan, bool) {
	times := ""
	for _, sp := range w.spans() {
		times += " " + sp.phrase()
	}
	return asking("What should I remind you of?", func(answer string) (string, bool) {
		s := w.g.sentence(answer, w.s.now)
		if reading := w.g.readings(s, false); len(reading) > 0 && reading[0].intent.name == "reminder.add" {
			return answer, true
		}
		answer = strings.TrimPrefix(strings.TrimPrefix(answer, "to "), "about ")
		return "remind me" + times + " to " + answer, answer != ""
	})
}

func addReminder(w *wish) (plan, bool) {
	d := w.details("text", false)
	d.times = append(w.spans(), d.times...)
	d.text = w.reminderText(d.text)
	if w.says("wake") || w.says("wake-up") {
		d.times = w.inTheMorning(d.times)
	}
	if c, ok := w.capture("timer"); ok {
		d.times = w.timerTime(c)
		d.text = "timer"
		if len(d.times) == 0 {
			return not()
		}
	}
	if anything(d.text) {
		return askReminder(w)
	}
	switch first, _, _ := strings.Cut(strings.ToLower(d.text), " "); first {
	case "except", "excluding", "unless": // "every weekday at 8:30 unless it rains to stand up"
		return asking("I can only exclude days, such as Sundays, 24 December or holidays; pause the reminder for other exceptions. What should I remind you of, and when, without the exception?",
			func(answer string) (string, bool) {
				return "remind me " + strings.TrimPrefix(answer, "remind me "), answer != ""
			})
	}
	if p, ok := w.onEvent(d); ok {
		return p, p.outcome != 0
	}
	if p, ok := w.severalTimes(d); ok {
		return p, true
	}
	return w.reminder(d)
}

// reminder creates the call once the text and the time are known.
func (w *wish) reminder(d details) (plan, bool) {
	again := func(when string) string { return "remind me " + when + " to " + d.text }
	t, err := w.timing(d.times)
	switch {
	case err != nil:
		return w.askTime(err, "When should I remind you?", again)
	case t.none && len(d.inner) > 0, w.relative(d):
		return asking("When exactly should I remind you?", w.timeAnswer(again))
	case t.none:
		return asking("When should I remind you?", w.timeAnswer(again))
	case t.every != "":
		return calling("create_reminder", arguments("text", d.text, "every", t.every))
	case t.vague:
		return asking("On which day, and at what time, should I remind you?", w.timeAnswer(again))
	case !t.clock && t.at.Before(startOfDay(w.s.now)):
		return asking("That day has passed already. When should I remind you?", w.timeAnswer(again))
	case !t.clock:
		return asking("At what time should I remind you?", w.clockAnswer(t, again))
	case !t.at.After(w.s.now):
		return asking("That time has passed already. When should I remind you?", w.timeAnswer(again))
	}
	return calling("create_reminder", arguments("text", d.text, "at", t.stamp()))
}

// onEvent: "remind me when I get home" depends on an event that Hob cannot detect. "Notify me
// when ..." is not a reminder.
func (w *wish) onEvent(d details) (plan, bool) {
	head, event, _ := strings.Cut(d.text, " ")
	switch strings.ToLower(head) {
	case "when", "if", "whenever", "once", "after", "before", "unless":
	default:
		return plan{}, false
	}
	if len(d.times) > 0 || len(d.inner) > 0 {
		return plan{}, false
	}
	if !w.says("remind") {
		return plan{}, true
	}
	what := d.text
	if i := strings.LastIndex(d.text, " to "); i > 0 {
		event, what = event[:max(0, i-len(head)-1)], d.text[i+len(" to "):]
	}
	p, _ := asking("I cannot notice "+quote(event)+" by myself. At what time should I remind you?",
		w.timeAnswer(func(when string) string { return "remind me " + when + " to " + what }))
	return p, true
}

// reminderText returns a text for forms without one: an alarm, waking up.
func (w *wish) reminderText(text string) string {
	lower := strings.ToLower(text)
	for _, head := range []string{"to ", "about ", "that ", "of "} {
		if strings.HasPrefix(lower, head) {
			return text[len(head):]
		}
	}
	if text != "" || w.has("text") {
		return text
	}
	for _, t := range w.s.tokens {
		switch t.norm {
		case "wake", "wake-up":
			return "wake up"
		case "alarm", "timer":
			return t.norm
		}
	}
	return ""
}

// inTheMorning: "wake me at 7" never means the evening.
func (w *wish) inTheMorning(times []*span) []*span {
	t, err := w.timing(times)
	if err != nil || len(times) != 1 || !t.clock || t.every != "" || t.part || t.at.Hour() < 12 {
		return times
	}
	said := times[0].phrase()
	for _, try := range []string{said + "am", said + " in the morning"} {
		if m := w.g.sentence(try, w.s.now).all(); len(m) == 1 && len(m[0].phrase()) == len(try) && m[0].match.Moment != nil && m[0].match.Moment.Time.Hour() < 12 {
			return m
		}
	}
	return times
}

// timerTime parses "10 minute" of "a 10 minute timer".
func (w *wish) timerTime(c capture) []*span {
	return w.g.sentence("in "+w.s.original(c.from, c.to), w.s.now).all()
}

// relative: "10 minutes before the meeting" depends on an unknown time.
func (w *wish) relative(d details) bool {
	for _, sp := range d.times {
		next := w.s.skip(sp.to)
		if sp.owner == w.s && next < len(w.s.tokens) && sp.to == next {
			switch w.s.tokens[next].norm {
			case "before", "after":
				return true
			}
		}
	}
	return false
}

// severalTimes: "at 9 and at 18:00" are two reminders.
func (w *wish) severalTimes(d details) (plan, bool) {
	if len(d.times) < 2 {
		return plan{}, false
	}
	out := plan{outcome: act}
	for i, sp := range d.times {
		if i > 0 && !w.joinedByAnd(d.times[i-1], sp) {
			return plan{}, false
		}
		t, err := w.timing([]*span{sp})
		if err != nil || !t.clock || t.every != "" || !t.at.After(w.s.now) {
			return plan{}, false
		}
		out.calls = append(out.calls, call{"create_reminder", arguments("text", d.text, "at", t.stamp())})
	}
	return out, true
}

func (w *wish) joinedByAnd(a, b *span) bool {
	if a.owner != w.s || b.owner != w.s {
		return false
	}
	for _, t := range w.s.tokens[min(a.to, b.from):b.from] {
		if t.norm == "and" {
			return true
		}
	}
	return false
}

func listReminders(w *wish) (plan, bool) {
	if !w.noLead() {
		return not()
	}
	query := w.text("filter")
	lower := strings.ToLower(query)
	for _, head := range []string{"about ", "for ", "on ", "of ", "regarding ", "with "} {
		if strings.HasPrefix(lower, head) {
			query, lower = query[len(head):], ""
		}
	}
	switch lower {
	case "", "now", "right now", "do i have", "i have", "set", "do i have set", "have i got", "at the moment", "currently", "active", "pending", "i have set", "set up", "open":
		if lower != "" {
			query = ""
		}
		return calling("list_reminders", arguments("query", bare(query)))
	}
	return not()
}

func cancelReminder(w *wish) (plan, bool) {
	text := w.named("text", "reminder", "alarm")
	if anything(text) {
		return asking("Which reminder should I cancel?", fill("cancel the reminder", ""))
	}
	return calling("cancel_reminder", arguments("reminder", text))
}
