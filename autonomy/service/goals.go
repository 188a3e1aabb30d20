package service

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/explain"
	"hob/autonomy/guard"
	"hob/autonomy/mind/goals"
	"hob/autonomy/mind/learn"
	"hob/autonomy/mind/reconcile"
	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/settings"
	"hob/platform/text/sorting"
	"hob/templates"
	"hob/tools"
	"hob/watchers"
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
	sorting.StableByFunc(out, func(x, y api.GoalDetails) int { return y.CreatedAt.Compare(x.CreatedAt) })
	return out[:min(len(out), q.Limit)], nil
}

// freshFor is how long a plan is cached. Pages reload often, and each reload would otherwise query
// servers.
const freshFor = time.Minute

// cachedPlan is the last result of Plan.
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
	if err := ctx.Err(); err != nil { // the request was canceled, so the servers' answers are incomplete
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

// Lessons implements api.Learned.
func (sv *Service) Lessons(ctx context.Context, q api.Query) ([]api.Lesson, error) {
	list, err := sv.o.Learner.Lessons(ctx, q.All)
	return ConvertEach(list, apiLesson), Classify(err)
}

// ChangeLesson implements api.Learned.
func (sv *Service) ChangeLesson(ctx context.Context, id string, c api.LearnedChange) (api.Lesson, error) {
	l, err := sv.o.Learner.ChangeLesson(ctx, id, learn.Change{Text: c.Text, Retired: c.Retire, Delete: c.Delete})
	return apiLesson(l), Classify(err)
}

// UserEntries implements api.Learned.
func (sv *Service) UserEntries(ctx context.Context) ([]api.UserEntry, error) {
	list, err := sv.o.Learner.User(ctx)
	return ConvertEach(list, apiUserEntry), Classify(err)
}

// ChangeUserEntry implements api.Learned. It deletes a retired entry, because nothing refers to it. The
// change of a statement can be undone.
func (sv *Service) ChangeUserEntry(ctx context.Context, id string, c api.LearnedChange) (api.UserEntry, error) {
	var e learn.Entry
	err := sv.o.Store.Write(ctx, func(tx *store.Tx) error {
		var change learn.StatementChange
		var err error
		if e, change, err = sv.o.Learner.ChangeUserTx(tx, id, learn.Change{Text: c.Text, Delete: c.Delete || c.Retire}); err != nil || len(change.Removed) == 0 {
			return err
		}
		was := "“" + change.Removed[0].Text + "”"
		return sv.o.Undo.JournalCommandTx(tx, knowledge.StatementEditTool, "Changed what Hob knows about you: "+was+".", tools.NewUndo("restore "+was, change))
	})
	return api.UserEntry(e), Classify(err)
}

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

// WatcherKinds implements api.WatcherPlanning.
func (sv *Service) WatcherKinds(context.Context) ([]api.WatcherKind, error) {
	var out []api.WatcherKind
	for _, k := range sv.o.Watchers.Kinds() {
		if k.Timed || k.Intent {
			continue
		}
		x := api.WatcherKind{Kind: k.Kind, Title: cmp.Or(k.Title, k.Kind), Polled: k.Polled}
		for _, f := range k.FormFields() {
			x.Fields = append(x.Fields, api.WatcherField{Key: f.Key, Title: f.Title, Help: f.Help, List: f.List, YesNo: f.Kind == settings.YesNo, Optional: f.Optional})
		}
		out = append(out, x)
	}
	return out, nil
}

// Forecast implements api.WatcherPlanning.
func (sv *Service) Forecast(ctx context.Context, from, to time.Time) (api.Forecast, error) {
	list, err := sv.o.Watchers.Upcoming(ctx, from, to)
	if err != nil {
		return api.Forecast{}, Classify(err)
	}
	f := api.Forecast{Quiet: ConvertEach(sv.o.Notices.QuietPeriods(from, to), func(p [2]time.Time) api.Period { return api.Period{From: p[0], To: p[1]} })}
	for _, o := range list {
		reminder := o.Spec.Mode == watchers.Remind
		f.Runs = append(f.Runs, api.PlannedRun{ID: o.Spec.ID, Text: cmp.Or(o.Spec.Action, o.Spec.Title, sv.o.Watchers.Describe(o.Spec)), Reminder: reminder, At: o.At})
	}
	return f, nil
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
	sorting.StableByFunc(out, func(x, y api.Watcher) int { return y.CreatedAt.Compare(x.CreatedAt) })
	return out[:min(len(out), q.Limit)], nil
}

// Template implements api.Management.
func (sv *Service) Template(ctx context.Context, w templates.DesiredState) (templates.ApplyResult, error) {
	return sv.applyTemplate(ctx, w, "api")
}

// applyTemplate creates and removes the items of a template. It records a change in the audit log,
// because a template changes what Hob may do; origin is the entry point of the user's command.
func (sv *Service) applyTemplate(ctx context.Context, w templates.DesiredState, origin string) (templates.ApplyResult, error) {
	was, err := templates.InUse(sv.o.Paths.TemplateState()) // the new state is stored after this step
	if err != nil {
		return templates.ApplyResult{}, err
	}
	done, err := reconcile.Apply(ctx, reconcile.Parts{Store: sv.o.Store, Watchers: sv.o.Watchers, Goals: sv.o.Goals}, w, time.Now().In(sv.o.Zone()))
	if err != nil || w.Dry {
		return done, Classify(err)
	}
	return done, sv.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := sv.journalTemplateTx(tx, templateChange{Was: was.Name, Now: strings.TrimPrefix(w.Source, templates.SourceOf(""))}, origin); err != nil {
			return err
		}
		return sv.o.Guard.AuditTx(tx, guard.Record{
			Actor: "owner", Action: explain.TemplateAction, Origin: origin, Verdict: "allow", Rule: "owner's command", Outcome: cmp.Or(w.Source, "reset"),
		})
	})
}
