package service

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/mind/goals"
	"hob/tools"
)

// Goals implements api.Goals.
func (sv *Service) Goals(ctx context.Context, q api.Query) ([]api.GoalDetails, error) {
	if err := oneOf(q.State, goals.Active, goals.Paused, goals.Waiting, goals.Done, goals.Abandoned); err != nil {
		return nil, err
	}
	list, err := sv.o.Goals.List(ctx, q.All || q.State != "" || q.Of != "")
	if err != nil {
		return nil, Classify(err)
	}
	out := []api.GoalDetails{}
	for _, g := range list {
		if q.State != "" && g.Status != q.State || q.Of != "" && g.ID != q.Of {
			continue
		}
		r := api.GoalDetails{Goal: api.Goal(g), CheckEvery: goals.FormatInterval(g.Every)}
		if q.Of != "" {
			reviews, err := sv.o.Goals.Reviews(ctx, g.ID, q.Limit)
			if err != nil {
				return nil, Classify(err)
			}
			r.Reviews = ConvertEach(reviews, apiReview)
		}
		out = append(out, r)
	}
	if q.Of != "" && len(out) == 0 {
		return nil, fmt.Errorf("goal %q: %w", q.Of, api.ErrNotFound)
	}
	slices.SortStableFunc(out, func(x, y api.GoalDetails) int { return y.CreatedAt.Compare(x.CreatedAt) })
	return out[:min(len(out), q.Limit)], nil
}

// freshFor is how long a plan is cached: pages reload often, and each reload would
// query servers.
const freshFor = time.Minute

// cachedPlan is the last answer of Plan.
type cachedPlan struct {
	mu  sync.Mutex
	at  time.Time
	day api.Plan
}

// Plan implements api.Goals.
func (sv *Service) Plan(ctx context.Context) (api.Plan, error) {
	now := time.Now().In(sv.o.Zone())
	date, k := now.Format(time.DateOnly), &sv.day
	k.mu.Lock()
	at, day := k.at, k.day
	k.mu.Unlock()
	if day.Date == date && now.Sub(at) < freshFor {
		return day, nil
	}
	from := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	all, _ := tools.Brief(ctx, sv.o.Plan(), from, from.AddDate(0, 0, 1))
	if err := ctx.Err(); err != nil { // the caller is gone, and so are the answers of the servers
		return api.Plan{}, err
	}
	for _, s := range all {
		for i, it := range s.Items {
			if !it.At.IsZero() {
				s.Items[i].At = it.At.In(now.Location())
			}
		}
	}
	all = slices.DeleteFunc(all, func(s tools.BriefSection) bool { return len(s.Items) == 0 && s.Error == "" })
	day = api.Plan{Date: date, Sections: ConvertEach(all, apiPlanSection)}
	k.mu.Lock()
	k.at, k.day = time.Now(), day
	k.mu.Unlock()
	return day, nil
}
