package doctor

import (
	"context"
	"log/slog"
	"time"

	"hob/autonomy/config"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/cmd/hob/internal/channel"
	"hob/platform/pim"
	"hob/platform/pim/sources"
)

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
