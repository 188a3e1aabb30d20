package desktop

import (
	"context"
	"errors"
	"os"
	"time"

	"hob/platform/osrun"
)

// Options configures a Notifier and Look; the zero value is useful.
type Options struct {
	// App is the application name of notifications; "" is "Hob".
	App string
	// Trust checks the process that shows notifications before any text is sent to it: a program
	// that shows a button can also press it. An error rejects the server. nil trusts every
	// process.
	Trust func(pid int) error
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Wait is the timeout for a server (default 5 s).
	Wait time.Duration
	// Scripts runs osascript and PowerShell; nil creates a runner.
	Scripts osrun.Runner
}

func (o Options) filled() Options {
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

// Notifier shows notifications. Its methods may be called concurrently. It connects when there
// is something to show, and reconnects when the session or its server was restarted; when idle
// without a connection it uses no resources.
type Notifier struct {
	show   shower
	events chan Event
}

// shower is the notification backend of a system.
type shower interface {
	notify(ctx context.Context, n Note) error
	withdraw(ctx context.Context, id string) error
	server(ctx context.Context) (Server, error)
	close()
}

// New returns a Notifier. It connects to nothing.
func New(o Options) *Notifier {
	o = o.filled()
	n := &Notifier{events: make(chan Event, 16)}
	n.show = newShower(o, n.events)
	return n
}

// Notify shows a notification. nil means that the server accepted it; Run reports the user's
// reaction. Errors wrap ErrNoSession, ErrNoServer or ErrUnsure where they apply.
func (n *Notifier) Notify(ctx context.Context, note Note) error {
	if note.ID == "" {
		return errors.New("desktop: notification has no id")
	}
	return n.show.notify(ctx, note.cleaned())
}

// Withdraw closes a notification. It does nothing if the notification is no longer shown.
func (n *Notifier) Withdraw(ctx context.Context, id string) error { return n.show.withdraw(ctx, id) }

// Server returns the server that would show a notification now.
func (n *Notifier) Server(ctx context.Context) (Server, error) { return n.show.server(ctx) }

// Run calls on for each event, one after another, until ctx ends; then it closes the
// connection and returns nil. Without Run no events are reported, and the server blocks once
// its queue is full.
func (n *Notifier) Run(ctx context.Context, on func(Event)) error {
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
