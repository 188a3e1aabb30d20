package offline

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// beginsWithAnd reports whether the message continues the previous one. "and" is a polite phrase, so
// it is not in the tokens.
func (w *intentDraft) beginsWithAnd() bool {
	return w.beginsWith("continuing-words")
}

// beginsWith reports whether the first word of the message, after interjections, is in a list.
func (w *intentDraft) beginsWith(list string) bool {
	for _, word := range strings.Fields(strings.ToLower(w.s.text)) {
		if word = strings.Trim(word, ",.!"); !w.g.lex.containsWord("interjections", word) {
			return w.g.lex.containsWord(list, word)
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
	if !w.beginsWith("additional-words") && !slices.ContainsFunc([]string{"same", "again", "too", "well", "also"}, w.hasKeyword) {
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
		if it, ok := w.g.talk.focusItem(); ok && err2 == nil && it.kind == "reminder" {
			if next.every != "" { // "and the same every week"
				at, clock, day := w.itemTime(it)
				return w.repeatEvery(it, next, at, clock, day)
			}
			if rule := w.recurrenceOf(it); rule != "" && w.isClockOnly(next) { // "also at 8pm" after "every day at 8am"
				return w.repeatRule(it, rule, next)
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

// repeatEvery plans a repeating reminder like an earlier one, at the same time of day.
func (w *intentDraft) repeatEvery(it item, t timing, at time.Time, clock, day bool) (plan, bool) {
	args, ok := w.mergeEvery(t, at, clock, day)
	if !ok || it.made == nil {
		return noPlan()
	}
	args["text"] = it.ref
	p, _ := planCall("create_reminder", args)
	p.accounted = true
	return p, true
}

// repeatRule plans a repeating reminder like an earlier one, at another time of day.
func (w *intentDraft) repeatRule(it item, rule string, t timing) (plan, bool) {
	every, ok := mergeRecurrence(rule, t)
	if !ok {
		return noPlan()
	}
	p, _ := planCall("create_reminder", map[string]any{"text": it.ref, "every": every})
	p.accounted = true
	return p, true
}

// followNextDay repeats the last question for the following day.
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

// remindOfMore handles "and insurance on the 5th" after "remind me to pay rent on the 1st at 9": it offers
// the same reminder for another object and day.
func (w *intentDraft) remindOfMore(before plan) (plan, bool) {
	c, _ := w.captureOf("text")
	from, to, times := w.s.liftTimes(c.from, c.to)
	if before.outcome != act || before.question != nil || len(before.calls) != 1 || before.calls[0].name != "create_reminder" || to-from < 1 || to-from > 3 || len(times) != 1 || w.g.starters[w.s.firstWord(from)] {
		return noPlan()
	}
	made := pastCall{args: before.calls[0].args}
	was := made.stringArg("text")
	at, err := time.Parse(time.RFC3339, made.stringArg("at"))
	verb, _, more := strings.Cut(was, " ")
	t, wrong := readMatch(times[0].match, w.s.now)
	if err != nil || wrong != nil || !more || t.every != "" || t.vague || t.part {
		return noPlan()
	}
	text := w.s.originalText(from, to)
	if !t.clock {
		t.at = atClock(t.at, at.In(w.s.now.Location()))
	}
	if verb == strings.ToLower(verb) && (w.g.lex.containsWord("task-verbs", verb) || w.g.lex.containsWord("task-nouns", verb)) {
		text = verb + " " + text
	}
	if !t.at.After(w.s.now) || w.g.unexplainedText(w.g.parseSentence(text, w.s.now), true) != "" {
		return noPlan()
	}
	if w.g.isOnlyReference(w.s.originalText(from, to)) {
		return noPlan()
	}
	return w.offerAgain(offer{text, []map[string]any{argsOf("at", t.at.Format(time.RFC3339))}})
}

// repeatWith repeats a call with another end of its title: "one for Anna" after "buy a present for Tom".
func repeatWith(made pastCall, tail string) (plan, bool) {
	key := createdKinds[made.tool][1]
	title := made.stringArg(key)
	preposition, _, _ := strings.Cut(strings.ToLower(tail), " ")
	i := strings.LastIndex(strings.ToLower(title), " "+preposition+" ")
	if i < 0 || !made.isEffectful() || !strings.HasPrefix(made.tool, "create_") {
		return noPlan()
	}
	args := maps.Clone(made.args)
	args[key] = title[:i+1] + tail
	p, _ := planCall(made.tool, args)
	p.accounted = true
	return p, true
}

// carryRecordDay adds the day of the last reminder to a text whose only time is a time of day: "and at 11 have a
// brew" after a reminder for tomorrow.
func (w *intentDraft) carryRecordDay(text string) string {
	it, ok := w.g.talk.focusItem()
	s := w.g.parseSentence(text, w.s.now)
	if !ok || it.kind != "reminder" || it.made == nil || len(s.spans) != 1 || s.spans[0].match.Moment == nil {
		return text
	}
	sp := s.spans[0]
	at, _, day := w.itemTime(it)
	if !day || sameDay(at, w.s.now) || !isBareClock(sp.originalPhrase(), w.s.now) {
		return text
	}
	from, to := s.tokens[sp.from].start, s.tokens[sp.to-1].end
	head := strings.TrimSuffix(strings.TrimRight(text[:from], " "), " at")
	if strings.EqualFold(head, "at") {
		head = ""
	}
	return strings.TrimSpace(head + " on " + at.Format("2 January 2006") + " at " + withoutPreposition(sp.originalPhrase()) + text[to:])
}

// followMore continues the last request: "spent 8 on a sandwich", "and 3 on a coffee".
func followMore(w *intentDraft) (plan, bool) {
	x, ok := w.g.talk.exchangeAgo(0)
	if !ok || len(x.acts) == 0 || w.isQuestion() || !w.beginsWithAnd() {
		return noPlan()
	}
	alone := w.g.inDialogue(nil)
	before := alone.planRequests(x.own, w.s.now, 0)
	for n := 1; n < recent && (before.intent == nil || before.intent.again == ""); n++ { // after a correction such as "no, 27"
		last, _ := w.g.talk.exchangeAgo(n)
		if len(last.acts) == 0 || last.acts[len(last.acts)-1].tool != x.acts[len(x.acts)-1].tool {
			break
		}
		before = alone.planRequests(last.own, w.s.now, 0)
	}
	text := w.slotString("text")
	if p, ok := w.remindOfMore(before); ok {
		return p, true
	}
	if one, tail, _ := strings.Cut(text, " "); w.g.lex.containsWord("one-words", strings.ToLower(one)) {
		return repeatWith(x.acts[len(x.acts)-1], tail)
	}
	if before.intent == nil || before.intent.again == "" || !before.intent.canRepeat(text) {
		return noPlan()
	}
	if p := alone.planSingle(alone.parseSentence(text, w.s.now), 0, false); p.intent != nil && p.intent.rank >= 0 {
		return noPlan()
	}
	p := alone.planRequests(before.intent.again+" "+w.carryRecordDay(text), w.s.now, 0)
	last := &x.acts[len(x.acts)-1]
	for i, c := range p.calls { // "spent 22 pounds at Aldi yesterday", "and 6.40 at the butcher's"
		for _, name := range []string{"currency", "date"} {
			if kept := last.stringArg(name); c.name == "log_expense" && last.tool == c.name && kept != "" && c.args[name] == nil && !strings.Contains(strings.ToLower(w.s.text), "today") {
				c.args = maps.Clone(c.args)
				c.args[name] = kept
			}
		}
		p.calls[i] = c
	}
	return p, p.outcome == act && p.intent == before.intent
}

// followEncore repeats the answer to a request that Hob cannot do, such as "tell me a joke".
func followEncore(w *intentDraft) (plan, bool) {
	x, ok := w.g.talk.exchangeAgo(0)
	if !ok || len(x.acts) > 0 || strings.HasSuffix(x.reply, "?") {
		return noPlan()
	}
	p := w.g.inDialogue(nil).planRequests(x.own, w.s.now, w.depth)
	return p, p.outcome == unknown && p.say != "" && p.say == x.reply
}
