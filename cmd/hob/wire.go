package main

import (
	"context"
	"os"

	"hob/cmd/hob/internal/app"
	"hob/platform/host/command"
	"hob/platform/host/desktop"
	"hob/platform/text/document"
)

// openDaemon opens the real engine.
func openDaemon(ctx context.Context, o engineOptions) (engine, error) {
	opt := app.Options{Paths: o.Paths, Config: o.Config, Log: o.Log, Version: o.Version, InProcess: o.InProcess, Desktop: desktop.Available(os.Getenv), Tray: true, Screen: true, Release: o.Release}
	if exe, err := os.Executable(); err == nil { // otherwise no command runs and no PDF is read, which is reported
		opt.Helper = []string{exe, command.Helper}
		opt.Reader = []string{exe, document.Helper}
	}
	return app.Open(ctx, opt)
}
