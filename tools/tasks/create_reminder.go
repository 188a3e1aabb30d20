package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

type remindIn struct {
	Text  string `json:"text" jsonschema:"what to remind the user of"`
	At    string `json:"at,omitempty" jsonschema:"time, in words or RFC 3339"`
	Every string `json:"every,omitempty" jsonschema:"weekday at 8:30, or cron"`
	In    string `json:"in,omitempty" jsonschema:"hob, app or account: home/Shopping"`
	// Priority has the values of a task's.
	Priority string `json:"priority,omitempty" jsonschema:"low to critical"`
}

// describeTime returns the time in words, without the syntax of cron and RFC 3339.
func (in remindIn) describeTime(now time.Time) string {
	if every, err := dateparse.ParseEvery(in.Every, now); in.Every != "" && err == nil {
		return dateparse.DescribeEvery(every)
	}
	if at, err := time.Parse(time.RFC3339, in.At); err == nil {
		return at.Format("Mon 2 Jan 2006 at 15:04")
	}
	return textnorm.Ellipsize(strings.TrimSpace(in.At+in.Every), 60)
}

type reminderUndo struct {
	ID string `json:"id"`
}

const kindReminder = "reminder"

// createReminder creates a reminder in Hob's own store, where it fires automatically, or on a list
// of the owner's apps.
func (d Deps) createReminder() tools.Tool {
	spec := tools.Spec{
		Name: "create_reminder", Category: "tasks", Effects: tools.Write, Core: true,
		Description: "Remind the user once (at) or repeatedly (every).",
		Keywords:    "remind me alarm alert later timer todo to-do list app shopping list",
	}
	mine := d.createOwn(spec)
	if d.Lists == nil {
		return mine
	}
	return tools.Divide(mine, d.createErrand(spec), d.isForApp, ofList)
}

func (d Deps) createOwn(spec tools.Spec) tools.Tool {
	return tools.New(tools.Def[remindIn]{
		Spec: spec,
		Summary: func(in remindIn) string {
			return fmt.Sprintf("Remind you (%s): %s", in.describeTime(time.Now()), textnorm.Ellipsize(in.Text, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in remindIn) (tools.Result, error) {
			kind, config, err := watchers.ParseSchedule(in.At, in.Every, c.Now)
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			priority, err := priorityField(in.Priority)
			if err != nil {
				return tools.Result{}, err
			}
			spec, err := d.Clock.CreateTx(tx, watchers.Spec{
				Kind: kind, Priority: priority, Config: config, Mode: watchers.Remind, Action: strings.TrimSpace(strings.ToValidUTF8(in.Text, "\uFFFD")),
				Report: c.Report, Provenance: callProvenance(c), CreatedAt: c.Now,
			})
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			if err := d.indexReminder(tx, spec); err != nil {
				return tools.Result{}, err
			}
			return tools.Result{
				Source: provenance.Tool,
				Text:   d.reminderText(spec, c), Data: spec,
				Undo: tools.NewUndo("cancel the reminder "+fmt.Sprintf("%q", textnorm.Ellipsize(spec.Action, 80)), reminderUndo{ID: spec.ID}),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var u reminderUndo
			if err := json.Unmarshal(data, &u); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			spec, err := d.cancelAndUnindex(tx, u.ID)
			if errors.Is(err, watchers.ErrNotFound) {
				return "", tools.Errorf(tools.NotFound, "the reminder was canceled")
			}
			return fmt.Sprintf("Canceled the reminder %q.", textnorm.Ellipsize(spec.Action, 80)), err
		},
	})
}

// reminderText describes what a new reminder will do.
func (d Deps) reminderText(s watchers.Spec, c tools.Call) string {
	if s.Kind == watchers.KindOneshot {
		when := dateparse.Format(s.NextAt, c.Now)
		if p := s.PriorityWords(); p != "" {
			when += " (" + p + ")"
		}
		return fmt.Sprintf("I will remind you %s: %s.", when, strings.TrimRight(s.Action, "."))
	}
	at := s
	at.Action = ""
	return fmt.Sprintf("I will remind you %s: %s. Next: %s.", d.Clock.Describe(at), strings.TrimRight(s.Action, "."), d.Clock.NextWords(s, c.Now))
}

func (d Deps) indexReminder(tx *store.Tx, s watchers.Spec) error {
	return d.Knowledge.IndexTx(tx, knowledge.Doc{Kind: kindReminder, Ref: s.ID, Title: s.Action, At: s.CreatedAt, Provenance: s.Provenance})
}

func (d Deps) cancelAndUnindex(tx *store.Tx, id string) (watchers.Spec, error) {
	spec, err := d.Clock.CancelTx(tx, id)
	if err != nil {
		return spec, err
	}
	return spec, d.Knowledge.UnindexTx(tx, kindReminder, id)
}
