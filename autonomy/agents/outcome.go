package agents

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// shown is the maximum length in characters of all results that one call returns. Each task gets an
// equal part; delegation_result returns the full text.
const shown = 15_000

// taskResult is one task in the Data of a call's result.
type taskResult struct {
	ID    string `json:"id"`
	Agent string `json:"agent"`
	State State  `json:"state"`
}

// callUsage is the Data of a call's result.
type callUsage struct {
	Tasks  []taskResult `json:"tasks"`
	Rounds int          `json:"rounds"`
	Tokens int          `json:"tokens"`
}

// OutcomeTx returns the results of a call's tasks. It ends the tasks that exceed the time limit.
func (c *Registry) OutcomeTx(ctx context.Context, tx *store.Tx, call tools.Call) (tools.Outcome, error) {
	list, err := tasksTx(tx, `call = ? ORDER BY n`, call.ID)
	if err != nil {
		return tools.Outcome{}, err
	}
	for i, t := range list {
		if t.Background || t.State.IsFinished() {
			continue
		}
		until, err := c.taskDeadline(ctx, t, c.o.Timeout)
		if err != nil {
			return tools.Outcome{}, err
		}
		if time.Now().Before(until) {
			return tools.Outcome{Until: until}, nil
		}
		why := fmt.Sprintf("the task did not end within %s and was stopped", c.o.Timeout)
		if err := c.cutTx(tx, t, TimedOut, why); err != nil {
			return tools.Outcome{}, err
		}
		list[i].State, list[i].Result, list[i].Source = TimedOut, why, provenance.Hob
	}
	out := callOutcome(list)
	if out.Done && out.Result.Source.Tainted() {
		ids := make([]string, 0, len(list))
		for _, t := range list {
			ids = append(ids, t.ID)
		}
		if out.Result.Origins, err = origins.Of(tx, origins.Task, ids...); err != nil {
			return tools.Outcome{}, fmt.Errorf("agents: read origins of results: %w", err)
		}
	}
	return out, nil
}

// taskDeadline returns the deadline of a task. The limit counts from the creation of the task or
// from the last answer to an approval request. The time during which a request is open does not
// count.
func (c *Registry) taskDeadline(ctx context.Context, t Task, length time.Duration) (time.Time, error) {
	from := t.CreatedAt
	events := []string{t.Event}
	below, err := c.Children(ctx, t.Event)
	if err != nil {
		return from, err
	}
	for _, b := range below {
		events = append(events, b.Event)
	}
	for _, ev := range events {
		asked, err := c.o.Guard.Approvals(ctx, "", "", ev, 100)
		if err != nil {
			return from, err
		}
		for _, a := range asked {
			at := a.DecidedAt
			if a.State == guard.Pending {
				at = a.ExpiresAt
			}
			if at.After(from) {
				from = at
			}
		}
	}
	return from.Add(length), nil
}

// callOutcome formats the results of a call's tasks, in order.
func callOutcome(list []Task) tools.Outcome {
	out := tools.Outcome{Done: true}
	sources := []provenance.Source{provenance.Tool}
	data := callUsage{Tasks: []taskResult{}}
	var b strings.Builder
	part := shown / max(1, len(list))
	for i, t := range list {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "Task %d (%s, %s): %s", i+1, t.ID, t.Agent, describeTask(t, part))
		out.Stopped = out.Stopped || t.State == Stopped
		out.Rounds, out.Tokens = out.Rounds+t.Rounds, out.Tokens+t.Tokens
		if t.State.IsFinished() {
			sources = append(sources, t.Source)
		}
		data.Tasks = append(data.Tasks, taskResult{t.ID, t.Agent, t.State})
	}
	data.Rounds, data.Tokens = out.Rounds, out.Tokens
	out.Result = tools.Result{Text: b.String(), Data: data, Source: provenance.Worst(sources...)}
	if out.Stopped {
		out.Err = tools.Errorf(tools.Cancelled, "the user stopped this turn and its tasks")
	}
	return out
}

// describeTask describes the state of a task, with at most n characters of its result.
func describeTask(t Task, n int) string {
	switch t.State {
	case Queued, Open:
		return "running in the background; Hob reports the result when the task ends"
	case Done:
		text := t.Result
		if short := textnorm.Ellipsize(text, n); short != text {
			text = short + fmt.Sprintf("\n[truncated; full result: delegation_result {\"task\": %q}]", t.ID)
		}
		return "done\n" + text
	case TimedOut:
		return "failed: timeout: " + t.Result
	case Cancelled:
		return "canceled by the user"
	case Stopped:
		return "stopped by the user"
	}
	return "failed: " + textnorm.Ellipsize(t.Result, n)
}

// ReadTx returns the result of one task in the conversation, starting at offset (in characters). If
// id is empty, it lists the tasks.
func (c *Registry) ReadTx(_ context.Context, tx *store.Tx, call tools.Call, id string, offset int) (tools.Result, error) {
	if id == "" {
		return c.listTx(tx, call.Session)
	}
	t, ok, err := taskTx(tx, `id = ?`, id)
	if err != nil {
		return tools.Result{}, err
	}
	if !ok || t.Session != call.Session {
		return tools.Result{}, tools.Errorf(tools.NotFound, "no task %q was delegated in this conversation; delegation_result {} lists the tasks", tools.Clean(textnorm.Ellipsize(id, 40)))
	}
	if !t.State.IsFinished() {
		return tools.Result{Source: provenance.Tool, Text: fmt.Sprintf("Task %s (%s) is %s.", t.ID, t.Agent, t.State)}, nil
	}
	r := []rune(t.Result)
	if offset < 0 || offset > len(r) {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "offset must be from 0 to %d, the length of the result in characters", len(r))
	}
	end := min(len(r), offset+shown)
	text := string(r[offset:end])
	if end < len(r) {
		text += fmt.Sprintf("\n[%d of %d characters; continue with offset %d]", end, len(r), end)
	}
	from, err := origins.Of(tx, origins.Task, t.ID)
	if err != nil {
		return tools.Result{}, fmt.Errorf("agents: read origins of a result: %w", err)
	}
	return tools.Result{Text: text, Data: t, Source: provenance.Worst(provenance.Tool, t.Source), Origins: from}, nil
}

func (c *Registry) listTx(tx *store.Tx, session string) (tools.Result, error) {
	list, err := tasksTx(tx, `session = ? ORDER BY created_at DESC, n LIMIT 50`, session)
	if err != nil {
		return tools.Result{}, err
	}
	if len(list) == 0 {
		return tools.Result{Source: provenance.Tool, Text: "No task was delegated in this conversation."}, nil
	}
	var b strings.Builder
	for _, t := range list {
		fmt.Fprintf(&b, "%s (%s): %s\n", t.ID, t.Agent, t.State)
	}
	return tools.Result{Source: provenance.Tool, Text: strings.TrimSpace(b.String()), Data: list}, nil
}
