//go:build !linux && !windows && !darwin

package tray

import "context"

// run only waits for ctx: no tray is supported on this system.
func (*Tray) run(ctx context.Context) { <-ctx.Done() }
