package autonomy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/payload"
	"hob/autonomy/turn"
	"hob/channels"
	"hob/platform/store"
)

// defaultMember returns the only member of a loop without a crew.
func (l *Loop) defaultMember() agents.Member {
	return agents.Member{Name: agents.Default, Runner: l.o.Runner, Refused: func(context.Context) error { return nil }}
}

// selectAgent finds the agent that answers a message.
func (l *Loop) selectAgent(ctx context.Context, ev bus.Event, m payload.Message) (agents.Member, error) {
	if l.o.Crew == nil {
		return l.defaultMember(), nil
	}
	who, err := l.o.Crew.SelectAgent(ctx, ev.ID, placeOf(ev, m))
	if err != nil {
		return who, err
	}
	if err := who.Refused(ctx); err != nil {
		return who, fmt.Errorf("agent %s is not available: %w", who.Name, err)
	}
	return who, nil
}

func placeOf(ev bus.Event, m payload.Message) agents.MessageOrigin {
	return agents.MessageOriginOf(ev, m)
}

// creatorAgent finds the agent that created a watcher or schedule. That agent runs it, so that an
// agent cannot gain tools by waiting.
func (l *Loop) creatorAgent(ctx context.Context, ev bus.Event, f payload.Signal) (agents.Member, error) {
	if l.o.Crew == nil {
		return l.defaultMember(), nil
	}
	who, err := l.o.Crew.SelectAgent(ctx, ev.ID, agents.MessageOrigin{Session: ev.Session})
	if f.Agent != "" {
		var ok bool
		if who, ok = l.o.Crew.Named(f.Agent); !ok {
			return who, fmt.Errorf("the agent %q that created this no longer exists", f.Agent)
		}
	} else if errors.Is(err, agents.ErrNobody) { // the owner's own orders
		who, _ = l.o.Crew.Named(agents.Default)
	} else if err != nil {
		return who, err
	}
	if err := who.Refused(ctx); err != nil {
		return who, fmt.Errorf("agent %s is not available: %w", who.Name, err)
	}
	return who, nil
}

// runDelegatedTask runs a task that one agent handed to another, or the turn that
// follows it.
func (l *Loop) runDelegatedTask(ctx context.Context, ev bus.Event) (result, error) {
	res := result{how: "task"}
	if l.o.Crew == nil {
		return res, errors.New("tasks are not configured")
	}
	job, err := l.o.Crew.Job(ctx, ev)
	res.session, res.channel, res.chat, res.kind = job.Report, job.Channel, job.Chat, channels.Notice
	if err != nil {
		return res, err
	}
	if job.Notice != "" {
		res.how, res.said, res.Answer, res.Source = "notice", true, job.Notice, ev.Provenance
		return res, nil
	}
	if !job.Turn.Attended && !job.Turn.Guest && !job.Turn.Cancelled {
		if ok, at := l.o.Room(time.Now()); !ok {
			return result{Outcome: turn.Outcome{Suspended: true}}, l.postponeEvent(ctx, ev, at)
		}
	}
	ctx, end, err := l.o.Crew.Begin(ctx, &job)
	if err != nil {
		return res, err
	}
	defer end()
	job.Turn.Cancelled = job.Turn.Cancelled || l.wasCancelled(ev.ID)
	res.Outcome, err = job.Runner.Run(ctx, job.Turn)
	if job.Follow && err != nil && !errors.Is(err, turn.ErrDraining) && !errors.Is(err, store.ErrFull) {
		l.o.Log.Warn("follow-up turn of a task failed, sending the task's result unchanged", "event", ev.ID, "err", err)
		res.Outcome, err = turn.Outcome{Answer: ev.Text, Source: ev.Provenance, Origins: job.Turn.Origins}, nil
	}
	res.said = job.Follow && !res.Suspended && res.Answer != ""
	return res, err
}

// endTask stores the result of a task's turn.
func (l *Loop) endTask(tx *store.Tx, ev bus.Event, res result) error {
	if l.o.Crew == nil || !agents.IsTaskEvent(ev) {
		return nil
	}
	if err := l.o.Sessions.TouchTx(tx, ev.Session, ev.Channel, ev.Chat, true); err != nil {
		return err
	}
	e := agents.TaskOutcome{State: agents.Done, Answer: res.Answer, Source: res.Source, Origins: res.Origins, Rounds: res.Rounds, Tokens: res.Usage.Output}
	switch {
	case res.Interrupted:
		e.State = agents.Cancelled
	case res.how == "error":
		e.State = agents.Failed
	}
	return l.o.Crew.EndTx(tx, ev, e)
}

// stopBelow stops the tasks that a conversation delegated, and the turns that wait for them.
func (l *Loop) stopBelow(ctx context.Context, session string) (bool, error) {
	if l.o.Crew == nil {
		return false, nil
	}
	return l.o.Crew.Stop(ctx, session)
}

// cancelDelegatedTasks stops the running tasks of a turn that failed.
func (l *Loop) cancelDelegatedTasks(ctx context.Context, ev bus.Event) {
	if l.o.Crew == nil {
		return
	}
	if err := l.o.Crew.Abandon(context.WithoutCancel(ctx), ev.ID); err != nil {
		l.o.Log.Warn("the tasks of a failed turn could not be ended", "event", ev.ID, "err", err)
	}
}

func (l *Loop) cmdAgent(ctx context.Context, ev bus.Event, args string) (string, error) {
	if l.o.Crew == nil {
		return "There is one agent only.", nil
	}
	m, err := payload.ParseMessage(ev)
	if err != nil {
		return "", err
	}
	if args != "" {
		name := args
		if name == "auto" {
			name = ""
		}
		if err := l.o.Crew.Choose(ctx, ev.ID, ev.Session, name); err != nil {
			return "", err
		}
	}
	who, err := l.o.Crew.CurrentAgent(ctx, placeOf(ev, m))
	if err != nil {
		return "", err
	}
	return l.o.Crew.Describe(who, args != ""), nil
}
