package offline

import (
	"slices"
	"strconv"
	"strings"

	"hob/platform/text/textnorm"
)

func pickBuilders() map[string]builder {
	return map[string]builder{
		"drop.need": dropNeedless,
		"task.told": doneByStatement,
	}
}

// whichOne asks which record a request means. It lists the records of the tool, so that only the name or
// the number of one of them is an answer. edit changes the record.
func (w *intentDraft) whichOne(question, tool string, edit func(ref string) call) (plan, bool) {
	if w.depth > 0 {
		return planQuestion(question, nil)
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		if len(f.list) == 0 {
			kind := strings.Replace(strings.TrimSuffix(strings.TrimPrefix(tool, "list_"), "s"), "task", "open task", 1)
			return plan{outcome: chat, say: strings.TrimSpace("There is no " + kind + ", so I changed nothing. " + f.unreadText())}
		}
		return choiceOf(question, f.list, edit)
	}, call{tool, nil})
}

// hasTimeAfter reports whether a time follows the name in a slot: "the dentist saturday".
func (w *intentDraft) hasTimeAfter(slot string) bool {
	c, _ := w.captureOf(slot)
	from, to, times := w.s.liftTimes(c.from, c.to)
	return len(times) > 0 && from < to
}

// editOfDay plans an edit of the record that a slot names. A time after the name is the time of that record: a
// record of the same name on another day is not meant.
func (w *intentDraft) editOfDay(slot, name, tool string, edit func(ref string) call) (plan, bool) {
	if !w.hasTimeAfter(slot) {
		return planCalls(edit(name))
	}
	c, _ := w.captureOf(slot)
	_, _, times := w.s.liftTimes(c.from, c.to)
	t, err := w.joinTimes(times)
	if err != nil || t.every != "" || t.vague || t.none || w.depth > 0 {
		return planQuestion("I am not sure which day you mean, so I changed nothing. Can you say it without the time?", nil)
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		list := slices.DeleteFunc(w.g.matchRecords(f.list, name, false), func(r record) bool {
			return !r.repeats && !sameDay(r.at, t.at) || !r.repeats && t.clock && r.clock && !r.at.Equal(t.at)
		})
		switch {
		case len(list) == 1 && list[0].repeats:
			return plan{outcome: chat, say: quoteText(list[0].title) + " repeats, so I changed nothing. To end it, say it without the time; to leave out a day, say \"skip ...\" after showing it."}
		case len(list) == 0:
			return plan{outcome: chat, say: f.withNotes("I found no " + quoteText(name) + " for " + t.phrase + ", so I changed nothing.")}
		case len(list) == 1:
			return plan{outcome: act, accounted: true, calls: []call{edit(list[0].selectAmong(f.list))}}
		}
		return choiceOf("Which one do you mean?", list, edit)
	}, call{tool, nil})
}

// maxListed is the maximum number of records that a question lists. The user may also name a record
// that is not listed.
const maxListed = 12

// choiceOf returns a question that lists records, each of which edit changes.
func choiceOf(wording string, list []record, edit func(ref string) call) plan {
	var b strings.Builder
	options := make([]option, len(list))
	for i, r := range list {
		options[i] = option{r.showLine(), plan{outcome: act, accounted: true, calls: []call{edit(r.selectAmong(list))}}}
		switch {
		case i < maxListed:
			b.WriteString(strconv.Itoa(i+1) + ". " + r.showLine() + "\n")
		case i == maxListed:
			b.WriteString("... and " + strconv.Itoa(len(list)-i) + " more\n")
		}
	}
	return plan{outcome: ask, question: &question{text: b.String() + wording, options: options}}
}

// deleteRecord returns the call that deletes a task or a reminder.
func deleteRecord(r record, ref string) call {
	if r.kind == "reminder" {
		return call{"cancel_reminder", argsOf("reminder", ref)}
	}
	return call{"delete_task", argsOf("task", ref)}
}

// dropNeedless handles "I don't need to buy a ladder any more". It asks before it deletes the task or the
// reminder, because the sentence is a statement.
func dropNeedless(w *intentDraft) (plan, bool) {
	name := w.slotString("text")
	if !w.noLead() || w.depth > 0 || w.g.isUnspecific(name) || w.isQuestion() {
		return noPlan()
	}
	words := strings.Join(w.g.recordWords(name), " ")
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		found := w.g.matchRecords(f.list, name, false)
		if len(found) == 0 {
			return plan{outcome: chat, say: "I found no task or reminder for " + quoteText(name) + ", so I changed nothing."}
		}
		if len(found) == 1 {
			return planConfirmation("Should I delete the "+found[0].kind+" "+quoteText(found[0].title)+"?",
				plan{outcome: act, accounted: true, calls: []call{deleteRecord(found[0], found[0].selectAmong(found))}})
		}
		options := make([]option, len(found))
		for i, r := range found {
			options[i] = option{r.kind + ": " + r.showLine(), plan{outcome: act, accounted: true, calls: []call{deleteRecord(r, r.selectAmong(found))}}}
		}
		return planChoice(options)
	}, call{"list_tasks", argsOf("query", words)}, call{"list_reminders", argsOf("query", words)})
}

// doneByStatement handles "I've watered the plants": it completes the only open task that consists of
// these words.
func doneByStatement(w *intentDraft) (plan, bool) {
	verb, text := w.slotNorm("word_verb"), w.slotString("text")
	base, ok := w.g.baseForm(verb)
	if !ok || !w.noLead() || w.depth > 0 || w.isQuestion() || w.g.isUnspecific(text) || w.g.unexplainedText(w.g.parseSentence(text, w.s.now), true) != "" {
		return noPlan()
	}
	said := textnorm.FoldedWords(text)
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		var found []record
		for _, r := range f.list {
			words := textnorm.FoldedWords(r.title)
			if len(words) < 2 || !slices.Contains(base, words[0]) {
				continue
			}
			if containsAll(said, w.g.recordWords(strings.Join(words[1:], " "))) && containsAll(words, w.g.recordWords(text)) {
				found = append(found, r)
			}
		}
		if len(found) == 0 {
			return plan{outcome: chat, say: w.g.replyText("statement")}
		}
		complete := func(ref string) call { return call{"complete_task", argsOf("task", ref)} }
		if len(found) == 1 {
			return plan{outcome: act, accounted: true, calls: []call{complete(found[0].selectAmong(f.list))}}
		}
		return choiceOf("Which of these tasks is done?", found, complete)
	}, call{"list_tasks", nil})
}

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(word string) bool { return !slices.Contains(have, word) })
}

// baseForm returns the possible base forms of a verb in the past: "watered" is "water", "bought" is "buy".
func (g *grammar) baseForm(past string) ([]string, bool) {
	if base, ok := g.lex.meaningOf("past-forms", past); ok {
		return strings.Fields(base), true
	}
	stem, ok := strings.CutSuffix(past, "ed")
	if !ok || len(stem) < 2 || strings.HasSuffix(stem, "e") { // "need" is not the past
		return nil, false
	}
	forms := []string{stem, stem + "e"}
	if n := len(stem); stem[n-1] == stem[n-2] {
		forms = append(forms, stem[:n-1]) // "planned"
	}
	if head, ok := strings.CutSuffix(stem, "i"); ok {
		forms = append(forms, head+"y") // "emptied"
	}
	return forms, true
}
