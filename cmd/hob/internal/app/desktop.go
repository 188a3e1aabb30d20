package app

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
	"hob/cmd/hob/internal/channel"
	"hob/platform/host/system"
	"hob/platform/net/safehttp"
)

// channelSection finds a channel's part of the configuration. Some channels need none on a
// machine with a desktop.
func (d *App) channelSection(name string) (func(any) error, bool) {
	s, ok := d.opt.Config.Channel(name)
	if k, _ := channel.Find(name); !ok && k.OnDesktop && d.opt.Desktop && !d.opt.InProcess {
		return func(any) error { return nil }, true
	}
	return s.Decode, ok && s.Enabled
}

// buttons implements button presses for the channels that have buttons.
type buttons struct{ d *App }

// errPressed: a program started by Hob could have clicked.
var errPressed = errors.New("a program that I started is running, and its clicks look the same as yours: answer in the chat, on my page (hob open) or with hob approve")

// hasNoSubprocess reports whether no program started by Hob is running: such a program has the user's
// account and could click in the user's place.
//
// A sandboxed browser does not count: its pages reach neither screen nor bus, models reach only
// its pages (platform/host/browser has no command for its own window, and tools/desktop does not act
// in it), and it starts no programs. Programs started by the browser count, as does a browser
// without a sandbox.
func (b buttons) hasNoSubprocess() (bool, error) {
	if b.d.opt.Started != nil {
		some, err := b.d.opt.Started()
		return !some && err == nil, err
	}
	boxed := b.d.browser.SandboxedPid()
	some, err := system.Running(system.Tree{PID: os.Getpid(), Roots: b.d.agents.Pids(), Spare: boxed})
	if boxed != 0 && b.d.browser.SandboxedPid() != boxed { // it has ended, and its number may be another's
		return false, err
	}
	return !some && err == nil, err
}

// quick is how long a request must be visible before a user can have read it.
const quick = 1500 * time.Millisecond

// Asked implements channels.ButtonHandler.
func (b buttons) Asked(ctx context.Context, d channels.Delivery) (string, error) {
	if ok, err := b.hasNoSubprocess(); !ok {
		return "", errors.Join(ignoreError(err, errors.ErrUnsupported))
	}
	return b.Open(ctx, d)
}

// Open implements channels.ButtonHandler.
func (b buttons) Open(ctx context.Context, d channels.Delivery) (string, error) {
	open, err := b.d.guard.Approvals(ctx, guard.Pending, "", d.Event, 100)
	if err != nil || len(open) != 1 || !strings.Contains(d.Text, open[0].ID) || guard.TooLong(open) {
		return "", err
	}
	return open[0].ID, nil
}

func ignoreError(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// Answer implements channels.ButtonHandler.
func (b buttons) Answer(ctx context.Context, channel, question string, shown time.Time, yes bool) (string, error) {
	if ok, err := b.hasNoSubprocess(); !ok {
		return "", errors.Join(errPressed, err)
	}
	return b.decideQuestion(ctx, channel, question, shown, yes)
}

// Press implements channels.ButtonHandler. A program of Hob cannot click on a platform that
// authenticates the user.
func (b buttons) Press(ctx context.Context, p channels.ButtonPress) (string, error) {
	sender := channels.SenderID(p.Sender)
	if sender == "" {
		return "", channels.ErrNotOwner
	}
	if yes, err := b.d.pairings.IsOwner(ctx, p.Channel, sender); err != nil || !yes {
		return "", errors.Join(channels.ErrNotOwner, err)
	}
	if p.Client != "" {
		if p.Yes && time.Since(p.Shown) < cmp.Or(b.d.opt.Quick, quick) {
			return "", channels.ErrQuick
		}
		return b.decideSpoken(ctx, p)
	}
	return b.decideQuestion(ctx, p.Channel, p.Question, p.Shown, p.Yes)
}

// Spoken implements channels.ButtonHandler.
func (b buttons) Spoken(ctx context.Context, client string, d channels.Delivery) (string, error) {
	return b.d.approvals.Spoken(ctx, client, d)
}

// decideSpoken decides by a spoken yes or no, which counts as a bare one does.
func (b buttons) decideSpoken(ctx context.Context, p channels.ButtonPress) (string, error) {
	decided, err := b.d.approvals.AnswerSpoken(ctx, p, guard.Answer{Approved: p.Yes, By: p.Channel})
	if err != nil {
		return "", err
	}
	return decidedWords(decided[0], p.Yes), nil
}

func decidedWords(a guard.Approval, yes bool) string {
	if yes {
		return "Approved. Continuing: " + a.Summary
	}
	return "Denied. I will not do this: " + a.Summary
}

func (b buttons) decideQuestion(ctx context.Context, channel, question string, shown time.Time, yes bool) (string, error) {
	// A page can lure its visitor into fast clicks where a notification will appear, and a menu
	// can grow under the pointer.
	if stood := time.Since(shown); yes && stood < cmp.Or(b.d.opt.Quick, quick) {
		return "", channels.ErrQuick
	}
	decided, err := b.d.approvals.AnswerInChat(ctx, question, guard.Answer{Approved: yes, By: channel})
	if err != nil {
		return "", err
	}
	return decidedWords(decided[0], yes), nil
}

// Ended implements channels.ButtonHandler.
func (b buttons) Ended(ctx context.Context, question string) error {
	_, err := b.d.guard.Wait(ctx, question)
	return err
}

// Later implements channels.ButtonHandler. It loses nothing, whoever clicks.
func (b buttons) Later(ctx context.Context, delivery string) (string, error) {
	until := time.Now().Add(time.Hour)
	if _, err := b.d.notices.Snooze(ctx, delivery, "", until); err != nil {
		return "", err
	}
	return "I will notify you again at " + until.In(b.d.zone()).Format("15:04") + ".", nil
}

// Trusted implements channels.ButtonHandler.
func (buttons) Trusted(pid int) error {
	if system.StartedByHob(pid, os.Getpid()) {
		return fmt.Errorf("process %d was started by Hob, or its origin is unknown", pid)
	}
	return nil
}

// Page implements channels.ButtonHandler.
func (b buttons) Page(session string) string {
	u, err := url.Parse(b.d.web.URL())
	if err != nil || b.d.opt.InProcess {
		return ""
	}
	if !safehttp.Loopback(u) {
		return "" // bound to another address: a browser there has its own page
	}
	u.Path = "/"
	page := u.String()
	if session != "" {
		page += "#" + url.PathEscape(session)
	}
	return page
}
