// Package dateparse parses dates, times, periods and recurrences in plain English and formats them
// for the user: "next Tuesday at 5", "in 20 minutes", "every weekday at 8:30", "the last 7 days".
//
// It is deterministic and uses only the standard library. It schedules nothing, does not know the
// user's time zone (results are in the zone of the given "now") and never guesses: for unknown
// phrases it returns ErrNotUnderstood, and for phrases with two readings an AmbiguousError.
// docs/dates.md describes the rules. Tools, the offline model, channels and the command line use
// it.
//
// The package is one grammar in many small files. lex.go tokenizes, and the piece_*.go files parse
// single pieces ("tuesday", "5pm", "of next month") into constraints. expr.go joins pieces, and
// resolve.go finds the instant that satisfies the constraints. range.go and every*.go parse periods
// and recurrences.
package dateparse

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Grain is the precision of a Moment: "tomorrow" is a Day, "5:30" a Minute.
type Grain uint8

// The grains, finest first.
const (
	Second Grain = iota
	Minute
	Hour
	Day
	Week
	Month
	Quarter
	Year
)

// String returns the name of the grain in lower case.
func (g Grain) String() string {
	switch g {
	case Second:
		return "second"
	case Minute:
		return "minute"
	case Hour:
		return "hour"
	case Day:
		return "day"
	case Week:
		return "week"
	case Month:
		return "month"
	case Quarter:
		return "quarter"
	case Year:
		return "year"
	}
	return "grain(" + fmt.Sprint(uint8(g)) + ")"
}

// Moment is an instant that a text names, with its precision.
type Moment struct {
	// Time is in the zone of now. For the grain Day or a coarser one, it is the first instant of
	// the day, week, month, quarter or year. For a phrase that is relative to now ("in 2 days"), it
	// has now's time of day.
	Time  time.Time
	Grain Grain
	// HasClock is true if the phrase contains a time of day ("at 5", "noon", "in the morning", "in
	// 20 minutes"). Otherwise the caller chooses the hour.
	HasClock bool
}

// ErrNotUnderstood is wrapped by the error of Parse, ParseEvery and ParsePeriod for a phrase that
// they cannot parse with certainty.
var ErrNotUnderstood = errors.New("not understood as a time")

// AmbiguousError is the error for a phrase with two equally likely readings, such as 03/04/2026,
// where either the day or the month may come first. Ask the user instead of guessing.
type AmbiguousError struct {
	Phrase  string   // the input
	Choices []string // the readings, each in a form that Parse understands
}

// Error returns the question to ask the user.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q can mean %s; say which", e.Phrase, strings.Join(e.Choices, " or "))
}

const (
	momentForms = `"tomorrow at 9", "next Tuesday 17:00", "in 20 minutes", "24 Dec 2026", "2026-12-24 18:00"`
	everyForms  = `"every weekday at 8:30", "daily at 7", "every 15 minutes", "on the 1st of every month at 9", a 5-field cron line`
	periodForms = `"last week", "last 7 days", "in March", "since Monday", "2026-03", "between 3 May and 9 May"`
)

func notUnderstood(phrase, forms string) error {
	return fmt.Errorf("%q: %w; forms that work: %s", truncateRunes(phrase, 80), ErrNotUnderstood, forms)
}

// truncateRunes cuts s to at most n runes.
func truncateRunes(s string, n int) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "?")
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "..."
}

// maxPhrase is the maximum number of bytes that Parse, ParseEvery and ParsePeriod
// read.
const maxPhrase = 400

// Parse parses a complete phrase for one moment: RFC 3339 and other ISO 8601 forms, or plain
// English. The result is in now's location. The error is an *AmbiguousError if the phrase has two
// readings; otherwise it wraps ErrNotUnderstood.
//
// A phrase without a year, day or half of the day means the next such moment; see docs/dates.md for
// the rules.
func Parse(phrase string, now time.Time) (Moment, error) {
	if m, ok := parseISO(strings.TrimSpace(phrase), now.Location()); ok {
		return m, nil
	}
	if len(phrase) > maxPhrase {
		return Moment{}, notUnderstood(phrase, momentForms)
	}
	p := newParser(phrase, now)
	p.whole = true
	for _, a := range p.resolveReadings(0) {
		if p.skipEnd(a.end) != len(p.toks) {
			continue
		}
		if a.ambiguous != nil {
			return Moment{}, &AmbiguousError{Phrase: strings.TrimSpace(phrase), Choices: a.ambiguous}
		}
		return a.moment, nil
	}
	return Moment{}, notUnderstood(phrase, momentForms)
}

// parseISO reads the RFC 3339 and ISO 8601 forms that need no grammar.
func parseISO(s string, loc *time.Location) (Moment, bool) {
	if len(s) < len("2006-01-02T15:04") || len(s) > 40 || s[0] < '0' || s[0] > '9' {
		return Moment{}, false
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return Moment{Time: t.In(loc), Grain: isoGrain(layout), HasClock: true}, true
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return Moment{Time: localTime(dayOf(t), t.Hour(), t.Minute(), t.Second(), loc), Grain: isoGrain(layout), HasClock: true}, true
		}
	}
	return Moment{}, false
}

func isoGrain(layout string) Grain {
	if strings.Contains(layout, ":05") {
		return Second
	}
	return Minute
}
