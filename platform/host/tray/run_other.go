//go:build !linux && !windows && !darwin

package tray

import "context"

// runIcon only waits for ctx: no tray is supported on this system.
func (*Tray) runIcon(ctx context.Context) { <-ctx.Done() }
