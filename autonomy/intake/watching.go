package intake

import (
	"context"
	"encoding/json"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/payload"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/watchers"
)

// watcherMessage returns a message in the form for watchers. It returns false for the owner's
// commands, because commands are addressed only to Hob.
func watcherMessage(ev bus.Event) (watchers.Message, bool) {
	owner := ev.Provenance == provenance.Owner
	if command, _ := chattext.ParseCommand(ev.Text); owner && (command != "" || ev.Lane != "" && ev.Lane != ev.Session) {
		return watchers.Message{}, false
	}
	var more payload.Message
	_ = json.Unmarshal(ev.Payload, &more) // if this fails, the names stay empty
	return watchers.Message{
		ID: ev.ID, Channel: ev.Channel, Chat: ev.Chat, ChatName: more.Title, Session: ev.Session,
		Sender: ev.Sender, SenderName: more.Name, Text: ev.Text, Owner: owner, Group: more.Shared, At: ev.ReceivedAt,
	}, ev.Kind == bus.Message
}

// dispatchToWatchers puts the events that watchers derive from a message into the inbox, in the message's
// transaction.
func (k *Intake) dispatchToWatchers(tx *store.Tx, m watchers.Message) error {
	if m.At.IsZero() {
		m.At = time.Now()
	}
	heard, err := k.o.Watchers.DispatchTx(tx, m)
	for _, h := range heard {
		if err := k.putSignalTx(tx, h.Spec, h.Signal); err != nil {
			return err
		}
	}
	return err
}

// Overhear implements channels.RejectionObserver. Hob does not answer the message, but the owner
// may have a watcher for such messages.
func (k *Intake) Overhear(ctx context.Context, in channels.Inbound) error {
	if k.o.Watchers == nil {
		return nil
	}
	ev, err := k.newMessageEvent(ctx, in)
	if err != nil {
		return err
	}
	return k.dispatchIgnored(ctx, ev)
}

// rejectMessage rejects a message after the watchers have processed it.
func (k *Intake) rejectMessage(ctx context.Context, ev bus.Event, cause error) error {
	if err := k.dispatchIgnored(ctx, ev); err != nil {
		return err
	}
	return cause
}

func (k *Intake) dispatchIgnored(ctx context.Context, ev bus.Event) error {
	m, ok := watcherMessage(ev)
	if !ok {
		return nil
	}
	m.Ignored = true
	if ev.Key != "" { // the platform may deliver the message again
		m.ID = "ignored:" + ev.Channel + ":" + ev.Key
	}
	if wanted, err := k.o.Watchers.WantsMessage(ctx, m); err != nil || !wanted {
		return err
	}
	return k.o.Store.Write(ctx, func(tx *store.Tx) error { return k.dispatchToWatchers(tx, m) })
}

// ReplayMessages calls each for every message accepted since a time, oldest first, in the form in
// which watchers received them.
func (k *Intake) ReplayMessages(ctx context.Context, since time.Time, each func(watchers.Message) error) error {
	return k.o.Bus.Inbox.Messages(ctx, since, func(ev bus.Event) error {
		if m, ok := watcherMessage(ev); ok {
			return each(m)
		}
		return nil
	})
}
