package desktop

import (
	"context"
	"errors"
	"os"
	"time"

	"hob/platform/osrun"
)

// Options of a Notifier and of Look; the zero value is useful.
type Options struct {
	// App is the name under which notes are shown; "" is "Hob".
	App string
	// Trust is asked about the process that shows notes, before anything is given
	// to it: whoever shows a button can also press it. nil trusts every one. An
	// error refuses the server.
	Trust func(pid int) error
	// Getenv is os.Getenv unless a test has its own.
	Getenv func(string) string
	// Wait bounds the answer of a server (default 5 s).
	Wait time.Duration
	// Scripts runs osascript and PowerShell; nil: a runner of its own.
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

// Notifier shows notes. Its methods may be called concurrently. It connects when
// it has something to show, and again when the session or its server has gone
// and come back; at rest without a connection it holds nothing.
type Notifier struct {
	show   shower
	events chan Event
}

// shower is how a system shows notes.
type shower interface {
	notify(ctx context.Context, n Note) error
	withdraw(ctx context.Context, id string) error
	server(ctx context.Context) (Server, error)
	close()
}

// New makes a Notifier. It connects to nothing.
func New(o Options) *Notifier {
	o = o.filled()
	n := &Notifier{events: make(chan Event, 16)}
	n.show = newShower(o, n.events)
	return n
}

// Notify shows a note. When it returns nil the server has taken it; what the
// owner does is told by Run. Its errors wrap ErrNoSession, ErrNoServer or
// ErrUnsure where one of them is the case.
func (n *Notifier) Notify(ctx context.Context, note Note) error {
	if note.ID == "" {
		return errors.New("desktop: a note needs an id")
	}
	return n.show.notify(ctx, note.cleaned())
}

// Withdraw closes a note that is still shown. One that is not is no error.
func (n *Notifier) Withdraw(ctx context.Context, id string) error { return n.show.withdraw(ctx, id) }

// Server tells what would show a note now.
func (n *Notifier) Server(ctx context.Context) (Server, error) { return n.show.server(ctx) }

// Run hands on what becomes of notes, one after another, until ctx ends; then it
// closes the connection and returns nil. Without it no event is told, and a
// server that has much to tell waits.
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
