package autonomy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/explain"
	"hob/autonomy/guard"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/payload"
	"hob/autonomy/undo"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// commandRun runs one chat command and returns its answer.
type commandRun func(ctx context.Context, ev bus.Event, args string) (string, error)

// commandRuns maps the first name of each command in chattext.Commands to what runs it.
func (l *Loop) commandRuns() map[string]commandRun {
	return map[string]commandRun{
		"stop": l.cmdStop, chattext.Steer: l.cmdSteer, chattext.New: l.cmdNew, "status": l.cmdStatus, "undo": l.cmdUndo, "redo": l.cmdRedo,
		chattext.Forget: l.cmdForget, chattext.Approve: l.o.Approvals.ApproveByMessage, chattext.Deny: l.o.Approvals.DenyByMessage, "grants": l.cmdGrants, "revoke": l.cmdRevoke,
		"agent": l.cmdAgent, "why": l.cmdWhy, "quiet": l.cmdQuiet, "pause": l.cmdPause, "resume": l.cmdResume, "snooze": l.cmdSnooze,
		"model": l.cmdModel, "help": l.cmdHelp, "pair": l.cmdPair, strings.TrimPrefix(channels.PairedCommand, "/"): l.cmdPaired, chattext.Unknown: l.cmdUnknown,
	}
}

// runCommand runs a command, or reads a bare yes or no as the answer to a question.
func (l *Loop) runCommand(ctx context.Context, ev bus.Event) (result, error) {
	name, args := chattext.ParseCommand(ev.Text)
	res := result{how: "command", kind: channels.Reply, said: true, session: ev.Session, channel: ev.Channel, chat: ev.Chat}
	res.Source = provenance.Hob
	if name == "" {
		said, _ := chattext.ParseAnswer(ev.Text)
		if said.Talk {
			var err error
			res.Answer, res.asks, err = l.o.Approvals.ReplyToTalk(ctx, ev)
			return res, err
		}
		if name = chattext.Deny; said.Yes {
			name = chattext.Approve
		}
		if args = ""; said.All {
			args = chattext.All
		}
		var err error
		if res.asks, err = l.o.Approvals.QuestionsToRepeat(ctx, ev, said.All); err != nil {
			return res, err
		}
	}
	run, ok := l.commandRuns()[name]
	if !ok {
		return res, fmt.Errorf("the command %s is not implemented", name)
	}
	answer, err := run(ctx, ev, args)
	if err != nil {
		answer = "Sorry: " + err.Error()
	}
	res.Answer = answer
	res.Record = func(tx *store.Tx) error {
		return l.o.Guard.AuditTx(tx, guard.Record{Actor: "owner", Action: name, Event: ev.ID, Session: ev.Session, Origin: ev.Channel, Verdict: "allow", Rule: "owner's command", Args: json.RawMessage(strconv.Quote(args))})
	}
	return res, nil
}

func (l *Loop) cmdStop(ctx context.Context, ev bus.Event, _ string) (string, error) {
	stopped, err := l.Stop(ctx, ev.Session)
	if err != nil {
		return "", err
	}
	if !stopped {
		return "Nothing is running here.", nil
	}
	return "Stopped.", nil
}

func (l *Loop) cmdNew(ctx context.Context, ev bus.Event, _ string) (string, error) {
	err := l.o.Store.Write(ctx, func(tx *store.Tx) error { return l.o.Sessions.ResetTx(tx, ev.Session) })
	return "Started a new conversation. Earlier messages stay in the history.", err
}

func (l *Loop) cmdStatus(ctx context.Context, _ bus.Event, _ string) (string, error) {
	if l.o.Status == nil {
		return "Running.", nil
	}
	return l.o.Status(ctx)
}

func (l *Loop) cmdUndo(ctx context.Context, ev bus.Event, args string) (string, error) {
	u := undo.Request{ID: args, Session: ev.Session, By: ev.ID, Origin: ev.Channel}
	if n, err := strconv.Atoi(args); err == nil && n > 0 && n < 1000 {
		u.ID, u.Last = "", n
	}
	if args == "all" {
		u.ID, u.Turn = "", true
	}
	r, err := l.o.Undo.Undo(ctx, u)
	return r.Text, err
}

func (l *Loop) cmdRedo(ctx context.Context, ev bus.Event, args string) (string, error) {
	r, err := l.o.Undo.Undo(ctx, undo.Request{ID: args, Redo: true, By: ev.ID, Origin: ev.Channel})
	return r.Text, err
}

func (l *Loop) cmdWhy(ctx context.Context, ev bus.Event, args string) (string, error) {
	q := explain.ParseQuestion(args)
	q.Session = ev.Session
	w, err := l.o.Explain.Explain(ctx, q)
	if err != nil {
		return "", err
	}
	return w.Text(l.o.Zone()), nil
}

func (l *Loop) cmdModel(ctx context.Context, ev bus.Event, args string) (string, error) {
	if l.o.Model == nil {
		return "", errors.New("model selection is not configured")
	}
	agent := ""
	if l.o.Crew != nil {
		m, err := payload.ParseMessage(ev)
		if err != nil {
			return "", err
		}
		who, err := l.o.Crew.CurrentAgent(ctx, placeOf(ev, m))
		if err != nil {
			return "", err
		}
		agent = who.Name
	}
	return l.o.Model(ctx, ev.Session, agent, args)
}

func (l *Loop) cmdHelp(context.Context, bus.Event, string) (string, error) {
	return chattext.HelpText(), nil
}

func (l *Loop) cmdUnknown(_ context.Context, _ bus.Event, args string) (string, error) {
	return fmt.Sprintf("Unknown command %s. /help lists the commands.", args), nil
}
