package offline

import "strings"

func noteBuilders() map[string]builder {
	return map[string]builder{
		"note.add":      addNote,
		"note.titled":   titledNote,
		"note.add.none": func(*wish) (plan, bool) { return asking("What should the note say?", fill("note:", "")) },
		"note.list":     listNotes,
		"note.append":   appendNote,
		"note.delete":   deleteNote,
	}
}

func addNote(w *wish) (plan, bool) {
	text := w.text("text")
	lower := strings.ToLower(text)
	for _, head := range []string{"that ", "about ", "saying ", "of "} {
		if strings.HasPrefix(lower, head) {
			text = text[len(head):]
			break
		}
	}
	if anything(text) {
		return asking("What should the note say?", fill("note:", ""))
	}
	return calling("create_note", arguments("text", text))
}

func titledNote(w *wish) (plan, bool) {
	title := w.text("title") + w.text("quote_title")
	if title == "" {
		return not()
	}
	return calling("create_note", arguments("title", title, "text", w.text("text")))
}

func listNotes(w *wish) (plan, bool) {
	if !w.noLead() {
		return not()
	}
	filter := w.text("filter")
	head, tail, _ := strings.Cut(filter, " ")
	switch strings.ToLower(head) {
	case "":
		return calling("list_notes", nil)
	case "about", "on", "for", "with", "mentioning", "containing", "regarding", "of", "from":
		return calling("list_notes", arguments("query", bare(tail)))
	case "that":
		_, query, _ := strings.Cut(tail, " ")
		return calling("list_notes", arguments("query", bare(query)))
	}
	return not()
}

// appendNote also handles "add eggs to the shopping list": a list other than the task list is a
// note.
func appendNote(w *wish) (plan, bool) {
	note := bare(w.text("note") + w.text("few_note"))
	if list := w.norm("few_list"); list != "" {
		switch list {
		case "todo", "to-do", "to do", "task", "tasks", "reminder", "watch":
			return not()
		}
		note = w.text("few_list") + " list"
	}
	if anything(note) {
		return not()
	}
	text := w.text("text")
	if anything(text) {
		return asking("What should I add?", func(answer string) (string, bool) {
			return "add " + answer + " to the note " + note, answer != ""
		})
	}
	return calling("append_note", arguments("note", note, "text", text))
}

func deleteNote(w *wish) (plan, bool) {
	note := bare(w.text("note"))
	if anything(note) {
		return asking("Which note should I delete?", fill("delete the note", ""))
	}
	return calling("delete_note", arguments("note", note))
}
