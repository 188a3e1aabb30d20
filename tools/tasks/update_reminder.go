package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

type moveReminderIn struct {
	Reminder string `json:"reminder" jsonschema:"id or words"`
	Text     string `json:"text,omitempty" jsonschema:"new text"`
	At       string `json:"at,omitempty" jsonschema:"new time; a day alone keeps the time of day, 16:00 alone the day"`
	Every    string `json:"every,omitempty" jsonschema:"new recurrence"`
	Shift    string `json:"shift,omitempty" jsonschema:"how much later, such as 1h30m; negative means earlier"`
	Priority string `json:"priority,omitempty" jsonschema:"low, medium, high, critical, or none"`
}

// moveUndo holds the reminder before a change, and the id of the new reminder that replaced it.
type moveUndo struct {
	Before watchers.Spec `json:"before"`
	ID     string        `json:"id"`
}

// updateReminder changes a reminder by replacing it.
func (d Deps) updateReminder() tools.Tool {
	return tools.New(tools.Def[moveReminderIn]{
		Spec: tools.Spec{
			Name: "update_reminder", Category: "tasks", Effects: tools.Write,
			Description: "Change the time, the text or the priority of a reminder.",
			Keywords:    "move reschedule postpone snooze push back rename edit reminder",
		},
		Summary: func(in moveReminderIn) string {
			return fmt.Sprintf("Change the reminder %q", textnorm.Ellipsize(in.Reminder, 100))
		},
		RunTx: d.runUpdateReminder,
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var u moveUndo
			if err := json.Unmarshal(data, &u); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			if _, err := d.cancelAndUnindex(tx, u.ID); errors.Is(err, watchers.ErrNotFound) {
				return "", tools.Errorf(tools.Conflict, "the reminder was canceled or changed again")
			} else if err != nil {
				return "", err
			}
			if err := d.Clock.RestoreTx(tx, u.Before); err != nil {
				return "", tools.Errorf(tools.Conflict, "the reminder cannot be restored: %w", err)
			}
			return fmt.Sprintf("Changed the reminder %q back.", textnorm.Ellipsize(u.Before.Action, 80)), d.indexReminder(tx, u.Before)
		},
	})
}

func (d Deps) runUpdateReminder(_ context.Context, tx *store.Tx, c tools.Call, in moveReminderIn) (tools.Result, error) {
	before, err := d.pickReminder(tx, in.Reminder, c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	next := watchers.Spec{
		Kind: before.Kind, Config: before.Config, Priority: before.Priority, Mode: watchers.Remind, Action: before.Action, Report: before.Report,
		Provenance: provenance.Worst(before.Provenance, callProvenance(c)), CreatedAt: before.CreatedAt,
	}
	next.Action = cmp.Or(strings.TrimSpace(strings.ToValidUTF8(in.Text, "\uFFFD")), before.Action)
	switch in.Priority = strings.ToLower(strings.TrimSpace(in.Priority)); in.Priority {
	case "":
	case none:
		next.Priority = ""
	default:
		if next.Priority, err = priorityField(in.Priority); err != nil {
			return tools.Result{}, err
		}
	}
	at, err := movedTime(before, in, c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	if at != "" || in.Every != "" {
		if next.Kind, next.Config, err = watchers.ParseSchedule(at, in.Every, c.Now); err != nil {
			return tools.Result{}, classifyError(err)
		}
	}
	if _, err := d.cancelAndUnindex(tx, before.ID); err != nil {
		return tools.Result{}, classifyError(err)
	}
	spec, err := d.Clock.CreateTx(tx, next)
	if err != nil {
		return tools.Result{}, classifyError(err)
	}
	if err := d.indexReminder(tx, spec); err != nil {
		return tools.Result{}, err
	}
	return tools.Result{
		Source: provenance.Worst(provenance.Tool, before.Provenance), Text: "Changed. " + d.reminderText(spec, c), Data: spec,
		Undo: tools.NewUndo(fmt.Sprintf("change the reminder %q back", textnorm.Ellipsize(before.Action, 80)), moveUndo{Before: before, ID: spec.ID}),
	}, nil
}

// movedTime returns the new time of a reminder in RFC 3339 format, or "" to keep its schedule.
func movedTime(before watchers.Spec, in moveReminderIn, now time.Time) (string, error) {
	once := before.Kind == watchers.KindOneshot && !before.NextAt.IsZero()
	old := before.NextAt.In(now.Location())
	switch {
	case in.Shift != "":
		by, err := time.ParseDuration(in.Shift)
		if err != nil || by == 0 {
			return "", tools.Errorf(tools.InvalidArguments, "shift %q is not a duration; use a form such as 1h30m", tools.Clean(in.Shift))
		}
		if !once {
			return "", tools.Errorf(tools.InvalidArguments, "the reminder repeats, so it has no single time to shift; give the new recurrence")
		}
		return old.Add(by).Format(time.RFC3339), nil
	case in.At == "" || in.Every != "" || !once:
		return in.At, nil
	}
	if clock, err := time.Parse("15:04", in.At); err == nil {
		at := time.Date(old.Year(), old.Month(), old.Day(), clock.Hour(), clock.Minute(), 0, 0, old.Location())
		if !at.After(now) {
			return "", tools.Errorf(tools.InvalidArguments, "%s has already passed; name another time", dateparse.Format(at, now))
		}
		return at.Format(time.RFC3339), nil
	}
	m, err := dateparse.Parse(in.At, now)
	if err != nil || m.HasClock || m.Grain != dateparse.Day {
		return in.At, nil //nolint:nilerr // ParseSchedule reports the error
	}
	at := time.Date(m.Time.Year(), m.Time.Month(), m.Time.Day(), old.Hour(), old.Minute(), 0, 0, old.Location())
	return at.Format(time.RFC3339), nil
}

// pickReminder finds a pending reminder by its id, by words, or by words together with its time.
func (d Deps) pickReminder(tx *store.Tx, query string, now time.Time) (watchers.Spec, error) {
	list, err := d.pendingReminders(tx)
	if err != nil {
		return watchers.Spec{}, err
	}
	s, err := tools.Pick("reminder", query, list, func(s watchers.Spec) (string, string) { return s.ID, s.Action })
	if err == nil || len(list) == 0 {
		return s, err
	}
	timed, terr := tools.Pick("reminder", query, list, func(s watchers.Spec) (string, string) {
		return s.ID, textnorm.Ellipsize(s.Action, 60) + ", " + d.whenWords(s, now)
	})
	if terr == nil || errors.Is(err, tools.ErrAmbiguous) && errors.Is(terr, tools.ErrAmbiguous) {
		s, err = timed, terr // the time in the query distinguishes reminders with the same text
	}
	if err != nil {
		return watchers.Spec{}, tools.Quoting(err, specSources(list)...)
	}
	return s, nil
}
