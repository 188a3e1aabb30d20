package offline

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

// timerTime parses "10 minute" in "a 10 minute timer", and the name in "10 minutes for the pasta".
func (w *intentDraft) timerTime(c capture) ([]*span, string) {
	s := w.g.parseSentence("in "+hoursMinutes.ReplaceAllString(w.s.originalText(c.from, c.to), "$1 hours and $2 minutes"), w.s.now)
	if len(s.spans) != 1 || s.spans[0].from > 1 {
		return nil, ""
	}
	from := s.spans[0].to
	if from >= len(s.tokens) {
		return s.allTimes(), "timer"
	}
	name := bareName(s.originalText(from+1, len(s.tokens)))
	second := slices.ContainsFunc(s.tokens[from:], func(t token) bool { return w.g.lex.containsWord("joints", t.norm) })
	if second || !w.g.lex.containsWord("timer-joiners", s.tokens[from].norm) || name == "" {
		return nil, ""
	}
	return s.allTimes(), name
}

// hoursMinutes matches "1h 20" and "1 hour 20".
var hoursMinutes = lazyregexp.New(`(?i)^(\d+) ?h(?:rs?|ours?)? (?:and )?(\d+)$`)

// askUnit asks for the unit of a length of time: "set a timer for 10".
func (w *intentDraft) askUnit(wish, figure string) (plan, bool) {
	if !parsesAsFigure(figure) || w.isQuestion() || !w.noLead() {
		return noPlan()
	}
	return planQuestion("Is that "+figure+" minutes?", func(answer string) (string, bool) {
		if w.g.isYes(answer, w.s.now) {
			answer = "minutes"
		}
		words := strings.Fields(strings.ToLower(strings.Trim(answer, " .!")))
		if len(words) == 0 {
			return "", false
		}
		unit := words[len(words)-1]
		_, ok := w.durationOf(figure + " " + unit)
		return wish + " " + figure + " " + unit, ok && len(words) < 4
	})
}

// severalTimers handles "set two timers, one for 3 minutes and one for 8 minutes" and "set alarms for 6 and
// 6:30".
func severalTimers(w *intentDraft) (plan, bool) {
	noun := strings.TrimSuffix(w.slotNorm("noun"), "s")
	pieces := w.g.splitEnumeration(w.slotString("text"))
	if !strings.HasSuffix(w.slotNorm("noun"), "s") && slices.ContainsFunc(pieces, func(s string) bool { return !isDigit(s[0]) }) { // "an alarm for 7 and 8"
		return noPlan()
	}
	if n, ok := w.numberOf("number"); ok && int(n) != len(pieces) || len(pieces) < 2 || !w.noLead() || w.isQuestion() {
		return noPlan()
	}
	_, unit, _ := strings.Cut(pieces[len(pieces)-1], " ")
	out := plan{outcome: act, joined: true, accounted: true}
	for _, piece := range pieces {
		wish, ok := w.g.wishForAnother(piece, noun, "", w.g.timerUnit(w.s.tokens))
		if !ok {
			wish = "set a " + noun + " for " + piece
		}
		if parsesAsFigure(piece) && noun == "timer" { // "for 5 and 10 minutes"
			wish += " " + unit
		}
		p := w.g.inDialogue(nil).planRequests(wish, w.s.now, w.depth+1)
		if day := dayAfterClock(pieces[len(pieces)-1]); p.outcome != act && day != "" { // "at 6:50 and at 7:10 tomorrow"
			p = w.g.inDialogue(nil).planRequests(wish+" "+day, w.s.now, w.depth+1)
		}
		if p.outcome != act || len(p.calls) != 1 || p.calls[0].name != "create_reminder" {
			return planQuestion("I am not sure how to read "+quoteText(piece)+" in that. I changed nothing. Can you say one "+noun+" at a time?", nil)
		}
		out.calls = append(out.calls, p.calls[0])
	}
	return out, true
}

// dayAfterClock returns the words after the time of day: "tomorrow" for "one at 7:10 tomorrow".
func dayAfterClock(piece string) string {
	words := strings.Fields(piece)
	i := slices.IndexFunc(words, func(s string) bool { return isDigit(s[0]) })
	if i < 0 {
		return ""
	}
	return strings.Join(words[i+1:], " ")
}

// wishForAnother returns the request that "another for 5 minutes" or "one at 7" stands for: the same kind of
// reminder with the same text at another time. unit is the unit of a timer's time if it names none.
func (g *grammar) wishForAnother(said, noun, text, unit string) (string, bool) {
	w := intentDraft{g: g, interpretation: interpretation{s: &sentence{text: said, lex: g.lex, tokens: splitTokens(said, g.lex)}}}
	slots, ok := w.tryEdge("prefix.another", capture{to: len(w.s.tokens)})
	if !ok {
		return "", false
	}
	rest := slots["rest"]
	when := w.s.originalText(rest.from, rest.to)
	if kind, ok := slots["noun"]; ok && w.s.normalizedText(kind.from, kind.to) != noun {
		return "", false
	}
	if noun == "timer" && parsesAsFigure(when) { // "another for 15"
		when += " " + unit
	}
	if noun == "timer" || noun == "alarm" {
		return "set a " + noun + " for " + when, true
	}
	if at, own, ok := g.cutOwnText(when); ok { // "one for 3pm to post the letter"
		return "remind me at " + at + " to " + own, true
	}
	return "remind me at " + when + " to " + strings.TrimSpace(text), text != ""
}

// cutOwnText splits "3pm to post the letter". The "to" of "quarter to 3" is part of the time.
func (g *grammar) cutOwnText(said string) (at, own string, ok bool) {
	words := strings.Fields(said)
	for i := 1; i+1 < len(words); i++ {
		_, number := g.lex.meaningOf("numbers", strings.ToLower(words[i+1]))
		if strings.EqualFold(words[i], "to") && !number && !isDigit(words[i+1][0]) {
			return strings.Join(words[:i], " "), strings.Join(words[i+1:], " "), true
		}
	}
	return "", "", false
}

// timerUnit returns the last unit of time in a message.
func (g *grammar) timerUnit(tokens []token) string {
	for _, t := range slices.Backward(tokens) {
		if unit, ok := g.lex.meaningOf("units", t.norm); ok && slices.Contains([]string{"seconds", "minutes", "hours"}, unit) {
			return unit
		}
	}
	return ""
}

// followAnother handles "and another one for 7": it repeats the reminder that the conversation is about.
func followAnother(w *intentDraft) (plan, bool) {
	it, ok := w.g.talk.focusItem()
	if !ok || it.kind != "reminder" || w.isQuestion() || !w.noLead() {
		return noPlan()
	}
	noun, plain := w.g.lex.meaningOf("plain-reminders", strings.ToLower(it.ref))
	for x, n := (exchange{}), 0; !plain && n < recent; n++ { // a timer with a name
		if x, ok = w.g.talk.exchangeAgo(n); !ok || len(x.acts) > 0 {
			for _, word := range textnorm.FoldedWords(x.own) {
				noun, plain = w.g.lex.meaningOf("plain-nouns", word)
				if plain {
					break
				}
			}
			break
		}
	}
	x, _ := w.g.talk.exchangeAgo(0)
	wish, ok := w.g.wishForAnother(w.slotString("text"), cmp.Or(noun, "reminder"), quoteFree(it.ref), w.g.timerUnit(splitTokens(x.own, w.g.lex)))
	if !ok {
		return noPlan()
	}
	p := w.g.inDialogue(nil).planRequests(wish, w.s.now, w.depth)
	if len(p.calls) == 1 && p.outcome == act {
		if text, _ := p.calls[0].args["text"].(string); text != "" && !strings.HasSuffix(strings.ToLower(wish), " to "+strings.ToLower(text)) && strings.HasPrefix(wish, "remind ") {
			return noPlan() // a word between the time and the text is not explained
		}
		dated := slices.ContainsFunc(w.s.allTimes(), func(sp *span) bool { return !isBareClock(sp.originalPhrase(), w.s.now) })
		if q, ok := w.askSameDay(p); ok && !dated {
			return q, true
		}
	}
	return p, p.outcome == act || p.outcome == ask
}

// askSameDay asks on which day a further reminder is if the record before it is on another day: after "tomorrow at
// 10", "and at 3pm ..." may mean tomorrow or today.
func (w *intentDraft) askSameDay(p plan) (plan, bool) {
	x, ok := w.g.talk.exchangeAgo(0)
	if len(x.acts) == 0 { // a message without an action is between
		x, ok = w.g.talk.exchangeAgo(1)
	}
	if !ok || len(p.calls) != 1 || len(x.acts) == 0 || x.acts[len(x.acts)-1].failed || x.acts[len(x.acts)-1].tool != "create_reminder" && x.acts[len(x.acts)-1].tool != "update_reminder" {
		return noPlan()
	}
	it, _ := w.g.talk.focusItem()
	said, _ := p.calls[0].args["at"].(string)
	at, err := time.Parse(time.RFC3339, said)
	if it.made == nil || err != nil || w.recurrenceOf(it) != "" {
		return noPlan()
	}
	before, _, day := w.itemTime(it)
	same := atClock(before, at.In(w.s.now.Location()))
	if !day || sameDay(before, at.In(w.s.now.Location())) || !sameDay(before, w.s.now.AddDate(0, 0, 1)) || !same.After(w.s.now) {
		return noPlan()
	}
	q := question{text: upperFirst(dateparse.Format(same, w.s.now)) + " or " + dateparse.Format(at.In(w.s.now.Location()), w.s.now) + "?"}
	for _, when := range []time.Time{same, at.In(w.s.now.Location())} {
		args := maps.Clone(p.calls[0].args)
		args["at"] = when.Format(time.RFC3339)
		q.options = append(q.options, option{dateparse.Format(when, w.s.now), plan{outcome: act, accounted: true, calls: []call{{"create_reminder", args}}}})
	}
	return plan{outcome: ask, question: &q}, true
}

// isRelative reports whether a time is relative to an unknown time, as in "10 minutes before the
// meeting".
func (w *intentDraft) isRelative(d textDetails) bool {
	for _, sp := range d.times {
		next := w.s.skipPunctuation(sp.to)
		if sp.owner == w.s && next < len(w.s.tokens) && sp.to == next {
			switch w.s.tokens[next].norm {
			case "before", "after":
				return true
			}
		}
	}
	return false
}

// severalTimes creates one reminder for each time: "at 9 and at 18:00" means two reminders.
func (w *intentDraft) severalTimes(d textDetails) (plan, bool) {
	if len(d.times) < 2 {
		return plan{}, false
	}
	out := plan{outcome: act}
	last := time.Time{}
	for i, sp := range d.times {
		if i > 0 && !w.joinedByAnd(d.times[i-1], sp) {
			return plan{}, false
		}
		t, err := w.joinTimes([]*span{sp})
		if err != nil || !t.clock || t.every != "" || !t.at.After(w.s.now) || t.at.Before(last) && !saysHalfOfDay(d.times[i-1].originalPhrase()) { // "at 9 and again at noon", said at 10
			return plan{}, false
		}
		last = t.at
		out.calls = append(out.calls, call{"create_reminder", argsOf("text", d.text, "at", t.rfc3339())})
	}
	return out, true
}

func (w *intentDraft) joinedByAnd(a, b *span) bool {
	if a.owner != w.s || b.owner != w.s {
		return false
	}
	and := false
	for _, t := range w.s.tokens[min(a.to, b.from):b.from] {
		if w.g.lex.containsWord("negations", t.norm) {
			return false
		}
		and = and || t.norm == "and"
	}
	return and
}

// timeLeft handles "how long is left on the pasta?".
func timeLeft(w *intentDraft) (plan, bool) {
	name := bareName(w.slotString("text"))
	kind, plain := w.g.lex.meaningOf("plain-nouns", strings.ToLower(name))
	if !w.noLead() || len(w.allSpans()) > 0 || !plain && w.g.isUnspecific(name) {
		return noPlan()
	}
	return planLookup(func(results []done) plan {
		f := readRecords(results, w.s.now)
		var list []record
		if plain {
			if list = w.g.plainRecords(f.list, kind); len(list) == 0 && kind == "timer" { // the timer may have a name
				list = f.recordsWithin(dateparse.Period{From: w.s.now, To: w.s.now.Add(12 * time.Hour)})
			}
		} else {
			list = w.g.matchRecords(f.list, name, false)
		}
		list = slices.DeleteFunc(list, func(r record) bool { return !r.clock || !r.at.After(w.s.now) })
		if len(list) == 0 {
			return plan{outcome: chat, say: f.withNotes("There is no timer or reminder for " + quoteText(name) + ".")}
		}
		var lines []string
		for _, r := range list {
			lines = append(lines, upperFirst(spellDuration(r.at.Sub(w.s.now)))+": "+r.showLine()+".")
		}
		return plan{outcome: chat, say: strings.Join(lines, "\n")}
	}, call{"list_reminders", nil})
}

// timerWith returns the time of a timer with another number of minutes: "make that 9" after a timer of 11 minutes.
func (w *intentDraft) timerWith(it item, minutes int) (string, bool) {
	x, _ := w.g.talk.exchangeAgo(0)
	m := timerMinutes.FindStringSubmatch(strings.ToLower(x.own))
	for n := 1; n < recent && len(x.acts) == 0; n++ { // a question may be between
		x, _ = w.g.talk.exchangeAgo(n)
		m = timerMinutes.FindStringSubmatch(strings.ToLower(x.own))
	}
	if m == nil || it.made == nil || it.made.tool != "create_reminder" {
		return "", false
	}
	old, _ := strconv.Atoi(m[1] + m[2] + m[3])
	at, err := time.Parse(time.RFC3339, it.made.stringArg("at"))
	at = at.Add(time.Duration(minutes-old) * time.Minute)
	return at.Format(time.RFC3339), err == nil && at.After(w.s.now)
}

// timerMinutes matches the only length of a timer.
var timerMinutes = lazyregexp.New(`^[^0-9]*timer[^0-9]*([0-9]+)[ -]?min[a-z]*[^0-9]*$|^[^0-9]*?([0-9]+)[ -]?min[a-z]* timer[^0-9]*$|^[^0-9]*\bin ([0-9]+)[ -]?min[a-z]*\b[^0-9]*$`)
