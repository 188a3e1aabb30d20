package mail

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type editDraftIn struct {
	Draft   string   `json:"draft" jsonschema:"id of the draft, or words of its subject or recipient"`
	To      []string `json:"to,omitempty" jsonschema:"new recipients: addresses, or names in the address book"`
	Cc      []string `json:"cc,omitempty" jsonschema:"new recipients of a copy"`
	Bcc     []string `json:"bcc,omitempty" jsonschema:"new recipients of a blind copy"`
	Subject string   `json:"subject,omitempty" jsonschema:"new subject"`
	Text    string   `json:"text,omitempty" jsonschema:"new text, instead of the whole text"`
	Attach  []string `json:"attach,omitempty" jsonschema:"paths of files to add"`
	Account string   `json:"account,omitempty" jsonschema:"only this account"`
}

// draftUndo is the undo data of an edited draft.
type draftUndo struct {
	Account string `json:"account"`
	New     []byte `json:"new"` // removes the new draft
	Old     []byte `json:"old"` // moves the former draft back
}

func (d Deps) editDraft() tools.Tool {
	return tools.New(tools.Def[editDraftIn]{
		Spec: tools.Spec{
			Name: "edit_draft", Category: "mail", Effects: tools.Write, Timeout: 4 * time.Minute,
			Description: "Change an email draft: recipients, subject or text, or add files. What is not given stays. Nothing is sent; the former draft goes to the trash.",
			Keywords:    "edit change revise rewrite update draft email mail letter recipients subject text attach",
		},
		Summary: func(in editDraftIn) string {
			l := letterIn{To: in.To, Cc: in.Cc, Bcc: in.Bcc, Subject: in.Subject, Text: in.Text, Attach: in.Attach}
			return fmt.Sprintf("Change the draft %q%s", textnorm.Ellipsize(in.Draft, 80), strings.TrimSuffix(l.summaryText(), `: ""`))
		},
		Judge: func(ctx context.Context, in editDraftIn) tools.CallAssessment {
			x, _, err := d.findDraft(ctx, in)
			if err != nil {
				return refusedJudgment(err)
			}
			return tools.CallAssessment{Why: fmt.Sprintf("it replaces the draft %q to %s", subjectLine(x, 100), orNobody(fullNames(x.To))), Exact: x.Ref}
		},
		Run: d.runEditDraft,
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			var u draftUndo
			if err := json.Unmarshal(data, &u); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			all, err := d.mailersNamed(u.Account)
			if err != nil {
				return "", err
			}
			if err := all[0].TakeBack(ctx, u.New); err != nil {
				return "", tools.ClassifyPIM(err)
			}
			if err := all[0].TakeBack(ctx, u.Old); err != nil {
				return "", tools.ClassifyPIM(err)
			}
			return "Restored the former draft.", nil
		},
	})
}

func orNobody(s string) string {
	if s == "" {
		return "nobody yet"
	}
	return s
}

// findDraft finds the draft by its id, or by words of its subject or recipients.
func (d Deps) findDraft(ctx context.Context, in editDraftIn) (pim.Message, pim.Mailer, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	all, err := d.mailersNamed(in.Account)
	if err != nil {
		return pim.Message{}, nil, err
	}
	x, box, err := d.findMail(ctx, in.Draft, "drafts", all)
	if tools.CodeOf(err) != tools.NotFound || strings.Count(in.Draft, "/") >= 3 {
		return x, box, err
	}
	var fit []foundMail
	for _, m := range all { // the sender of a draft is the user, so its words may be those of a recipient
		list, ferr := m.FindMail(ctx, pim.MailQuery{Folder: "drafts", Limit: most})
		if ferr != nil {
			continue
		}
		for _, x := range list {
			if textnorm.ContainsAllWords(fullNames(x.To), strings.Fields(in.Draft)) {
				fit = append(fit, foundMail{x, m})
			}
		}
	}
	if len(fit) != 1 {
		return pim.Message{}, nil, err
	}
	x, err = fit[0].box.ReadMail(ctx, fit[0].Ref)
	return x, fit[0].box, tools.ClassifyPIM(err)
}

// composeEdited composes the new draft of the former one and the arguments.
func (d Deps) composeEdited(ctx context.Context, in editDraftIn, x pim.Message, box pim.Mailer) (composedMail, error) {
	l := composedMail{from: box, reply: true}
	l.Subject, l.Text = pim.StripInvisible(x.Subject), strings.TrimSpace(x.Text)
	l.To = slices.DeleteFunc(slices.Clone(x.To), func(p pim.Person) bool { return slices.Contains(x.Cc, p) })
	l.Cc, l.Bcc = x.Cc, x.Bcc
	if n := len(x.Refers); n > 0 && pim.ValidMessageID(x.Refers[n-1]) {
		l.Answers = x.Refers[n-1]
		l.References = slices.DeleteFunc(slices.Clone(x.Refers[:n-1]), func(id string) bool { return !pim.ValidMessageID(id) })
	}
	if s := strings.TrimSpace(in.Subject); s != "" {
		l.Subject = s
	}
	switch {
	case strings.TrimSpace(in.Text) != "":
		l.Text = strings.TrimSpace(in.Text)
	case x.Cut:
		return l, tools.Errorf(tools.Unsupported, "the draft is too long to be changed without a new text")
	}
	for _, list := range []struct {
		names []string
		to    *[]pim.Person
	}{{in.To, &l.To}, {in.Cc, &l.Cc}, {in.Bcc, &l.Bcc}} {
		if len(list.names) > 0 {
			*list.to = nil
		}
		for _, name := range list.names {
			p, err := tools.PersonIn(ctx, name, d.People)
			if err != nil {
				return l, err
			}
			*list.to = append(*list.to, p)
		}
	}
	keepHTML := strings.TrimSpace(in.Text) == ""
	if _, ok := box.(pim.PartReader); ok && keepHTML || len(x.Files) > 0 {
		parts, err := readParts(ctx, box, x.Ref, pim.MaxFileBytes, func(p pim.MailPart) bool { return p.Attached || keepHTML && p.Kind == "text/html" })
		if err != nil {
			return l, err
		}
		for _, p := range parts {
			if !p.Attached {
				l.HTML = cmp.Or(l.HTML, string(p.Data))
				continue
			}
			l.Files = append(l.Files, pim.Attachment{Name: strings.NewReplacer("/", "_", `\`, "_").Replace(pim.StripInvisible(p.Name)), Data: p.Data})
		}
	}
	if err := d.attachFiles(ctx, in.Attach, &l); err != nil {
		return l, err
	}
	if err := l.Check(); err != nil {
		return l, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	return l, nil
}

func (d Deps) runEditDraft(ctx context.Context, c tools.Call, in editDraftIn) (tools.Result, error) {
	if len(in.To)+len(in.Cc)+len(in.Bcc)+len(in.Attach) == 0 && strings.TrimSpace(in.Subject+in.Text) == "" {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "give at least one change: recipients, subject, text or files")
	}
	x, box, err := d.findDraft(ctx, in)
	if err != nil {
		return tools.Result{}, tools.ClassifyPIM(err)
	}
	if x.Ref != c.Exact {
		return tools.Result{}, tools.Errorf(tools.Conflict, "the request now matches a different draft than the approved one; nothing was changed")
	}
	l, err := d.composeEdited(ctx, in, x, box)
	if err != nil {
		return tools.Result{}, tools.ClassifyPIM(err)
	}
	c.ID += " instead of " + x.Ref // the new draft must have another Message-ID
	l.setMessageID(c)
	made, err := box.DraftMail(ctx, l.OutgoingMail)
	if err != nil {
		return tools.Result{}, tools.ClassifyPIM(err)
	}
	if made.Outcome == pim.Uncertain {
		return tools.Result{}, outcomeUnknownError("the new draft was saved; the former one is unchanged", made)
	}
	old, err := box.MoveMail(ctx, x.Ref, "trash")
	if err != nil { // keep the former draft only
		return tools.Result{}, tools.ClassifyPIM(errors.Join(err, box.TakeBack(context.WithoutCancel(ctx), made.Undo)))
	}
	res := l.sendResult(fmt.Sprintf("Changed the draft to %s in the drafts of %s: %s.", orNobody(l.recipientText()), box.Name(), strings.TrimRight(l.Subject, ".")), made)
	res.Source, res.Origins = provenance.Outside, []provenance.Origin{{Kind: "mail", Label: box.Name(), Via: "edit_draft"}}
	if old.Outcome == pim.Uncertain {
		res.Incomplete = true
		res.Text += " It is unknown whether the former draft was moved to the trash."
		return res, nil
	}
	res.Undo = tools.NewUndo("restore the former draft", draftUndo{box.Name(), made.Undo, old.Undo})
	return res, nil
}
