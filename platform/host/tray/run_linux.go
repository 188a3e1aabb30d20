package tray

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
	"hob/platform/retry"
)

const (
	// watcher is the bus name where panels and icons register.
	watcher = "org.kde.StatusNotifierWatcher"
	// connectWait is the timeout of a bus connection.
	connectWait = 5 * time.Second
	// lookAgain is the interval between two searches for a session.
	lookAgain = 30 * time.Second
)

// runIcon waits for a session with a panel for icons, and shows the icon there until the session ends.
func (t *Tray) runIcon(ctx context.Context) {
	said := ""
	for {
		err := t.runSession(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			t.o.Log.Info("no tray", "why", err)
		}
		if retry.Sleep(ctx, lookAgain) != nil {
			return
		}
	}
}

// runSession shows the icon until the session bus ends.
func (t *Tray) runSession(ctx context.Context) error {
	address, err := session.Bus(t.o.Getenv)
	if err != nil {
		return err
	}
	conn, err := session.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // closing ends the connection; errors do not matter
	return t.presentIcon(ctx, conn)
}

// presentIcon exports the icon on a bus, and registers the icon again each time a panel appears.
func (t *Tray) presentIcon(ctx context.Context, conn *dbus.Conn) error {
	came := make(chan *dbus.Signal, 8)
	conn.Signal(came)
	defer conn.RemoveSignal(came)
	err := conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, watcher))
	if err != nil {
		return fmt.Errorf("tray: watch the bus: %w", err)
	}
	i := &trayIcon{t: t, conn: conn}
	if err := i.exportObjects(); err != nil {
		return err
	}
	if err := i.registerItem(ctx); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-conn.Context().Done():
			return errors.New("session bus closed")
		case v := <-t.views:
			i.showView(v)
		case s := <-came:
			if s == nil || len(s.Body) != 3 || s.Body[2] == "" {
				continue // the panel has disappeared
			}
			if err := i.registerItem(ctx); err != nil {
				return err
			}
		}
	}
}
