package offline

import (
	"errors"
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

// timing is the combined time of a request.
type timing struct {
	none  bool // whether no time was given
	at    time.Time
	clock bool   // whether a time of day was given
	part  bool   // whether the time is a part of the day, such as "tomorrow morning"
	vague bool   // whether the time is a week, month or open range instead of a day
	every string // a recurrence in the form that the tools use
	// phrase is the original text of the time, without a leading preposition.
	phrase string
}

var (
	errNoDay   = errors.New("not a single day")
	errSeveral = errors.New("several times that do not fit together")
)

// rfc3339 returns the time in RFC 3339 format in the user's time zone, as the tools expect it.
func (t timing) rfc3339() string { return t.at.Format(time.RFC3339) }

// dueDate returns the due date of a task, with the time of day if one was given.
func (t timing) dueDate() string {
	switch {
	case t.none:
		return ""
	case t.clock:
		return t.rfc3339()
	}
	return t.at.Format(time.DateOnly)
}

// originalPhrase returns the time as the user wrote it.
func (sp *span) originalPhrase() string { return sp.match.Text }

// joinTimes combines the times in a request. An error is a *dateparse.AmbiguousError, errSeveral or
// dateparse.ErrNotUnderstood.
func (w *intentDraft) joinTimes(spans []*span) (timing, error) {
	switch len(spans) {
	case 0:
		return timing{none: true}, nil
	case 1:
		if m := spans[0].match; m.Every != nil && w.g.hasStrayDay(m.Text) {
			return timing{}, errSeveral
		}
		return readMatch(spans[0].match, w.s.now)
	}
	phrase := ""
	for _, sp := range spans {
		phrase += " " + sp.originalPhrase()
	}
	phrase = strings.TrimSpace(phrase)
	if e, err := dateparse.ParseEvery(phrase, w.s.now); err == nil {
		if w.g.hasStrayDay(phrase) {
			return timing{}, errSeveral
		}
		return readMatch(dateparse.Match{Text: phrase, Every: &e}, w.s.now)
	}
	m, err := dateparse.Parse(phrase, w.s.now)
	if err != nil {
		var two *dateparse.AmbiguousError
		if errors.As(err, &two) {
			return timing{}, err
		}
		return timing{}, errSeveral
	}
	for f := range strings.FieldsSeq(strings.ToLower(phrase)) {
		if w.g.lex.containsWord("weekdays", f) && f != strings.ToLower(m.Time.Weekday().String()) { // "the end of the month saturday"
			return timing{}, errSeveral
		}
	}
	return readMatch(dateparse.Match{Text: phrase, Moment: &m}, w.s.now)
}

// hasStrayDay reports whether a recurrence on each day or weekday also names a day: "saturday every weekday at 8".
func (g *grammar) hasStrayDay(phrase string) bool {
	daily, day := false, false
	for _, f := range strings.Fields(strings.ToLower(phrase)) {
		f = strings.Trim(f, ",")
		if g.lex.containsWord("day-exceptions", f) {
			return false
		}
		daily = daily || g.lex.containsWord("daily-rules", f)
		day = day || g.lex.containsWord("weekdays", f)
	}
	return daily && day
}

// sameTimeLater maps "this time next week" and its like to years, months and days from now.
var sameTimeLater = map[string][3]int{
	"this time next week": {0, 0, 7}, "same time next week": {0, 0, 7}, "next week this time": {0, 0, 7}, "next week at this time": {0, 0, 7},
	"this time next month": {0, 1, 0}, "same time next month": {0, 1, 0}, "this time next year": {1, 0, 0},
}

// readMatch converts one match to a timing.
func readMatch(m dateparse.Match, now time.Time) (timing, error) {
	t := timing{phrase: withoutPreposition(m.Text)}
	switch {
	case m.Every != nil:
		if t.every = m.Every.Cron; t.every == "" || m.Every.Except != "" {
			t.every = m.Text
		}
		return t, nil
	case m.Moment != nil:
		t.at = m.Moment.Time
		if step, ok := sameTimeLater[strings.ToLower(strings.Join(strings.Fields(t.phrase), " "))]; ok { // and not the first day of next week
			t.at = now.AddDate(step[0], step[1], step[2]).Truncate(time.Minute)
		}
		t.clock = m.Moment.HasClock
		t.part = t.clock && m.Period != nil
		t.vague = !t.clock && m.Moment.Grain > dateparse.Day
		if today := startOfDay(now); severalDays(m.Period) && t.at.Before(today) && m.Period.To.After(today) {
			t.at = today // "this weekend" on a Sunday
		}
		return t, nil
	case m.Period != nil:
		return readPeriod(t, m, now)
	}
	_, err := dateparse.Parse(m.Text, now)
	if err == nil {
		err = dateparse.ErrNotUnderstood
	}
	return timing{}, err
}

// readPeriod interprets "before Friday" as the day before Friday, and "until Friday" as Friday.
// Other ranges are vague.
func readPeriod(t timing, m dateparse.Match, now time.Time) (timing, error) {
	head, tail, _ := strings.Cut(m.Text, " ")
	moment, err := dateparse.Parse(tail, now)
	lower := strings.ToLower(tail)
	strayDay := strings.Contains(lower, "end of") && strings.Contains(lower, "day ") // "before Saturday the end of the month"
	if err != nil || strayDay || moment.Grain > dateparse.Day && !moment.HasClock {
		t.vague = true
		return t, nil //nolint:nilerr // a period without a moment in it is vague, but not an error
	}
	switch strings.ToLower(head) {
	case "until", "till", "by":
		t.at, t.clock = moment.Time, moment.HasClock
	case "before":
		t.at, t.clock = moment.Time, moment.HasClock
		if !t.clock && !strings.Contains(strings.ToLower(tail), "end of") {
			t.at = t.at.AddDate(0, 0, -1)
		}
	default:
		t.vague = true
	}
	return t, nil
}

// hoursOf returns the hours of an appointment: "wednesday 2-3", "14 december between 9 and 12".
func (w *intentDraft) hoursOf(spans []*span) (dateparse.Period, bool) {
	phrase := ""
	for _, sp := range spans {
		phrase += " " + sp.originalPhrase()
	}
	found := dateparse.Find(strings.TrimSpace(phrase), w.s.now)
	if len(found) != 1 || found[0].Moment != nil || found[0].Every != nil || found[0].Period == nil || len(found[0].Text) != len(strings.TrimSpace(phrase)) {
		return dateparse.Period{}, false
	}
	p := *found[0].Period
	ok := !p.From.IsZero() && p.To.Sub(p.From) < 16*time.Hour && p.To.After(p.From) && p.From.After(w.s.now) && strings.ContainsAny(phrase, "0123456789")
	return p, ok
}

// severalDays reports whether a period is longer than a day, as a weekend is.
func severalDays(p *dateparse.Period) bool {
	return p != nil && !p.From.IsZero() && p.To.Sub(p.From) > 25*time.Hour
}

func withoutPreposition(s string) string {
	for {
		head, tail, ok := strings.Cut(s, " ")
		switch strings.ToLower(head) {
		case "on", "at", "by", "for", "until", "till", "before", "due", "in", "from":
			if ok && (!strings.EqualFold(head, "in") || !hasDigitOrHalf(tail)) {
				s = tail
				continue
			}
		}
		return s
	}
}

// hasDigitOrHalf reports whether a time contains a unit such as "minute", because "in 20 minutes"
// and "in an hour" must keep their "in".
func hasDigitOrHalf(s string) bool {
	for _, unit := range []string{"second", "minute", "hour", "day", "week", "month", "year"} {
		if strings.Contains(strings.ToLower(s), unit) {
			return true
		}
	}
	return false
}

// askTime returns a plan that asks about an unusable time. complete builds the request from a time.
func (w *intentDraft) askTime(err error, otherwise string, complete func(when string) string) (plan, bool) {
	var two *dateparse.AmbiguousError
	if errors.As(err, &two) {
		return planQuestion(quoteText(two.Phrase)+" can mean "+strings.Join(two.Choices, " or ")+". Which one do you mean?", w.completeChoice(two.Choices, complete))
	}
	if errors.Is(err, errSeveral) {
		return planQuestion("I cannot combine the times in that. "+otherwise, w.timeAnswer(complete))
	}
	return planQuestion(otherwise, w.timeAnswer(complete))
}

// completeChoice returns a function that completes a request from one of the readings of an
// ambiguous time, or from a new time.
func (w *intentDraft) completeChoice(choices []string, complete func(string) string) func(string) (string, bool) {
	usual := w.timeAnswer(complete)
	return func(answer string) (string, bool) {
		plain := strings.ToLower(strings.Trim(answer, " .!?"))
		for i, c := range choices {
			if strings.EqualFold(c, plain) || len(plain) >= 3 && strings.Contains(strings.ToLower(c), plain) && !containsOther(choices, i, plain) {
				return complete(c), true
			}
		}
		if half, ok := strings.CutPrefix(plain, "in the "); ok { // "in the morning"
			var found []string
			for _, c := range choices {
				if m, err := dateparse.Parse(c, w.s.now); err == nil && m.HasClock && (m.Time.Hour() < 12) == (half == "morning") {
					found = append(found, c)
				}
			}
			if len(found) == 1 {
				return complete(found[0]), true
			}
		}
		if m, err := dateparse.Parse(plain, w.s.now); err == nil && len(plain) > 5 && !strings.ContainsAny(plain, "0123456789") { // "tomorrow morning"
			var found []string
			for _, c := range choices {
				if n, err := dateparse.Parse(c, w.s.now); err == nil && n.HasClock && sameDay(n.Time, m.Time) && (!m.HasClock || (n.Time.Hour() < 12) == (m.Time.Hour() < 12)) {
					found = append(found, c)
				}
			}
			if len(found) == 1 {
				return complete(found[0]), true
			}
			return "", false
		}
		for i, word := range []string{"first", "second", "third"} {
			if i < len(choices) && (plain == word || plain == "the "+word || plain == "the "+word+" one") {
				return complete(choices[i]), true
			}
		}
		if m, err := dateparse.Parse(w.timeIn(answer), w.s.now); err == nil && !m.HasClock { // "3rd of April"
			for _, c := range choices {
				if n, err := dateparse.Parse(c, w.s.now); err == nil && n.Time.Month() == m.Time.Month() && n.Time.Day() == m.Time.Day() {
					return complete(c), true
				}
			}
		}
		return usual(answer)
	}
}

func containsOther(choices []string, i int, s string) bool {
	for j, c := range choices {
		if j != i && strings.Contains(strings.ToLower(c), s) {
			return true
		}
	}
	return false
}

// timeAnswer returns a function that completes a request from an answer that contains a time.
func (w *intentDraft) timeAnswer(complete func(string) string) func(string) (string, bool) {
	return func(answer string) (string, bool) {
		phrase := w.timeIn(answer)
		return complete(phrase), phrase != ""
	}
}

// clockAnswer returns a function that completes a request with a known day from an answer with a
// time of day, or with another day and time.
func (w *intentDraft) clockAnswer(day timing, complete func(string) string) func(string) (string, bool) {
	return func(answer string) (string, bool) {
		phrase := w.timeIn(answer)
		if phrase == "" {
			return "", false
		}
		for _, link := range []string{" ", " at "} { // "9 in the morning"
			joined := day.at.Format(time.DateOnly) + link + withoutPreposition(phrase)
			if m, err := dateparse.Parse(joined, w.s.now); err == nil && m.HasClock && !m.Time.Before(startOfDay(day.at)) && !m.Time.After(startOfDay(day.at).AddDate(0, 0, 1)) { // midnight ends the day
				return complete("on " + joined), true
			}
		}
		return complete(w.g.recurrenceOn(phrase, day.at)), !isBareClock(phrase, w.s.now) // which would drop the day
	}
}

// timeIn returns the time in an answer such as "oh, tomorrow at 9 please" or "9".
func (w *intentDraft) timeIn(answer string) string {
	s := w.g.parseSentence(answer, w.s.now)
	for len(s.tokens) > 1 && s.tokens[0].norm != "not" && w.g.lex.containsWord("correction-starts", s.tokens[0].norm) { // "no wait, 7 in the evening"
		s = w.g.parseSentence(s.text[s.tokens[s.skipPunctuation(1)].start:], w.s.now)
	}
	if spans := s.allTimes(); len(spans) == 2 && s.tokens[0].norm == "not" && spans[0].from == 1 { // "not tonight, tomorrow night"
		s = w.g.parseSentence(s.text[s.tokens[s.skipPunctuation(spans[0].to)].start:], w.s.now)
	}
	for _, lead := range []string{"make it", "make that", "let us say", "let us make it", "say", "better"} { // "make it 6.20"
		if n := len(strings.Fields(lead)); len(s.spans) == 0 && s.normalizedText(0, min(n, len(s.tokens))) == lead && n < len(s.tokens) {
			s = w.g.parseSentence(s.text[s.tokens[n].start:], w.s.now)
		}
	}
	phrase := ""
	spans := s.allTimes()
	for i, t := range s.tokens {
		inside := slices.ContainsFunc(spans, func(sp *span) bool { return i >= sp.from && i < sp.to })
		if len(spans) > 0 && !inside && t.kind != punct && !w.g.lex.containsWord("answer-fillers", t.norm) {
			return "" // the message is about something else
		}
	}
	for _, sp := range spans {
		phrase += " " + sp.originalPhrase()
	}
	if phrase == "" && len(s.tokens) > 0 {
		bare := s.originalText(0, len(s.tokens))
		for _, try := range []string{bare, "at " + bare, "in " + bare} {
			if _, err := dateparse.Parse(try, w.s.now); err == nil {
				return try
			}
			if _, err := dateparse.ParseEvery(try, w.s.now); err == nil {
				return try
			}
		}
	}
	return strings.TrimSpace(phrase)
}

// filterDay formats a day for a list of tasks.
func (w *intentDraft) filterDay(spans []*span) (string, bool) {
	if len(spans) != 1 {
		return "", false
	}
	text := strings.ToLower(withoutPreposition(spans[0].originalPhrase()))
	switch text {
	case "today", "tomorrow", "this week":
		return text, true
	}
	t, err := readMatch(spans[0].match, w.s.now)
	switch {
	case err != nil, t.every != "", t.vague, t.none:
		return "", false
	case t.at.Format(time.DateOnly) == w.s.now.Format(time.DateOnly):
		return "today", true
	case t.clock && !t.part:
		return "", false
	}
	return t.at.Format(time.DateOnly), true
}
