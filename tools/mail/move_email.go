package mail

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type moveIn struct {
	Mail    string `json:"mail" jsonschema:"its id, or words of its sender or subject"`
	To      string `json:"to,omitempty" jsonschema:"archive (default), trash, inbox, junk or a folder's name"`
	From    string `json:"from,omitempty" jsonschema:"the folder to search for the words (default inbox)"`
	Account string `json:"account,omitempty"`
}

type oneIn struct {
	Mail    string `json:"mail" jsonschema:"its id, or words of its sender or subject"`
	Mailbox string `json:"mailbox,omitempty" jsonschema:"the folder to search for the words (default inbox)"`
	Account string `json:"account,omitempty"`
}

func (d Deps) moveEmail() tools.Tool {
	return tools.New(tools.Def[moveIn]{
		Spec: tools.Spec{
			Name: "move_email", Category: "mail", Effects: tools.Write, Timeout: 2 * time.Minute,
			Description: "Move one of the user's emails to another folder: archive it, put it in the trash or back in the inbox.",
			Keywords:    "archive file move mail email folder trash delete junk spam put away inbox",
		},
		Summary: func(in moveIn) string {
			return fmt.Sprintf("Move the email %q to %s", textnorm.Ellipsize(in.Mail, 100), textnorm.Ellipsize(cmp.Or(in.To, "archive"), 60))
		},
		Judge: func(ctx context.Context, in moveIn) tools.CallAssessment {
			x, _, err := d.findMailToMove(ctx, in)
			if err != nil {
				return refusedJudgment(err)
			}
			return tools.CallAssessment{Why: fmt.Sprintf("it is the email %q from %s", subjectLine(x, 100), senderLabel(x)), Exact: x.Ref}
		},
		Run: func(ctx context.Context, c tools.Call, in moveIn) (tools.Result, error) {
			x, box, err := d.findMailToMove(ctx, in)
			if err != nil {
				return tools.Result{}, tools.ClassifyPIM(err)
			}
			if x.Ref != c.Exact {
				return tools.Result{}, tools.Errorf(tools.Conflict, "the request now matches a different email than the approved one; nothing was moved")
			}
			to := cmp.Or(strings.TrimSpace(in.To), "archive")
			r, err := box.MoveMail(ctx, x.Ref, to)
			if err != nil {
				return tools.Result{}, tools.ClassifyPIM(err)
			}
			if r.Outcome == pim.Uncertain {
				return tools.Result{}, outcomeUnknownError("the email was moved", r)
			}
			what := fmt.Sprintf("the email %q from %s", subjectLine(x, 100), senderLabel(x))
			return tools.Result{
				Text: fmt.Sprintf("Moved %s to %s.", what, to), Data: sentOut{Outcome: r.Outcome, ID: r.ID, Subject: subjectLine(x, 300)},
				Source: provenance.Outside, Origins: mailOrigins(x, "move_email"), Undo: undoOf("move an email back", box, r),
			}, nil
		},
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			if err := d.takeBack(ctx, data); err != nil {
				return "", err
			}
			return "Moved the email back to its folder.", nil
		},
	})
}

// findMailToMove finds the message to move.
func (d Deps) findMailToMove(ctx context.Context, in moveIn) (pim.Message, pim.Mailer, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	all, err := d.mailersNamed(in.Account)
	if err != nil {
		return pim.Message{}, nil, err
	}
	return d.findMail(ctx, in.Mail, in.From, all)
}

func mailOrigins(x pim.Message, tool string) []provenance.Origin {
	return []provenance.Origin{{Kind: "mail", Label: senderLabel(x), Via: tool}}
}

func (d Deps) readEmail() tools.Tool {
	return tools.New(tools.Def[oneIn]{
		Spec: tools.Spec{
			Name: "read_email", Category: "mail", Effects: tools.Read, Timeout: time.Minute,
			Description: "Read one email in full: all recipients, the reply address, the whole text, the names of its attachments. It stays unread.",
			Keywords:    "open show whole full mail email message letter read it",
		},
		Summary: func(in oneIn) string { return "Read an email" },
		Run: func(ctx context.Context, c tools.Call, in oneIn) (tools.Result, error) {
			all, err := d.mailersNamed(in.Account)
			if err != nil {
				return tools.Result{}, err
			}
			x, box, err := d.findMail(ctx, in.Mail, in.Mailbox, all)
			if err != nil {
				return tools.Result{}, err
			}
			var b strings.Builder
			fmt.Fprintf(&b, "From: %s", fullNames(x.From))
			if len(x.ReplyTo) > 0 {
				fmt.Fprintf(&b, "\nReply-To: %s", fullNames(x.ReplyTo))
			}
			fmt.Fprintf(&b, "\nTo: %s\nSubject: %s\nDate: %s", fullNames(x.To[:min(len(x.To), 50)]), subjectLine(x, 300), dateparse.Format(x.Received.In(c.Now.Location()), c.Now))
			if len(x.Files) > 0 {
				fmt.Fprintf(&b, "\nAttached: %s", textnorm.Ellipsize(strings.Join(x.Files, ", "), 1000))
			}
			fmt.Fprintf(&b, "\nId: %s\n\n%s", x.Ref, x.Text)
			if x.Cut {
				b.WriteString("\n\n(Only the beginning of the email is shown.)")
			}
			l := shownLetter(x, box)
			return tools.Result{Text: b.String(), Data: mailOut{Mails: []letterOut{l}}, Source: provenance.Outside, Origins: mailOrigins(x, "read_email")}, nil
		},
	})
}

// shownLetter converts a complete message to the form for Data.
func shownLetter(x pim.Message, box pim.Mailer) letterOut {
	l := letterOut{
		Account: box.Name(), ID: x.Ref, UID: x.UID, From: fullNames(x.From), Subject: subjectLine(x, 300), At: x.Received, Unread: !x.Seen, Flagged: x.Flagged,
		Text: x.Text, Cut: x.Cut, Files: x.Files,
	}
	for _, p := range x.To[:min(len(x.To), 50)] {
		l.To = append(l.To, tools.WholePerson(p))
	}
	return l
}
