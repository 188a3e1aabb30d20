package autonomy

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"hob/autonomy/mind/goals"
	"hob/platform/text/textnorm"
)

// GoalSilence explains why a goal is silent.
type GoalSilence struct {
	Goal goals.Goal          `json:"goal"`
	Rule string              `json:"rule"`
	Last *goals.ReviewRecord `json:"last,omitempty"`
}

var goalID = regexp.MustCompile(`^g-[a-z0-9]+$`)

func (l *Loop) goalSilences(ctx context.Context, words []string, s *SilenceReport) error {
	if l.o.Goals == nil {
		return nil
	}
	list, err := goals.ListIn(l.o.Store.Reader(ctx), false)
	if err != nil {
		return err
	}
	for _, g := range list {
		if len(s.Goals) == mostSilent || !textnorm.ContainsAllWords(g.Description, words) {
			continue
		}
		one, err := l.goalSilence(ctx, g)
		if err != nil {
			return err
		}
		s.Goals = append(s.Goals, one)
	}
	return nil
}

// goalSilence explains why a goal is silent.
func (l *Loop) goalSilence(ctx context.Context, g goals.Goal) (GoalSilence, error) {
	out := GoalSilence{Goal: g}
	if g.Event != "" {
		r, err := l.o.Goals.Trace(ctx, g.Event)
		if err != nil {
			return out, err
		}
		out.Last = r
	}
	at := func(t time.Time) string { return t.In(l.o.Zone()).Format("2006-01-02 15:04") }
	switch goals.Status(g.Status) {
	case goals.Active:
	case goals.Waiting:
		out.Rule = "[waiting] it waits for your answer: hob approvals"
		return out, nil
	default:
		out.Rule = "[" + g.Status + "] its reviews have ended"
		if goals.Status(g.Status) == goals.Paused {
			out.Rule = "[paused] hob goal resume " + g.ID + " sets it going again"
		}
		return out, nil
	}
	switch {
	case g.NextAt.IsZero():
		out.Rule = "[due] its review is running"
	case g.Reviewed == 0:
		out.Rule = "[not_due] its first review is at " + at(g.NextAt)
	case g.Quiet > 0:
		out.Rule = fmt.Sprintf("[backing_off] nothing changed in its last %d review(s), so the reviews are less frequent: next at %s", g.Quiet, at(g.NextAt))
	default:
		out.Rule = fmt.Sprintf("[%s] its last review decided so; the next is at %s", g.Last, at(g.NextAt))
	}
	return out, nil
}
