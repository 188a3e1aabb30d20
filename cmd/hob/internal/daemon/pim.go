package daemon

import (
	"context"
	"path/filepath"
	"slices"

	"hob/autonomy/config"
	"hob/platform/pim"
	"hob/platform/pim/internet"
	"hob/tools/contacts"
)

// mailers returns the mailboxes of the user's accounts; those that can send come first.
func (d *Daemon) mailers() (out []pim.Mailer) {
	accounts := slices.Clone(d.opt.Config.Accounts)
	slices.SortStableFunc(accounts, func(a, b config.Account) int {
		switch sends := a.Has(pim.SMTP); {
		case sends == b.Has(pim.SMTP):
			return 0
		case sends:
			return -1
		}
		return 1
	})
	for _, c := range accounts {
		if c.Missing() == "" && (c.Has(pim.SMTP) || c.Has(pim.IMAP)) {
			out = append(out, internet.NewMail(d.servers(c)))
		}
	}
	return append(out, d.appMailers(len(out) > 0)...)
}

// calendars returns those of the user's accounts.
func (d *Daemon) calendars() (out []pim.Calendars) {
	for _, a := range d.accounts("caldav")() {
		out = append(out, internet.NewCalendars(a))
	}
	if len(out) == 0 {
		out = d.appCalendars()
	}
	return out
}

// addressBooks returns those of the user's accounts, or that of this machine.
func (d *Daemon) addressBooks() (out []pim.Contacts) {
	for _, a := range d.accounts("carddav")() {
		out = append(out, internet.NewContacts(a))
	}
	if len(out) == 0 {
		out = d.appBooks()
	}
	return out
}

// people searches a name in the address books.
func (d *Daemon) people(ctx context.Context, words string) ([]pim.Contact, error) {
	return contacts.Find(ctx, d.addressBooks(), words, 20)
}

// attach reads a mail attachment from a file that the user allows Hob to read.
func (d *Daemon) attach(ctx context.Context, path string) (pim.Attachment, error) {
	doc, err := d.files.ReadDocument(ctx, path, pim.MaxFileBytes)
	if err != nil {
		return pim.Attachment{}, err
	}
	return pim.Attachment{Name: filepath.Base(doc.Path), Data: doc.Content}, nil
}
