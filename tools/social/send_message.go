package social

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// maxText is the maximum length of a message, in characters.
const maxText = 10_000

type sendIn struct {
	Channel string `json:"channel" jsonschema:"name of a configured channel"`
	To      string `json:"to,omitempty" jsonschema:"the recipient on that channel: id or address of the chat"`
	Text    string `json:"text"`
}

// sendOut is the Data of send_message.
type sendOut struct {
	channels.QueuedMessage
	Channel string `json:"channel"`
	To      string `json:"to"`
	Owner   bool   `json:"owner,omitempty"`
}

func sendMessage(p Sender) tools.Tool {
	return tools.New(tools.Def[sendIn]{
		Spec: tools.Spec{
			Name: "send_message", Category: "social", Effects: tools.Send,
			Description: "Send a message to someone over a channel. It can be canceled until it goes out.",
			Keywords:    "write text message tell notify person friend chat dm post reply whatsapp " + strings.Join(p.Channels(), " "),
		},
		Summary: func(in sendIn) string {
			return fmt.Sprintf("Send to %s: %q", in.recipientText(), in.Text)
		},
		Judge: func(ctx context.Context, in sendIn) tools.CallAssessment { return assessMessage(ctx, p, in) },
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, in sendIn) (tools.Result, error) {
			// Check the conditions of the approval again: the owner's own chat may have become a
			// group.
			j := assessMessage(ctx, p, in)
			if j.Refused != nil {
				return tools.Result{}, j.Refused
			}
			if j.Exact != c.Exact {
				return tools.Result{}, tools.Errorf(tools.Conflict, "the recipients have changed since the approval; nothing was sent")
			}
			m := channels.OutgoingMessage{Channel: in.Channel, To: in.To, Text: in.Text, Owner: j.Exact == tools.Owner}
			sent, err := p.SendTx(ctx, tx, c, m)
			if err != nil {
				return tools.Result{}, err
			}
			return in.sendResult(c, m, sent), nil
		},
		UndoTx: func(ctx context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var s channels.QueuedMessage
			if err := json.Unmarshal(data, &s); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			return p.CallBackTx(ctx, tx, s.ID)
		},
	})
}

// recipientText describes the recipient of a message.
func (in sendIn) recipientText() string {
	if in.To == "" {
		return in.Channel
	}
	return in.To + " on " + in.Channel
}

func assessMessage(ctx context.Context, p Sender, in sendIn) tools.CallAssessment {
	switch known := p.Channels(); {
	case strings.TrimSpace(in.Text) == "":
		return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "the text is empty")}
	case utf8.RuneCountInString(in.Text) > maxText:
		return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "the text has more than %d characters; shorten it", maxText)}
	case strings.ContainsFunc(in.To, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "the address contains a character that cannot be shown")}
	case len(known) == 0:
		return tools.CallAssessment{Refused: tools.Errorf(tools.Unsupported, "no channel that can send is configured; add one: hob channel add")}
	case !slices.Contains(known, in.Channel):
		return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "%q is not a channel that can send; available: %s", tools.Clean(in.Channel), tools.Clean(strings.Join(known, ", ")))}
	}
	owners, err := p.Owners(ctx, in.Channel, in.To)
	if err != nil { // the recipients are unknown
		return tools.CallAssessment{Refused: err}
	}
	to := in.Channel + ":" + in.To
	j := tools.CallAssessment{Why: "it reaches " + in.recipientText(), To: []string{to}, Pattern: to, Exact: to}
	if owners {
		j.Why, j.To, j.Exact = "only you receive it", []string{tools.Owner}, tools.Owner
	}
	return j
}

func (in sendIn) sendResult(c tools.Call, m channels.OutgoingMessage, s channels.QueuedMessage) tools.Result {
	r := tools.Result{Source: provenance.Tool, Data: sendOut{QueuedMessage: s, Channel: in.Channel, To: in.To, Owner: m.Owner}}
	waits := ""
	if s.Waits {
		waits = " if Hob is running then (start it with hob start)"
	}
	if m.Owner {
		r.Text = "Sending to " + in.recipientText() + waits + "."
		return r
	}
	r.Text = fmt.Sprintf("The message to %s will be sent at %s%s; to cancel it: hob undo %s", in.recipientText(), s.At.In(c.Now.Location()).Format("15:04:05"), waits, c.ID)
	r.Undo = tools.NewUndo("cancel the message to "+in.recipientText(), s)
	return r
}
