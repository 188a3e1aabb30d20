// Package mail are the tools for the owner's mail, wherever his accounts keep it, or
// in the mail program of this machine where he has given Hob no account:
// read_emails shows the newest ones of a folder, search_emails finds some,
// read_email shows one in full. Brief is the mail's part of a briefing: what is
// unread and matters. What was looked at stays unread.
//
// send_email, draft_email and move_email change something. Whom a mail reaches is
// found out before the owner is asked, and is what he is shown; it is sent to them or
// to nobody.
//
// All that is read is outside text: anybody can write a mail.
package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/phrase"
	"hob/platform/pim"
	"hob/platform/pim/mailbox"
	"hob/platform/provenance"
	"hob/tools"
)

// The time that the server of an account may take: for a briefing, and when its
// mail is asked for.
const (
	briefWait = 8 * time.Second
	askWait   = 40 * time.Second
)

const inbox = "INBOX"

// Deps are what the tools need.
type Deps struct {
	// Accounts lists the owner's accounts that have mail.
	Accounts func() []pim.Account
	// Matters says in a few words why a mail matters to the owner, "" when it is
	// one of many. It is asked once for a briefing; nil: only what is flagged does.
	Matters func(ctx context.Context) (func(pim.Message) string, error)
	// Mailers are the mailboxes that are written to; those that send come first. nil:
	// there are no tools that write mail.
	Mailers func() []pim.Mailer
	// People looks a name up in the owner's address books; nil: there are none.
	People func(ctx context.Context, words string) ([]pim.Contact, error)
	// Attach reads a file that goes with a mail, if the owner allows that it is read.
	Attach func(ctx context.Context, path string) (pim.Attachment, error)
	// Wait is how long the server of an account may take for a briefing (default 8
	// seconds). One that is slower is named, and not waited for.
	Wait time.Duration
}

// why says why a mail matters, "" when it does not.
func (d Deps) why(ctx context.Context) (func(pim.Message) string, error) {
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

// each asks all accounts at the same time. The error says which could not be
// asked; the answers of the others are there all the same, in order, and nil when
// there are no others.
func each[T any](ctx context.Context, accounts []pim.Account, wait time.Duration, ask func(context.Context, *mailbox.Conn, pim.Account) ([]T, error)) ([]T, error) {
	found := make([][]T, len(accounts))
	failed := make([]error, len(accounts))
	var wg sync.WaitGroup
	for i, a := range accounts {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			found[i], failed[i] = signedIn(ctx, a, ask)
			if failed[i] != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				failed[i] = fmt.Errorf("account %s: no response within %s", a.Name, wait)
			}
		})
	}
	wg.Wait()
	out := slices.Concat(found...)
	if out == nil && slices.Contains(failed, nil) {
		out = []T{}
	}
	return out, tools.Unreached(failed)
}

func signedIn[T any](ctx context.Context, a pim.Account, ask func(context.Context, *mailbox.Conn, pim.Account) ([]T, error)) ([]T, error) {
	c, err := mailbox.Open(ctx, a)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() //nolint:contextcheck // signing out has a time of its own
	return ask(ctx, c, a)
}

// of are the accounts that are meant: the one of a name, or all.
func (d Deps) of(name string) ([]pim.Account, error) {
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
	return nil, tools.Errorf(tools.NotFound, "no account %q has mail; accounts with mail: %s", tools.Clean(phrase.Cut(name, 60)), tools.Clean(strings.Join(names, ", ")))
}

// newest reads the heads of the newest of some mails, the newest first. One that
// cannot be read is left out.
func newest(ctx context.Context, c *mailbox.Conn, uids []uint32, limit int) (out []pim.Message, err error) {
	uids = uids[max(0, len(uids)-limit):]
	for len(uids) > 0 {
		n := min(len(uids), mailbox.Page)
		page := uids[len(uids)-n:]
		uids = uids[:len(uids)-n]
		list, err := c.Headers(ctx, page)
		if errors.Is(err, pim.ErrRefused) { // one of them; the others are asked for by themselves
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

// sender is who a mail says it is from.
func sender(m pim.Message) string {
	if len(m.From) == 0 {
		return "an unknown sender"
	}
	return m.From[0].String()
}

// subject is what a mail says it is about.
func subject(m pim.Message, n int) string {
	if s := phrase.Cut(m.Subject, n); s != "" {
		return s
	}
	return "(no subject)"
}
