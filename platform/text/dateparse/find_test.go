package dateparse

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// formatMatch formats a match for comparison: its text and its meaning.
func formatMatch(m Match) string {
	switch {
	case m.Every != nil:
		return m.Text + " = " + DescribeEvery(*m.Every)
	case m.Moment != nil:
		return m.Text + " = " + m.Moment.Time.Format(minuteForm)
	case m.Period != nil:
		return m.Text + " = " + m.Period.From.Format(minuteForm) + " to " + m.Period.To.Format(minuteForm)
	}
	return m.Text + " = ?"
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, sentence string
		want           []string
	}{
		{"a clock", "remind me at 5 to call mum", []string{"at 5 = Mon 2026-11-23 17:00"}},
		{"a day", "remind me to call mum on Friday.", []string{"on Friday = Fri 2026-11-27 00:00"}},
		{"a length", "check the oven in 20 minutes, please", []string{"in 20 minutes = Mon 2026-11-23 10:40"}},
		{"a recurrence", "every weekday at 8:30 brief me", []string{"every weekday at 8:30 = every weekday at 08:30"}},
		{"a deadline", "finish it by tomorrow noon!", []string{"by tomorrow noon = Tue 2026-11-24 12:00"}},
		{"a range", "meeting from 2 to 3pm tomorrow", []string{"from 2 to 3pm tomorrow = Tue 2026-11-24 14:00 to Tue 2026-11-24 15:00"}},
		{"a range whose start has its half", "meeting tomorrow 10am till 11", []string{"tomorrow 10am till 11 = Tue 2026-11-24 10:00 to Tue 2026-11-24 11:00"}},
		{"a day of the month before a verb", "remind me on the 27th to call", []string{"on the 27th = Fri 2026-11-27 00:00"}},
		{"a unit", "what did I spend last month on food?", []string{"last month = Thu 2026-10-01 00:00"}},
		{"two times", "tomorrow at 9 and again on Friday at 10", []string{"on Friday at 10 = Fri 2026-11-27 10:00", "tomorrow at 9 = Tue 2026-11-24 09:00"}},
		{"ambiguous", "dentist 03/04/2027 at 9", []string{"03/04/2027 at 9 = ?"}},
		{"the nth of each month", "every first monday of the month at 9 do it", []string{"every first monday of the month at 9 = on the first Monday of each month at 09:00"}},
		{"the nth of the month is a day", "on the first monday of the month do it", []string{"on the first monday of the month = Mon 2026-11-02 00:00"}},
		{"a recurrence with an end", "every day until June water the plants", []string{"every day until June = ?"}},
		{"a recurrence with hours", "every monday 9am-5pm be there", []string{"every monday 9am-5pm = ?"}},
		{"contradictory dates", "due tomorrow 25 December", []string{"tomorrow 25 December = ?"}},
		{"in brackets", "the party (Saturday 8pm)", []string{"Saturday 8pm = Sat 2026-11-28 20:00"}},
		{"next to other scripts", "žinutė: rytoj – tomorrow at 9 – ačiū", []string{"tomorrow at 9 = Tue 2026-11-24 09:00"}},
		{"an email header", "Date: Tue, 24 Nov 2026 09:52:55 -0800", []string{"Tue, 24 Nov 2026 09:52:55 -0800 = Tue 2026-11-24 17:52"}},
		{"a time of ISO 8601", "starts 2026-12-01T09:00:00Z sharp", []string{"2026-12-01T09:00:00Z sharp = Tue 2026-12-01 09:00"}},
		{"the auxiliary may", "I may call you, may I?", nil},
		{"the verb march", "march on", nil},
		{"the sun", "we sat in the sun for a second", nil},
		{"ordinals", "at first the second one won the third round", nil},
		{"amounts", "spent 12.50 on 3 coffees at 20 percent off", nil},
		{"codes", "call 555-1234 about ticket ABC-2026-11 v1.2.3 at 10.0.0.1", nil},
		{"an adjective", "open my weekly report", nil},
		{"nothing", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, m := range Find(c.sentence, mondayMorning()) {
				if c.sentence[m.Start:m.End] != m.Text {
					t.Errorf("offsets %d..%d do not contain %q", m.Start, m.End, m.Text)
				}
				got = append(got, formatMatch(m))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestFindIsBounded checks that the work for hostile sentences does not grow with the square of
// their length. The sentences normally take 0.1 s; with quadratic growth they would take hours.
func TestFindIsBounded(t *testing.T) {
	hostile := []string{strings.Repeat("ž", 1<<20)}
	for _, s := range []string{
		"5 ", "monday at 5 to ", "the first last ", "every ", "1/2-", "diwali monday 5 may ", "3 days after diwali ", "next diwali ",
	} {
		hostile = append(hostile, strings.Repeat(s, 3000/len(s)))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, s := range hostile {
			Find(s, mondayMorning())
		}
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("Find did not end within 2 minutes")
	}
}

func FuzzParse(f *testing.F) {
	for _, lines := range testPhrases() {
		for _, line := range lines {
			phrase, _, _ := strings.Cut(line, " | ")
			f.Add(phrase, int64(1795515630))
		}
	}
	f.Add("in 99999 years", int64(-62135596800))
	f.Add("last 100000 centuries", int64(1<<37))
	f.Add("\x00\xff'’", int64(0))
	f.Fuzz(func(t *testing.T, phrase string, unix int64) {
		now := time.Unix(unix%(1<<38), 0).UTC()
		m, err := Parse(phrase, now)
		if err == nil && m.Time.IsZero() && now.Year() > 1 && m.Grain < Day {
			t.Errorf("%q: zero time without an error", phrase)
		}
		if _, err := ParsePeriod(phrase, now); err != nil && err.Error() == "" {
			t.Error("an empty error message")
		}
	})
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{
		"remind me at 5 to call mum tomorrow", "from 9 to 5 every weekday, žąsis 24 Dec – ok", "’’' 1/2/3/4 1:2:3 - - at at at",
		"every 2 weeks starting 3 May until the first last second", "$5 at 5% 2026-11-23T10:20:30.5Z+2", "\xe2\x80\x99\xff on mon.",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		end := -1
		seen := map[int]bool{}
		for _, m := range Find(s, mondayMorning()) {
			if m.Start < 0 || m.End > len(s) || m.Start >= m.End || s[m.Start:m.End] != m.Text {
				t.Fatalf("%q: bad offsets %d..%d", s, m.Start, m.End)
			}
			if !utf8.RuneStart(s[m.Start]) || m.End < len(s) && utf8.ValidString(s) && !utf8.RuneStart(s[m.End]) {
				t.Fatalf("%q: %d..%d cuts a rune", s, m.Start, m.End)
			}
			if end >= 0 && m.End-m.Start > end {
				t.Fatalf("%q: the longest match is not first", s)
			}
			end = m.End - m.Start
			for i := m.Start; i < m.End; i++ {
				if seen[i] {
					t.Fatalf("%q: matches overlap at %d", s, i)
				}
				seen[i] = true
			}
		}
	})
}

func FuzzParseEvery(f *testing.F) {
	for _, s := range []string{
		"every weekday at 8:30", "each Monday and Thursday 9am", "every 90 minutes", "on the 1st of every month at 9", "*/5 * * * 1-5",
		"0 0 29 2 7", "every other day starting 2026-12-01", "twice a day", "every 1/2 hour", "@weekly",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := ParseEvery(s, mondayMorning())
		if err != nil {
			return
		}
		if (e.Cron == "") == (e.Interval == 0) {
			t.Fatalf("%q: neither or both of cron and interval: %+v", s, e)
		}
		if e.Cron != "" {
			if again, err := checkCron(e.Cron); err != nil || again != e.Cron {
				t.Fatalf("%q: bad cron line %q: %q, %v", s, e.Cron, again, err)
			}
		} else if e.Interval < 0 || !e.Next(mondayMorning().AddDate(1, 0, 0)).After(mondayMorning().AddDate(1, 0, 0)) {
			t.Fatalf("%q: bad interval %+v", s, e)
		}
		if words := DescribeEvery(e); words == "" || !utf8.ValidString(words) {
			t.Fatalf("%q: described as %q", s, words)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	now := mondayMorning()
	for b.Loop() {
		if _, err := Parse("next Tuesday at half past five", now); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	now := mondayMorning()
	for b.Loop() {
		Find("remind me to send the quarterly report to Anna on Friday at 10, and every weekday at 8:30 brief me", now)
	}
}
