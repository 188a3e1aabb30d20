// Package desktop shows what Hob says as notes on the owner's desktop, with
// buttons where the desktop has them: yes and no to a question, and a click that
// opens Hob's page. It hears no text. The channels manager calls it; what cannot
// be shown is reported as undelivered, at once.
//
// What a press decides is the question that stood in the very note which was
// pressed, shown whole: its id is a part of the button's key, and the desktop's
// notification server alone, by the name that the bus gives its connection, can
// tell of a press (platform/desktop). A program that the owner lets run under his
// account can still move his mouse, or ask that server to press; therefore no
// press counts while a program runs that Hob has started.
package desktop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/desktop"
)

// Name is the channel's, and that of its section.
const Name = "desktop"

// Config is the section [channels.desktop]; "enabled" is the manager's.
type Config struct {
	// Burst is how many notes a minute are shown one by one; what comes beyond is
	// folded into one (default 4).
	Burst int `toml:"burst"`
	// Buttons: questions may be answered in the note (default true).
	Buttons *bool `toml:"buttons"`
	// Speak: notices are read aloud as well (default false).
	Speak bool `toml:"speak"`
}

const (
	usualBurst = 4
	maxBurst   = 30
)

// Driver makes the channel from its configuration.
type Driver struct{}

// Name implements channels.Driver.
func (Driver) Name() string { return Name }

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	return channels.Make(decode, deps, New)
}

// Options of New for tests; the zero value is the desktop of this process.
type Options struct {
	Getenv func(string) string
}

// Channel shows deliveries as notes.
type Channel struct {
	note    *desktop.Notifier
	log     *slog.Logger
	buttons channels.Buttons // nil: none

	mu    sync.Mutex
	shown map[string]shown // by the note's id
	order []string         // of them, the oldest first
	folds map[bool]*fold   // by whether they are questions

	asked chan asked

	voice voice // nil: nothing is read aloud
	speak chan string
}

// shown is what a press on a note may mean.
type shown struct {
	session  string
	question string // that yes and no answer; "": neither is offered
	asks     string // its text
	at       time.Time
	note     desktop.Note // with the question, to be shown again
	delivery string       // that is told again later; "": that is not offered
}

// maxShown bounds what is remembered of notes that a server never tells to be closed.
const maxShown = 200

// New checks the configuration; it connects to nothing.
func New(c Config, deps channels.Deps, o Options) (*Channel, error) {
	if c.Burst < 0 || c.Burst > maxBurst {
		return nil, fmt.Errorf("burst = %d is out of range; set 1 to %d notifications per minute", c.Burst, maxBurst)
	}
	ch := &Channel{log: deps.Log, buttons: deps.Buttons, shown: map[string]shown{}, asked: make(chan asked, 16)}
	if ch.log == nil {
		ch.log = slog.New(slog.DiscardHandler)
	}
	var trust func(int) error
	if ch.buttons != nil {
		trust = ch.buttons.Trusted
	}
	if c.Buttons != nil && !*c.Buttons {
		ch.buttons = unpressed{ch.buttons}
	}
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	ch.note = desktop.New(desktop.Options{Trust: trust, Getenv: getenv})
	if c.Speak {
		ch.voice, ch.speak = newVoice(getenv), make(chan string, 4)
	}
	burst := cmp.Or(c.Burst, usualBurst)
	ch.folds = map[bool]*fold{false: {burst: burst}, true: {burst: burst, questions: true}}
	return ch, nil
}

// Deaf implements channels.Deaf: nobody writes here.
func (*Channel) Deaf() {}

// Run implements channels.Channel: it handles presses, and withdraws questions that
// were answered elsewhere. At its end it takes the buttons off those that are shown.
func (c *Channel) Run(ctx context.Context, _ channels.Receiver) error {
	var waits sync.WaitGroup
	defer waits.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	waits.Go(func() { c.withdraw(ctx, &waits) })
	waits.Go(func() { c.read(ctx) })
	inner, end := context.WithCancel(context.WithoutCancel(ctx)) // the connection is needed a little longer
	defer end()
	waits.Go(func() {
		defer end()
		<-ctx.Done()
		c.disarm(inner)
	})
	return c.note.Run(inner, func(e desktop.Event) { c.happened(ctx, e) })
}

// Send implements channels.Channel.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	if d.Kind == channels.Send {
		return channels.Receipt{}, channels.Errorf(channels.Unsupported, "desktop: notifications can only be sent to you")
	}
	n, what, err := c.noteOf(ctx, d)
	if err != nil {
		return channels.Receipt{}, channels.Errorf(channels.Temporary, "desktop: find the question: %w", err)
	}
	n, what = c.folded(n, what, d, time.Now())
	if err := c.show(ctx, n, what); err != nil {
		return channels.Receipt{}, classify(err)
	}
	c.aloud(d)
	return channels.Receipt{ID: n.ID}, nil
}

// show shows a note, whose question goes with it when that is answered elsewhere.
func (c *Channel) show(ctx context.Context, n desktop.Note, what shown) error {
	what.at = time.Now()
	if what.question != "" {
		what.note = n
	}
	c.remember(n.ID, what) // before it can be pressed
	if err := c.note.Notify(ctx, n); err != nil || what.question == "" {
		return err
	}
	select {
	case c.asked <- asked{n.ID, what.question}:
	default: // so many at once: the note stays, and a press on it says that it was answered
	}
	return nil
}

// classify tells what can come right by itself. A note is for now: where nobody
// can show it, it is told elsewhere rather than kept for a later session.
func classify(err error) error {
	out := &channels.Error{Class: channels.Temporary, Err: err}
	switch {
	case errors.Is(err, desktop.ErrUnsure):
		out.MaybeSent = true
	case errors.Is(err, desktop.ErrNoSession), errors.Is(err, desktop.ErrNoServer), errors.Is(err, desktop.ErrRefused), errors.Is(err, errors.ErrUnsupported):
		out.Class = channels.Permanent
	}
	return out
}

func (c *Channel) remember(id string, what shown) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.shown[id]; !there {
		c.order = append(c.order, id)
	}
	c.shown[id] = what
	for len(c.order) > maxShown {
		delete(c.shown, c.order[0])
		c.order = c.order[1:]
	}
}

func (c *Channel) what(id string) (shown, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.shown[id]
	return w, ok
}

// unpressed is Buttons whose questions no press answers.
type unpressed struct{ channels.Buttons }

// Asked implements channels.Buttons.
func (unpressed) Asked(context.Context, channels.Delivery) (string, error) { return "", nil }
