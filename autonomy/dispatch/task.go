package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/llm"
	"hob/autonomy/payload"
	"hob/autonomy/turn"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// taskHandler handles delegated tasks and tool calls that the owner made directly.
type taskHandler struct{ shared }

// runDelegatedTask runs a task that one agent delegated to another, or the task's follow-up turn.
func (h taskHandler) runDelegatedTask(ctx context.Context, ev bus.Event) (commit.Outcome, error) {
	res := commit.Outcome{How: "task"}
	if h.o.Agents == nil {
		return res, errors.New("delegated tasks are not configured")
	}
	job, err := h.o.Agents.Job(ctx, ev)
	res.Session, res.Channel, res.Chat, res.Kind = job.Report, job.Channel, job.Chat, channels.Notice
	if err != nil {
		return res, err
	}
	if job.Notice != "" {
		res.How, res.Send, res.Answer, res.Source = "notice", true, job.Notice, ev.Provenance
		return res, nil
	}
	if !job.Turn.Attended && !job.Turn.Guest && !job.Turn.Cancelled {
		if waits, err := h.waitForBudget(ctx, ev); waits || err != nil {
			return suspended(), err
		}
	}
	ctx, end, err := h.o.Agents.Begin(ctx, &job)
	if err != nil {
		return res, err
	}
	defer end()
	job.Turn.Cancelled = job.Turn.Cancelled || h.o.Turns.WasCancelled(ev.ID)
	res.Outcome, err = job.Runner.Run(ctx, job.Turn)
	if job.Follow && err != nil && !errors.Is(err, turn.ErrDraining) && !store.IsOutage(err) {
		h.o.Log.Warn("follow-up turn of a task failed; sending the task's result unchanged", "event", ev.ID, "err", err)
		res.Outcome, err = turn.Outcome{Answer: ev.Text, Source: ev.Provenance, Origins: job.Turn.Origins}, nil
	}
	res.Send = (job.Follow || job.Answers) && !res.Suspended && res.Answer != ""
	return res, err
}

// runClientCall runs one tool call by an external program. The owner gets the approval requests
// where notices are sent; the program gets the outcome.
func (h taskHandler) runClientCall(ctx context.Context, ev bus.Event, c payload.ToolCall) (commit.Outcome, error) {
	to, err := h.o.Delivery.ResolveTarget(ctx, "")
	if err != nil {
		return commit.Outcome{How: "call"}, err
	}
	out, err := h.o.Runner.Run(ctx, turn.Turn{
		Event: ev, Text: c.Client + " calls " + c.Tool, Source: provenance.Outside, Origins: c.Origins, Client: true, Origin: ev.Channel,
		Report: to.Session, Channel: to.Channel, Chat: to.Chat, Call: &llm.ToolCall{Name: c.Tool, Args: c.Args},
		Cancelled: h.o.Turns.WasCancelled(ev.ID), Person: c.Client, Level: h.levelOf(ev.Channel, c.Client),
	})
	return commit.Outcome{Outcome: out, How: "call"}, err
}

// runOwnerCall runs one tool call that the owner made directly.
func (h taskHandler) runOwnerCall(ctx context.Context, ev bus.Event) (commit.Outcome, error) {
	var c payload.ToolCall
	if err := json.Unmarshal(ev.Payload, &c); err != nil {
		return commit.Outcome{}, fmt.Errorf("event %s: %w", ev.ID, err)
	}
	if c.Client != "" {
		return h.runClientCall(ctx, ev, c)
	}
	t := turn.Turn{
		Event: ev, Text: "hob tool call " + c.Tool, Source: provenance.Owner, Attended: true, Private: true, Origin: "tool", Report: c.Report, Channel: ev.Channel,
		Call: &llm.ToolCall{Name: c.Tool, Args: c.Args}, Cancelled: h.o.Turns.WasCancelled(ev.ID),
		Person: ownerPerson, Level: h.levelOf(ev.Channel, ownerPerson),
	}
	out, err := h.o.Runner.Run(ctx, t)
	return commit.Outcome{Outcome: out, How: "call"}, err
}
