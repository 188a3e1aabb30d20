package mail

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// sentOut is the Data of the tools that write messages.
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
			Description: "Send an email from the user's account, or reply to one, optionally with attachments. It can be canceled until it goes out.",
			Keywords:    "write email mail letter message reply answer respond forward attach attachment to",
		},
		Summary: func(in letterIn) string { return "Send an email" + in.summaryText() },
		Judge:   d.judgeSend,
		Run: func(ctx context.Context, c tools.Call, in letterIn) (tools.Result, error) {
			l, err := d.approvedLetter(ctx, c, in)
			if err != nil {
				return tools.Result{}, err
			}
			r, err := d.handOver(ctx, c, l)
			if err != nil {
				return tools.Result{}, tools.ClassifyPIM(err)
			}
			if r.Outcome == pim.Uncertain {
				return tools.Result{}, outsideError(tools.Errorf(tools.OutcomeUnknown, "email to %s: outcome unknown (%s); Hob did not send it again. Check the sent emails, or ask the user, before you retry", l.recipientText(), r.Why))
			}
			text := fmt.Sprintf("Sent to %s: %s.", l.recipientText(), l.Subject)
			if r.Outcome == pim.Pending {
				text = fmt.Sprintf("The email to %s was queued and will be sent automatically: %s.", l.recipientText(), l.Subject)
			}
			return l.sendResult(text, r), nil
		},
		Waiting: func(in letterIn) string {
			if subject := strings.TrimSpace(in.Subject); subject != "" {
				return fmt.Sprintf("the email %q", textnorm.Ellipsize(subject, 60))
			}
			return "the email"
		},
		Freeze: func(ctx context.Context, c tools.Call, in letterIn) (any, error) {
			l, err := d.approvedLetter(ctx, c, in)
			if err != nil {
				return nil, err
			}
			return frozenMail{l.OutgoingMail, l.from.Name(), l.reply}, nil
		},
		WasSent: func(ctx context.Context, c tools.Call, in letterIn) (bool, error) {
			l, err := d.approvedLetter(ctx, c, in)
			if late, ok := l.from.(pim.LateCommitter); ok && err == nil {
				return late.WasSent(ctx, l.ID)
			}
			return false, err
		},
	})
}

// frozenMail is a composed email that is stored until it is sent.
type frozenMail struct {
	pim.OutgoingMail
	Account string
	Reply   bool
}

// approvedLetter returns the email of a call: the frozen email, or one composed from the arguments.
// It fails if the email differs from the approved one.
func (d Deps) approvedLetter(ctx context.Context, c tools.Call, in letterIn) (l composedMail, err error) {
	if c.Frozen != nil {
		l, err = d.thawMail(c)
	} else {
		l, err = d.composeLetter(ctx, in)
	}
	if err != nil {
		return composedMail{}, tools.ClassifyPIM(err)
	}
	if l.approvalBinding() != c.Exact {
		return composedMail{}, tools.Errorf(tools.Conflict, "the recipients or an attached file have changed since the approval; nothing was sent")
	}
	l.setMessageID(c)
	return l, nil
}

// thawMail returns the email that was frozen for a call. Its date is the time of sending.
func (d Deps) thawMail(c tools.Call) (composedMail, error) {
	var f frozenMail
	if err := json.Unmarshal(c.Frozen, &f); err != nil {
		return composedMail{}, tools.Errorf(tools.Failed, "the stored email cannot be read: %w", tools.CleanErr(err))
	}
	from, err := d.mailersNamed(f.Account)
	if err != nil {
		return composedMail{}, err
	}
	return composedMail{OutgoingMail: f.OutgoingMail, from: from[0], reply: f.Reply}, nil
}

// handOver sends an email. It commits the call as late as the mailer allows.
func (d Deps) handOver(ctx context.Context, c tools.Call, l composedMail) (pim.Receipt, error) {
	if c.Frozen != nil {
		l.Date = time.Now().In(c.Now.Location())
	}
	if _, late := l.from.(pim.LateCommitter); late {
		l.SendHooks = c.SendHooks
	} else if err := c.Commit(); err != nil {
		return pim.Receipt{}, err
	}
	return l.from.SendMail(ctx, l.OutgoingMail)
}

// summaryText describes the recipients and the content for a summary. It uses only the arguments.
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
		return refusedJudgment(err)
	}
	if len(l.Recipients()) == 0 {
		return refusedJudgment(tools.Errorf(tools.InvalidArguments, "give a recipient"))
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

// sendResult returns the result of sending. Its text is untrusted if the recipient comes from a
// message or an address book.
func (l composedMail) sendResult(text string, r pim.Receipt) tools.Result {
	out := sentOut{Outcome: r.Outcome, ID: r.ID, Subject: l.Subject, Warning: r.Why}
	for _, p := range l.Recipients() {
		out.To = append(out.To, p.Address)
	}
	if r.Why != "" {
		text += " But " + r.Why + "."
	}
	res := tools.Result{Source: provenance.Tool, Text: text, Data: out, Incomplete: r.Why != "" && r.Outcome == pim.Sent}
	if l.reply || r.Why != "" {
		res.Source, res.Origins = provenance.Outside, []provenance.Origin{{Kind: "mail", Label: l.from.Name(), Via: "send_email"}}
	}
	return res
}
