package offline

import "strings"

func goalBuilders() map[string]builder {
	return map[string]builder{
		"goal.add":      addGoal,
		"goal.add.none": func(*wish) (plan, bool) { return asking("What is the goal?", fill("set a goal:", "")) },
		"goal.list": func(w *wish) (plan, bool) {
			if !w.noLead() {
				return not()
			}
			return calling("list_goals", nil)
		},
		"goal.pause":  oneGoal("pause_goal", "Which goal should I pause?", "pause the goal"),
		"goal.resume": oneGoal("pause_goal", "Which goal should I resume?", "resume the goal", "resume", true),
		"goal.done":   oneGoal("complete_goal", "Which goal is reached?", "complete the goal"),
		"goal.delete": oneGoal("delete_goal", "Which goal should I delete?", "drop the goal"),
		"goal.every": func(w *wish) (plan, bool) {
			return calling("update_goal", arguments("goal", bare(w.text("text")), "check_every", w.text("every")))
		},
		"goal.rank": func(w *wish) (plan, bool) {
			level := map[string]int{"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}[w.norm("level")]
			return calling("update_goal", arguments("goal", bare(w.text("text")), "priority", level))
		},
		"goal.reword": func(w *wish) (plan, bool) {
			return calling("update_goal", arguments("goal", bare(w.text("text")), "description", w.text("new")))
		},
	}
}

// addGoal keeps all of the user's words: text after a comma or "then" belongs to the goal.
func addGoal(w *wish) (plan, bool) {
	if w.depth > 0 {
		return not()
	}
	text := strings.TrimLeft(w.text("text"), ":-– ")
	if anything(text) {
		return asking("What is the goal?", fill("set a goal:", ""))
	}
	return calling("create_goal", arguments("description", text))
}

// oneGoal calls a tool on a goal identified by words.
func oneGoal(tool, which, again string, more ...any) builder {
	return func(w *wish) (plan, bool) {
		name := bare(w.text("text"))
		if anything(name) {
			return asking(which, fill(again, ""))
		}
		return calling(tool, arguments(append([]any{"goal", name}, more...)...))
	}
}
