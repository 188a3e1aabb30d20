package social

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

type fileIn struct {
	Path string `json:"path" jsonschema:"file"`
	Text string `json:"text,omitempty" jsonschema:"text sent with the file"`
	To   string `json:"to,omitempty" jsonschema:"channel, or channel:chat; default this conversation"`
}

func sendFile(p Sender) tools.Tool {
	return tools.New(tools.Def[fileIn]{
		Spec: tools.Spec{
			Name: "send_file", Category: "social", Effects: tools.Send,
			Description: "Send a file to the user in this conversation, or to someone over a channel.",
			Keywords:    "attachment document photo picture pdf report upload",
		},
		Paths: func(in fileIn) []string { return []string{in.Path} },
		Summary: func(in fileIn) string {
			if in.To == "" {
				return fmt.Sprintf("Send the file %s in this conversation", in.Path)
			}
			return fmt.Sprintf("Send the file %s to %s", in.Path, in.To)
		},
		Judge: func(ctx context.Context, in fileIn) tools.CallAssessment {
			_, j := in.assessFile(ctx, p, tools.Asking(ctx))
			return j
		},
		Prepare: func(ctx context.Context, c tools.Call, in fileIn) (any, error) {
			m, j := in.assessFile(ctx, p, c.Event)
			switch {
			case j.Refused != nil:
				return nil, j.Refused
			case j.Exact != c.Exact:
				return nil, recipientsChangedError()
			case m.Channel == "": // a conversation on this machine, where no channel can send the file
				return m, nil
			}
			return m, p.Keep(ctx, m)
		},
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, in fileIn) (tools.Result, error) {
			m, ok := c.Prepared.(channels.OutgoingMessage)
			if !ok || len(m.Files) != 1 {
				return tools.Result{}, tools.Errorf(tools.Failed, "the file was not read; nothing was sent")
			}
			f := m.Files[0]
			if j := assessRecipients(ctx, p, m, f); j.Refused != nil {
				return tools.Result{}, j.Refused
			} else if j.Exact != c.Exact {
				return tools.Result{}, recipientsChangedError()
			}
			if m.Channel == "" { // a conversation on this machine
				return tools.Result{Source: provenance.Tool, Text: fmt.Sprintf("%s is on this computer: %s", f.Name, f.Path), Data: sendOut{Owner: true}}, nil
			}
			sent, err := p.SendTx(ctx, tx, c, m)
			if err != nil {
				return tools.Result{}, err
			}
			r := sendIn{Channel: m.Channel, To: m.To}.sendResult(c, m, sent)
			if !sent.Attached {
				r.Text = fmt.Sprintf("%s does not accept such files; the message names the file's location. %s", m.Channel, r.Text)
			}
			return r, nil
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

func recipientsChangedError() error {
	return tools.Errorf(tools.Conflict, "the file or its recipients have changed since the approval; nothing was sent")
}

// assessFile reads the file and finds the recipients. The approval is valid only for this content
// and these recipients.
func (in fileIn) assessFile(ctx context.Context, p Sender, event string) (channels.OutgoingMessage, tools.CallAssessment) {
	refuse := func(err error) (channels.OutgoingMessage, tools.CallAssessment) {
		return channels.OutgoingMessage{}, tools.CallAssessment{Refused: err}
	}
	if utf8.RuneCountInString(in.Text) > maxText {
		return refuse(tools.Errorf(tools.InvalidArguments, "the text has more than %d characters; shorten it", maxText))
	}
	f, err := p.File(ctx, in.Path)
	if err != nil {
		return refuse(err)
	}
	if f.Hidden {
		return refuse(tools.Errorf(tools.Unsupported, "%s is hidden or in a hidden folder, and Hob does not send hidden files", f.Name))
	}
	channel, to, _ := strings.Cut(in.To, ":")
	if to == "" {
		if channel, to, err = p.Here(ctx, event, channel); err != nil {
			return refuse(err)
		}
	}
	m := channels.OutgoingMessage{Channel: channel, To: to, Text: in.Text, Files: []channels.OutgoingFile{f}}
	if m.Text == "" {
		m.Text = f.Name
	}
	j := assessRecipients(ctx, p, m, f)
	m.Owner = channel == "" || len(j.To) == 1 && j.To[0] == tools.Owner
	return m, j
}

// assessRecipients assesses a message with a file by the people that it would reach at the moment.
func assessRecipients(ctx context.Context, p Sender, m channels.OutgoingMessage, f channels.OutgoingFile) tools.CallAssessment {
	if m.Channel == "" {
		return tools.CallAssessment{Effects: tools.Read, Why: "the file is shown in this conversation only", Exact: "here " + f.Digest}
	}
	j := assessMessage(ctx, p, sendIn{Channel: m.Channel, To: m.To, Text: m.Text})
	if j.Refused == nil {
		j.Exact += " " + f.Digest
		j.Pattern = "" // each file needs its own approval
	}
	return j
}
