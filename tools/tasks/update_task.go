package tasks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type updateIn struct {
	Task     string `json:"task" jsonschema:"id or words of the title"`
	Title    string `json:"title,omitempty" jsonschema:"new title"`
	Due      string `json:"due,omitempty" jsonschema:"none clears it; a day alone keeps the time of day"`
	Priority string `json:"priority,omitempty" jsonschema:"low, medium, high, critical or none"`
	Project  string `json:"project,omitempty" jsonschema:"none clears it"`
	Notes    string `json:"notes,omitempty" jsonschema:"none clears them"`
	Status   string `json:"status,omitempty" jsonschema:"open or done"`
}

func (d Deps) updateTask() tools.Tool {
	return tools.New(tools.Def[updateIn]{
		Spec: tools.Spec{
			Name: "update_task", Category: "tasks", Effects: tools.Write,
			Description: "Change a task: title, due time, priority, project, notes or status.",
			Keywords:    "edit rename postpone reschedule move due reopen prioritise",
		},
		Summary: func(in updateIn) string { return fmt.Sprintf("Change the task %q", textnorm.Ellipsize(in.Task, 100)) },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in updateIn) (tools.Result, error) {
			before, err := findTask(tx, in.Task, "")
			if err != nil {
				return tools.Result{}, err
			}
			t, err := applyUpdate(c, before, in)
			if err != nil {
				return tools.Result{}, err
			}
			if taskDigest(t) == taskDigest(before) {
				return tools.Result{Text: fmt.Sprintf("Task %q already has these values.", t.Title), Data: t, Source: tasksProvenance(t)}, nil
			}
			t.UpdatedAt = store.Time(store.Millis(c.Now))
			if callProvenance(c).Tainted() {
				t.Provenance = provenance.Outside
			}
			if err := d.updateTaskRow(tx, t); err != nil {
				return tools.Result{}, err
			}
			return tools.Result{
				Text: "Changed the task: " + t.taskLine(c.Now) + ".", Data: t, Source: tasksProvenance(before, t),
				Undo: tools.NewUndo(fmt.Sprintf("revert the change to the task %q", before.Title), taskUndo{Before: before, After: taskDigest(t)}),
			}, nil
		},
		UndoTx: d.undoChange,
	})
}

func applyUpdate(c tools.Call, t Task, in updateIn) (Task, error) {
	var err error
	set := func(to *string, given string, read func(string) (string, error)) {
		if err != nil || strings.TrimSpace(given) == "" {
			return
		}
		if strings.EqualFold(strings.TrimSpace(given), none) {
			given = ""
		}
		var v string
		if v, err = read(given); err == nil {
			*to = v
		}
	}
	if in.Title != "" {
		if t.Title, err = titleField(in.Title); err != nil {
			return t, err
		}
	}
	set(&t.Due, in.Due, func(s string) (string, error) { return movedDue(t.Due, s, c.Now) })
	set(&t.Priority, in.Priority, priorityField)
	set(&t.Project, in.Project, func(s string) (string, error) { return projectField(s), nil })
	set(&t.Notes, in.Notes, notesField)
	if err != nil {
		return t, err
	}
	switch strings.ToLower(strings.TrimSpace(in.Status)) {
	case "":
	case statusOpen:
		t.Status, t.DoneAt = statusOpen, store.Time(0)
	case statusDone:
		if t.Status != statusDone {
			t.Status, t.DoneAt = statusDone, store.Time(store.Millis(c.Now))
		}
	default:
		return t, tools.Errorf(tools.InvalidArguments, "status must be open or done, not %q", tools.Clean(textnorm.Ellipsize(in.Status, 40)))
	}
	return t, nil
}

// movedDue parses a new due time. A day alone keeps the time of day of the old due time.
func movedDue(old, given string, now time.Time) (string, error) {
	due, err := dueField(given, now)
	was, noClock := time.Parse(time.RFC3339, old)
	day, noDay := time.ParseInLocation(time.DateOnly, due, now.Location())
	if err != nil || noClock != nil || noDay != nil {
		return due, err
	}
	was = was.In(now.Location())
	return time.Date(day.Year(), day.Month(), day.Day(), was.Hour(), was.Minute(), 0, 0, now.Location()).Format(time.RFC3339), nil
}
