// Package delivery decides where and when to send a message: the target of a notice, the digest of
// deferred notices, the urgency of a notice, the notices that a conversation has received, the
// position of a waiting message, and the live reply. The bus stores deliveries, and channels send
// them.
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

// Conversations returns the target of a conversation. *session.Sessions implements it.
type Conversations interface {
	Get(ctx context.Context, id string) (session.Info, bool, error)
}

// Chats shows in a chat that Hob is working. *channels.Manager implements it.
type Chats interface {
	// Typing shows that Hob is working, until stop is called.
	Typing(ctx context.Context, channel, chat string) (stop func())
	// Show shows the answer to the sender of a message while it is written. It returns nil if the
	// channel does not support this.
	Show(ctx context.Context, event, channel, chat string) channels.LiveDraft
}

// Presence reports where the owner currently is. notify.Presence implements it.
type Presence interface {
	// Channel returns the channel on which the owner can currently be reached, or "" to use the
	// conversation of the notice's cause.
	Channel(ctx context.Context) string
}

// Options holds the options of New. Options without a documented default are required.
type Options struct {
	Bus      *bus.Bus
	Sessions Conversations
	// Chats shows that Hob is working. Nil disables this.
	Chats Chats
	// Notices holds the deferred notices. If it is nil, every notice is sent immediately.
	Notices *notify.Notifier
	// Channel is the channel for notices. "" or "origin" selects the conversation of the notice's
	// cause. Auto selects the channel of Presence.
	Channel string
	// Presence is nil if Hob does not know where the owner is.
	Presence Presence
	// Zone returns the owner's current time zone.
	Zone func() *time.Location
}

// Delivery chooses the target and the time for messages. Its methods may be called concurrently.
type Delivery struct{ o Options }

// New returns a Delivery after checking the options.
func New(o Options) (*Delivery, error) {
	if o.Bus == nil || o.Sessions == nil || o.Zone == nil {
		return nil, errors.New("delivery: Options needs Bus, Sessions and Zone")
	}
	return &Delivery{o: o}, nil
}

// Auto selects the owner's active channel for notices (Options.Presence).
const Auto = "auto"

// ResolveTarget returns where to notify the owner: the configured channel, the conversation of the
// cause, or the conversation in which the owner last wrote.
func (d *Delivery) ResolveTarget(ctx context.Context, report string) (notify.Target, error) {
	name := d.o.Channel
	if name == Auto {
		if name = ""; d.o.Presence != nil {
			name = d.o.Presence.Channel(ctx)
		}
	}
	if name != "" && name != "origin" {
		return notify.Target{Session: report, Channel: name}, nil
	}
	info, ok, err := d.o.Sessions.Get(ctx, report)
	if err != nil {
		return notify.Target{}, err
	}
	if ok { // a model may have chosen the conversation, so never send a notice to an unknown sender's conversation
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

// activeTarget returns the target for a notice to the owner: another channel if the owner is
// currently active there, and otherwise to.
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

// RecentNotices lists the notices that Hob has sent in this conversation since its last turn.
// Untrusted text is replaced with a reference, so that it does not taint the conversation.
func (d *Delivery) RecentNotices(ctx context.Context, ev bus.Event) ([]string, error) {
	rows, err := d.o.Bus.Outbox.Notices(ctx, ev.Session, ev.ID, 5)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range rows {
		at := n.CreatedAt.In(d.o.Zone()).Format("15:04")
		if n.Provenance.Tainted() {
			out = append(out, fmt.Sprintf("at %s, a notification with untrusted text (id %s)", at, n.ID))
			continue
		}
		out = append(out, fmt.Sprintf("at %s, %s", at, n.Text))
	}
	back, err := d.o.Bus.Ledger.TakenBack(ctx, ev.Session, ev.ID)
	for _, b := range back { // report actions undone elsewhere, such as on the command line, because the conversation does not contain these undos
		label := b.Label
		if b.Source.Tainted() {
			label = "undo the call " + b.Call
		}
		out = append(out, fmt.Sprintf("at %s, the user had me %s", b.At.In(d.o.Zone()).Format("15:04"), label))
	}
	return out, err
}
