package offline

import "time"

func accountBuilders() map[string]builder {
	return map[string]builder{
		"calendar.next": func(w *wish) (plan, bool) { return calling("read_calendar", arguments("next", true)) },
		"calendar.with": meetSomebody,
		"calendar.free": freeAt,
		"calendar.day":  calendarOf,
		"mail.new": func(w *wish) (plan, bool) {
			return calling("read_emails", arguments("unread", w.norm("unread") == "new" || w.norm("unread") == "unread"))
		},
		"mail.matters": func(w *wish) (plan, bool) {
			return calling("read_emails", arguments("unread", true, "matters", true))
		},
		"mail.who":   mailSince,
		"mail.from":  mailFrom,
		"mail.about": func(w *wish) (plan, bool) { return calling("search_emails", arguments("query", bare(w.text("about")))) },
	}
}

func meetSomebody(w *wish) (plan, bool) {
	who := bare(w.text("who"))
	if anything(who) {
		return not()
	}
	return calling("read_calendar", arguments("next", true, "query", who))
}

// freeAt: a day alone is told whole, since a yes or no is no answer for it.
func freeAt(w *wish) (plan, bool) {
	t, err := w.timing(w.spans())
	switch {
	case err != nil || t.none || t.every != "" || t.vague:
		return not()
	case t.clock && !t.partOfDay():
		return calling("read_calendar", arguments("at", t.stamp()))
	}
	return calling("read_calendar", arguments("date", t.at.Format(time.DateOnly)))
}

func calendarOf(w *wish) (plan, bool) {
	t, err := w.timing(w.spans())
	switch {
	case err != nil || t.every != "":
		return not()
	case t.none:
		return calling("read_calendar", nil)
	case t.vague:
		return calling("read_calendar", arguments("days_ahead", 7))
	}
	day := t.at.Format(time.DateOnly)
	if day == w.s.now.Format(time.DateOnly) {
		return calling("read_calendar", nil)
	}
	return calling("read_calendar", arguments("date", day))
}

func mailSince(w *wish) (plan, bool) {
	t, err := w.timing(w.spans())
	if err != nil || t.every != "" || t.at.After(w.s.now.AddDate(0, 0, 1)) {
		return not()
	}
	if t.none || t.vague {
		return calling("read_emails", nil)
	}
	return calling("read_emails", arguments("since", t.at.Format(time.DateOnly), "limit", 20))
}

func mailFrom(w *wish) (plan, bool) {
	who := bare(w.text("who"))
	if anything(who) {
		return not()
	}
	args := arguments("from", who)
	if t, err := w.timing(w.spans()); err == nil && !t.none && !t.vague && t.every == "" {
		args["since"] = t.at.Format(time.DateOnly)
	}
	return calling("search_emails", args)
}
