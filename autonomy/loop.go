package autonomy

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/approvals"
	"hob/autonomy/bus"
	"hob/autonomy/commands"
	"hob/autonomy/commit"
	"hob/autonomy/delayed"
	"hob/autonomy/delivery"
	"hob/autonomy/dispatch"
	"hob/autonomy/explain"
	"hob/autonomy/guard"
	"hob/autonomy/hooks"
	"hob/autonomy/intake"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/autonomy/session"
	"hob/autonomy/trace"
	"hob/autonomy/turn"
	"hob/autonomy/undo"
	"hob/platform/store"
	"hob/platform/store/lease"
	"hob/tools"
)

// Budget limits the cost of unattended model calls. *usage.Tracker implements it.
type Budget interface {
	dispatch.Budget
	commit.UsageBook
}

// Models reports which models the agents use. *modelrouter.Models implements it.
type Models interface {
	dispatch.Models
	commands.Models
}

// WakeHandler is notified when the machine has woken from sleep. *channels.Manager implements it.
type WakeHandler interface {
	HandleWake()
}

// Options holds the options of New. Options without a documented default are required. New builds
// the stages of the message flow from them and connects the stages.
type Options struct {
	Store    *store.Store
	Bus      *bus.Bus
	Guard    *guard.Guard
	Sessions *session.Sessions
	// Compactor keeps conversations within their limits. Nil disables compaction.
	Compactor *session.Compactor
	Runner    *turn.Runner // runs the turns of the default agent
	// Explain answers /why, and Undo reverts actions.
	Explain *explain.Explainer
	Undo    *undo.Reverter
	// Intake puts notices into the inbox.
	Intake *intake.Intake
	// Approvals applies answers to approval requests.
	Approvals *approvals.Decider
	// Goals manages the owner's goals. Nil disables goals. Facts supplies the facts for rules that
	// are evaluated without a model.
	Goals *goals.Goals
	Facts goals.Facts
	// Plan writes the daily plan. Nil disables the plan.
	Plan *goals.Plan
	// Notices holds deferred notices. Nil means that every notice is sent immediately.
	Notices *notify.Notifier
	// Due lists the sources that put due work into the inbox.
	Due []DueSource
	// Agents selects the agent for a message and stores the agents' tasks. Nil means that only the
	// default agent exists.
	Agents *agents.Registry
	// Remote stops the tasks that a conversation delegated to remote agents. It is optional.
	Remote interface {
		Stop(ctx context.Context, session string) (stopped bool, err error)
	}
	// Models reports which models the agents use. Nil means that every agent has a model.
	Models Models
	// Tool finds the tool of a delayed call. Sends reports whether this process runs delayed calls.
	Tool  func(name string) (tools.Tool, bool)
	Sends bool
	// Budget limits unattended turns and records the usage of model calls. Nil disables both.
	Budget Budget
	// Learners read each turn after it has ended.
	Learners []commit.Learner
	// Programs are the user's hooks for answers. Nil means that there are none.
	Programs *hooks.Hooks
	// Messages indexes new messages when Hob is idle. Nil disables the index.
	Messages MessageIndexer
	// Memory keeps the memory tidy when Hob is idle, and each night if Nightly is set. It is
	// optional.
	Memory  MemoryKeeper
	Nightly bool
	// Chats shows in a chat that Hob is working. Nil disables this.
	Chats delivery.Chats
	// Levels limits Hob's autonomy level for a person in a channel. Nil means no limits.
	Levels dispatch.Levels
	// Wakes is notified when the machine has woken from sleep. It is optional.
	Wakes WakeHandler
	// Zone returns the owner's current time zone.
	Zone func() *time.Location
	// Pairing answers /pair. Nil disables pairing. Status answers /status.
	Pairing commands.Pairing
	Status  commands.Status
	// Notify is the channel for notices; see delivery.Options.Channel. Presence reports where the
	// owner is; it is optional.
	Notify   string
	Presence delivery.Presence
	// KeepTraces is how long Hob keeps the traces of ticks and the outcomes of notices. 0 means
	// forever.
	KeepTraces time.Duration
	// Tick is the longest time that the loop sleeps (default 30 s).
	Tick time.Duration
	// Slots is the maximum number of sessions processed in parallel (default 5).
	Slots int
	// Drain is how long running turns may continue after shutdown has started (default 5 s).
	Drain time.Duration
	Log   *slog.Logger
}

// Loop schedules the work: it claims due events, assigns slots to them, and stops and drains their
// turns. The dispatcher turns an event into an outcome, and the committer ends the event. Loop's
// methods may be called concurrently, but Run only again after it has returned.
type Loop struct {
	o          Options
	delivery   *delivery.Delivery
	dispatcher *dispatch.Dispatcher
	committer  *commit.Committer
	running    *runningTurns
	upkeep     *maintenance
	delayed    *delayed.Sender // nil if another process runs the delayed calls
	ticks      atomic.Int64    // number of ticks since the start
	inputs     atomic.Int64    // number of ticks with an input since the start
	open       sync.WaitGroup
}

// New returns a Loop after checking the options. It builds and connects the stages.
func New(o Options) (*Loop, error) {
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Sessions == nil || o.Runner == nil || o.Explain == nil || o.Undo == nil || o.Intake == nil || o.Approvals == nil || o.Zone == nil {
		return nil, errors.New("autonomy: Options needs Store, Bus, Guard, Sessions, Runner, Explain, Undo, Intake, Approvals and Zone")
	}
	if o.Tick <= 0 {
		o.Tick = 30 * time.Second
	}
	if o.Slots <= 0 {
		o.Slots = 5
	}
	if o.Drain <= 0 {
		o.Drain = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Loop{o: o, running: newRunningTurns(o.Slots, o.Bus.Inbox, o.Log)}
	var err error
	l.delivery, err = delivery.New(delivery.Options{Bus: o.Bus, Sessions: o.Sessions, Chats: o.Chats, Notices: o.Notices, Channel: o.Notify, Presence: o.Presence, Zone: o.Zone})
	if err != nil {
		return nil, err
	}
	l.upkeep = &maintenance{
		store: o.Store, compactor: o.Compactor, messages: o.Messages, memory: o.Memory, nightly: o.Nightly && o.Memory != nil, delivery: l.delivery, turns: l.running, lease: o.Bus.Lease, keepTraces: o.KeepTraces, log: o.Log,
		jobs: make(chan maintenanceJob, 64),
	}
	if o.Sends {
		l.delayed, err = delayed.New(delayed.Options{Store: o.Store, Bus: o.Bus, Guard: o.Guard, Tool: o.Tool, Notify: o.Intake.NotifyTx, Zone: o.Zone, Log: o.Log})
		if err != nil {
			return nil, err
		}
	}
	if l.committer, err = newCommitter(o, l); err != nil {
		return nil, err
	}
	l.dispatcher, err = newDispatcher(o, l)
	return l, err
}

// newCommitter returns the stage that ends events.
func newCommitter(o Options, l *Loop) (*commit.Committer, error) {
	c := commit.Options{
		Store: o.Store, Bus: o.Bus, Guard: o.Guard, Sessions: o.Sessions, Delivery: l.delivery, Notices: o.Intake, Maintenance: l.upkeep, Learners: o.Learners,
		Programs: o.Programs, Zone: o.Zone, Log: o.Log,
	}
	if o.Agents != nil {
		c.Tasks = o.Agents
	}
	if o.Goals != nil {
		c.Goals = o.Goals
	}
	if o.Budget != nil {
		c.Usage = o.Budget
	}
	return commit.New(c)
}

// newDispatcher returns the stage that turns events into outcomes.
func newDispatcher(o Options, l *Loop) (*dispatch.Dispatcher, error) {
	c := commands.Options{
		Store: o.Store, Guard: o.Guard, Sessions: o.Sessions, Approvals: o.Approvals, Explain: o.Explain, Undo: o.Undo, Scheduler: l, Agents: o.Agents, Notices: o.Notices,
		Status: o.Status, Pairing: o.Pairing, Zone: o.Zone,
	}
	d := dispatch.Options{
		Store: o.Store, Bus: o.Bus, Guard: o.Guard, Sessions: o.Sessions, Runner: o.Runner, Undo: o.Undo, Delivery: l.delivery, Turns: l.running, Agents: o.Agents,
		Goals: o.Goals, Facts: o.Facts, Plan: o.Plan, Levels: o.Levels, GuestLimit: o.Intake.GuestLimit(), Zone: o.Zone, Log: o.Log,
	}
	if o.Models != nil {
		c.Models, d.Models = o.Models, o.Models
	}
	if o.Budget != nil {
		d.Budget = o.Budget
	}
	run, err := commands.New(c)
	if err != nil {
		return nil, err
	}
	d.Commands = run
	return dispatch.New(d)
}

// Run processes events until ctx ends. It returns after all work that it started has ended. If ctx
// ends because this instance lost its lease (lease.ErrLost), Run cancels the turns at once.
func (l *Loop) Run(ctx context.Context) error {
	if err := l.recoverFromCrash(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	l.running.endDraining()
	// Turns may continue for up to Options.Drain after ctx has ended.
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var tidying sync.WaitGroup
	defer tidying.Wait()
	tidying.Go(func() { l.upkeep.runJobs(ctx) })
	if l.delayed != nil {
		tidying.Go(func() {
			if err := l.o.Bus.Lease.While("delayed sends", l.delayed.Run)(ctx); err != nil {
				l.o.Log.Error("delayed sends stopped", "err", err)
			}
		})
	}
	clock := newClock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	woke := trace.WokeStart
	for ctx.Err() == nil {
		next := l.startDueTurns(ctx, work, woke)
		timer.Reset(l.sleepDuration(next))
		select {
		case <-ctx.Done():
		case <-l.o.Bus.Inbox.Wake():
			woke = trace.WokeArrival
		case <-l.running.freed:
			woke = trace.WokeSlot
		case <-l.o.Bus.Lease.Ended():
			woke = trace.WokeArrival
			if err := l.recoverFromCrash(ctx); err != nil && ctx.Err() == nil {
				l.o.Log.Error("events of ended instances not recovered", "err", err)
			}
		case <-timer.C:
			woke = trace.WokeClock
		}
		if by := clock.wallClockJump(); by != 0 {
			l.o.Log.Info("the clock jumped", "by", by)
			if by > 0 && l.o.Wakes != nil {
				l.o.Wakes.HandleWake()
			}
		}
	}
	l.drainTurns(ctx, stop)
	if !hasLostLease(ctx) {
		l.upkeep.gatherLast(context.WithoutCancel(ctx))
	}
	return nil
}

// hasLostLease reports whether ctx ended because this instance lost its lease.
func hasLostLease(ctx context.Context) bool { return errors.Is(context.Cause(ctx), lease.ErrLost) }

// sleepDuration returns the time until the next due time, but at most Options.Tick.
func (l *Loop) sleepDuration(next time.Time) time.Duration {
	d := l.o.Tick
	if !next.IsZero() {
		d = min(d, max(0, time.Until(next)))
	}
	return d
}

// recoverFromCrash cleans up after a crash. It puts events back into the inbox and notifies the
// owner of events that crashed Hob too often.
func (l *Loop) recoverFromCrash(ctx context.Context) error {
	dead, err := l.o.Bus.Inbox.Recover(ctx)
	if err != nil {
		return err
	}
	for _, e := range dead {
		l.o.Log.Error("event abandoned after repeated crashes", "event", e.ID)
		if known, err := l.delivery.HasNotice(ctx, e.ID); err != nil {
			return err
		} else if known {
			continue
		}
		if err := l.committer.GiveUp(ctx, e, "I crashed repeatedly while working on it"); err != nil {
			return err
		}
	}
	return nil
}

// drainTurns waits for running turns, and then cancels them; their events return to the inbox. It
// immediately cancels turns that are waiting for an answer, because no answer will arrive.
func (l *Loop) drainTurns(ctx context.Context, stop context.CancelCauseFunc) {
	l.running.drain()
	if hasLostLease(ctx) { // another instance may do the same work by now
		stop(turn.ErrDraining)
	}
	done := make(chan struct{})
	go func() {
		l.open.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-time.After(l.o.Drain):
	}
	stop(turn.ErrDraining)
	<-done
}

// Stop ends the running turn of a session and cancels a turn that is waiting for an answer or for
// the next message. It reports whether there was such a turn.
func (l *Loop) Stop(ctx context.Context, session string) (bool, error) {
	stopped, full := l.stopSettling(ctx, session) // done first, because stopping the running turn may start the turn of a waiting message
	stopped = l.running.stop(session) || stopped
	below, err := l.stopBelow(ctx, session)
	if err = errors.Join(full, err); err != nil {
		return stopped, err
	}
	stopped = stopped || below
	waiting, err := l.o.Guard.Approvals(ctx, guard.Pending, session, "", 100)
	if err != nil {
		return stopped, err
	}
	for _, a := range waiting {
		stopped = true
		l.running.markCancelled(a.Event)
		err := l.o.Store.Write(ctx, func(tx *store.Tx) error {
			if err := l.o.Guard.CloseTx(tx, a.Event, guard.Cancelled); err != nil {
				return err
			}
			return l.o.Bus.Inbox.ResumeTx(tx, a.Event)
		})
		if err != nil {
			return stopped, err
		}
	}
	return stopped, nil
}

// CancelEvent cancels one event. A waiting event is dropped without an answer; a running event's
// turn is stopped. It reports whether the event was open. Other events of the conversation
// continue.
func (l *Loop) CancelEvent(ctx context.Context, id string) (open bool, err error) {
	err = l.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := l.o.Guard.CloseTx(tx, id, guard.Cancelled); err != nil {
			return err
		}
		open, err = l.o.Bus.Inbox.DropTx(tx, id, "canceled by its sender")
		return err
	})
	if err != nil {
		return false, err
	}
	if l.running.stopEvent(id) {
		open = true
	}
	if !open {
		return false, nil
	}
	ev, err := l.o.Bus.Inbox.Event(ctx, id)
	if err == nil && l.o.Remote != nil {
		_, err = l.o.Remote.Stop(ctx, ev.Session)
	}
	if l.o.Agents != nil {
		err = errors.Join(err, l.o.Agents.Abandon(ctx, id))
	}
	return true, err
}

// stopSettling stops the messages that are waiting for the sender's next message. They become due
// immediately and are answered as stopped.
func (l *Loop) stopSettling(ctx context.Context, session string) (stopped bool, err error) {
	err = l.o.Store.Write(ctx, func(tx *store.Tx) error {
		events, err := l.o.Bus.Inbox.FlushDebounceTx(tx, session)
		l.running.markCancelled(events...)
		stopped = len(events) > 0
		return err
	})
	return stopped, err
}

// Running returns the number of turns in progress, not counting turns that wait for the owner.
func (l *Loop) Running() int {
	return l.running.count()
}

// Ticks returns the number of ticks since the start, and how many of them had an input.
func (l *Loop) Ticks() (all, withInput int64) { return l.ticks.Load(), l.inputs.Load() }

// stopBelow stops the tasks delegated by a conversation, and the turns that are waiting for these
// tasks.
func (l *Loop) stopBelow(ctx context.Context, session string) (stopped bool, err error) {
	if l.o.Remote != nil {
		if stopped, err = l.o.Remote.Stop(ctx, session); err != nil {
			return stopped, err
		}
	}
	if l.o.Agents == nil {
		return stopped, nil
	}
	below, err := l.o.Agents.Stop(ctx, session)
	return stopped || below, err
}
