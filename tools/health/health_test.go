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

func entriesOf(days ...string) (out []Entry) {
	for _, d := range days {
		out = append(out, Entry{Habit: "run", Day: d})
	}
	return out
}

func TestReport_ComparesWithPeriodBefore(t *testing.T) {
	now := time.Date(2026, 3, 20, 21, 0, 0, 0, time.FixedZone("", 2*3600))
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, now.Location())
	entries := entriesOf("2026-02-01", "2026-02-12", "2026-03-02", "2026-03-09", "2026-03-09", "2026-03-16", "2026-03-20")
	r := reportOf(Streak{Habit: "run"}, entries, from, from.AddDate(0, 1, 0), now)
	if r.Done != 4 || r.Days != 20 || r.Percent != 20 || r.Before == nil || *r.Before != 1 || r.Weekdays[0] != 3 {
		t.Errorf("reportOf = %+v", r)
	}
	if got := busiestDays(r.Weekdays); got != "Mondays" {
		t.Errorf("busiestDays = %q, want Mondays", got)
	}
	if r := reportOf(Streak{Habit: "run"}, entries[2:], from, from.AddDate(0, 1, 0), now); r.Before != nil {
		t.Errorf("a habit that began in the period is compared with %d days before", *r.Before)
	}
	all := reportOf(Streak{Habit: "run"}, entries, time.Date(1, 1, 1, 0, 0, 0, 0, now.Location()), now.AddDate(100, 0, 0), now)
	if all.From != "2026-02-01" || all.To != "2026-03-20" || all.Done != 6 || all.Days != 48 {
		t.Errorf("in total: %+v", all)
	}
}

func TestTarget_CountsCompletePeriods(t *testing.T) {
	now := time.Date(2026, 3, 20, 21, 0, 0, 0, time.UTC) // a Friday
	value := 20.0
	entries := entriesOf("2026-03-02", "2026-03-03", "2026-03-09", "2026-03-17", "2026-03-18")
	for i := range entries {
		entries[i].Value, entries[i].Unit = &value, "minutes"
	}
	month := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		target target
		want   TargetState
	}{
		{target{Goal: 2, Period: "week"}, TargetState{Goal: 2, Period: "week", Current: 2, Reached: 1, Of: 2}},
		{target{Goal: 20, Unit: "Minutes", Period: "day"}, TargetState{Goal: 20, Unit: "Minutes", Period: "day", Reached: 5, Of: 18}},
		{target{Goal: 90, Unit: "minutes", Period: "month"}, TargetState{Goal: 90, Unit: "minutes", Period: "month", Current: 100}},
		{target{Goal: 1, Unit: "km", Period: "week"}, TargetState{Goal: 1, Unit: "km", Period: "week", Of: 2}},
	} {
		if diff := cmp.Diff(tc.want, tc.target.stateIn(entries, month, month.AddDate(0, 1, 0), now)); diff != "" {
			t.Errorf("%+v: %s", tc.target, diff)
		}
	}
}
