package offline

import (
	"strings"

	"hob/platform/text/lazyregexp"
)

func healthBuilders() map[string]builder {
	return map[string]builder{
		"habit.log":      logHabit,
		"habit.weight":   logWeight,
		"habit.log.none": func(*intentDraft) (plan, bool) { return planQuestion("Which habit?", fillBetween("log habit", "")) },
		"habit.streak":   habitStreak,
		"habit.report": func(w *intentDraft) (plan, bool) {
			return planCall("habit_report", argsOf("habit", strings.ToLower(bareName(w.slotString("few_habit")))))
		},
		"habit.import": func(w *intentDraft) (plan, bool) {
			return planCall("import_habits", argsOf("path", w.pathOf("path")))
		},
		"habit.target": func(w *intentDraft) (plan, bool) {
			goal, ok := w.numberOf("number")
			if !ok {
				return noPlan()
			}
			return planCall("set_habit_target", argsOf("habit", strings.ToLower(bareName(w.slotString("few_habit"))), "goal", goal, "period", w.slotNorm("period")))
		},
	}
}

// goalWords matches how often or how much a habit should be done, which is no entry: "track my water, 8 glasses a day".
var goalWords = lazyregexp.New(`(?i)\b(?:a|an|per|each|every|twice a|once a|times a) (?:day|week|month|year|night|morning|evening|afternoon|weekday|hour|other day)\b|\b(?:daily|nightly|weekly|monthly|goal|target)\b|/ ?(?:day|week)\b`)

func logHabit(w *intentDraft) (plan, bool) {
	if w.isQuestion() || w.isWish() {
		return noPlan()
	}
	times := w.lead
	d := w.slotDetails("habit", nil)
	times = append(times[:len(times):len(times)], d.times...)
	unit, ok := w.unitName()
	if goalWords.MatchString(w.s.text) && w.slotNorm("verb") == "" {
		return planReply(w.g.replyText("habit-goal"))
	}
	if !ok {
		return noPlan()
	}
	if w.isNameless(d.text) {
		return noPlan()
	}
	habit, kind := w.habitName(d.text)
	if w.g.isUnspecific(habit) {
		return noPlan()
	}
	day, err := w.pastDay(times)
	if err != nil {
		return noPlan()
	}
	args := argsOf("habit", habit, "unit", unit, "date", day)
	if kind != "" {
		args["note"] = kind
	}
	if v, ok := w.numberOf("number"); ok {
		args["value"] = v
	}
	return planCall("log_habit", args)
}

// logWeight handles "I weigh 71.4 kilos today". Without a day, the weight may be a fact.
func logWeight(w *intentDraft) (plan, bool) {
	unit, ok := w.g.lex.meaningOf("weights", w.slotNorm("word_unit"))
	n, _ := w.numberOf("number")
	day, err := w.pastDay(w.allSpans())
	if !ok || err != nil || w.isQuestion() || n <= 0 {
		return noPlan()
	}
	return planCall("log_habit", argsOf("habit", "weight", "value", n, "unit", unit, "date", day))
}

// unitName returns the standard name of a unit. A number with any other word is not a habit.
func (w *intentDraft) unitName() (string, bool) {
	said := w.slotNorm("word_unit")
	if said == "" {
		return "", true
	}
	return w.g.lex.meaningOf("units", said)
}

// habitName returns the habit in the form used for streaks: "I ran" gives running, and "I practised
// piano" gives piano. The rest of the sentence is the note.
func (w *intentDraft) habitName(said string) (name, note string) {
	said = strings.ToLower(bareName(strings.Trim(said, `"'`)))
	usual := func(s string) string {
		if n, ok := w.g.lex.meaningOf("habits", s); ok {
			return n
		}
		return s
	}
	verb := w.slotNorm("verb")
	switch {
	case verb == "":
		return usual(said), ""
	case said == "":
		if w.g.lex.containsWord("object-habits", verb) {
			return "", ""
		}
		return usual(verb), ""
	case w.g.lex.containsWord("object-habits", verb):
		return usual(strings.TrimPrefix(said, "my ")), ""
	}
	return usual(verb), said
}

// isNameless reports whether a sentence names no habit. "I walked the dog" or "I ran the tests" may
// not be about a habit. Such a sentence is about a habit only if it has a number, or a verb that
// requires its object.
func (w *intentDraft) isNameless(said string) bool {
	verb := w.slotNorm("verb")
	if verb == "" || said == "" || w.hasSlot("number") {
		return false
	}
	return !w.g.lex.containsWord("object-habits", verb) || len(strings.Fields(said)) > 3
}

func habitStreak(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	habit, _ := w.habitName(w.slotString("habit"))
	switch habit {
	case "all", "habit", "habits", "current", "all habits", "going":
		habit = ""
	}
	return planCall("habit_streak", argsOf("habit", habit))
}
