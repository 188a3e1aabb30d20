package dateparse

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// mondayMorning returns the now of most tests: Monday 23 November 2026, 10:20:30.
func mondayMorning() time.Time { return time.Date(2026, 11, 23, 10, 20, 30, 0, time.UTC) }

const minuteForm = "Mon 2006-01-02 15:04"

// testPhrases returns test phrases, grouped by form. Each line contains a phrase, its moment relative
// to monday, and its grain.
func testPhrases() map[string][]string {
	return map[string][]string{
		"ISO": {
			"2026-12-24 18:00 | Thu 2026-12-24 18:00 minute",
			"2026-12-24T18:00:05Z | Thu 2026-12-24 18:00 second",
			"2026-12-24T18:00:05+02:00 | Thu 2026-12-24 16:00 second",
			"2026-12-24 | Thu 2026-12-24 00:00 day",
			"2027-03 | Mon 2027-03-01 00:00 month",
			"20270309 | Tue 2027-03-09 00:00 day",
			"Thu, 24 Dec 2026 18:00:00 +0100 | Thu 2026-12-24 17:00 second",
		},
		"written": {
			"24.12.2026 | Thu 2026-12-24 00:00 day",
			"24/12/2026 at 6pm | Thu 2026-12-24 18:00 hour",
			"12/24/26 | Thu 2026-12-24 00:00 day",
			"5/5/2027 | Wed 2027-05-05 00:00 day",
			"24-Dec-2026 | Thu 2026-12-24 00:00 day",
			"Dec 24th, 2026 | Thu 2026-12-24 00:00 day",
			"the 24th of December | Thu 2026-12-24 00:00 day",
			"twenty-fourth of december two thousand twenty six | Thu 2026-12-24 00:00 day",
			"3 Nov | Wed 2027-11-03 00:00 day",
			"23 November | Mon 2026-11-23 00:00 day",
			"March | Mon 2027-03-01 00:00 month",
			"march '29 | Thu 2029-03-01 00:00 month",
			"2031 | Wed 2031-01-01 00:00 year",
			"the 5th | Sat 2026-12-05 00:00 day",
			"the 31st | Thu 2026-12-31 00:00 day",
			"29 February | Tue 2028-02-29 00:00 day",
		},
		"weekdays": {
			"Monday | Mon 2026-11-30 00:00 day",
			"monday 5pm | Mon 2026-11-23 17:00 hour",
			"monday 9am | Mon 2026-11-30 09:00 hour",
			"friday | Fri 2026-11-27 00:00 day",
			"next friday | Fri 2026-12-04 00:00 day",
			"this friday | Fri 2026-11-27 00:00 day",
			"coming friday | Fri 2026-11-27 00:00 day",
			"last friday | Fri 2026-11-20 00:00 day",
			"friday after next | Fri 2026-12-04 00:00 day",
			"wednesday of next week | Wed 2026-12-02 00:00 day",
			"Sunday 29 November | Sun 2026-11-29 00:00 day",
			"friday the 13th | Fri 2027-08-13 00:00 day",
			"2 thursdays ago | Thu 2026-11-12 00:00 day",
			"thursday week | Thu 2026-12-03 00:00 day",
		},
		"days": {
			"today | Mon 2026-11-23 00:00 day",
			"tomorrow | Tue 2026-11-24 00:00 day",
			"yesterday | Sun 2026-11-22 00:00 day",
			"the day after tomorrow | Wed 2026-11-25 00:00 day",
			"day before yesterday | Sat 2026-11-21 00:00 day",
			"the day before Thanksgiving | Wed 2026-11-25 00:00 day",
			"4 days after new year | Tue 2027-01-05 00:00 day",
			"in 3 working days | Thu 2026-11-26 10:20 day",
		},
		"clocks": {
			"at 5 | Mon 2026-11-23 17:00 hour",
			"at 9 | Mon 2026-11-23 21:00 hour",
			"at 11 | Mon 2026-11-23 11:00 hour",
			"at 7 | Mon 2026-11-23 19:00 hour",
			"tomorrow at 7 | Tue 2026-11-24 07:00 hour",
			"tomorrow at 6 | Tue 2026-11-24 18:00 hour",
			"tomorrow at 06:00 | Tue 2026-11-24 06:00 minute",
			"05:10 | Tue 2026-11-24 05:10 minute",
			"17:45 | Mon 2026-11-23 17:45 minute",
			"5:30pm | Mon 2026-11-23 17:30 minute",
			"8 p.m. | Mon 2026-11-23 20:00 hour",
			"half past six | Mon 2026-11-23 18:30 minute",
			"twenty to four | Mon 2026-11-23 15:40 minute",
			"quarter past noon | Mon 2026-11-23 12:15 minute",
			"ten forty five am | Mon 2026-11-23 10:45 minute",
			"19h30 | Mon 2026-11-23 19:30 minute",
			"noon | Mon 2026-11-23 12:00 hour",
			"at midnight | Tue 2026-11-24 00:00 hour",
			"friday at midnight | Sat 2026-11-28 00:00 hour",
			"12am | Tue 2026-11-24 00:00 hour",
			"4pm CET | Mon 2026-11-23 15:00 hour",
			"17:00 America/New_York | Mon 2026-11-23 22:00 minute",
			"this time tomorrow | Tue 2026-11-24 10:20 minute",
			"end of day | Mon 2026-11-23 23:59 second",
		},
		"parts of the day": {
			"tonight | Mon 2026-11-23 20:00 hour",
			"tonight at 11 | Mon 2026-11-23 23:00 hour",
			"tonight at 1 | Tue 2026-11-24 01:00 hour",
			"tomorrow morning | Tue 2026-11-24 08:00 hour",
			"saturday afternoon at 4 | Sat 2026-11-28 16:00 hour",
			"6 in the evening | Mon 2026-11-23 18:00 hour",
			"3 in the morning | Tue 2026-11-24 03:00 hour",
			"last night | Sun 2026-11-22 20:00 hour",
			"this morning | Mon 2026-11-23 08:00 hour",
		},
		"lengths": {
			"in 20 minutes | Mon 2026-11-23 10:40 minute",
			"in an hour and a half | Mon 2026-11-23 11:50 minute",
			"in an hour and a quarter | Mon 2026-11-23 11:35 minute",
			"in two hours and three quarters | Mon 2026-11-23 13:05 minute",
			"in one and three quarter hours | Mon 2026-11-23 12:05 minute",
			"in three-quarters of an hour | Mon 2026-11-23 11:05 minute",
			"in quarter of an hour | Mon 2026-11-23 10:35 minute",
			"in 2h30m | Mon 2026-11-23 12:50 minute",
			"in 2.5 hours | Mon 2026-11-23 12:50 minute",
			"in a couple of days | Wed 2026-11-25 10:20 day",
			"in a fortnight | Mon 2026-12-07 10:20 day",
			"six weeks from now | Mon 2027-01-04 10:20 day",
			"3 months ago | Sun 2026-08-23 10:20 day",
			"ten minutes before 3pm | Mon 2026-11-23 14:50 minute",
			"a week from friday | Fri 2026-12-04 00:00 day",
			"two weeks from today | Mon 2026-12-07 00:00 day",
		},
		"units": {
			"next week | Mon 2026-11-30 00:00 week",
			"last month | Thu 2026-10-01 00:00 month",
			"this quarter | Thu 2026-10-01 00:00 quarter",
			"next year | Fri 2027-01-01 00:00 year",
			"Q2 2027 | Thu 2027-04-01 00:00 quarter",
			"the week of 4 May | Mon 2027-05-03 00:00 week",
			"week 7 of 2027 | Mon 2027-02-15 00:00 week",
			"the week after next | Mon 2026-12-07 00:00 week",
			"first monday of may | Mon 2027-05-03 00:00 day",
			"last day of the month | Mon 2026-11-30 00:00 day",
			"the last friday of next month | Fri 2026-12-25 00:00 day",
			"second to last day of february 2028 | Mon 2028-02-28 00:00 day",
			"end of the month | Mon 2026-11-30 00:00 day",
			"beginning of next month | Tue 2026-12-01 00:00 day",
			"this weekend | Sat 2026-11-28 00:00 day",
		},
		"holidays": {
			"Christmas | Fri 2026-12-25 00:00 day",
			"christmas eve at 6pm | Thu 2026-12-24 18:00 hour",
			"thanksgiving | Thu 2026-11-26 00:00 day",
			"Easter 2027 | Sun 2027-03-28 00:00 day",
			"good friday | Fri 2027-03-26 00:00 day",
			"last halloween | Sat 2026-10-31 00:00 day",
			"mother's day next year | Sun 2027-05-09 00:00 day",
		},
	}
}

func TestParse(t *testing.T) {
	for group, lines := range testPhrases() {
		t.Run(group, func(t *testing.T) {
			for _, line := range lines {
				phrase, want, _ := strings.Cut(line, " | ")
				m, err := Parse(phrase, mondayMorning())
				if err != nil {
					t.Errorf("%q: %v", phrase, err)
					continue
				}
				if got := m.Time.Format(minuteForm) + " " + m.Grain.String(); got != want {
					t.Errorf("%q: got %s, want %s", phrase, got, want)
				}
				if m.HasClock != (m.Grain < Day) {
					t.Errorf("%q: HasClock %v with grain %v", phrase, m.HasClock, m.Grain)
				}
			}
		})
	}
}

func TestParse_Rejects(t *testing.T) {
	for _, phrase := range []string{
		"", " ", "soon", "later", "25", "three", "banana", "tomorrow banana", "at 25", "at 13:61", "feb 30", "2026-02-30",
		"2026-13-01", "rytoj 10 val", "morgen um 9", "demain", "mañana", "5 apples", "tomorrow yesterday",
		"monday tuesday", "first monday", "at", "in", "next", "5pm 6pm", "32 December", "every day", strings.Repeat("tomorrow ", 200),
		"in 99999999999999 days", "in 90000 years", "\xff\xfe", "2026-12-24 25:00", "12:30:99", "at 9 or 10",
	} {
		m, err := Parse(phrase, mondayMorning())
		if !errors.Is(err, ErrNotUnderstood) {
			t.Errorf("%q: got %v, %v, want ErrNotUnderstood", truncateRunes(phrase, 40), m.Time, err)
			continue
		}
		if !strings.Contains(err.Error(), "tomorrow at 9") {
			t.Errorf("%q: the error names no valid form: %v", truncateRunes(phrase, 40), err)
		}
	}
}

func TestParse_AmbiguousTimes(t *testing.T) {
	for phrase, want := range map[string]string{
		"03/04/2026":          "3 April 2026, 4 March 2026",
		"5/6":                 "5 June 2027, 6 May 2027",
		"10-11-2026 at 9":     "10 November 2026 at 09:00, 11 October 2026 at 09:00",
		"Tuesday 24 December": "24 December 2026, 22 December 2026",
		"Friday 1 Jan 2026":   "1 January 2026, 2 January 2026",
	} {
		_, err := Parse(phrase, mondayMorning())
		ask, ok := errors.AsType[*AmbiguousError](err)
		if !ok {
			t.Errorf("%q: got %v, want an AmbiguousError", phrase, err)
			continue
		}
		if got := strings.Join(ask.Choices, ", "); got != want {
			t.Errorf("%q: got choices %s, want %s", phrase, got, want)
		}
		for _, c := range ask.Choices {
			if _, err := Parse(c, mondayMorning()); err != nil {
				t.Errorf("%q: cannot parse the choice %q: %v", phrase, c, err)
			}
		}
	}
}

// A weekday decides between the two orders of a date.
func TestParse_WeekdayDecides(t *testing.T) {
	for phrase, want := range map[string]string{
		"Friday 5/3/2027":   "Fri 2027-03-05",
		"Monday 5/3/2027":   "Mon 2027-05-03",
		"Friday 03.04.2026": "Fri 2026-04-03",
	} {
		m, err := Parse(phrase, mondayMorning())
		if err != nil {
			t.Errorf("%q: %v", phrase, err)
		} else if got := m.Time.Format("Mon 2006-01-02"); got != want {
			t.Errorf("%q: got %s, want %s", phrase, got, want)
		}
	}
}

func loadZone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Skipf("no zone data for %s: %v", name, err)
	}
	return loc
}

func TestParse_ClockChanges(t *testing.T) {
	for _, c := range []struct{ name, zone, now, phrase, want string }{
		{"skipped hour in Vilnius", "Europe/Vilnius", "2026-03-28 12:00", "tomorrow at 3:30am", "2026-03-29T04:00:00+03:00"},
		{"skipped hour in New York", "America/New_York", "2026-03-07 12:00", "tomorrow at 2:30am", "2026-03-08T03:00:00-04:00"},
		{"skipped midnight in Santiago", "America/Santiago", "2026-09-05 12:00", "tomorrow", "2026-09-06T01:00:00-03:00"},
		{"skipped half hour on Lord Howe", "Australia/Lord_Howe", "2026-10-03 12:00", "tomorrow at 2:10am", "2026-10-04T02:30:00+11:00"},
		{"repeated hour in Vilnius", "Europe/Vilnius", "2026-10-24 12:00", "tomorrow at 3:30am", "2026-10-25T03:30:00+03:00"},
		{"repeated hour in New York", "America/New_York", "2026-10-31 12:00", "tomorrow at 1:30am", "2026-11-01T01:30:00-04:00"},
		{"hours are exact", "Europe/Vilnius", "2026-03-28 12:00", "in 24 hours", "2026-03-29T13:00:00+03:00"},
		{"days keep the clock", "Europe/Vilnius", "2026-03-28 12:00", "in 1 day", "2026-03-29T12:00:00+03:00"},
		{"a skipped day in Samoa", "Pacific/Apia", "2011-12-29 12:00", "tomorrow at 5pm", "2011-12-31T00:00:00+14:00"},
		{"an explicit zone", "America/New_York", "2026-07-01 09:00", "tomorrow 18:00 UTC", "2026-07-02T14:00:00-04:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			loc := loadZone(t, c.zone)
			now, err := time.ParseInLocation("2006-01-02 15:04", c.now, loc)
			if err != nil {
				t.Fatal(err)
			}
			m, err := Parse(c.phrase, now)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Time.Format(time.RFC3339); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if m.Time.Location() != loc {
				t.Errorf("got location %v, want %v", m.Time.Location(), loc)
			}
		})
	}
}

// TestLocalTime_NeverGoesBack checks that localTime returns every hour of every day of a year unchanged,
// or a later time if the zone skips the hour.
func TestLocalTime_NeverGoesBack(t *testing.T) {
	for _, zone := range []string{"Europe/Vilnius", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kathmandu"} {
		loc := loadZone(t, zone)
		prev := time.Time{}
		for d := newDay(2026, 1, 1); d < newDay(2027, 1, 1); d++ {
			for h := range 24 {
				got := localTime(d, h, 15, 0, loc)
				want := time.Unix(int64(d)*86400+int64(h*3600+15*60), 0).UTC()
				if wallClock(got).Before(want) {
					t.Fatalf("%s: %v was moved back to %v", zone, want, got)
				}
				if got.Before(prev) {
					t.Fatalf("%s: %v is before %v", zone, got, prev)
				}
				prev = got
			}
		}
	}
}
