package tasks

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type createIn struct {
	Title    string `json:"title"`
	Due      string `json:"due,omitempty" jsonschema:"day or time, in words or RFC 3339"`
	Priority string `json:"priority,omitempty" jsonschema:"low, medium, high, critical"`
	Project  string `json:"project,omitempty"`
	Notes    string `json:"notes,omitempty"`
}

func (d Deps) createTask() tools.Tool {
	return tools.New(tools.Def[createIn]{
		Spec: tools.Spec{
			Name: "create_task", Category: "tasks", Effects: tools.Write, Core: true,
			Description: "Add a task to the user's list or project.",
			Keywords:    "todo to do add new",
		},
		Summary: func(in createIn) string { return fmt.Sprintf("Add the task %q", textnorm.Ellipsize(in.Title, 100)) },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in createIn) (tools.Result, error) {
			t, err := newTask(c, in)
			if err != nil {
				return tools.Result{}, err
			}
			if err := d.insertTaskRow(tx, t); err != nil {
				return tools.Result{}, err
			}
			text := fmt.Sprintf("Added task %q", t.Title)
			if more := t.detailsText(c.Now); more != "" {
				text += ", " + more
			}
			return tools.Result{
				Source: provenance.Tool,
				Text:   text + ".", Data: t,
				Undo: tools.NewUndo(fmt.Sprintf("delete the task %q", t.Title), taskUndo{Before: t, After: taskDigest(t)}),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var u taskUndo
			if err := json.Unmarshal(data, &u); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			now, ok, err := taskByID(tx, u.Before.ID)
			switch {
			case err != nil:
				return "", err
			case !ok:
				return "", tools.Quoting(tools.Errorf(tools.NotFound, "the task %q was deleted", tools.Clean(u.Before.Title)), u.Before.Provenance)
			case taskDigest(now) != u.After:
				return "", tools.Quoting(tools.Errorf(tools.Conflict, "the task %q has changed; undo would overwrite the change", tools.Clean(now.Title)), now.Provenance)
			}
			return fmt.Sprintf("Deleted the task %q.", now.Title), d.deleteTaskRow(tx, now.ID)
		},
	})
}

func newTask(c tools.Call, in createIn) (Task, error) {
	at := store.Time(store.Millis(c.Now))
	t := Task{ID: shortid.New("t"), Status: statusOpen, Project: projectField(in.Project), Provenance: callProvenance(c), CreatedAt: at, UpdatedAt: at}
	var err error
	if t.Title, err = titleField(in.Title); err != nil {
		return t, err
	}
	if t.Due, err = dueField(in.Due, c.Now); err != nil {
		return t, err
	}
	if t.Priority, err = priorityField(in.Priority); err != nil {
		return t, err
	}
	t.Notes, err = notesField(in.Notes)
	return t, err
}
