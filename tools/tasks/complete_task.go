package tasks

import (
	"context"
	"fmt"
	"strings"

	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type taskIn struct {
	Task    string `json:"task" jsonschema:"id or words of the title"`
	Project string `json:"project,omitempty" jsonschema:"when titles repeat"`
}

func (d Deps) completeTask() tools.Tool {
	return tools.New(tools.Def[taskIn]{
		Spec: tools.Spec{
			Name: "complete_task", Category: "tasks", Effects: tools.Write,
			Description: "Mark a task as done.",
			Keywords:    "finish finished check off tick done",
		},
		Summary: func(in taskIn) string {
			return fmt.Sprintf("Mark the task %q as done", textnorm.Ellipsize(in.Task, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in taskIn) (tools.Result, error) {
			before, err := findTask(tx, in.Task, strings.TrimSpace(in.Project))
			if err != nil {
				return tools.Result{}, err
			}
			if before.Status == statusDone {
				return tools.Result{Text: fmt.Sprintf("Task %q is already done.", before.Title), Data: before, Source: tasksProvenance(before)}, nil
			}
			t := before
			t.Status, t.DoneAt, t.UpdatedAt = statusDone, store.Time(store.Millis(c.Now)), store.Time(store.Millis(c.Now))
			if err := d.updateTaskRow(tx, t); err != nil {
				return tools.Result{}, err
			}
			var open int
			if err := tx.QueryRow("SELECT count(*) FROM tasks WHERE status = ?", statusOpen).Scan(&open); err != nil {
				return tools.Result{}, fmt.Errorf("tasks: count open tasks: %w", err)
			}
			return tools.Result{
				Text: fmt.Sprintf("Done: %q. %s.", t.Title, openTasksText(open)), Data: t, Source: tasksProvenance(t),
				Undo: tools.NewUndo(fmt.Sprintf("open the task %q again", t.Title), taskUndo{Before: before, After: taskDigest(t)}),
			}, nil
		},
		UndoTx: d.undoChange,
	})
}

// openTasksText states how many tasks are left.
func openTasksText(open int) string {
	switch open {
	case 0:
		return "No open tasks are left"
	case 1:
		return "1 open task is left"
	}
	return fmt.Sprintf("%d open tasks are left", open)
}
