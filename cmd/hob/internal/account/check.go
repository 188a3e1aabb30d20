package account

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/caldav"
	"hob/platform/pim/imapmail"
	"hob/platform/pim/smtpmail"
)

// Answer is the response of one server of an account.
type Answer struct {
	Server string // "imap", "smtp" or "caldav"
	Said   string // for the owner
	Err    error
}

// checkWait bounds the answers of one account's servers.
const checkWait = 10 * time.Second

// maxSaid limits the text about a server, in characters.
const maxSaid = 400

// Check signs in to each server of an account, without reading or sending mail.
func Check(ctx context.Context, a pim.Account) []Answer {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	var out []Answer
	var asks []func(context.Context, pim.Account) (string, error)
	for _, x := range []struct {
		name, server string
		ask          func(context.Context, pim.Account) (string, error)
	}{{"imap", a.IMAP, askMail}, {"smtp", a.SMTP, askOutgoing}, {"caldav", a.CalDAV, askCalendars}, {"carddav", a.CardDAV, askPeople}} {
		if x.server != "" {
			out, asks = append(out, Answer{Server: x.name}), append(asks, x.ask)
		}
	}
	var wg sync.WaitGroup
	for i, ask := range asks {
		wg.Go(func() {
			said, err := ask(ctx, a)
			if out[i].Said = pim.SanitizeLine(said, maxSaid); err != nil {
				out[i].Err = lineError{pim.SanitizeLine(err.Error(), maxSaid), err}
			}
		})
	}
	wg.Wait()
	return out
}

// lineError is a server's error on one line that is safe for a terminal: certificates and
// answers are untrusted.
type lineError struct {
	line string
	err  error
}

// Error implements error.
func (e lineError) Error() string { return e.line }

// Unwrap returns the error.
func (e lineError) Unwrap() error { return e.err }

// Refused reports whether a server refused the sign-in.
func (a Answer) Refused() bool { return errors.Is(a.Err, pim.ErrSignIn) }

func askMail(ctx context.Context, a pim.Account) (string, error) {
	m, err := imapmail.Open(ctx, a)
	if err != nil {
		return "", err
	}
	defer func() { _ = m.Close() }() //nolint:contextcheck // signing out has a time of its own
	if _, err := m.Select(ctx, "INBOX"); err != nil {
		return "", err
	}
	if m.Pushes() {
		return "mail can be read; new mail is detected immediately", nil
	}
	return "mail can be read and is polled every minute (the server has no push)", nil
}

func askOutgoing(ctx context.Context, a pim.Account) (string, error) {
	return "mail can be sent", smtpmail.SignIn(ctx, a)
}

func askPeople(ctx context.Context, a pim.Account) (string, error) {
	c, err := caldav.OpenCards(ctx, a)
	if err != nil {
		return "", err
	}
	defer c.Close()
	books, err := c.Books(ctx)
	return "address books: " + pim.SanitizeLine(strings.Join(books, ", "), 200), err
}

func askCalendars(ctx context.Context, a pim.Account) (string, error) {
	c, err := caldav.Open(ctx, a)
	if err != nil {
		return "", err
	}
	defer c.Close()
	list, err := c.Calendars(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, l := range list {
		names = append(names, l.Name)
	}
	return "calendars: " + pim.SanitizeLine(strings.Join(names, ", "), 200), nil
}
