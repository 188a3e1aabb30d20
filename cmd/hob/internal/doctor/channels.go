package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"hob/autonomy/config"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/cmd/hob/internal/channel"
	"hob/platform/host/permission"
	"hob/platform/host/system"
	"hob/platform/pim"
	"hob/platform/pim/sources"
)

// Channel is the state of a channel in the running daemon; see channels.Health.
type Channel struct {
	Name, State, Error string
}

// checkChannels checks the secrets of the channels and signs in to each channel. In the daemon it
// also reports the channels' state, which is the same as on the web page and in the status.
func checkChannels(ctx context.Context, e Env) []Check {
	var on []config.Section
	for _, s := range e.Config.Channels {
		if s.Enabled {
			on = append(on, s)
		}
	}
	works := map[string][]Check{}
	if e.Channels != nil {
		for _, c := range e.Channels() {
			works[c.Name] = append(works[c.Name], channelWorks(c)...)
		}
	}
	out := checkEach(on, func(s config.Section) []Check { return oneChannel(ctx, e, s.Name, works[s.Name]) })
	for name, list := range works { // add the findings for channels without a section
		if !slices.ContainsFunc(on, func(s config.Section) bool { return s.Name == name }) {
			out = append(out, list...)
		}
	}
	var names []string
	for _, s := range on {
		names = append(names, s.Name)
	}
	switch {
	case len(out) > 0:
		return out
	case len(on) == 0:
		return okCheck("channels", "the terminal and the web page")
	case e.Channels == nil:
		return skipCheck("channels", strings.Join(names, ", ")+" are set up, in addition to the terminal and the web page; their state is known only while Hob is running", "hob start, then: hob doctor channels")
	}
	return okCheck("channels", strings.Join(names, ", ")+", the terminal and the web page")
}

// oneChannel returns the findings for an enabled channel, most basic problem first. It signs in
// only if the channel can work.
func oneChannel(ctx context.Context, e Env, name string, works []Check) []Check {
	if k, _ := channel.Find(name); e.Desktop && len(k.Permissions) > 0 {
		if c := missingPermission(k, permission.List()); c != nil {
			return c
		}
	}
	out := channelSecrets(ctx, e, name)
	if out = append(out, works...); len(out) > 0 || e.TestChannel == nil {
		return out
	}
	said, err := e.TestChannel(ctx, e.Config, name)
	switch {
	case errors.Is(err, channel.ErrUntested):
		return nil
	case err != nil:
		cause, remedy := channel.Split(name, err.Error())
		if remedy == "" {
			remedy = "hob channel test " + name
		}
		return failCheck("channel "+name, cause, remedy)
	}
	return okCheck("channel "+name, said)
}

// missingPermission reports the first permission of a channel that the user has not granted.
func missingPermission(k channel.Kind, list []permission.Permission) []Check {
	for _, p := range list {
		i := slices.IndexFunc(k.Permissions, func(needed channels.Permission) bool { return needed.ID == p.ID })
		if i < 0 || p.Given {
			continue
		}
		c := failCheck("channel "+k.Name, p.Name+" is not granted to "+p.For+"; without it "+k.Permissions[i].Without,
			"enable "+p.For+" in System Settings, Privacy & Security, "+p.Name+", and restart Hob")
		c[0].Link = p.Pane
		return c
	}
	return nil
}

func channelSecrets(ctx context.Context, e Env, name string) (out []Check) {
	v, err := e.Config.Get("channels." + name)
	keys, is := v.(map[string]any)
	if err != nil || !is {
		return nil
	}
	for key, value := range keys {
		ref, is := value.(string)
		if !is || !system.IsReference(ref) {
			continue
		}
		if _, err := e.Secrets.Resolve(ctx, ref); err != nil {
			out = append(out, failWithError("channel "+name, fmt.Errorf("%s: %w", key, err), "hob channel add "+name)...)
		}
	}
	return out
}

func channelWorks(c Channel) []Check {
	name := "channel " + c.Name
	cause, remedy := channel.Split(c.Name, c.Error)
	if remedy == "" {
		remedy = "see the log: hob doctor log"
	}
	switch c.State {
	case "stopped", "failed":
		return failCheck(name, "stopped: "+cause, remedy+"; then: hob stop, hob start")
	case "waiting":
		return warnCheck(name, "not working; Hob retries: "+cause, remedy)
	case "starting":
		return skipCheck(name, "still starting", "check again shortly: hob doctor channels")
	}
	return nil
}

// ChannelTester returns a function that tests a channel without a daemon.
func ChannelTester(e Env) func(context.Context, *config.Config, string) (string, error) {
	return func(ctx context.Context, c *config.Config, name string) (string, error) {
		network, err := c.Network.Client(ctx, e.Secrets)
		if err != nil {
			return "", err
		}
		servers := func(a config.Account) pim.Account {
			out := a.Account
			out.Secret = func(ctx context.Context) (string, error) { return e.Secrets.Reveal(ctx, a.Password) }
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
			Secret: func(ref string) (string, error) { return e.Secrets.Reveal(ctx, ref) },
			Account: func(account string) (pim.Account, error) {
				a, err := c.Account(account, func(a config.Account) bool { return a.HasServer(pim.IMAP) })
				if err != nil {
					return pim.Account{}, err
				}
				return servers(a), nil
			},
			Lists: data.Reminders, Notes: data.Notes,
		})
	}
}
