// Package intake puts incoming events into the inbox: messages from channels, signals from watchers
// and schedules, webhooks, tool calls by the owner and notices from Hob. An event is durable when
// the method returns, and only then is the source acknowledged. Intake does not need a running
// loop. It decides which queue an event enters, but nothing about the answer.
package intake

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/hooks"
	"hob/autonomy/session"
	"hob/platform/store"
	"hob/watchers"
)

// PushChannels reports which channels send their messages to their clients. *channels.Manager
// implements it.
type PushChannels interface {
	// Pushes reports whether the channel is running and sends messages itself, instead of waiting
	// for its clients to fetch them.
	Pushes(channel string) bool
}

// Watchers gives access to the watchers that fire and those that read messages. *watchers.Manager
// implements it.
type Watchers interface {
	// Get returns a watcher's record.
	Get(ctx context.Context, id string) (watchers.Spec, error)
	// WantsMessage reports whether a watcher may fire for a message.
	WantsMessage(ctx context.Context, m watchers.Message) (bool, error)
	// DispatchTx returns the signals that watchers derive from a message.
	DispatchTx(tx *store.Tx, m watchers.Message) ([]watchers.MessageSignal, error)
	// DispatchSignalTx returns the signals of intents that wait for a signal of another watcher.
	DispatchSignalTx(tx *store.Tx, of watchers.Spec, s watchers.Signal) ([]watchers.MessageSignal, error)
}

// Agents reports which agent answers a conversation. *agents.Registry implements it.
type Agents interface {
	// CurrentAgent returns the agent that answers messages with this origin, or agents.ErrNobody if
	// there is none.
	CurrentAgent(ctx context.Context, at agents.MessageOrigin) (agents.Member, error)
}

// Answers reports whether a question is waiting for an answer in the chat in which a message was
// written. *approvals.Decider implements it.
type Answers interface {
	AnswersHere(ctx context.Context, ev bus.Event) (bool, error)
}

// Trigger is a webhook that starts a turn.
type Trigger struct {
	Action  string // the instruction, in plain words
	Session string // session to which the turn reports
	Secret  []byte // an empty value means that the API token is required
	// Unreadable is the reason why the secret cannot be resolved, or "".
	Unreadable string
}

// Options holds the options of New. Options without a documented default are required.
type Options struct {
	Store    *store.Store
	Bus      *bus.Bus
	Sessions *session.Sessions
	Channels PushChannels
	Watchers Watchers
	Answers  Answers
	// Agents decides whether a message from an unknown sender is accepted. Nil accepts all of them.
	Agents Agents
	// Triggers maps names to the configured webhooks.
	Triggers map[string]Trigger
	// QueueNotices notifies senders on other channels of their position in the queue.
	QueueNotices bool
	// SharedGroups makes the members of a group chat share one conversation.
	SharedGroups bool
	// GuestMessages is the maximum number of messages per hour from each guest; 0 means no limit.
	GuestMessages int
	// Programs are the user's hooks for messages. Nil means that there are none.
	Programs *hooks.Hooks
	Log      *slog.Logger // nil discards all messages
}

// Intake writes to the inbox. Its methods may be called concurrently.
type Intake struct {
	o      Options
	guests guestLimiter
}

// New returns an Intake after checking the options.
func New(o Options) (*Intake, error) {
	if o.Store == nil || o.Bus == nil || o.Sessions == nil || o.Channels == nil || o.Watchers == nil || o.Answers == nil {
		return nil, errors.New("intake: Options needs Store, Bus, Sessions, Channels, Watchers and Answers")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Intake{o: o, guests: guestLimiter{perHour: o.GuestMessages}}, nil
}

// OpenTriggers returns the configured triggers. secret resolves references. A trigger whose secret
// cannot be resolved accepts no signature: its secret is a random one.
func OpenTriggers(ctx context.Context, list []config.Trigger, secret func(ctx context.Context, ref string) (string, error), log *slog.Logger) map[string]Trigger {
	out := map[string]Trigger{}
	for _, t := range list {
		value, err := secret(ctx, t.Secret)
		unreadable := ""
		if err != nil {
			unreadable = err.Error()
			log.Error("secret of a trigger not readable; until the next start the trigger accepts only Hob's token", "trigger", t.Name, "err", err)
			value = rand.Text()
		}
		out[t.Name] = Trigger{Action: t.Action, Session: t.Session, Secret: []byte(value), Unreadable: unreadable}
	}
	return out
}
