package app

import (
	"context"
	"time"

	"hob/autonomy"
	"hob/autonomy/mind/goals"
	"hob/tools"
	toolsall "hob/tools/all"
	"hob/tools/tasks"
)

// openGoals creates the goals and the daily plan.
func (d *App) openGoals(context.Context) (err error) {
	a := d.opt.Config.Autonomy
	d.goals, err = goals.New(goals.Options{Store: d.store, Bus: d.bus, Max: a.MaxGoals, Backoff: a.GoalBackoff, Bars: goals.Thresholds(a.Confidence)})
	if err != nil {
		return err
	}
	d.plan, err = goals.OpenPlan(d.opt.Config, goals.PlanOptions{Store: d.store, Bus: d.bus, Zone: d.zone, Sections: d.planSections(), Log: d.opt.Log})
	return err
}

// planSections returns the sections of the daily plan. Empty sections are omitted.
func (d *App) planSections() []tools.BriefSource {
	deps := d.personalDeps()
	deps.Lists, deps.Now = d.pim.Reminders, d.localTime
	return append(toolsall.Day(deps), goals.Brief{Store: d.store})
}

// dueSources returns the sources of due work. A process that ends with its command has none. If
// [autonomy] is disabled, only delegated tasks and notices remain.
func (d *App) dueSources() []autonomy.DueSource {
	if !d.isLongRunning() {
		return nil
	}
	list := []autonomy.DueSource{d.crew, d.notices}
	if !d.opt.Config.Autonomy.Enabled {
		return list
	}
	list = append(list, d.goals)
	if d.plan != nil {
		list = append(list, d.plan)
	}
	return list
}

// goalFacts returns the facts that goal rules can use.
func (d *App) goalFacts() goals.Sources {
	return goals.Sources{
		Store: d.store, Watchers: d.watchers, Base: d.base, Zone: d.zone,
		Executes: d.providers.BuiltIn().Understands,
		ListTasks: func(ctx context.Context, now time.Time) ([]goals.Task, error) {
			list, err := tasks.List(ctx, d.store, true)
			out := make([]goals.Task, len(list))
			for i, t := range list {
				out[i] = goals.Task{ID: t.ID, Title: t.Title, Done: !t.Open(), Overdue: t.Overdue(now), Source: t.Provenance}
			}
			return out, err
		},
	}
}
