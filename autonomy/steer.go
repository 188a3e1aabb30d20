package autonomy

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/turn"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// steerTurn hands the words to the session's running turn, which takes them up at
// its next step and finishes this event with that step. When there is no turn,
// or it ends before it could, they are an ordinary message.
func (l *Loop) steerTurn(ctx context.Context, ev bus.Event) (result, error) {
	put := result{Outcome: turn.Outcome{Suspended: true}}
	settled, cancel := l.o.Bus.Inbox.EventClosed(ev.ID)
	defer cancel()
	t := l.offerToTurn(ev)
	if t == nil {
		return put, l.queueAsMessage(ctx, ev)
	}
	l.o.Bus.Feed.Publish("status", ev.ID, ev.Session, map[string]string{"steer": "waits for the next step"})
	select {
	case <-settled:
		return put, nil
	case <-ctx.Done():
		return put, turn.ErrDraining
	case <-t.done:
	}
	now, err := l.o.Bus.Inbox.Event(ctx, ev.ID)
	if err != nil || now.State != bus.Claimed {
		return put, err
	}
	return put, l.queueAsMessage(ctx, ev)
}

// offerToTurn gives the words to the running turn of the session, nil when none runs.
func (l *Loop) offerToTurn(ev bus.Event) *activeTurn {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.running {
		if t.ev.Session == ev.Session && t.ev.Lane == t.ev.Session {
			t.said = append(t.said, ev)
			return t
		}
	}
	return nil
}

// queueAsMessage makes an ordinary message of it.
func (l *Loop) queueAsMessage(ctx context.Context, ev bus.Event) error {
	return l.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return l.o.Bus.Inbox.MoveTx(tx, ev.ID, ev.Session)
	})
}

// takeSteerMessages returns the texts sent to a turn since the last call, oldest first.
func (l *Loop) takeSteerMessages(event string) []turn.SteerMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.running[event]
	if t == nil || len(t.said) == 0 {
		return nil
	}
	slices.SortFunc(t.said, func(a, b bus.Event) int { return strings.Compare(a.ID, b.ID) })
	out := make([]turn.SteerMessage, 0, len(t.said))
	for _, ev := range t.said {
		out = append(out, turn.SteerMessage{
			Text: chattext.SteerText(ev.Text), Source: ev.Provenance,
			TakenTx: func(tx *store.Tx, reply string) error { return l.takenTx(tx, ev, reply) },
		})
	}
	t.said = nil
	return out
}

// takenTx ends the event whose words have entered a turn.
func (l *Loop) takenTx(tx *store.Tx, ev bus.Event, reply string) error {
	if err := l.o.Bus.Inbox.FinishTx(tx, ev.ID, reply); err != nil {
		return err
	}
	if err := l.o.Sessions.TouchTx(tx, ev.Session, ev.Channel, ev.Chat, false); err != nil {
		return err
	}
	err := l.o.Guard.AuditTx(tx, guard.Record{
		Actor: "owner", Action: chattext.Steer, Event: ev.ID, Session: ev.Session, Origin: ev.Channel, Verdict: "allow", Rule: "owner's command",
		Args: json.RawMessage(strconv.Quote(chattext.SteerText(ev.Text))),
	})
	if err != nil {
		return err
	}
	return l.o.Bus.Outbox.EnqueueTx(tx, ev.ID, bus.OutboxItem{Provenance: provenance.Hob, Delivery: channels.Delivery{
		Kind: channels.Reply, Session: ev.Session, Channel: ev.Channel, Chat: ev.Chat, Text: reply,
	}})
}

// cmdSteer answers "/steer" without words; with words it never comes here.
func (l *Loop) cmdSteer(context.Context, bus.Event, string) (string, error) {
	return "Write what I should know behind it: /steer use the blue one. It enters the turn that is running.", nil
}
