package app

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/llm/offline"
	"hob/autonomy/mind/goals"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/credential"
	"hob/platform/text/textnorm"
	"hob/tools"
	toolsall "hob/tools/all"
	toolsystem "hob/tools/system"
	"hob/tools/tasks"
	toolswatch "hob/tools/watch"
	"hob/watchers"
)

// openGoals creates the goal store.
func (d *App) openGoals(context.Context) (err error) {
	a := d.opt.Config.Autonomy
	d.rules = sync.OnceValue(func() *offline.Model { return offline.New(offline.Options{Name: d.opt.Config.Agent.Name}) })
	d.goals, err = goals.New(goals.Options{Store: d.store, Bus: d.bus, Max: a.MaxGoals, Backoff: a.GoalBackoff, Bars: barsOf(a.Confidence)})
	if err != nil {
		return err
	}
	return d.openPlan()
}

// openPlan creates the daily plan, unless it is disabled.
func (d *App) openPlan() error {
	c := d.opt.Config.Plan
	if c.At == "" {
		return nil
	}
	at, err := goals.ParseClock(c.At)
	if err != nil {
		return d.opt.Config.Errorf("plan.at", "%v", err)
	}
	d.plan, err = goals.NewPlan(goals.PlanOptions{
		Store: d.store, Bus: d.bus, At: at, Late: c.Late.Duration, Zone: d.zone, Sections: d.planSections(), Log: d.opt.Log,
	})
	return err
}

// planSections returns the sections of the daily plan; empty ones are omitted.
func (d *App) planSections() []tools.BriefSource {
	day := toolsall.Day(toolsall.Deps{
		Store: d.store, Watchers: d.watchers, Calendar: d.calendarDeps(), Lists: d.taskLists, Mail: d.mailDeps(), Weather: d.weatherDeps(),
		Now: func() time.Time { return time.Now().In(d.zone()) },
	})
	return append(day, goals.Brief{Store: d.store})
}

// countGoals adds the goals to the status.
func (d *App) countGoals(ctx context.Context, r *toolsystem.Report) error {
	list, err := d.goals.List(ctx, false)
	for _, g := range list {
		switch g.Status {
		case string(goals.Waiting):
			r.GoalsWaiting++
		case string(goals.Active):
			if r.NextReview.IsZero() || g.NextAt.Before(r.NextReview) {
				r.NextReview = g.NextAt
			}
		default:
			continue
		}
		r.Goals++
	}
	return err
}

func barsOf(c config.Confidence) goals.Thresholds {
	return goals.Thresholds{Read: c.Read, Write: c.Write, Send: c.Send, Destroy: c.Destroy}
}

// dueSources returns the sources of due work. Without background work it only expires tasks that the
// user started.
func (d *App) dueSources() []func(context.Context, time.Time) (time.Time, error) {
	if !d.isLongRunning() {
		return nil
	}
	list := []func(context.Context, time.Time) (time.Time, error){d.crew.Due, d.notices.Due}
	if !d.opt.Config.Autonomy.Enabled {
		return list
	}
	list = append(list, d.goals.Due)
	if d.plan != nil {
		list = append(list, d.plan.Due)
	}
	return list
}

// goalKeeper gives the goals to the tools.
type goalKeeper struct{ d *App }

// goalError gives errors of the goals the class that the tools know.
func goalError(err error) error {
	if errors.Is(err, goals.ErrInvalid) || errors.Is(err, goals.ErrNotFound) {
		return goalFault{err}
	}
	return err
}

// goalFault is a goal error that needs other arguments.
type goalFault struct{ error }

func (f goalFault) Is(target error) bool { return target == toolswatch.ErrGoal }
func (f goalFault) Unwrap() error        { return f.error }

// CreateTx implements the tools' Goals.
func (k goalKeeper) CreateTx(ctx context.Context, tx *store.Tx, c tools.Call, g toolswatch.Goal) (toolswatch.Goal, string, error) {
	g.Source = k.d.madeBy(ctx, c.Event)
	made, err := k.d.goals.CreateTx(tx, goals.Goal(g))
	if err != nil {
		return toolswatch.Goal{}, "", goalError(err)
	}
	note := ""
	if name, _ := k.d.models.Describe(); strings.HasPrefix(name, offline.Provider) && !goals.HasRule(ctx, made, goalFacts(k), time.Now().In(k.d.zone())) {
		note = `Without a model I store it, but work on it only when a model is set up. Without a model I can follow rules such as "when a task is overdue then tell me, until Friday".`
	}
	return toolswatch.Goal(made), note, nil
}

// madeBy returns the source of a goal created in the event of a call.
func (d *App) madeBy(ctx context.Context, event string) string {
	ev, err := d.bus.Event(ctx, event)
	switch {
	case err != nil:
		return "tool"
	case ev.Kind == bus.Message && ev.Provenance == provenance.Owner:
		return "chat"
	case ev.Kind == bus.Task && ev.Source == "tool": // a call that the owner made himself
		var c struct{ Report string }
		if json.Unmarshal(ev.Payload, &c) == nil && c.Report == "api" {
			return "api"
		}
		return "cli"
	}
	return "tool"
}

// ListIn implements the tools' Goals.
func (goalKeeper) ListIn(q store.Querier, all bool) ([]toolswatch.Goal, error) {
	list, err := goals.ListIn(q, all)
	out := make([]toolswatch.Goal, len(list))
	for i, g := range list {
		out[i] = toolswatch.Goal(g)
	}
	return out, err
}

// ChangeTx implements the tools' Goals.
func (k goalKeeper) ChangeTx(tx *store.Tx, g toolswatch.Goal, now time.Time) (toolswatch.Goal, error) {
	out, err := k.d.goals.ChangeTx(tx, goals.Goal(g), now)
	return toolswatch.Goal(out), goalError(err)
}

// PutTx implements the tools' Goals.
func (k goalKeeper) PutTx(tx *store.Tx, g toolswatch.Goal) error {
	return goalError(k.d.goals.PutTx(tx, goals.Goal(g)))
}

// DropTx implements the tools' Goals.
func (k goalKeeper) DropTx(tx *store.Tx, id string) error {
	_, err := k.d.goals.DropTx(tx, id)
	return goalError(err)
}

// goalFacts provides the data for the rules of goals.
type goalFacts struct{ d *App }

// Tasks implements goals.Facts.
func (f goalFacts) Tasks(ctx context.Context) ([]goals.Task, error) {
	list, err := tasks.List(ctx, f.d.store, true)
	now := time.Now().In(f.d.zone())
	out := make([]goals.Task, len(list))
	for i, t := range list {
		out[i] = goals.Task{ID: t.ID, Title: t.Title, Done: !t.Open(), Overdue: t.Overdue(now), Source: t.Provenance}
	}
	return out, err
}

// Fired implements goals.Facts.
func (f goalFacts) Fired(ctx context.Context, words string) (goals.Firing, bool, error) {
	list, err := f.d.watchers.List(ctx, watchers.Filter{})
	if err != nil {
		return goals.Firing{}, false, err
	}
	want := textnorm.FoldedWords(words)
	for _, s := range list {
		title := f.d.watchers.Describe(s)
		in := textnorm.FoldedWords(title + " " + s.Title + " " + s.Action + " " + s.ID)
		if len(want) > 0 && !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(in, w) }) {
			return goals.Firing{ID: s.ID, Title: title, At: s.FiredAt, Source: s.Provenance}, true, nil
		}
	}
	return goals.Firing{}, false, nil
}

// Known implements goals.Facts.
func (f goalFacts) Known(ctx context.Context, words string) (goals.Fact, bool, error) {
	hits, err := f.d.base.Recall(f.d.store.Reader(ctx), "", words, 20)
	if err != nil {
		return goals.Fact{}, false, err
	}
	want := textnorm.FoldedWords(words)
	for _, h := range hits {
		if (credential.Viewer{}).Hides("", h.Text) { // the user did not ask for it by name
			continue
		}
		in := textnorm.FoldedWords(h.Text)
		if !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(in, w) }) {
			return goals.Fact{ID: h.ID, Text: h.Text, Source: h.Provenance}, true, nil
		}
	}
	return goals.Fact{}, false, nil
}

// Understands implements goals.Facts.
func (f goalFacts) Understands(words string) bool {
	return f.d.rules().Understands(words, time.Now().In(f.d.zone()))
}
