package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"
)

func (a *app) triggerCmd() *cobra.Command {
	list := a.listing(&cobra.Command{
		Use: "list", Short: "List the configured triggers", Args: cobra.NoArgs,
		RunE: a.run(func(c *cobra.Command, _ []string) error {
			return a.list(c.Context(), "/api/v1/triggers", nil, "No triggers. Add one with: hob config set triggers.NAME.action \"...\"",
				col("NAME", "id"), col("SESSION", "session"), col("ACTION", "action"))
		}),
	})
	var data string
	fire := a.listing(&cobra.Command{
		Use: "fire NAME", Short: "Fire a trigger", Args: cobra.ExactArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error { return a.fire(c.Context(), args[0], data) }),
	})
	fire.Flags().StringVar(&data, "data", "", `data of the trigger: text, "@FILE", or "-" for standard input`)
	return a.group(&cobra.Command{Use: "trigger", Short: "List and fire triggers"}, list, fire)
}

func (a *app) fire(ctx context.Context, name, data string) error {
	body, err := a.payload(data)
	if err != nil {
		return err
	}
	return a.with(ctx, func(c *client) error {
		out, err := c.fire(ctx, name, body)
		if err != nil {
			return err
		}
		if c.pid == 0 { // this process is all there is: let it finish
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

// payload reads what a trigger carries.
func (a *app) payload(data string) (b []byte, err error) {
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

type fired struct {
	Event    string `json:"event"`
	Repeated bool   `json:"repeated"`
}

func (c *client) fire(ctx context.Context, name string, body []byte) (fired, error) {
	var out fired
	req, err := c.requestRaw(ctx, http.MethodPost, "/api/v1/triggers/"+pathPart(name)+"/fire", body)
	if err != nil {
		return out, err
	}
	return out, c.send(ctx, req, &out)
}
