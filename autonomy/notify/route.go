package notify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// ActiveChannel returns the channel and chat in which the user last wrote, if that was recently and
// not on the notice's channel.
func (n *Notifier) ActiveChannel(ctx context.Context, channel string) (p Target, elsewhere bool, err error) {
	if n.o.Recent <= 0 {
		return p, false, nil
	}
	session, at, chat, spoke, err := n.o.Bus.Owner.LastPrivateChat(ctx)
	if err != nil || session == "" || at == channel || time.Since(spoke) > n.o.Recent || !n.o.Pushes(at) {
		return p, false, err
	}
	return Target{session, at, chat}, true, nil
}

// pickTx redirects a notice if its channel cannot be used, and explains why a channel was chosen.
func (n *Notifier) pickTx(tx *store.Tx, o bus.OutboxItem, a noticeContext) (bus.OutboxItem, string, error) {
	if !n.o.Usable(o.Channel) {
		next, ok, err := n.nextTx(tx, []string{o.Channel})
		if err != nil {
			return o, "", err
		}
		if ok {
			was := o.Channel
			o.Channel, o.Chat = next.Channel, next.Chat
			return o, was + " cannot be used now (notify.fallback)", nil
		}
	}
	switch {
	case a.Cause == Answer:
		return o, "it answers your message", nil
	case n.o.Channel != "" && n.o.Channel != "origin":
		return o, "notify.channel", nil
	case a.Report != "" && a.Report == o.Session:
		return o, "the watcher, schedule or goal was created in this conversation", nil
	}
	return o, "you are using this channel now, or used it last", nil
}

// nextTx returns the first usable fallback that has not been tried.
func (n *Notifier) nextTx(q store.Querier, tried []string) (Target, bool, error) {
	for _, name := range n.o.Fallback {
		if slices.Contains(tried, name) || !n.o.Usable(name) {
			continue
		}
		chat, err := bus.OwnerChat(q, name)
		return Target{Channel: name, Chat: chat}, true, err
	}
	return Target{}, false, nil
}

// Undelivered implements bus.Options.Lost. It sends a notice that could not be delivered on the
// next channel.
func (n *Notifier) Undelivered(tx *store.Tx, d bus.Delivery) (bool, error) {
	rows, err := listNotices(tx, `WHERE delivery = ? AND delivery <> ''`, d.ID)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	return n.elsewhereTx(tx, rows[0], d.Channel+" could not deliver it: "+d.Error)
}

// elsewhereTx sends a notice on the next channel. It returns false if there is no further channel.
func (n *Notifier) elsewhereTx(tx *store.Tx, r Notice, why string) (bool, error) {
	tried := append(strings.Fields(r.Tried), r.Channel)
	next, ok, err := n.nextTx(tx, tried)
	if err != nil || !ok {
		return false, err
	}
	var text string
	var src provenance.Source
	var session string
	err = tx.QueryRow(`SELECT text, provenance, session FROM outbox WHERE id = ?`, r.Delivery).Scan(&text, &src, &session)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, wrapError("read a delivery", err)
	}
	var asks []string
	if r.Kind == channels.Question { // the user can also answer by replying on the new channel
		if asks, err = n.o.Waiting(tx, r.Event, text); err != nil {
			return false, err
		}
	}
	id, err := n.o.Bus.Outbox.NextIDTx(tx, r.Event)
	if err != nil {
		return false, err
	}
	_, err = tx.Exec(`UPDATE notices SET channel = ?, chat = ?, delivery = ?, tried = ?, place = ? WHERE id = ?`, next.Channel, next.Chat, id, strings.Join(tried, " "), why+" (notify.fallback)", r.ID)
	if err != nil {
		return false, wrapError("redirect a notice", err)
	}
	return true, n.o.Bus.Outbox.EnqueueTx(tx, r.Event, bus.OutboxItem{Provenance: src, Judged: true, Asks: asks, Delivery: channels.Delivery{
		Kind: r.Kind, Session: session, Channel: next.Channel, Chat: next.Chat, Text: text,
	}})
}

// strandedTx redirects notices that have waited too long for their channels. It returns the time of
// the next check.
func (n *Notifier) strandedTx(tx *store.Tx, now time.Time) (next time.Time, err error) {
	if len(n.o.Fallback) == 0 || n.o.Unreachable <= 0 {
		return next, nil
	}
	waiting, err := n.o.Bus.Outbox.WaitingTx(tx)
	if err != nil {
		return next, err
	}
	for _, d := range waiting {
		at := d.CreatedAt.Add(n.o.Unreachable)
		if d.State == channels.Sending && !now.Before(at) { // the channel may be delivering the notice at this moment
			at = now.Add(time.Minute)
		}
		if now.Before(at) {
			if next.IsZero() || at.Before(next) {
				next = at
			}
			continue
		}
		rows, err := listNotices(tx, `WHERE delivery = ?`, d.ID)
		if err != nil {
			return next, err
		}
		if len(rows) == 0 || rows[0].Stuck {
			continue
		}
		went, err := n.elsewhereTx(tx, rows[0], fmt.Sprintf("%s could not be reached for %s", d.Channel, shortDuration(n.o.Unreachable)))
		switch {
		case err != nil:
			return next, err
		case went:
			err = n.o.Bus.Outbox.WithdrawTx(tx, d.ID, "sent on another channel")
		default: // no other channel is available, so the notice keeps waiting for its channel
			_, err = tx.Exec(`UPDATE notices SET stuck = 1 WHERE id = ?`, rows[0].ID)
		}
		if err != nil {
			return next, wrapError("redirect a waiting notice", err)
		}
	}
	return next, nil
}
