package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/tools"
)

// undoData is the undo data of a mailbox change.
type undoData struct {
	Account string `json:"account"`
	Undo    []byte `json:"undo"`
}

func undoOf(label string, m pim.Mailer, r pim.Receipt) *tools.Undo {
	if len(r.Undo) == 0 {
		return nil
	}
	return tools.NewUndo(label, undoData{m.Name(), r.Undo})
}

// takeBack implements Undo for the tools that change mailboxes.
func (d Deps) takeBack(ctx context.Context, data json.RawMessage) error {
	var u undoData
	if err := json.Unmarshal(data, &u); err != nil {
		return tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	all, err := d.mailersNamed(u.Account)
	if err != nil {
		return err
	}
	return tools.ClassifyPIM(all[0].TakeBack(ctx, u.Undo))
}

// outcomeUnknownError returns the error for a change whose outcome is unknown.
func outcomeUnknownError(what string, r pim.Receipt) error {
	return outsideError(tools.Errorf(tools.OutcomeUnknown, "outcome unknown: Hob cannot tell whether %s (%s); it was not repeated", tools.Clean(what), r.Why))
}

func (d Deps) draftEmail() tools.Tool {
	return tools.New(tools.Def[letterIn]{
		Spec: tools.Spec{
			Name: "draft_email", Category: "mail", Effects: tools.Write, Timeout: 4 * time.Minute,
			Description: "Save an email, or a reply to one, as a draft in the user's account, for the user to finish and send. Nothing is sent.",
			Keywords:    "draft email mail letter prepare compose write reply answer",
		},
		Summary: func(in letterIn) string { return "Draft an email" + in.summaryText() },
		Run: func(ctx context.Context, c tools.Call, in letterIn) (tools.Result, error) {
			l, err := d.composeLetter(ctx, in)
			if err != nil {
				return tools.Result{}, tools.ClassifyPIM(err)
			}
			l.setMessageID(c)
			r, err := l.from.DraftMail(ctx, l.OutgoingMail)
			if errors.Is(err, pim.ErrNoServer) {
				return tools.Result{}, tools.Errorf(tools.Unsupported, "account %s has no mailbox for drafts; set %s", tools.Clean(l.from.Name()), pim.IMAP)
			}
			if err != nil {
				return tools.Result{}, tools.ClassifyPIM(err)
			}
			if r.Outcome == pim.Uncertain {
				return tools.Result{}, outcomeUnknownError("the draft was saved", r)
			}
			to := "The draft"
			if whom := l.recipientText(); whom != "" {
				to += " to " + whom
			}
			res := l.sendResult(fmt.Sprintf("%s is saved in the drafts of %s: %s.", to, l.from.Name(), strings.TrimRight(l.Subject, ".")), r)
			if len(l.notes) > 0 {
				res.Text += " Note: " + strings.Join(l.notes, "; ") + "."
			}
			res.Undo = undoOf("remove the draft", l.from, r)
			return res, nil
		},
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			if err := d.takeBack(ctx, data); err != nil {
				return "", err
			}
			return "Removed the draft.", nil
		},
	})
}
