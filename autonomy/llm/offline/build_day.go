package offline

import (
	"strings"
	"time"
)

func dayBuilders() map[string]builder {
	return map[string]builder{
		"brief":  brief,
		"status": func(w *wish) (plan, bool) { return calling("status", nil) },
		"undo":   undo,
		"time":   tellTime,
		"date":   tellDate,
	}
}

func brief(w *wish) (plan, bool) {
	if !w.noLead() {
		return not()
	}
	if w.has("tomorrow") {
		return calling("daily_briefing", arguments("date", w.s.now.AddDate(0, 0, 1).Format(time.DateOnly)))
	}
	t, err := w.timing(w.spans())
	switch {
	case err != nil, t.every != "":
		return not() // a schedule
	case t.none:
		return calling("daily_briefing", nil)
	case t.vague:
		return asking("Which day? I can brief you on one day at a time.", w.timeAnswer(func(when string) string { return "brief me for " + when }))
	case t.clock && !t.partOfDay():
		return not()
	}
	day := t.at.Format(time.DateOnly)
	if day == w.s.now.Format(time.DateOnly) {
		day = ""
	}
	return calling("daily_briefing", arguments("date", day))
}

func undo(w *wish) (plan, bool) {
	if id := w.text("word_id"); id != "" {
		return calling("undo", arguments("id", id))
	}
	if w.says("everything") || w.says("all") {
		return asking("How many of the last actions should I undo? For example, say “undo the last 3”.", fill("undo the last", ""))
	}
	n, ok := w.number("number")
	if w.says("two") || w.says("three") {
		n, ok = map[bool]float64{true: 2, false: 3}[w.says("two")], true
	}
	if !ok || n == 1 {
		return calling("undo", nil)
	}
	if n != float64(int(n)) || n < 1 || n > 100 {
		return not()
	}
	return calling("undo", map[string]any{"last": int(n)})
}

func tellTime(w *wish) (plan, bool) {
	return saying("It is " + w.s.now.Format("15:04") + " on " + dayInWords(w.s.now) + ".")
}

func tellDate(w *wish) (plan, bool) {
	if !w.noLead() {
		return not()
	}
	spans := w.spans()
	if len(spans) == 0 {
		return saying("Today is " + dayInWords(w.s.now) + ".")
	}
	t, err := w.timing(spans)
	if err != nil || t.every != "" || t.vague || t.clock {
		return not()
	}
	day := dayInWords(t.at)
	if want := w.norm("weekday"); want != "" {
		is := "No, "
		if strings.EqualFold(t.at.Weekday().String(), want) {
			is = "Yes, "
		}
		return saying(is + t.phrase + " is a " + t.at.Weekday().String() + " (" + t.at.Format("2 January 2006") + ").")
	}
	return saying(strings.ToUpper(t.phrase[:1]) + t.phrase[1:] + " is " + day + ".")
}

func dayInWords(t time.Time) string { return t.Format("Monday, 2 January 2006") }
