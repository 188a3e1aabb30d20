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
	"hob/autonomy/explain"
	"hob/autonomy/guard"
	"hob/autonomy/intake"
	"hob/autonomy/mind/goals"
	"hob/autonomy/mind/learn"
	"hob/autonomy/notify"
	"hob/autonomy/session"
	"hob/autonomy/trace"
	"hob/autonomy/turn"
	"hob/autonomy/undo"
	"hob/channels"
	"hob/platform/store"
	"hob/tools"
)

// Options of New; those without a default are required.
type Options struct {
	Store    *store.Store
	Bus      *bus.Bus
	Guard    *guard.Guard
	Sessions *session.Sessions
	// Compactor keeps conversations within their limits; nil disables it.
	Compactor *session.Compactor
	Runner    *turn.Runner // the default one
	Catalogue *tools.Catalogue
	// Explain answers /why, Undo reverts actions.
	Explain *explain.Explainer
	Undo    *undo.Reverter
	// Intake puts notices into the inbox.
	Intake *intake.Intake
	// Approvals applies answers to approval requests.
	Approvals *approvals.Decider
	// Goals are the owner's goals; nil disables them. Facts supplies the values for rules
	// without a model. Offline reports that an agent has no model.
	Goals   *goals.Goals
	Facts   goals.Facts
	Offline func(ctx context.Context, agent string) bool
	// Plan writes the daily plan; nil disables it.
	Plan *goals.Plan
	// Notices holds deferred notices; nil sends every notice immediately.
	Notices *notify.Notifier
	// Due puts due work, such as goal reviews, into the inbox and returns the next due time.
	Due []func(ctx context.Context, now time.Time) (next time.Time, err error)
	// Crew selects the agent for a message and stores the agents' tasks; nil means only the
	// default agent.
	Crew *agents.Registry
	// Learn reads a turn. The returned function stores the lessons in the transaction that ends
	// the turn.
	Learn func(t learn.Turn) func(tx *store.Tx)
	// Gather indexes messages while no one waits; nil disables it.
	Gather func(ctx context.Context) error
	// Zone returns the owner's current time zone.
	Zone func() *time.Location
	// Pair creates a code for a channel and returns instructions; nil disables pairing.
	Pair func(ctx context.Context, channel, by string) (string, error)
	// Status writes the answer of /status.
	Status func(ctx context.Context) (string, error)
	// Notify is the channel for notices. "" or "origin" selects the conversation of the cause;
	// Auto asks Where.
	Notify string
	// Where returns the channel that reaches the owner now, "" for the conversation of the
	// cause; nil always means "".
	Where func(ctx context.Context) string
	// Level limits Hob's autonomy level for a person ("owner", "channel:sender", "" for no
	// specific person) in a channel. "" means no limit; nil disables limits.
	Level func(channel, person string) guard.Level
	// KeepTraces is how long Hob stores the traces of ticks and the outcome of notices; 0 means
	// forever.
	KeepTraces time.Duration
	// Tick is the longest sleep (default 30 s).
	Tick time.Duration
	// Slots is the number of sessions processed in parallel (default 5).
	Slots int
	// Book, when set, stores the usage of model calls, along with the end of a turn.
	Book func(tx *store.Tx) error
	// Room reports whether an unattended turn may begin now, otherwise when to ask again; nil
	// always allows it.
	Room func(now time.Time) (ok bool, at time.Time)
	// Model answers /model: "" asks which model answers a conversation of the
	// agent, a name or "auto" changes it.
	Model func(ctx context.Context, session, agent, name string) (string, error)
	// Drain is how long running turns may continue after shutdown begins (default 5 s).
	Drain time.Duration
	// Typing shows in a chat that Hob is at work there, until stop; optional.
	Typing func(ctx context.Context, channel, chat string) (stop func())
	// Show lets the sender of a message see its answer grow; optional. See
	// channels.Manager.Show.
	Show func(ctx context.Context, event, channel, chat string) channels.LiveDraft
	// Jumped is called after the wall clock was changed or the machine slept.
	Jumped func(by time.Duration)
	Log    *slog.Logger
}

// Loop is the engine. Its methods may be called concurrently; call Run once.
type Loop struct {
	o     Options
	freed chan struct{}
	// chores wait for an idle moment; see tidyLater.
	chores  chan maintenanceJob
	unfound atomic.Bool  // messages exist that are not indexed yet
	asker   *turn.Runner // puts the decisions of goals before the owner
	looks   atomic.Int64 // turns of the loop since it started
	inputs  atomic.Int64 // of them with an input

	mu        sync.Mutex
	draining  bool
	running   map[string]*activeTurn // by event
	cancelled map[string]bool        // events stopped while they waited
	open      sync.WaitGroup
}

// activeTurn is an event in progress.
type activeTurn struct {
	ev     bus.Event
	tick   string // the tick that claimed it
	woke   string // cause of the iteration
	cancel context.CancelCauseFunc
	since  time.Time
	said   []bus.Event   // the owner's messages to it; guarded by Loop.mu
	done   chan struct{} // closed when it has ended
	held   int           // questions for which it waits in memory; guarded by Loop.mu
}

// New checks the options.
func New(o Options) (*Loop, error) {
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Sessions == nil || o.Runner == nil || o.Catalogue == nil || o.Explain == nil || o.Undo == nil || o.Intake == nil || o.Approvals == nil || o.Zone == nil {
		return nil, errors.New("autonomy: an option is missing")
	}
	if o.Tick <= 0 {
		o.Tick = 30 * time.Second
	}
	if o.Where == nil {
		o.Where = func(context.Context) string { return "" }
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
	if o.Book == nil {
		o.Book = func(*store.Tx) error { return nil }
	}
	if o.Room == nil {
		o.Room = func(now time.Time) (bool, time.Time) { return true, now }
	}
	if o.Typing == nil {
		o.Typing = func(context.Context, string, string) func() { return func() {} }
	}
	if o.Level == nil {
		o.Level = func(string, string) guard.Level { return "" }
	}
	if o.Offline == nil {
		o.Offline = func(context.Context, string) bool { return false }
	}
	asker, err := newQuestionRunner(o.Runner)
	if err != nil {
		return nil, err
	}
	return &Loop{
		o: o, asker: asker, freed: make(chan struct{}, 1),
		running: map[string]*activeTurn{}, cancelled: map[string]bool{}, chores: make(chan maintenanceJob, 64),
	}, nil
}

// Run works until ctx ends and everything it started has ended.
func (l *Loop) Run(ctx context.Context) error {
	if err := l.recoverFromCrash(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	// Turns outlive ctx by the time they are given to finish.
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var tidying sync.WaitGroup
	defer tidying.Wait()
	tidying.Go(func() { l.runMaintenance(ctx) })
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
		case <-l.freed:
			woke = trace.WokeSlot
		case <-timer.C:
			woke = trace.WokeClock
		}
		if by := clock.wallClockJump(); by != 0 {
			l.o.Log.Info("the clock jumped", "by", by)
			if l.o.Jumped != nil {
				l.o.Jumped(by)
			}
		}
	}
	l.drainTurns(stop)
	l.gatherLast(context.WithoutCancel(ctx))
	return nil
}

// sleepDuration returns the time until the next due time, at most a tick.
func (l *Loop) sleepDuration(next time.Time) time.Duration {
	d := l.o.Tick
	if !next.IsZero() {
		d = min(d, max(0, time.Until(next)))
	}
	return d
}

// recoverFromCrash cleans up after a crash: it puts events back and notifies the owner of those that
// crashed Hob too often.
func (l *Loop) recoverFromCrash(ctx context.Context) error {
	dead, err := l.o.Bus.Inbox.Recover(ctx)
	if err != nil {
		return err
	}
	for _, e := range dead {
		l.o.Log.Error("event abandoned after repeated crashes", "event", e.ID)
		if known, err := l.willTell(ctx, e.ID); err != nil {
			return err
		} else if known {
			continue
		}
		if err := l.tellDead(ctx, e, "I stopped unexpectedly over it again and again"); err != nil {
			return err
		}
	}
	return nil
}

// drainTurns waits for running turns, then cancels them; their events go back to the inbox. It
// cancels turns that wait for an answer at once, since no answer will arrive.
func (l *Loop) drainTurns(stop context.CancelCauseFunc) {
	l.mu.Lock()
	l.draining = true
	for _, t := range l.running {
		if t.held > 0 {
			t.cancel(turn.ErrDraining)
		}
	}
	l.mu.Unlock()
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

// Stop ends the running turn of a session and cancels one that waits for an answer or for the
// next message. It reports whether a turn existed.
func (l *Loop) Stop(ctx context.Context, session string) (bool, error) {
	stopped, full := l.stopSettling(ctx, session) // do this before looking for running turns: it may start now
	l.mu.Lock()
	for _, t := range l.running {
		if t.ev.Session == session && t.ev.Lane == t.ev.Session {
			t.cancel(turn.ErrStopped)
			stopped = true
		}
	}
	l.mu.Unlock()
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
		l.mu.Lock()
		if l.running[a.Event] == nil { // a waiting turn was cancelled above
			l.cancelled[a.Event] = true
		}
		l.mu.Unlock()
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

// stopSettling has the messages that wait for a next one answered as stopped.
func (l *Loop) stopSettling(ctx context.Context, session string) (stopped bool, err error) {
	err = l.o.Store.Write(ctx, func(tx *store.Tx) error {
		events, err := l.o.Bus.Inbox.FlushDebounceTx(tx, session)
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, id := range events {
			l.cancelled[id] = true
		}
		stopped = len(events) > 0
		return err
	})
	return stopped, err
}

// Running counts the turns in progress.
func (l *Loop) Running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.running)
}
