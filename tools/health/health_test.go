package health

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStreaks(t *testing.T) {
	today := time.Date(2026, 3, 4, 23, 30, 0, 0, time.FixedZone("", 2*3600))
	for _, tc := range []struct {
		name string
		days []string
		want Streak
	}{
		{"none", nil, Streak{Habit: "run"}},
		{"today only", []string{"2026-03-04"}, Streak{Habit: "run", Current: 1, Longest: 1, Total: 1, Last: "2026-03-04", Today: true}},
		{"yesterday counts", []string{"2026-03-02", "2026-03-03"}, Streak{Habit: "run", Current: 2, Longest: 2, Total: 2, Last: "2026-03-03", Today: false}},
		{"two days ago does not count", []string{"2026-03-01", "2026-03-02"}, Streak{Habit: "run", Current: 0, Longest: 2, Total: 2, Last: "2026-03-02", Today: false}},
		{"the longest is kept", []string{"2026-01-01", "2026-01-02", "2026-01-03", "2026-03-04"}, Streak{Habit: "run", Current: 1, Longest: 3, Total: 4, Last: "2026-03-04", Today: true}},
		{"over a month's end and a leap day", []string{"2024-02-28", "2024-02-29", "2024-03-01"}, Streak{Habit: "run", Current: 0, Longest: 3, Total: 3, Last: "2024-03-01", Today: false}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := streakOf("run", tc.days, today)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
