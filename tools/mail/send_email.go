package mail

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// sentOut is the Data of the tools that write mail.
type sentOut struct {
	Outcome pim.Outcome `json:"outcome"`
	ID      string      `json:"mail,omitempty"`
	To      []string    `json:"to,omitempty"`
	Subject string      `json:"subject,omitempty"`
	Warning string      `json:"warning,omitempty"`
}

func (d Deps) sendEmail() tools.Tool {
	return tools.New(tools.Def[letterIn]{
		Spec: tools.Spec{
			Name: "send_email", Category: "mail", Effects: tools.Send, Timeout: 4 * time.Minute,
			Description: "Send a mail from the user's account, or answer one; files may go with it. It cannot be called back.",
			Keywords:    "write email mail letter message reply answer respond forward attach attachment to",
		},
		Summary: func(in letterIn) string { return "Send a mail" + in.summaryText() },
		Judge:   d.judgeSend,
		Run: func(ctx context.Context, c tools.Call, in letterIn) (tools.Result, error) {
			l, err := d.composeLetter(ctx, in)
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			if l.approvalBinding() != c.Exact {
				return tools.Result{}, tools.Errorf(tools.Conflict, "the recipients or an attached file have changed since the approval; nothing was sent")
			}
			l.setMessageID(c)
			r, err := l.from.SendMail(ctx, l.OutgoingMail)
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			if r.Outcome == pim.Uncertain {
				return tools.Result{}, outsideError(tools.Errorf(tools.OutcomeUnknown, "mail to %s: outcome unknown (%s); Hob did not send it again. Check the sent mails, or ask, before you retry", l.recipientText(), r.Why))
			}
			text := fmt.Sprintf("Sent to %s: %s.", l.recipientText(), l.Subject)
			if r.Outcome == pim.Pending {
				text = fmt.Sprintf("The mail to %s was queued and will be sent automatically: %s.", l.recipientText(), l.Subject)
			}
			return l.sendResult(text, r), nil
		},
	})
}

// summaryText describes recipients and content for a summary, as far as the arguments tell.
func (in letterIn) summaryText() string {
	var b strings.Builder
	if to := strings.Join(append(append(append([]string{}, in.To...), in.Cc...), in.Bcc...), ", "); to != "" {
		b.WriteString(" to " + to)
	}
	if in.Answer != "" {
		b.WriteString(" in reply to " + textnorm.Ellipsize(in.Answer, 60))
	}
	if in.Subject != "" {
		b.WriteString(", about " + textnorm.Ellipsize(in.Subject, 80))
	}
	if len(in.Attach) > 0 {
		b.WriteString(", with " + strings.Join(in.Attach, ", "))
	}
	return b.String() + fmt.Sprintf(": %q", textnorm.Ellipsize(in.Text, 240))
}

func (d Deps) judgeSend(ctx context.Context, in letterIn) tools.CallAssessment {
	l, err := d.composeLetter(ctx, in)
	if err != nil {
		return refusedJudgement(err)
	}
	if len(l.Recipients()) == 0 {
		return refusedJudgement(tools.Errorf(tools.InvalidArguments, "give a recipient"))
	}
	j := tools.CallAssessment{Why: "it reaches " + l.recipientText(), Exact: l.approvalBinding()}
	if len(l.notes) > 0 {
		j.Why += "; " + strings.Join(l.notes, "; ")
	}
	own := l.from.From().Address
	for _, p := range l.Recipients() {
		to := p.Address
		if to == own {
			to = tools.Owner
		}
		j.To = append(j.To, to)
	}
	if len(j.To) == 1 && len(l.Files) == 0 && j.To[0] != tools.Owner {
		j.Pattern = "mail:" + j.To[0]
	}
	return j
}

// sendResult describes the outcome of sending. Its text counts as untrusted if a mail or an
// address book named the recipient.
func (l composedMail) sendResult(text string, r pim.Receipt) tools.Result {
	out := sentOut{Outcome: r.Outcome, ID: r.ID, Subject: l.Subject, Warning: r.Why}
	for _, p := range l.Recipients() {
		out.To = append(out.To, p.Address)
	}
	if r.Why != "" {
		text += " But " + r.Why + "."
	}
	res := tools.Result{Source: provenance.Tool, Text: text, Data: out}
	if l.reply || r.Why != "" {
		res.Source, res.Origins = provenance.Outside, []provenance.Origin{{Kind: "mail", Label: l.from.Name(), Via: "send_email"}}
	}
	return res
}
