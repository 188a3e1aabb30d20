package dateparse

import (
	"errors"
	"testing"
	"time"
)

func TestParsePeriod(t *testing.T) {
	for _, c := range []struct{ phrase, from, to string }{
		{"today", "2026-11-23 00:00", "2026-11-24 00:00"},
		{"yesterday", "2026-11-22 00:00", "2026-11-23 00:00"},
		{"this week", "2026-11-23 00:00", "2026-11-30 00:00"},
		{"last week", "2026-11-16 00:00", "2026-11-23 00:00"},
		{"next month", "2026-12-01 00:00", "2027-01-01 00:00"},
		{"last quarter", "2026-07-01 00:00", "2026-10-01 00:00"},
		{"this year", "2026-01-01 00:00", "2027-01-01 00:00"},
		{"last 7 days", "2026-11-16 10:20", "2026-11-23 10:20"},
		{"the past 3 months", "2026-08-23 10:20", "2026-11-23 10:20"},
		{"next 2 hours", "2026-11-23 10:20", "2026-11-23 12:20"},
		{"in March", "2026-03-01 00:00", "2026-04-01 00:00"},
		{"December", "2025-12-01 00:00", "2026-01-01 00:00"},
		{"March 2027", "2027-03-01 00:00", "2027-04-01 00:00"},
		{"2026-03", "2026-03-01 00:00", "2026-04-01 00:00"},
		{"2024", "2024-01-01 00:00", "2025-01-01 00:00"},
		{"since Wednesday", "2026-11-18 00:00", "2026-11-23 10:20"},
		{"since 1 November", "2026-11-01 00:00", "2026-11-23 10:20"},
		{"since 9", "2026-11-23 09:00", "2026-11-23 10:20"},
		{"between 3 May and 9 May", "2026-05-03 00:00", "2026-05-10 00:00"},
		{"from 3 to 9 May 2027", "2027-05-03 00:00", "2027-05-10 00:00"},
		{"March to May", "2026-03-01 00:00", "2026-06-01 00:00"},
		{"2026-05-03 - 2026-05-09", "2026-05-03 00:00", "2026-05-10 00:00"},
		{"28/2 to 3/3", "2026-02-28 00:00", "2026-03-04 00:00"},
		{"tonight", "2026-11-23 20:00", "2026-11-24 00:00"},
		{"tomorrow morning", "2026-11-24 08:00", "2026-11-24 12:00"},
		{"from 2 to 4pm tomorrow", "2026-11-24 14:00", "2026-11-24 16:00"},
		{"9 to 5", "2026-11-23 21:00", "2026-11-24 05:00"},
		{"tomorrow from 9 to 5", "2026-11-24 09:00", "2026-11-24 17:00"},
		{"tomorrow after 5pm", "2026-11-24 17:00", "2026-11-25 00:00"},
		{"from 10pm to 2am", "2026-11-23 22:00", "2026-11-24 02:00"},
		{"before Friday", "0001-01-01 00:00", "2026-11-27 00:00"},
		{"after 5 May 2027", "2027-05-06 00:00", "0001-01-01 00:00"},
		{"until Friday", "2026-11-23 10:20", "2026-11-27 00:00"},
		{"the rest of the week", "2026-11-23 10:20", "2026-11-30 00:00"},
		{"year to date", "2026-01-01 00:00", "2026-11-23 10:20"},
		{"for 3 days from 4 December", "2026-12-04 00:00", "2026-12-07 00:00"},
		{"the 1990s", "1990-01-01 00:00", "2000-01-01 00:00"},
		{"first two weeks of 2027", "2027-01-04 00:00", "2027-01-18 00:00"},
		{"last weekend", "2026-11-21 00:00", "2026-11-23 00:00"},
		{"thanksgiving weekend", "2025-11-29 00:00", "2025-12-01 00:00"},
		{"early next month", "2026-12-01 00:00", "2026-12-11 00:00"},
	} {
		got, err := ParsePeriod(c.phrase, mondayMorning())
		if err != nil {
			t.Errorf("%q: %v", c.phrase, err)
			continue
		}
		const form = "2006-01-02 15:04"
		if from, to := got.From.Format(form), got.To.Format(form); from != c.from || to != c.to {
			t.Errorf("%q: got %s to %s, want %s to %s", c.phrase, from, to, c.from, c.to)
		}
		if got.Text != c.phrase {
			t.Errorf("%q: got text %q", c.phrase, got.Text)
		}
	}
	for _, phrase := range []string{"", "5pm", "always", "the good old days", "between 5 May", "from tomorrow to yesterday", "between monday", "2026-13", "2026-00", " 2026-99 "} {
		if got, err := ParsePeriod(phrase, mondayMorning()); !errors.Is(err, ErrNotUnderstood) {
			t.Errorf("%q: got %v, %v, want ErrNotUnderstood", phrase, got, err)
		}
	}
	_, err := ParsePeriod("1/2/2026 - 3/4/2026", mondayMorning())
	if _, ok := errors.AsType[*AmbiguousError](err); !ok {
		t.Errorf("ambiguous dates: got %v, want an AmbiguousError", err)
	}
}

func TestFormat(t *testing.T) {
	now := mondayMorning()
	for _, c := range []struct {
		name, want string
		t          time.Time
	}{
		{"today", "today at 17:00", time.Date(2026, 11, 23, 17, 0, 0, 0, time.UTC)},
		{"tomorrow", "tomorrow at 09:00", time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)},
		{"yesterday", "yesterday at 23:59", time.Date(2026, 11, 22, 23, 59, 0, 0, time.UTC)},
		{"this year", "Wed 25 Nov at 17:00", time.Date(2026, 11, 25, 17, 0, 0, 0, time.UTC)},
		{"another year", "Tue 5 Jan 2027 at 08:30", time.Date(2027, 1, 5, 8, 30, 0, 0, time.UTC)},
		{"another zone", "tomorrow at 00:30", time.Date(2026, 11, 23, 23, 30, 0, 0, time.FixedZone("", -3600))},
	} {
		if got := Format(c.t, now); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		// The displayed form must parse to the same period.
		if m, err := Parse(Format(c.t, now), now); err != nil || !m.Time.Equal(c.t.Truncate(time.Minute)) {
			t.Errorf("%s: parsed as %v, %v", c.name, m.Time, err)
		}
		if got, clock, ok := ParseFormatted(c.want, now); !ok || !clock || !got.Equal(c.t.Truncate(time.Minute)) {
			t.Errorf("ParseFormatted(%q) = %v, %v, %v", c.want, got, clock, ok)
		}
	}
	for _, s := range []string{"", "soon", "Fri 24 Nov", "today at noon", "today at 25:00"} {
		if got, _, ok := ParseFormatted(s, now); ok {
			t.Errorf("ParseFormatted(%q) = %v", s, got)
		}
	}
	if got := FormatDay(now.AddDate(0, 0, 7), now); got != "Mon 30 Nov" {
		t.Errorf("FormatDay: got %q", got)
	}
}
