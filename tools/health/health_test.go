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
		{"today only", []string{"2026-03-04"}, Streak{"run", 1, 1, 1, "2026-03-04", true}},
		{"yesterday counts", []string{"2026-03-02", "2026-03-03"}, Streak{"run", 2, 2, 2, "2026-03-03", false}},
		{"two days ago does not", []string{"2026-03-01", "2026-03-02"}, Streak{"run", 0, 2, 2, "2026-03-02", false}},
		{"the longest is kept", []string{"2026-01-01", "2026-01-02", "2026-01-03", "2026-03-04"}, Streak{"run", 1, 3, 4, "2026-03-04", true}},
		{"over a month's end and a leap day", []string{"2024-02-28", "2024-02-29", "2024-03-01"}, Streak{"run", 0, 3, 3, "2024-03-01", false}},
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
