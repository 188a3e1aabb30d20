package app

import (
	"context"

	"hob/autonomy"
	"hob/autonomy/bus"
	"hob/autonomy/explain"
	"hob/autonomy/notify"
	"hob/autonomy/session"
	"hob/autonomy/usage"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/platform/pim"
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

// Parts are the parts that a simulation reads.
type Parts struct {
	Bus       *bus.Bus
	Sessions  *session.Sessions
	Notices   *notify.Notifier
	Watchers  *watchers.Manager
	Usage     *usage.Tracker
	Loop      *autonomy.Loop
	Explainer *explain.Explainer
}

// Parts returns the parts of an open App.
func (d *App) Parts() Parts {
	return Parts{Bus: d.bus, Sessions: d.sessions, Notices: d.notices, Watchers: d.watchers, Usage: d.usage, Loop: d.loop, Explainer: d.explainer}
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
