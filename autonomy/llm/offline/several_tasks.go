package offline

import (
	"slices"
	"strings"
)

// addThese adds each of the tasks after a colon: "I need to do these today: hoover, post the parcel".
func addThese(w *intentDraft) (plan, bool) {
	t, err := w.joinTimes(w.allSpans())
	titles := w.g.splitEnumeration(w.slotString("title"))
	if err != nil || t.every != "" || t.vague || w.isQuestion() || len(titles) == 0 {
		return noPlan()
	}
	out := plan{outcome: act, joined: true}
	for _, title := range titles {
		out.calls = append(out.calls, call{"create_task", argsOf("title", title, "due", t.dueDate())})
	}
	return out, true
}

// separateTasks splits "clean the fridge, call the plumber and renew my passport" into separate
// tasks. Each task must begin with a verb and name its object. The result is nil if a task refers
// to another task ("buy a card and send it to mum") or is a request to Hob. One or two words
// without a verb belong to the text before them.
func (w *intentDraft) separateTasks(text string) (tasks []string) {
	all := w.g.splitEnumeration(text)
	if len(all) < 2 {
		return all
	}
	if len(all) > 2 && !slices.ContainsFunc(all, func(piece string) bool { return !w.startsWithVerb(piece) || w.refersBack(piece) }) {
		return all // "call bank, email teacher and book MOT"
	}
	for _, piece := range all {
		for len(strings.Fields(piece)) > 2 && w.g.lex.containsWord("joints", strings.ToLower(strings.Fields(piece)[0])) {
			_, piece, _ = strings.Cut(piece, " ")
		}
		piece = strings.TrimPrefix(strings.TrimSpace(piece), "to ")
		switch last := len(tasks) - 1; {
		case w.isTaskText(piece):
			if last >= 0 && w.refersBack(piece) {
				return nil
			}
			tasks = append(tasks, piece)
		case last >= 0 && len(strings.Fields(piece)) <= 2 && !w.refersBack(piece):
			tasks[last] += " and " + piece
		default:
			return nil
		}
	}
	return tasks
}

// isTaskText reports whether a text begins with a verb and its object and is not a request to Hob.
func (w *intentDraft) isTaskText(text string) bool {
	words := strings.Fields(text)
	if len(words) < 2 {
		return false
	}
	verb, object := strings.ToLower(words[0]), strings.ToLower(words[1])
	named := object != words[1] || w.g.lex.containsWord("articles", object) || bareName(object+" x") == "x"
	if !w.g.lex.containsWord("task-verbs", verb) && !(named && w.g.lex.containsWord("task-nouns", verb)) {
		return false
	}
	alone := w.g.inDialogue(nil)
	p := alone.planSingle(alone.parseSentence(text, w.s.now), w.depth+1, false)
	return p.intent == nil || p.intent.rank < 0 || p.outcome == unknown || p.intent.name == "task.done"
}

// refersBack reports whether a text contains a word such as "it".
func (w *intentDraft) refersBack(text string) bool {
	named := false // "send Mrs Lunt her bill"
	return slices.ContainsFunc(strings.Fields(text), func(f string) bool {
		lower := strings.ToLower(strings.Trim(f, ".,!"))
		back := w.g.lex.containsWord("back-references", lower) && !(named && (lower == "her" || lower == "his" || lower == "him" || lower == "their"))
		named = named || f != strings.ToLower(f) && f != firstField(text)
		return back
	})
}

// addEach adds several tasks if some of them have their own time.
func (w *intentDraft) addEach(pieces []string, d textDetails) (plan, bool) {
	c, _ := w.captureOf("title")
	out := plan{outcome: act, joined: true}
	if slices.ContainsFunc(d.times, func(sp *span) bool { return sp.from < c.from }) {
		return planQuestion("I see several times in that. Please send one task at a time.", nil)
	}
	for _, piece := range w.separateTasks(w.s.originalText(c.from, c.to)) {
		p := w.g.inDialogue(nil).planRequests("add a task to "+piece, w.s.now, w.depth+1)
		if p.outcome != act || len(p.calls) != 1 || p.calls[0].name != "create_task" {
			return planQuestion("I see several times in that. Please send one task at a time.", nil)
		}
		out.calls = append(out.calls, p.calls[0])
	}
	return out, len(out.calls) == len(pieces)
}

// isPlural reports whether the words before the title refer to several tasks, as in "add tasks:
// milk, bread and eggs".
func (w *intentDraft) isPlural(title capture) bool {
	for _, t := range w.s.tokens[:title.from] {
		switch t.norm {
		case "tasks", "todos", "to-dos", "jobs", "chores":
			return true
		}
	}
	return false
}

// splitEnumeration splits an enumeration such as "a, b and c". A well-known pair such as "mac and cheese" is
// one item.
func (g *grammar) splitEnumeration(s string) []string {
	var out []string
	for _, line := range strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == ',' || r == ';' }) {
		var parts []string
		for _, part := range splitWord(line, " and ") {
			if last := len(parts) - 1; last >= 0 && g.isFixedPair(parts[last], part) {
				parts[last] += " and " + part
				continue
			}
			parts = append(parts, part)
		}
		for _, part := range parts {
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

// isFixedPair reports whether the last word of a and the first word of b are a well-known pair.
func (g *grammar) isFixedPair(a, b string) bool {
	head, tail := strings.Fields(strings.ToLower(a)), strings.Fields(strings.ToLower(b))
	if len(head) == 0 || len(tail) == 0 {
		return false
	}
	kind, ok := g.lex.meaningOf("fixed-pairs", head[len(head)-1]+" and "+strings.Trim(tail[0], ".!?"))
	return ok && (kind == "name" || len(tail) > 1) // "ham and cheese sandwiches"
}

// splitWord splits s at a separator in any case.
func splitWord(s, sep string) []string {
	lower := strings.ToLower(s)
	if len(lower) != len(s) {
		return strings.Split(s, sep)
	}
	var out []string
	for {
		i := strings.Index(lower, sep)
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s, lower = s[i+len(sep):], lower[i+len(sep):]
	}
}
