package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
)

func (a *cli) triggerCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the configured triggers", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Trigger, error) { return cl.Triggers(c.Context()) }, "No triggers. Add one with: hob config set triggers.NAME.action \"...\"",
				"NAME|ACTION|SESSION", func(t api.Trigger) []any {
					return []any{t.ID, t.Action, t.Session}
				})
		}),
	})
	var data string
	fire := a.addJSONFlag(&cobra.Command{
		Use: "fire NAME", Short: "Fire a trigger", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.fireTrigger(c.Context(), args[0], data) }),
	})
	fire.Flags().StringVar(&data, "data", "", `data of the trigger: text, "@FILE", or "-" for standard input`)
	return a.commandGroup(&cobra.Command{Use: "trigger", Short: "List and fire triggers"}, list, fire)
}

func (a *cli) fireTrigger(ctx context.Context, name, data string) error {
	body, err := a.readPayload(data)
	if err != nil {
		return err
	}
	return a.withClient(ctx, func(c *client) error {
		out, err := c.Fire(ctx, name, "", body)
		if err != nil {
			return err
		}
		if c.pid == 0 { // without a daemon, this process must wait until the event has finished
			if _, err := c.waitEvent(ctx, out.Event, nil); err != nil {
				return err
			}
		}
		if a.asJSON {
			return a.printJSON(out)
		}
		fmt.Fprintln(a.out, out.Event)
		return nil
	})
}

// readPayload reads the payload of a trigger.
func (a *cli) readPayload(data string) (b []byte, err error) {
	switch {
	case data == "-":
		b, err = io.ReadAll(a.in)
	case len(data) > 1 && data[0] == '@':
		b, err = os.ReadFile(data[1:])
	default:
		b = []byte(data)
	}
	if err != nil {
		return nil, fmt.Errorf("read the data of the trigger: %w; name a readable file, or \"-\" for standard input", err)
	}
	return b, nil
}
