package offline

import "strings"

func goalBuilders() map[string]builder {
	return map[string]builder{
		"goal.add": addGoal,
		"goal.add.none": func(*intentDraft) (plan, bool) {
			return planQuestion("What is the goal?", fillBetween("set a goal:", ""))
		},
		"goal.list": func(w *intentDraft) (plan, bool) {
			if !w.noLead() {
				return noPlan()
			}
			return planCall("list_goals", nil)
		},
		"goal.pause":  oneGoal("pause_goal", "Which goal should I pause?", "pause the goal"),
		"goal.resume": oneGoal("pause_goal", "Which goal should I resume?", "resume the goal", "resume", true),
		"goal.done":   oneGoal("complete_goal", "Which goal have you reached?", "complete the goal"),
		"goal.delete": oneGoal("delete_goal", "Which goal should I delete?", "drop the goal"),
		"goal.every": func(w *intentDraft) (plan, bool) {
			return planCall("update_goal", argsOf("goal", bareName(w.slotString("text")), "check_every", w.slotString("every")))
		},
		"goal.rank": func(w *intentDraft) (plan, bool) {
			level := map[string]int{"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}[w.slotNorm("level")]
			return planCall("update_goal", argsOf("goal", bareName(w.slotString("text")), "priority", level))
		},
		"goal.reword": func(w *intentDraft) (plan, bool) {
			return planCall("update_goal", argsOf("goal", bareName(w.slotString("text")), "description", w.slotString("new")))
		},
	}
}

// addGoal creates a goal from all of the user's words: text after a comma or "then" belongs to the
// goal.
func addGoal(w *intentDraft) (plan, bool) {
	if w.depth > 0 {
		return noPlan()
	}
	text := strings.TrimLeft(w.slotString("text"), ":-– ")
	if w.g.isUnspecific(text) {
		return planQuestion("What is the goal?", fillBetween("set a goal:", ""))
	}
	return planCall("create_goal", argsOf("description", text))
}

// oneGoal returns a builder that calls a tool for a goal identified by words.
func oneGoal(tool, which, again string, more ...any) builder {
	return func(w *intentDraft) (plan, bool) {
		name := bareName(w.slotString("text"))
		if w.g.isUnspecific(name) {
			return planQuestion(which, fillBetween(again, ""))
		}
		return planCall(tool, argsOf(append([]any{"goal", name}, more...)...))
	}
}

func whyBuilders() map[string]builder {
	return map[string]builder{
		"why.silence": func(w *intentDraft) (plan, bool) {
			return planCall("explain", argsOf("what", "silence", "about", bareName(w.slotString("text"))))
		},
		"why.told": func(*intentDraft) (plan, bool) { return planCall("explain", argsOf("what", "notification")) },
		"why.did":  func(*intentDraft) (plan, bool) { return planCall("explain", argsOf("what", "event")) },
		"notice.snooze": func(w *intentDraft) (plan, bool) {
			return planCall("snooze_notice", argsOf("until", w.slotString("text")))
		},
		"why.tick": func(*intentDraft) (plan, bool) { return planCall("explain", argsOf("what", "tick")) },
	}
}
