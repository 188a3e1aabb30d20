package watch

import (
	"context"
	"fmt"
	"time"

	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// GoalWeek contributes the goals that are open or changed in a period to the weekly review.
type GoalWeek struct {
	Goals Goals
	Store *store.Store
}

// BriefTitle implements tools.BriefSource.
func (GoalWeek) BriefTitle() string { return "Goals" }

// Brief implements tools.BriefSource.
func (b GoalWeek) Brief(ctx context.Context, from, to time.Time) (out []tools.BriefItem, err error) {
	list, err := b.Goals.ListIn(b.Store.Reader(ctx), true)
	if err != nil {
		return nil, err
	}
	for _, g := range list {
		if g.CreatedAt.After(to) || g.UpdatedAt.Before(from) && g.Status != goalActive || len(out) >= 20 {
			continue
		}
		text := fmt.Sprintf("%s (%s", textnorm.Ellipsize(g.Description, 160), g.Status)
		if !g.LastAt.IsZero() && !g.LastAt.Before(from) && g.LastAt.Before(to) {
			text += ", reviewed " + g.LastAt.In(from.Location()).Format("Mon 2 Jan")
		}
		out = append(out, tools.BriefItem{Text: text + ")", Source: goalSource(g)})
	}
	return out, nil
}
