package notify

import (
	"context"
	"errors"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/hooks"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// needsPrograms reports whether the user's hooks check a notice before it is delivered. Questions,
// digests of checked notices and Hob's own messages about itself do not need it, so that no hook
// can suppress a security warning or the report about a refused notice.
func (n *Notifier) needsPrograms(o bus.OutboxItem, a noticeContext) bool {
	return o.Kind == channels.Notice && !o.Checked && a.Cause != Digest && a.Cause != Own && a.Cause != Trouble && n.o.Programs.Has(config.NoticeBefore)
}

// holdForPrograms stores a notice until Run has passed it to the hooks. A hook must not run inside
// the transaction, which blocks every other write.
func (n *Notifier) holdForPrograms(tx *store.Tx, o bus.OutboxItem, row Notice) error {
	row.State, row.Text, row.Why = Checking, o.Text, "a hook checks it"
	row.Delivery, row.ToldAt, row.Urgency = "", time.Time{}, Normal
	row.Fact, row.Shape = "", "" // a notice that was not sent is not repeated by a later one
	tx.AfterCommit(n.signalPrograms)
	return insertTx(tx, row)
}

func (n *Notifier) signalPrograms() {
	select {
	case n.waiting <- struct{}{}:
	default: // Run is about to read all rows
	}
}

// Run passes the notices that wait for the user's hooks to them until ctx ends. It starts with the
// notices that were still waiting when the last run ended.
func (n *Notifier) Run(ctx context.Context) error {
	for {
		if err := n.checkNotices(ctx); err != nil && ctx.Err() == nil {
			n.o.Log.Error("notices not passed to hooks", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-n.waiting:
		}
	}
}

func (n *Notifier) checkNotices(ctx context.Context) error {
	rows, err := listNotices(n.o.Store.Reader(ctx), `WHERE state = 'checking' ORDER BY seq`)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := n.checkNotice(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// checkNotice runs the hooks for one notice, then delivers it by the usual rules or keeps it as
// refused.
func (n *Notifier) checkNotice(ctx context.Context, r Notice) error {
	added, err := n.o.Programs.Run(ctx, hooks.Event{
		On: config.NoticeBefore, Session: r.Session, Event: r.Event, Channel: r.Channel, Text: r.Text, Tainted: r.Provenance.Tainted(),
	})
	refused, no := errors.AsType[*hooks.Refusal](err)
	if err != nil && !no {
		return err
	}
	o := bus.OutboxItem{Checked: true, Provenance: r.Provenance, Delivery: channels.Delivery{Kind: r.Kind, Session: r.Session, Channel: r.Channel, Chat: r.Chat, Text: hooks.Join(r.Text, added)}}
	if len(added) > 0 {
		o.Provenance = provenance.Outside
	}
	if !no {
		o.Hint = n.RateUrgency(ctx, r.Event, o)
	}
	return n.o.Store.Write(ctx, func(tx *store.Tx) error {
		if no {
			return n.refuseTx(tx, r, refused.Error())
		}
		res, err := tx.Exec(`DELETE FROM notices WHERE id = ? AND state = 'checking'`, r.ID)
		if err != nil {
			return wrapError("delete a checked notice", err)
		}
		if k, err := res.RowsAffected(); err != nil || k == 0 { // deleted in the meantime
			return wrapError("delete a checked notice", err)
		}
		return n.o.Bus.Outbox.EnqueueTx(tx, r.Event, o)
	})
}

// refuseTx keeps a notice that a hook refused, and reports it.
func (n *Notifier) refuseTx(tx *store.Tx, r Notice, why string) error {
	if _, err := tx.Exec(`UPDATE notices SET state = 'refused', why = ? WHERE id = ? AND state = 'checking'`, why, r.ID); err != nil {
		return wrapError("store a refused notice", err)
	}
	if n.o.Refused == nil {
		return nil
	}
	return n.o.Refused(tx, r, why)
}
