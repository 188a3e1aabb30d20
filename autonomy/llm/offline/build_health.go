package offline

import "strings"

func healthBuilders() map[string]builder {
	return map[string]builder{
		"habit.log":      logHabit,
		"habit.log.none": func(*wish) (plan, bool) { return asking("Which habit?", fill("log habit", "")) },
		"habit.streak":   habitStreak,
	}
}

func logHabit(w *wish) (plan, bool) {
	if w.question() {
		return not()
	}
	times := w.lead
	d := w.details("habit", false)
	times = append(times[:len(times):len(times)], d.times...)
	unit, ok := w.unit()
	if !ok {
		return not()
	}
	if w.nameless(d.text) {
		return not()
	}
	habit, kind := w.habit(d.text)
	if anything(habit) {
		return not()
	}
	day, err := w.pastDay(times)
	if err != nil {
		return not()
	}
	args := arguments("habit", habit, "unit", unit, "date", day)
	if kind != "" {
		args["note"] = kind
	}
	if v, ok := w.number("number"); ok {
		args["value"] = v
	}
	return calling("log_habit", args)
}

// unit returns the standard name of a unit; a number with another word is not a habit.
func (w *wish) unit() (string, bool) {
	said := w.norm("word_unit")
	if said == "" {
		return "", true
	}
	return w.g.lex.get("units", said)
}

// habit returns the habit in the form used for streaks: "I ran" is running, "I practised piano"
// is piano. The rest of the sentence is the note.
func (w *wish) habit(said string) (name, note string) {
	said = strings.ToLower(bare(strings.Trim(said, `"'`)))
	usual := func(s string) string {
		if n, ok := w.g.lex.get("habits", s); ok {
			return n
		}
		return s
	}
	verb := w.norm("verb")
	switch {
	case verb == "":
		return usual(said), ""
	case said == "":
		if w.g.lex.has("object-habits", verb) {
			return "", ""
		}
		return usual(verb), ""
	case w.g.lex.has("object-habits", verb):
		return usual(strings.TrimPrefix(said, "my ")), ""
	}
	return usual(verb), said
}

// nameless: "I walked the dog" or "I ran the tests" may mean anything; only a number, or a verb
// that requires its object, makes such a sentence a habit.
func (w *wish) nameless(said string) bool {
	verb := w.norm("verb")
	if verb == "" || said == "" || w.has("number") {
		return false
	}
	return !w.g.lex.has("object-habits", verb) || len(strings.Fields(said)) > 3
}

func habitStreak(w *wish) (plan, bool) {
	if !w.noLead() {
		return not()
	}
	habit, _ := w.habit(w.text("habit"))
	switch habit {
	case "all", "habit", "habits", "current", "all habits", "going":
		habit = ""
	}
	return calling("habit_streak", arguments("habit", habit))
}
