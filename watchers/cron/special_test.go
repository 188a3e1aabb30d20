package cron

import (
	"encoding/json"
	"testing"
	"time"

	"hob/watchers"
)

func TestSpecial(t *testing.T) {
	for _, c := range []struct {
		name, cron string
		want       []string
	}{
		{"the last day", "0 9 L * *", []string{"2026-01-31 09:00", "2026-02-28 09:00", "2026-03-31 09:00"}},
		{"the last day of February", "0 9 L 2 *", []string{"2026-02-28 09:00", "2027-02-28 09:00", "2028-02-29 09:00"}},
		{"the first Monday", "0 9 * * 1#1", []string{"2026-02-02 09:00", "2026-03-02 09:00", "2026-04-06 09:00"}},
		{"twice an hour on this day", "0,30 9 * * 1#1", []string{"2026-02-02 09:00", "2026-02-02 09:30", "2026-03-02 09:00"}},
		{"the second and fourth Tuesday", "0 9 * * 2#2,2#4", []string{"2026-01-13 09:00", "2026-01-27 09:00", "2026-02-10 09:00"}},
		{"the fifth Friday", "0 9 * * 5#5", []string{"2026-01-30 09:00", "2026-05-29 09:00", "2026-07-31 09:00"}},
		{"the fifth Monday of February", "0 9 * 2 1#5", []string{"2044-02-29 09:00", "2072-02-29 09:00"}},
		{"the last Sunday as 7", "0 9 * * 7L", []string{"2026-01-25 09:00", "2026-02-22 09:00"}},
		{"two lines", "0 9 * * 1; 30 17 * * 1-2", []string{"2026-01-12 09:00", "2026-01-12 17:30", "2026-01-13 17:30", "2026-01-19 09:00"}},
		{"schedules with a common time", "0 9 * * 1; 0 9 * * *", []string{"2026-01-11 09:00", "2026-01-12 09:00", "2026-01-13 09:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			loc := loadZone(t, "Europe/Vilnius")
			s := parseTimed(t, c.cron, loc)
			at := time.Date(2026, 1, 10, 12, 0, 0, 0, loc)
			for _, want := range c.want {
				next, ok := s.Next(at)
				if got := next.Format("2006-01-02 15:04"); !ok || got != want {
					t.Fatalf("after %s: %s, want %s", at, got, want)
				}
				at = next
			}
		})
	}
	for _, bad := range []string{"0 9 L * 1", "0 9 1 * 1#1", "0 9 * * 1#6", "0 9 * * 8L", "0 9 * * L", "0 9 L-2 * *", "0 9 LW * *", "0 9 * * 1#1,2", "0 9 * * *;", ";"} {
		raw, _ := json.Marshal(config{Cron: bad})
		if _, err := New().New(watchers.Spec{Config: raw}, watchers.Deps{}); err == nil {
			t.Errorf("New accepts %q", bad)
		}
	}
}
