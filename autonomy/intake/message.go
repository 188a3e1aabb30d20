package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/delivery"
	"hob/autonomy/hooks"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/payload"
	"hob/autonomy/undo"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// MaxText is the maximum size of a message in bytes.
const MaxText = 10 << 20

// noClient is the client of an API message without a client name. Hob cannot display questions to
// such a client.
const noClient = "?"

// Errors returned by Receive, which then has not accepted the message. They match
// channels.ErrUnfit.
const (
	ErrTooLong rejectedError = "the message is longer than 10 MB; send it as a file"
	ErrNotText rejectedError = "the message is not valid UTF-8; send it as UTF-8 text"
	ErrEmpty   rejectedError = "the message is empty"
	ErrMixed   rejectedError = "a command or an answer cannot contain text that was pasted, piped or read from a file; send it without that text"
)

type rejectedError string

// Error implements error.
func (u rejectedError) Error() string { return string(u) }

// Is makes the error match channels.ErrUnfit.
func (rejectedError) Is(target error) bool { return target == channels.ErrUnfit }

// Receive implements channels.Receiver. The message is durable when it returns nil.
func (k *Intake) Receive(ctx context.Context, in channels.Inbound) (channels.Accepted, error) {
	switch {
	case !utf8.ValidString(in.Text):
		return channels.Accepted{}, ErrNotText
	case len(in.Text) > MaxText:
		return channels.Accepted{}, ErrTooLong
	case strings.TrimSpace(in.Text) == "" && len(in.Images) == 0 && len(in.OutsideFrom) == 0:
		return channels.Accepted{}, ErrEmpty
	case len(in.OutsideFrom) > 0 && chattext.MayDecide(in.Text):
		return channels.Accepted{}, ErrMixed
	}
	ev, err := k.newMessageEvent(ctx, in)
	if err != nil {
		return channels.Accepted{}, err
	}
	if err := k.dropUnknownSender(ctx, in, ev); err != nil {
		return channels.Accepted{}, k.rejectMessage(ctx, ev, err)
	}
	now := time.Now()
	over, tell, until := k.guests.countMessage(ev, now)
	if over && !tell {
		k.o.Log.Info("message dropped: sender exceeded the hourly limit", "channel", ev.Channel, "sender", ev.Sender)
		return channels.Accepted{}, k.rejectMessage(ctx, ev, ErrTooMany)
	}
	msg, heard := watcherMessage(ev)
	msg.Ignored = tell
	settle := debounceDelay(ev, in)
	refused := ""
	if tell {
		settle = 0
		ev.Payload = encodePayload(payload.Message{Until: until})
	} else if refused, err = k.runPrograms(ctx, &ev); err != nil {
		k.guests.giveBack(ev, now)
		return channels.Accepted{}, err
	} else if refused != "" {
		settle, heard = 0, false
	}
	var acc channels.Accepted
	defer func() {
		if err != nil || acc.Repeated {
			k.guests.giveBack(ev, now)
		}
	}()
	err = k.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := errors.Join(k.inTurn(tx, &ev), k.hastenUndo(tx, &ev)); err != nil {
			return err
		}
		if acc, err = k.o.Bus.Inbox.CoalesceTx(tx, ev, settle, mergeMessages); err != nil {
			return err
		}
		if heard && !acc.Repeated {
			if err := k.dispatchToWatchers(tx, msg); err != nil {
				return err
			}
		}
		if acc.Repeated || acc.Position == 0 {
			return nil
		}
		return delivery.NotifyPositionTx(tx, k.o.Bus, ev, acc.Position, k.o.QueueNotices && k.o.Channels.Pushes(ev.Channel))
	})
	if err != nil {
		err = fmt.Errorf("receive message: %w", err)
		return channels.Accepted{}, err
	}
	if acc.Repeated {
		acc.Differs, err = k.isOtherText(ctx, acc.Event, in.Text)
	}
	return acc, err
}

// runPrograms runs the user's hooks for a message and adds their text to it as untrusted text. It
// returns the reason if a hook refused the message; the event then contains the reason, so that the
// refusal survives a restart. Commands and answers of the owner never wait for a hook.
func (k *Intake) runPrograms(ctx context.Context, ev *bus.Event) (refused string, err error) {
	owner := ev.Provenance == provenance.Owner
	command, _ := chattext.ParseCommand(ev.Text)
	if !k.o.Programs.Has(config.MessageReceived) || owner && (command != "" || ev.Lane != "" && ev.Lane != ev.Session) {
		return "", nil
	}
	m, err := payload.ParseMessage(*ev)
	if err != nil {
		return "", err
	}
	e := hooks.NewEvent(config.MessageReceived, *ev)
	e.Text, e.Tainted = ev.Text, e.Tainted || len(m.Outside) > 0
	for _, o := range m.Outside {
		e.Text += "\n\n" + o
	}
	added, err := k.o.Programs.Run(ctx, e)
	if r, ok := errors.AsType[*hooks.Refusal](err); ok {
		m.Refused = r.Error()
	} else if err != nil || len(added) == 0 {
		return "", err
	}
	for _, a := range added {
		for len(m.OutsideFrom) < len(m.Outside) { // the entries must correspond
			m.OutsideFrom = append(m.OutsideFrom, channels.TextSource{})
		}
		m.Outside = append(m.Outside, hooks.Join("", []hooks.Added{a}))
		m.OutsideFrom = append(m.OutsideFrom, channels.TextSource{Origin: payload.FromHook, Name: a.Hook})
	}
	ev.Payload = encodePayload(m)
	return m.Refused, nil
}

// inTurn queues "/new" behind a message that is still waiting for the sender's next one, because
// that message belongs to the conversation that is about to end.
func (k *Intake) inTurn(tx *store.Tx, ev *bus.Event) error {
	if !IsReset(*ev) {
		return nil
	}
	waiting, err := k.o.Bus.Inbox.FlushDebounceTx(tx, ev.Session)
	if len(waiting) > 0 {
		ev.Lane = ev.Session
	}
	return err
}

// hastenUndo lets "undo that" run before the end of a running turn, because the send to which it
// refers can be canceled only for a short time.
func (k *Intake) hastenUndo(tx *store.Tx, ev *bus.Event) error {
	if !undo.IsOwnerRequest(*ev) || ev.Lane != "" && ev.Lane != ev.Session {
		return nil
	}
	open, err := k.o.Bus.Scheduled.IsOpenTx(tx, ev.Session)
	if open {
		ev.Lane = bus.CommandLane(ev.Session)
	}
	return err
}

// Known implements channels.DuplicateChecker.
func (k *Intake) Known(ctx context.Context, in channels.Inbound) (channels.Accepted, bool, error) {
	event, err := k.o.Bus.Inbox.FindCoalesced(ctx, in.Channel, in.Key)
	if err == nil && event == "" && !in.FromOwner && k.guests.isOverLimit(in.Channel, in.Sender, time.Now()) {
		err = ErrTooMany
	}
	acc := channels.Accepted{Event: event, Repeated: event != ""}
	if err == nil && acc.Repeated {
		acc.Differs, err = k.isOtherText(ctx, event, in.Text)
	}
	return acc, acc.Repeated, err
}

// isOtherText reports whether an event lacks the text of a message with the same key. An event can
// contain several messages.
func (k *Intake) isOtherText(ctx context.Context, event, text string) (bool, error) {
	ev, err := k.o.Bus.Inbox.Event(ctx, event)
	return !strings.Contains(ev.Text, text), err
}

// dropUnknownSender drops a message from an unknown sender if no agent answers such messages. The
// sender gets no reply.
func (k *Intake) dropUnknownSender(ctx context.Context, in channels.Inbound, ev bus.Event) error {
	if k.o.Agents == nil || in.FromOwner {
		return nil
	}
	_, err := k.o.Agents.CurrentAgent(ctx, agents.MessageOrigin{Session: ev.Session, Channel: ev.Channel, Chat: ev.Chat, Name: in.ChatName, Server: in.Server})
	if errors.Is(err, agents.ErrNobody) {
		k.o.Log.Info("message dropped: no agent answers in this chat", "channel", ev.Channel, "chat", ev.Chat, "sender", ev.Sender)
		return fmt.Errorf("%w: %w", channels.ErrStranger, err)
	}
	return err
}

// newMessageEvent creates the inbox event for a message.
func (k *Intake) newMessageEvent(ctx context.Context, in channels.Inbound) (bus.Event, error) {
	if in.Session == "" {
		in.Session = in.Conversation(k.o.SharedGroups)
	}
	shared := in.Group
	if in.Client = cmp.Or(in.Client, noClient); k.o.Channels.Pushes(in.Channel) {
		in.Client = ""
	}
	// Answer a conversation that belongs to another channel on that channel: "telegram:42", or
	// "telegram:42:ada" in a group. Only the session's row distinguishes the two forms.
	if name, chat, ok := strings.Cut(in.Session, ":"); ok && name != in.Channel && k.o.Channels.Pushes(name) {
		info, known, err := k.o.Sessions.Get(ctx, in.Session)
		if err != nil {
			return bus.Event{}, err
		}
		shared = true
		if in.Channel, in.Chat = name, chat; known {
			in.Chat = info.Chat
		}
	}
	data, err := json.Marshal(payload.Message{
		Outside: in.Outside, OutsideFrom: in.OutsideFrom, Images: in.Images, Via: in.Via, Unknown: in.Unknown, Name: in.SenderName, Title: in.ChatName, Server: in.Server, Extra: in.Payload, Shared: shared,
		Client: in.Client, ReplyTo: in.ReplyTo, Threaded: in.Threaded, OnlyReplies: in.OnlyReplies,
	})
	if err != nil {
		return bus.Event{}, fmt.Errorf("receive message: %w", err)
	}
	ev := bus.Event{
		ID: bus.NewID(), Kind: bus.Message, Source: in.Channel, Session: in.Session, Channel: in.Channel, Chat: in.Chat, Sender: in.Sender,
		Text: in.Text, Payload: data, Provenance: provenance.Outside, ReceivedAt: in.At, Key: in.Key,
	}
	if !in.FromOwner {
		return ev, nil
	}
	ev.Provenance = provenance.Owner
	if command, args := chattext.ParseCommand(in.Text); command == chattext.Steer && args != "" {
		ev.Lane = steerLane(in.Session, ev.ID)
	} else if command == chattext.Forget && args != "" {
		return ev, nil
	} else if command != "" {
		ev.Lane = bus.CommandLane(in.Session)
	} else if _, bare := chattext.ParseAnswer(in.Text); bare {
		answers, err := k.o.Answers.AnswersHere(ctx, ev)
		if err != nil {
			return ev, err
		}
		if answers {
			ev.Lane = bus.CommandLane(in.Session)
		}
	}
	return ev, nil
}

const steerMark = "\x1fsteer\x1f"

// steerLane returns a separate queue for text to a running turn, so that the text waits only for
// that turn.
func steerLane(session, event string) string { return session + steerMark + event }

// IsSteering reports whether an event is text for a running turn (/steer).
func IsSteering(ev bus.Event) bool { return strings.HasPrefix(ev.Lane, ev.Session+steerMark) }

// IsReset reports whether the event is the owner's command to end a conversation.
func IsReset(ev bus.Event) bool {
	command, _ := chattext.ParseCommand(ev.Text)
	return command == chattext.New && ev.Provenance == provenance.Owner
}
