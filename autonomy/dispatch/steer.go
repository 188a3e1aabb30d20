package dispatch

import (
	"context"
	"encoding/json"
	"strconv"

	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/guard"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/turn"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// steerTurn offers the event's text to the session's running turn. The turn reads the text at its
// next step and ends this event in the transaction of that step. If no turn is running, or the turn
// ends before its next step, steerTurn queues the text as an ordinary message.
func (h messageHandler) steerTurn(ctx context.Context, ev bus.Event) (commit.Outcome, error) {
	put := suspended()
	ended := h.o.Turns.OfferSteering(ev)
	if ended == nil {
		return put, h.queueAsMessage(ctx, ev)
	}
	h.o.Bus.Feed.Publish("status", ev.ID, ev.Session, map[string]string{"steer": "waiting for the next step of the turn"})
	for over := false; ; {
		settled, cancel := h.o.Bus.Inbox.EventClosed(ev.ID)
		now, err := h.o.Bus.Inbox.Event(ctx, ev.ID)
		if err != nil || now.State != bus.Claimed || over {
			cancel()
			if err != nil || now.State != bus.Claimed {
				return put, err
			}
			return put, h.queueAsMessage(ctx, ev)
		}
		select {
		case <-settled: // the event has ended, or another process changed something
		case <-ctx.Done():
			cancel()
			return put, turn.ErrDraining
		case <-ended:
			over = true
		}
		cancel()
	}
}

// queueAsMessage moves an event to its session's queue, so that it becomes an ordinary message.
func (h messageHandler) queueAsMessage(ctx context.Context, ev bus.Event) error {
	return h.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return h.o.Bus.Inbox.MoveTx(tx, ev.ID, ev.Session)
	})
}

// takeSteering returns the messages sent to a turn since the last call, oldest first.
func (h messageHandler) takeSteering(event string) []turn.SteerMessage {
	events := h.o.Turns.TakeSteering(event)
	out := make([]turn.SteerMessage, 0, len(events))
	for _, ev := range events {
		out = append(out, turn.SteerMessage{
			Text: chattext.SteerText(ev.Text), Source: ev.Provenance,
			TakenTx: func(tx *store.Tx, reply string) error { return h.takenTx(tx, ev, reply) },
		})
	}
	return out
}

// takenTx ends an event whose text a running turn has read.
func (h messageHandler) takenTx(tx *store.Tx, ev bus.Event, reply string) error {
	if err := h.o.Bus.Inbox.FinishTx(tx, ev.ID, reply); err != nil {
		return err
	}
	if err := h.o.Sessions.TouchTx(tx, ev.Session, ev.Channel, ev.Chat, false); err != nil {
		return err
	}
	err := h.o.Guard.AuditTx(tx, guard.Record{
		Actor: "owner", Action: chattext.Steer, Event: ev.ID, Session: ev.Session, Origin: ev.Channel, Verdict: "allow", Rule: "owner's command",
		Args: json.RawMessage(strconv.Quote(chattext.SteerText(ev.Text))),
	})
	if err != nil {
		return err
	}
	return h.o.Bus.Outbox.EnqueueTx(tx, ev.ID, bus.OutboxItem{Provenance: provenance.Hob, Delivery: channels.Delivery{
		Kind: channels.Reply, Session: ev.Session, Channel: ev.Channel, Chat: ev.Chat, Text: reply,
	}})
}
