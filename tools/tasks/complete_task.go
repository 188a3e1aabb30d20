package tasks

import (
	"context"
	"fmt"

	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/tools"
)

type taskIn struct {
	Task string `json:"task" jsonschema:"id or words of the title"`
}

func (d Deps) completeTask() tools.Tool {
	return tools.New(tools.Def[taskIn]{
		Spec: tools.Spec{
			Name: "complete_task", Category: "tasks", Effects: tools.Write,
			Description: "Mark a task as done.",
			Keywords:    "finish finished check off tick done",
		},
		Summary: func(in taskIn) string { return fmt.Sprintf("Mark the task %q as done", phrase.Cut(in.Task, 100)) },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in taskIn) (tools.Result, error) {
			before, err := pick(tx, in.Task)
			if err != nil {
				return tools.Result{}, err
			}
			if before.Status == statusDone {
				return tools.Result{Text: fmt.Sprintf("Task %q is already done.", before.Title), Data: before, Source: source(before)}, nil
			}
			t := before
			t.Status, t.DoneAt, t.UpdatedAt = statusDone, store.Time(store.Millis(c.Now)), store.Time(store.Millis(c.Now))
			if err := d.change(tx, t); err != nil {
				return tools.Result{}, err
			}
			var open int
			if err := tx.QueryRow("SELECT count(*) FROM tasks WHERE status = ?", statusOpen).Scan(&open); err != nil {
				return tools.Result{}, fmt.Errorf("tasks: %w", err)
			}
			return tools.Result{
				Text: fmt.Sprintf("Done: %q. %s.", t.Title, count(open)), Data: t, Source: source(t),
				Undo: tools.NewUndo(fmt.Sprintf("open the task %q again", t.Title), changed{Before: before, After: state(t)}),
			}, nil
		},
		UndoTx: d.undoChange,
	})
}

// count says how many tasks are left.
func count(open int) string {
	switch open {
	case 0:
		return "No open tasks are left"
	case 1:
		return "1 open task is left"
	}
	return fmt.Sprintf("%d open tasks are left", open)
}
