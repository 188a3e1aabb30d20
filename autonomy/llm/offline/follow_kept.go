package offline

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"hob/platform/text/textnorm"
)

// lastRemoval returns the calls of the latest exchange with actions if they removed records.
func (d *dialogue) lastRemoval() (calls []*pastCall) {
	for n := range recent {
		x, ok := d.exchangeAgo(n)
		if !ok {
			return nil
		}
		for i := range x.acts {
			p := &x.acts[i]
			removed := slices.Contains(removedKinds, p.tool) && p.tool != "undo" && p.tool != "forget" || p.tool == "complete_task"
			switch {
			case p.lookup:
			case p.failed || !removed:
				return nil
			default:
				calls = append(calls, p)
			}
		}
		if len(calls) > 0 {
			return calls
		}
	}
	return nil
}

// followRestore handles "actually no, keep it" after a record was removed.
func followRestore(w *intentDraft) (plan, bool) {
	removed := w.g.talk.lastRemoval()
	if !w.noLead() || w.isQuestion() {
		return noPlan()
	}
	if it, ok := w.g.talk.focusItem(); ok && len(removed) == 0 && it.made != nil {
		return planReply("I removed nothing, so " + quoteText(it.ref) + " stays.")
	}
	out := plan{outcome: act, accounted: true}
	for _, p := range slices.Backward(removed) {
		out.calls = append(out.calls, p.undoCall())
	}
	return out, len(out.calls) > 0
}

// recordName returns the name of the record that a call created, changed or removed.
func (p *pastCall) recordName() string {
	return cmp.Or(p.stringArg("title"), p.stringArg("text"), p.stringArg("reminder"), p.stringArg("task"), p.stringArg("note"))
}

// followExists handles "so is it still there?": it looks the last record up.
func followExists(w *intentDraft) (plan, bool) {
	name := ""
	for n := 0; n < recent && name == ""; n++ {
		x, _ := w.g.talk.exchangeAgo(n)
		for _, p := range slices.Backward(x.acts) {
			if strings.HasSuffix(p.tool, "_reminder") || strings.HasSuffix(p.tool, "_task") {
				name = p.recordName()
				break
			}
		}
	}
	if name == "" || !w.noLead() {
		return noPlan()
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		for _, r := range f.list {
			if strings.EqualFold(r.title, name) {
				return plan{outcome: chat, say: upperFirst(r.kind) + " still there: " + r.showLine() + "."}
			}
		}
		return plan{outcome: chat, say: f.withNotes("There is no open task or reminder " + quoteText(name) + ".")}
	}, call{"list_reminders", nil}, call{"list_tasks", nil})
}

// followNth handles "what's the third thing?" about the records that were listed or added last.
func followNth(w *intentDraft) (plan, bool) {
	list := w.findReferents()
	if len(list) != 1 || !w.noLead() {
		return noPlan()
	}
	return planReply(upperFirst(w.slotNorm("ref")) + ": " + cmp.Or(list[0].line, list[0].ref) + ".")
}

// findExpense returns the only recent expense with these words.
func (w *intentDraft) findExpense(words []string) (found item, ok bool) {
	for n := range remembered {
		x, _ := w.g.talk.exchangeAgo(n)
		list, _ := x.listItems()
		for _, it := range list {
			if it.kind != "expense" || it.made == nil || !hasEveryWord(it.ref+" "+stringOf(it.made.args["vendor"]), words) {
				continue
			}
			if ok { // more than one
				return item{}, false
			}
			found, ok = it, true
		}
	}
	return found, ok
}

// followUnspend handles "remove the parking one": it undoes the only recent expense for these words.
func followUnspend(w *intentDraft) (plan, bool) {
	words := textnorm.FoldedWords(w.slotString("few_what"))
	expense, ok := w.findExpense(words)
	if !ok || len(words) == 0 || w.isQuestion() || !w.noLead() {
		return noPlan()
	}
	return plan{outcome: act, accounted: true, calls: []call{expense.made.undoCall()}}, true
}

// followEnd handles "stop that on the 10th" about a recurrence, which has no end.
func followEnd(w *intentDraft) (plan, bool) {
	it, ok := w.g.talk.focusItem()
	if !ok || it.kind != "reminder" || w.recurrenceOf(it) == "" || !w.noLead() || w.isQuestion() {
		return noPlan()
	}
	return planReply("A reminder repeats until you cancel it, so I changed nothing. Say \"cancel it\" then, or set single ones: \"remind me every day at 8 until 10 December to ...\".")
}

// moveNamed handles "change lunch to 1": it moves the record of the conversation with this name to a time of day, or
// asks which one is meant.
func (w *intentDraft) moveNamed(name, clock string) (plan, bool) {
	words := textnorm.FoldedWords(bareName(name))
	var options []option
	seen := map[string]bool{}
	for n := range remembered {
		x, _ := w.g.talk.exchangeAgo(n)
		list, _ := x.listItems()
		for _, it := range list {
			if it.kind != "reminder" && it.kind != "task" || seen[it.ref] || len(words) == 0 || !hasEveryWord(it.ref, words) {
				continue
			}
			seen[it.ref] = true
			p, ok := w.moveToPhrase(it, "at "+clock)
			if !ok || len(p.calls) != 1 {
				return p, ok && p.question != nil
			}
			p = plan{outcome: act, accounted: true, calls: []call{{p.calls[0].name, maps.Clone(p.calls[0].args)}}}
			options = append(options, option{cmp.Or(it.line, it.ref), p})
		}
	}
	switch len(options) {
	case 0:
		return noPlan()
	case 1:
		return options[0].plan, true
	}
	return planChoice(options), true
}

// followAlso handles "what about dad?" after "remind me to call mum tomorrow at 6": it offers the same for another person.
func followAlso(w *intentDraft) (plan, bool) {
	x, _ := w.g.talk.exchangeAgo(0)
	list, _ := x.listItems()
	who := w.slotString("few_who")
	if len(list) != 1 || list[0].kind != "reminder" || list[0].made == nil || !w.noLead() || len(w.s.allTimes()) > 0 {
		return noPlan()
	}
	at := list[0].made.stringArg("at")
	last := strings.Fields(strings.ToLower(list[0].ref))
	text, ok := replaceTail(list[0].ref, who)
	if !ok || at == "" || !w.g.isRole(strings.ToLower(bareName(who))) && who == strings.ToLower(who) || !w.g.isRole(last[len(last)-1]) && strings.HasSuffix(list[0].ref, last[len(last)-1]) {
		return noPlan()
	}
	return w.offerAgain(offer{text, []map[string]any{argsOf("at", at)}})
}

// followEnding handles "no, it ends 413": it replaces the last digits of the number in the fact that was stored last.
func followEnding(w *intentDraft) (plan, bool) {
	it, ok := w.g.talk.focusItem()
	end := w.slotString("number")
	if !ok || it.kind != "fact" || !w.noLead() || w.isQuestion() || strings.Trim(end, "0123456789") != "" {
		return noPlan()
	}
	was := strings.TrimRight(it.ref, ". ")
	if cut := len(was) - len(end); cut > 0 && strings.Trim(was[cut-1:], "0123456789") == "" {
		return w.redoLast(it, argsOf("text", was[:cut]+end))
	}
	return noPlan()
}

// wasTimer reports whether the conversation set a timer or an alarm that has a name.
func (d *dialogue) wasTimer() bool {
	for n := range recent {
		x, _ := d.exchangeAgo(n)
		if len(x.acts) > 0 && x.acts[0].tool == "create_reminder" {
			own := strings.ToLower(x.own)
			return strings.Contains(own, "timer") || strings.Contains(own, "alarm")
		}
	}
	return false
}
