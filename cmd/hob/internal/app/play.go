package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/explain"
	"hob/autonomy/llm"
	"hob/autonomy/notify"
	"hob/autonomy/session"
	"hob/autonomy/usage"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/platform/pim"
	"hob/platform/store"
	"hob/tools"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

// Simulation configures a simulation (see package simulate): it works in the background like the
// daemon, with the same parts in the same order, but nothing listens, and these fields replace
// the outside. It requires InProcess. All fields are required.
type Simulation struct {
	// Channels and Watchers are the drivers instead of those there are.
	Channels []channels.Driver
	Watchers []watchers.Driver
	// Account changes how an account's servers are reached.
	Account func(pim.Account) pim.Account
	// Secret resolves references.
	Secret func(ctx context.Context, ref string) (string, error)
	// Tool replaces a tool whose target is not available.
	Tool func(tools.Tool) tools.Tool
}

// EventReport is the outcome of an event and of its notifications.
type EventReport struct {
	explain.Why
	Notices []notify.Notice
}

// Story returns the events since then and their outcomes, oldest first.
func (d *App) Story(ctx context.Context, since time.Time, each func(EventReport) error) error {
	list, err := d.eventsSince(ctx, since)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(list) {
		w, err := d.explainer.ExplainEvent(ctx, e.ID, "")
		if err != nil {
			return err
		}
		notices, err := d.notices.Why(ctx, e.ID)
		if err != nil {
			return err
		}
		notices = slices.DeleteFunc(notices, func(n notify.Notice) bool { return n.Event != e.ID })
		if err := each(EventReport{w, notices}); err != nil {
			return err
		}
	}
	return nil
}

// Journal is an event of a past day and its outcome.
type Journal struct {
	explain.Why
	Messages []llm.Message // of its turn
}

// Journal returns the events from outside Hob between from and until.
func (d *App) Journal(ctx context.Context, from, until time.Time) (out []Journal, err error) {
	list, err := d.eventsSince(ctx, from)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(list) {
		switch {
		case e.ReceivedAt.Before(from), !e.ReceivedAt.Before(until), e.Kind == bus.System, e.Kind == bus.Approval:
			continue
		}
		j := Journal{}
		if j.Why, err = d.explainer.ExplainEvent(ctx, e.ID, ""); err != nil {
			return nil, err
		}
		r, err := d.sessions.Recorded(ctx, e.Session, e.ID)
		if err != nil && !errors.Is(err, session.ErrNoTurn) {
			return nil, err
		}
		for _, row := range r.Own {
			j.Messages = append(j.Messages, row.Message)
		}
		out = append(out, j)
	}
	return out, nil
}

// Known returns the ids of events that came or ended since then; open: also of those not yet
// done.
func (d *App) Known(ctx context.Context, since time.Time, open bool) (map[string]bool, error) {
	list, err := d.eventsSince(ctx, since)
	out := map[string]bool{}
	for _, e := range list {
		if open || e.State == bus.Done || e.State == bus.Dead {
			out[e.ID] = true
		}
	}
	return out, err
}

// Put lets an event come.
func (d *App) Put(ctx context.Context, e bus.Event) error {
	_, err := d.bus.Put(ctx, e)
	return err
}

// eventsSince lists the events that arrived or ended since then, newest first.
func (d *App) eventsSince(ctx context.Context, since time.Time) (out []bus.Event, err error) {
	const page = 500
	for before := ""; ; {
		list, err := d.bus.List(ctx, "", before, page)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if !e.ReceivedAt.Before(since) || !e.DoneAt.Before(since) || e.State == bus.Pending {
				out = append(out, e)
			}
			before = e.ID
		}
		if len(list) < page {
			return out, nil
		}
	}
}

// Afresh restarts the event watchers, as after a pause: their state refers to places that do
// not exist in the simulation.
func (d *App) Afresh(ctx context.Context) error {
	list, err := d.watchers.List(ctx, watchers.Filter{States: []watchers.State{watchers.Active}})
	if err != nil {
		return err
	}
	return d.store.Write(ctx, func(tx *store.Tx) error {
		for _, s := range list {
			if s.Timed {
				continue
			}
			for _, state := range []watchers.State{watchers.Paused, watchers.Active} {
				if _, err := d.watchers.SetStateTx(tx, s.ID, state); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Ticks counts how often the loop has looked for something to do.
func (d *App) Ticks() int64 {
	all, _ := d.loop.Ticks()
	return all
}

// isLongRunning: this process keeps running and works in the background.
func (d *App) isLongRunning() bool { return !d.opt.InProcess || d.opt.Play != nil }

func (d *App) channelDrivers() []channels.Driver {
	if d.opt.Play != nil {
		return d.opt.Play.Channels
	}
	list := channelsall.Drivers()
	for _, own := range d.opt.Drivers {
		for i, dr := range list {
			if dr.Describe().Name == own.Describe().Name {
				list[i] = own
			}
		}
	}
	return list
}

func (d *App) watcherDrivers() []watchers.Driver {
	if d.opt.Play != nil {
		return d.opt.Play.Watchers
	}
	return watchersall.Drivers()
}

func (d *App) playedTools(list []tools.Tool) []tools.Tool {
	if d.opt.Play == nil {
		return list
	}
	out := make([]tools.Tool, len(list))
	for i, t := range list {
		out[i] = d.opt.Play.Tool(t)
	}
	return out
}

// simulatedJobs returns the background parts of a simulation.
func (d *App) simulatedJobs() []func(context.Context) error {
	if d.opt.Play == nil {
		return nil
	}
	parts := []func(context.Context) error{d.channels.Run}
	if d.opt.Config.Autonomy.Enabled {
		parts = append(parts, d.watchers.Run)
	}
	return parts
}

// Spending is the number of model calls and their cost.
type Spending struct {
	Calls, Unpriced int // Unpriced are those without a known price
	Cost            usage.Micros
}

// Spending sums up the model calls of all providers but one.
func (d *App) Spending(ctx context.Context, but string) (s Spending, err error) {
	days, err := d.usage.Days(ctx, 1_000_000)
	for _, x := range days {
		if provider, _, _ := strings.Cut(x.Model, "/"); provider == but {
			continue
		}
		s.Calls, s.Unpriced = s.Calls+x.Calls, s.Unpriced+x.Unpriced
		if x.Cost != nil {
			s.Cost += *x.Cost
		}
	}
	return s, err
}
