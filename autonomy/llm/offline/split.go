package offline

import (
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
)

// severalReminders handles one sentence with several reminders: "call mum at 5pm and dad at 6pm",
// "tomorrow at 8 to feed the cat, at 9 to ring the vet". Each piece must have its own time of day.
// The bool result is true if the sentence has the form of several reminders, even if a piece is
// unclear; the plan then asks.
func (w *intentDraft) severalReminders(c capture) (plan, bool) {
	pieces := w.timedPieces(c)
	if len(pieces) < 2 {
		return plan{}, false
	}
	for _, piece := range pieces[1:] { // a complete request of another kind is not a reminder
		p := w.g.planSingle(w.g.parseSentence(piece, w.s.now), w.depth, false)
		if p.intent != nil && p.intent.rank >= 0 && p.outcome != unknown && p.intent.name != "task.done" {
			return plan{}, false
		}
	}
	lead := w.leadPhrase(c)
	out := plan{outcome: act, joined: true}
	first, verb, day := "", "", ""
	for i, piece := range pieces {
		s := w.g.parseSentence(piece, w.s.now)
		phrase, text := lead, strings.TrimSpace(piece)
		if i > 0 || lead == "" {
			if len(s.spans) != 1 {
				return w.askSeveral()
			}
			sp := s.spans[0]
			phrase = sp.originalPhrase()
			head := trimPreposition(s.originalText(0, sp.from))
			if _, start := s.spanEnding(sp.to); start > 0 { // "put the oven on at 17:00"
				head = s.originalText(0, start)
			}
			text = strings.TrimSpace(head + " " + s.originalText(sp.to, len(s.tokens)))
		}
		m, err := dateparse.Parse(phrase, w.s.now)
		if day != "" { // "tomorrow at 8 ..., at 9 ...": the day is shared
			if n, derr := dateparse.Parse(day+" at "+withoutPreposition(phrase), w.s.now); derr == nil && n.HasClock && isBareClock(phrase, w.s.now) {
				m, err = n, nil
			}
		}
		if err != nil || !m.HasClock || !m.Time.After(w.s.now) {
			return w.askSeveral()
		}
		whole := text
		text = withoutTo(text)
		if i == 0 {
			first = text
			verb, _, _ = strings.Cut(text, " ")
			if !sameDay(m.Time, w.s.now) {
				day = m.Time.Format(time.DateOnly)
			}
		} else if w.g.containsOnly("repeat-words", text) { // "and again at 10"
			text = first
		} else if len(strings.Fields(text)) == 1 && whole == text { // "and dad": the verb is shared
			text = verb + " " + text
		}
		if w.g.isUnspecific(text) {
			return w.askSeveral()
		}
		out.calls = append(out.calls, call{"create_reminder", argsOf("text", text, "at", m.Time.Format(time.RFC3339))})
	}
	return out, true
}

// remindOfTask plans "i need to ring the dentist, remind me at 2" as one reminder, and "put it on my list and remind me
// about it at 2" as a task and a reminder of it.
func (sp *splitter) remindOfTask(before *sentence, left, right plan, text string) (plan, bool) {
	if right.question == nil || len(right.calls) > 0 || !right.intent.isReminder() {
		return noPlan()
	}
	if right.question.text == remindOfWhat && left.question != nil && left.question.offer != nil {
		p, ok := sp.remindOfOffer(before, *left.question.offer, text)
		p.intent = right.intent
		return p, ok
	}
	if right.question.text != remindOfWhat {
		return sp.remindBeforeNeed(before, left, right, text)
	}
	if next := left.next; next != nil { // "put milk on my list and remind me about it"
		left.next = func(results []done) plan {
			first := next(results)
			first.intent = left.intent
			if p, ok := sp.remindOfTask(before, first, right, text); ok {
				return p
			}
			return joinPlans(first, right)
		}
		return left, true
	}
	if left.outcome != act || left.question != nil || len(left.calls) != 1 || left.calls[0].name != "create_task" {
		return noPlan()
	}
	made := pastCall{args: left.calls[0].args}
	title, phrase := quoteFree(made.stringArg("title")), ""
	due, err := time.Parse(time.RFC3339, made.stringArg("due"))
	for _, t := range sp.g.parseSentence(sp.carryDay(before, text, true), sp.now).allTimes() {
		phrase += " " + t.originalPhrase()
	}
	switch {
	case phrase != "" && err == nil:
		title += " at " + due.In(sp.now.Location()).Format("15:04")
	case phrase == "" && err == nil:
		phrase = " on " + due.In(sp.now.Location()).Format("2 January 2006 at 15:04")
	case phrase == "" && made.stringArg("due") != "":
		phrase = " on " + made.stringArg("due")
	}
	p := sp.g.planSingle(sp.g.parseSentence("remind me"+phrase+` to "`+title+`"`, sp.now), sp.depth, false)
	switch {
	case p.outcome != act && p.outcome != ask:
		return noPlan()
	case sp.g.lex.containsWord("own-needs", before.firstWord(0)):
		return p, true
	}
	return joinPlans(left, p), true
}

// remindOfOffer plans "take out the bins tonight, remind me at 9" as one reminder, and offers "dentist on Friday at 10,
// remind me at 9" for that day.
func (sp *splitter) remindOfOffer(before *sentence, o offer, text string) (plan, bool) {
	days, clocks := before.allTimes(), sp.g.parseSentence(text, sp.now).allTimes()
	if len(days) != 1 || len(clocks) != 1 {
		return noPlan()
	}
	phrase := clocks[0].originalPhrase()
	if !strings.ContainsAny(days[0].originalPhrase(), "0123456789") {
		p := sp.g.planSingle(sp.g.parseSentence("remind me "+days[0].originalPhrase()+" "+phrase+` to "`+quoteFree(o.text)+`"`, sp.now), sp.depth, false)
		return p, p.outcome == act
	}
	w := &intentDraft{g: sp.g, depth: sp.depth, interpretation: interpretation{s: before}}
	event, clock, day := w.itemTime(offeredItem(o.times[0]))
	m, err := dateparse.Parse(event.Format("2 January 2006 at ")+withoutPreposition(phrase), sp.now)
	if !clock || !day || err != nil || !m.HasClock || !isBareClock(phrase, sp.now) || !m.Time.Before(event) {
		return noPlan()
	}
	at := m.Time
	if later := at.Add(12 * time.Hour); !saysHalfOfDay(phrase) && later.Before(event) { // "party at 20:00, remind me at 7"
		at = later
	}
	return w.offerAgain(offer{o.text + " (" + event.Format("15:04") + ")", []map[string]any{argsOf("at", at.Format(time.RFC3339))}})
}

// isReminder reports whether an intent creates a reminder.
func (in *intent) isReminder() bool { return strings.HasPrefix(in.name, "reminder.add") }

// remindBeforeNeed plans "i've got to leave at 8:20, remind me 15 before" as one reminder. If the second part is not
// understood, it asks, because the statement alone is no request for a task.
func (sp *splitter) remindBeforeNeed(before *sentence, left, right plan, text string) (plan, bool) {
	if left.outcome != act || len(left.calls) != 1 || left.calls[0].name != "create_task" || !sp.g.lex.containsWord("own-needs", before.firstWord(0)) {
		return noPlan()
	}
	if lower := " " + strings.ToLower(text) + " "; strings.Contains(lower, " to ") || strings.Contains(lower, " about ") { // another reminder
		return noPlan()
	}
	made := pastCall{args: left.calls[0].args}
	title := quoteFree(made.stringArg("title"))
	due, err := time.Parse(time.RFC3339, made.stringArg("due"))
	w := &intentDraft{g: sp.g, depth: sp.depth, interpretation: interpretation{s: sp.g.parseSentence(text, sp.now)}}
	if m := leadAtEnd.FindStringSubmatch(strings.ToLower(text)); m != nil && err == nil {
		words := m[1]
		if parsesAsFigure(words) {
			words += " minutes"
		}
		due = due.In(sp.now.Location())
		if lead, ok := w.parseLead(words); ok && lead.part == "" && due.AddDate(0, 0, -lead.days).Add(-lead.lead).After(sp.now) {
			p, _ := planCall("create_reminder", argsOf("text", title+" at "+due.Format("15:04"), "at", due.AddDate(0, 0, -lead.days).Add(-lead.lead).Format(time.RFC3339)))
			p.intent, p.accounted = right.intent, true
			return p, true
		}
	}
	p, _ := planQuestion("When should I remind you of "+quoteText(title)+"?", w.timeAnswer(func(when string) string { return "remind me " + when + ` to "` + title + `"` }))
	p.intent = right.intent
	return p, true
}

// leadAtEnd matches a request for a reminder before a time that is already known.
var leadAtEnd = lazyregexp.New(`^(?:and |so |please )*(?:remind|ping|nudge|warn|tell) me (?:about it |of it )?([a-z0-9 ]+?) (?:before|beforehand|earlier|before that|in advance)(?: please)?[ .!]*$`)

func (w *intentDraft) askSeveral() (plan, bool) {
	p, _ := planQuestion("I see several times in that. Please send one reminder at a time. What should the first one be?", func(answer string) (string, bool) {
		return "remind me to " + strings.TrimPrefix(answer, "remind me to "), answer != ""
	})
	return p, true
}

// leadPhrase returns the time before the text of a reminder.
func (w *intentDraft) leadPhrase(c capture) string {
	phrase := ""
	for _, sp := range w.allSpans() {
		phrase += " " + sp.originalPhrase()
	}
	_, _, times := w.s.liftTimes(c.from, c.to)
	for _, sp := range times {
		if sp.from <= w.s.skipPunctuation(c.from)+1 {
			phrase += " " + sp.originalPhrase()
		}
	}
	return strings.TrimSpace(phrase)
}

// timedPieces splits a text at "and" and commas if each piece after the first one has a time.
func (w *intentDraft) timedPieces(c capture) (out []string) {
	from := c.from
	cut := func(to int) {
		out = append(out, w.s.originalText(from, to))
	}
	for i := c.from + 1; i < c.to; i++ {
		next, ok := w.s.jointAt(i)
		if !ok || next >= c.to {
			continue
		}
		end := c.to
		for j := next + 1; j < c.to; j++ {
			if _, ok := w.s.jointAt(j); ok {
				end = j
				break
			}
		}
		if len(w.s.timesInside(next, end)) == 0 || len(w.s.timesInside(from, i)) == 0 && w.leadPhrase(c) == "" || w.onlyTimes(next, end) {
			continue
		}
		cut(i)
		from = next
		i = next
	}
	cut(c.to)
	return out
}

// trimPreposition removes a preposition of time from the end of s.
func trimPreposition(s string) string {
	for _, p := range []string{" on", " at", " by", " for"} {
		s = strings.TrimSuffix(s, p)
	}
	return s
}

// onlyTimes reports whether the tokens [from, to) consist only of times, as in "at 9 and at 18:00".
func (w *intentDraft) onlyTimes(from, to int) bool {
	a, b, times := w.s.liftTimes(from, to)
	return len(times) > 0 && a >= b
}

func withoutTo(text string) string {
	for _, head := range []string{"to ", "about ", "that ", "of "} {
		if strings.HasPrefix(strings.ToLower(text), head) {
			return text[len(head):]
		}
	}
	return text
}

func sameDay(a, b time.Time) bool { return a.Format(time.DateOnly) == b.Format(time.DateOnly) }

// isBareClock reports whether a phrase names a time of day but no day.
func isBareClock(phrase string, now time.Time) bool {
	m, err := dateparse.Parse("2031-03-10 at "+withoutPreposition(phrase), now)
	return err == nil && m.HasClock && m.Time.Year() == 2031
}
