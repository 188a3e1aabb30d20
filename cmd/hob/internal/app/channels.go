package app

import (
	"context"
	"maps"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/channels/terminal"
	"hob/cmd/hob/internal/channel"
	"hob/platform/pim"
)

// openChannels creates the channels that send on their own, and the bus, which must know them.
func (d *App) openChannels(context.Context) error {
	opened, failed := channels.Open(d.channelDrivers(), d.channelSection, func(name string) channels.Deps {
		return channels.Deps{
			Log: d.opt.Log.With("channel", name), Name: d.opt.Config.Agent.Name, Secret: d.resolveSecret, Network: d.network, Getenv: d.environLookup(), Scripts: d.scripts,
			Keep: bus.NewChannelState(d.store, name), Dir: d.opt.Paths.ChannelDir(name), Account: func(account string) (pim.Account, error) { return d.findAccount(account, "imap") },
			Lists: d.pim.Reminders, Notes: d.pim.Notes, Buttons: d.buttons,
		}
	})
	for name, err := range failed {
		d.opt.Log.Error("channel not usable", "channel", name, "err", err)
	}
	for _, s := range d.opt.Config.Channels {
		if opened[s.Name] != nil || failed[s.Name] != nil || !s.Enabled {
			continue
		}
		return s.Errorf("", "there is no channel of this name; known are %s", strings.Join(channels.Names(channelsall.Drivers()), ", "))
	}
	d.bus = bus.New(d.store, bus.Options{Redact: d.redact.Text, NoticeFilter: d.filterNotice, Lost: d.handleLost, Route: func(channel, chat string) (string, string, bool) {
		if d.channels.Has(channel) && !d.channels.Pull(channel) {
			return channel, chat, false
		}
		if channel == terminal.Name {
			return channel, chat, true
		}
		return "web", chat, true
	}})
	opened[terminal.Name] = terminal.New()
	maps.Copy(opened, d.opt.Channels)
	d.hooks = channels.WebhookReceivers(opened)
	var err error
	d.channels, err = channels.New(channels.Options{
		Outbox: d.bus.Outbox, Receiver: lateReceiver{d}, Log: d.opt.Log, Channels: opened, Failed: failed, Trouble: d.reportStoppedChannel, Owners: lateOwners{d},
		SharedGroups: d.opt.Config.Autonomy.Groups == config.PerChat,
		Choices:      d.channelChoices(), Files: channels.ReceiveFiles(d.receivedFilesDir, d.opt.Reader), Drafts: d.bus.Outbox, Redact: d.redact.Text,
	})
	return err
}

// channelSection finds a channel's part of the configuration. Some channels need none on a
// machine with a desktop.
func (d *App) channelSection(name string) (func(any) error, bool) {
	s, ok := d.opt.Config.Channel(name)
	if k, _ := channel.Find(name); !ok && k.OnDesktop && d.opt.Desktop && !d.opt.InProcess {
		return func(any) error { return nil }, true
	}
	return s.Decode, ok && s.Enabled
}

// latestConfig returns the configuration in the file, see config.LoadLatest.
func (d *App) latestConfig() *config.Config {
	if d.opt.Play != nil {
		return d.opt.Config
	}
	return config.LoadLatest(d.opt.Paths.ConfigFile(), d.opt.Config)
}

// reportStoppedChannel forwards to the service, which is created later.
func (d *App) reportStoppedChannel(name string, cause error) {
	d.service.ReportStoppedChannel(name, cause)
}

// trialDeps returns the dependencies of a channel that is only tested, not run.
func (d *App) trialDeps(c *config.Config, name string) channels.Deps {
	return channels.Deps{
		Log: d.opt.Log.With("channel", name), Name: d.opt.Config.Agent.Name, Secret: d.resolveSecret, Network: d.network, Getenv: d.environLookup(), Scripts: d.scripts,
		Dir: d.opt.Paths.ChannelDir(name), Account: func(account string) (pim.Account, error) { return d.accountOf(c, account, "imap") },
		Lists: d.pim.Reminders, Notes: d.pim.Notes,
	}
}
