package health

import (
	"context"
	"fmt"
	"time"

	"hob/platform/provenance"
	"hob/tools"
)

// WeekBrief is the section for habits in the weekly review.
type WeekBrief struct{ Deps }

// BriefTitle implements tools.BriefSource.
func (WeekBrief) BriefTitle() string { return "Habits" }

// Brief implements tools.BriefSource. It returns on how many days of the period each habit was done,
// and the streak at its end. Habits without an entry in the 4 weeks before the end are left out.
func (b WeekBrief) Brief(ctx context.Context, from, to time.Time) ([]tools.BriefItem, error) {
	last := to.AddDate(0, 0, -1)
	streaks, err := queryStreaks(b.Store.Reader(ctx), "", last)
	if err != nil {
		return nil, err
	}
	entries, err := queryEntries(b.Store.Reader(ctx), `WHERE day >= ? AND day < ? ORDER BY name, day`, from.Format(time.DateOnly), to.Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	days := map[string]map[string]bool{}
	for _, e := range entries {
		name := foldName(e.Habit)
		if days[name] == nil {
			days[name] = map[string]bool{}
		}
		days[name][e.Day] = true
	}
	recent := to.AddDate(0, 0, -28).Format(time.DateOnly)
	length := int(to.Sub(from).Hours()+12) / 24
	var out []tools.BriefItem
	for _, s := range streaks {
		if s.Last < recent {
			continue
		}
		text := fmt.Sprintf("%s: %d of %d days", s.Habit, len(days[foldName(s.Habit)]), length)
		if s.Current >= 2 {
			text += fmt.Sprintf(", %d days in a row", s.Current)
		}
		out = append(out, tools.BriefItem{Text: text, Source: provenance.Worst(s.Source)})
	}
	return out, nil
}
