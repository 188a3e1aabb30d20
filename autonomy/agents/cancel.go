package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/turn"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// Stop ends every open task of a conversation and its subtasks. The turns that wait for these tasks
// then end, too. stopped reports whether there was an open task.
func (c *Registry) Stop(ctx context.Context, session string) (stopped bool, err error) {
	err = c.o.Store.Write(ctx, func(tx *store.Tx) error {
		list, err := tasksTx(tx, `session = ? AND state IN ('queued', 'open') ORDER BY call, n DESC`, session)
		if err != nil {
			return err
		}
		stopped = len(list) > 0
		for _, t := range list {
			if err := c.cutTx(tx, t, Stopped, "stopped by the user"); err != nil {
				return err
			}
		}
		return nil
	})
	return stopped, err
}

// Abandon ends the open tasks of a failed turn.
func (c *Registry) Abandon(ctx context.Context, parent string) error {
	open, err := c.Children(ctx, parent)
	if err != nil || len(open) == 0 {
		return err
	}
	return c.o.Store.Write(ctx, func(tx *store.Tx) error {
		for _, t := range open {
			if t.Background {
				continue
			}
			if err := c.cutTx(tx, t, Failed, "the turn that waited for it failed"); err != nil {
				return err
			}
		}
		return nil
	})
}

// Cancel ends one task and its subtasks. It returns a Conflict error if the task has already ended.
func (c *Registry) Cancel(ctx context.Context, id string) (t Task, err error) {
	err = c.o.Store.Write(ctx, func(tx *store.Tx) error {
		var ok bool
		if t, ok, err = taskTx(tx, `id = ?`, id); err != nil {
			return err
		}
		switch {
		case !ok:
			return fmt.Errorf("task %q: %w; list the tasks with: hob agent tasks", id, bus.ErrNotFound)
		case t.State.IsFinished():
			return tools.Errorf(tools.Conflict, "task %s has already ended: %s", tools.Clean(id), tools.Clean(t.State))
		}
		if err := c.cutTx(tx, t, Cancelled, "canceled by the user"); err != nil {
			return err
		}
		t.State = Cancelled
		return c.o.Guard.AuditTx(tx, guard.Record{Actor: "owner", Action: "cancel", Event: t.Event, Session: t.Own(), Origin: "cli", Verdict: "allow", Rule: "owner's command"})
	})
	return t, err
}

// DecideHeldTx calls bus.Hold.DecideTx and applies the decision to the tasks: the time limit of a
// released task starts now, and a dropped task ends together with its subtasks. The tasks that a
// dropped turn waits for also end.
func (c *Registry) DecideHeldTx(tx *store.Tx, id string, release bool) (n int, err error) {
	open, err := tasksTx(tx, `state IN ('queued', 'open') ORDER BY created_at, n`)
	if err != nil {
		return 0, err
	}
	var decided []Task
	for _, t := range open {
		ev, err := c.o.Bus.Inbox.EventTx(tx, t.Event)
		if err != nil && !errors.Is(err, bus.ErrNotFound) {
			return 0, err
		}
		if ev.State == bus.Held && (id == bus.AllHeld || id == t.Event || id == t.Parent && !t.Background && !release) {
			decided = append(decided, t)
		}
	}
	if n, err = c.o.Bus.Hold.DecideTx(tx, id, release); err != nil {
		return n, err
	}
	for _, t := range decided {
		if release {
			if _, err := tx.Exec(`UPDATE crew_tasks SET created_at = ? WHERE id = ?`, time.Now().UnixMilli(), t.ID); err != nil {
				return n, fmt.Errorf("agents: release held tasks: %w", err)
			}
			continue
		}
		t, ok, err := taskTx(tx, `id = ?`, t.ID)
		if err != nil {
			return n, err
		}
		if ok && !t.State.IsFinished() { // the end of a parent task may already have ended this one
			if err := c.cutTx(tx, t, Cancelled, "dropped after the restore"); err != nil {
				return n, err
			}
		}
	}
	c.due.InvalidateTx(tx, c.o.Bus.Inbox)
	return n, nil
}

// cutTx ends an open task after its subtasks. The task's running turn is canceled after the
// transaction has committed.
func (c *Registry) cutTx(tx *store.Tx, t Task, state State, why string) error {
	below, err := tasksTx(tx, `parent = ? AND state IN ('queued', 'open') ORDER BY call, n DESC`, t.Event)
	if err != nil {
		return err
	}
	for _, b := range below {
		if err := c.cutTx(tx, b, Stopped, why); err != nil {
			return err
		}
	}
	// Close the task before its turn ends, so that the end of the turn does not resume the parent
	// a second time.
	if err := c.closeTx(tx, t, TaskOutcome{State: state, Answer: why, Source: provenance.Hob}); err != nil {
		return err
	}
	if err := c.o.Guard.CloseTx(tx, t.Event, guard.Cancelled); err != nil {
		return err
	}
	dropped, err := c.o.Bus.Inbox.DropTx(tx, t.Event, why)
	if err != nil || dropped {
		return err
	}
	tx.AfterCommit(func() {
		c.mu.Lock()
		halt := c.running[t.Event]
		c.mu.Unlock()
		if halt != nil {
			halt(turn.ErrStopped)
		}
	})
	return nil
}
