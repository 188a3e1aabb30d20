package app

import (
	"context"
	"slices"
	"strings"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/notify"
	"hob/knowledge"
	"hob/knowledge/graph"
	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools/calendar"
	"hob/tools/mail"
)

// findAccount returns one of the user's accounts with a server, for the watchers. The password is
// resolved at sign-in.
func (d *App) findAccount(name, server string) (pim.Account, error) {
	c, err := d.opt.Config.Account(name, func(a config.Account) bool { return a.HasServer(server) })
	if err != nil {
		return pim.Account{}, err
	}
	return d.accountServers(c), nil
}

func (d *App) accountServers(c config.Account) pim.Account {
	a := c.Account
	a.Secret = func(ctx context.Context) (string, error) { return d.resolveSecretContext(ctx, c.Password) }
	if d.opt.Play != nil {
		a = d.opt.Play.Account(a)
	}
	return a
}

// accountsWith lists the owner's complete accounts that have a server.
func (d *App) accountsWith(server string) func() []pim.Account {
	return func() (out []pim.Account) {
		for _, c := range d.opt.Config.Accounts {
			if c.HasServer(server) && c.MissingKeys() == "" {
				out = append(out, d.accountServers(c))
			}
		}
		return out
	}
}

func (d *App) calendarDeps() calendar.Deps {
	return calendar.Deps{
		Accounts: d.accountsWith("caldav"), Apps: d.appCalendars, Calendars: d.accountCalendars, Mailers: d.accountMailers, People: d.searchContacts,
		Now: func() time.Time { return time.Now().In(d.zone()) },
	}
}

func (d *App) mailDeps() mail.Deps {
	return mail.Deps{Accounts: d.accountsWith(pim.IMAP), Matters: d.mailRelevance, Mailers: d.accountMailers, Attach: d.readAttachment, People: d.searchContacts}
}

// maxKnown limits the number of known people that are compared with mail senders.
const maxKnown = 2000

// mailRelevance returns a function that decides which mails are important: by the user's notification
// rules, and by the people in the user's facts. People known only from untrusted text do not
// count.
func (d *App) mailRelevance(ctx context.Context) (func(pim.Message) string, error) {
	q := d.store.Reader(ctx)
	list, err := d.graph.Entities(q, graph.Filter{Kind: knowledge.Person, Limit: maxKnown})
	if err != nil {
		return nil, err
	}
	var ids []string
	list = slices.DeleteFunc(list, func(e knowledge.Entity) bool { return e.Provenance != provenance.Owner })
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	own, err := d.graph.TrustedNames(q, ids...)
	if err != nil {
		return nil, err
	}
	o, err := noticeOptions(d.opt.Config.Notify)
	if err != nil {
		return nil, err
	}
	return func(m pim.Message) string {
		var addresses, names []string
		for _, p := range m.From {
			addresses, names = append(addresses, p.Address), append(names, p.Name)
		}
		if u, rule := notify.RateMail(o.Rules, addresses, names, m.Subject); u != 0 {
			if u > notify.Normal {
				return rule
			}
			return ""
		}
		for _, p := range m.From {
			for _, e := range list {
				if isPerson(own[e.ID], p) {
					return "you know " + e.Name
				}
			}
		}
		return ""
	}, nil
}

// isPerson compares a sender with a known person: by address, or by a name of at least two
// words.
func isPerson(names []string, p pim.Person) bool {
	name := textnorm.FoldedWords(p.Name)
	for _, n := range names {
		if p.Address != "" && strings.EqualFold(n, p.Address) {
			return true
		}
		if known := textnorm.FoldedWords(n); len(known) > 1 && slices.Equal(known, name) {
			return true
		}
	}
	return false
}
