package offline

import (
	"errors"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
)

// joinsDayAndClock reports whether one of two separate times is a day and the other a time of day.
func joinsDayAndClock(a, b *span) bool {
	hasClock := func(sp *span) bool { return sp.match.Moment != nil && sp.match.Moment.HasClock }
	isDay := func(sp *span) bool {
		return sp.match.Moment != nil && !sp.match.Moment.HasClock || sp.match.Every != nil
	}
	return isDay(a) && hasClock(b) || hasClock(a) && isDay(b)
}

// isTimeTypo reports whether a word is one letter different from a word of a time.
func (g *grammar) isTimeTypo(norm string) bool {
	if _, isNumber := g.lex.meaningOf("numbers", norm); g.vocab[norm] || isNumber || len(norm) < 4 || g.lex.containsWord("no typos", norm) {
		return false
	}
	for w := range g.timeWords {
		if isTypo(norm, w) {
			return true
		}
	}
	return false
}

// atMorning interprets the time of a wake-up request as a time in the morning.
func (w *intentDraft) atMorning(spans []*span) []*span {
	if len(spans) != 1 || !spans[0].bareHour {
		return spans
	}
	sp := spans[0]
	if m, ok := wholeMatch(w.s, sp.match.Text+" in the morning"); ok {
		m.Start, m.End = sp.match.Start, sp.match.End
		return []*span{{owner: sp.owner, from: sp.from, to: sp.to, match: m}}
	}
	return spans
}

// localTime joins the times of a request, or returns a plan that asks for the time. exact means that
// a time of day is needed.
func (w *intentDraft) localTime(d localDetails, wish func(when string) string, exact bool) (timing, plan, bool) {
	answer := func(answer string) (string, bool) {
		when := w.localAnswer(d.when, answer)
		return wish(when), when != ""
	}
	fail := func(title string) (timing, plan, bool) {
		p, _ := w.askLocal(title, answer)
		return timing{}, p, false
	}
	t, err := w.joinTimes(d.spans)
	var two *dateparse.AmbiguousError
	switch {
	case errors.As(err, &two), err != nil:
		d.when = ""
		return fail("ask-when")
	case t.none && exact:
		return fail("ask-when")
	case t.none:
		return t, plan{}, true
	case len(w.otherReadings(d, t)) > 1:
		p, ok := w.askReading(w.otherReadings(d, t), d, wish)
		return t, p, !ok
	case t.every != "":
		return t, plan{}, true
	case t.vague:
		d.when = ""
		return fail("ask-day")
	case exact && !t.clock && t.at.Before(startOfDay(w.s.now)), exact && t.clock && !t.at.After(w.s.now):
		d.when = ""
		return fail("ask-passed")
	case exact && !t.clock:
		return fail("ask-clock")
	}
	return t, plan{}, true
}

// otherReadings returns the instants that the times may mean, if there are several: "nächsten
// Freitag", or 5 o'clock on another day, which can be in the morning or the afternoon.
func (w *intentDraft) otherReadings(d localDetails, t timing) []time.Time {
	if t.every != "" {
		return nil
	}
	out := []time.Time{t.at}
	for _, sp := range d.spans {
		for _, m := range sp.others {
			at := time.Date(m.Moment.Time.Year(), m.Moment.Time.Month(), m.Moment.Time.Day(), t.at.Hour(), t.at.Minute(), 0, 0, t.at.Location())
			out = append(out, at)
		}
	}
	early := t.clock && !t.part && t.at.Hour() >= 16 && t.at.Hour() < 19 && !sameDay(t.at, w.s.now)
	if early && slices.ContainsFunc(d.spans, func(sp *span) bool { return sp.bareHour }) {
		out = append(out, t.at.Add(-12*time.Hour))
	}
	return out
}

// askReading asks which of several instants is meant.
func (w *intentDraft) askReading(list []time.Time, d localDetails, wish func(string) string) (plan, bool) {
	sorting.ByFunc(list, time.Time.Compare)
	var names []string
	for _, at := range list {
		name := w.g.translateTime(dateparse.FormatDay(at, w.s.now))
		if d.hasClock() {
			name = w.g.translateTime(dateparse.Format(at, w.s.now))
		}
		names = append(names, name)
	}
	whenOf := func(at time.Time) string {
		if d.hasClock() {
			return at.Format("2006-01-02 15:04")
		}
		return at.Format(time.DateOnly)
	}
	return w.askLocal("ask-reading", func(answer string) (string, bool) {
		if n, ok := w.g.localOrdinal(answer); ok && n <= len(list) {
			return wish(whenOf(list[n-1])), true
		}
		for _, s := range w.answerTimes(answer) {
			if len(s.spans) != 1 || s.spans[0].match.Moment == nil {
				continue
			}
			m, part := s.spans[0].match.Moment, s.spans[0].match.Period != nil
			for _, at := range list {
				switch {
				case part && (m.Time.Hour() < 12) == (at.Hour() < 12),
					!part && m.HasClock && m.Time.Hour() == at.Hour() && m.Time.Minute() == at.Minute(),
					!m.HasClock && sameDay(m.Time, at):
					return wish(whenOf(at)), true
				}
			}
		}
		return "", false
	}, "{choices}", strings.Join(names, " "+w.g.replyText("or")+" "))
}

func (d localDetails) hasClock() bool {
	return slices.ContainsFunc(d.spans, func(sp *span) bool { return sp.match.Moment != nil && sp.match.Moment.HasClock })
}

// localOrdinal returns the number that an answer such as "die zweite" names.
func (g *grammar) localOrdinal(answer string) (int, bool) {
	for _, t := range splitTokens(answer, g.lex) {
		if m, ok := g.lex.meaningOf("ordinals", t.norm); ok {
			n, ok := ordinalOf(m)
			return n, ok && n > 0
		}
		if t.kind == word && !g.lex.containsWord("articles", t.norm) {
			return 0, false
		}
	}
	return 0, false
}

// answerTimes returns the readings of an answer that consists of times: "morgen um 9", "9", "den 13.".
func (w *intentDraft) answerTimes(answer string) (out []*sentence) {
	bare := w.g.cleanName(answer)
	for _, try := range []string{bare, w.g.replyText("at") + " " + bare, w.g.replyText("on") + " " + bare} {
		if s := w.g.parseSentence(try, w.s.now); len(s.spans) > 0 && s.onlyTimesAnd("answer fillers") {
			out = append(out, s)
		}
	}
	return out
}

// localAnswer returns the time in an answer, in the words of the language. known is the part of the
// time that the request named: "morgen" and the answer "um 9" are one time.
func (w *intentDraft) localAnswer(known, answer string) string {
	for _, s := range w.answerTimes(answer) {
		when := ""
		for _, sp := range s.spans {
			when += " " + s.text[sp.match.Start:sp.match.End]
		}
		when = strings.TrimSpace(when)
		joined := strings.TrimSpace(known + " " + when)
		if j := w.g.parseSentence(joined, w.s.now); len(j.spans) == 1 && (j.spans[0].match.Every != nil || j.spans[0].match.Moment != nil && j.spans[0].match.Moment.HasClock) {
			return joined
		}
		if when != "" {
			return when
		}
	}
	return ""
}

// onlyTimesAnd reports whether all words of a sentence are in its times or in a list.
func (s *sentence) onlyTimesAnd(list string) bool {
	for i, t := range s.tokens {
		inside := slices.ContainsFunc(s.spans, func(sp span) bool { return i >= sp.from && i < sp.to })
		if !inside && t.kind != punct && !s.lex.containsWord(list, t.norm) {
			return false
		}
	}
	return true
}

func tellLocalTime(w *intentDraft) (plan, bool) {
	return planReply(w.g.replyText("clock", "{time}", w.s.now.Format("15:04")))
}

func tellLocalDate(w *intentDraft) (plan, bool) { return planReply(w.localDay("date", w.s.now)) }

// localDay returns a reply that names a day with its year.
func (w *intentDraft) localDay(title string, day time.Time, pairs ...string) string {
	name := w.g.translateTime(day.Format("Mon 2 Jan")) + " " + strconv.Itoa(day.Year())
	return w.g.replyText(title, append(pairs, "{day}", name)...)
}

// tellLocalSum answers "combien font 18 fois 7". The list "sum words" translates the operations.
func tellLocalSum(w *intentDraft) (plan, bool) {
	said := strings.ToLower(strings.TrimRight(w.slotString("sum"), " ?!."))
	text := strings.ReplaceAll(decimalComma.ReplaceAllString(" "+w.g.lex.fold(said)+" ", "$1.$2"), "%", " %")
	for _, phrase := range slices.SortedFunc(maps.Keys(w.g.lex.lists["sum words"]), func(a, b string) int { return len(b) - len(a) }) {
		text = strings.ReplaceAll(text, " "+phrase+" ", " "+w.g.lex.lists["sum words"][phrase]+" ")
	}
	text = strings.TrimPrefix(strings.TrimSpace(text), "el ")
	p := sumParser{words: splitSum(text)}
	v, ok := p.evaluateSum()
	if !ok || !w.noLead() || math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) >= maxExact {
		return noPlan()
	}
	return planReply(said + " = " + strings.ReplaceAll(formatFigure(v, 6), ".", ","))
}

// decimalComma matches a number such as "3,5".
var decimalComma = regexp.MustCompile(`([0-9]),([0-9])`)

// addLocalNote handles "merk dir, dass der Schlüssel beim Nachbarn ist".
func addLocalNote(w *intentDraft) (plan, bool) {
	text := strings.TrimRight(strings.TrimSpace(w.slotString("text")), " .!")
	if !w.noLead() || w.isLocalUnspecific(text) || strings.HasSuffix(strings.TrimSpace(w.s.text), "?") {
		return noPlan()
	}
	return planCall("create_note", argsOf("text", text))
}

// tellLocalUntil answers how many days are left until a day or a holiday.
func tellLocalUntil(w *intentDraft) (plan, bool) {
	t, err := w.joinTimes(w.allSpans())
	day := t.at
	if c, ok := w.captureOf("of_feast"); ok {
		said, _ := w.g.lex.meaningOf("feast", w.s.normalizedText(c.from, c.to))
		m, wrong := dateparse.Parse(said, w.s.now)
		day, err = m.Time, wrong
	}
	if c, ok := w.captureOf("time"); ok && w.g.lex.containsWord("before-words", w.s.firstWord(c.from)) && !day.IsZero() {
		day = day.AddDate(0, 0, 1) // "avant lundi" as a due date is the day before
	}
	n := 0
	if !day.IsZero() {
		n = daysBetween(w.s.now, day)
	}
	switch {
	case err != nil, day.IsZero(), t.every != "", t.vague, t.clock, n < 0:
		return noPlan()
	case n == 1:
		return planReply(w.localDay("until-one", day))
	}
	return planReply(w.localDay("until", day, "{days}", strconv.Itoa(n)))
}
