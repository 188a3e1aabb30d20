package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"hob/autonomy/guard"
	"hob/channels"
	"hob/platform/host/system"
	"hob/platform/net/safehttp"
	"hob/tools"
)

// ErrForeignPress means that a program started by Hob could have pressed the button.
var ErrForeignPress = errors.New("a program that I started is running, and its clicks look the same as yours; answer in the chat, on my page (hob open) or with hob approve")

// readingTime is how long a request must be visible before a user can have read it.
const readingTime = 1500 * time.Millisecond

// ButtonOptions holds the options of NewButtons.
type ButtonOptions struct {
	// Started reports whether a program started by Hob is running. If Started is nil, the processes
	// are checked.
	Started func() (bool, error)
	// Agents returns the process ids of external agents, which may have left Hob's process tree.
	Agents func() []int
	// Browser returns the process id of a sandboxed browser, or 0 if there is none.
	Browser func() int
	// Quick is how long an approval request must be visible before pressing its button approves it
	// (default 1.5 s).
	Quick time.Duration
	// Page returns the URL of Hob's page, or "" if there is none.
	Page func() string
}

// Buttons handles presses of the buttons of approval requests. It implements
// channels.ButtonHandler.
type Buttons struct {
	service func() *Service
	o       ButtonOptions
}

// NewButtons returns a Buttons. service returns the service, which may be created after the
// channels, but before they run.
func NewButtons(service func() *Service, o ButtonOptions) *Buttons { return &Buttons{service, o} }

// HasNoSubprocess reports whether no program started by Hob is running. Such a program has the
// user's account and could click in place of the user.
//
// A sandboxed browser does not count. Its pages cannot access the screen or the desktop bus, and it
// starts no programs. Models control only its pages: platform/host/browser has no command for the
// browser's own window, and tools/desktop does not act in it. Programs started by the browser
// count, and so does a browser without a sandbox.
func (b *Buttons) HasNoSubprocess() (bool, error) {
	if b.o.Started != nil {
		some, err := b.o.Started()
		return !some && err == nil, err
	}
	boxed := b.o.Browser()
	some, err := system.Running(system.Tree{PID: os.Getpid(), Roots: b.o.Agents(), Spare: boxed})
	if boxed != 0 && b.o.Browser() != boxed { // the browser has ended, and another process may have the same id now
		return false, err
	}
	return !some && err == nil, err
}

// Asked implements channels.ButtonHandler.
func (b *Buttons) Asked(ctx context.Context, d channels.Delivery) (string, error) {
	if ok, err := b.HasNoSubprocess(); !ok {
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
		return "", err
	}
	return b.Open(ctx, d)
}

// Open implements channels.ButtonHandler.
func (b *Buttons) Open(ctx context.Context, d channels.Delivery) (string, error) {
	open, err := b.service().o.Guard.Approvals(ctx, guard.Pending, "", d.Event, 100)
	if err != nil || len(open) != 1 || !strings.Contains(d.Text, open[0].ID) || guard.TooLong(open) {
		return "", err
	}
	return open[0].ID, nil
}

// Answer implements channels.ButtonHandler.
func (b *Buttons) Answer(ctx context.Context, channel, question string, shown time.Time, yes bool) (string, error) {
	if ok, err := b.HasNoSubprocess(); !ok {
		return "", errors.Join(ErrForeignPress, err)
	}
	return b.decideQuestion(ctx, channel, question, shown, yes)
}

// Press implements channels.ButtonHandler. It does not check for running programs, because they
// cannot press a button on a platform that authenticates the user.
func (b *Buttons) Press(ctx context.Context, p channels.ButtonPress) (string, error) {
	sender := channels.SenderID(p.Sender)
	if sender == "" {
		return "", channels.ErrNotOwner
	}
	if yes, err := b.service().o.Pairings.IsOwner(ctx, p.Channel, sender); err != nil || !yes {
		return "", errors.Join(channels.ErrNotOwner, err)
	}
	if p.Client != "" {
		if p.Yes && b.isTooQuick(p.Shown) {
			return "", channels.ErrQuick
		}
		return b.decideSpoken(ctx, p)
	}
	return b.decideQuestion(ctx, p.Channel, p.Question, p.Shown, p.Yes)
}

// Spoken implements channels.ButtonHandler.
func (b *Buttons) Spoken(ctx context.Context, client string, d channels.Delivery) (string, error) {
	return b.service().o.Approvals.Spoken(ctx, client, d)
}

// decideSpoken decides the last request that was read aloud, given a spoken yes or no. The answer
// counts like a bare yes or no in a chat.
func (b *Buttons) decideSpoken(ctx context.Context, p channels.ButtonPress) (string, error) {
	decided, err := b.service().o.Approvals.AnswerSpoken(ctx, p, guard.Answer{Approved: p.Yes, By: p.Channel})
	if err != nil {
		return "", err
	}
	return decisionText(decided[0], p.Yes), nil
}

func decisionText(a guard.Approval, yes bool) string {
	if yes {
		return "Approved. Continuing: " + a.API().Sentence()
	}
	return "Denied. I will not do this: " + a.API().Sentence()
}

// isTooQuick reports whether a request was visible too briefly to have been read. A page can lure
// its visitor into clicking quickly where a notification will appear, and a menu can grow under the
// pointer.
func (b *Buttons) isTooQuick(shown time.Time) bool {
	return time.Since(shown) < cmp.Or(b.o.Quick, readingTime)
}

func (b *Buttons) decideQuestion(ctx context.Context, channel, question string, shown time.Time, yes bool) (string, error) {
	if yes && b.isTooQuick(shown) {
		return "", channels.ErrQuick
	}
	decided, err := b.service().o.Approvals.AnswerInChat(ctx, question, guard.Answer{Approved: yes, By: channel})
	if err != nil {
		return "", err
	}
	return decisionText(decided[0], yes), nil
}

// Ended implements channels.ButtonHandler.
func (b *Buttons) Ended(ctx context.Context, question string) error {
	_, err := b.service().o.Guard.Wait(ctx, question)
	return err
}

// Later implements channels.ButtonHandler. It needs no protection against accidental clicks,
// because the notice is only postponed.
func (b *Buttons) Later(ctx context.Context, delivery string) (string, error) {
	until := time.Now().Add(time.Hour)
	if _, err := b.service().o.Notices.Snooze(ctx, delivery, "", until); err != nil {
		return "", err
	}
	return "I will notify you again at " + until.In(b.service().o.Zone()).Format("15:04") + ".", nil
}

// openSends returns the ids of an event's delayed calls and messages that can still be canceled.
func (b *Buttons) openSends(ctx context.Context, event string) ([]string, error) {
	sv := b.service()
	ids, err := sv.o.Bus.Scheduled.OpenCalls(sv.o.Store.Reader(ctx), event)
	if err != nil {
		return nil, err
	}
	said, err := sv.o.Bus.Outbox.EventDeliveries(ctx, event)
	for _, d := range said {
		if d.Kind == channels.Send && d.State == channels.Queued {
			ids = append(ids, d.ID)
		}
	}
	return ids, err
}

// CanCancel implements channels.ButtonHandler.
func (b *Buttons) CanCancel(ctx context.Context, d channels.Delivery) (bool, error) {
	ids, err := b.openSends(ctx, d.Event)
	return len(ids) > 0, err
}

// Cancel implements channels.ButtonHandler. It needs no protection against accidental clicks,
// because it only cancels and never sends.
func (b *Buttons) Cancel(ctx context.Context, channel, event string) (string, error) {
	ids, err := b.openSends(ctx, event)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", errors.New("too late: it was already sent or canceled")
	}
	var said []string
	var failed error
	for _, id := range ids { // an action that is too late must not prevent undoing the others
		r, err := b.service().o.Undo.Undo(ctx, tools.UndoRequest{ID: id, Origin: channel})
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		said = append(said, r.Text)
	}
	if len(said) == 0 {
		return "", failed
	}
	if failed != nil {
		said = append(said, failed.Error())
	}
	return strings.Join(said, "\n"), nil
}

// Trusted implements channels.ButtonHandler.
func (*Buttons) Trusted(pid int) error {
	if system.StartedByHob(pid, os.Getpid()) {
		return fmt.Errorf("process %d was started by Hob, or its origin is unknown", pid)
	}
	return nil
}

// Page implements channels.ButtonHandler.
func (b *Buttons) Page(session string) string {
	address := b.o.Page()
	u, err := url.Parse(address)
	if err != nil || address == "" || !safehttp.Loopback(u) { // the server does not listen on loopback, so there is no page on this machine
		return ""
	}
	u.Path = "/"
	page := u.String()
	if session != "" {
		page += "#" + url.PathEscape(session)
	}
	return page
}
