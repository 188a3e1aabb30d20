package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/cmd/hob/internal/channel"
	"hob/platform/host/system"
	"hob/platform/text/sorting"
)

func (a *cli) channelCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List all channels and your paired accounts", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return a.listChannels(c.Context()) }),
	})
	pair := a.addJSONFlag(&cobra.Command{
		Use: "pair CHANNEL", Short: "Pair your account on a channel", Args: cobra.ExactArgs(1), ValidArgsFunction: completeChannels,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.pairChannel(c.Context(), args[0]) }),
	})
	unpair := a.addJSONFlag(&cobra.Command{
		Use: "unpair ID", Short: "Unpair an account", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completePairings,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				out, err := cl.Unpair(c.Context(), args[0], "")
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintf(a.out, "Unpaired %s on %s.\n", sanitizePrintable(out.Sender), out.Channel)
				return nil
			})
		}),
	})
	return a.commandGroup(&cobra.Command{Use: "channel", Short: "Manage channels and paired accounts", SuggestFor: []string{"channels", "pair"}},
		list, a.channelStatusCmd(), a.channelAddCmd(), a.addArchiveFlag(a.channelTestCmd()), pair, unpair, a.channelRemoveCmd())
}

// pairChannel shows the code that pairs an account on a channel with the user.
func (a *cli) pairChannel(ctx context.Context, name string) error {
	return a.withClient(ctx, func(cl *client) error {
		out, err := cl.Pair(ctx, name, "")
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(out)
		}
		fmt.Fprintf(a.out, "Send this code on %s before %[2]s, in a separate message and not in a group:\n\n    %[3]s\n", name, formatTime(a.userZone(), out.ExpiresAt), out.Code)
		return nil
	})
}

// completeChannels completes the names of channels for the first argument.
func completeChannels(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, k := range channel.Kinds() {
		if !k.Always && k.Here() {
			out = append(out, k.Name+"\t"+k.Title)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completePairings completes the ids of pairings.
func (a *cli) completePairings(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := a.loadChannels(c.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, p := range pairingsOf(list) {
		out = append(out, p.ID+"\t"+oneLine(p.Channel+" "+cmp.Or(p.Name, p.Sender)))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// loadChannels returns all channels, from the daemon or computed by this program.
func (a *cli) loadChannels(ctx context.Context) (list []api.Channel, err error) {
	err = a.withClient(ctx, func(cl *client) error {
		list, err = cl.Channels(ctx)
		return err
	})
	return list, err
}

func (a *cli) listChannels(ctx context.Context) error {
	list, err := a.loadChannels(ctx)
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(list)
	}
	sorting.StableByFunc(list, func(x, y api.Channel) int { return cmp.Compare(rankChannel(x), rankChannel(y)) })
	printTable(a, list, "NAME|STATE|ABOUT", func(c api.Channel) []any { return []any{c.Name, stateOf(c), cmp.Or(c.Cause, c.Describe, c.About)} })
	all := pairingsOf(list)
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(a.out, "\nYour accounts:")
	printTable(a, all, "SENDER|NAME|CHANNEL|SINCE|ID", func(p api.Pairing) []any { return []any{p.Sender, p.Name, p.Channel, p.CreatedAt, p.ID} })
	return nil
}

// rankChannel returns a sort rank that puts configured channels first.
func rankChannel(c api.Channel) int {
	switch {
	case c.Configured || c.Enabled:
		return 0
	case c.Available:
		return 1
	}
	return 2
}

// stateOf describes the state of a channel.
func stateOf(c api.Channel) string {
	switch c.State {
	case channel.Unset:
		return "not set up"
	case channel.Unsupported:
		return "unsupported"
	case channel.Idle:
		return "not running"
	}
	return c.State
}

func pairingsOf(list []api.Channel) (out []api.Pairing) {
	for _, c := range list {
		out = append(out, c.Pairings...)
	}
	return out
}

func unknownChannel(name string) error {
	return &failure{code: exitFailed, cause: fmt.Sprintf("channel %q not found", name), remedy: "known channels: " + strings.Join(channel.Names(), ", ")}
}

// isRunning reports whether Hob is running in the background.
func (*cli) isRunning(p system.Paths) bool {
	h, held, err := system.Probe(p.LockFile())
	return err == nil && held && h.Role == system.RoleDaemon
}

// printRestartHint prints a hint if the running Hob has not loaded the change yet.
func (a *cli) printRestartHint(p system.Paths) {
	if a.isRunning(p) {
		fmt.Fprintln(a.err, "Hob applies the changes when it restarts: run hob stop, then hob start")
	}
}
