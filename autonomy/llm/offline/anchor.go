package offline

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
)

// anchor is a time relative to a record: "15 minutes before my dentist appointment", "the evening
// before the tax return is due", "after the team meeting".
type anchor struct {
	text   string // what to remind of; "" means the record
	names  []string
	before bool
	same   bool          // whether the lead is a part of the day of the record itself
	lead   time.Duration // if lead, days and part are not set, there is no lead
	days   int
	part   string  // "morning" or another part of the day
	daily  bool    // whether the name may mean something that happens every day, such as "lunch"
	times  []*span // times in the name: "my appointment at 3pm"
	day    []*span // times before the lead: "tomorrow 15 minutes before"
}

// isOpen reports whether the anchor has no lead, as in "before the meeting".
func (a anchor) isOpen() bool { return a.lead == 0 && a.days == 0 && a.part == "" }

// planAnchored plans a reminder relative to a record. The bool result is true if the sentence has an
// anchor.
func (w *intentDraft) planAnchored() (plan, bool) {
	a, ok := w.findAnchor()
	if !ok {
		return plan{}, false
	}
	again := func(when string) string { return "remind me " + when + " to " + w.anchorText(a, a.names[0]) }
	if len(a.times) > 0 {
		return w.planAtKnown(a, again), true
	}
	if first, _, _ := strings.Cut(strings.ToLower(a.names[0]), " "); w.g.lex.containsWord("pronouns", first) {
		p, _ := planQuestion("I cannot notice when "+quoteText(a.names[0])+" happens. At what time should I remind you?", w.timeAnswer(again))
		return p, true
	}
	short := a.names[len(a.names)-1]
	calls := append(w.g.lookupCalls(short), call{"recall", argsOf("query", bareName(short))})
	p, _ := planLookup(func(results []done) plan { return w.planFromRecords(a, readRecords(results, w.s.now)) }, calls...)
	return p, true
}

// planFromRecords plans the reminder when the records are known.
func (w *intentDraft) planFromRecords(a anchor, f foundRecords) plan {
	var found []record
	name := a.names[0]
	for i, n := range a.names {
		if found = w.futureRecords(w.g.matchRecords(f.list, n, i == len(a.names)-1), a); len(found) > 0 {
			name = n
			break
		}
	}
	if len(found) == 0 && len(a.names) > 1 {
		name = a.names[1]
	}
	if len(a.names) > 1 && name == a.names[0] { // "before the flight to Oslo" has no text besides the anchor
		a.text = ""
	}
	again := func(when string) string { return "remind me " + when + " to " + w.anchorText(a, name) }
	if len(found) == 0 {
		say := "I found no " + quoteText(bareName(name)) + " with a date in your reminders, tasks and calendar."
		if note := f.unreadText(); note != "" {
			say += " " + note
		}
		p, _ := planQuestion(say+" When should I remind you?", w.timeAnswer(again))
		return p
	}
	if a.isOpen() && a.before {
		p, _ := planQuestion("How long before "+quoteText(bareName(found[0].title))+" should I remind you?", func(answer string) (string, bool) {
			lead := strings.TrimSuffix(strings.TrimSpace(strings.Trim(answer, ".! ")), " before")
			_, ok := w.parseLead(lead)
			return "remind me " + lead + " before " + name + " to " + w.anchorText(a, name), ok
		})
		return p
	}
	options := make([]option, len(found))
	for i, r := range found {
		options[i] = option{r.showLine(), w.remindAround(a, r, name)}
	}
	if len(options) == 1 {
		return options[0].plan
	}
	return planChoice(options)
}

// futureRecords returns the records that have a time in the future, without duplicates.
func (w *intentDraft) futureRecords(list []record, a anchor) (out []record) {
	day, err := w.joinTimes(a.day)
	for _, r := range list {
		same := slices.ContainsFunc(out, func(o record) bool { return o.at.Equal(r.at) })
		made := slices.ContainsFunc(list, func(o record) bool { return o.clock && r.title == o.anchoredTitle() })
		past := made || r.at.IsZero() || r.clock && !r.at.After(w.s.now) || !r.clock && r.at.Before(startOfDay(w.s.now))
		if !same && !past && (!a.daily || sameDay(r.at, w.s.now)) && (len(a.day) == 0 || err == nil && sameDay(day.at, r.at)) {
			out = append(out, r)
		}
	}
	return out
}

// remindAround plans the reminder for one record.
func (w *intentDraft) remindAround(a anchor, r record, name string) plan {
	text := a.text
	if text == "" {
		if text = r.anchoredTitle(); r.kind == "fact" {
			if text = bareName(name); a.days > 0 && a.before { // the reminder rings on another day
				text += r.at.Format(" on 2 January")
			}
		}
	}
	again := func(when string) string { return "remind me " + when + " to " + text }
	base := r.at
	if !a.before && r.end.After(base) {
		base = r.end
	}
	sign := 1
	if a.before {
		sign = -1
	}
	day := base.AddDate(0, 0, sign*a.days)
	switch {
	case a.part != "":
		if !a.same {
			day = base.AddDate(0, 0, sign)
		}
		m, err := dateparse.Parse(day.Format("2 January 2006")+" in the "+a.part, w.s.now)
		if err != nil {
			p, _ := w.askTime(err, "At what time should I remind you?", again)
			return p
		}
		return w.remindOnce(a.text, text, m.Time, again)
	case !r.clock:
		t := timing{at: day.Add(time.Duration(sign) * a.lead)}
		if a.days == 0 && !a.isOpen() {
			t.at = base
		}
		title := bareName(r.title)
		if r.kind == "fact" {
			title = bareName(name)
		}
		p, _ := planQuestion(quoteText(title)+" is on "+r.at.Format("Monday, 2 January")+". At what time on "+t.at.Format("2 January")+" should I remind you?", w.clockAnswer(t, again))
		return p
	}
	return w.remindOnce(a.text, text, day.Add(time.Duration(sign)*a.lead), again)
}

// anchoredTitle returns the text of a reminder that is named after the record.
func (r record) anchoredTitle() string {
	if !r.clock || r.named {
		return bareName(r.title)
	}
	return bareName(r.title) + " at " + r.at.Format("15:04")
}

// remindOnce plans a reminder at a known time. own is the part of the text that the user wrote.
func (w *intentDraft) remindOnce(own, text string, when time.Time, again func(string) string) plan {
	if !when.After(w.s.now) {
		p, _ := planQuestion(upperFirst(dateparse.Format(when, w.s.now))+" has already passed. When should I remind you?", w.timeAnswer(again))
		return p
	}
	c := call{"create_reminder", argsOf("text", text, "at", when.Format(time.RFC3339))}
	if rest := w.g.unexplainedText(w.g.parseSentence(own, w.s.now), true); own != "" && rest != "" {
		return w.askAbout(c, text, rest)
	}
	return plan{outcome: act, calls: []call{c}, accounted: true}
}

// planAtKnown plans a reminder before or after an event whose time is in the sentence.
func (w *intentDraft) planAtKnown(a anchor, again func(string) string) plan {
	t, err := w.joinTimes(a.times)
	if err == nil && a.isOpen() && !t.none && !t.vague && !t.part && t.every == "" {
		return w.askBeforeKnown(t, again)
	}
	if err != nil || !t.clock && a.part == "" || t.every != "" || t.part || a.isOpen() {
		p, _ := w.askTime(err, "At what time should I remind you?", again)
		return p
	}
	r := record{title: bareName(a.names[0]), at: t.at, clock: t.clock}
	if _, _, end := w.s.liftTimes(a.times[0].from, a.times[0].to); len(end) > 0 && strings.HasSuffix(r.title, a.times[0].originalPhrase()) {
		r.named = true
	}
	if (a.days > 0 || a.part != "" && !a.same) && a.before { // the reminder rings on another day
		r.title, r.named = r.title+" on "+t.at.Format("Mon 2 Jan"), true
		if t.clock {
			r.title += " at " + t.at.Format("15:04")
		}
	}
	return w.remindAround(a, r, a.names[0])
}

// askBeforeKnown asks when to remind of something before an event at a known time. The answer may be a length of time
// before the event. A time of day alone is one on the day of the event.
func (w *intentDraft) askBeforeKnown(t timing, again func(string) string) plan {
	p, _ := planQuestion("At what time should I remind you?", func(answer string) (string, bool) {
		if head, ok := strings.CutSuffix(strings.Trim(strings.ToLower(answer), " .!"), " before"); ok {
			lead, ok := w.parseLead(head)
			at := t.at.AddDate(0, 0, -lead.days).Add(-lead.lead)
			if !ok || lead.part != "" || !at.After(w.s.now) || !t.clock && lead.lead > 0 {
				return "", false
			}
			if !t.clock {
				return again("on " + at.Format(time.DateOnly)), true
			}
			return again("on " + at.Format("2 January 2006 at 15:04")), true
		}
		phrase := w.timeIn(answer)
		if phrase != "" && isBareClock(phrase, w.s.now) {
			phrase = "on " + t.at.Format(time.DateOnly) + " at " + withoutPreposition(phrase)
		}
		return again(phrase), phrase != ""
	})
	return p
}

// anchorText returns what a reminder is about.
func (w *intentDraft) anchorText(a anchor, name string) string {
	if a.text != "" {
		return a.text
	}
	return bareName(name)
}

// findAnchor parses the anchor of a reminder.
func (w *intentDraft) findAnchor() (anchor, bool) {
	c, ok := w.captureOf("text")
	if !ok {
		return anchor{}, false
	}
	for _, other := range w.caps {
		c.from = min(c.from, other.from)
	}
	for i := c.from; i < c.to; i++ {
		way, n := w.anchorWay(i, c.to)
		if way == "" || i+n >= c.to || w.insideTime(i) {
			continue
		}
		a := anchor{before: way == "before"}
		from := i
		for j := max(c.from, i-6); j < i; j++ {
			if lead, ok := w.parseLead(w.s.originalText(j, i)); ok {
				lead.before, lead.same = a.before, way == "of"
				a, from = lead, j
				break
			}
		}
		if a.isOpen() && (way == "of" || w.s.spanAt(i+n) != nil) || a.part == "" && way == "of" {
			continue
		}
		if w.fillAnchor(&a, c, from, i+n) {
			return a, true
		}
	}
	return anchor{}, false
}

// addBefore handles "my train leaves at 18:40, remind me 25 minutes before".
func addBefore(w *intentDraft) (plan, bool) {
	c, _ := w.captureOf("event")
	lead, ok := w.parseLead(w.slotString("lead"))
	times := w.s.timesInside(c.from, c.to)
	if !ok || len(times) != 1 || !w.noLead() || w.isQuestion() {
		return noPlan()
	}
	lead.before, lead.times = w.slotNorm("way") != "after", times
	second, twice := w.parseLead(w.slotString("lead_b"))
	if w.hasSlot("lead_b") && !twice {
		return noPlan()
	}
	second.before, second.times = true, times
	for c.to > times[0].to && (w.s.tokens[c.to-1].kind == punct || w.g.lex.containsWord("event-tails", w.s.tokens[c.to-1].norm)) { // "at 4 so can you remind me ..."
		c.to--
	}
	asks := false
	if verb := w.s.firstWord(c.from); w.g.lex.containsWord("entering-verbs", verb) { // "add the dentist on 9 December at 11:20": the verb is no part of the event
		asks = verb == "book" // or the user books it at that time
		c.from++
		for c.from < times[0].from-1 && w.g.lex.containsWord("entering-tails", w.s.tokens[c.from].norm) {
			c.from++
		}
	}
	if first := w.s.firstWord(c.from); w.g.lex.containsWord("event-leads", first) { // "basically I need to be at the vet's"
		for c.from < times[0].from-1 && (w.s.tokens[c.from].kind == punct || w.g.lex.containsWord("event-leads", w.s.tokens[c.from].norm)) {
			c.from++
		}
	}
	if tail := times[0].to; tail < c.to && !w.g.lex.containsWord("tail-heads", w.s.tokens[tail].norm) && w.s.tokens[tail].kind != punct { // words between the event and the request
		return noPlan()
	}
	title := upperFirst(bareName(w.s.originalText(c.from, c.to)))
	if tail := w.s.originalText(times[0].to, c.to); tail != "" { // "train to Leeds is at 17:48 on Friday from platform 3"
		end := times[0].from
		for end > c.from+1 && (w.g.lex.containsWord("linking-verbs", w.s.tokens[end-1].norm) || w.g.lex.containsWord("prepositions", w.s.tokens[end-1].norm)) {
			end--
		}
		title = upperFirst(bareName(w.s.originalText(c.from, end))) + " " + tail
	}
	if phrase := times[0].originalPhrase(); strings.HasSuffix(title, phrase) && !isBareClock(phrase, w.s.now) { // the day is another when the reminder rings
		if short := trimPreposition(strings.TrimSpace(strings.TrimSuffix(title, phrase))); short != "" {
			title = strings.TrimSuffix(strings.TrimSuffix(short, " is"), " are")
		}
	}
	lead.names = []string{title}
	again := func(when string) string { return "remind me " + when + " to " + title }
	p := w.planAtKnown(lead, again)
	if twice {
		second.names = lead.names
		more := w.planAtKnown(second, again)
		if p.outcome != act || more.outcome != act {
			return noPlan()
		}
		p.calls = append(p.calls, more.calls...)
	}
	p.joined = true
	if q, ok := w.g.readBack(p, w.s.now); ok && asks && p.outcome == act {
		return q, true
	}
	return p, true
}

// anchorWay returns the meaning of the anchor word at token i and its number of tokens.
func (w *intentDraft) anchorWay(i, end int) (way string, n int) {
	for n := 2; n >= 1; n-- {
		if i+n <= end {
			if way, ok := w.g.lex.meaningOf("anchor-ways", w.s.normalizedText(i, i+n)); ok {
				return way, n
			}
		}
	}
	return "", 0
}

// insideTime reports whether token i is part of a time, as in "before Friday".
func (w *intentDraft) insideTime(i int) bool {
	return slices.ContainsFunc(w.s.spans, func(sp span) bool { return sp.from <= i && i < sp.to })
}

// parseLead parses the words before "before": "15 minutes", "a day", "the evening".
func (w *intentDraft) parseLead(s string) (anchor, bool) {
	words := textnorm.FoldedWords(s)
	if len(words) == 0 || len(words) > 6 {
		return anchor{}, false
	}
	bare := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return w.g.lex.containsWord("lead-words", word) })
	if len(bare) == 1 {
		switch {
		case w.g.lex.containsWord("day-parts", bare[0]):
			return anchor{part: bare[0]}, true
		case bare[0] == "day":
			return anchor{days: 1}, true
		case bare[0] == "week":
			return anchor{days: 7}, true
		}
	}
	m, err := dateparse.Parse("in "+strings.Join(words, " "), w.s.now)
	if err != nil { // "about an hour", "just 10 minutes"
		m, err = dateparse.Parse("in "+strings.Join(bare, " "), w.s.now)
	}
	if err != nil {
		return anchor{}, false
	}
	last := words[len(words)-1]
	by := m.Time.Sub(w.s.now)
	if strings.HasPrefix(last, "day") || strings.HasPrefix(last, "week") {
		return anchor{days: int((by + 12*time.Hour) / (24 * time.Hour))}, by > 0
	}
	if strings.HasPrefix(last, "month") || strings.HasPrefix(last, "year") {
		return anchor{}, false
	}
	return anchor{lead: by.Round(time.Minute)}, by >= time.Minute
}

// fillAnchor parses the words around an anchor word: before it the text of the reminder, and after
// it the name of the record. The record's time and the text of the reminder may follow the name.
func (w *intentDraft) fillAnchor(a *anchor, c capture, from, at int) bool {
	start, end, day := w.s.liftTimes(c.from, from)
	for start < end && w.g.lex.containsWord("lead-words", w.s.tokens[end-1].norm) {
		end--
	}
	a.text, a.day = withoutTo(w.s.originalText(start, end)), append(w.lead, day...)
	if a.isOpen() && len(a.day) > 0 || len(w.s.timesInside(start, end)) > 0 {
		return false
	}
	if w.g.isUnspecific(a.text) {
		a.text = ""
	}
	for _, other := range w.s.tokens[at:c.to] {
		if other.kind != word && other.kind != punct && other.kind != quoted {
			return false
		}
	}
	stop := c.to
	if it, ok := w.g.talk.focusItem(); a.text == "" && w.s.tokens[at].norm == "to" && w.beginsAction(at+1) { // "remind me two hours before to get the wine"
		if a.text = w.s.originalText(at+1, c.to); ok && (it.kind == "reminder" || it.kind == "task") {
			a.names = append(a.names, it.ref)
		}
		return len(a.names) > 0
	}
	if a.text == "" {
		for i := at + 1; i < c.to-1; i++ {
			if n := w.s.tokens[i].norm; (n == "to" || n == "that") && w.beginsAction(i+1) {
				stop = i
				break
			}
		}
	}
	for _, to := range []int{c.to, stop} {
		x, y, times := w.s.liftTimes(at, to)
		name := w.recordName(x, y)
		if it, ok := w.g.talk.focusItem(); ok && w.g.isUnspecific(name) && (it.kind == "reminder" || it.kind == "task" || it.kind == "event") {
			name = it.ref
		}
		if name == "" || w.g.isUnspecific(name) || slices.Contains(a.names, name) {
			continue
		}
		a.names, a.times = append(a.names, name), times
	}
	if stop < c.to && len(a.names) > 0 {
		if a.text = w.s.originalText(stop+1, c.to); len(a.times) > 0 { // the time belongs to the event, so its name ends before the text
			a.names = a.names[len(a.names)-1:]
		}
	}
	if name := bareName(w.s.originalText(at, c.to)); len(a.names) > 0 {
		last := a.names[len(a.names)-1]
		a.daily = bareName(last) == last && strings.HasPrefix(name, last) && last == strings.ToLower(last) && len(strings.Fields(last)) == 1
	}
	return len(a.names) > 0
}

// beginsAction reports whether the words from token i on can state an action. "to Oslo" and "to the
// airport" cannot: they belong to the name of a record.
func (w *intentDraft) beginsAction(i int) bool {
	first := w.s.originalText(i, i+1)
	return first == strings.ToLower(first) && !w.g.lex.containsWord("belonging", first)
}

// recordName returns the name of a record without a verb at its end, as in "the tax return is due".
func (w *intentDraft) recordName(from, to int) string {
	for to > from && (w.s.tokens[to-1].kind == punct || w.g.lex.containsWord("anchor-verbs", w.s.tokens[to-1].norm) || to > from+1 && w.g.lex.containsWord("relative-words", w.s.tokens[to-1].norm)) {
		to--
	}
	return w.s.originalText(from, to)
}
