// Package intake puts what arrives into the inbox: messages of channels, signals of watchers and
// schedules, webhooks, tool calls of the owner and notices from Hob. Everything is durable when
// its method returns, and only then is the source acknowledged. Intake needs no running loop; it
// decides the queue of an event and nothing about its answer.
package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/session"
	"hob/platform/net/hooksig"
	"hob/platform/store"
	"hob/watchers"
)

// PushChannels knows which channels send by themselves; *channels.Manager implements it.
type PushChannels interface {
	// Pushes reports whether the channel runs and its clients do not pull.
	Pushes(channel string) bool
}

// Watchers are the watchers that fire and those that see messages; *watchers.Manager implements
// it.
type Watchers interface {
	// Get reads a watcher's record.
	Get(ctx context.Context, id string) (watchers.Spec, error)
	// WantsMessage reports whether a watcher may fire for a message.
	WantsMessage(ctx context.Context, m watchers.Message) (bool, error)
	// DispatchTx returns the signals that watchers derive from a message.
	DispatchTx(tx *store.Tx, m watchers.Message) ([]watchers.MessageSignal, error)
}

// Agents knows which agent answers a conversation; *agents.Registry implements it.
type Agents interface {
	// CurrentAgent returns agents.ErrNobody if no agent answers there.
	CurrentAgent(ctx context.Context, at agents.MessageOrigin) (agents.Member, error)
}

// Answers knows whether a question waits for an answer where a message was written;
// *approvals.Decider implements it.
type Answers interface {
	AnswersHere(ctx context.Context, ev bus.Event) (bool, error)
}

// Trigger is a webhook that starts a turn.
type Trigger struct {
	Action  string         // the instruction, in plain words
	Session string         // where to report
	Secret  hooksig.Secret // no value: the API token is required
}

// Options are the options of New; those without a default are required.
type Options struct {
	Store    *store.Store
	Bus      *bus.Bus
	Sessions *session.Sessions
	Channels PushChannels
	Watchers Watchers
	Answers  Answers
	// Agents decides whether a message of an unknown sender is accepted; nil accepts all.
	Agents Agents
	// Triggers maps names to the configured webhooks.
	Triggers map[string]Trigger
	// QueueNotices notifies senders on other channels of their place in the queue.
	QueueNotices bool
	// SharedGroups: the members of a group chat share one conversation.
	SharedGroups bool
	// GuestMessages is the maximum number of messages per hour of each guest; 0 means no limit.
	GuestMessages int
	Log           *slog.Logger // default: discards
}

// Intake writes the inbox. Its methods may be called concurrently.
type Intake struct {
	o      Options
	guests guestLimiter
}

// New checks the options.
func New(o Options) (*Intake, error) {
	if o.Store == nil || o.Bus == nil || o.Sessions == nil || o.Channels == nil || o.Watchers == nil || o.Answers == nil {
		return nil, errors.New("intake: an option is missing")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Intake{o: o, guests: guestLimiter{perHour: o.GuestMessages}}, nil
}

// OpenTriggers returns the triggers of the configuration. secret resolves references.
func OpenTriggers(ctx context.Context, list []config.Trigger, secret func(ctx context.Context, ref string) (string, error)) (map[string]Trigger, error) {
	out := map[string]Trigger{}
	for _, t := range list {
		value, err := secret(ctx, t.Secret)
		if err != nil {
			return nil, fmt.Errorf("[triggers.%s] secret: %w", t.Name, err)
		}
		out[t.Name] = Trigger{Action: t.Action, Session: t.Session, Secret: hooksig.Secret{Value: []byte(value), Scheme: hooksig.Scheme(t.Signature)}}
	}
	return out, nil
}
