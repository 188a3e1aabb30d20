package tools

import (
	"testing"
	"time"
)

func TestPastDay(t *testing.T) {
	now := time.Date(2026, 3, 11, 0, 30, 0, 0, time.FixedZone("CET", 3600)) // a Wednesday
	for words, want := range map[string]string{
		"": "2026-03-11", "today": "2026-03-11", "yesterday": "2026-03-10", "Monday": "2026-03-09", "last friday": "2026-03-06",
		"3 May": "2025-05-03", "2026-03-01": "2026-03-01", "2026-03-10T23:30:00Z": "2026-03-11", "2 days ago": "2026-03-09",
	} {
		got, err := ParsePastDay(words, now)
		if err != nil || got.Format("2006-01-02 15:04 -0700") != want+" 00:00 +0100" {
			t.Errorf("PastDay(%q) = %s, %v; want %s", words, got, err, want)
		}
	}
	for _, words := range []string{"tomorrow", "last week", "the day of reckoning", "2027-01-01"} {
		if got, err := ParsePastDay(words, now); err == nil || CodeOf(err) != InvalidArguments {
			t.Errorf("PastDay(%q) = %s, %v", words, got, err)
		}
	}
}
