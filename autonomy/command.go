package autonomy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/payload"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// command is one chat command; it needs no model.
type command struct {
	names []string
	args  string
	about string
	run   func(l *Loop, ctx context.Context, ev bus.Event, args string) (string, error)
}

// chatCommands lists them in the order /help shows.
func chatCommands() []command {
	return []command{
		{[]string{"stop", "kill"}, "", "stop what I am doing here", (*Loop).cmdStop},
		{[]string{steerCommand}, "TEXT", "say something to the turn that is running", (*Loop).cmdSteer},
		{[]string{"new", "reset"}, "", "begin a fresh conversation", (*Loop).cmdNew},
		{[]string{"status"}, "", "what I am doing", (*Loop).cmdStatus},
		{[]string{"undo"}, "[ID|N|all]", "undo my last action, the last N, or everything my last answer did", (*Loop).cmdUndo},
		{[]string{"redo"}, "[ID]", "do again what was undone last", (*Loop).cmdRedo},
		{[]string{forgetCommand}, "TEXT", "delete that permanently everywhere; I list it and ask first", (*Loop).cmdForget},
		{[]string{"approve", "yes", "y"}, "[ID|all] [session|task|pattern] [for 1h]", "say yes to my question, and to more like it", (*Loop).cmdYes},
		{[]string{"deny", "no", "n"}, "[ID|all] [why]", "say no to my question", (*Loop).cmdNo},
		{[]string{"grants"}, "", "what you have allowed beforehand", (*Loop).cmdGrants},
		{[]string{"revoke"}, "[ID]", "revoke what you have allowed", (*Loop).cmdRevoke},
		{[]string{"agent"}, "[NAME|auto]", "who answers here, or let another agent answer", (*Loop).cmdAgent},
		{[]string{"why"}, "[ID]", "why I did or said something", (*Loop).cmdWhy},
		{[]string{"quiet"}, "[2h|until 9:00|off]", "hold what is not critical for that long, or no more", (*Loop).cmdQuiet},
		{[]string{"pause"}, "[1h|until tomorrow|off]", "begin nothing by myself for that long; what comes waits", (*Loop).cmdPause},
		{[]string{"resume"}, "", "end the pause", (*Loop).cmdResume},
		{[]string{"snooze"}, "[ID] 1h", "send my last notice again, or that one, at that time", (*Loop).cmdSnooze},
		{[]string{"model"}, "[NAME|auto]", "which model answers here, or choose one", (*Loop).cmdModel},
		{[]string{"help"}, "", "this list", (*Loop).cmdHelp},
		{[]string{"pair"}, "CHANNEL", "a code with which you prove who you are on another channel", (*Loop).cmdPair},
		{[]string{strings.TrimPrefix(channels.PairedCommand, "/")}, "", "", (*Loop).cmdPaired},
		{[]string{unknownCommand}, "", "", (*Loop).cmdUnknown},
	}
}

// unknownCommand handles a lone word with a slash that is not a command. It is probably a typo, so
// no model reads it. /help does not list it.
const unknownCommand = "unknown"

// freshCommand ends a conversation.
const freshCommand = "new" // as in commands

// isResetCommand reports whether the owner ends a conversation.
func isResetCommand(ev bus.Event) bool {
	command, _ := parseCommand(ev.Text)
	return command == freshCommand && ev.Provenance == provenance.Owner
}

var slashWord = regexp.MustCompile(`^/\pL+$`)

// parseCommand splits "/stop now" (or "!stop", where a client swallows slashes) into name and
// arguments. name is "" if the text is not a command.
func parseCommand(text string) (name, args string) {
	text = address.ReplaceAllString(strings.TrimSpace(text), "")
	if len(text) < 2 || (text[0] != '/' && text[0] != '!') {
		return "", ""
	}
	word, rest, _ := strings.Cut(text[1:], " ")
	word, _, _ = strings.Cut(strings.ToLower(word), "@") // "/stop@hobbot" in groups
	for _, c := range chatCommands() {
		for _, n := range c.names {
			if n == word {
				return c.names[0], strings.TrimSpace(rest)
			}
		}
	}
	if slashWord.MatchString(text) {
		return unknownCommand, text
	}
	return "", ""
}

// runCommand runs a command, or reads a bare yes or no as the answer to a question.
func (l *Loop) runCommand(ctx context.Context, ev bus.Event) (result, error) {
	name, args := parseCommand(ev.Text)
	res := result{how: "command", kind: channels.Reply, said: true, session: ev.Session, channel: ev.Channel, chat: ev.Chat}
	res.Source = provenance.Hob
	if name == "" {
		said, _ := parseAnswer(ev.Text)
		if said.talk {
			var err error
			res.Answer, res.asks, err = l.replyToBareAnswer(ctx, ev)
			return res, err
		}
		if name = "deny"; said.yes {
			name = "approve"
		}
		if args = ""; said.all {
			args = everything
		}
		var err error
		if res.asks, err = l.approvalsToRepeat(ctx, ev, said.all); err != nil {
			return res, err
		}
	}
	for _, c := range chatCommands() {
		if c.names[0] != name {
			continue
		}
		answer, err := c.run(l, ctx, ev, args)
		if err != nil {
			answer = "Sorry: " + err.Error()
		}
		res.Answer = answer
		res.Record = func(tx *store.Tx) error {
			return l.o.Guard.AuditTx(tx, guard.Record{Actor: "owner", Action: name, Event: ev.ID, Session: ev.Session, Origin: ev.Channel, Verdict: "allow", Rule: "owner's command", Args: json.RawMessage(strconv.Quote(args))})
		}
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
	u := UndoRequest{ID: args, Session: ev.Session, By: ev.ID, Origin: ev.Channel}
	if n, err := strconv.Atoi(args); err == nil && n > 0 && n < 1000 {
		u.ID, u.Last = "", n
	}
	if args == "all" {
		u.ID, u.Turn = "", true
	}
	r, err := l.Undo(ctx, u)
	return r.Text, err
}

func (l *Loop) cmdRedo(ctx context.Context, ev bus.Event, args string) (string, error) {
	r, err := l.Undo(ctx, UndoRequest{ID: args, Redo: true, By: ev.ID, Origin: ev.Channel})
	return r.Text, err
}

func (l *Loop) cmdWhy(ctx context.Context, ev bus.Event, args string) (string, error) {
	q := ParseWhyQuery(args)
	q.Session = ev.Session
	w, err := l.Explain(ctx, q)
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
	var b strings.Builder
	for _, c := range chatCommands() {
		if c.about == "" {
			continue
		}
		fmt.Fprintf(&b, "/%s %s — %s\n", c.names[0], c.args, c.about)
	}
	b.WriteString("Everything else you write is for me to answer.")
	return strings.ReplaceAll(b.String(), "  — ", " — "), nil
}

func (l *Loop) cmdUnknown(_ context.Context, _ bus.Event, args string) (string, error) {
	return fmt.Sprintf("Unknown command %s. /help lists the commands.", args), nil
}
