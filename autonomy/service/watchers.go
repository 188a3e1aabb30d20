package service

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"hob/autonomy/api"
	"hob/watchers"
)

// Watchers implements api.Watchers.
func (sv *Service) Watchers(ctx context.Context, q api.Query) ([]api.Watcher, error) {
	return sv.watcherRows(ctx, q, func(s watchers.Spec) bool { return !s.Timed })
}

// Schedules implements api.Watchers.
func (sv *Service) Schedules(ctx context.Context, q api.Query) ([]api.Watcher, error) {
	return sv.watcherRows(ctx, q, func(s watchers.Spec) bool { return s.Timed && s.Mode != watchers.Remind })
}

// Reminders implements api.Watchers.
func (sv *Service) Reminders(ctx context.Context, q api.Query) ([]api.Watcher, error) {
	return sv.watcherRows(ctx, q, func(s watchers.Spec) bool { return s.Mode == watchers.Remind })
}

func (sv *Service) watcherRows(ctx context.Context, q api.Query, keep func(watchers.Spec) bool) ([]api.Watcher, error) {
	all, err := sv.o.Watchers.List(ctx, watchers.Filter{})
	if err != nil {
		return nil, Classify(err)
	}
	out := []api.Watcher{}
	for _, s := range all {
		if !keep(s) || (!q.All && s.State == watchers.Done) {
			continue
		}
		r := api.Watcher{WatcherSpec: apiWatcherSpec(s), Describe: sv.o.Watchers.Describe(s)}
		if s.Timed {
			bare := s
			bare.Action = ""
			r.When, r.Coming = sv.o.Watchers.Describe(bare), sv.o.Watchers.Coming(s, 3)
		}
		var c struct{ Path, Cron, Interval string }
		if json.Unmarshal(s.Config, &c) == nil {
			r.Path, r.Cron, r.Every = c.Path, c.Cron, cmp.Or(c.Interval, r.WatcherSpec.Every)
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(x, y api.Watcher) int { return y.CreatedAt.Compare(x.CreatedAt) })
	return out[:min(len(out), q.Limit)], nil
}
