// Package mail provides tools for the email of the owner's accounts, or of the local mail program
// if no account has email. read_emails lists the newest messages of a folder, search_emails
// searches, and read_email shows one message in full. Brief is the email section of a briefing: the
// unread messages that matter. Reading a message does not mark it as read.
//
// send_email, draft_email and move_email make changes. The recipients are resolved before the
// approval request, which shows them. The message is sent to exactly these people or not at all.
//
// All text of messages is untrusted, because anyone can send an email.
package mail

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Time limits for the server of an account, in a briefing and in a call.
const (
	briefWait = 8 * time.Second
	askWait   = 40 * time.Second
)

const inbox = "INBOX"

// Deps are the dependencies of the tools.
type Deps struct {
	// Accounts returns the owner's email accounts.
	Accounts func() []pim.Account
	// Matters returns a function that briefly explains why a message matters to the owner, and
	// returns "" if it does not. Matters is called once per briefing. If it is nil, only flagged
	// messages matter.
	Matters func(ctx context.Context) (func(pim.Message) string, error)
	// Mailers returns the writable mailboxes, starting with the mailboxes that can send. If it is
	// nil, the tools that write are omitted.
	Mailers func() []pim.Mailer
	// People finds a name in the owner's address books. It is nil if there are none.
	People func(ctx context.Context, words string) ([]pim.Contact, error)
	// Attach reads a file to be attached. The owner must have allowed Hob to read it.
	Attach func(ctx context.Context, path string) (pim.Attachment, error)
	// Save creates a file with untrusted content in a folder ("" selects the default one), and
	// UndoSave deletes it. If Save is nil, save_email_attachment is omitted.
	Save     func(ctx context.Context, folder, name string, content []byte, origins []provenance.Origin) (SavedFile, error)
	UndoSave func(ctx context.Context, undo json.RawMessage) (string, error)
	// Calendars returns the calendars for accepted invitations, the default one first. It is nil if
	// there are none.
	Calendars func() []pim.Calendars
	// Network sends requests to unsubscribe. If it is nil, email_unsubscribe is omitted.
	Network *safehttp.Client
	// Rules stores the rules for arriving emails. If it is nil, their tools are omitted.
	Rules *Rules
	// Now returns the current time in the owner's zone. The default is the process's clock.
	Now func() time.Time
	// Wait is the time limit for the server of an account in a briefing (default 8 s). The briefing
	// names servers that exceed it.
	Wait time.Duration
}

// importanceReason returns a function that explains why a message matters. The function returns ""
// if the message does not matter.
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
	list := []tools.Tool{d.readEmails(), d.searchEmails(), d.emailTriage(), d.emailSummarizeThread()}
	if d.Network != nil {
		list = append(list, d.emailUnsubscribe())
	}
	if d.Rules != nil {
		list = append(list, d.createEmailRule(), d.listEmailRules(), d.removeEmailRule())
	}
	if d.Mailers != nil {
		list = append(list, d.readEmail(), d.sendEmail(), d.draftEmail(), d.editDraft(), d.moveEmail(), d.answerEmailInvitation())
		if d.Save != nil {
			list = append(list, d.saveEmailAttachment())
		}
	}
	return list
}

// queryAccounts queries all accounts concurrently and returns the results in the order of the
// accounts. If some accounts fail, it also returns an error that names them. The results are nil if
// all accounts failed.
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

// accountsNamed returns the named account, or all accounts if name is "".
func (d Deps) accountsNamed(name string) ([]pim.Account, error) {
	all := d.Accounts()
	if len(all) == 0 {
		return nil, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "no account has email", Remedy: "add one with: hob account add"}
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
	return nil, tools.Errorf(tools.NotFound, "no account %q has email; accounts with email: %s", tools.Clean(textnorm.Ellipsize(name, 60)), tools.Clean(strings.Join(names, ", ")))
}

// readNewest reads the headers of the newest of the given messages, newest first. It omits
// unreadable messages.
func readNewest(ctx context.Context, c *imapmail.Conn, uids []uint32, limit int) (out []pim.Message, err error) {
	uids = uids[max(0, len(uids)-limit):]
	for len(uids) > 0 {
		n := min(len(uids), imapmail.Page)
		page := uids[len(uids)-n:]
		uids = uids[:len(uids)-n]
		list, err := c.Headers(ctx, page)
		if errors.Is(err, pim.ErrRefused) { // one of the messages is unreadable, so read them one by one
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

// senderLabel returns the sender that a message claims to have.
func senderLabel(m pim.Message) string {
	if len(m.From) == 0 {
		return "an unknown sender"
	}
	return m.From[0].String()
}

// subjectLine returns the subject of a message as one line.
func subjectLine(m pim.Message, n int) string {
	if s := textnorm.Ellipsize(m.Subject, n); s != "" {
		return s
	}
	return "(no subject)"
}
