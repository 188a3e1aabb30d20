package offline

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"hob/platform/text/textnorm"
)

// followBuilders returns the builders of messages that refer to the conversation. Each builder
// declines if the conversation contains nothing to refer to.
func followBuilders() map[string]builder {
	return map[string]builder{
		"follow.when":     followWhen,
		"follow.hour":     followHour,
		"follow.minutes":  followMinutes,
		"follow.half":     followHalf,
		"follow.except":   followExcept,
		"follow.left":     followLeft,
		"follow.sum":      followSum,
		"follow.figure":   followFigure,
		"follow.faraway":  countDaysTo,
		"follow.unit":     followUnit,
		"follow.shift":    followShift,
		"follow.priority": followPriority,
		"follow.delete":   followDelete,
		"follow.done":     followDone,
		"follow.amount":   followAmount,
		"follow.swap":     followSwap,
		"follow.text":     followText,
		"follow.same":     followSame,
		"follow.repeat":   followRepeat,
		"follow.next_day": followNextDay,
		"follow.more":     followMore,
		"follow.encore":   followEncore,
		"follow.rename":   followRename,
		"follow.restore":  followRestore,
		"follow.exists":   followExists,
		"follow.nth":      followNth,
		"follow.unspend":  followUnspend,
		"follow.end":      followEnd,
		"follow.also":     followAlso,
		"follow.ending":   followEnding,
		"follow.resume":   func(w *intentDraft) (plan, bool) { return planReply(w.g.replyText("nothing-open")) },
	}
}

// findReferents returns the records that the slot "ref" names. Without that slot, it returns the
// record that the conversation mentioned last.
func (w *intentDraft) findReferents() []item {
	list := w.g.talk.mentionedItems()
	ref := w.slotNorm("ref")
	if strings.Contains(ref, " just ") { // "the alarm I just set"
		noun := strings.Fields(bareName(ref))[0]
		ref = cmp.Or(map[string]string{"one": "it", "what": "it"}[noun], noun)
	}
	if m, ok := w.g.lex.meaningOf("refs", ref); ok {
		ref = m
	}
	if every, ok := strings.CutSuffix(ref, "s"); ok && (every == "task" || every == "reminder") {
		return w.g.ofKind(list, every)
	}
	switch ref {
	case "", "it":
	case "both":
		return w.g.talk.lastTwo()
	case "them":
		return list
	case "reminder", "task", "note", "expense", "alarm", "timer", "appointment":
		list = w.g.ofKind(list, ref)
	default:
		if w.g.isOther(ref) {
			return w.g.talk.otherItem(list)
		}
		if w.g.isOrdinal(ref) {
			return w.g.pickAround(list, ref)
		}
		it, ok := w.g.pickItem(list, ref)
		if !ok {
			return nil
		}
		return []item{it}
	}
	if len(list) != 1 {
		return nil
	}
	return w.g.talk.withTimes(list)
}

// ofKind returns the records of a kind. An alarm and a timer are reminders without a text, and
// an appointment is a reminder of something else or a task with a time.
func (g *grammar) ofKind(list []item, kind string) (out []item) {
	for _, it := range list {
		plain, _ := g.lex.meaningOf("plain-reminders", strings.ToLower(it.ref))
		switch kind {
		case "alarm", "timer":
			if it.kind != "reminder" || plain != kind {
				continue
			}
		case "appointment":
			if it.kind == "reminder" && plain != "" || it.kind != "reminder" && (it.made == nil || it.made.stringArg("due") == "") {
				continue
			}
		default:
			if it.kind != kind {
				continue
			}
		}
		out = append(out, it)
	}
	return out
}

// changeEach returns the plan that applies edit to each referent. edit returns false for a record that
// it cannot change.
func (w *intentDraft) changeEach(edit func(it item) (plan, bool)) (plan, bool) {
	list := w.findReferents()
	if p, ok := w.chooseReferent(list, edit); ok {
		return p, true
	}
	out := plan{outcome: act}
	for _, it := range list {
		p, ok := edit(it)
		if !ok {
			return noPlan()
		}
		if len(p.calls) == 0 {
			return p, true
		}
		out.calls, out.then = append(out.calls, p.calls...), append(out.then, p.then...)
	}
	out.accounted = true // the names of the records are not the user's words
	if len(list) > 2 {
		lines := make([]record, len(list))
		for i, it := range list {
			lines[i] = record{title: it.ref}
		}
		return planConfirmation("That is "+countRecords(lines, list[0].kind)+". Should I do that?", out), len(out.then) == 0
	}
	return out, len(list) > 0 && (len(list) == 1 || len(out.then) == 0)
}

// chooseReferent asks which record is meant if "it", "the other one" or "the second one" may refer to several records
// that were mentioned last.
func (w *intentDraft) chooseReferent(list []item, edit func(it item) (plan, bool)) (plan, bool) {
	ref := w.slotNorm("ref")
	said, ok := w.g.lex.meaningOf("refs", ref)
	place := w.g.isOrdinal(ref) || w.g.isOther(ref)
	if len(list) > 0 || w.depth > 0 || !(ok && said == "it") && !w.hasKeyword("due") && !place {
		return noPlan()
	}
	list = w.g.talk.mentionedItems()
	if place {
		list, _ = w.g.talk.listAround(list)
	}
	if len(list) < 2 || len(list) > maxNamed {
		return noPlan()
	}
	var options []option
	for _, it := range w.g.talk.withTimes(list) {
		p, ok := edit(it)
		if !ok || len(p.calls) == 0 || len(p.then) > 0 {
			return noPlan()
		}
		p.accounted = true
		options = append(options, option{cmp.Or(it.line, it.ref), p})
	}
	p := planChoice(options)
	p.question.text = strings.Replace(p.question.text, "Several match:", "I am not sure which one:", 1)
	return p, true
}

// redoLast returns the plan that replaces the last action by the same action with other arguments.
func (w *intentDraft) redoLast(it item, args map[string]any) (plan, bool) {
	if !w.g.talk.isLastAct(it) {
		return noPlan()
	}
	changed := maps.Clone(it.made.args)
	maps.Copy(changed, args)
	return plan{outcome: act, calls: []call{it.made.undoCall()}, then: []call{{it.made.tool, changed}}}, true
}

// isLastAct reports whether the only action of the latest message with actions, or its correction, made a record.
func (d *dialogue) isLastAct(it item) bool {
	for n := range recent {
		x, ok := d.exchangeAgo(n)
		if !ok || it.made == nil {
			return false
		}
		if len(x.acts) > 0 {
			return it.made == &x.acts[len(x.acts)-1] && (len(x.acts) == 1 || len(x.acts) == 2 && x.acts[0].tool == "undo")
		}
	}
	return false
}

// undoCall returns the call that undoes only p. An undo without an id would undo the last action of
// the conversation, which may be a different one, or undone already.
func (p *pastCall) undoCall() call { return call{"undo", argsOf("id", p.id)} }

// updateText returns the plan that gives a record another text.
func (w *intentDraft) updateText(it item, text string) (plan, bool) {
	switch it.kind {
	case "task":
		return planCall("update_task", argsOf("task", it.ref, "title", text))
	case "reminder":
		return planCall("update_reminder", argsOf("reminder", it.ref, "text", text))
	case "fact":
		return w.redoLast(it, argsOf("text", text))
	case "expense":
		return w.redoLast(it, argsOf("category", text))
	}
	return noPlan()
}

func followPriority(w *intentDraft) (plan, bool) {
	level, ok := w.g.lex.meaningOf("levels", w.slotNorm("priority"))
	if !ok || !w.noLead() {
		return noPlan()
	}
	return w.changeEach(func(it item) (plan, bool) {
		switch it.kind {
		case "task":
			return planCall("update_task", argsOf("task", it.ref, "priority", level))
		case "reminder":
			return planCall("update_reminder", argsOf("reminder", it.ref, "priority", level))
		}
		return noPlan()
	})
}

func followDelete(w *intentDraft) (plan, bool) {
	if w.hasKeyword("clear") && w.g.talk.openList() != "" { // the list, and not the item shown last
		return noPlan()
	}
	if w.hasKeyword("undo") && !w.hasKeyword("reminder") && !w.hasKeyword("task") { // the last action, and not the record
		return noPlan()
	}
	plainOnly := (w.hasKeyword("turn") || w.hasKeyword("switch") || w.hasKeyword("stop")) && w.slotNorm("ref") == "it"
	return w.changeEach(func(it item) (plan, bool) {
		if _, plain := w.g.lex.meaningOf("plain-reminders", strings.ToLower(it.ref)); plainOnly && !plain && !w.g.talk.wasTimer() && w.recurrenceOf(it) == "" {
			return noPlan()
		}
		switch it.kind {
		case "task":
			return planCall("delete_task", argsOf("task", it.ref))
		case "reminder":
			return planCall("cancel_reminder", argsOf("reminder", it.ref))
		case "note":
			return planCall("delete_note", argsOf("note", it.ref))
		}
		if w.g.talk.isLastAct(it) {
			return plan{outcome: act, calls: []call{it.made.undoCall()}}, true
		}
		return noPlan()
	})
}

func followDone(w *intentDraft) (plan, bool) {
	if w.isAsking() || w.isQuestion() {
		return noPlan()
	}
	return w.changeEach(func(it item) (plan, bool) {
		if it.kind != "task" {
			return noPlan()
		}
		return planCall("complete_task", argsOf("task", it.ref))
	})
}

func followAmount(w *intentDraft) (plan, bool) {
	c, ok := w.captureOf("amount")
	if what := bareName(w.slotNorm("few_what")); what != "" && ok {
		return w.redoExpense(textnorm.FoldedWords(what), c)
	}
	it, found := w.g.talk.focusItem()
	if !ok || !found || it.kind != "expense" {
		return noPlan()
	}
	return w.redoLast(it, argsOf("amount", c.value, "currency", c.currency))
}

// redoExpense handles "the shirt was 18": it replaces the only recent expense for these words.
func (w *intentDraft) redoExpense(words []string, amount capture) (plan, bool) {
	expense, ok := w.findExpense(words)
	if !ok || w.isQuestion() || !w.noLead() {
		return noPlan()
	}
	made := expense.made
	if old, stated := w.captureOf("amount_old"); stated && made.args["amount"] != any(old.value) { // "£12.40, not £14.20"
		return noPlan()
	}
	changed := maps.Clone(made.args)
	maps.Copy(changed, argsOf("amount", amount.value, "currency", amount.currency))
	return plan{outcome: act, accounted: true, calls: []call{made.undoCall()}, then: []call{{made.tool, changed}}}, true
}

// followSwap handles "it's Lina, not Lena": it replaces one text by another in the last record.
func followSwap(w *intentDraft) (plan, bool) {
	old, fresh, ok := w.swapTexts()
	if b, _ := w.captureOf("new"); !ok || len(w.s.timesInside(b.from, b.to)) > 0 && !w.hasKeyword("not") { // "change the dentist to saturday"
		return noPlan()
	}
	if isDigit(fresh[0]) && !strings.ContainsAny(old, "0123456789") { // "change lunch to 1" is a time and no text
		return w.moveNamed(old, fresh)
	}
	for n := range recent {
		x, _ := w.g.talk.exchangeAgo(n)
		list, _ := x.listItems()
		list = slices.DeleteFunc(list, func(it item) bool {
			return it.kind == "note" || !slices.Contains(textnorm.FoldedWords(it.ref), textnorm.FoldedWords(old)[0]) ||
				len(strings.ToLower(it.ref)) != len(it.ref) || strings.Count(strings.ToLower(it.ref), strings.ToLower(old)) != 1
		})
		if len(list) == 1 {
			it := list[0]
			i := strings.Index(strings.ToLower(it.ref), strings.ToLower(old))
			return w.updateText(it, it.ref[:i]+fresh+it.ref[i+len(old):])
		}
		if len(list) > 1 {
			break
		}
	}
	return noPlan()
}

// followRename handles "rename the second one to defrost the garage freezer".
func followRename(w *intentDraft) (plan, bool) {
	list := w.findReferents()
	c, _ := w.captureOf("text")
	if len(list) != 1 || !w.noLead() || w.isQuestion() || len(w.s.timesInside(c.from, c.to)) > 0 {
		return noPlan()
	}
	return w.updateText(list[0], w.s.originalText(c.from, c.to))
}

// swapTexts returns the old and the new text of a correction. If no word such as "not" separates
// the two texts, a comma must separate them, or each must be a single word.
func (w *intentDraft) swapTexts() (old, fresh string, ok bool) {
	a, _ := w.captureOf("old")
	b, _ := w.captureOf("new")
	if a.to == b.from || a.to < b.from && w.s.skipPunctuation(a.to) == b.from {
		cut := -1
		for i := a.from; i < b.to; i++ {
			if w.s.tokens[i].kind != punct {
				continue
			}
			if cut >= 0 {
				return "", "", false
			}
			cut = i
		}
		if cut < 0 && b.to-a.from > 2 {
			return "", "", false
		}
		if cut >= 0 {
			a.to, b.from = cut, cut+1
		}
	}
	old, fresh = w.s.originalText(a.from, a.to), w.s.originalText(b.from, b.to)
	if bareName(old+" x") == "x" || w.g.isOnlyReference(old) { // "not the bank"
		return "", "", false
	}
	// "remember that I meant Kaunas, not Vilnius" does not correct a single name
	return old, fresh, len(textnorm.FoldedWords(old)) > 0 && fresh != "" && len(strings.Fields(fresh)) <= len(strings.Fields(old))+1
}

// followText handles "no, dad" and "sorry, green paint": it replaces the last words of the record
// that the previous message created.
func followText(w *intentDraft) (plan, bool) {
	c, _ := w.captureOf("text")
	fresh := w.s.originalText(c.from, c.to)
	x, _ := w.g.talk.exchangeAgo(0)
	it, ok := w.g.talk.focusItem()
	if !ok || it.made == nil || len(x.acts) == 0 || w.isQuestion() || len(w.s.timesInside(c.from, c.to)) > 0 || w.g.lex.containsWord("reactions", w.s.firstWord(c.from)) || w.g.isOnlyReference(fresh) {
		return noPlan()
	}
	if p := w.g.inDialogue(nil).planSingle(w.g.parseSentence(fresh, w.s.now), 0, false); p.intent != nil && p.intent.rank >= 0 {
		return noPlan()
	}
	text, ok := replaceTail(it.ref, fresh)
	if !ok || len(strings.Fields(fresh)) == 1 && (w.g.lex.containsWord("task-verbs", strings.ToLower(fresh)) || w.g.lex.containsWord("person-heads", strings.ToLower(fresh))) { // "I meant text" after "call Tom"
		return noPlan()
	}
	return w.updateText(it, text)
}

// replaceTail replaces the last words of old by fresh. Either the two share a word in the same
// place, or fresh is a single name.
func replaceTail(old, fresh string) (string, bool) {
	was, now := strings.Fields(old), strings.Fields(fresh)
	if len(was) == 1 && len(now) > 1 && len(now) <= 3 && strings.EqualFold(was[0], now[len(now)-1]) && !strings.ContainsAny(fresh, "0123456789,") {
		return fresh, true // "cheese", "I mean cream cheese"
	}
	if len(now) == 0 || len(now) > 4 || len(now) >= len(was) || strings.ContainsAny(fresh, "0123456789") && len(now) == 1 {
		return "", false
	}
	tail := was[len(was)-len(now):]
	shared := 0
	for i := range now {
		if strings.EqualFold(tail[i], now[i]) {
			shared++
		}
	}
	lower := strings.ToLower(old)
	if shared == len(now) || shared == 0 && (len(now) > 1 || strings.Contains(lower, " and ") || strings.Contains(lower, ",")) {
		return "", false
	}
	return strings.Join(append(slices.Clone(was[:len(was)-len(now)]), now...), " "), true
}

// chooseOne applies the last request, which several records match, to the record that the user
// names.
func (g *grammar) chooseOne(text string) (plan, bool) {
	if g.talk == nil {
		return noPlan()
	}
	p, list := g.talk.openChoices()
	if len(list) == 0 {
		return noPlan()
	}
	picked := list
	if said := strings.Trim(strings.ToLower(text), " .!"); said != "both" && said != "all of them" && said != "both of them" {
		it, ok := g.pickItem(list, text)
		if !ok {
			return noPlan()
		}
		picked = []item{it}
	}
	out := plan{outcome: act}
	for _, it := range picked {
		args := maps.Clone(p.args)
		for _, name := range []string{"reminder", "task", "note", "query", "goal", "watcher", "schedule"} {
			if _, ok := args[name].(string); ok {
				args[name] = it.ref
				out.calls = append(out.calls, call{p.tool, args})
				break
			}
		}
	}
	return out, len(out.calls) == len(picked)
}
