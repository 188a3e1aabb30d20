package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/channels/terminal"
	"hob/cmd/hob/internal/channel"
	"hob/cmd/hob/internal/doctor"
	"hob/platform/pim"
	"hob/platform/pim/sources"
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
		return s.Errorf("", "there is no channel of this name; known are %s", strings.Join(channelNames(), ", "))
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
	d.hooks = map[string]channels.WebhookReceiver{}
	for name, ch := range opened {
		if h, ok := ch.(channels.WebhookReceiver); ok {
			d.hooks[name] = h
		}
	}
	var err error
	d.channels, err = channels.New(channels.Options{
		Outbox: d.bus.Outbox, Receiver: inboundReceiver{d}, Log: d.opt.Log, Channels: opened, Failed: failed, Trouble: d.channelStopped, Owners: lateOwners{d},
		SharedGroups: d.opt.Config.Autonomy.Groups == config.PerChat,
		Choices:      d.channelChoices(), Files: channels.ReceiveFiles(d.receivedFilesDir, d.opt.Reader), Drafts: d.bus.Outbox, Redact: d.redact.Text,
	})
	return err
}

// channelStopped notifies the user, on another channel, of a channel that needs attention.
func (d *App) channelStopped(name string, cause error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	key := fmt.Sprintf("channel-stopped:%s:%d", name, d.started.UnixMilli())
	text := fmt.Sprintf("The channel %s has stopped: %v. Its messages wait until the next start.", name, cause)
	if err := d.intake.Notify(ctx, key, text); err != nil {
		d.opt.Log.Error("cannot notify the user of a stopped channel", "channel", name, "err", err)
	}
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

func channelNames() []string {
	var out []string
	for _, dr := range channelsall.Drivers() {
		out = append(out, dr.Describe().Name)
	}
	slices.Sort(out)
	return out
}

// latestConfig returns the configuration currently in the file; if it is invalid, the one Hob started
// with.
func (d *App) latestConfig() *config.Config {
	if _, err := os.Stat(d.opt.Paths.ConfigFile()); err != nil || d.opt.Play != nil {
		return d.opt.Config
	}
	c, err := config.Load(d.opt.Paths.ConfigFile())
	if err != nil {
		return d.opt.Config
	}
	return c
}

// trialDeps returns the dependencies of a channel that is only tested, not run.
func (d *App) trialDeps(c *config.Config, name string) channels.Deps {
	return channels.Deps{
		Log: d.opt.Log.With("channel", name), Name: d.opt.Config.Agent.Name, Secret: d.resolveSecret, Network: d.network, Getenv: d.environLookup(), Scripts: d.scripts,
		Dir: d.opt.Paths.ChannelDir(name), Account: func(account string) (pim.Account, error) { return d.accountOf(c, account, "imap") },
		Lists: d.pim.Reminders, Notes: d.pim.Notes,
	}
}

// channelTester tries a channel where no daemon runs.
func channelTester(e doctor.Env) func(context.Context, *config.Config, string) (string, error) {
	return func(ctx context.Context, c *config.Config, name string) (string, error) {
		network, err := doctor.Network(ctx, c, e.Secrets)
		if err != nil {
			return "", err
		}
		reveal := func(ctx context.Context, ref string) (string, error) {
			s, err := e.Secrets.Resolve(ctx, ref)
			return s.Reveal(), err
		}
		servers := func(a config.Account) pim.Account {
			out := a.Account
			out.Secret = func(ctx context.Context) (string, error) { return reveal(ctx, a.Password) }
			return out
		}
		run := e.Scripts
		if !c.Pim.Apps {
			run = nil
		}
		data := sources.New(sources.Options{
			Accounts: func() (out []pim.Account) {
				for _, a := range c.Accounts {
					out = append(out, servers(a))
				}
				return out
			},
			Apps: run, NotesFolder: c.Pim.NotesFolder, Zone: func() *time.Location { return time.Local }, //nolint:gosmopolitan // the test only checks whether they can be read
		})
		return channel.Test(ctx, c, channelsall.Drivers(), name, channels.Deps{
			Log: slog.New(slog.DiscardHandler), Network: network, Scripts: e.Scripts, Dir: e.Paths.ChannelDir(name), Getenv: e.Getenv,
			Secret: func(ref string) (string, error) { return reveal(ctx, ref) },
			Account: func(account string) (pim.Account, error) {
				a, err := c.Account(account, func(a config.Account) bool { return a.HasServer("imap") })
				if err != nil {
					return pim.Account{}, err
				}
				return servers(a), nil
			},
			Lists: data.Reminders, Notes: data.Notes,
		})
	}
}
