// Package commands runs the chat commands, which need no model. Package chattext parses them. They
// have their own queue, so they are processed before other events.
package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/approvals"
	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/explain"
	"hob/autonomy/guard"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/notify"
	"hob/autonomy/payload"
	"hob/autonomy/session"
	"hob/autonomy/undo"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// Scheduler starts and stops turns. *autonomy.Loop implements it.
type Scheduler interface {
	// Stop ends the running turn in a session and reports whether one was running.
	Stop(ctx context.Context, session string) (bool, error)
	// Pause stops background work for the time described by text; "" means no end. It returns the
	// end of the pause.
	Pause(ctx context.Context, text string) (until time.Time, err error)
	// Resume ends a pause and reports whether there was one.
	Resume(ctx context.Context) (bool, error)
	// PauseText formats the end of a pause.
	PauseText(until time.Time) string
}

// Models answers /model. *modelrouter.Models implements it.
type Models interface {
	// Command answers /model in a conversation with an agent. If name is "", it returns which model
	// answers; otherwise it selects the model called name, or "auto".
	Command(ctx context.Context, session, agent, name string) (string, error)
}

// Status answers /status.
type Status interface {
	StatusText(ctx context.Context) (string, error)
}

// Pairing answers /pair.
type Pairing interface {
	// PairingText creates a pairing code for a channel and returns instructions. by is the origin
	// of the request.
	PairingText(ctx context.Context, channel, by string) (string, error)
}

// Options holds the options of New. Options without a documented default are required.
type Options struct {
	Store     *store.Store
	Guard     *guard.Guard
	Sessions  *session.Sessions
	Approvals *approvals.Decider
	Explain   *explain.Explainer
	Undo      *undo.Reverter
	Scheduler Scheduler
	Agents    *agents.Registry // nil if there is only one agent
	Models    Models           // nil if models cannot be selected
	Notices   *notify.Notifier // nil if notices are not deferred
	Status    Status           // nil if no status is available
	Pairing   Pairing          // nil if channels cannot be paired
	// Zone returns the owner's current time zone.
	Zone func() *time.Location
}

// Commands runs chat commands.
type Commands struct{ o Options }

// New returns Commands after checking the options.
func New(o Options) (*Commands, error) {
	if o.Store == nil || o.Guard == nil || o.Sessions == nil || o.Approvals == nil || o.Explain == nil || o.Undo == nil || o.Scheduler == nil || o.Zone == nil {
		return nil, errors.New("commands: Options needs Store, Guard, Sessions, Approvals, Explain, Undo, Scheduler and Zone")
	}
	return &Commands{o: o}, nil
}

// commandRun runs one chat command and returns its answer.
type commandRun func(ctx context.Context, ev bus.Event, args string) (string, error)

// commandRuns maps the first name of each command in chattext.Commands to the function that runs
// it.
func (c *Commands) commandRuns() map[string]commandRun {
	return map[string]commandRun{
		"stop": c.cmdStop, chattext.Steer: c.cmdSteer, chattext.New: c.cmdNew, "status": c.cmdStatus, "undo": c.cmdUndo, "redo": c.cmdRedo,
		chattext.Forget: c.cmdForget, chattext.Approve: c.o.Approvals.ApproveByMessage, chattext.Deny: c.o.Approvals.DenyByMessage, "grants": c.cmdGrants, "revoke": c.cmdRevoke,
		"agent": c.cmdAgent, "why": c.cmdWhy, "quiet": c.cmdQuiet, "pause": c.cmdPause, "resume": c.cmdResume, "snooze": c.cmdSnooze,
		"model": c.cmdModel, "help": c.cmdHelp, "pair": c.cmdPair, strings.TrimPrefix(channels.PairedCommand, "/"): c.cmdPaired, chattext.Unknown: c.cmdUnknown,
	}
}

// Run runs a command, or handles a bare yes or no as the answer to an approval request.
func (c *Commands) Run(ctx context.Context, ev bus.Event) (commit.Outcome, error) {
	name, args := chattext.ParseCommand(ev.Text)
	res := commit.NewReply(ev, "command")
	res.Source = provenance.Hob
	if name == "" {
		said, _ := chattext.ParseAnswer(ev.Text)
		if said.Talk {
			var err error
			res.Answer, res.Asks, err = c.o.Approvals.ReplyToTalk(ctx, ev)
			return res, err
		}
		if name = chattext.Deny; said.Yes {
			name = chattext.Approve
		}
		if args = ""; said.All {
			args = chattext.All
		}
		var err error
		if res.Asks, err = c.o.Approvals.QuestionsToRepeat(ctx, ev, said.All); err != nil {
			return res, err
		}
	}
	run, ok := c.commandRuns()[name]
	if !ok {
		return res, fmt.Errorf("the command %s is not implemented", name)
	}
	answer, err := run(ctx, ev, args)
	if err != nil {
		answer = "Sorry: " + err.Error()
	}
	res.Answer = answer
	res.Record = func(tx *store.Tx) error {
		return c.o.Guard.AuditTx(tx, guard.Record{Actor: "owner", Action: name, Event: ev.ID, Session: ev.Session, Origin: ev.Channel, Verdict: "allow", Rule: "owner's command", Args: json.RawMessage(strconv.Quote(args))})
	}
	return res, nil
}

func (c *Commands) cmdStop(ctx context.Context, ev bus.Event, _ string) (string, error) {
	stopped, err := c.o.Scheduler.Stop(ctx, ev.Session)
	if err != nil {
		return "", err
	}
	if !stopped {
		return "Nothing is running here.", nil
	}
	return "Stopped.", nil
}

func (c *Commands) cmdNew(ctx context.Context, ev bus.Event, _ string) (string, error) {
	return "Started a new conversation. Earlier messages stay in the history.", c.o.Sessions.Reset(ctx, ev.Session)
}

func (c *Commands) cmdStatus(ctx context.Context, _ bus.Event, _ string) (string, error) {
	if c.o.Status == nil {
		return "Running.", nil
	}
	return c.o.Status.StatusText(ctx)
}

func (c *Commands) cmdUndo(ctx context.Context, ev bus.Event, args string) (string, error) {
	u := tools.UndoRequest{ID: args, Session: ev.Session, By: ev.ID, Origin: ev.Channel}
	if n, err := strconv.Atoi(args); err == nil && n > 0 && n < 1000 {
		u.ID, u.Last = "", n
	}
	if args == "all" {
		u.ID, u.Turn = "", true
	}
	r, err := c.o.Undo.Undo(ctx, u)
	return r.Text, err
}

func (c *Commands) cmdRedo(ctx context.Context, ev bus.Event, args string) (string, error) {
	r, err := c.o.Undo.Undo(ctx, tools.UndoRequest{ID: args, Redo: true, By: ev.ID, Origin: ev.Channel})
	return r.Text, err
}

func (c *Commands) cmdWhy(ctx context.Context, ev bus.Event, args string) (string, error) {
	words := strings.Fields(args)
	all := len(words) > 0 && words[len(words)-1] == "all"
	if all {
		words = words[:len(words)-1]
	}
	args = strings.Join(words, " ")
	q := explain.ParseQuestion(args)
	q.Session = ev.Session
	w, err := c.o.Explain.Explain(ctx, q)
	if err != nil {
		return "", err
	}
	text := w.Text(c.o.Zone())
	answer, details := explain.SplitDetails(text)
	switch {
	case all:
		return text, nil
	case details != "":
		answer += "\nDetails: " + strings.TrimSpace("/why "+args) + " all"
	}
	return answer, nil
}

func (c *Commands) cmdModel(ctx context.Context, ev bus.Event, args string) (string, error) {
	if c.o.Models == nil {
		return "", errors.New("model selection is not configured")
	}
	agent := ""
	if c.o.Agents != nil {
		m, err := payload.ParseMessage(ev)
		if err != nil {
			return "", err
		}
		who, err := c.o.Agents.CurrentAgent(ctx, placeOf(ev, m))
		if err != nil {
			return "", err
		}
		agent = who.Name
	}
	return c.o.Models.Command(ctx, ev.Session, agent, args)
}

func (c *Commands) cmdHelp(context.Context, bus.Event, string) (string, error) {
	return chattext.HelpText(), nil
}

func (c *Commands) cmdUnknown(_ context.Context, _ bus.Event, args string) (string, error) {
	return fmt.Sprintf("Unknown command %s. /help lists the commands.", args), nil
}

func (c *Commands) cmdAgent(ctx context.Context, ev bus.Event, args string) (string, error) {
	if c.o.Agents == nil {
		return "There is only one agent.", nil
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
		if err := c.o.Agents.Choose(ctx, ev.ID, ev.Session, name); err != nil {
			return "", err
		}
	}
	who, err := c.o.Agents.CurrentAgent(ctx, placeOf(ev, m))
	if err != nil {
		return "", err
	}
	return c.o.Agents.Describe(who, args != ""), nil
}

// cmdSteer answers "/steer" without text. Package intake handles "/steer TEXT".
func (c *Commands) cmdSteer(context.Context, bus.Event, string) (string, error) {
	return "Add a message for the running turn after the command, for example: /steer use the blue one", nil
}

// cmdForget answers a forget command without arguments.
func (c *Commands) cmdForget(context.Context, bus.Event, string) (string, error) {
	return "Say what to forget: /" + chattext.Forget + " TEXT", nil
}

func placeOf(ev bus.Event, m payload.Message) agents.MessageOrigin {
	return agents.MessageOriginOf(ev, m)
}
