// Package commit ends an event in one transaction: it marks the event as done, extends the
// transcript, adds the answer to the outbox, reports the outcome to tasks and goals, and writes the
// traces. It also ends failed events with an error reply, a retry, or a notice that Hob gave up.
package commit

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"hob/autonomy/mind/goals"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/delivery"
	"hob/autonomy/guard"
	"hob/autonomy/hooks"
	"hob/autonomy/intake"
	"hob/autonomy/llm"
	"hob/autonomy/mind/learn"
	"hob/autonomy/notify"
	"hob/autonomy/turn"
	"hob/channels"
	"hob/platform/store"
)

// Outcome is the result of handling an event.
type Outcome struct {
	turn.Outcome
	How  string // how the event was handled: command, notice, turn, call, undo, goal, rule, plan, digest, task, limit or error
	Kind channels.DeliveryKind
	// Send reports whether there is a message to send.
	Send          bool
	notify.Target                     // target of the answer
	Goal          *goals.EventOutcome // outcome of a goal's event
	Digest        bool                // the text is read from the digest's notices when the event ends
	Asks          []string            // ids of the approval requests in the answer
}

// NewReply returns the outcome for a message that is answered where it was written.
func NewReply(ev bus.Event, how string) Outcome {
	return Outcome{How: how, Kind: channels.Reply, Send: true, Target: notify.Target{Session: ev.Session, Channel: ev.Channel, Chat: ev.Chat}}
}

// item returns the outbox item for the outcome.
func (res Outcome) item() bus.OutboxItem {
	return bus.OutboxItem{Provenance: res.Source, Asks: res.Asks, Delivery: channels.Delivery{Kind: res.Kind, Session: res.Session, Channel: res.Channel, Chat: res.Chat, Text: res.Answer}}
}

// Claim is an event that a tick has claimed.
type Claim struct {
	Event bus.Event
	Tick  string // id of the tick that claimed it
	Woke  string // what woke the loop for that tick
	Since time.Time
}

// Conversations stores transcripts. *session.Sessions implements it.
type Conversations interface {
	AppendTx(tx *store.Tx, session, turn string, messages []llm.Message) error
	TouchTx(tx *store.Tx, session, channel, chat string, isTurn bool) error
}

// Tasks stores the outcomes of delegated tasks. *agents.Registry implements it.
type Tasks interface {
	EndTx(tx *store.Tx, ev bus.Event, e agents.TaskOutcome) error
	// Abandon stops the running tasks of a turn that failed.
	Abandon(ctx context.Context, parent string) error
}

// Goals stores the outcomes of goal events. *goals.Goals implements it.
type Goals interface {
	EndTx(tx *store.Tx, ev bus.Event, e goals.EventOutcome) (goals.Outcome, error)
}

// Learner learns from a turn that has ended. The returned function stores the result in the
// transaction that ends the turn. It never makes the transaction fail.
type Learner interface {
	Study(t learn.Turn) func(tx *store.Tx)
}

// UsageBook stores the usage of model calls. *usage.Tracker implements it.
type UsageBook interface {
	FlushTx(tx *store.Tx) error
}

// Notices puts a notice into the inbox. *intake.Intake implements it.
type Notices interface {
	NotifyTx(tx *store.Tx, n intake.Notice) error
}

// Maintenance keeps conversations within their limits while no one is waiting for an answer.
type Maintenance interface {
	// TidyLater queues the conversation of an event that has ended for maintenance.
	TidyLater(ev bus.Event)
}

// Options holds the options of New. Options without a documented default are required.
type Options struct {
	Store       *store.Store
	Bus         *bus.Bus
	Guard       *guard.Guard
	Sessions    Conversations
	Delivery    *delivery.Delivery
	Notices     Notices
	Maintenance Maintenance
	Tasks       Tasks     // nil if there are no delegated tasks
	Goals       Goals     // nil if there are no goals
	Learners    []Learner // called in this order
	Usage       UsageBook // nil if usage is not stored
	// Programs are the user's hooks for answers. Nil means that there are none.
	Programs *hooks.Hooks
	Zone     func() *time.Location
	Log      *slog.Logger
}

// Committer ends events. Its methods may be called concurrently.
type Committer struct{ o Options }

// New returns a Committer after checking the options.
func New(o Options) (*Committer, error) {
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Sessions == nil || o.Delivery == nil || o.Notices == nil || o.Maintenance == nil || o.Zone == nil || o.Log == nil {
		return nil, errors.New("commit: Options needs Store, Bus, Guard, Sessions, Delivery, Notices, Maintenance, Zone and Log")
	}
	return &Committer{o: o}, nil
}
