package offline

import (
	"slices"
	"strings"
)

func scheduleBuilders() map[string]builder {
	return map[string]builder{
		"schedule.add":    addSchedule,
		"schedule.list":   listSchedules,
		"schedule.pause":  func(w *wish) (plan, bool) { return pauseSchedule(w, false) },
		"schedule.resume": func(w *wish) (plan, bool) { return pauseSchedule(w, true) },
		"schedule.cancel": cancelSchedule,
	}
}

// addSchedule handles a time and an action that Hob can execute.
func addSchedule(w *wish) (plan, bool) {
	if w.depth > 0 || w.g.lex.has("prepositions", w.norm("action")) {
		return not()
	}
	d := details{text: w.text("action")}
	inner := w.inner(d.text)
	if len(inner.calls) == 0 { // the time may be at the end of the action
		d = w.details("action", false)
		inner = w.inner(d.text)
	}
	if slices.ContainsFunc(inner.calls, func(c call) bool { return c.name == "create_watcher" }) {
		return not() // a watcher has its own poll interval
	}
	d.times = append(w.spans(), d.times...)
	action := strings.TrimPrefix(strings.TrimPrefix(d.text, "to "), "then ")
	again := func(when string) string { return when + " " + action }
	switch {
	case len(d.times) == 0 && !w.says("schedule"):
		return not()
	case action == "" || anything(action):
		if !w.says("schedule") {
			return not()
		}
		return asking("What should I do then?", func(answer string) (string, bool) { return w.text("time") + " " + answer, true })
	case inner.outcome == chat, inner.outcome == ask && len(inner.calls) == 0 && inner.question.complete != nil:
		return not()
	case len(inner.calls) == 0:
		return w.cannotSchedule(d, action)
	}
	t, err := w.timing(d.times)
	switch {
	case w.asks() && t.every == "": // "what did I do yesterday?"
		return not()
	case err != nil:
		return w.askTime(err, "When should I do that?", again)
	case t.none:
		return asking("When should I do that?", w.timeAnswer(again))
	case t.every != "":
		return calling("create_schedule", arguments("every", t.every, "action", action))
	case t.vague:
		return asking("On which day, and at what time, should I do that?", w.timeAnswer(again))
	case !t.clock:
		return asking("At what time should I do that?", w.clockAnswer(t, again))
	case !t.at.After(w.s.now):
		return asking("That time has passed already. When should I do that?", w.timeAnswer(again))
	}
	return calling("create_schedule", arguments("at", t.stamp(), "action", action))
}

// cannotSchedule handles a time with an action that needs a language model. A schedule would
// only fail later.
func (w *wish) cannotSchedule(d details, action string) (plan, bool) {
	t, err := w.timing(d.times)
	if err != nil || t.none || t.every == "" && (!t.clock || !t.at.After(w.s.now)) || w.question() {
		return not()
	}
	first, _, _ := strings.Cut(strings.ToLower(action), " ")
	if w.g.lex.has("questions", first) {
		return not()
	}
	times := ""
	for _, sp := range d.times {
		times += " " + sp.phrase()
	}
	return asking("I do not understand "+quote(action)+" as something to do by myself. Should I remind you of it"+times+"?",
		func(answer string) (string, bool) {
			yes := w.g.lex.has("yes", w.g.sentence(answer, w.s.now).firstWord(0)) || strings.EqualFold(strings.TrimSpace(answer), "please")
			return "remind me" + times + " to " + action, yes
		})
}

// inner plans an action that is part of this request.
func (w *wish) inner(action string) plan {
	return w.g.plan(action, w.s.now, w.depth+1)
}

// says reports whether a word occurs in the sentence outside of free texts.
func (w *wish) says(word string) bool {
	for i, t := range w.s.tokens {
		if t.norm != word {
			continue
		}
		free := false
		for _, c := range w.caps {
			free = free || i >= c.from && i < c.to
		}
		if !free {
			return true
		}
	}
	return false
}

func listSchedules(w *wish) (plan, bool) {
	if !w.noLead() {
		return not()
	}
	return calling("list_schedules", nil)
}

func pauseSchedule(w *wish, resume bool) (plan, bool) {
	text := bare(w.text("text"))
	if w.says("brief") || w.says("briefing") && text == "" {
		text = "briefing"
	}
	if anything(text) || text == "schedule" {
		verb := "pause"
		if resume {
			verb = "resume"
		}
		return asking("Which schedule should I "+verb+"?", fill(verb+" the schedule", ""))
	}
	return calling("pause_schedule", arguments("schedule", text, "resume", resume))
}

func cancelSchedule(w *wish) (plan, bool) {
	text := bare(w.text("text"))
	if text == "" && (w.says("briefing") || w.says("brief")) {
		text = "briefing"
	}
	if anything(text) {
		return asking("Which schedule should I cancel?", fill("cancel the schedule", ""))
	}
	return calling("cancel_schedule", arguments("schedule", text))
}
