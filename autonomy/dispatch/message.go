package dispatch

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/llm"
	"hob/autonomy/payload"
	"hob/autonomy/turn"
	"hob/autonomy/undo"
	"hob/platform/provenance"
	"hob/platform/store"
)

// messageHandler answers messages that are not commands.
type messageHandler struct{ shared }

// answerMessage answers a message.
func (h messageHandler) answerMessage(ctx context.Context, ev bus.Event) (commit.Outcome, error) {
	m, err := payload.ParseMessage(ev)
	if err != nil {
		return commit.Outcome{}, err
	}
	if !m.Until.IsZero() {
		return h.replyRateLimited(ev, m), nil
	}
	if m.Refused != "" {
		return replyRefused(ev, m), nil
	}
	if text := parseForgetRequest(ev); text != "" {
		return h.runForget(ctx, ev, text)
	}
	if r, ok, err := h.o.Undo.UndoByMessage(ctx, ev, m); err != nil {
		return commit.Outcome{}, err
	} else if ok {
		return undoResult(ev, r), nil
	}
	res := commit.NewReply(ev, "turn")
	who, err := h.selectAgent(ctx, ev, m)
	if err != nil {
		return res, err
	}
	told, err := h.o.Delivery.RecentNotices(ctx, ev)
	if err != nil {
		return res, err
	}
	t := turn.Turn{
		Event: ev, Text: chattext.SteerText(ev.Text), Source: ev.Provenance, Said: func() []turn.SteerMessage { return h.takeSteering(ev.ID) }, Outside: m.Outside, OutsideFrom: m.OutsideOrigins(ev), Origins: m.Origins(ev), Attended: ev.Provenance == provenance.Owner,
		Origin: ev.Channel, Report: ev.Session, Channel: ev.Channel, Chat: ev.Chat, Told: told, Cancelled: h.o.Turns.WasCancelled(ev.ID), Hold: h.o.Turns.Hold(ev.ID),
	}
	if m.Via != "" {
		t.Origin = m.Via
	}
	t.Person, t.Private = ownerPerson, t.Attended && !m.Shared && !m.Unknown
	if !t.Attended {
		t.Person = ev.Channel + ":" + ev.Sender
	}
	t.Level = h.levelOf(ev.Channel, t.Person)
	if !t.Attended { // the owner receives the approval requests of unattended turns, and owns the items that they create
		t.Guest = true
		to, err := h.o.Delivery.ResolveTarget(ctx, "")
		if err != nil {
			return res, err
		}
		t.Report, t.Channel, t.Chat = to.Session, to.Channel, to.Chat
	}
	for _, i := range m.Images {
		t.Images = append(t.Images, llm.Image{MIME: i.MIME, Data: i.Data})
	}
	defer h.o.Delivery.ShowWork(ctx, ev)()
	res.Outcome, err = who.Runner.Run(ctx, t)
	return res, err
}

// undoResult returns the outcome of a message that was answered by an undo.
func undoResult(ev bus.Event, r undo.Reply) commit.Outcome {
	res := commit.NewReply(ev, "undo")
	res.Answer, res.Source = r.Text, r.Source
	res.Messages = []llm.Message{
		{Role: llm.User, Parts: []llm.Part{{Text: ev.Text, Source: provenance.Owner}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Text: r.Text, Source: r.Source}}},
	}
	return res
}

// undoBeforeTurnEnds handles "undo that" while a turn of the conversation may run. The
// conversation's history belongs to that turn, so the reply is not added to the history. If the
// meaning is ambiguous, the message waits for the turn.
func (h messageHandler) undoBeforeTurnEnds(ctx context.Context, ev bus.Event) (commit.Outcome, error) {
	m, err := payload.ParseMessage(ev)
	if err != nil {
		return commit.Outcome{}, err
	}
	r, ok, err := h.o.Undo.UndoByMessage(ctx, ev, m)
	if err != nil {
		return commit.Outcome{}, err
	}
	if !ok {
		return suspended(), h.queueAsMessage(ctx, ev)
	}
	res := undoResult(ev, r)
	res.Messages = nil
	return res, nil
}

// replyRateLimited answers a guest who has sent too many messages, without a model.
func (h messageHandler) replyRateLimited(ev bus.Event, m payload.Message) commit.Outcome {
	res := commit.NewReply(ev, "limit")
	res.Answer = fmt.Sprintf("You have reached the limit: I read at most %d messages per hour from you. I will ignore your messages until %s; please write again then.",
		h.o.GuestLimit, m.Until.In(h.o.Zone()).Format("15:04"))
	res.Source = provenance.Hob
	return res
}

// replyRefused answers a message that a hook refused, without a model. Other people do not learn
// the reason.
func replyRefused(ev bus.Event, m payload.Message) commit.Outcome {
	res := commit.NewReply(ev, "hook")
	res.Answer, res.Source = "I did not accept your message: "+m.Refused, provenance.Outside
	if ev.Provenance != provenance.Owner {
		res.Answer, res.Source = "I cannot accept this message.", provenance.Hob
	}
	return res
}

// selectAgent selects the agent that answers a message.
func (h messageHandler) selectAgent(ctx context.Context, ev bus.Event, m payload.Message) (agents.Member, error) {
	if h.o.Agents == nil {
		return h.defaultMember(), nil
	}
	who, err := h.o.Agents.SelectAgent(ctx, ev.ID, placeOf(ev, m))
	if err != nil {
		return who, err
	}
	if err := who.Refused(ctx); err != nil {
		return who, fmt.Errorf("agent %s is not available: %w", who.Name, err)
	}
	return who, nil
}

func placeOf(ev bus.Event, m payload.Message) agents.MessageOrigin {
	return agents.MessageOriginOf(ev, m)
}

// parseForgetRequest returns the text that the owner asks Hob to forget, or "" if the message is
// not such a request.
func parseForgetRequest(ev bus.Event) string {
	if name, text := chattext.ParseCommand(ev.Text); name == chattext.Forget && ev.Provenance == provenance.Owner {
		return text
	}
	return ""
}

// runForget calls the tool as a direct call by the owner. Like every direct call, it has its own
// conversation; the answer is sent to the conversation of ev.
func (h messageHandler) runForget(ctx context.Context, ev bus.Event, text string) (commit.Outcome, error) {
	res := commit.NewReply(ev, "call")
	args, err := json.Marshal(map[string]any{"query": text, "everything": true})
	if err != nil {
		return res, fmt.Errorf("encode the arguments of %s: %w", chattext.Forget, err)
	}
	own := ev
	own.Session = "tool:" + ev.ID
	t := turn.Turn{
		Event: own, Text: "/" + chattext.Forget, Source: provenance.Owner, Attended: true, Origin: ev.Channel, Report: ev.Session, Channel: ev.Channel, Chat: ev.Chat,
		Call:      &llm.ToolCall{Name: chattext.Forget, Args: args},
		Cancelled: h.o.Turns.WasCancelled(ev.ID), Hold: h.o.Turns.Hold(ev.ID), Person: ownerPerson, Level: h.levelOf(ev.Channel, ownerPerson),
	}
	out, err := h.o.Runner.Run(ctx, t)
	said := out.Messages
	res.Outcome, res.Messages = out, nil
	record := out.Record
	res.Record = func(tx *store.Tx) error {
		if record != nil {
			if err := record(tx); err != nil {
				return err
			}
		}
		return h.o.Sessions.AppendTx(tx, own.Session, ev.ID, said)
	}
	return res, err
}
