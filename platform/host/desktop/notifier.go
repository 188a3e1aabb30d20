// Package desktop shows notifications on the user's desktop (NotificationClient), reports which
// buttons were pressed, and reports whether the user is at the machine (DetectPresence). It applies
// no policy: its callers, the desktop channel and the daemon, decide what to show and what a button
// may do.
//
// On Linux it uses the session's notification server (Desktop Notifications Specification 1.2, over
// D-Bus). On macOS it uses osascript, which has no buttons. On Windows it uses WinRT toasts through
// PowerShell, whose buttons can only open addresses. If presence cannot be determined,
// DetectPresence returns an error and never reports that the user is away.
package desktop

import (
	"context"
	"errors"
	"os"
	"time"

	"hob/platform/host/osrun"
)

// Options configures a NotificationClient and DetectPresence; the zero value is useful.
type Options struct {
	// App is the application name of notifications; "" is "Hob".
	App string
	// Trust verifies the process that shows notifications before any text is sent to it, because a
	// program that shows a button can also press it. An error rejects the server. If Trust is nil,
	// all processes are trusted.
	Trust func(pid int) error
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Wait is the timeout for a server (default 5 s).
	Wait time.Duration
	// Scripts runs osascript and PowerShell; nil creates a runner.
	Scripts osrun.Runner
}

func (o Options) withDefaults() Options {
	if o.App == "" {
		o.App = "Hob"
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Wait <= 0 {
		o.Wait = 5 * time.Second
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{Getenv: o.Getenv})
	}
	return o
}

// NotificationClient shows notifications. Its methods may be called concurrently. It connects when
// there is something to show, and reconnects after the session or its server was restarted. When it
// is idle and not connected, it uses no resources.
type NotificationClient struct {
	show   notificationBackend
	events chan Event
}

// notificationBackend shows notifications on one operating system.
type notificationBackend interface {
	showNotification(ctx context.Context, n Notification) error
	withdrawNotification(ctx context.Context, id string) error
	serverInfo(ctx context.Context) (Server, error)
	close()
}

// New returns a NotificationClient. It does not connect yet.
func New(o Options) *NotificationClient {
	o = o.withDefaults()
	n := &NotificationClient{events: make(chan Event, 16)}
	n.show = newShower(o, n.events)
	return n
}

// Notify shows a notification. A nil error means that the server accepted it. Run reports the
// user's reaction. Errors wrap ErrNoSession, ErrNoServer or ErrUnsure if they apply.
func (n *NotificationClient) Notify(ctx context.Context, note Notification) error {
	if note.ID == "" {
		return errors.New("desktop: notification has no id")
	}
	return n.show.showNotification(ctx, note.sanitized())
}

// Withdraw closes a notification. It does nothing if the notification is no longer shown.
func (n *NotificationClient) Withdraw(ctx context.Context, id string) error {
	return n.show.withdrawNotification(ctx, id)
}

// Server returns the server that would show a notification now.
func (n *NotificationClient) Server(ctx context.Context) (Server, error) {
	return n.show.serverInfo(ctx)
}

// Run calls on for each event, one after another, until ctx ends. It then closes the connection and
// returns nil. If Run is not running, no events are reported, and the server blocks once its queue
// is full.
func (n *NotificationClient) Run(ctx context.Context, on func(Event)) error {
	defer n.show.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-n.events:
			on(e)
		}
	}
}
