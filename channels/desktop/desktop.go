// Package desktop shows Hob's messages as notifications on the owner's desktop. Where supported,
// notifications have buttons: yes and no for a question, and a click that opens Hob's page. The
// channel receives no text. A notification that cannot be shown is immediately reported as
// undelivered.
//
// A press decides only the question in the notification that was pressed, which showed the question
// completely: the button's key contains the question's id, and only the desktop's notification
// server, identified by its bus connection, can report a press (platform/host/desktop). A program
// running under the owner's account could still move the mouse or ask that server to press a
// button. Therefore no press counts while a program started by Hob runs.
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
	"hob/platform/host/desktop"
)

// Name is the name of the channel and of its configuration section.
const Name = "desktop"

// Config is the section [channels.desktop]. The manager reads the key "enabled".
type Config struct {
	// Burst is how many notifications per minute are shown separately. Further ones are combined
	// (default 4).
	Burst int `toml:"burst"`
	// Buttons enables answering questions in the notification (default true).
	Buttons *bool `toml:"buttons"`
	// Speak enables reading notifications aloud (default false).
	Speak bool `toml:"speak"`
}

const (
	usualBurst = 4
	maxBurst   = 30
)

// Driver creates the channel from its configuration.
type Driver struct{}

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	return channels.Make(decode, deps, New)
}

// Options holds test settings. The zero value means the desktop of this process.
type Options struct {
	Getenv func(string) string
}

// Channel shows deliveries as notifications.
type Channel struct {
	note    *desktop.NotificationClient
	log     *slog.Logger
	buttons channels.ButtonHandler // nil if there are no buttons

	mu    sync.Mutex
	shown map[string]shownNote  // keyed by the notification id
	order []string              // notification ids, oldest first
	folds map[bool]*burstFolder // keyed by whether the notifications are questions

	asked chan shownQuestion

	voice voice // nil if messages are not read aloud
	speak chan string
}

// shownNote holds the data needed to handle a press on a notification.
type shownNote struct {
	session  string
	question string // the question that the yes and no buttons answer; "" if there are no such buttons
	asks     string // text of the question
	at       time.Time
	note     desktop.Notification // the notification of the question, for showing it again
	delivery string               // the delivery to snooze; "" if there is no snooze button
	sends    string               // the event whose sends a press cancels; "" if there is no such button
}

// maxShown is the maximum number of remembered notifications. It applies to servers that never
// report when a notification is closed.
const maxShown = 200

// New validates the configuration. It does not connect.
func New(c Config, deps channels.Deps, o Options) (*Channel, error) {
	if c.Burst < 0 || c.Burst > maxBurst {
		return nil, fmt.Errorf("burst = %d is out of range; set it to a value from 1 to %d (notifications per minute)", c.Burst, maxBurst)
	}
	ch := &Channel{log: deps.Log, buttons: deps.Buttons, shown: map[string]shownNote{}, asked: make(chan shownQuestion, 16)}
	if ch.log == nil {
		ch.log = slog.New(slog.DiscardHandler)
	}
	var trust func(int) error
	if ch.buttons != nil {
		trust = ch.buttons.Trusted
	}
	if c.Buttons != nil && !*c.Buttons {
		ch.buttons = withoutButtons{ch.buttons}
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
	ch.folds = map[bool]*burstFolder{false: {burst: burst}, true: {burst: burst, questions: true}}
	return ch, nil
}

// Deaf implements channels.SendOnly: the channel only sends.
func (*Channel) Deaf() {}

// Run implements channels.Channel. It handles presses and withdraws questions answered elsewhere.
// Before it returns, it removes the buttons of visible questions.
func (c *Channel) Run(ctx context.Context, _ channels.Receiver) error {
	var waits sync.WaitGroup
	defer waits.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	waits.Go(func() { c.withdrawAnswered(ctx, &waits) })
	waits.Go(func() { c.readAloud(ctx) })
	inner, end := context.WithCancel(context.WithoutCancel(ctx)) // the connection is still needed to remove the buttons
	defer end()
	waits.Go(func() {
		defer end()
		<-ctx.Done()
		c.disarmButtons(inner)
	})
	return c.note.Run(inner, func(e desktop.Event) { c.handleEvent(ctx, e) })
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
	n, what = c.foldNote(n, what, d, time.Now())
	if err := c.showNote(ctx, n, what); err != nil {
		return channels.Receipt{}, classifyError(err)
	}
	c.queueSpeech(d)
	return channels.Receipt{ID: n.ID}, nil
}

// showNote shows a notification. A question is withdrawn when it is answered elsewhere.
func (c *Channel) showNote(ctx context.Context, n desktop.Notification, what shownNote) error {
	what.at = time.Now()
	if what.question != "" {
		what.note = n
	}
	c.rememberShown(n.ID, what) // remember the note before the user can press it
	if err := c.note.Notify(ctx, n); err != nil || what.question == "" {
		return err
	}
	select {
	case c.asked <- shownQuestion{n.ID, what.question}:
	default: // the limit is reached: the notification stays, and a press reports that the question was already answered
	}
	return nil
}

// classifyError returns err with its class. A notification is useful only now: if it cannot be
// shown, the text goes to another channel instead of waiting for the next session.
func classifyError(err error) error {
	out := &channels.Error{Class: channels.Temporary, Err: err}
	switch {
	case errors.Is(err, desktop.ErrUnsure):
		out.MaybeSent = true
	case errors.Is(err, desktop.ErrNoSession), errors.Is(err, desktop.ErrNoServer), errors.Is(err, desktop.ErrRefused), errors.Is(err, errors.ErrUnsupported):
		out.Class = channels.Permanent
	}
	return out
}

func (c *Channel) rememberShown(id string, what shownNote) {
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

func (c *Channel) lookupShown(id string) (shownNote, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.shown[id]
	return w, ok
}

// withoutButtons disables answering questions with a button press.
type withoutButtons struct{ channels.ButtonHandler }

// Asked implements channels.ButtonHandler.
func (withoutButtons) Asked(context.Context, channels.Delivery) (string, error) { return "", nil }
