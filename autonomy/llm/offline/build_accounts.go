package offline

import (
	"slices"
	"strings"
	"time"
)

func accountBuilders() map[string]builder {
	return map[string]builder{
		"calendar.next": func(w *wish) (plan, bool) { return calling("read_calendar", arguments("next", true)) },
		"calendar.with": meetSomebody,
		"contact.find":  findContact,
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
		"mail.write": writeMail,
		"mail.write.none": func(w *wish) (plan, bool) {
			return asking("What should the mail say?", fill(strings.TrimRight(w.s.original(0, len(w.s.tokens)), " .!?")+" saying", ""))
		},
		"mail.answer":  answerMail,
		"mail.archive": moveMail,
		"event.add":    addEvent,
		"event.move":   moveEvent,
		"event.delete": deleteEvent,
		"mail.whole":   func(w *wish) (plan, bool) { return calling("read_email", arguments("mail", bare(w.text("which")))) },
		"mail.about":   func(w *wish) (plan, bool) { return calling("search_emails", arguments("query", bare(w.text("about")))) },
	}
}

func meetSomebody(w *wish) (plan, bool) {
	who := bare(w.text("who"))
	if anything(who) {
		return not()
	}
	return calling("read_calendar", arguments("next", true, "query", who))
}

// findContact: "Anna's phone number", "the address of my brother".
func findContact(w *wish) (plan, bool) {
	who := bare(w.text("who") + w.text("few_who"))
	for _, s := range []string{"'s", "\u2019s", "'", "\u2019"} {
		who = strings.TrimSuffix(who, s)
	}
	switch strings.ToLower(who) {
	case "", "my", "your", "our", "the", "me", "you", "him", "her", "them", "his", "their", "its", "it", "this", "that":
		return not()
	}
	if anything(who) || w.has("few_who") && nobodys(who) {
		return not()
	}
	find := call{"search_contacts", arguments("query", who)}
	if w.has("few_who") && w.says("what") { // the user may have said it, too
		about := bare(strings.TrimRight(w.s.original(0, len(w.s.tokens)), " .!?"))
		for _, head := range []string{"what is ", "what's ", "what\u2019s "} {
			if len(about) > len(head) && strings.EqualFold(about[:len(head)], head) {
				about = about[len(head):]
			}
		}
		return plan{outcome: act, calls: []call{{"recall", arguments("query", about)}, find}}, true
	}
	return plan{outcome: act, calls: []call{find}}, true
}

// nobodys reports whether a word before "mail" or "phone" describes it instead of naming a
// person.
func nobodys(who string) bool {
	for _, head := range []string{"my ", "the ", "a ", "an ", "any "} {
		who = strings.TrimPrefix(strings.ToLower(who), head)
	}
	return slices.Contains(strings.Fields("today yesterday tonight monday tuesday wednesday thursday friday saturday sunday work private personal last latest newest recent first next new old unread other another better second own any some a an every each all"), who)
}

// freeAt: for a whole day it lists all events, since "yes" or "no" would not answer the
// question.
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

// addressees returns the people that a sentence names: "Ada, Bob and grace@example.org".
func addressees(s string) (out []any) {
	s = strings.NewReplacer(" and ", ",", " & ", ",", ";", ",").Replace(s)
	for part := range strings.SplitSeq(s, ",") {
		if name := bare(part); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// writing returns the tool and the arguments of a mail that a sentence dictates.
func (w *wish) writing(pairs ...any) (plan, bool) {
	text := w.dictated("text")
	for _, q := range []string{`""`, "“”", "''"} {
		r := []rune(q)
		if inner, ok := strings.CutPrefix(text, string(r[0])); ok {
			if inner, ok = strings.CutSuffix(inner, string(r[1])); ok {
				text = inner
			}
		}
	}
	if anything(text) {
		return not()
	}
	tool := "send_email"
	if w.has("draft") {
		tool = "draft_email"
	}
	return calling(tool, arguments(append(pairs, "text", capitalised(text))...))
}

// dictated returns a slot with the punctuation at the end of its sentence, which belongs to the
// dictated text.
func (w *wish) dictated(slot string) string {
	text := strings.TrimSpace(w.text(slot))
	if text == "" || text[len(text)-1] == '"' {
		return text
	}
	i := strings.LastIndex(w.s.text, text)
	if i < 0 {
		return text
	}
	if tail := strings.TrimSpace(w.s.text[i+len(text):]); strings.Trim(tail, ".!?") == "" && len(tail) <= 3 {
		text += tail
	}
	return text
}

func writeMail(w *wish) (plan, bool) {
	who := addressees(w.text("who") + w.text("few_who"))
	if len(who) == 0 || slices.ContainsFunc(who, func(x any) bool { return anything(x.(string)) || len(strings.Fields(x.(string))) > 4 }) {
		return not()
	}
	return w.writing("to", who, "subject", capitalised(strings.TrimSpace(w.text("about"))))
}

func answerMail(w *wish) (plan, bool) {
	which := bare(w.text("which") + w.text("few_which"))
	if anything(which) {
		return not()
	}
	return w.writing("answer", which)
}

func moveMail(w *wish) (plan, bool) {
	which, to := bare(w.text("which")+w.text("few_which")), bare(w.text("few_folder"))
	if anything(which) {
		return not()
	}
	if w.has("trash") || to == "bin" {
		to = "trash"
	}
	return calling("move_email", arguments("mail", which, "to", to))
}

// addEvent adds a calendar event: of one hour with a time of day, otherwise for the whole day.
func addEvent(w *wish) (plan, bool) {
	d := w.details("text", false)
	d.times = append(w.spans(), d.times...)
	title := strings.Trim(strings.TrimSpace(d.text), ".,:;")
	if anything(title) {
		return not()
	}
	again := func(when string) string { return "put " + title + " " + when + " in my calendar" }
	t, err := w.timing(d.times)
	switch {
	case err != nil:
		return w.askTime(err, "When is it?", again)
	case t.every != "":
		return not()
	case t.none, t.vague:
		return asking("When is it?", w.timeAnswer(again))
	}
	start := t.at.Format(time.DateOnly)
	if t.clock {
		start = t.stamp()
	}
	return calling("create_calendar_event", arguments("title", capitalised(title), "start", start))
}

func moveEvent(w *wish) (plan, bool) {
	what := thing(bare(w.text("text")), "meeting", "appointment", "event")
	t, err := w.timing(w.spans())
	if anything(what) || err != nil || t.none || t.every != "" || t.vague || !w.noLead() || strings.ContainsAny(what, "/.") {
		return not()
	}
	start := t.at.Format(time.DateOnly) + " " + t.at.Format("15:04")
	if !t.clock {
		return asking("At what time?", w.clockAnswer(t, func(when string) string { return "move " + what + " to " + when }))
	}
	if words := strings.Fields(t.phrase); len(words) == 1 || len(words) == 2 && (words[0] == "at" || words[1] == "pm" || words[1] == "am") {
		start = t.at.Format("15:04") // on its day
	}
	return calling("update_calendar_event", arguments("event", what, "start", start))
}

func deleteEvent(w *wish) (plan, bool) {
	d := w.details("text", false)
	what := thing(bare(d.text), "meeting", "appointment", "event")
	if anything(what) {
		return not()
	}
	t, err := w.timing(d.times)
	if err != nil || t.every != "" || t.vague {
		return not()
	}
	args := arguments("event", what)
	if !t.none {
		args["on"] = t.at.Format(time.DateOnly)
	}
	return calling("delete_calendar_event", args)
}
