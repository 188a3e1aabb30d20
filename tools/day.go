package tools

import (
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
)

// ParsePastDay parses the day of a past activity: "yesterday", "last Friday", "3 May", or a date.
// An empty string means today. A weekday or a date without a year means its latest occurrence that
// has started. ParsePastDay returns the start of the day in now's zone. A range of days or a future
// day is an InvalidArguments error.
func ParsePastDay(words string, now time.Time) (time.Time, error) {
	words = strings.TrimSpace(words)
	day := now
	if words != "" {
		p, err := dateparse.ParsePeriod(words, now)
		switch {
		case err == nil && !p.From.IsZero() && !p.To.IsZero():
			if p.To.Sub(p.From) > 25*time.Hour { // a day can have 25 hours
				return day, Errorf(InvalidArguments, "%q is more than one day; give one day", Clean(textnorm.Ellipsize(words, 60)))
			}
			day = p.From
		default:
			m, merr := dateparse.Parse(words, now)
			if merr != nil {
				return day, Errorf(InvalidArguments, "date: %w", CleanErr(merr))
			}
			day = m.Time
		}
	}
	day = day.In(now.Location())
	day = time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, now.Location())
	if day.After(now) {
		return day, Errorf(InvalidArguments, "%s is in the future; only today and past days can be logged", Clean(dateparse.FormatDay(day, now)))
	}
	return day, nil
}

// ParsePastPeriod parses the period of a report: "this_month" (the default), "last week", "2026-03",
// "all". It returns the period, whose end is exclusive, and the words for it in a sentence.
func ParsePastPeriod(s string, now time.Time) (dateparse.Period, string, error) {
	s = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "_", " ")
	switch s {
	case "":
		s = "this month"
	case "all", "ever", "all time":
		return dateparse.Period{From: time.Date(1, 1, 1, 0, 0, 0, 0, now.Location()), To: now.AddDate(100, 0, 0)}, "in total", nil
	}
	p, err := dateparse.ParsePeriod(s, now)
	if err != nil {
		return p, "", Errorf(InvalidArguments, "period: %w", CleanErr(err))
	}
	if p.To.IsZero() {
		p.To = now.AddDate(0, 0, 1)
	}
	words := s
	if s[0] >= '0' && s[0] <= '9' {
		words = "in " + s
	}
	return p, words, nil
}
