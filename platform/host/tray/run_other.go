//go:build !linux && !windows && !darwin

package tray

import "context"

// runIcon waits until ctx ends, because there is no tray on this system.
func (*Tray) runIcon(ctx context.Context) { <-ctx.Done() }
