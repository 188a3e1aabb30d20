package dateparse

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
		{"every other Tuesday at 7", "336h0m0s from 2026-11-24 07:00", "every 2 weeks on Tuesday at 07:00"},
		{"first Monday of the month", "0 9 * * 1#1", "on the first Monday of each month at 09:00"},
		{"on the first Monday of each month at 8:15", "15 8 * * 1#1", "on the first Monday of each month at 08:15"},
		{"every first Monday at 10", "0 10 * * 1#1", "on the first Monday of each month at 10:00"},
		{"the second Tuesday of every month at noon", "0 12 * * 2#2", "on the second Tuesday of each month at 12:00"},
		{"every second Tuesday of the month at noon", "0 12 * * 2#2", "on the second Tuesday of each month at 12:00"},
		{"every second Tuesday at noon", "336h0m0s from 2026-11-24 12:00", "every 2 weeks on Tuesday at 12:00"},
		{"every 1st and 3rd Thursday of the month at 18:00", "0 18 * * 4#1,4#3", "on the first and third Thursday of each month at 18:00"},
		{"last Friday of each month", "0 9 * * 5L", "on the last Friday of each month at 09:00"},
		{"every last Friday at 4pm", "0 16 * * 5L", "on the last Friday of each month at 16:00"},
		{"last day of the month at 18:00", "0 18 L * *", "on the last day of each month at 18:00"},
		{"every last day of the month", "0 9 L * *", "on the last day of each month at 09:00"},
		{"monthly on the last Sunday at 8", "0 8 * * 0L", "on the last Sunday of each month at 08:00"},
		{"every 3 months on the first Monday", "0 9 * 2,5,8,11 1#1", "on the first Monday of each month in February, May, August and November at 09:00"},
		{"first Monday of every month in May and June at 9", "0 9 * 5,6 1#1", "on the first Monday of each month in May and June at 09:00"},
		{"every 90 minutes between 9 and 17", "0 9,12,15 * * *; 30 10,13,16 * * *", "every 90 minutes between 09:00 and 17:00"},
		{"every 90 minutes from 9am to 5pm on weekdays", "0 9,12,15 * * 1-5; 30 10,13,16 * * 1-5", "every 90 minutes between 09:00 and 17:00 on weekdays"},
		{"every 45 minutes between 8 and 10", "0 8 * * *; 45 8 * * *; 30 9 * * *", "every day at 08:00, 08:45 and 09:30"},
		{"every day at 9 and 17:30", "0 9 * * *; 30 17 * * *", "every day at 09:00 and 17:30"},
		{"weekdays at 7:45 and 18:00", "45 7 * * 1-5; 0 18 * * 1-5", "every weekday at 07:45 and 18:00"},
		{"Mondays at 9 and Thursdays at 10", "0 9 * * 1; 0 10 * * 4", "every Monday at 09:00; every Thursday at 10:00"},
		{"every weekday at 7 and weekends at 9:30", "0 7 * * 1-5; 30 9 * * 0,6", "every weekday at 07:00; every weekend at 09:30"},
		{"Mondays and Tuesdays at 8 and Thursdays at 10", "0 8 * * 1,2; 0 10 * * 4", "every Monday and Tuesday at 08:00; every Thursday at 10:00"},
		{"first and third Monday of the month at 9 and Fridays at 10", "0 9 * * 1#1,1#3; 0 10 * * 5", "on the first and third Monday of each month at 09:00; every Friday at 10:00"},
		{"Mondays at 7 and Wednesdays and Thursdays at 8 and Sundays at 9", "0 7 * * 1; 0 8 * * 3,4; 0 9 * * 0", "every Monday at 07:00; every Wednesday and Thursday at 08:00; every Sunday at 09:00"},
		{"at noon every day", "0 12 * * *", "every day at 12:00"},
		{"three times a day", "0 8,14,20 * * *", "every day at 08:00, 14:00 and 20:00"},
		{"every month on the 31st", "0 9 31 * *", "on day 31 of each month at 09:00"},
		{"every 29 February", "0 9 29 2 *", "every 29 February at 09:00"},
		{"0 9 L * *", "0 9 L * *", "on the last day of each month at 09:00"},
		{"0 9 * * MON#2", "0 9 * * 1#2", "on the second Monday of each month at 09:00"},
		{"0 9 * * 1; 30 8 * * 4", "0 9 * * 1; 30 8 * * 4", "every Monday at 09:00; every Thursday at 08:30"},
	} {
		e, err := ParseEvery(c.phrase, mondayMorning())
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
		again, err := ParseEvery(c.words, mondayMorning())
		if err != nil || everyString(again) != everyString(e) && e.Cron != "" {
			t.Errorf("%q: description %q was parsed as %s, %v", c.phrase, c.words, everyString(again), err)
		}
	}
}

func everyString(e Every) string {
	if e.Cron != "" {
		return e.Cron
	}
	return e.Interval.String() + " from " + e.Anchor.Format("2006-01-02 15:04")
}

func TestParseEvery_Rejects(t *testing.T) {
	for _, phrase := range []string{
		"", "tomorrow", "every", "every banana", "61 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *",
		"0 0 31 2 *", "* * * * * *", "5-1 * * * *", "1,,2 * * * *", "a b c d e", "every 0 minutes",
		"every -5 minutes", "every 40 years", "every Monday until June", "every 99999999 days", "@reboot",
		"+5 * * * *", "every day at 25:00",
	} {
		if e, err := ParseEvery(phrase, mondayMorning()); !errors.Is(err, ErrNotUnderstood) {
			t.Errorf("%q: got %+v, %v, want ErrNotUnderstood", phrase, e, err)
		}
	}
}

func TestEveryNext(t *testing.T) {
	loc := loadZone(t, "Europe/Vilnius")
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
		{"a cron line has no anchor", Every{Cron: "0 9 * * *"}, days.Anchor, "0001-01-01T00:00:00Z"},
	} {
		if got := c.e.Next(c.after).Format(time.RFC3339); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestParseEvery_ExplainsWhy checks that a schedule that cannot be expressed is rejected with the
// reason and an alternative.
func TestParseEvery_ExplainsWhy(t *testing.T) {
	for _, c := range []struct{ phrase, want string }{
		{"weekdays at 8:30 except when it rains", "must be days"},
		{"every other day at 9 except Sunday", "must be days"},
		{"every day at 9 except 30 February", "must be days"},
		{"Mondays at 9 except on 1 May; Thursdays at 10", "once, at the end"},
		{"every Monday until June", "cancel the schedule later"},
		{"every day at sunrise", "name a time of day"},
		{"every other Tuesday and Mondays at 9", "one schedule"},
		{"now and then", "fixed times"},
		{"0 9 1 * 1#1", "cannot be combined with other days"},
		{"0 9 L * 5", "cannot be combined with other days"},
		{"0 9 * * 1#6", "day of week"},
		{"every day at 9; tomorrow", "not understood"},
		{"weekdays and Saturdays at 7 and Sundays at 9", "not understood"}, // must not become weekdays at the default time
		{"every 2 days at 9; daily at 7", "a separate schedule"},
	} {
		e, err := ParseEvery(c.phrase, mondayMorning())
		if !errors.Is(err, ErrNotUnderstood) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %+v, %v, want an error with %q", c.phrase, e, err, c.want)
		}
	}
	for _, phrase := range []string{"tomorrow in two hours", "yesterday in 20 minutes", "first Monday of the month of the month"} {
		if m, err := Parse(phrase, mondayMorning()); err == nil {
			t.Errorf("%q was parsed as %v", phrase, m)
		}
	}
}

func TestExcept(t *testing.T) {
	for _, c := range []struct{ phrase, cron, except, words string }{
		{"weekdays at 8:30 except holidays", "30 8 * * 1-5", "days off", "every weekday at 08:30, except on days off"},
		{"every weekday at 8:30, except on public holidays", "30 8 * * 1-5", "days off", "every weekday at 08:30, except on days off"},
		{"every day at 9 except on 24 December and 1 January", "0 9 * * *", "12-24, 01-01", "every day at 09:00, except on 24 December and 1 January"},
		{"every day except 24 and 25 December at 9", "0 9 * * *", "12-24, 12-25", "every day at 09:00, except on 24 December and 25 December"},
		{"Mondays at 9 but not on 2026-12-28 or my days off", "0 9 * * 1", "2026-12-28, days off", "every Monday at 09:00, except on 28 December 2026 and days off"},
		{"daily at 7 except Sundays", "0 7 * * 1,2,3,4,5,6", "", "every Monday, Tuesday, Wednesday, Thursday, Friday and Saturday at 07:00"},
		{"every day except weekends at 7", "0 7 * * 1-5", "", "every weekday at 07:00"},
		{"every weekday except Friday at 16:00", "0 16 * * 1,2,3,4", "", "every Monday, Tuesday, Wednesday and Thursday at 16:00"},
		{"Mondays at 9 and Thursdays at 10 except on holidays", "0 9 * * 1; 0 10 * * 4", "days off", "every Monday at 09:00; every Thursday at 10:00, except on days off"},
		{"every other Tuesday at 7 except on 24 December", "", "12-24", "every 2 weeks on Tuesday at 07:00, except on 24 December"},
	} {
		e, err := ParseEvery(c.phrase, mondayMorning())
		if err != nil || e.Cron != c.cron || e.Except != c.except || DescribeEvery(e) != c.words {
			t.Errorf("%q: %q except %q, %q, %v", c.phrase, e.Cron, e.Except, DescribeEvery(e), err)
		}
		again, err := ParseEvery(c.words, mondayMorning())
		if err != nil || again.Cron != e.Cron || again.Except != e.Except {
			t.Errorf("%q: description was parsed as %q except %q, %v", c.phrase, again.Cron, again.Except, err)
		}
	}
}

// FuzzEveryWords checks that the description of any recurrence is parsed to the same recurrence.
func FuzzEveryWords(f *testing.F) {
	for _, s := range []string{
		"every 90 minutes between 9 and 17", "first and last Friday of the month at 8", "0 9 L 2 *", "*/7 3-5 * * 1-3/2", "0 9 * * 1#5; 5 4 * * *",
		"weekdays at 7:45 and 18:00", "every 3 hours", "every 14 days at 6", "Mondays at 9 and Tuesdays at 10", "0 1,5 1,2 * *", "15 1-3 * * 0,6", "0 0,0 1,1 1 *", "*/7 0-2 * * 0",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, phrase string) {
		e, err := ParseEvery(phrase, mondayMorning())
		if err != nil {
			return
		}
		words := DescribeEvery(e)
		if strings.Contains(words, "cron ") {
			return
		}
		again, err := ParseEvery(words, mondayMorning())
		if err != nil {
			t.Fatalf("%q: cannot parse the description %q: %v", phrase, words, err)
		}
		if got := DescribeEvery(again); got != words {
			t.Fatalf("%q: description %q was parsed as %q", phrase, words, got)
		}
	})
}
