package main

import (
	"context"

	"hob/cmd/hob/internal/daemon"
)

// openDaemon opens the real engine.
func openDaemon(ctx context.Context, o opening) (engine, error) {
	return daemon.Open(ctx, daemon.Options{Paths: o.Paths, Config: o.Config, Log: o.Log, Version: o.Version, InProcess: o.InProcess})
}
