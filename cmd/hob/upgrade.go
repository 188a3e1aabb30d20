package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/cmd/hob/internal/app"
	"hob/platform/host/command"
	"hob/platform/host/desktop"
	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/upgrade"
	"hob/platform/text/document"
)

// newUpgrade returns the upgrade of an engine's home.
func newUpgrade(o engineOptions) *upgrade.Upgrade {
	opt := upgrade.Options{
		Paths: o.Paths, Sets: app.Migrations(), Version: o.Version, Log: o.Log,
		Trial: func(ctx context.Context, p system.Paths) error { return tryHome(ctx, p, o.Version) },
	}
	if !o.InProcess { // otherwise the command prints the error
		opt.Failed = func(ctx context.Context, err error) {
			if err := showFailedUpgrade(ctx, os.Getenv, err); err != nil {
				o.Log.Warn("failed upgrade not shown on the desktop", "err", err)
			}
		}
	}
	return upgrade.New(opt)
}

// showTime limits showing a notification.
const showTime = 10 * time.Second

// showFailedUpgrade shows the error of a failed upgrade on the desktop. The daemon that failed ends, so no
// channel can report it.
func showFailedUpgrade(ctx context.Context, getenv func(string) string, failed error) error {
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	n := desktop.New(desktop.Options{Getenv: getenv})
	err := n.Notify(ctx, desktop.Notification{ID: "upgrade-failed", Title: "Hob could not be upgraded", Body: failed.Error(), Urgency: desktop.Critical})
	cancel()
	return errors.Join(err, n.Run(ctx, nil)) // Run closes the connection
}

// openDaemon opens the daemon's engine. It first upgrades an older home; if the upgrade fails, it
// restores the home. The caller confirms the upgrade when a daemon is ready.
func openDaemon(ctx context.Context, o engineOptions) (engine, error) {
	up := newUpgrade(o)
	if err := up.Recover(ctx); err != nil {
		return nil, err
	}
	opt := app.Options{
		Paths: o.Paths, Config: o.Config, Log: o.Log, Version: o.Version, InProcess: o.InProcess, Desktop: desktop.Available(os.Getenv), Tray: true, Screen: true,
		Release: o.Release, BeforeMigration: up.Prepare, Restart: o.Restart,
	}
	if exe, err := os.Executable(); err == nil { // without the path, running commands and reading PDFs fail with an error
		opt.Helper = []string{exe, command.Helper}
		opt.Reader = []string{exe, document.Helper}
	}
	d, err := app.Open(ctx, opt)
	finish := up.Finish
	if err == nil && !o.InProcess {
		finish = func(context.Context, error) error { return up.MarkOpened() }
	}
	if ferr := finish(ctx, err); ferr != nil {
		if err == nil {
			ferr = errors.Join(ferr, d.Close()) //nolint:contextcheck // closing has its own time limits
		}
		return nil, ferr
	}
	return d, nil
}

// trialConfig is the configuration of a trial. It configures no external model, account or channel.
const trialConfig = `[agent]
model = "offline"
[autonomy]
enabled = false
[files]
allowed = []
`

// trialTime limits a trial.
const trialTime = 5 * time.Minute

// tryHome runs one turn with the built-in brain in a migrated copy of a home. Pending work in the
// copy is neither processed nor sent.
func tryHome(ctx context.Context, p system.Paths, version string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	if err := system.WriteFile(p.ConfigFile(), []byte(trialConfig)); err != nil {
		return err
	}
	st, err := store.Open(ctx, p.Database(), app.Migrations(), store.Options{SkipCheck: true, Volatile: true})
	if err != nil {
		return err
	}
	err = bus.New(st, bus.Options{}).Inbox.DropAll(ctx, "copy of the home")
	if err := errors.Join(err, st.Close()); err != nil {
		return err
	}
	a := &cli{in: strings.NewReader(""), out: io.Discard, err: io.Discard, version: version, open: openTrial}
	c, err := a.openHere(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.closeEngine()) }()
	out, err := c.Send(ctx, "upgrade", userInput{typed: "What are my tasks?"}.messageBody())
	if err != nil {
		return fmt.Errorf("run a test turn in the upgraded copy: %w", err)
	}
	if strings.TrimSpace(out.Answer) == "" {
		return errors.New("run a test turn in the upgraded copy: no answer")
	}
	return nil
}

// openTrial opens an engine that reaches nothing outside its home.
func openTrial(ctx context.Context, o engineOptions) (engine, error) {
	return app.Open(ctx, app.Options{Paths: o.Paths, Config: o.Config, Log: slog.New(slog.DiscardHandler), Version: o.Version, InProcess: true, UserHome: o.Paths.Home})
}
