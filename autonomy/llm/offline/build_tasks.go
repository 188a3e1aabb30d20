package offline

import (
	"strings"
)

func taskBuilders() map[string]builder {
	return map[string]builder{
		"task.add":       addTask,
		"task.add.none":  askTask,
		"task.list":      listTasks,
		"task.done":      doneTask,
		"task.done.none": func(*wish) (plan, bool) { return asking("Which task is done?", fill("complete the task", "")) },
		"task.reopen":    reopenTask,
		"task.delete":    deleteTask,
		"task.move":      moveTask,
		"task.rename":    renameTask,
		"task.priority":  rankTask,
		"task.project":   fileTask,
	}
}

func askTask(*wish) (plan, bool) {
	return asking("What should the task be?", fill("add a task to", ""))
}

func addTask(w *wish) (plan, bool) {
	d := w.details("title", true)
	d.times = append(w.spans(), d.times...)
	if level, ok := w.g.lex.get("levels", w.norm("priority")); ok {
		d.priority = level
	}
	if anything(d.text) {
		return askTask(w)
	}
	due, p, ok := w.due(d)
	if !ok {
		return p, true
	}
	titles := []string{d.text}
	if c, _ := w.capture("title"); w.plural(c) {
		titles = enumerate(d.text)
	}
	out := plan{outcome: act}
	for _, title := range titles {
		out.calls = append(out.calls, call{"create_task", arguments(
			"title", title, "due", due, "priority", d.priority, "project", d.project)})
	}
	return out, true
}

// due formats a task's date, or returns the question about it.
func (w *wish) due(d details) (string, plan, bool) {
	t, err := w.timing(d.times)
	switch {
	case err != nil:
		p, _ := w.askTime(err, "For when is the task?", func(when string) string { return "add a task to " + d.text + " " + when })
		return "", p, false
	case t.every != "":
		p, _ := asking("A task does not repeat, but a reminder does. To create a reminder instead, say: "+
			quote("remind me "+t.phrase+" to "+d.text), nil)
		return "", p, false
	case t.vague:
		p, _ := asking("On which day "+t.phrase+" is it due?", w.timeAnswer(func(when string) string {
			return "add a task to " + d.text + " by " + when
		}))
		return "", p, false
	}
	return t.due(), plan{}, true
}

// plural reports whether the words before the title mean several tasks: "add tasks: milk, bread
// and eggs".
func (w *wish) plural(title capture) bool {
	for _, t := range w.s.tokens[:title.from] {
		switch t.norm {
		case "tasks", "todos", "to-dos", "jobs", "chores":
			return true
		}
	}
	return false
}

// enumerate splits "a, b and c".
func enumerate(s string) []string {
	var out []string
	for _, line := range strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == ',' || r == ';' }) {
		for part := range strings.SplitSeq(line, " and ") {
			part = strings.Trim(part, " -*•\t.")
			part = strings.TrimPrefix(part, "and ")
			part = strings.TrimPrefix(part, "to ")
			if part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

func listTasks(w *wish) (plan, bool) {
	if !w.noLead() {
		return not()
	}
	args := map[string]any{}
	if query := bare(w.text("query")); query != "" {
		args["query"] = query
	}
	for _, name := range []string{"status", "filter"} {
		c, ok := w.capture(name)
		if ok && !w.taskFilter(c, args) {
			return not()
		}
	}
	if w.has("level") {
		return plan{outcome: act, calls: []call{{"list_tasks", args}}, say: w.g.prose("no-priority")}, true
	}
	return calling("list_tasks", args)
}

// taskFilter parses the conditions of a task list.
func (w *wish) taskFilter(c capture, args map[string]any) bool {
	switch text := w.s.norms(c.from, c.to); text {
	case "done", "completed", "complete", "finished", "finish", "closed":
		args["status"] = "done"
		return true
	case "open", "pending", "unfinished", "incomplete", "outstanding", "remaining", "now", "right now", "at the moment", "currently", "to do", "left", "still open", "due":
		return true
	case "overdue", "late", "past due", "that are overdue", "which are overdue", "that are late":
		args["due"] = "overdue"
		return true
	case "done and open", "open and done", "including done ones", "including completed ones", "including the done ones":
		args["status"] = "all"
		return true
	}
	from, to, times := w.s.lift(c.from, c.to)
	if len(times) > 0 {
		due, ok := w.filterDay(times)
		if !ok {
			return false
		}
		args["due"] = due
		from, to = w.dropFilterWords(from, to)
	}
	if from >= to {
		return true
	}
	return w.narrow(capture{from: from, to: to}, args)
}

// dropFilterWords removes "that are due" and similar words around a day.
func (w *wish) dropFilterWords(from, to int) (int, int) {
	for from < to {
		switch w.s.tokens[from].norm {
		case "that", "which", "are", "due", "i", "have", "to", "do", "for", "is", "must", "need", "on", "planned", "in", "should", "be", "done":
			from++
			continue
		}
		break
	}
	return from, to
}

// narrow parses "in the Garden project" or "about the car".
func (w *wish) narrow(c capture, args map[string]any) bool {
	words := w.s.norms(c.from, c.to)
	rest := w.s.original(c.from, c.to)
	head, tail, _ := strings.Cut(words, " ")
	_, own, _ := strings.Cut(rest, " ")
	switch head {
	case "in", "for", "under", "from", "of", "on":
		name := bare(own)
		lower := strings.ToLower(name)
		switch {
		case strings.HasPrefix(lower, "project "):
			args["project"] = name[len("project "):]
		case strings.HasSuffix(lower, " project"):
			args["project"] = name[:len(name)-len(" project")]
		case head == "of" || head == "on" || name == "":
			return false
		default:
			args["query"] = name
		}
		return tail != ""
	case "about", "with", "containing", "mentioning", "regarding", "called", "named", "concerning":
		args["query"] = bare(own)
		return own != ""
	case "that":
		return tail == "are open" || tail == "i have" || tail == "are left"
	case "i", "do", "have", "to":
		return words == "i have" || words == "do i have" || words == "to do" || words == "i have to do" || words == "i need to do" || words == "have i got"
	}
	return false
}

func doneTask(w *wish) (plan, bool) {
	task := w.named("task", "task", "todo", "to-do")
	if w.asks() {
		return not()
	}
	if anything(task) || !w.noLead() {
		return asking("Which task is done?", fill("complete the task", ""))
	}
	return calling("complete_task", arguments("task", task))
}

func reopenTask(w *wish) (plan, bool) {
	task := w.named("task", "task", "todo", "to-do")
	if anything(task) {
		return asking("Which task should I reopen?", fill("reopen the task", ""))
	}
	return calling("update_task", arguments("task", task, "status", "open"))
}

func deleteTask(w *wish) (plan, bool) {
	task := w.named("task", "task", "todo", "to-do")
	if anything(task) {
		return asking("Which task should I delete?", fill("delete the task", ""))
	}
	return calling("delete_task", arguments("task", task))
}

func moveTask(w *wish) (plan, bool) {
	task := thing(w.text("task"), "task", "todo", "to-do")
	if task == "" || w.asks() {
		return not()
	}
	if anything(task) {
		return asking("Which task do you mean?", func(answer string) (string, bool) {
			return "move the task " + answer + " to " + w.text("time"), true
		})
	}
	again := func(when string) string { return "move the task " + task + " to " + when }
	if w.has("shift") && len(w.spans()) == 0 { // "by a week": relative to a date that only the tool has
		return asking("To which day should I move it?", w.timeAnswer(again))
	}
	t, err := w.timing(w.spans())
	switch {
	case err != nil:
		return w.askTime(err, "To which day?", again)
	case t.every != "" || t.vague:
		return asking("To which day exactly?", w.timeAnswer(again))
	}
	return calling("update_task", arguments("task", task, "due", t.due()))
}

func renameTask(w *wish) (plan, bool) {
	task, title := thing(w.text("task"), "task", "todo", "to-do"), w.text("title")
	if anything(task) || title == "" || strings.ContainsAny(task, "/\\") {
		return not()
	}
	return calling("update_task", arguments("task", task, "title", title))
}

func rankTask(w *wish) (plan, bool) {
	task := thing(w.text("task"), "task", "todo", "to-do")
	level, ok := w.g.lex.get("levels", w.norm("priority"))
	if !w.has("priority") { // "prioritise the tax return"
		level, ok = "high", true
	}
	if !ok || w.asks() {
		return not()
	}
	if anything(task) {
		return asking("Which task do you mean?", fill("make the task", level+" priority"))
	}
	return calling("update_task", arguments("task", task, "priority", level))
}

func fileTask(w *wish) (plan, bool) {
	task, project := thing(w.text("task"), "task", "todo", "to-do"), bare(w.text("few_project"))
	if anything(task) || project == "" || strings.ContainsAny(task, "/\\") {
		return not()
	}
	return calling("update_task", arguments("task", task, "project", project))
}
