package knowledge

import (
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/sorting"
)

// timeSpan is a period that a text names.
type timeSpan struct{ from, to time.Time }

const (
	day = 24 * time.Hour
	// soon and late limit the time after a period during which people still write about it.
	soon = 7 * day
	late = 31 * day
)

// parseSpans parses the time expressions in text, and returns text without them. A time without a
// year is the latest one before now, unless the text refers to the future.
func parseSpans(text string, now time.Time) (list []timeSpan, rest string) {
	found := dateparse.Find(text, now)
	sorting.ByFunc(found, func(a, b dateparse.Match) int { return b.Start - a.Start })
	for _, m := range found {
		if s, ok := spanOf(m, now); ok {
			list = append(list, s)
			text = text[:m.Start] + " " + text[m.End:]
		}
	}
	return list, text
}

func spanOf(m dateparse.Match, now time.Time) (s timeSpan, ok bool) {
	p, err := dateparse.ParsePeriod(m.Text, now) // interprets a date without a year as a past date
	switch {
	case err == nil:
		s = timeSpan{p.From, p.To}
	case m.Period != nil:
		s = timeSpan{m.Period.From, m.Period.To}
	case m.Moment != nil && m.Moment.Grain >= dateparse.Day && !m.Moment.HasClock:
		from := m.Moment.Time
		s = timeSpan{time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, from.Location()), time.Time{}}
		s.to = s.from.AddDate(0, 0, 1)
	default:
		return s, false
	}
	if s.from.IsZero() || s.to.IsZero() || s.to.Sub(s.from) < day {
		return s, false // the period is open-ended or a part of a day
	}
	for err != nil && s.from.After(now) && now.Year() > 1 {
		s.from, s.to = s.from.AddDate(-1, 0, 0), s.to.AddDate(-1, 0, 0)
	}
	return s, true
}

// timeProximity returns how well a row's time matches the period. It is 1 inside the period and
// decreases after it, because people write about past events.
func (s timeSpan) timeProximity(at time.Time, later float64) float64 {
	switch {
	case at.Before(s.from):
		return 0
	case at.Before(s.to):
		return 1
	}
	long := min(max(s.to.Sub(s.from), soon), late)
	if after := at.Sub(s.to); after < long {
		return later * (1 - float64(after)/float64(long))
	}
	return 0
}

// anchor is a time relative to an event: "the week before her exam".
type anchor struct {
	unit   string // "day", "week", ...
	before bool
	event  string
	time   *timeSpan // the time of the event, if the event itself is a time expression
}

var anchorPattern = lazyregexp.New(`(?i)\b(?:the\s+)?(day|week|weekend|month|year)s?\s+(before|after)\s+([^?.!,;]+)`)

// anchorOf parses an anchor and returns text without it. It ignores complete time expressions ("the
// day before yesterday").
func anchorOf(text string, now time.Time) (a anchor, rest string, ok bool) {
	m := anchorPattern.FindStringSubmatchIndex(text)
	if m == nil {
		return a, text, false
	}
	a = anchor{unit: strings.ToLower(text[m[2]:m[3]]), before: strings.EqualFold(text[m[4]:m[5]], "before"), event: strings.TrimSpace(text[m[6]:m[7]])}
	if a.event == "" || len(tokenizeFolded(a.event)) > 8 {
		return a, text, false
	}
	for _, t := range dateparse.Find(text, now) {
		if t.Start <= m[2] && t.End > m[5] && !a.atTime(now) {
			return a, text, false
		}
	}
	return a, text[:m[0]] + " " + text[m[1]:], true
}

// atTime reports whether the event is a time expression ("the week before Christmas"), and resolves
// the time.
func (a *anchor) atTime(now time.Time) bool {
	for _, t := range dateparse.Find(a.event, now) {
		if s, ok := spanOf(t, now); ok && t.Start == 0 {
			a.time, a.event = &s, a.event[t.End:]
			return true
		}
	}
	return false
}

// anchoredDay returns the period before or after the day of the event.
func (a anchor) anchoredDay(at time.Time) timeSpan {
	from := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
	return a.adjacentSpan(timeSpan{from, from.AddDate(0, 0, 1)})
}

// adjacentSpan returns the period before or after another.
func (a anchor) adjacentSpan(s timeSpan) timeSpan {
	years, months, days := 0, 0, 1
	switch a.unit {
	case "week", "weekend":
		days = 7
	case "month":
		months, days = 1, 0
	case "year":
		years, days = 1, 0
	}
	if a.before {
		return timeSpan{s.from.AddDate(-years, -months, -days), s.from}
	}
	return timeSpan{s.to, s.to.AddDate(years, months, days)}
}

// eventTime returns the time at which the events in text took place: the time that text names,
// resolved relative to said, or said itself if text names none.
func eventTime(text string, said time.Time) time.Time {
	for _, m := range dateparse.Find(text, said) {
		switch {
		case m.Period != nil && !m.Period.From.IsZero() && m.Period.From.Before(said.AddDate(2, 0, 0)):
			return m.Period.From
		case m.Moment != nil:
			return m.Moment.Time
		}
	}
	return said
}
