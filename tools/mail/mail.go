// Package mail provides tools for the mail of the owner's accounts, or of the local mail
// program if no account has mail: read_emails lists the newest mails of a folder,
// search_emails searches, read_email shows one in full. Brief is the mail section of a
// briefing: unread mails that matter. Reading leaves mails unread.
//
// send_email, draft_email and move_email change something. The recipients are resolved
// before the approval request, which shows them; the mail is sent to exactly these people
// or not at all.
//
// All mail text is untrusted: anyone can write a mail.
package mail

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Time limits for the server of an account: for a briefing, and for a call.
const (
	briefWait = 8 * time.Second
	askWait   = 40 * time.Second
)

const inbox = "INBOX"

// Deps are the dependencies of the tools.
type Deps struct {
	// Accounts returns the owner's accounts with mail.
	Accounts func() []pim.Account
	// Matters briefly explains why a mail matters to the owner, "" if it does not. It is called
	// once per briefing; nil: only flagged mails matter.
	Matters func(ctx context.Context) (func(pim.Message) string, error)
	// Mailers returns the writable mailboxes; those that can send come first. nil leaves
	// out the tools that write mail.
	Mailers func() []pim.Mailer
	// People looks a name up in the owner's address books; nil: no address books.
	People func(ctx context.Context, words string) ([]pim.Contact, error)
	// Attach reads a file to attach, which the owner must allow Hob to read.
	Attach func(ctx context.Context, path string) (pim.Attachment, error)
	// Wait is how long the server of an account may take for a briefing (default 8 s). The
	// briefing names slower ones without waiting for them.
	Wait time.Duration
}

// importanceReason returns a function that says why a mail matters, "" if it does not.
func (d Deps) importanceReason(ctx context.Context) (func(pim.Message) string, error) {
	more := func(pim.Message) string { return "" }
	if d.Matters != nil {
		var err error
		if more, err = d.Matters(ctx); err != nil {
			return nil, err
		}
	}
	return func(m pim.Message) string {
		if m.Flagged {
			return "flagged"
		}
		return more(m)
	}, nil
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	list := []tools.Tool{d.readEmails(), d.searchEmails()}
	if d.Mailers != nil {
		list = append(list, d.readEmail(), d.sendEmail(), d.draftEmail(), d.moveEmail())
	}
	return list
}

// queryAccounts queries all accounts at the same time. It returns the results in order even with an
// error, which names the failed accounts; the results are nil if all failed.
func queryAccounts[T any](ctx context.Context, accounts []pim.Account, wait time.Duration, ask func(context.Context, *imapmail.Conn, pim.Account) ([]T, error)) ([]T, error) {
	found := make([][]T, len(accounts))
	failed := make([]error, len(accounts))
	var wg sync.WaitGroup
	for i, a := range accounts {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			found[i], failed[i] = signedIn(ctx, a, ask)
			if failed[i] != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				failed[i] = a.Errorf("no response within %s", wait)
			}
		})
	}
	wg.Wait()
	out := slices.Concat(found...)
	if out == nil && slices.Contains(failed, nil) {
		out = []T{}
	}
	return out, tools.JoinSourceErrors(failed)
}

func signedIn[T any](ctx context.Context, a pim.Account, ask func(context.Context, *imapmail.Conn, pim.Account) ([]T, error)) ([]T, error) {
	c, err := imapmail.Open(ctx, a)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() //nolint:contextcheck // signing out has a separate time limit
	return ask(ctx, c, a)
}

// accountsNamed returns the account of that name, or all accounts.
func (d Deps) accountsNamed(name string) ([]pim.Account, error) {
	all := d.Accounts()
	if len(all) == 0 {
		return nil, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "no account has mail", Remedy: "add one with: hob account add"}
	}
	if name = strings.TrimSpace(name); name == "" {
		return all, nil
	}
	var names []string
	for _, a := range all {
		if strings.EqualFold(a.Name, name) {
			return []pim.Account{a}, nil
		}
		names = append(names, a.Name)
	}
	return nil, tools.Errorf(tools.NotFound, "no account %q has mail; accounts with mail: %s", tools.Clean(textnorm.Ellipsize(name, 60)), tools.Clean(strings.Join(names, ", ")))
}

// readNewest reads the headers of the newest of some mails, newest first. It leaves out
// unreadable ones.
func readNewest(ctx context.Context, c *imapmail.Conn, uids []uint32, limit int) (out []pim.Message, err error) {
	uids = uids[max(0, len(uids)-limit):]
	for len(uids) > 0 {
		n := min(len(uids), imapmail.Page)
		page := uids[len(uids)-n:]
		uids = uids[:len(uids)-n]
		list, err := c.Headers(ctx, page)
		if errors.Is(err, pim.ErrRefused) { // one of them is bad; read the others one by one
			list = nil
			for _, u := range page {
				one, err := c.Headers(ctx, []uint32{u})
				if err != nil && !errors.Is(err, pim.ErrRefused) {
					return out, err
				}
				list = append(list, one...)
			}
		} else if err != nil {
			return out, err
		}
		slices.Reverse(list)
		out = append(out, list...)
	}
	return out, nil
}

// senderLabel returns the sender that a mail claims.
func senderLabel(m pim.Message) string {
	if len(m.From) == 0 {
		return "an unknown sender"
	}
	return m.From[0].String()
}

// subjectLine returns the subject of a mail in one line.
func subjectLine(m pim.Message, n int) string {
	if s := textnorm.Ellipsize(m.Subject, n); s != "" {
		return s
	}
	return "(no subject)"
}
