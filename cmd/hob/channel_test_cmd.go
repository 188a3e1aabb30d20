package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/cmd/hob/internal/channel"
)

func (a *cli) channelTestCmd() *cobra.Command {
	var send bool
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "test [CHANNEL]", Short: "Sign in to one or all channels without sending anything", Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeChannels,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			if send && len(args) == 0 {
				return usageErrorf("channel is missing; name the channel for the test message")
			}
			return a.testChannels(c.Context(), args, send)
		}),
	})
	cmd.Flags().BoolVar(&send, "send", false, "also send yourself a test message on the channel")
	return cmd
}

// testChannels tests the named channels, or all enabled ones.
func (a *cli) testChannels(ctx context.Context, names []string, send bool) error {
	_, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = switchedOn(cfg)
	}
	if len(names) == 0 && !a.asJSON {
		fmt.Fprintln(a.out, "No channel is set up besides the terminal and the page. Add one with: hob channel add NAME")
		return nil
	}
	open := a.withClient
	if send {
		open = func(ctx context.Context, fn func(*client) error) error {
			c, err := a.connectDaemon(ctx)
			if err != nil {
				return err
			}
			return errors.Join(fn(c), c.closeEngine())
		}
	}
	all, bad := []api.ChannelTest{}, 0
	err = open(ctx, func(cl *client) error {
		for _, name := range names {
			t, err := cl.TestChannel(ctx, name, send)
			if err != nil {
				return err
			}
			if all = append(all, t); !t.OK {
				bad++
			}
			if !a.asJSON {
				a.printTest(t)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if a.asJSON {
		if err := a.printJSON(all); err != nil {
			return err
		}
	}
	if bad > 0 {
		return &failure{code: exitFailed, cause: fmt.Sprintf("%d of %d channels do not work", bad, len(all)), remedy: "apply the fixes above, or see: hob channel status"}
	}
	return nil
}

func switchedOn(c *config.Config) (names []string) {
	for _, s := range c.Channels {
		if s.Enabled {
			names = append(names, s.Name)
		}
	}
	return names
}

// tryChannel tests one channel, in the daemon or in this program.
func (a *cli) tryChannel(ctx context.Context, name string) (t channel.Tested, err error) {
	err = a.withClient(ctx, func(cl *client) error {
		out, err := cl.TestChannel(ctx, name, false)
		t = channel.Tested(out)
		return err
	})
	return t, err
}

func (a *cli) printTest(t api.ChannelTest) {
	mark := a.colorize(a.out, green, "ok   ")
	switch {
	case !t.OK:
		mark = a.colorize(a.out, red, "FAIL ")
	case !t.Tried:
		mark = a.colorize(a.out, amber, "?    ")
	}
	said := t.Said
	if !t.OK {
		said = t.Cause
	}
	fmt.Fprintf(a.out, "%s%s: %s\n", mark, t.Channel, sanitizePrintable(said))
	if t.Remedy != "" {
		fmt.Fprintf(a.out, "     what to do: %s\n", sanitizePrintable(t.Remedy))
	}
}
