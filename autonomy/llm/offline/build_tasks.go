package offline

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/sorting"
)

func taskBuilders() map[string]builder {
	return map[string]builder{
		"task.add":      addTask,
		"task.add.none": askTask,
		"task.these":    addThese,
		"task.verb": func(w *intentDraft) (plan, bool) {
			if !w.isTaskText(w.slotString("title")) || w.isQuestion() {
				return noPlan()
			}
			return addTask(w)
		},
		"task.list":      listTasks,
		"task.first":     firstTask,
		"record.cancel":  cancelNamed,
		"task.done":      doneTask,
		"task.done.none": whichDone,
		"task.reopen":    reopenTask,
		"task.delete":    deleteTask,
		"task.move":      moveTask,
		"task.rename":    renameTask,
		"task.priority":  rankTask,
		"task.project":   fileTask,
	}
}

func askTask(*intentDraft) (plan, bool) {
	return planQuestion("What should the task be?", fillBetween("add a task to", ""))
}

func addTask(w *intentDraft) (plan, bool) {
	if p, ok := w.planNeed(); ok {
		return p, p.outcome != 0
	}
	if w.s.firstWord(0) == "open" && w.g.lex.containsWord("task-plurals", w.s.firstWord(1)) { // "open tasks delete future events"
		return noPlan()
	}
	d := w.slotDetails("title", w.cutQualifiers)
	d.times = append(w.allSpans(), d.times...)
	if level, ok := w.g.lex.meaningOf("levels", w.slotNorm("priority")); ok {
		d.priority = level
	}
	if w.g.isUnspecific(d.text) {
		return askTask(w)
	}
	d.text = strings.TrimPrefix(d.text, "remember to ")                                         // "got to remember to pay the window cleaner"
	if words := strings.Fields(strings.ToLower(d.text)); len(words) > 1 && words[0] == "have" { // "I should have called mum"
		if _, past := w.g.baseForm(words[1]); past || words[1] == "been" {
			return noPlan()
		}
	}
	if w.g.containsOnly("getting-up", d.text) {
		d.times = w.inTheMorning(d.times)
	}
	if c, ok := w.captureOf("title"); ok && w.hasSlot("open") && c.to-c.from < 6 && w.s.hasWordOf(c.from+1, c.to, "negations") { // "add eggs not milk to the list"
		return planQuestion("I am not sure how to read “not” in that. What should I add?", fillBetween("add", "to my list"))
	}
	if w.hasSlot("open") && len(d.times) == 0 {
		if p, ok := w.addToOpenList(); ok {
			return p, true
		}
	}
	pieces := w.separateTasks(d.text)
	if all := w.g.splitEnumeration(d.text); len(pieces) == 0 && len(all) > 2 && strings.Contains(d.text, ",") && !slices.ContainsFunc(all, func(piece string) bool { return !w.startsWithVerb(piece) }) {
		return planQuestion("I see several tasks in that, so I added none. What is the first one?", fillBetween("add a task to", ""))
	}
	if len(pieces) > 1 && len(d.inner) > 0 {
		return w.addEach(pieces, d)
	}
	due, p, ok := w.dueArgument(d)
	if !ok {
		return p, true
	}
	titles := []string{d.text}
	c, _ := w.captureOf("title")
	switch {
	case w.isPlural(c):
		titles = w.g.splitEnumeration(d.text)
	case len(pieces) > 1:
		titles = pieces
	case c.from > 0 && w.s.tokens[c.from-1].norm == ":" && strings.Contains(d.text, ","): // "add to my list: call bank, email tom"
		listed := strings.Split(d.text, ",")
		verbs := !slices.ContainsFunc(listed, func(piece string) bool { return !w.startsWithVerb(piece) })
		if verbs || w.hasKeyword("list") && !slices.ContainsFunc(listed, func(piece string) bool { return w.g.lex.containsWord("joints", strings.ToLower(firstField(piece))) }) {
			titles = listed
		}
	}
	out := plan{outcome: act, joined: w.hasSlot("listed") || len(titles) > 1} // "put it on my list" is not a second request
	for _, title := range titles {
		out.calls = append(out.calls, call{"create_task", argsOf(
			"title", strings.TrimSpace(title), "due", due, "priority", d.priority, "project", d.project)})
	}
	return out, true
}

// planNeed handles "I need to know what is on my list" and "I need to set an alarm for 7", which are a question
// and a request and no tasks. The bool result is false if the need is a task.
func (w *intentDraft) planNeed() (plan, bool) {
	verb, rest, _ := strings.Cut(w.slotString("title"), " ")
	if first := w.s.firstWord(0); first != "i" && first != "we" && first != "need" && first != "still" || !w.noLead() {
		return plan{}, false
	}
	switch verb = strings.ToLower(verb); {
	case (verb == "remember" || verb == "note") && !strings.HasPrefix(strings.ToLower(rest), "to "): // "need to remember that the key is under the pot"
		p := w.planInner(w.slotString("title"))
		if p.outcome == unknown {
			p = plan{}
		}
		return p, true
	case w.namesHob("title"): // "I need to ask you ..."
		return plan{}, true
	case w.g.lex.containsWord("setting-verbs", verb) && strings.HasSuffix(w.slotNorm("title"), " list"):
		p, _ := planQuestion("Which list should I start, and with what? For example: \"start a packing list: socks, hat\".", nil)
		return p, true
	case w.g.lex.containsWord("knowing-verbs", verb) && rest != "":
		p := w.planInner(rest)
		if p.outcome == unknown || w.g.changesRecords(p) {
			p = plan{}
		}
		return p, true
	case w.g.lex.containsWord("setting-verbs", verb):
		p := w.planInner(w.slotString("title"))
		meant := p.intent != nil && slices.ContainsFunc([]string{"reminder.", "event.add", "list.add", "figure."}, func(head string) bool { return strings.HasPrefix(p.intent.name, head) })
		return p, meant && (p.outcome == act || p.outcome == ask)
	}
	return plan{}, false
}

// dueArgument formats a task's date, or returns a plan that asks about it.
func (w *intentDraft) dueArgument(d textDetails) (string, plan, bool) {
	t, err := w.joinTimes(d.times)
	switch {
	case err != nil:
		p, _ := w.askTime(err, "When is the task due?", func(when string) string { return "add a task to " + d.text + " " + when })
		return "", p, false
	case t.every != "":
		p, _ := planQuestion("A task does not repeat, but a reminder does. To create a reminder instead, say: "+
			quoteText("remind me "+t.phrase+" to "+d.text), nil)
		return "", p, false
	case !t.none && !t.vague && t.at.Year() < w.s.now.Year()-1: // "read 1984 by friday"
		p, _ := planQuestion("When is it due? "+quoteText(t.phrase)+" is long ago.", w.timeAnswer(func(when string) string { return "add a task to " + d.text + " by " + when }))
		return "", p, false
	case t.vague:
		phrase := t.phrase
		if _, err := time.Parse("January", upperFirst(strings.ToLower(phrase))); err == nil { // "before february"
			phrase = "in " + upperFirst(phrase)
		}
		p, _ := planQuestion("On which day "+phrase+" is it due?", w.timeAnswer(func(when string) string {
			return "add a task to " + d.text + " by " + when
		}))
		return "", p, false
	}
	return t.dueDate(), plan{}, true
}

func listTasks(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	args := map[string]any{}
	if query := bareName(w.slotString("query")); query != "" {
		args["query"] = query
	}
	for _, name := range []string{"status", "filter"} {
		c, ok := w.captureOf(name)
		if ok && !w.taskFilter(c, args) {
			return w.listDueWithin(c)
		}
	}
	if c, ok := w.captureOf("filter"); ok && w.hasSlot("anything") { // "anything left for friday" asks for reminders too
		if _, _, times := w.s.liftTimes(c.from, c.to); len(times) > 0 {
			p, ok := w.rangeOf(times)
			if !ok || args["query"] != nil || args["project"] != nil {
				return noPlan()
			}
			return w.listRange(p, "Nothing is planned "+whenPhrase(p)+".")
		}
	}
	if w.hasSlot("level") {
		return plan{outcome: act, calls: []call{{"list_tasks", args}}, say: w.g.replyText("no-priority")}, true
	}
	if w.hasSlot("both") { // "what have I got left?"
		return planCalls(call{"list_reminders", nil}, call{"list_tasks", args})
	}
	if len(args) > 0 || w.mentionsTasks() {
		return planCall("list_tasks", args)
	}
	return planLookup(func(results []done) plan { // "what do I still have to do?"
		r := results[0].result
		if r == nil || r.Error || !strings.HasPrefix(r.Text, "There are no open tasks.") {
			return plan{outcome: chat, say: formatLookup(results[0])}
		}
		p, _ := planLookup(func(more []done) plan {
			say := r.Text
			if m := more[0].result; m != nil && !m.Error && len(listLines(m.Text)) > 0 {
				say += "\n\n" + m.Text
			}
			return plan{outcome: chat, say: say}
		}, call{"list_reminders", nil})
		return p
	}, call{"list_tasks", args})
}

// mentionsTasks reports whether a question asks only for tasks.
func (w *intentDraft) mentionsTasks() bool {
	return slices.ContainsFunc(w.s.tokens, func(t token) bool {
		return w.g.lex.containsWord("own-kinds", t.norm) || strings.HasPrefix(t.norm, "to-do")
	})
}

// firstTask handles "which task is the most important?": the first open task by priority and date.
func firstTask(w *intentDraft) (plan, bool) {
	if !w.noLead() || len(w.allSpans()) > 0 {
		return noPlan()
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		list := slices.DeleteFunc(slices.Clone(f.list), func(r record) bool { return strings.Contains(r.details, " list") })
		sorting.StableByFunc(list, func(a, b record) int { return a.rankUrgency(w.s.now) - b.rankUrgency(w.s.now) })
		switch {
		case len(list) == 0:
			return plan{outcome: chat, say: f.withNotes("There are no open tasks.")}
		case list[0].rankUrgency(w.s.now) == leastUrgent:
			return plan{outcome: chat, say: "None of your tasks has a priority or a date:" + listRecords(list) + "\nTo rank one, say \"make ... urgent\"."}
		}
		return plan{outcome: chat, say: "The first one is: " + strings.TrimSuffix(list[0].title+" ("+list[0].details, " (") + map[bool]string{true: ")", false: ""}[list[0].details != ""] + "."}
	}, call{"list_tasks", nil})
}

// leastUrgent is the urgency of a task without a priority and a date.
const leastUrgent = 10

// rankUrgency orders tasks: overdue and critical ones first, then by priority, then those with a date.
func (r record) rankUrgency(now time.Time) int {
	for i, words := range []string{"critical priority", "high priority"} {
		if strings.Contains(r.details, words) {
			return i
		}
	}
	switch {
	case !r.at.IsZero() && r.at.Before(now.AddDate(0, 0, 1)):
		return 2
	case !r.at.IsZero():
		return 3
	case strings.Contains(r.details, "medium priority"):
		return 4
	}
	return leastUrgent
}

// taskFilter parses the conditions for a list of tasks.
func (w *intentDraft) taskFilter(c capture, args map[string]any) bool {
	if meaning, ok := w.g.lex.meaningOf("task-filters", w.s.normalizedText(c.from, c.to)); ok {
		if name, value, ok := strings.Cut(meaning, " "); ok {
			args[name] = value
		}
		return true
	}
	from, to, times := w.s.liftTimes(c.from, c.to)
	if len(times) > 0 && args["status"] == "done" { // a due date is not the day on which the task was done
		return false
	}
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
	return w.addFilter(capture{from: from, to: to}, args)
}

// listDueWithin lists the open tasks that are due in a range such as "next week".
func (w *intentDraft) listDueWithin(c capture) (plan, bool) {
	from, to, times := w.s.liftTimes(c.from, c.to)
	from, to = w.dropFilterWords(from, to)
	p, ok := w.rangeOf(times)
	if !ok || len(times) == 0 || from < to || w.hasSlot("status") || w.hasSlot("level") {
		return noPlan()
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		list := f.recordsWithin(p)
		say := "No open task is due " + whenPhrase(p) + "."
		if len(list) > 0 {
			say = "Due " + whenPhrase(p) + ":" + listRecords(list)
		}
		return plan{outcome: chat, say: f.withNotes(say)}
	}, call{"list_tasks", nil})
}

// dropFilterWords removes words such as "that are due" around a day.
func (w *intentDraft) dropFilterWords(from, to int) (int, int) {
	for from < to && w.g.lex.containsWord("task-filter-words", w.s.tokens[from].norm) {
		from++
	}
	return from, to
}

// addFilter parses conditions such as "in the Garden project" or "about the car".
func (w *intentDraft) addFilter(c capture, args map[string]any) bool {
	words := w.s.normalizedText(c.from, c.to)
	rest := w.s.originalText(c.from, c.to)
	head, tail, _ := strings.Cut(words, " ")
	_, own, _ := strings.Cut(rest, " ")
	switch head {
	case "in", "for", "under", "from", "of", "on":
		name := bareName(own)
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
		args["query"] = bareName(own)
		return own != ""
	case "that":
		return tail == "are open" || tail == "i have" || tail == "are left"
	case "i", "do", "have", "to":
		return words == "i have" || words == "do i have" || words == "to do" || words == "i have to do" || words == "i need to do" || words == "have i got"
	}
	return false
}

func whichDone(w *intentDraft) (plan, bool) {
	return w.whichOne("Which task is done?", "list_tasks", func(ref string) call { return call{"complete_task", argsOf("task", ref)} })
}

func doneTask(w *intentDraft) (plan, bool) {
	task := w.namedThing("task", "task", "todo", "to-do")
	if w.isAsking() || w.g.lex.containsWord("partial-words", strings.ToLower(firstField(task))) || task != "" && isDigit(task[0]) && w.hasKeyword("did") { // "i did 54 km"
		return noPlan()
	}
	if c, ok := w.captureOf("task"); ok { // "finish the report by friday" is a task
		if _, _, times := w.s.liftTimes(c.from, c.to); len(times) > 1 || len(times) == 1 && w.endOfSpan() != "" {
			return noPlan()
		}
		if sp, from := w.s.spanEnding(c.to); sp != nil && from > c.from {
			if t, err := readMatch(sp.match, w.s.now); err != nil || t.every != "" || t.at.After(w.s.now) {
				return noPlan()
			}
		}
	}
	if w.g.isUnspecific(task) || !w.noLead() {
		return whichDone(w)
	}
	return planCall("complete_task", argsOf("task", task))
}

func reopenTask(w *intentDraft) (plan, bool) {
	task := w.namedThing("task", "task", "todo", "to-do")
	if w.g.isUnspecific(task) {
		return planQuestion("Which task should I reopen?", fillBetween("reopen the task", ""))
	}
	if w.hasTimeAfter("task") {
		return noPlan()
	}
	return planCall("update_task", argsOf("task", task, "status", "open"))
}

func deleteTask(w *intentDraft) (plan, bool) {
	task := w.namedThing("task", "task", "todo", "to-do")
	if w.g.isUnspecific(task) || w.g.lex.containsWord("before-list", strings.ToLower(task)) || strings.EqualFold(task, "list") {
		return w.whichOne("Which task should I delete?", "list_tasks", func(ref string) call { return call{"delete_task", argsOf("task", ref)} })
	}
	return w.editOfDay("task", task, "list_tasks", func(ref string) call { return call{"delete_task", argsOf("task", ref)} })
}

func moveTask(w *intentDraft) (plan, bool) {
	task := thingName(w.slotString("task"), "task", "todo", "to-do")
	if task == "" || w.isAsking() {
		return noPlan()
	}
	if w.g.isUnspecific(task) {
		return planQuestion("Which task do you mean?", func(answer string) (string, bool) {
			return "move the task " + answer + " to " + w.slotString("time"), true
		})
	}
	again := func(when string) string { return "move the task " + task + " to " + when }
	if w.hasSlot("shift") && len(w.allSpans()) == 0 { // "by a week" is relative to a date that only the tool knows
		by, _ := w.shiftOf("shift")
		if w.slotNorm("way") == "earlier" || w.hasKeyword("forward") {
			by = -by
		}
		unknown, _ := planQuestion("To which day should I move it?", w.timeAnswer(again))
		return w.shiftRecord(task, by, unknown)
	}
	t, err := w.joinTimes(w.allSpans())
	switch {
	case err != nil:
		return w.askTime(err, "To which day?", again)
	case t.every != "" || t.vague:
		return planQuestion("To which day exactly?", w.timeAnswer(again))
	}
	if w.hasKeyword("task") || w.hasKeyword("todo") || w.hasKeyword("deadline") || w.hasKeyword("due") || w.depth > 0 {
		return planCall("update_task", argsOf("task", task, "due", t.dueDate()))
	}
	return w.editNamed(task, func(it item) (plan, bool) { return w.moveItem(it, t) })
}

// editNamed plans a change to the task or reminder that a name means. edit returns the plan for
// that record.
func (w *intentDraft) editNamed(name string, edit func(item) (plan, bool)) (plan, bool) {
	calls := w.g.lookupCalls(name)
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		var options []option
		for _, r := range w.g.matchRecords(f.list, name, false) {
			p, ok := edit(item{kind: r.kind, ref: r.selectAmong(f.list), line: r.fullLine()})
			if !ok {
				continue
			}
			p.accounted = true // the name of the record is not the user's word
			options = append(options, option{r.kind + ": " + r.showLine(), p})
		}
		switch len(options) {
		case 0:
			return plan{outcome: unknown, say: f.withNotes("I found no task or reminder for " + quoteText(name) + ", so I changed nothing.")}
		case 1:
			return options[0].plan
		}
		return planChoice(options)
	}, calls[:2]...)
}

// cancelNamed handles "cancel the dentist", which may be a reminder or a task.
func cancelNamed(w *intentDraft) (plan, bool) {
	name := thingName(w.slotString("text"))
	c, _ := w.captureOf("text")
	unclear := slices.ContainsFunc(w.s.tokens[c.from:c.to], func(t token) bool {
		return t.kind != word && t.kind != quoted || w.g.lex.containsWord("open-references", t.norm) || w.g.lex.containsWord("item-breakers", t.norm)
	})
	if _, isRef := w.g.lex.meaningOf("refs", strings.ToLower(name)); isRef || w.g.isOrdinal(name) || w.s.onlyWordsOf(c.from, c.to, "choice-words") {
		return noPlan()
	}
	if unclear || w.depth > 0 || !w.noLead() || w.isQuestion() || w.g.isUnspecific(name) || len(strings.Fields(name)) > maxItemWords || len(w.s.timesInside(0, len(w.s.tokens))) > 0 {
		return noPlan()
	}
	return w.editNamed(name, func(it item) (plan, bool) {
		return planCalls(deleteRecord(record{kind: it.kind}, it.ref))
	})
}

// maxNameWords is the maximum number of words in the name of a record; a longer one is another sentence.
const maxNameWords = 9

func renameTask(w *intentDraft) (plan, bool) {
	task, title := thingName(w.slotString("task"), "task", "todo", "to-do"), w.slotString("title")
	if w.g.isUnspecific(task) || title == "" || strings.ContainsAny(task, "/\\") {
		return noPlan()
	}
	return planCall("update_task", argsOf("task", task, "title", title))
}

func rankTask(w *intentDraft) (plan, bool) {
	task := thingName(w.slotString("task"), "task", "todo", "to-do")
	level, ok := w.g.lex.meaningOf("levels", w.slotNorm("priority"))
	if !w.hasSlot("priority") { // "prioritise the tax return"
		level, ok = "high", true
	}
	if !ok || w.isAsking() || len(strings.Fields(task)) > maxNameWords {
		return noPlan()
	}
	if w.g.isUnspecific(task) {
		return planQuestion("Which task do you mean?", fillBetween("make the task", level+" priority"))
	}
	return planCall("update_task", argsOf("task", task, "priority", level))
}

func fileTask(w *intentDraft) (plan, bool) {
	task, project := thingName(w.slotString("task"), "task", "todo", "to-do"), bareName(w.slotString("few_project"))
	if w.g.isUnspecific(task) || project == "" || strings.ContainsAny(task, "/\\") {
		return noPlan()
	}
	return planCall("update_task", argsOf("task", task, "project", project))
}
