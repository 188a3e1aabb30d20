package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hob/autonomy/bus"
	"hob/autonomy/turn"
	"hob/tools"
)

// Job is the work for an event of this package.
type Job struct {
	Runner *turn.Runner
	Turn   turn.Turn
	// Notice, if not empty, is text to send instead of running a turn.
	Notice string
	// Report, Channel and Chat identify the target of notices.
	Report, Channel, Chat string
	// Follow reports whether this is the follow-up turn of a task.
	Follow bool
	// Answers reports whether the answer is sent to the conversation in Report (see SendTx).
	Answers bool
}

// Job returns the work for an event of this package.
func (c *Registry) Job(ctx context.Context, ev bus.Event) (Job, error) {
	o, err := orderOf(ev)
	if err != nil {
		return Job{}, err
	}
	m, ok := c.members[o.Agent]
	j := Job{Report: o.Report, Channel: o.Channel, Chat: o.Chat, Follow: o.Follow != "", Answers: o.Into != ""}
	if j.Follow {
		return c.followUpJob(ctx, ev, o, j)
	}
	if !ok {
		return j, fmt.Errorf("agent %q no longer exists; add it again or cancel the task", o.Agent)
	}
	if err := m.Refused(ctx); err != nil {
		return j, fmt.Errorf("agent %s is not available: %w", o.Agent, err)
	}
	if j.Runner, err = restrictedRunner(m, o); err != nil {
		return j, err
	}
	t, err := c.Task(ctx, o.ID)
	if err != nil {
		return j, err
	}
	parents, err := c.waitingParents(ctx, ev.ID)
	if err != nil {
		return j, err
	}
	j.Turn = turn.Turn{
		Event: ev, Text: ev.Text, Source: ev.Provenance, Origins: o.Origins, Parents: parents, Attended: o.Attended, Guest: o.Guest, Origin: o.Origin, Person: o.Person, Level: o.Level, Words: o.Words, Report: o.Report,
		Channel: o.Channel, Chat: o.Chat, Depth: o.Depth, Cancelled: t.State.IsFinished(),
	}
	return j, nil
}

// waitingParents returns the events that wait for a task, directly or through other tasks. Nothing waits
// for a background task.
func (c *Registry) waitingParents(ctx context.Context, event string) (out []string, err error) {
	rows, err := c.o.Store.Read().QueryContext(ctx, `WITH RECURSIVE up(event) AS (
			SELECT parent FROM crew_tasks WHERE event = ? AND background = 0
			UNION SELECT t.parent FROM crew_tasks t JOIN up ON t.event = up.event WHERE t.background = 0)
		SELECT event FROM up`, event)
	if err != nil {
		return nil, fmt.Errorf("agents: read waiting turns: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("agents: read waiting turns: %w", err)
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

// followUpJob returns the follow-up turn of a task in the parent's conversation. If the turn cannot
// run, for example because the conversation now belongs to another agent, the job is a notice.
func (c *Registry) followUpJob(ctx context.Context, ev bus.Event, o taskPayload, j Job) (Job, error) {
	t, err := c.Task(ctx, o.Follow)
	if err != nil {
		return j, err
	}
	if err := c.loadOwners(ctx); err != nil {
		return j, err
	}
	m := c.members[c.ownerOf(ev.Session).agent]
	if m.Runner == nil || !m.mayDelegateTo(t.Agent) || m.Refused(ctx) != nil {
		j.Notice = ev.Text
		return j, nil
	}
	j.Runner = m.Runner
	j.Turn = turn.Turn{
		Event: ev, Text: ev.Text, Source: ev.Provenance, Origins: o.Origins, Guest: o.Guest, Origin: "task", Person: o.Person, Level: o.Level, Report: o.Report, Channel: o.Channel, Chat: o.Chat,
		Depth: c.o.Depth, // the maximum depth: a follow-up turn must not delegate, because that could form an endless chain
	}
	return j, nil
}

// restrictedRunner returns the runner for one task, with only the tools and rights in the task's
// payload.
func restrictedRunner(m Member, o taskPayload) (*turn.Runner, error) {
	opt := m.Options
	if opt.Whole == nil { // the whole catalog lets the guard deny removed tools by name
		opt.Whole = opt.Catalog
	}
	var some []tools.Tool
	for _, t := range opt.Catalog.All() {
		if slices.Contains(o.Tools, t.Spec().Name) {
			some = append(some, t)
		}
	}
	var err error
	if opt.Catalog, err = tools.NewCatalog(some...); err != nil {
		return nil, err
	}
	if m.Prompt != nil {
		if opt.Prompt, err = m.Prompt(opt.Catalog); err != nil {
			return nil, err
		}
	}
	opt.Level = opt.Level.Narrower(o.Level)
	opt.Limits.Rounds = minLimit(opt.Limits.Rounds, o.Rounds)
	opt.Limits.Tokens = minLimit(opt.Limits.Tokens, o.Tokens)
	return turn.New(opt)
}

// minLimit returns the smaller of two limits, where 0 means no limit.
func minLimit(a, b int) int {
	if a == 0 || (b > 0 && b < a) {
		return b
	}
	return a
}

// Begin marks a task's turn as running, so that Cancel can stop it. If the task was canceled
// before, Begin immediately cancels the context. The caller must call end.
func (c *Registry) Begin(ctx context.Context, j *Job) (_ context.Context, end func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	id := j.Turn.Event.ID
	c.mu.Lock()
	c.running[id] = cancel
	c.mu.Unlock()
	end = func() {
		c.mu.Lock()
		delete(c.running, id)
		c.mu.Unlock()
		cancel(nil)
	}
	if j.Follow {
		return ctx, end, nil
	}
	t, ok, err := c.byEvent(ctx, id)
	if err != nil {
		end()
		return nil, nil, err
	}
	j.Turn.Cancelled = j.Turn.Cancelled || (ok && t.State.IsFinished())
	return ctx, end, nil
}
