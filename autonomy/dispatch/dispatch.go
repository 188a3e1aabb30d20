// Package dispatch converts a claimed event into an outcome. A command or a notice needs no model;
// all other events are turns of an agent. One small type handles each kind of event: messages,
// signals (from watchers, schedules and webhooks), goals, and tasks. The package starts no
// goroutines and stores no outcome.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/config"
	"hob/autonomy/delivery"
	"hob/autonomy/guard"
	"hob/autonomy/intake"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/mind/goals"
	"hob/autonomy/session"
	"hob/autonomy/turn"
	"hob/autonomy/undo"
	"hob/platform/store"
)

// ownerPerson identifies the owner as the person whose message is answered.
const ownerPerson = "owner"

// Turns gives access to the running turns. The scheduler implements it.
type Turns interface {
	// WasCancelled reports whether an event was stopped while it waited. It reports this only once.
	WasCancelled(event string) bool
	// Hold returns the function that the turn of an event calls when it starts to wait in memory
	// for the owner.
	Hold(event string) turn.Hold
	// OfferSteering passes text to the running turn in the event's session. done is closed when
	// that turn has ended; it is nil if no turn is running.
	OfferSteering(ev bus.Event) (done <-chan struct{})
	// TakeSteering returns the events whose text was offered to a turn since the last call,
	// oldest first.
	TakeSteering(event string) []bus.Event
}

// Commands runs chat commands. *commands.Commands implements it.
type Commands interface {
	Run(ctx context.Context, ev bus.Event) (commit.Outcome, error)
}

// Models reports which agents have a model. *modelrouter.Models implements it.
type Models interface {
	// IsOffline reports whether an agent has no model.
	IsOffline(ctx context.Context, agent string) bool
	// IsFree reports whether calls of the default model cost nothing.
	IsFree() bool
}

// Budget reports whether model calls are within the budget. *usage.Tracker implements it.
type Budget interface {
	// CanSpend reports whether an unattended turn may begin now. If not, at is when to ask again.
	CanSpend(now time.Time) (ok bool, at time.Time)
}

// Levels limits the autonomy level on a channel. *config.Config implements it.
type Levels interface {
	// LevelOf returns the level for a person ("owner", "channel:sender", or "" for no specific
	// person). "" means no limit.
	LevelOf(channel, person string) config.Level
}

// Options holds the options of New. Options without a documented default are required.
type Options struct {
	Store    *store.Store
	Bus      *bus.Bus
	Guard    *guard.Guard
	Sessions *session.Sessions
	Runner   *turn.Runner // the default agent's runner
	Undo     *undo.Reverter
	Delivery *delivery.Delivery
	Commands Commands
	Turns    Turns
	// Agents selects the agent for a message and stores the agents' tasks. Nil means that there is
	// only the default agent.
	Agents *agents.Registry
	// Goals holds the owner's goals. Nil disables them. Facts provides the values for rules that
	// need no model.
	Goals *goals.Goals
	Facts goals.Facts
	// Plan creates the daily plan. Nil disables it.
	Plan *goals.Plan
	// Models reports which agents have a model. Nil means that all agents have one.
	Models Models
	// Budget limits unattended turns. Nil allows all of them.
	Budget Budget
	// Levels limits the autonomy level. Nil means no limit.
	Levels Levels
	// GuestLimit is the maximum number of messages per hour that are read from a guest.
	GuestLimit int
	// Zone returns the owner's current time zone.
	Zone func() *time.Location
	Log  *slog.Logger
}

// Dispatcher selects the handler for an event.
type Dispatcher struct {
	o        Options
	messages messageHandler
	signals  signalHandler
	goals    goalHandler
	tasks    taskHandler
}

// New returns a Dispatcher after checking the options.
func New(o Options) (*Dispatcher, error) {
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Sessions == nil || o.Runner == nil || o.Undo == nil || o.Delivery == nil || o.Commands == nil || o.Turns == nil || o.Zone == nil || o.Log == nil {
		return nil, errors.New("dispatch: Options needs Store, Bus, Guard, Sessions, Runner, Undo, Delivery, Commands, Turns, Zone and Log")
	}
	asker, err := newQuestionRunner(o.Runner)
	if err != nil {
		return nil, err
	}
	s := shared{o}
	return &Dispatcher{o: o, messages: messageHandler{s}, signals: signalHandler{s}, goals: goalHandler{shared: s, asker: asker}, tasks: taskHandler{s}}, nil
}

// Answer converts an event into an outcome.
func (d *Dispatcher) Answer(ctx context.Context, ev bus.Event) (commit.Outcome, error) {
	switch ev.Kind {
	case bus.Message:
		if intake.IsSteering(ev) {
			return d.messages.steerTurn(ctx, ev)
		}
		if command, _ := chattext.ParseCommand(ev.Text); ev.Lane != ev.Session && command == "" && undo.IsOwnerRequest(ev) {
			return d.messages.undoBeforeTurnEnds(ctx, ev)
		}
		if ev.Lane != ev.Session || intake.IsReset(ev) {
			return d.o.Commands.Run(ctx, ev)
		}
		return d.messages.answerMessage(ctx, ev)
	case bus.Watcher, bus.Schedule, bus.Webhook:
		return d.signals.handleSignal(ctx, ev)
	case bus.Goal:
		return d.goals.handleGoalEvent(ctx, ev)
	case bus.Task:
		if agents.IsTaskEvent(ev) {
			return d.tasks.runDelegatedTask(ctx, ev)
		}
		return d.tasks.runOwnerCall(ctx, ev)
	case bus.System:
		return d.signals.handleSystemEvent(ctx, ev)
	}
	return commit.Outcome{}, fmt.Errorf("event %s has the unknown kind %s", ev.ID, ev.Kind)
}

// shared holds the options and lookups that the handlers share.
type shared struct{ o Options }

// levelOf returns the maximum autonomy level for a person on a channel, or "" if there is no limit.
func (h shared) levelOf(channel, person string) guard.Level {
	if h.o.Levels == nil {
		return ""
	}
	return guard.Level(h.o.Levels.LevelOf(channel, person))
}

// isOffline reports whether an agent has no model.
func (h shared) isOffline(ctx context.Context, agent string) bool {
	return h.o.Models != nil && h.o.Models.IsOffline(ctx, agent)
}

// waitForBudget postpones an event while no unattended turn may begin. A postponement does not
// count as an attempt.
func (h shared) waitForBudget(ctx context.Context, ev bus.Event) (waits bool, err error) {
	if h.o.Budget == nil || h.o.Models != nil && h.o.Models.IsFree() {
		return false, nil
	}
	ok, at := h.o.Budget.CanSpend(time.Now())
	if ok {
		return false, nil
	}
	return true, h.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return h.o.Bus.Inbox.SuspendTx(tx, ev.ID, at)
	})
}

// suspended returns the outcome of an event that is waiting.
func suspended() commit.Outcome { return commit.Outcome{Outcome: turn.Outcome{Suspended: true}} }

// defaultMember returns the only agent of a loop without an agent registry.
func (h shared) defaultMember() agents.Member {
	return agents.Member{Name: agents.Default, Runner: h.o.Runner, Refused: func(context.Context) error { return nil }}
}

// creatorAgent returns the agent that created a watcher or schedule. The same agent runs it, so
// that an agent cannot gain tools by creating a watcher or schedule.
func (h shared) creatorAgent(ctx context.Context, ev bus.Event, agent string) (agents.Member, error) {
	if h.o.Agents == nil {
		return h.defaultMember(), nil
	}
	who, err := h.o.Agents.SelectAgent(ctx, ev.ID, agents.MessageOrigin{Session: ev.Session})
	if agent != "" {
		var ok bool
		if who, ok = h.o.Agents.Named(agent); !ok {
			return who, fmt.Errorf("the agent %q that created this watcher or schedule no longer exists", agent)
		}
	} else if errors.Is(err, agents.ErrNobody) { // the owner created it directly
		who, _ = h.o.Agents.Named(agents.Default)
	} else if err != nil {
		return who, err
	}
	if err := who.Refused(ctx); err != nil {
		return who, fmt.Errorf("agent %s is not available: %w", who.Name, err)
	}
	return who, nil
}
