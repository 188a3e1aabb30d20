// Package mail are the tools that read the owner's mail, wherever his accounts
// keep it: read_emails shows the newest ones of a folder, search_emails finds
// some. Brief is the mail's part of a briefing: what is unread and matters. They
// change nothing: what was looked at stays unread.
//
// All of it is outside text: anybody can write a mail.
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
func Tools(d Deps) []tools.Tool { return []tools.Tool{d.readEmails(), d.searchEmails()} }

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
				failed[i] = fmt.Errorf("account %s: it does not answer within %s", a.Name, wait)
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
		return nil, &tools.Error{Code: tools.Unsupported, Message: "no account has mail", Remedy: "the owner can add one with: hob account add"}
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
	return nil, tools.Errorf(tools.NotFound, "no account %q has mail; there are %s", phrase.Cut(name, 60), strings.Join(names, ", "))
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
		return "somebody unnamed"
	}
	return phrase.Cut(m.From[0].String(), 120)
}

// subject is what a mail says it is about.
func subject(m pim.Message, n int) string {
	if s := phrase.Cut(m.Subject, n); s != "" {
		return s
	}
	return "(no subject)"
}
