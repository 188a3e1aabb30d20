package when

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseEvery(t *testing.T) {
	for _, c := range []struct{ phrase, want, words string }{
		{"every weekday at 8:30", "30 8 * * 1-5", "every weekday at 08:30"},
		{"daily at 7", "0 7 * * *", "every day at 07:00"},
		{"each Monday and Thursday 9am", "0 9 * * 1,4", "every Monday and Thursday at 09:00"},
		{"every 15 minutes", "*/15 * * * *", "every 15 minutes"},
		{"hourly", "0 * * * *", "every hour"},
		{"every hour at half past", "30 * * * *", "every hour at 30 past"},
		{"every 2 hours", "0 */2 * * *", "every 2 hours"},
		{"every 20 minutes between 9 and 17 on weekdays", "*/20 9-16 * * 1-5", "every 20 minutes between 09:00 and 17:00 on weekdays"},
		{"every hour from 9am to 5pm", "0 9-17 * * *", "every hour between 09:00 and 17:00"},
		{"on the 1st of every month at 9", "0 9 1 * *", "on day 1 of each month at 09:00"},
		{"on the 1st and 15th of each month at noon", "0 12 1,15 * *", "on days 1 and 15 of each month at 12:00"},
		{"every 19th", "0 9 19 * *", "on day 19 of each month at 09:00"},
		{"weekly on Friday at 16:00", "0 16 * * 5", "every Friday at 16:00"},
		{"weekly", "0 9 * * 1", "every Monday at 09:00"},
		{"monthly", "0 9 23 * *", "on day 23 of each month at 09:00"},
		{"every morning", "0 8 * * *", "every day at 08:00"},
		{"every evening at 7", "0 19 * * *", "every day at 19:00"},
		{"every night at 2am", "0 2 * * *", "every day at 02:00"},
		{"every Friday night at 1am", "0 1 * * 6", "every Saturday at 01:00"},
		{"Tuesdays at 18:15", "15 18 * * 2", "every Tuesday at 18:15"},
		{"weekends at 10", "0 10 * * 0,6", "every weekend at 10:00"},
		{"Monday to Thursday at 6am", "0 6 * * 1,2,3,4", "every Monday, Tuesday, Wednesday and Thursday at 06:00"},
		{"at 8am and 6pm every day", "0 8,18 * * *", "every day at 08:00 and 18:00"},
		{"twice a day", "0 8,20 * * *", "every day at 08:00 and 20:00"},
		{"every 5 May at 9", "0 9 5 5 *", "every 5 May at 09:00"},
		{"every christmas", "0 9 25 12 *", "every 25 December at 09:00"},
		{"every 3 months", "0 9 23 2,5,8,11 *", "on day 23 of each month in February, May, August and November at 09:00"},
		{"every Mon/Wed/Fri at 7", "0 7 * * 1,3,5", "every Monday, Wednesday and Friday at 07:00"},
		{"every 2 hours on the weekend", "0 */2 * * 0,6", "every 2 hours on weekends"},
		{"every day at noon and midnight", "0 0,12 * * *", "every day at 00:00 and 12:00"},
		{"bi-weekly on Tuesday", "336h0m0s from 2026-11-24 09:00", "every 2 weeks on Tuesday at 09:00"},
		{"every 90 minutes", "1h30m0s from 2026-11-23 11:50", "every 90 minutes"},
		{"every 5 hours", "5h0m0s from 2026-11-23 15:20", "every 5 hours"},
		{"every other day", "48h0m0s from 2026-11-24 09:00", "every other day at 09:00"},
		{"every other day at 7pm", "48h0m0s from 2026-11-23 19:00", "every other day at 19:00"},
		{"every 2 weeks on Friday at 10", "336h0m0s from 2026-11-27 10:00", "every 2 weeks on Friday at 10:00"},
		{"every 2 weeks starting 4 December at 10", "336h0m0s from 2026-12-04 10:00", "every 2 weeks on Friday at 10:00"},
		{"every 30 seconds", "30s from 2026-11-23 10:21", "every 30 seconds"},
		{"0 9 * * MON-FRI", "0 9 * * 1-5", "every weekday at 09:00"},
		{"5 4 * * 7", "5 4 * * 0", "every Sunday at 04:05"},
		{"*/7 3-5 1 JAN ?", "*/7 3-5 1 1 *", `cron "*/7 3-5 1 1 *"`},
		{"@daily", "0 0 * * *", "every day at 00:00"},
	} {
		e, err := ParseEvery(c.phrase, monday())
		if err != nil {
			t.Errorf("%q: %v", c.phrase, err)
			continue
		}
		if got := everyString(e); got != c.want {
			t.Errorf("%q: got %s, want %s", c.phrase, got, c.want)
		}
		if got := DescribeEvery(e); got != c.words {
			t.Errorf("%q: described as %s, want %s", c.phrase, got, c.words)
		}
		if strings.HasPrefix(c.words, "cron") {
			continue
		}
		again, err := ParseEvery(c.words, monday())
		if err != nil || everyString(again) != everyString(e) && e.Cron != "" {
			t.Errorf("%q: its words %q are read as %s, %v", c.phrase, c.words, everyString(again), err)
		}
	}
}

func everyString(e Every) string {
	if e.Cron != "" {
		return e.Cron
	}
	return e.Interval.String() + " from " + e.Anchor.Format("2006-01-02 15:04")
}

func TestParseEveryRefuses(t *testing.T) {
	for _, phrase := range []string{
		"", "tomorrow", "every", "every banana", "61 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *",
		"0 0 31 2 *", "* * * * * *", "5-1 * * * *", "1,,2 * * * *", "a b c d e", "every first monday of the month", "every 0 minutes",
		"every -5 minutes", "every 40 years", "every Monday until June", "every day at 9 and 17:30", "every 99999999 days", "@reboot",
		"+5 * * * *", "every day at 25:00",
	} {
		if e, err := ParseEvery(phrase, monday()); !errors.Is(err, ErrNotUnderstood) {
			t.Errorf("%q: got %+v, %v, want ErrNotUnderstood", phrase, e, err)
		}
	}
}

func TestEveryNext(t *testing.T) {
	loc := load(t, "Europe/Vilnius")
	days := Every{Interval: 48 * time.Hour, Anchor: time.Date(2026, 3, 27, 9, 0, 0, 0, loc)}
	hours := Every{Interval: 5 * time.Hour, Anchor: time.Date(2026, 3, 28, 22, 0, 0, 0, loc)}
	for _, c := range []struct {
		name  string
		e     Every
		after time.Time
		want  string
	}{
		{"before the anchor", days, time.Date(2026, 3, 1, 0, 0, 0, 0, loc), "2026-03-27T09:00:00+02:00"},
		{"at the anchor", days, days.Anchor, "2026-03-29T09:00:00+03:00"},
		{"across the change of clocks", days, time.Date(2026, 3, 29, 9, 0, 0, 0, loc), "2026-03-31T09:00:00+03:00"},
		{"hours are exact", hours, hours.Anchor, "2026-03-29T04:00:00+03:00"},
		{"years later", days, time.Date(2029, 1, 1, 12, 0, 0, 0, loc), "2029-01-02T09:00:00+02:00"},
		{"a cron line has none", Every{Cron: "0 9 * * *"}, days.Anchor, "0001-01-01T00:00:00Z"},
	} {
		if got := c.e.Next(c.after).Format(time.RFC3339); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
