package offline

import (
	"strings"

	"hob/platform/text/lazyregexp"
)

// ownNote matches the end of "a note for me that ...".
var ownNote = lazyregexp.New(`(?i)^(?:me|myself|self|us)\b`)

// whatToNote is the question for the text of a note.
const whatToNote = "What should the note say?"

func noteBuilders() map[string]builder {
	return map[string]builder{
		"note.again":  repeatNote,
		"note.add":    addNote,
		"note.titled": titledNote,
		"note.add.none": func(*intentDraft) (plan, bool) {
			return planQuestion(whatToNote, fillBetween("note:", ""))
		},
		"note.list":   listNotes,
		"note.append": appendNote,
		"note.delete": deleteNote,
	}
}

func addNote(w *intentDraft) (plan, bool) {
	text := w.slotString("text")
	if head := w.slotNorm("text"); strings.HasPrefix(head, "on my calendar") || strings.HasPrefix(head, "in my calendar") || strings.HasPrefix(head, "on the calendar") {
		return noPlan()
	}
	if w.hasKeyword("that") && strings.HasPrefix(strings.ToLower(text), "as ") { // "log that as rent"
		return noPlan()
	}
	if w.hasKeyword("for") && !ownNote.MatchString(text) { // "note for the remodel the fridge has to be white"
		text = "for " + text
	}
	lower := strings.ToLower(text)
	for _, head := range []string{"that ", "about ", "saying ", "of "} {
		if strings.HasPrefix(lower, head) {
			text = text[len(head):]
			break
		}
	}
	if w.g.isUnspecific(text) {
		return planQuestion(whatToNote, fillBetween("note:", ""))
	}
	return planCall("create_note", argsOf("text", text))
}

func titledNote(w *intentDraft) (plan, bool) {
	title := w.slotString("title") + w.slotString("quote_title")
	if title == "" {
		return noPlan()
	}
	return planCall("create_note", argsOf("title", title, "text", w.slotString("text")))
}

func listNotes(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	filter := w.slotString("filter")
	if note := bareName(w.slotString("few_note")); note != "" {
		return planCall("list_notes", argsOf("query", note))
	}
	head, tail, _ := strings.Cut(filter, " ")
	switch strings.ToLower(head) {
	case "":
		return planCall("list_notes", nil)
	case "about", "on", "for", "with", "mentioning", "containing", "regarding", "of", "from":
		return planCall("list_notes", argsOf("query", bareName(tail)))
	case "that":
		_, query, _ := strings.Cut(tail, " ")
		return planCall("list_notes", argsOf("query", bareName(query)))
	}
	return noPlan()
}

// appendNote adds text to a note. It also handles "add eggs to the shopping list", because a list
// other than the task list is a note.
func appendNote(w *intentDraft) (plan, bool) {
	note := bareName(w.slotString("note") + w.slotString("few_note"))
	if list := w.slotNorm("few_list"); list != "" {
		if w.g.lex.containsWord("no-note-lists", list) {
			return noPlan()
		}
		note = w.slotString("few_list") + " list"
	}
	if w.g.isUnspecific(note) {
		return noPlan()
	}
	text := w.slotString("text")
	if w.g.isUnspecific(text) {
		return planQuestion("What should I add?", func(answer string) (string, bool) {
			return "add " + answer + " to the note " + note, answer != ""
		})
	}
	return planCall("append_note", argsOf("note", note, "text", text))
}

func deleteNote(w *intentDraft) (plan, bool) {
	note := bareName(w.slotString("note"))
	if w.g.isUnspecific(note) {
		return planQuestion("Which note should I delete?", fillBetween("delete the note", ""))
	}
	return planCall("delete_note", argsOf("note", note))
}

// repeatNote handles "read it back" and "add a line to it" about the note that the conversation is about.
func repeatNote(w *intentDraft) (plan, bool) {
	list := w.findReferents()
	if len(list) != 1 || list[0].kind != "note" || !w.noLead() || w.isQuestion() && w.hasSlot("text") {
		return noPlan()
	}
	it := list[0]
	if w.hasSlot("text") {
		p, ok := planCall("append_note", argsOf("note", it.ref, "text", w.slotString("text")))
		p.accounted = true
		return p, ok
	}
	return planCall("list_notes", argsOf("query", it.ref))
}
