package app

import (
	"context"
	"io"
	"maps"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/guard/pairing"
	"hob/autonomy/notify"
	"hob/autonomy/service"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/channels/terminal"
	"hob/channels/web/a2aserver"
	"hob/cmd/hob/internal/channel"
	"hob/platform/pim"
	"hob/platform/store"
)

// openChannels creates the configured channels, and the bus, which needs their names.
func (d *App) openChannels(context.Context) error {
	desktop := d.opt.Desktop && !d.opt.InProcess
	opened, failed := channels.Open(d.channelDrivers(), channel.Sections(d.opt.Config, desktop), func(name string) channels.Deps {
		deps := d.trialDeps(d.opt.Config, name)
		deps.Keep, deps.Buttons = bus.NewChannelState(d.store, name), d.buttons
		return deps
	})
	for name, err := range failed {
		d.opt.Log.Error("channel not usable", "channel", name, "err", err)
	}
	if err := channel.CheckNames(d.opt.Config, opened, failed); err != nil {
		return err
	}
	d.bus = bus.New(d.store, bus.Options{
		Redact: d.redact.Text, Lease: d.lease, Spool: d.spool, Log: d.opt.Log,
		// The notifier and the channels are created after the bus.
		NoticeFilter: func(tx *store.Tx, event string, o bus.OutboxItem) (bus.OutboxItem, bool, error) {
			return d.notices.FilterNotice(tx, event, o)
		},
		Lost: func(tx *store.Tx, out bus.Delivery) (bool, error) { return d.notices.Undelivered(tx, out) },
		Route: func(channel, chat string) (string, string, bool) {
			pushes := d.channels.Pushes(channel)
			if pushes || channel == terminal.Name || channel == a2aserver.Channel {
				return channel, chat, !pushes
			}
			return "web", chat, true
		},
	})
	opened[terminal.Name] = terminal.New()
	maps.Copy(opened, d.opt.Channels)
	d.hooks = channels.WebhookReceivers(opened)
	var err error
	d.channels, err = channels.New(channels.Options{
		Outbox: d.bus.Outbox, Receiver: service.NewReceiver(d.lateService), Log: d.opt.Log, Channels: opened, Failed: failed, Owners: d.pairings,
		Trouble:      func(name string, cause error) { d.service.ReportStoppedChannel(name, cause) }, //nolint:contextcheck // the context of the channel has ended
		SharedGroups: d.opt.Config.Autonomy.Groups == config.PerChat, Choices: channel.Overrides(d.opt.Config),
		Lease: d.lease, Files: d.bus.Files.Receive(channels.ReceiveFiles(d.receivedFilesDir, d.opt.Reader)), Drafts: d.bus.Outbox, Redact: d.redact.Text,
	})
	return err
}

// lateService returns the service. The service is created after the channels.
func (d *App) lateService() *service.Service { return d.service }

// receivedFilesDir returns the folder for files from messages.
func (d *App) receivedFilesDir() string { return d.opt.Config.ReceivedFiles(d.opt.Paths) }

// latestConfig returns the configuration in the file; see config.LoadLatest.
func (d *App) latestConfig() *config.Config {
	if d.opt.Play != nil {
		return d.opt.Config
	}
	return config.LoadLatest(d.opt.Paths.ConfigFile(), d.opt.Config)
}

// trialDeps returns the dependencies of a channel that is only tested, not run.
func (d *App) trialDeps(c *config.Config, name string) channels.Deps {
	return channels.Deps{
		Log: d.opt.Log.With("channel", name), Name: d.opt.Config.Agent.Name, Secret: d.secrets.Resolve, Network: d.network, Getenv: d.environLookup(), Scripts: d.scripts,
		Dir: d.opt.Paths.ChannelDir(name), Account: func(account string) (pim.Account, error) { return d.accountsOf(c).Find(account, pim.IMAP) },
		Lists: d.pim.Reminders, Notes: d.pim.Notes,
	}
}

// openNotices creates the notifier, which decides when notices reach the owner.
func (d *App) openNotices(context.Context) error {
	o, err := notify.OptionsOf(d.opt.Config.Notify)
	if err != nil {
		return err
	}
	o.Store, o.Bus, o.Zone, o.Log = d.store, d.bus, d.zone, d.opt.Log
	o.Waiting, o.Programs = d.guard.OpenIn, d.programs
	o.Refused = func(tx *store.Tx, r notify.Notice, why string) error { return d.intake.ReportRefusedTx(tx, r, why) }
	o.Usable = func(name string) bool { return name == "web" || d.channels.Has(name) }
	o.Pushes = d.channels.Pushes
	if d.opt.Config.Notify.Urgency == "model" && d.isLongRunning() {
		o.Model, o.Wait, o.Room, o.Redact = d.models.Cheapest, d.opt.Config.Notify.UrgencyWait.Duration, d.hasBudget, d.redact.Text
	}
	d.notices, err = notify.New(o)
	return err
}

// presence returns the settings for detecting where the user is. Machine is the running channel
// that shows notices on this desktop.
func (d *App) presence() notify.Presence {
	c := d.opt.Config.Notify
	p := notify.Presence{LastMessage: d.bus.Owner.LastChannel, Has: d.channels.Has, Talking: c.Talking.Duration, AtMachine: c.AtMachine.Duration, Simulated: d.opt.Play != nil, Log: d.opt.Log}
	for _, name := range d.channels.RunningWith(channelsall.Drivers(), func(c channels.Description) bool { return c.OnDesktop }) {
		p.Machine = name
	}
	return p
}

// openPairings creates the pairings of channels with their owners.
func (d *App) openPairings() {
	d.pairings = pairing.New(d.store, d.guard, pairing.Options{
		Notify: func(tx *store.Tx, key, text string) error { return d.intake.NotifyLastTx(tx, key, text) },
		Ended:  func(tx *store.Tx, p pairing.Pairing) error { return d.bus.Owner.RevokeTx(tx, p.Channel, p.Sender) },
	})
}

// newSender returns the sender for messages and files that tools send.
func (d *App) newSender() *service.Sender {
	return service.NewSender(service.SenderOptions{
		Store: d.store, Bus: d.bus, Channels: d.channels, Pairings: d.pairings, Spool: d.spool, Sends: d.isLongRunning(), Zone: d.zone, Delay: d.opt.Config.SendDelay,
		OpenFile: func(path string) (string, bool, io.ReadCloser, error) {
			doc, r, err := d.files.OpenDocument(path, channels.MaxOutgoingFile)
			return doc.Path, doc.Hidden, r, err
		},
	})
}
