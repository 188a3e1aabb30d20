package autonomy

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/autonomy/bus"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/llm"
	"hob/autonomy/turn"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// parseForgetRequest returns what the owner's message asks Hob to forget, "" if it asks nothing.
func parseForgetRequest(ev bus.Event) string {
	if name, text := chattext.ParseCommand(ev.Text); name == chattext.Forget && ev.Provenance == provenance.Owner {
		return text
	}
	return ""
}

// runForget calls the tool as the owner's own call. The call has its own conversation, like every
// such call; this conversation gets the answer.
func (l *Loop) runForget(ctx context.Context, ev bus.Event, text string) (result, error) {
	res := result{how: "call", kind: channels.Reply, said: true, session: ev.Session, channel: ev.Channel, chat: ev.Chat}
	args, err := json.Marshal(map[string]any{"query": text, "everything": true})
	if err != nil {
		return res, fmt.Errorf("encode the arguments of %s: %w", chattext.Forget, err)
	}
	own := ev
	own.Session = "tool:" + ev.ID
	t := turn.Turn{
		Event: own, Text: "/" + chattext.Forget, Source: provenance.Owner, Attended: true, Origin: ev.Channel, Report: ev.Session, Channel: ev.Channel, Chat: ev.Chat,
		Call:      &llm.ToolCall{Name: chattext.Forget, Args: args},
		Cancelled: l.wasCancelled(ev.ID), Hold: l.holdFunc(ev.ID), Person: ownerPerson, Level: l.o.Level(ev.Channel, ownerPerson),
	}
	out, err := l.o.Runner.Run(ctx, t)
	said := out.Messages
	res.Outcome, res.Messages = out, nil
	record := out.Record
	res.Record = func(tx *store.Tx) error {
		if record != nil {
			if err := record(tx); err != nil {
				return err
			}
		}
		return l.o.Sessions.AppendTx(tx, own.Session, ev.ID, said)
	}
	return res, err
}

// cmdForget answers a forget command without a text.
func (l *Loop) cmdForget(context.Context, bus.Event, string) (string, error) {
	return "Say what to forget: /" + chattext.Forget + " TEXT", nil
}
