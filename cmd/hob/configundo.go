package main

import (
	"context"
	"fmt"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/platform/host/system"
)

// editConfig changes config.toml with an undo entry. what describes the change for the user; it
// never contains a value.
func (a *cli) editConfig(ctx context.Context, p system.Paths, what string, edit func() error) error {
	c := config.Revisions{Path: p.ConfigFile(), Dir: p.ConfigUndoDir()}
	before, err := c.Keep()
	if err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if err := edit(); err != nil {
		return err
	}
	after, err := c.Keep()
	if err == nil && after == before {
		return nil
	}
	if err == nil {
		err = a.withClient(ctx, func(cl *client) error {
			return cl.ConfigChanged(ctx, api.ConfigChange{What: what, Before: before, After: after})
		})
	}
	if err != nil { // the change itself succeeded
		fmt.Fprintf(a.err, "%s`hob undo` cannot revert this change: %v\n", a.colorize(a.err, amber, "warning: "), err)
	}
	return nil
}
