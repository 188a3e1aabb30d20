package daemon

import (
	"context"
	"slices"
	"strings"
	"time"

	"hob/autonomy"
	"hob/autonomy/bus"
	"hob/autonomy/usage"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/knowledge/store"
	"hob/platform/pim"
	"hob/tools"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

// Play is a Hob whose time is played (see package simulate): it acts by itself as
// the daemon does, with the same parts in the same order, but nothing listens, and
// the ends are these. It goes with InProcess. All of it is required.
type Play struct {
	// Channels and Watchers are the drivers instead of those there are.
	Channels []channels.Driver
	Watchers []watchers.Driver
	// Account changes how an account's servers are reached.
	Account func(pim.Account) pim.Account
	// Secret resolves references.
	Secret func(ctx context.Context, ref string) (string, error)
	// Tool stands in for a tool that reaches what is not there.
	Tool func(tools.Tool) tools.Tool
}

// Story hands on what came since then and what became of it, oldest first.
func (d *Daemon) Story(ctx context.Context, since time.Time, each func(autonomy.Why) error) error {
	const page = 500
	var ids []string
	for before := ""; ; {
		list, err := d.bus.List(ctx, "", before, page)
		if err != nil {
			return err
		}
		for _, e := range list {
			if !e.ReceivedAt.Before(since) || !e.DoneAt.Before(since) || e.State == bus.Pending {
				ids = append(ids, e.ID)
			}
			before = e.ID
		}
		if len(list) < page {
			break
		}
	}
	for _, id := range slices.Backward(ids) {
		w, err := d.loop.Why(ctx, id, "")
		if err != nil {
			return err
		}
		if err := each(w); err != nil {
			return err
		}
	}
	return nil
}

// Afresh lets the watchers of events begin anew, as when they are resumed: what
// they knew is from places that are not there where time is played.
func (d *Daemon) Afresh(ctx context.Context) error {
	list, err := d.watchers.List(ctx, watchers.Filter{States: []watchers.State{watchers.Active}})
	if err != nil {
		return err
	}
	return d.store.Write(ctx, func(tx *store.Tx) error {
		for _, s := range list {
			if s.Kind == watchers.KindCron || s.Kind == watchers.KindOneshot {
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
func (d *Daemon) Ticks() int64 { return d.loop.Ticks() }

// lasting: this process stays, and acts by itself.
func (d *Daemon) lasting() bool { return !d.opt.InProcess || d.opt.Play != nil }

func (d *Daemon) channelDrivers() []channels.Driver {
	if d.opt.Play != nil {
		return d.opt.Play.Channels
	}
	return channelsall.Drivers()
}

func (d *Daemon) watcherDrivers() []watchers.Driver {
	if d.opt.Play != nil {
		return d.opt.Play.Watchers
	}
	return watchersall.Drivers()
}

func (d *Daemon) playedTools(list []tools.Tool) []tools.Tool {
	if d.opt.Play == nil {
		return list
	}
	out := make([]tools.Tool, len(list))
	for i, t := range list {
		out[i] = d.opt.Play.Tool(t)
	}
	return out
}

// played are the parts that act by themselves where time is played.
func (d *Daemon) played() []func(context.Context) error {
	if d.opt.Play == nil {
		return nil
	}
	parts := []func(context.Context) error{d.channels.Run}
	if d.opt.Config.Autonomy.Enabled {
		parts = append(parts, d.watchers.Run)
	}
	return parts
}

// Spending is what models were used for.
type Spending struct {
	Calls, Unpriced int // Unpriced are those without a known price
	Cost            usage.Micros
}

// Spending sums up all calls of models but those of one provider.
func (d *Daemon) Spending(ctx context.Context, but string) (s Spending, err error) {
	days, err := d.books.Days(ctx, 1_000_000)
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
