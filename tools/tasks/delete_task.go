package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

func (d Deps) deleteTask() tools.Tool {
	return tools.New(tools.Def[taskIn]{
		Spec: tools.Spec{
			Name: "delete_task", Category: "tasks", Effects: tools.Write,
			Description: "Delete a task that is no longer wanted.",
			Keywords:    "remove cancel drop",
		},
		Summary: func(in taskIn) string { return fmt.Sprintf("Delete the task %q", textnorm.Ellipsize(in.Task, 100)) },
		RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in taskIn) (tools.Result, error) {
			t, err := findTask(tx, in.Task, strings.TrimSpace(in.Project))
			if err != nil {
				return tools.Result{}, err
			}
			if err := d.deleteTaskRow(tx, t.ID); err != nil {
				return tools.Result{}, err
			}
			return tools.Result{
				Text: fmt.Sprintf("Deleted task %q.", t.Title), Data: t, Source: tasksProvenance(t),
				Undo: tools.NewUndo(fmt.Sprintf("restore the task %q", t.Title), t),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var t Task
			if err := json.Unmarshal(data, &t); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			if _, ok, err := taskByID(tx, t.ID); err != nil || ok {
				if err == nil {
					err = tools.Quoting(tools.Errorf(tools.Conflict, "the task %q already exists", tools.Clean(t.Title)), t.Provenance)
				}
				return "", err
			}
			return fmt.Sprintf("Restored the task %q.", t.Title), d.insertTaskRow(tx, t)
		},
	})
}
