package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/autonomy/config"
	"hob/platform/pim"
	"hob/platform/pim/caldav"
	"hob/platform/pim/mailbox"
	"hob/platform/pim/outgoing"
)

// accountWait bounds the answers of one account's servers.
const accountWait = 10 * time.Second

const accountRemedy = "see the section of the account in the configuration and docs/accounts.md"

// checkAccounts signs in to the servers of each account. It reads nothing there
// and sends nothing.
func checkAccounts(ctx context.Context, e Env) []Check {
	found := make([][]Check, len(e.Config.Accounts))
	var wg sync.WaitGroup
	for i, a := range e.Config.Accounts {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, accountWait)
			defer cancel()
			found[i] = checkAccount(ctx, e, a)
		})
	}
	wg.Wait()
	var out []Check
	for _, f := range found {
		out = append(out, f...)
	}
	return out
}

func checkAccount(ctx context.Context, e Env, c config.Account) []Check {
	name := "account " + c.Name
	if missing := c.Missing(); missing != "" {
		return fail(name, missing, fmt.Sprintf("hob config set accounts.%s.KEY VALUE (docs/accounts.md)", c.Name))
	}
	a := c.Servers()
	a.Secret = func(ctx context.Context) (string, error) {
		v, err := e.Secrets.Resolve(ctx, c.Password)
		return v.Reveal(), err
	}
	var good []string
	for _, x := range []struct {
		there bool
		ask   func(context.Context, pim.Account) (string, error)
	}{{a.IMAP != "", askMail}, {a.SMTP != "", askOutgoing}, {a.CalDAV != "", askCalendars}} {
		if !x.there {
			continue
		}
		said, err := x.ask(ctx, a)
		if err != nil {
			return fail(name, strings.TrimPrefix(err.Error(), name+": "), remedyOf(err, c))
		}
		good = append(good, said)
	}
	return ok(name, strings.Join(good, "; "))
}

func remedyOf(err error, c config.Account) string {
	if errors.Is(err, pim.ErrSignIn) {
		return fmt.Sprintf("many providers want an app password here; set it: hob secret set mail, then hob config set accounts.%s.password keychain:mail", c.Name)
	}
	return accountRemedy
}

func askMail(ctx context.Context, a pim.Account) (string, error) {
	m, err := mailbox.Open(ctx, a)
	if err != nil {
		return "", err
	}
	defer func() { _ = m.Close() }() //nolint:contextcheck // signing out has a time of its own
	if _, err := m.Select(ctx, "INBOX"); err != nil {
		return "", err
	}
	if m.Pushes() {
		return "mail can be read, and new mail shows at once", nil
	}
	return "mail can be read, and is looked for each minute (the server cannot tell of new mail by itself)", nil
}

func askOutgoing(ctx context.Context, a pim.Account) (string, error) {
	return "mail can be sent", outgoing.SignIn(ctx, a)
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
	return "calendars: " + pim.Line(strings.Join(names, ", "), 200), nil
}
