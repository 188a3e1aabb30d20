package agents

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// taskProgress is one task in the result of agent_status.
type taskProgress struct {
	Task
	Calls   int    `json:"tool_calls"`
	Last    string `json:"last_tool,omitempty"`
	Waiting bool   `json:"waiting_for_owner,omitempty"`
}

// StatusTx reports the progress of one task of the conversation, or of all its open tasks if id is
// empty.
func (c *Registry) StatusTx(ctx context.Context, tx *store.Tx, call tools.Call, id string) (tools.Result, error) {
	list, err := tasksTx(tx, `session = ? AND (id = ? OR ? = '' AND state IN ('queued', 'open')) ORDER BY created_at DESC, n LIMIT 50`, call.Session, id, id)
	if err != nil {
		return tools.Result{}, err
	}
	switch {
	case len(list) == 0 && id != "":
		return tools.Result{}, tools.Errorf(tools.NotFound, "this conversation has no task %q; agent_status {} lists the queued and running tasks", tools.Clean(textnorm.Ellipsize(id, 40)))
	case len(list) == 0:
		return tools.Result{Source: provenance.Tool, Text: "No task in this conversation is queued or running.", Data: map[string]any{"tasks": []taskProgress{}}}, nil
	}
	var b strings.Builder
	var data []taskProgress
	sources := []provenance.Source{provenance.Tool}
	for _, t := range list {
		p, err := c.progressTx(ctx, tx, t)
		if err != nil {
			return tools.Result{}, err
		}
		fmt.Fprintf(&b, "%s\n", p.describeProgress(call.Now))
		p.Result = ""
		data = append(data, p)
		ev, err := c.o.Bus.Inbox.Event(ctx, t.Event)
		if err != nil {
			return tools.Result{}, err
		}
		sources = append(sources, ev.Provenance) // the task text may be untrusted
	}
	return tools.Result{Text: strings.TrimSpace(b.String()), Data: map[string]any{"tasks": data}, Source: provenance.Worst(sources...)}, nil
}

func (c *Registry) progressTx(ctx context.Context, tx *store.Tx, t Task) (taskProgress, error) {
	p := taskProgress{Task: t}
	calls, err := c.o.Bus.Ledger.CallsIn(tx, t.Event)
	if err != nil {
		return p, err
	}
	if p.Calls = len(calls); p.Calls > 0 {
		p.Last = calls[len(calls)-1].Tool
	}
	asked, err := c.o.Guard.Approvals(ctx, guard.Pending, "", t.Event, 1)
	p.Waiting = len(asked) > 0
	return p, err
}

// describeProgress describes the state of a task in one line.
func (p taskProgress) describeProgress(now time.Time) string {
	s := fmt.Sprintf("%s (%s) %q: ", p.ID, p.Agent, textnorm.Ellipsize(p.Task.Task, 100))
	switch {
	case p.State == Queued:
		s += "queued"
	case p.State.IsFinished():
		s += string(p.State)
		if p.State == Done {
			s += fmt.Sprintf("; its result: delegation_result {\"task\": %q}", p.ID)
		}
	case p.Waiting:
		s += "waiting for the user's answer"
	default:
		s += fmt.Sprintf("running for %s", max(0, now.Sub(p.CreatedAt)).Round(time.Second))
	}
	if p.Calls > 0 {
		s += fmt.Sprintf(", %d tool call(s), the last one was %s", p.Calls, p.Last)
	}
	return s
}

// StopTx ends a task of the conversation and its subtasks.
func (c *Registry) StopTx(_ context.Context, tx *store.Tx, call tools.Call, id string) (tools.Result, error) {
	t, ok, err := taskTx(tx, `id = ?`, id)
	switch {
	case err != nil:
		return tools.Result{}, err
	case !ok || t.Session != call.Session:
		return tools.Result{}, tools.Errorf(tools.NotFound, "this conversation has no task %q; agent_status {} lists the queued and running tasks", tools.Clean(textnorm.Ellipsize(id, 40)))
	case t.State.IsFinished():
		return tools.Result{}, tools.Errorf(tools.Conflict, "the task %s has ended: %s", tools.Clean(t.ID), tools.Clean(t.State))
	}
	if err := c.cutTx(tx, t, Cancelled, "stopped from the conversation that started it"); err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Source: provenance.Tool, Text: fmt.Sprintf("Stopped the task %s.", t.ID), Data: map[string]string{"id": t.ID, "state": string(Cancelled)}}, nil
}

// Due ends background tasks that exceed the time limit. It returns when the next task will exceed
// the limit.
func (c *Registry) Due(ctx context.Context, now time.Time) (time.Time, error) {
	return c.due.Due(ctx, now, false, c.giveUp)
}

func (c *Registry) giveUp(ctx context.Context, now time.Time) (next time.Time, err error) {
	list, err := collectTasks(c.o.Store.Read().QueryContext(ctx, `SELECT `+taskColumns+` FROM crew_tasks INDEXED BY crew_tasks_open
		WHERE state IN ('queued', 'open') AND background = 1 ORDER BY created_at, n`))
	if err != nil {
		return next, err
	}
	for _, t := range list {
		ev, err := c.o.Bus.Inbox.Event(ctx, t.Event)
		if err != nil {
			return next, err
		}
		if ev.State == bus.Held { // its time starts when the user releases it, see DecideHeldTx
			continue
		}
		until, err := c.taskDeadline(ctx, t, c.o.Longest)
		if err != nil {
			return next, err
		}
		if now.Before(until) {
			if next.IsZero() || until.Before(next) {
				next = until
			}
			continue
		}
		if err := c.o.Store.Write(ctx, func(tx *store.Tx) error { return c.giveUpTx(tx, t.ID) }); err != nil {
			return next, fmt.Errorf("agents: end overdue tasks: %w", err)
		}
	}
	return next, nil
}

// giveUpTx ends an overdue task and sends a notice about it.
func (c *Registry) giveUpTx(tx *store.Tx, id string) error {
	t, ok, err := taskTx(tx, `id = ?`, id)
	if err != nil || !ok || t.State.IsFinished() {
		return err
	}
	ev, err := c.o.Bus.Inbox.EventTx(tx, t.Event)
	if err != nil {
		return err
	}
	o, err := orderOf(ev)
	if err != nil {
		return err
	}
	why := fmt.Sprintf("the task did not end within %s ([crew] background_timeout) and was stopped", c.o.Longest)
	if err := c.cutTx(tx, t, TimedOut, why); err != nil {
		return err
	}
	t.State, t.Result, t.Source = TimedOut, why, provenance.Hob
	return c.tellTx(tx, t, o)
}
