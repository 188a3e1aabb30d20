package autonomy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/agent"
	"hob/autonomy/bus"
	"hob/autonomy/crew"
	"hob/channels"
	"hob/knowledge/store"
)

// alone returns the only member of a loop without a crew.
func (l *Loop) alone() crew.Member {
	return crew.Member{Name: crew.Default, Agent: l.o.Agent, Refused: func(context.Context) error { return nil }}
}

// pick finds the agent that answers a message.
func (l *Loop) pick(ctx context.Context, ev bus.Event, m message) (crew.Member, error) {
	if l.o.Crew == nil {
		return l.alone(), nil
	}
	who, err := l.o.Crew.Pick(ctx, ev.ID, placeOf(ev, m))
	if err != nil {
		return who, err
	}
	if err := who.Refused(ctx); err != nil {
		return who, fmt.Errorf("agent %s is not available: %w", who.Name, err)
	}
	return who, nil
}

func placeOf(ev bus.Event, m message) crew.Place {
	return crew.Place{Session: ev.Session, Channel: ev.Channel, Chat: ev.Chat, Name: m.Title, Server: m.Server}
}

// stranger drops a message of an unknown sender if no agent answers such messages. The sender
// gets no reply.
func (l *Loop) stranger(ctx context.Context, in channels.Inbound, ev bus.Event) error {
	if l.o.Crew == nil || in.FromOwner {
		return nil
	}
	_, err := l.o.Crew.Whose(ctx, crew.Place{Session: ev.Session, Channel: ev.Channel, Chat: ev.Chat, Name: in.ChatName, Server: in.Server})
	if errors.Is(err, crew.ErrNobody) {
		l.o.Log.Info("a message was dropped, since no agent answers there", "channel", ev.Channel, "chat", ev.Chat, "sender", ev.Sender)
		return fmt.Errorf("%w: %w", channels.ErrStranger, err)
	}
	return err
}

// maker finds the agent that created a watcher or schedule. That agent runs it, so that nobody
// gains tools by waiting.
func (l *Loop) maker(ctx context.Context, ev bus.Event, f fired) (crew.Member, error) {
	if l.o.Crew == nil {
		return l.alone(), nil
	}
	who, err := l.o.Crew.Pick(ctx, ev.ID, crew.Place{Session: ev.Session})
	if f.Agent != "" {
		var ok bool
		if who, ok = l.o.Crew.Named(f.Agent); !ok {
			return who, fmt.Errorf("the agent %q that created this no longer exists", f.Agent)
		}
	} else if errors.Is(err, crew.ErrNobody) { // the owner's own orders
		who, _ = l.o.Crew.Named(crew.Default)
	} else if err != nil {
		return who, err
	}
	if err := who.Refused(ctx); err != nil {
		return who, fmt.Errorf("agent %s is not available: %w", who.Name, err)
	}
	return who, nil
}

// delegated runs a task that one agent handed to another, or the turn that
// follows it.
func (l *Loop) delegated(ctx context.Context, ev bus.Event) (result, error) {
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
			return result{Outcome: agent.Outcome{Suspended: true}}, l.later(ctx, ev, at)
		}
	}
	ctx, end, err := l.o.Crew.Begin(ctx, &job)
	if err != nil {
		return res, err
	}
	defer end()
	job.Turn.Cancelled = job.Turn.Cancelled || l.wasCancelled(ev.ID)
	res.Outcome, err = job.Agent.Run(ctx, job.Turn)
	if job.Follow && err != nil && !errors.Is(err, agent.ErrDraining) && !errors.Is(err, store.ErrFull) {
		l.o.Log.Warn("follow-up turn of a task failed, sending the task's result unchanged", "event", ev.ID, "err", err)
		res.Outcome, err = agent.Outcome{Answer: ev.Text, Source: ev.Provenance, Origins: job.Turn.Origins}, nil
	}
	res.said = job.Follow && !res.Suspended && res.Answer != ""
	return res, err
}

// endTask stores the result of a task's turn.
func (l *Loop) endTask(tx *store.Tx, ev bus.Event, res result) error {
	if l.o.Crew == nil || !crew.Is(ev) {
		return nil
	}
	if err := l.o.Sessions.TouchTx(tx, ev.Session, ev.Channel, ev.Chat, true); err != nil {
		return err
	}
	e := crew.End{State: crew.Done, Answer: res.Answer, Source: res.Source, Origins: res.Origins, Rounds: res.Rounds, Tokens: res.Usage.Output}
	switch {
	case res.Interrupted:
		e.State = crew.Cancelled
	case res.how == "error":
		e.State = crew.Failed
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

// abandon stops the running tasks of a turn that failed.
func (l *Loop) abandon(ctx context.Context, ev bus.Event) {
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
	m, err := messageOf(ev)
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
	who, err := l.o.Crew.Whose(ctx, placeOf(ev, m))
	if err != nil {
		return "", err
	}
	return l.o.Crew.Describe(who, args != ""), nil
}
