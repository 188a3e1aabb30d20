package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (a *cli) pauseCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "pause [TIME]", Short: "Pause background work, for a given time or until hob resume", Args: cobra.ArbitraryArgs,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			what := strings.TrimSpace(strings.Join(args, " "))
			if what == "" {
				what = "on"
			}
			return a.changePause(c.Context(), what)
		}),
	})
}

func (a *cli) resumeCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "resume", Short: "End a pause", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return a.changePause(c.Context(), "off") }),
	})
}

// changePause changes the pause and prints the new state.
func (a *cli) changePause(ctx context.Context, what string) error {
	return a.withClient(ctx, func(c *client) error {
		out, err := c.SetPause(ctx, what)
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(out)
		}
		fmt.Fprintln(a.out, sanitizePrintable(out.Text))
		return nil
	})
}
