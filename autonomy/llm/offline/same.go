package offline

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

// replaceSame replaces "the same time" and "the same day" by the time or day of the record that the
// conversation is about, or of the reminder that the open question offers. If there is none, it removes the phrase, so
// that Hob asks for the time: read alone, the phrase would mean the present time of day.
func (g *grammar) replaceSame(q *question, text string, now time.Time) string {
	found := ""
	for phrase := range g.lex.lists["same-times"] {
		if i := indexPhrase(text, phrase); i >= 0 && len(phrase) > len(found) {
			found = phrase
		}
	}
	if found == "" || g.talk == nil {
		return text
	}
	w := intentDraft{g: g, interpretation: interpretation{s: g.parseSentence(text, now)}}
	it, ok := g.talk.focusItem()
	switch {
	case q == nil:
	case q.offer != nil && len(q.offer.times) == 1:
		it, ok = offeredItem(q.offer.times[0]), true
	case q.agree != nil && len(q.agree.calls) == 1:
		c := q.agree.calls[0]
		it, ok = item{made: &pastCall{tool: c.name, args: c.args}}, true
	}
	at, clock, day := w.itemTime(it)
	if x, asked := g.talk.exchangeAgo(0); !ok && asked { // "what day is the 19th?"
		if spans := g.parseSentence(x.own, now).allTimes(); len(spans) == 1 && spans[0].match.Moment != nil && spans[0].match.Moment.Grain == dateparse.Day {
			at, clock, day, ok = spans[0].match.Moment.Time, false, true, true
		}
	}
	with, when := "at "+at.Format("15:04"), w.s.allTimes()
	alone := len(when) == 1 && strings.HasSuffix(found, strings.ToLower(when[0].match.Text))
	switch {
	case g.lex.lists["same-times"][found] == "day":
		with, clock = "on "+at.Format("2 January 2006"), day
	case alone && !day, q == nil && g.leavesOffer():
		clock = false
	case alone && !sameDay(at, now):
		with = "on " + at.Format("2 January 2006 at 15:04")
	}
	if !ok || !clock {
		if !slices.ContainsFunc(when, func(sp *span) bool { return strings.Contains(strings.ToLower(sp.match.Text), "same time") }) {
			return text
		}
		with = ""
	}
	i := indexPhrase(text, found)
	return strings.TrimSpace(strings.TrimSpace(text[:i]+with) + text[i+len(found):])
}

// leavesOffer reports whether Hob asked something in the last messages and has changed no record since.
func (g *grammar) leavesOffer() bool {
	for i := range 3 {
		x, ok := g.talk.exchangeAgo(i)
		if !ok || slices.ContainsFunc(x.acts, pastCall.changesRecords) {
			return false
		}
		if strings.HasSuffix(x.reply, "?") {
			return true
		}
	}
	return false
}

// indexPhrase returns the position of whole words in a text, or -1.
func indexPhrase(text, phrase string) int {
	lower := strings.ToLower(text)
	i := strings.Index(" "+lower+" ", " "+phrase)
	if i < 0 || len(lower) != len(text) || i+len(phrase) < len(lower) && !strings.ContainsRune(" .,!?;", rune(lower[i+len(phrase)])) {
		return -1
	}
	return i
}
