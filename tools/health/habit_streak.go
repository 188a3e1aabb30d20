package health

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type habitStreakIn struct {
	Habit string `json:"habit,omitempty" jsonschema:"empty: all"`
}

func (d Deps) habitStreak() tools.Tool {
	return tools.New(tools.Def[habitStreakIn]{
		Spec: tools.Spec{
			Name: "habit_streak", Category: "health", Effects: tools.Read,
			Description: "Show how many days in a row a habit was kept, the longest run and the total.",
			Keywords:    "habit streak progress how often days in a row",
		},
		Summary: func(in habitStreakIn) string { return "Show habit streaks " + strconv.Quote(in.Habit) },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in habitStreakIn) (tools.Result, error) {
			all, err := queryStreaks(tx, "", c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			if strings.TrimSpace(in.Habit) != "" {
				one, err := findHabit(all, in.Habit)
				if err != nil {
					return tools.Result{}, err
				}
				all = []Streak{one}
			}
			r := tools.Result{Text: streakText(all, c.Now), Data: map[string]any{"streaks": all}, Source: provenance.Tool}
			if slices.ContainsFunc(all, func(s Streak) bool { return s.Source.Tainted() }) {
				r.Source = provenance.Outside
			}
			return r, nil
		},
	})
}

// findHabit finds the habit with exactly the given name: "run" does not match "running late". If
// there is none, the error names similar habits.
func findHabit(all []Streak, habit string) (Streak, error) {
	for _, s := range all {
		if foldName(s.Habit) == foldName(habit) {
			return s, nil
		}
	}
	if len(all) == 0 {
		return Streak{}, tools.Errorf(tools.NotFound, "no habit has been logged yet")
	}
	near := slices.Clone(all)
	sorting.StableByFunc(near, func(a, b Streak) int {
		return cmp.Compare(textnorm.Similar(b.Habit, habit), textnorm.Similar(a.Habit, habit))
	})
	var names []string
	src := provenance.Tool
	for _, s := range near[:min(5, len(near))] {
		src = provenance.Worst(src, s.Source)
		names = append(names, strconv.Quote(textnorm.Ellipsize(s.Habit, 60)))
	}
	err := tools.Errorf(tools.NotFound, "no habit is called %q; logged habits: %s", tools.Clean(textnorm.Ellipsize(habit, 60)), tools.Clean(strings.Join(names, ", ")))
	return Streak{}, tools.Quoting(err, src)
}

func streakText(list []Streak, now time.Time) string {
	if len(list) == 0 {
		return "No habit has been logged yet."
	}
	var lines []string
	for _, s := range list {
		day, err := time.ParseInLocation(time.DateOnly, s.Last, now.Location())
		last := s.Last
		if err == nil {
			last = dateparse.FormatDay(day, now)
		}
		name := textnorm.Ellipsize(s.Habit, 60)
		if s.Current == 0 {
			lines = append(lines, fmt.Sprintf("%s: no current streak; last done %s, longest run %s, %s in all.", name, last, countDays(s.Longest), countDays(s.Total)))
			continue
		}
		line := fmt.Sprintf("%s: %s in a row (longest %d, %s in all).", name, countDays(s.Current), s.Longest, countDays(s.Total))
		if !s.Today {
			line += " Not done yet today."
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func countDays(n int) string {
	if n == 1 {
		return "1 day"
	}
	return fmt.Sprintf("%d days", n)
}
