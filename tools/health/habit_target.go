package health

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

// Clock creates and cancels reminders.
type Clock interface {
	CreateTx(tx *store.Tx, spec watchers.Spec) (watchers.Spec, error)
	CancelTx(tx *store.Tx, id string) (watchers.Spec, error)
	RestoreTx(tx *store.Tx, spec watchers.Spec) error
}

type habitTargetIn struct {
	Habit  string   `json:"habit" jsonschema:"name of the habit"`
	Goal   *float64 `json:"goal,omitempty" jsonschema:"how many days, or how much of the unit; 0 removes the target; default as before"`
	Unit   string   `json:"unit,omitempty" jsonschema:"of goal: minutes, km; empty: days"`
	Period string   `json:"period,omitempty" jsonschema:"day, week (default) or month"`
	Remind string   `json:"remind,omitempty" jsonschema:"time of a daily reminder, such as 20:00; none removes it; default as before"`
}

// target is the goal for a habit in each period.
type target struct {
	Habit      string            `json:"habit"`
	Goal       float64           `json:"goal"`
	Unit       string            `json:"unit,omitempty"`
	Period     string            `json:"period"`
	Reminder   string            `json:"reminder,omitempty"` // id of the reminder
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
}

// TargetState compares a target with the entries of the current and of past periods.
type TargetState struct {
	Goal    float64 `json:"goal"`
	Unit    string  `json:"unit,omitempty"`
	Period  string  `json:"period"`
	Current float64 `json:"current"` // in the period that contains today
	Reached int     `json:"reached"` // complete periods in which the goal was reached
	Of      int     `json:"of"`      // complete periods in the report
}

// targetUndo restores the target before a change, with its reminder.
type targetUndo struct {
	Before *target        `json:"before"`
	After  *target        `json:"after"`
	Cancel *watchers.Spec `json:"canceled,omitempty"` // the reminder of Before
}

func (d Deps) habitTarget() tools.Tool {
	return tools.New(tools.Def[habitTargetIn]{
		Spec: tools.Spec{
			Name: "set_habit_target", Category: "health", Effects: tools.Write,
			Description: "Set a target for a habit, such as 4 days per week or 30 minutes per day, with a daily reminder if wanted; goal 0 removes it.",
			Keywords:    "habit target goal aim times per week daily weekly minutes steps reminder",
		},
		Summary: func(in habitTargetIn) string {
			switch habit := strconv.Quote(textnorm.Ellipsize(in.Habit, 80)); {
			case in.Goal == nil:
				return "Change the reminder of the target for the habit " + habit
			case *in.Goal == 0:
				return "Remove the target for the habit " + habit
			default:
				return fmt.Sprintf("Set the target for the habit %s: %s per %s", habit, withUnit(*in.Goal, cmp.Or(in.Unit, "days")), cmp.Or(in.Period, "week"))
			}
		},
		RunTx:  d.runTarget,
		UndoTx: d.undoTarget,
	})
}

// parseTarget checks the arguments. all holds the existing targets: without a goal, that of the habit
// stays, so that a call that only changes the reminder never removes the target.
func parseTarget(c tools.Call, in habitTargetIn, all map[string]target) (target, error) {
	if in.Goal == nil {
		before, ok := all[foldName(in.Habit)]
		if !ok {
			return before, tools.Errorf(tools.InvalidArguments, "goal is missing; ask the user how many days, or how much")
		}
		in.Goal, in.Unit, in.Period = &before.Goal, cmp.Or(in.Unit, before.Unit), cmp.Or(in.Period, before.Period)
	}
	t := target{
		Habit: textnorm.Ellipsize(strings.Join(strings.Fields(in.Habit), " "), 100), Goal: *in.Goal, Unit: textnorm.Ellipsize(strings.TrimSpace(in.Unit), 20),
		Period: strings.TrimPrefix(strings.ToLower(strings.TrimSpace(cmp.Or(in.Period, "week"))), "per "), Provenance: provenance.Worst(c.Provenance), CreatedAt: c.Now.UTC().Truncate(time.Millisecond),
	}
	if u := strings.ToLower(t.Unit); u == "days" || u == "day" || u == "times" {
		t.Unit = ""
	}
	most := map[string]float64{"day": 1, "week": 7, "month": 31}[t.Period]
	switch {
	case foldName(t.Habit) == "":
		return t, tools.Errorf(tools.InvalidArguments, "habit is empty")
	case most == 0:
		return t, tools.Errorf(tools.InvalidArguments, "period %q is unknown; use day, week or month", tools.Clean(textnorm.Ellipsize(in.Period, 40)))
	case t.Goal < 0 || t.Goal > 1e9:
		return t, tools.Errorf(tools.InvalidArguments, "goal must be between 0 and 1,000,000,000")
	case t.Unit == "" && t.Goal > most:
		return t, tools.Errorf(tools.InvalidArguments, "a %s has at most %d days; give a unit such as minutes if the goal is no number of days", tools.Clean(t.Period), int(most))
	}
	return t, nil
}

func (d Deps) runTarget(_ context.Context, tx *store.Tx, c tools.Call, in habitTargetIn) (tools.Result, error) {
	all, err := queryTargets(tx)
	if err != nil {
		return tools.Result{}, err
	}
	t, err := parseTarget(c, in, all)
	if err != nil {
		return tools.Result{}, err
	}
	var u targetUndo
	r := tools.Result{Source: provenance.Tool}
	if before, ok := all[foldName(t.Habit)]; ok {
		u.Before = &before
		if u.Cancel, err = d.cancelReminder(tx, before.Reminder); err != nil {
			return r, err
		}
		if before.Provenance.Tainted() {
			r.Source = provenance.Outside
		}
	}
	if t.Goal == 0 {
		if u.Before == nil {
			return tools.Result{}, tools.Errorf(tools.NotFound, "there is no target for %q", tools.Clean(textnorm.Ellipsize(t.Habit, 60)))
		}
		r.Text, r.Data = fmt.Sprintf("Removed the target for %s (%s).", u.Before.Habit, u.Before.describeGoal()), u.Before
		r.Undo = tools.NewUndo("restore the target for "+u.Before.Habit, u)
		return r, deleteTarget(tx, t.Habit)
	}
	r.Text = fmt.Sprintf("The target for %s is now %s", t.Habit, t.describeGoal())
	label := "remove the target for " + t.Habit
	if u.Before != nil {
		if was := u.Before.describeGoal(); was != t.describeGoal() {
			r.Text += ", before " + was
		}
		label = "restore the target for " + t.Habit
	}
	r.Text += "."
	more, err := d.setReminder(tx, c, &t, in.Remind, u.Cancel)
	if err != nil {
		return tools.Result{}, err
	}
	r.Text += more
	u.After = &t
	r.Data, r.Undo = t, tools.NewUndo(label, u)
	return r, insertTarget(tx, t)
}

func (t target) describeGoal() string {
	unit := cmp.Or(t.Unit, "days")
	if t.Unit == "" && t.Goal == 1 {
		unit = "day"
	}
	return withUnit(t.Goal, unit) + " per " + t.Period
}

// setReminder creates the reminder of a target and returns a sentence about it. before is the reminder of
// the former target: without at, the new one has the same time, because it names the goal.
func (d Deps) setReminder(tx *store.Tx, c tools.Call, t *target, at string, before *watchers.Spec) (text string, err error) {
	var spec watchers.Spec
	switch at = strings.TrimPrefix(strings.TrimSpace(at), "at "); {
	case strings.EqualFold(at, "none"):
		if before == nil {
			return "", nil
		}
		return " I will no longer remind you.", nil
	case at != "":
		text = " I will remind you each day at " + at + "."
		spec, err = d.createReminder(tx, c, *t, at)
	case before != nil:
		text = " The daily reminder stays."
		spec, err = d.Clock.CreateTx(tx, watchers.Spec{
			Kind: before.Kind, Config: before.Config, Mode: watchers.Remind, Action: t.remindText(), Report: before.Report, Provenance: before.Provenance, CreatedAt: c.Now,
		})
	}
	t.Reminder = spec.ID
	return text, err
}

func (t target) remindText() string { return fmt.Sprintf("%s (target: %s)", t.Habit, t.describeGoal()) }

func (d Deps) createReminder(tx *store.Tx, c tools.Call, t target, at string) (watchers.Spec, error) {
	if d.Clock == nil {
		return watchers.Spec{}, tools.Errorf(tools.Unsupported, "reminders are not available here")
	}
	every := "daily at " + at
	if _, err := dateparse.ParseEvery(every, c.Now); err != nil {
		return watchers.Spec{}, tools.Errorf(tools.InvalidArguments, "remind: %q is not a time; give a time such as 20:00", tools.Clean(textnorm.Ellipsize(at, 40)))
	}
	kind, config, err := watchers.ParseSchedule("", every, c.Now)
	if err != nil {
		return watchers.Spec{}, tools.Errorf(tools.InvalidArguments, "remind: %w", tools.CleanErr(err))
	}
	return d.Clock.CreateTx(tx, watchers.Spec{
		Kind: kind, Config: config, Mode: watchers.Remind, Action: t.remindText(), Report: c.Report, Provenance: provenance.Worst(c.Provenance), CreatedAt: c.Now,
	})
}

// cancelReminder cancels a reminder. It is no error if the user has canceled it before.
func (d Deps) cancelReminder(tx *store.Tx, id string) (*watchers.Spec, error) {
	if id == "" || d.Clock == nil {
		return nil, nil //nolint:nilnil // there is no reminder
	}
	spec, err := d.Clock.CancelTx(tx, id)
	if errors.Is(err, watchers.ErrNotFound) {
		return nil, nil //nolint:nilnil // there is no reminder any more
	}
	return &spec, err
}

func (d Deps) undoTarget(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	var u targetUndo
	if err := json.Unmarshal(data, &u); err != nil || u.Before == nil && u.After == nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	t := u.Before
	if t == nil {
		t = u.After
	}
	all, err := queryTargets(tx)
	if err != nil {
		return "", err
	}
	now, exists := all[foldName(t.Habit)]
	if exists != (u.After != nil) || exists && (!now.CreatedAt.Equal(u.After.CreatedAt) || now.Goal != u.After.Goal || now.Reminder != u.After.Reminder) {
		return "", tools.Errorf(tools.Conflict, "the target was changed since")
	}
	if u.After != nil {
		if _, err := d.cancelReminder(tx, u.After.Reminder); err != nil {
			return "", err
		}
	}
	if u.Cancel != nil && d.Clock != nil {
		if err := d.Clock.RestoreTx(tx, *u.Cancel); err != nil {
			return "", err
		}
	}
	if u.Before == nil {
		return fmt.Sprintf("Removed the target for %s.", t.Habit), deleteTarget(tx, t.Habit)
	}
	return fmt.Sprintf("Restored the target for %s: %s.", t.Habit, t.describeGoal()), insertTarget(tx, *t)
}

func insertTarget(tx *store.Tx, t target) error {
	_, err := tx.Exec(`INSERT INTO habit_targets (name, habit, goal, unit, period, reminder, provenance, created_at) VALUES (?,?,?,?,?,?,?,?)
		ON CONFLICT (name) DO UPDATE SET habit = excluded.habit, goal = excluded.goal, unit = excluded.unit, period = excluded.period, reminder = excluded.reminder, provenance = excluded.provenance, created_at = excluded.created_at`,
		foldName(t.Habit), t.Habit, t.Goal, t.Unit, t.Period, t.Reminder, string(t.Provenance), store.Millis(t.CreatedAt))
	if err != nil {
		return fmt.Errorf("habits: set target: %w", err)
	}
	return nil
}

func deleteTarget(tx *store.Tx, habit string) error {
	if _, err := tx.Exec(`DELETE FROM habit_targets WHERE name = ?`, foldName(habit)); err != nil {
		return fmt.Errorf("habits: remove target: %w", err)
	}
	return nil
}

// queryTargets returns the targets, keyed by the folded name of the habit.
func queryTargets(q store.Querier) (_ map[string]target, err error) {
	rows, err := q.Query(`SELECT name, habit, goal, unit, period, reminder, provenance, created_at FROM habit_targets`)
	if err != nil {
		return nil, fmt.Errorf("habits: read targets: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := map[string]target{}
	for rows.Next() {
		var t target
		var name string
		var created int64
		if err := rows.Scan(&name, &t.Habit, &t.Goal, &t.Unit, &t.Period, &t.Reminder, &t.Provenance, &created); err != nil {
			return nil, fmt.Errorf("habits: read targets: %w", err)
		}
		t.CreatedAt = store.Time(created)
		out[name] = t
	}
	return out, rows.Err()
}

// periodStart returns the first day of the target's period that contains day.
func (t target) periodStart(day time.Time) time.Time {
	switch t.Period {
	case "week":
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case "month":
		return day.AddDate(0, 0, 1-day.Day())
	}
	return day
}

// stateIn compares the target with the entries. Only complete periods in [from, to) since the first
// entry count as reached or missed.
func (t target) stateIn(entries []Entry, from, to, now time.Time) TargetState {
	s := TargetState{Goal: t.Goal, Unit: t.Unit, Period: t.Period}
	got := map[string]float64{}
	counted := map[string]bool{}
	var first time.Time
	for _, e := range entries {
		day, err := time.Parse(time.DateOnly, e.Day)
		if err != nil {
			continue
		}
		if first.IsZero() {
			first = day
		}
		start := t.periodStart(day).Format(time.DateOnly)
		switch {
		case t.Unit == "" && !counted[e.Day]:
			got[start]++
			counted[e.Day] = true
		case t.Unit != "" && e.Value != nil && strings.EqualFold(strings.TrimSpace(e.Unit), t.Unit):
			got[start] += *e.Value
		}
	}
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	current := t.periodStart(today)
	s.Current = got[current.Format(time.DateOnly)]
	if first.IsZero() {
		return s
	}
	for p := t.periodStart(first); p.Before(current); p = t.nextStart(p) {
		if !dayIn(p.Format(time.DateOnly), from, to) {
			continue
		}
		s.Of++
		if got[p.Format(time.DateOnly)] >= t.Goal {
			s.Reached++
		}
	}
	return s
}

func (t target) nextStart(p time.Time) time.Time {
	switch t.Period {
	case "week":
		return p.AddDate(0, 0, 7)
	case "month":
		return p.AddDate(0, 1, 0)
	}
	return p.AddDate(0, 0, 1)
}

func (s TargetState) statusText() string {
	unit := cmp.Or(s.Unit, "days")
	word := map[string]string{"day": "today", "week": "this week", "month": "this month"}[s.Period]
	text := fmt.Sprintf("Target: %s per %s; %s %s of %s.", withUnit(s.Goal, unit), s.Period, word, withUnit(s.Current, ""), withUnit(s.Goal, unit))
	if s.Of > 0 {
		text += fmt.Sprintf(" Reached in %d of %s.", s.Reached, textnorm.CountNoun(s.Of, s.Period, s.Period+"s"))
	}
	return text
}
