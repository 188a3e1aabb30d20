// Package delivery decides where a text goes and when: the target of a notice, the digest of
// deferred notices, the urgency of a notice, the notices that a conversation has seen, and the
// live reply. The bus stores deliveries and channels send them.
package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/autonomy/session"
	"hob/channels"
)

// Conversations finds the target of a conversation; *session.Sessions implements it.
type Conversations interface {
	Get(ctx context.Context, id string) (session.Info, bool, error)
}

// Chats shows in a chat that Hob is at work; *channels.Manager implements it.
type Chats interface {
	// Typing shows until stop that Hob is at work.
	Typing(ctx context.Context, channel, chat string) (stop func())
	// Show shows the sender of a message the answer while it is written; nil if the channel does
	// not support this.
	Show(ctx context.Context, event, channel, chat string) channels.LiveDraft
}

// Options are the options of New; those without a default are required.
type Options struct {
	Bus      *bus.Bus
	Sessions Conversations
	// Chats shows work in progress; nil disables this.
	Chats Chats
	// Notices holds deferred notices; nil sends every notice immediately.
	Notices *notify.Notifier
	// Channel is the channel for notices. "" or "origin" selects the conversation of the cause;
	// Auto selects the channel that Where returns.
	Channel string
	// Where returns the channel that reaches the owner now, "" for the conversation of the
	// cause; nil always means "".
	Where func(ctx context.Context) string
	// Zone returns the owner's current time zone.
	Zone func() *time.Location
}

// Delivery chooses the target and the time of texts. Its methods may be called concurrently.
type Delivery struct{ o Options }

// New checks the options.
func New(o Options) (*Delivery, error) {
	if o.Bus == nil || o.Sessions == nil || o.Zone == nil {
		return nil, errors.New("delivery: an option is missing")
	}
	if o.Where == nil {
		o.Where = func(context.Context) string { return "" }
	}
	return &Delivery{o: o}, nil
}

// Auto selects the owner's active channel for notices (Options.Where).
const Auto = "auto"

// ResolveTarget finds where to notify the owner: the configured channel, the conversation of the
// cause, or the conversation in which the owner wrote last.
func (d *Delivery) ResolveTarget(ctx context.Context, report string) (notify.Target, error) {
	name := d.o.Channel
	if name == Auto {
		name = d.o.Where(ctx)
	}
	if name != "" && name != "origin" {
		return notify.Target{Session: report, Channel: name}, nil
	}
	info, ok, err := d.o.Sessions.Get(ctx, report)
	if err != nil {
		return notify.Target{}, err
	}
	if ok { // a model may have named the conversation, so never notify in that of an unknown sender
		if ok, err = d.o.Bus.Owner.HasWritten(ctx, report); err != nil {
			return notify.Target{}, err
		}
	}
	if ok {
		return d.activeTarget(ctx, notify.Target{Session: report, Channel: info.Channel, Chat: info.Chat})
	}
	session, channel, chat, err := d.o.Bus.Owner.LastSession(ctx)
	if err != nil || session == "" {
		return notify.Target{Session: cmp.Or(report, "main"), Channel: "web"}, err
	}
	return d.activeTarget(ctx, notify.Target{Session: session, Channel: channel, Chat: chat})
}

// activeTarget returns where to notify the owner instead of a conversation: on another channel,
// if the owner is active there now.
func (d *Delivery) activeTarget(ctx context.Context, to notify.Target) (notify.Target, error) {
	if d.o.Notices == nil {
		return to, nil
	}
	p, elsewhere, err := d.o.Notices.ActiveChannel(ctx, to.Channel)
	if err != nil || !elsewhere {
		return to, err
	}
	p.Session = cmp.Or(p.Session, to.Session)
	return p, nil
}

// RecentNotices lists the notices that Hob sent in this conversation since its last turn. A handle
// replaces untrusted text, so that it does not taint the conversation.
func (d *Delivery) RecentNotices(ctx context.Context, ev bus.Event) ([]string, error) {
	rows, err := d.o.Bus.Outbox.Notices(ctx, ev.Session, ev.ID, 5)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range rows {
		at := n.CreatedAt.In(d.o.Zone()).Format("15:04")
		if n.Provenance.Tainted() {
			out = append(out, fmt.Sprintf("at %s, a notice with outside text (id %s)", at, n.ID))
			continue
		}
		out = append(out, fmt.Sprintf("at %s, %s", at, n.Text))
	}
	back, err := d.o.Bus.Ledger.TakenBack(ctx, ev.Session, ev.ID)
	for _, b := range back { // actions undone elsewhere, such as on the command line: the conversation does not contain these undos
		label := b.Label
		if b.Source.Tainted() {
			label = "undo the call " + b.Call
		}
		out = append(out, fmt.Sprintf("at %s, the owner had me %s", b.At.In(d.o.Zone()).Format("15:04"), label))
	}
	return out, err
}
