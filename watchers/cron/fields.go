package cron

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// lastYear is the last year that may contain an occurrence.
const lastYear = 9998

// maxText limits a cron expression, in bytes.
const maxText = 2000

// fields is a parsed cron expression, independent of any zone.
type fields struct {
	text string // the five fields, with Sunday as 0
	spec *cron.SpecSchedule
	// everyHour is set if the hour field matches every hour. The schedule then follows real time
	// instead of certain times of the day.
	everyHour bool
	lastDom   bool  // fires only on the last day of the month
	nths      []nth // fires only on these weekdays of the month
}

// cutEvery removes the prefix "@every " of a descriptor such as "@every 90m".
func cutEvery(text string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "@every ")
	return strings.TrimSpace(rest), ok
}

// parseFields parses a cron expression of five fields, or a descriptor such as @daily. Sunday is 0
// or 7.
func parseFields(text string) (*fields, error) {
	const example = `; an example is "0 8 * * 1-5", weekdays at 8:00`
	if len(text) > maxText {
		return nil, fmt.Errorf("cron: the expression is longer than %d bytes", maxText)
	}
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		return nil, fmt.Errorf(`cron: move the zone of %q to "tz"`, text)
	}
	line, known := expandDescriptor(text)
	parts := strings.Fields(line)
	switch {
	case strings.HasPrefix(text, "@") && !known:
		return nil, fmt.Errorf("cron: unknown %q; use @yearly, @monthly, @weekly, @daily, @hourly or @every 90m", text)
	case len(parts) != 5:
		return nil, fmt.Errorf("cron: %q has %d fields instead of 5 (minute, hour, day of month, month, weekday)%s", text, len(parts), example)
	}
	f, err := parseSpecial(parts)
	if err != nil {
		return nil, fmt.Errorf("cron: %q: %w%s", text, err, example)
	}
	parts[4] = normalizeSunday(parts[4])
	line = strings.Join(parts, " ")
	spec, err := parseStandard(line)
	if err != nil {
		return nil, fmt.Errorf("cron: %q: %w%s", text, err, example)
	}
	if f.text == "" {
		f.text = line
	}
	f.spec, f.everyHour = spec, bits.OnesCount64(spec.Hour<<1) == 24
	if why := f.whyNever(); why != "" {
		return nil, fmt.Errorf("cron: %q has no occurrence: %s", text, why)
	}
	return f, nil
}

// expandDescriptor expands descriptors such as "@daily". It returns other expressions unchanged.
func expandDescriptor(text string) (string, bool) {
	switch strings.ToLower(text) {
	case "@yearly", "@annually":
		return "0 0 1 1 *", true
	case "@monthly":
		return "0 0 1 * *", true
	case "@weekly":
		return "0 0 * * 0", true
	case "@daily", "@midnight":
		return "0 0 * * *", true
	case "@hourly":
		return "0 * * * *", true
	}
	return text, false
}

// parseStandard calls the library's parser. It recovers panics, because the parser panics on some
// expressions.
func parseStandard(text string) (spec *cron.SpecSchedule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("not a cron expression (%v)", p)
		}
	}()
	s, err := cron.ParseStandard(text)
	if err != nil {
		return nil, err
	}
	spec, ok := s.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf(`use "interval" instead`)
	}
	spec.Location = time.UTC // calendar arithmetic only; see schedule
	return spec, nil
}

// normalizeSunday rewrites a weekday field so that 7 is 0: "5-7" becomes "5-6,0".
func normalizeSunday(field string) string {
	parts := strings.Split(field, ",")
	for i, p := range parts {
		span, step, stepped := strings.Cut(p, "/")
		from, to, isRange := strings.Cut(span, "-")
		switch {
		case p == "7":
			parts[i] = "0"
		case isRange && to == "7" && !stepped && from == "7":
			parts[i] = "0"
		case isRange && to == "7" && !stepped:
			parts[i] = from + "-6,0"
		case isRange && to == "7" && len(from) == 1 && len(step) == 1:
			parts[i] = expandSteps(from[0], step[0], p)
		}
	}
	return strings.Join(parts, ",")
}

// expandSteps expands a range with a step, such as "1-7/2", to a list of values. It returns text
// unchanged if it is invalid.
func expandSteps(from, step byte, text string) string {
	if from < '0' || from > '7' || step < '1' || step > '9' {
		return text
	}
	var days []string
	for d := from; d <= '7'; d += step - '0' {
		days = append(days, string('0'+(d-'0')%7))
	}
	return strings.Join(days, ",")
}

const starBit = 1 << 63 // same value as in spec.go of robfig/cron

// whyNever explains why a schedule has no occurrence. It returns "" if the schedule has an
// occurrence.
func (f *fields) whyNever() string {
	s := f.spec
	for _, field := range []struct {
		name string
		bits uint64
	}{{"minute", s.Minute}, {"hour", s.Hour}, {"day of month", s.Dom}, {"month", s.Month}, {"weekday", s.Dow}} {
		if field.bits&^starBit == 0 {
			return "its " + field.name + " is empty"
		}
	}
	// If both day fields are restricted, a day matches if either field does (crontab(5)).
	if s.Dow&starBit == 0 || s.Dom&starBit != 0 {
		return ""
	}
	first := bits.TrailingZeros64(s.Dom)
	longest := 0
	for m := time.January; m <= time.December; m++ {
		if s.Month&(1<<uint(m)) != 0 {
			longest = max(longest, time.Date(2000, m+1, 0, 0, 0, 0, 0, time.UTC).Day()) // 2000 is a leap year
		}
	}
	if first > longest {
		return fmt.Sprintf("its months have no day %d", first)
	}
	return ""
}

// mostDays limits the days that are checked for a match. For example, a fifth Monday in February
// occurs every 28 years, or after 40 years if a century year is not a leap year.
const mostDays = 4000

// nextMinute returns the first matching calendar minute after t. Both are wall-clock times
// represented in UTC.
func (f *fields) nextMinute(t time.Time) (time.Time, bool) {
	for range mostDays {
		n, ok := f.nextPlain(t)
		if !ok || f.fitsSpecial(n) {
			return n, ok
		}
		t = time.Date(n.Year(), n.Month(), n.Day(), 23, 59, 0, 0, time.UTC) // continue with the next day, because fitsSpecial depends only on the day
	}
	return time.Time{}, false
}

// nextPlain works like nextMinute but ignores this package's special fields.
func (f *fields) nextPlain(t time.Time) (time.Time, bool) {
	// The library searches only five years ahead, but the next 29 February can be eight years away.
	for range 3 {
		if n := f.spec.Next(t); !n.IsZero() {
			return n, n.Year() <= lastYear
		}
		t = t.AddDate(5, 0, 0)
	}
	return time.Time{}, false
}
