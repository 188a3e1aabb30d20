package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of unsubscribing.
const (
	newsletterLook = 200 // newest emails of the inbox that are checked
	newsletterMost = 30  // newsletters in a list
	unsubscribeMax = 64 << 10
)

type unsubscribeIn struct {
	Sender  string `json:"sender,omitempty" jsonschema:"address or name of the newsletter's sender, its mailing list, or the id of one of its emails; empty: only list the newsletters"`
	Account string `json:"account,omitempty" jsonschema:"only this account"`
}

// The ways to leave a newsletter.
const (
	byOneClick = "one-click" // Hob can send the request of RFC 8058
	byPage     = "page"      // only a web page on which the user must confirm
	byMail     = "email"     // only an email to an address
)

// newsletter is a sender whose messages name a way to unsubscribe.
type newsletter struct {
	Account string    `json:"account"`
	From    string    `json:"from"`
	List    string    `json:"list,omitempty"`
	Count   int       `json:"count"` // emails among the newest ones
	Last    time.Time `json:"last"`
	Way     string    `json:"way"` // one-click, page or email
	Address string    `json:"address"`
	ID      string    `json:"id"` // the newest email

	sender string // address of the sender
	uid    uint32 // the newest email in the inbox
}

type unsubscribeOut struct {
	Newsletters []newsletter `json:"newsletters"`
	Status      int          `json:"status,omitempty"` // of the server's response
	Error       string       `json:"error,omitempty"`
}

func (d Deps) emailUnsubscribe() tools.Tool {
	return tools.New(tools.Def[unsubscribeIn]{
		Spec: tools.Spec{
			Name: "email_unsubscribe", Category: "mail", Effects: tools.Read | tools.Send, Timeout: 2 * time.Minute,
			Description: "Unsubscribe from a newsletter or mailing list with the one-click request of its emails, or list the newsletters in the inbox. If there is no one-click request, offer a rule (create_email_rule).",
			Keywords:    "unsubscribe newsletter mailing list stop receiving promotional marketing emails mail spam opt out leave subscription",
		},
		Summary: func(in unsubscribeIn) string {
			if strings.TrimSpace(in.Sender) == "" {
				return "List the newsletters in the inbox"
			}
			return fmt.Sprintf("Unsubscribe from %q", textnorm.Ellipsize(in.Sender, 100))
		},
		Judge: func(ctx context.Context, in unsubscribeIn) tools.CallAssessment {
			if strings.TrimSpace(in.Sender) == "" {
				return tools.CallAssessment{Effects: tools.Read}
			}
			n, err := d.findOneClick(ctx, in)
			if err != nil {
				return refusedJudgment(err)
			}
			return tools.CallAssessment{
				Effects: tools.Send, To: []string{hostOf(n.Address)}, Exact: n.approvalBinding(),
				Why: fmt.Sprintf("it sends the request List-Unsubscribe=One-Click to %s, as the emails of %s ask for; the server learns that your address is in use", n.Address, n.From),
			}
		},
		Run: func(ctx context.Context, c tools.Call, in unsubscribeIn) (tools.Result, error) {
			if strings.TrimSpace(in.Sender) == "" {
				return d.listNewsletters(ctx, in)
			}
			n, err := d.findOneClick(ctx, in)
			if err != nil {
				return tools.Result{}, err
			}
			if n.approvalBinding() != c.Exact {
				return tools.Result{}, tools.Errorf(tools.Conflict, "the newest email of this sender now names a different address than the approved one; nothing was sent")
			}
			if err := c.Commit(); err != nil {
				return tools.Result{}, err
			}
			return d.sendOneClick(ctx, n)
		},
	})
}

func (n newsletter) approvalBinding() string { return "POST " + n.Address + " for " + n.sender }

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return strings.ToLower(u.Host)
}

// findNewsletters returns the newsletters among the newest messages of the inbox, the most frequent
// first.
func (d Deps) findNewsletters(ctx context.Context, account string) ([]newsletter, error) {
	if apps := d.appMailboxes(); len(apps) > 0 {
		return nil, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "the mail program " + apps[0].Name() + " does not show Hob the header fields of newsletters", Remedy: "add the account with: hob account add"}
	}
	list, err := eachMailbox(ctx, d, account, func(ctx context.Context, r folderReader, owner mailboxOwner) ([]newsletter, error) {
		mails, err := r.newestMails(ctx, inbox, time.Time{}, newsletterLook, false)
		out := []newsletter{}
		for _, m := range mails {
			way, address := unsubscribeWay(m)
			if address == "" || len(m.From) == 0 {
				continue
			}
			n := newsletter{Account: owner.account, From: senderLabel(m), List: m.List, Count: 1, Last: m.Received, Way: way, Address: address, ID: m.Ref, sender: m.From[0].Address, uid: m.UID}
			i := slices.IndexFunc(out, func(x newsletter) bool { return x.sender == n.sender && x.List == n.List })
			if i < 0 {
				out = append(out, n)
				continue
			}
			out[i].Count++
		}
		return out, err
	})
	sorting.StableByFunc(list, func(a, b newsletter) int { return cmp.Or(b.Count-a.Count, b.Last.Compare(a.Last)) })
	return list, err
}

// unsubscribeWay returns the best way to unsubscribe that a message names. RFC 8058 requires HTTPS
// and an address that identifies the recipient by itself.
func unsubscribeWay(m pim.Message) (way, address string) {
	for _, a := range m.Unsubscribe {
		scheme, _, _ := strings.Cut(strings.ToLower(a), ":")
		switch {
		case scheme == "https" && m.OneClick:
			return byOneClick, a
		case (scheme == "https" || scheme == "http") && way != byPage:
			way, address = byPage, a
		case scheme == "mailto" && way == "":
			way, address = byMail, a
		}
	}
	return way, address
}

// matchesWords reports whether a newsletter is meant by words, an address or the id of a message.
func (n newsletter) matchesWords(words string) bool {
	words = strings.TrimSpace(words)
	if n.ID == words || strings.EqualFold(n.sender, words) || n.List != "" && strings.EqualFold(n.List, strings.Trim(words, "<>")) {
		return true
	}
	return !strings.Contains(words, "@") && textnorm.ContainsAllWords(n.From+" "+n.List, textnorm.FoldedWords(words))
}

// findOneClick finds the newsletter of the arguments, which must support RFC 8058.
func (d Deps) findOneClick(ctx context.Context, in unsubscribeIn) (newsletter, error) {
	if d.Network == nil {
		return newsletter{}, tools.Errorf(tools.Unsupported, "network access is not configured")
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	all, err := d.findNewsletters(ctx, in.Account)
	if err != nil && len(all) == 0 {
		return newsletter{}, tools.ClassifyPIM(err)
	}
	all = slices.DeleteFunc(all, func(n newsletter) bool { return !n.matchesWords(in.Sender) })
	words := tools.Clean(textnorm.Ellipsize(in.Sender, 80))
	rule := "create a rule for these emails with create_email_rule"
	switch {
	case len(all) == 0:
		return newsletter{}, &tools.Error{Source: provenance.Tool, Code: tools.NotFound, Message: fmt.Sprintf("no newsletter of %q is among the newest %d emails of the inbox", words, newsletterLook), Remedy: rule}
	case len(all) > 1 && slices.ContainsFunc(all, func(n newsletter) bool { return n.sender != all[0].sender }):
		var b strings.Builder
		for _, n := range all[:min(len(all), 8)] {
			fmt.Fprintf(&b, "\n- %s (%s)", n.From, n.ID)
		}
		return newsletter{}, outsideError(tools.Errorf(tools.InvalidArguments, "%d newsletters match %q; name one by its address:%s", len(all), words, b.String()))
	}
	n := all[0]
	for _, x := range all { // a sender may have several lists
		if x.Way == byOneClick {
			n = x
			break
		}
	}
	switch n.Way {
	case byPage:
		return n, outsideError(&tools.Error{Code: tools.Unsupported, Message: fmt.Sprintf("%s has no one-click unsubscribing (RFC 8058), only a web page on which you must confirm: %s", n.From, n.Address), Remedy: "open the page yourself, or " + rule})
	case byMail:
		return n, outsideError(&tools.Error{Code: tools.Unsupported, Message: fmt.Sprintf("%s has no one-click unsubscribing (RFC 8058), only an email to %s", n.From, n.Address), Remedy: "send that email with send_email, or " + rule})
	}
	if _, err := d.Network.Check(n.Address); err != nil {
		return n, outsideError(tools.Errorf(tools.PolicyDenied, "the address for unsubscribing from %s is not allowed: %w", n.From, err))
	}
	if _, err := safehttp.Canonical(n.Address); err == nil { // the user allows the others, in the user's own network, by configuration
		if err := d.checkSignature(ctx, n); err != nil {
			return n, outsideError(err)
		}
	}
	return n, nil
}

// sendOneClick sends the request of RFC 8058: a POST with this body and without cookies. A
// redirect is not followed.
func (d Deps) sendOneClick(ctx context.Context, n newsletter) (tools.Result, error) {
	res, err := d.Network.Fetch(ctx, safehttp.Request{
		Method: http.MethodPost, URL: n.Address, Body: []byte("List-Unsubscribe=One-Click"), Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		MaxBody: unsubscribeMax, Partial: true, Timeout: 30 * time.Second,
	})
	if err != nil {
		if e, ok := errors.AsType[*safehttp.Error](err); ok && !e.Sent {
			code := tools.Failed
			if e.Refusal() {
				code = tools.PolicyDenied
			}
			return tools.Result{}, outsideError(&tools.Error{Code: code, Message: "unsubscribe from " + n.From + ": " + e.Message, Remedy: cmp.Or(e.Remedy, "create a rule with create_email_rule"), Err: err})
		}
		return tools.Result{}, outsideError(tools.Errorf(tools.OutcomeUnknown, "outcome unknown: the request to unsubscribe from %s was sent, but got no answer (%w); it was not repeated", n.From, err))
	}
	out := unsubscribeOut{Newsletters: []newsletter{n}, Status: res.Status}
	result := tools.Result{Data: out, Source: provenance.Outside, Origins: []provenance.Origin{{Kind: "mail", Label: n.From, Via: "email_unsubscribe"}}}
	switch {
	case res.Status >= 200 && res.Status < 300:
		result.Text = fmt.Sprintf("Unsubscribed from %s: the server %s accepted the request. Further emails may arrive for a few days.", n.From, hostOf(n.Address))
		return result, nil
	case res.Status >= 300 && res.Status < 400:
		return tools.Result{}, outsideError(&tools.Error{Code: tools.Failed, Message: fmt.Sprintf("unsubscribe from %s: the server redirects to another page (status %d), which RFC 8058 forbids; Hob did not follow it", n.From, res.Status), Remedy: "create a rule with create_email_rule"})
	}
	return tools.Result{}, outsideError(&tools.Error{Code: tools.Failed, Message: fmt.Sprintf("unsubscribe from %s: the server %s refused the request with status %d", n.From, hostOf(n.Address), res.Status), Remedy: "create a rule with create_email_rule"})
}

// listNewsletters lists the newsletters in the inbox. It contacts only the mail server.
func (d Deps) listNewsletters(ctx context.Context, in unsubscribeIn) (tools.Result, error) {
	list, err := d.findNewsletters(ctx, in.Account)
	if err != nil && list == nil {
		return tools.Result{}, tools.ClassifyPIM(err)
	}
	list = list[:min(len(list), newsletterMost)]
	out := unsubscribeOut{Newsletters: append([]newsletter{}, list...)}
	text := "No newsletter is in the inbox."
	if len(list) > 0 {
		text = "Newsletters in the inbox, the most frequent first:"
	}
	origins := []provenance.Origin{{Kind: "mail", Label: "the inbox", Via: "email_unsubscribe"}}
	for i, n := range list {
		how := map[string]string{byOneClick: "Hob can unsubscribe you", byPage: "only on a web page: " + textnorm.Ellipsize(n.Address, 120), byMail: "only by email: " + textnorm.Ellipsize(n.Address, 120)}[n.Way]
		text += fmt.Sprintf("\n- %s: %s; %s", n.From, countEmails(n.Count), how)
		origins = append(origins[:i], provenance.Origin{Kind: "mail", Label: n.From, Via: "email_unsubscribe"})
	}
	if err != nil {
		out.Error = pim.SanitizeLine(err.Error(), 400)
		text += "\n\nSome sources could not be read: " + out.Error
	}
	return tools.Result{Text: text, Data: out, Source: provenance.Outside, Origins: origins}, nil
}
