package app

import (
	"context"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/notify"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/platform/host/osrun"
	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/pim/icsfeed"
	"hob/platform/pim/listfeed"
	"hob/platform/pim/sources"
	toolsall "hob/tools/all"
	"hob/tools/money"
	"hob/tools/travel"
	"hob/tools/weather"
)

// appScripts returns the only runner for app scripts on this machine, so that each app runs one
// script at a time. The runner is disabled in commands without the daemon, in simulations, and if
// [pim] apps is off.
func appScripts(o Options) osrun.Runner {
	switch {
	case !o.Config.Pim.Apps:
		return nil
	case o.Scripts != nil:
		return o.Scripts
	case o.InProcess || o.Play != nil:
		return nil
	}
	return osrun.SystemScripts(osrun.Options{Log: o.Log})
}

// openPim opens the user's accounts and the apps on this machine. Simulations do not use the notes
// folder.
func (d *App) openPim() {
	o := sources.Options{Accounts: d.accountsOf(d.opt.Config).Complete, Apps: d.scripts, NotesFolder: d.opt.Config.Pim.NotesFolder, Zone: func() *time.Location { return d.zone() }}
	if d.opt.Scripts == nil {
		o.AppsInUse = sources.SupportedAppsInUse
	}
	if d.opt.Play != nil {
		o.NotesFolder = ""
	}
	o.Feeds = icsfeed.OpenAll(d.opt.Config.Pim.CalendarFeeds, icsfeed.Options{Network: func() *safehttp.Client { return d.network }, Secret: d.secrets.ResolveContext}, d.opt.Log)
	d.pim = sources.New(o)
}

// accountsOf returns the user's accounts in configuration c.
func (d *App) accountsOf(c *config.Config) config.AccountSet {
	out := config.AccountSet{Config: c, Secret: d.secrets.ResolveContext}
	if d.opt.Play != nil {
		out.Change = d.opt.Play.Account
	}
	return out
}

// personalDeps returns the dependencies of the tools and briefing sections that use the user's
// personal data.
func (d *App) personalDeps() toolsall.Deps {
	out := toolsall.Deps{
		Store: d.store, Log: d.opt.Log, Files: d.files, Watchers: d.watchers, Weather: weather.Deps{Network: d.network, Place: d.opt.Config.Plan.Place},
		Rates:  money.Rates{Network: d.network, Store: d.store, URL: d.opt.Config.Network.Rates},
		Travel: travel.Deps{Network: d.network, Secret: d.secrets.ResolveContext, Travel: d.opt.Config.Travel},
	}
	return out.WithSources(d.pim, d.localTime, notify.MailJudge(d.opt.Config.Notify, func(ctx context.Context) (func(name, address string) string, error) {
		return d.graph.KnownPeople(d.store.Reader(ctx))
	}))
}

// localTime returns the current time in the user's time zone.
func (d *App) localTime() time.Time { return time.Now().In(d.zone()) }

// toolLists returns the lists that tools write to.
func (d *App) toolLists() []pim.Reminders {
	return listfeed.RecordAllReminders(d.pim.Reminders(), d.channelStates(func(c channels.Description) bool { return c.ReadsReminders }))
}

// toolNotes returns the note stores that tools write to.
func (d *App) toolNotes() []pim.Notes {
	return listfeed.RecordAllNotes(d.pim.Notes(), d.channelStates(func(c channels.Description) bool { return c.ReadsNotes }))
}

// channelStates returns the state stores of the running channels for which trait is true.
func (d *App) channelStates(trait func(channels.Description) bool) (out []listfeed.StateStore) {
	for _, name := range d.channels.RunningWith(channelsall.Drivers(), trait) {
		out = append(out, bus.NewChannelState(d.store, name))
	}
	return out
}
