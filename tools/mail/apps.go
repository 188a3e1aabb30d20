package mail

import (
	"context"
	"errors"
	"slices"
	"strings"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// appMailboxes returns the mailboxes of local programs. They are used if no account has email.
func (d Deps) appMailboxes() []pim.Mailer {
	if len(d.Accounts()) > 0 || d.Mailers == nil {
		return nil
	}
	return d.Mailers()
}

// answerApps works like answerQuery, for the mailboxes of local programs.
func (d Deps) answerApps(ctx context.Context, c tools.Call, w mailQuery, tool string) (tools.Result, error) {
	all, err := d.mailersNamed(w.account)
	if err != nil {
		return tools.Result{}, err
	}
	var list []letterOut
	var failed []error
	reads := 0
	for _, m := range all {
		found, err := w.readAppMailbox(ctx, m)
		if errors.Is(err, pim.ErrNoServer) { // this program can only send mail
			continue
		}
		reads++
		list, failed = append(list, found...), append(failed, err)
	}
	err = errors.Join(failed...)
	switch {
	case reads == 0:
		_, err := d.accountsNamed("")
		return tools.Result{}, err
	case err != nil && len(list) == 0:
		if _, some := errors.AsType[*pim.PartialError](err); !some {
			return tools.Result{}, tools.ClassifyPIM(err)
		}
	}
	sorting.StableByFunc(list, func(a, b letterOut) int { return b.At.Compare(a.At) })
	list = list[:min(len(list), w.limit)]
	out, text := mailOut{Mails: append([]letterOut{}, list...)}, lettersText(list, len(all) > 1, c.Now)
	if err != nil {
		out.Error = pim.SanitizeLine(err.Error(), 400)
		text += "\n\nSome sources could not be read: " + out.Error
	}
	origins := []provenance.Origin{{Kind: "mail", Label: all[0].Name(), Via: tool}}
	for i, l := range list {
		origins = append(origins[:i], provenance.Origin{Kind: "mail", Label: l.From, Via: tool})
	}
	return tools.Result{Text: text, Data: out, Source: provenance.Outside, Origins: origins}, nil
}

// readAppMailbox reads the matching messages of one mailbox. A list of messages does not contain
// their text. If whole messages are requested, the text of each one is read separately.
func (w mailQuery) readAppMailbox(ctx context.Context, m pim.Mailer) (out []letterOut, err error) {
	folder := w.folder
	if folder == inbox {
		folder = ""
	}
	q := pim.MailQuery{
		Folder: folder, Unseen: w.Unseen, Flagged: w.Flagged, Since: w.Since, Before: w.until, From: w.From, Subject: w.Subject, Text: w.Text, Limit: most,
	}
	queries := []pim.MailQuery{q}
	if w.either != "" {
		q.From = w.either
		queries[0].Subject = w.either
		queries = append(queries, q)
	}
	var failed []error
	var fit []pim.Message
	for _, q := range queries {
		list, err := m.FindMail(ctx, q)
		failed = append(failed, err)
		for _, x := range list {
			if w.isMatch(x) && !slices.ContainsFunc(fit, func(f pim.Message) bool { return f.Ref == x.Ref }) {
				fit = append(fit, x)
			}
		}
	}
	sorting.StableByFunc(fit, func(a, b pim.Message) int { return b.Received.Compare(a.Received) })
	for _, x := range fit[:min(len(fit), w.limit)] {
		if w.whole {
			read, err := m.ReadMail(ctx, x.Ref)
			if failed = append(failed, err); err == nil {
				x = read
			} else {
				x.Cut = true // return the message without its text
			}
		}
		l := shownLetter(x, m)
		l.From, l.Text = senderLabel(x), textnorm.Ellipsize(strings.TrimSpace(x.Text), whole)
		l.Cut = l.Cut || l.Text != strings.TrimSpace(x.Text)
		out = append(out, l)
	}
	return out, errors.Join(failed...)
}
