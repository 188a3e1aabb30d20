//go:build !linux && !windows && !darwin

package tray

import "context"

// run waits: nothing is known here that shows icons.
func (*Tray) run(ctx context.Context) { <-ctx.Done() }
