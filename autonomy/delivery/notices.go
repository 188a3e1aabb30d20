package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// ErrNoNotices means that notices are not deferred, so there are none to release.
var ErrNoNotices = errors.New("deferred notices are not configured")

// DigestTarget returns where to send a digest's deferred notices: to their common target, or to the
// default target if their targets differ.
func (d *Delivery) DigestTarget(ctx context.Context, event string) (notify.Target, error) {
	if d.o.Notices == nil {
		return notify.Target{}, ErrNoNotices
	}
	p, one, err := d.o.Notices.CommonTarget(ctx, event)
	if err != nil {
		return notify.Target{}, err
	}
	if !one {
		p.Session = ""
	}
	return d.ResolveTarget(ctx, p.Session)
}

// DigestTx reads a digest's notices in the transaction that ends its event, so that each notice is
// sent once. The text is "" if none are left.
func (d *Delivery) DigestTx(tx *store.Tx, event string) (string, provenance.Source, error) {
	return d.o.Notices.DigestTx(tx, event)
}

// RateUrgency asks a model to rate the urgency of a notice, if this is configured. The call has a
// time limit. The rating only affects when the notice is sent.
func (d *Delivery) RateUrgency(ctx context.Context, event string, item bus.OutboxItem) bus.Hint {
	if d.o.Notices == nil {
		return bus.Hint{}
	}
	return d.o.Notices.RateUrgency(ctx, event, item)
}

// NotifyPositionTx tells the sender of a waiting message how many messages are before it, either in
// a message or through the live feed.
func NotifyPositionTx(tx *store.Tx, b *bus.Bus, ev bus.Event, before int, withMessage bool) error {
	if withMessage {
		return b.Outbox.EnqueueTx(tx, ev.ID, bus.OutboxItem{Provenance: provenance.Hob, Delivery: channels.Delivery{
			Kind: channels.Status, Session: ev.Session, Channel: ev.Channel, Chat: ev.Chat, Text: fmt.Sprintf("One moment, your message is number %d in the queue.", before+1),
		}})
	}
	tx.AfterCommit(func() {
		b.Feed.Publish("status", ev.ID, ev.Session, map[string]int{"position": before + 1})
	})
	return nil
}

// HasNotice reports whether an event has a notice, deferred or sent. The bus knows only notices
// sent under the event's own id.
func (d *Delivery) HasNotice(ctx context.Context, event string) (bool, error) {
	if d.o.Notices == nil {
		return false, nil
	}
	list, err := d.o.Notices.Why(ctx, event)
	return slices.ContainsFunc(list, func(n notify.Notice) bool { return n.Event == event && n.Kind == channels.Notice }), err
}

// Prune removes the outcomes of notices that are older than the given time.
func (d *Delivery) Prune(ctx context.Context, before time.Time) error {
	if d.o.Notices == nil {
		return nil
	}
	return d.o.Notices.Prune(ctx, before)
}
