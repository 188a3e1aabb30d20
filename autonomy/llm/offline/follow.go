package offline

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

// followBuilders returns the builders of messages that refer to the conversation. Each of them
// declines if there is nothing to refer to.
func followBuilders() map[string]builder {
	return map[string]builder{
		"follow.when":     followWhen,
		"follow.hour":     followHour,
		"follow.minutes":  followMinutes,
		"follow.except":   followExcept,
		"follow.left":     followLeft,
		"follow.sum":      followSum,
		"follow.figure":   followFigure,
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
		"follow.resume":   func(w *intentDraft) (plan, bool) { return planReply(w.g.replyText("nothing-open")) },
	}
}

// findReferents returns the records that the slot "ref" names; without the slot, the record that the
// conversation mentioned last.
func (w *intentDraft) findReferents() []item {
	list := w.g.talk.mentionedItems()
	ref := w.slotNorm("ref")
	if m, ok := w.g.lex.meaningOf("refs", ref); ok {
		ref = m
	}
	switch ref {
	case "":
	case "both", "both of them", "the both":
		if len(list) != 2 {
			return nil
		}
		return list
	case "them", "all of them":
		return list
	case "it", "that", "this", "that one", "this one", "the last one":
	case "the reminder", "that reminder", "this reminder", "the alarm", "that alarm":
		list = slices.DeleteFunc(list, func(it item) bool { return it.kind != "reminder" })
	case "the appointment":
		list = slices.DeleteFunc(list, func(it item) bool {
			return it.kind != "reminder" && (it.made == nil || it.made.stringArg("due") == "")
		})
	case "the task", "that task", "this task":
		list = slices.DeleteFunc(list, func(it item) bool { return it.kind != "task" })
	default:
		it, ok := w.g.pickItem(list, ref)
		if !ok {
			return nil
		}
		return []item{it}
	}
	if len(list) != 1 {
		return nil
	}
	return list
}

// changeEach returns the plan that applies edit to each referent. edit returns false for a record that
// it cannot change.
func (w *intentDraft) changeEach(edit func(it item) (plan, bool)) (plan, bool) {
	list := w.findReferents()
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

// redoLast returns the plan that replaces the last action by the same one with other arguments.
func (w *intentDraft) redoLast(it item, args map[string]any) (plan, bool) {
	x, _ := w.g.talk.exchangeAgo(0)
	if it.made == nil || len(x.acts) != 1 || it.made != &x.acts[0] {
		return noPlan()
	}
	changed := maps.Clone(it.made.args)
	maps.Copy(changed, args)
	return plan{outcome: act, calls: []call{it.made.undoCall()}, then: []call{{it.made.tool, changed}}}, true
}

// undoCall returns the call that undoes p, and only p: the last action of the conversation may be
// another one, and p may have been undone already.
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

func followWhen(w *intentDraft) (plan, bool) {
	c, _ := w.captureOf("time")
	if c.span == nil || !w.noLead() || w.isQuestion() || w.beginsWithAnd() && !w.hasSlot("ref") {
		return noPlan()
	}
	t, err := readMatch(c.span.match, w.s.now)
	if err != nil || t.vague || t.none {
		return noPlan()
	}
	return w.changeEach(func(it item) (plan, bool) { return w.moveItem(it, t) })
}

// moveItem returns the plan that moves a record to t. A time of day alone keeps the day, and a day
// alone keeps the time of day.
func (w *intentDraft) moveItem(it item, t timing) (plan, bool) {
	onlyClock := t.clock && !t.part && w.isClockOnly(t)
	switch it.kind {
	case "reminder":
		if every := w.recurrenceOf(it); every != "" || t.every != "" {
			next, ok := mergeRecurrence(every, t)
			if !ok {
				return planQuestion("That reminder repeats. How often should I remind you, and at what time?", w.timeAnswer(func(when string) string { return "remind me " + when + " to " + it.ref }))
			}
			return planCall("update_reminder", argsOf("reminder", it.ref, "every", next))
		}
		at := t.dueDate()
		if onlyClock {
			at = w.nearestClock(t, it).Format("15:04")
		}
		return planCall("update_reminder", argsOf("reminder", it.ref, "at", at))
	case "task":
		if t.every != "" {
			return noPlan()
		}
		due := t.dueDate()
		if old, clock, _ := w.itemTime(it); clock && !t.clock { // a day alone keeps the time of day
			due = atClock(t.at, old).Format(time.RFC3339)
		}
		if it.made != nil && onlyClock {
			if day, err := time.ParseInLocation(time.DateOnly, firstTen(it.made.stringArg("due")), w.s.now.Location()); err == nil {
				due = time.Date(day.Year(), day.Month(), day.Day(), t.at.Hour(), t.at.Minute(), 0, 0, w.s.now.Location()).Format(time.RFC3339)
			}
		}
		return planCall("update_task", argsOf("task", it.ref, "due", due))
	case "expense", "habit":
		if t.every != "" || onlyClock {
			return noPlan()
		}
		day, err := w.pastDay(w.s.timesInside(0, len(w.s.tokens)))
		if err != nil {
			return noPlan()
		}
		return w.redoLast(it, argsOf("date", day))
	}
	return noPlan()
}

// nearestClock returns the time of day to which a record is moved. Without am or pm, it is in the half
// of the day that is nearer to the time so far: "no, 6:30" moves 7:00 to 6:30, and 17:00 to 18:30.
func (w *intentDraft) nearestClock(t timing, it item) time.Time {
	was, today := it.clockSoFar(w.s.now)
	clock := t.at
	if !today {
		clock = w.literalClock(t) // the time of day may be past today
	}
	if was < 0 || hasHalfOfDay.MatchString(t.phrase) {
		return clock
	}
	other := clock.Add(12 * time.Hour)
	minutes := func(at time.Time) int { return at.Hour()*60 + at.Minute() }
	far := func(at time.Time) int { return max(minutes(at)-was, was-minutes(at)) }
	isPast := today && minutes(other) <= minutes(w.s.now)
	if far(other) < far(clock) && !isPast {
		return other
	}
	return clock
}

// clockSoFar returns the time of day in minutes that this conversation gave a record, or -1. today is
// false if the record is due on another day.
func (it item) clockSoFar(now time.Time) (minutes int, today bool) {
	if it.made == nil {
		return -1, true
	}
	at := it.made.stringArg("at")
	if t, err := time.Parse(time.RFC3339, at); err == nil {
		t = t.In(now.Location())
		return t.Hour()*60 + t.Minute(), t.Format(time.DateOnly) <= now.Format(time.DateOnly)
	}
	if t, err := time.Parse("15:04", at); err == nil {
		return t.Hour()*60 + t.Minute(), true
	}
	return -1, firstTen(at) <= now.Format(time.DateOnly)
}

// hasHalfOfDay matches times of day that can mean only one half of the day.
var hasHalfOfDay = lazyregexp.New(`(?i)[ap]\.?m\b|noon|midnight|morning|afternoon|evening|night|\b(0\d|1[3-9]|2\d)(:|h|\b)`)

// literalClock returns the time of day of a phrase on a later day.
func (w *intentDraft) literalClock(t timing) time.Time {
	if m, err := dateparse.Parse("1 January 2099 at "+t.phrase, w.s.now); err == nil {
		return m.Time
	}
	return t.at
}

func firstTen(s string) string { return s[:min(10, len(s))] }

// recurrenceOf returns the recurrence of a reminder that this conversation created.
func (w *intentDraft) recurrenceOf(it item) string {
	if it.made == nil {
		return ""
	}
	return it.made.stringArg("every")
}

// isClockOnly reports whether the phrase names a time of day without a day.
func (w *intentDraft) isClockOnly(t timing) bool {
	onDay := func(day string) bool {
		m, err := dateparse.Parse(day+" at "+t.phrase, w.s.now)
		return err == nil && m.HasClock
	}
	if onDay("1 January 2030") && onDay("2 February 2031") && !strings.HasPrefix(strings.ToLower(t.phrase), "in ") {
		return true
	}
	return strings.Contains(strings.ToLower(t.phrase), "noon") || strings.Contains(strings.ToLower(t.phrase), "midnight")
}

// mergeRecurrence combines a recurrence with new days or a new time of day.
func mergeRecurrence(old string, t timing) (string, bool) {
	was, now := strings.Fields(old), strings.Fields(t.every)
	switch {
	case t.every != "" && (old == "" || strings.ContainsAny(t.phrase, "0123456789") || strings.Contains(t.phrase, "morning") || strings.Contains(t.phrase, "evening")):
		return t.every, true
	case len(was) != 5:
		return "", false
	case len(now) == 5:
		return strings.Join(append(slices.Clone(was[:2]), now[2:]...), " "), true
	case t.every == "" && t.clock:
		return strings.Join(append([]string{strconv.Itoa(t.at.Minute()), strconv.Itoa(t.at.Hour())}, was[2:]...), " "), true
	case t.every == "":
		return strings.Join([]string{was[0], was[1], "*", "*", strconv.Itoa(int(t.at.Weekday()))}, " "), was[4] != "*"
	}
	return "", false
}

// shiftOf returns the duration in a slot.
func (w *intentDraft) shiftOf(slot string) (time.Duration, bool) {
	return w.durationOf(w.slotString(slot))
}

func (w *intentDraft) durationOf(words string) (time.Duration, bool) {
	m, err := dateparse.Parse("in "+words, w.s.now)
	if err != nil {
		return 0, false
	}
	by := m.Time.Sub(w.s.now)
	if !m.HasClock {
		by = by.Round(time.Hour)
	}
	return by, true
}

func followShift(w *intentDraft) (plan, bool) {
	words := w.slotString("shift")
	by, ok := w.shiftOf("shift")
	if n, counted := w.numberOf("number"); w.hasSlot("few_unit") { // "5 more minutes", "another hour"
		if !counted {
			n = 1
		}
		by, ok = w.durationOf(formatFigure(n, 2) + " " + w.slotNorm("few_unit"))
	}
	if !ok || !w.noLead() {
		return noPlan()
	}
	switch w.slotNorm("way") {
	case "earlier":
		by = -by
	case "forward":
		return planQuestion("Should it be "+words+" earlier, or "+words+" later?", fillBetween("move it "+words, ""))
	}
	return w.changeEach(func(it item) (plan, bool) {
		if it.kind == "reminder" && w.recurrenceOf(it) == "" {
			return planCall("update_reminder", argsOf("reminder", it.ref, "shift", by.String()))
		}
		if it.kind == "task" && it.made != nil && it.made.stringArg("due") != "" {
			if due, err := time.Parse(time.RFC3339, it.made.stringArg("due")); err == nil {
				return planCall("update_task", argsOf("task", it.ref, "due", due.Add(by).Format(time.RFC3339)))
			}
			if due, err := time.Parse(time.DateOnly, it.made.stringArg("due")); err == nil && by%(24*time.Hour) == 0 {
				return planCall("update_task", argsOf("task", it.ref, "due", due.Add(by).Format(time.DateOnly)))
			}
		}
		return planQuestion("To which day and time should I move it?", nil)
	})
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
			return planReply("A reminder has no priority, so I changed nothing. A task has one.")
		}
		return noPlan()
	})
}

func followDelete(w *intentDraft) (plan, bool) {
	if w.hasKeyword("clear") && w.g.talk.openList() != "" { // the list, and not the item shown last
		return noPlan()
	}
	return w.changeEach(func(it item) (plan, bool) {
		switch it.kind {
		case "task":
			return planCall("delete_task", argsOf("task", it.ref))
		case "reminder":
			return planCall("cancel_reminder", argsOf("reminder", it.ref))
		}
		if x, _ := w.g.talk.exchangeAgo(0); it.made != nil && len(x.acts) == 1 && it.made == &x.acts[0] {
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
	it, found := w.g.talk.focusItem()
	if !ok || !found || it.kind != "expense" {
		return noPlan()
	}
	return w.redoLast(it, argsOf("amount", c.value, "currency", c.currency))
}

// followSwap handles "it's Lina, not Lena": it replaces one text by another in the last record.
func followSwap(w *intentDraft) (plan, bool) {
	old, fresh, ok := w.swapTexts()
	if !ok {
		return noPlan()
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

// swapTexts returns the old and the new text of a correction. Without a word between the two, a comma must
// separate them, or each is one word.
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
	// "remember that I meant Kaunas, not Vilnius" is no correction of one name
	return old, fresh, len(textnorm.FoldedWords(old)) > 0 && fresh != "" && len(strings.Fields(fresh)) <= len(strings.Fields(old))+1
}

// followText handles "no, dad" and "sorry, green paint": it replaces the last words of the record
// that the previous message created.
func followText(w *intentDraft) (plan, bool) {
	c, _ := w.captureOf("text")
	fresh := w.s.originalText(c.from, c.to)
	x, _ := w.g.talk.exchangeAgo(0)
	it, ok := w.g.talk.focusItem()
	if !ok || it.made == nil || len(x.acts) == 0 || w.isQuestion() || len(w.s.timesInside(c.from, c.to)) > 0 || w.g.lex.containsWord("reactions", w.s.firstWord(c.from)) {
		return noPlan()
	}
	if p := w.g.inDialogue(nil).planSingle(w.g.parseSentence(fresh, w.s.now), 0, false); p.intent != nil && p.intent.rank >= 0 {
		return noPlan()
	}
	text, ok := replaceTail(it.ref, fresh)
	if !ok {
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

// beginsWithAnd reports whether the message continues the previous one. "and" is a polite phrase, so
// it is not in the tokens.
func (w *intentDraft) beginsWithAnd() bool {
	for _, word := range strings.Fields(strings.ToLower(w.s.text)) {
		if word = strings.Trim(word, ",.!"); !w.g.lex.containsWord("interjections", word) {
			return slices.Contains([]string{"and", "also", "plus", "what", "how", "then"}, word)
		}
	}
	return false
}

// followSame repeats the last request, which created a record, for another time.
func followSame(w *intentDraft) (plan, bool) {
	x, ok := w.g.talk.exchangeAgo(0)
	if !ok || len(x.acts) == 0 || !x.acts[len(x.acts)-1].isEffectful() {
		return noPlan()
	}
	return w.repeatAt(x.own)
}

// followRepeat repeats the last question for another time.
func followRepeat(w *intentDraft) (plan, bool) {
	x, ok := w.g.talk.exchangeAgo(0)
	if !ok || len(x.acts) == 0 || !w.beginsWithAnd() || slices.ContainsFunc(x.acts, func(p pastCall) bool { return createdKinds[p.tool][0] != "" || slices.Contains(removedKinds, p.tool) }) {
		return noPlan()
	}
	return w.repeatAt(x.own)
}

// repeatAt plans an earlier message with another time.
func (w *intentDraft) repeatAt(own string) (plan, bool) {
	c, _ := w.captureOf("time")
	if c.span == nil {
		return noPlan()
	}
	alone := w.g.inDialogue(nil)
	s := alone.parseSentence(own, w.s.now)
	text := strings.TrimRight(own, "?!. ") + " " + c.span.originalPhrase()
	switch len(s.spans) {
	case 0:
	case 1:
		old := s.spans[0]
		phrase := c.span.originalPhrase()
		was, err1 := readMatch(old.match, w.s.now)
		next, err2 := readMatch(c.span.match, w.s.now)
		if it, ok := w.g.talk.focusItem(); ok {
			if at, clock, _ := w.itemTime(it); clock { // "wake me at 6" is in the morning
				was.at = at
			}
		}
		if err1 == nil && err2 == nil && was.clock && !was.part && !next.clock && next.every == "" && was.every == "" {
			phrase = "on " + next.at.Format(time.DateOnly) + " at " + was.at.Format("15:04")
		}
		from, to := s.tokens[old.from].start, s.tokens[old.to-1].end
		if core := withoutPreposition(own[from:to]); !strings.HasPrefix(phrase, "on ") { // keeps the "on" of "what's on today"
			from = to - len(core)
		}
		text = own[:from] + phrase + own[to:]
	default:
		return noPlan()
	}
	p := alone.planRequests(text, w.s.now, w.depth)
	return p, p.outcome == act || p.outcome == ask
}

// followNextDay repeats the last question for the day after its day.
func followNextDay(w *intentDraft) (plan, bool) {
	x, ok := w.g.talk.exchangeAgo(0)
	if !ok || len(x.acts) == 0 || !w.beginsWithAnd() || x.acts[len(x.acts)-1].isEffectful() {
		return noPlan()
	}
	alone := w.g.inDialogue(nil)
	s := alone.parseSentence(x.own, w.s.now)
	if len(s.spans) != 1 {
		return noPlan()
	}
	day, err := readMatch(s.spans[0].match, w.s.now)
	if err != nil || day.every != "" || day.vague {
		return noPlan()
	}
	from, to := s.tokens[s.spans[0].from].start, s.tokens[s.spans[0].to-1].end
	p := alone.planRequests(x.own[:from]+"on "+day.at.AddDate(0, 0, 1).Format(time.DateOnly)+x.own[to:], w.s.now, w.depth)
	return p, p.outcome == act || p.outcome == ask
}

// followMore continues the last request: "spent 8 on a sandwich", "and 3 on a coffee".
func followMore(w *intentDraft) (plan, bool) {
	x, ok := w.g.talk.exchangeAgo(0)
	if !ok || len(x.acts) == 0 || w.isQuestion() || !w.beginsWithAnd() {
		return noPlan()
	}
	alone := w.g.inDialogue(nil)
	before := alone.planRequests(x.own, w.s.now, 0)
	text := w.slotString("text")
	if before.intent == nil || before.intent.again == "" || !before.intent.canRepeat(text) {
		return noPlan()
	}
	if p := alone.planSingle(alone.parseSentence(text, w.s.now), 0, false); p.intent != nil && p.intent.rank >= 0 {
		return noPlan()
	}
	p := alone.planRequests(before.intent.again+" "+text, w.s.now, 0)
	return p, p.outcome == act && p.intent == before.intent
}

// chooseOne applies the last request, which several records match, to the one that the user names.
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
