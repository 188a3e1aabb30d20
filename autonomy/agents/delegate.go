package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hob/autonomy/bus"
	"hob/autonomy/turn"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/tools"
)

// Limits for delegation.
const (
	maxTasks = 16      // maximum tasks per call
	maxOpen  = 64      // maximum open tasks in total
	maxTask  = 100_000 // maximum bytes of one task including its input
)

// delegating and spawning are the names of the tools that delegate tasks. Agents at the maximum
// depth do not have these tools.
const (
	delegating = "delegate_tasks"
	spawning   = "spawn_background_task"
)

// standing is the category of tools that create schedules and watchers.
const standing = "watch"

// never is the due time of a queued task, which is not due until it is started.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a var, because Go has no constants of this type

// BeginTx stores the tasks of a call and starts them. It returns a *tools.Error if the caller can
// correct the request.
func (c *Registry) BeginTx(ctx context.Context, tx *store.Tx, call tools.Call, wishes []tools.TaskRequest) error {
	who, ok := turn.CallerOf(ctx)
	if !ok {
		return tools.Errorf(tools.Unsupported, "only a turn can delegate tasks")
	}
	if err := c.checkLimits(tx, who, len(wishes)); err != nil {
		return err
	}
	running := 0
	c.due.InvalidateTx(tx, c.o.Bus.Inbox)
	for n, w := range wishes {
		o, err := c.newPayload(who, w, len(wishes))
		if err != nil {
			return fmt.Errorf("task %d: %w", n+1, err)
		}
		ev, err := c.taskEvent(who, w, o)
		if err != nil {
			return err
		}
		state := Open
		if running++; running > c.o.Parallel {
			state, ev.NotBefore = Queued, never
		}
		if _, err := c.o.Bus.Inbox.PutTx(tx, ev); err != nil {
			return err
		}
		if err := c.o.Sessions.TouchTx(tx, ev.Session, ev.Channel, ev.Chat, false); err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO crew_tasks (id, call, n, parent, session, event, agent, task, background, state, created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?)`,
			o.ID, call.ID, n, who.Turn.Event.ID, who.Turn.Event.Session, ev.ID, o.Agent, w.Task, w.Background, state, time.Now().UnixMilli())
		if err != nil {
			return fmt.Errorf("agents: store delegated tasks: %w", err)
		}
		c.publishTask(tx, Task{ID: o.ID, Parent: who.Turn.Event.ID, Session: who.Turn.Event.Session, Agent: o.Agent, State: state})
	}
	return nil
}

// checkLimits rejects requests that exceed the limits for the number of tasks or the depth.
func (c *Registry) checkLimits(tx *store.Tx, who turn.Caller, n int) error {
	switch {
	case who.Turn.Depth >= c.o.Depth:
		return tools.Errorf(tools.PolicyDenied, "a delegated task cannot delegate further; do the task yourself, or report what is missing")
	case n == 0:
		return tools.Errorf(tools.InvalidArguments, "the list of tasks is empty")
	case n > maxTasks:
		return tools.Errorf(tools.InvalidArguments, "%d tasks in one call are too many; delegate at most %d", n, maxTasks)
	}
	open := 0
	if err := tx.QueryRow(`SELECT count(*) FROM crew_tasks INDEXED BY crew_tasks_open WHERE state IN ('queued', 'open')`).Scan(&open); err != nil {
		return fmt.Errorf("agents: count open tasks: %w", err)
	}
	if open+n > maxOpen {
		return tools.Errorf(tools.Conflict, "%d tasks are already queued or running, and the limit is %d; wait until some have ended, or cancel some (list them with: hob agent tasks)", open, maxOpen)
	}
	return nil
}

// newPayload computes the rights of a task, which never exceed the caller's.
func (c *Registry) newPayload(who turn.Caller, w tools.TaskRequest, n int) (taskPayload, error) {
	asks := cmp.Or(who.Agent, Default)
	name := cmp.Or(w.Agent, asks)
	from, ok := c.members[asks]
	if !ok {
		return taskPayload{}, tools.Errorf(tools.Unsupported, "agent %q no longer exists", tools.Clean(asks))
	}
	m, ok := c.members[name]
	if !ok || !from.mayDelegateTo(name) {
		return taskPayload{}, tools.Errorf(tools.NotFound, "there is no agent %q that you may delegate to; available: %s", tools.Clean(name), tools.Clean(strings.Join(c.delegableAgents(from), ", ")))
	}
	if from.Isolated && !m.Isolated {
		return taskPayload{}, tools.Errorf(tools.PolicyDenied, "an agent in a container cannot delegate tasks to %s, which runs outside a container", tools.Clean(name))
	}
	depth := who.Turn.Depth + 1
	names, err := c.commonTools(who, m, w.Tools, depth)
	if err != nil {
		return taskPayload{}, err
	}
	t := who.Turn
	return taskPayload{
		ID: shortid.New("t"), Agent: name, Tools: names, Level: who.Level.Narrower(m.Options.Level), Depth: depth,
		// One share remains for the parent.
		Rounds: max(1, who.Rounds/(n+1)), Tokens: max(256, who.Tokens/(n+1)),
		Attended: t.Attended && !w.Background, // no user waits for a background task
		Guest:    t.Guest, Origin: t.Origin, Person: t.Person, Report: t.Report, Channel: t.Channel, Chat: t.Chat,
		Words: limitWords(who.Words), Background: w.Background, FollowUp: w.FollowUp && w.Background && t.Depth == 0,
	}, nil
}

// maxWords is the maximum size in bytes of the owner's messages that are passed to a task.
const maxWords = 8000

// limitWords returns the leading words that together fit into maxWords bytes.
func limitWords(words []string) (out []string) {
	room := maxWords
	for _, w := range words {
		if room -= len(w); room >= 0 {
			out = append(out, w)
		}
	}
	return out
}

// delegableAgents lists the agents to which from may delegate.
func (c *Registry) delegableAgents(from Member) []string {
	return slices.DeleteFunc(c.agentNames(), func(n string) bool { return !from.mayDelegateTo(n) })
}

// commonTools returns the names of the tools that the agent, its parent and the request all allow.
func (c *Registry) commonTools(who turn.Caller, m Member, patterns []string, depth int) ([]string, error) {
	var both []tools.Tool
	for _, t := range m.Options.Catalog.All() {
		name := t.Spec().Name
		switch {
		case !slices.Contains(who.Tools, name), (name == delegating || name == spawning) && depth >= c.o.Depth:
		case t.Spec().Category == standing: // a schedule or watcher would outlive the task and its reduced rights
		default:
			both = append(both, t)
		}
	}
	some, err := FilterTools(both, patterns, nil)
	if err != nil {
		return nil, tools.Errorf(tools.InvalidArguments, "tools: %w", tools.CleanErr(err))
	}
	names := make([]string, 0, len(some))
	for _, t := range some {
		names = append(names, t.Spec().Name)
	}
	return names, nil
}

// taskEvent creates the inbox event for a task.
func (c *Registry) taskEvent(who turn.Caller, w tools.TaskRequest, o taskPayload) (bus.Event, error) {
	text := strings.TrimSpace(w.Task)
	if text == "" {
		return bus.Event{}, tools.Errorf(tools.InvalidArguments, "the task is empty; describe what to do")
	}
	if in := strings.TrimSpace(w.Input); in != "" {
		text += "\n\n" + in
	}
	if len(text) > maxTask || !utf8.ValidString(text) {
		return bus.Event{}, tools.Errorf(tools.InvalidArguments, "the task and its input are larger than %d KB or not UTF-8; save the input in a file and give its path", maxTask/1000)
	}
	src := provenance.Hob
	if who.Tainted {
		src, o.Origins = provenance.Outside, who.Origins
	}
	payload, err := json.Marshal(o)
	if err != nil {
		return bus.Event{}, fmt.Errorf("agents: encode task: %w", err)
	}
	return bus.Event{
		ID: bus.NewID(), Kind: bus.Task, Source: Source, Session: who.Turn.Event.Session + "/" + o.ID, Channel: o.Channel, Chat: o.Chat,
		Sender: cmp.Or(who.Agent, Default), Text: text, Payload: payload, Provenance: src,
	}, nil
}

// publishTask publishes the state of a task to viewers of the parent's turn.
func (c *Registry) publishTask(tx *store.Tx, t Task) {
	tx.AfterCommit(func() {
		c.o.Bus.Feed.Publish("status", t.Parent, t.Session, map[string]string{"task": t.ID, "agent": t.Agent, "state": string(t.State)})
	})
}
