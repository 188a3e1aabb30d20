package app

import (
	"context"
	"path/filepath"
	"slices"

	"hob/autonomy/config"
	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/tools/contacts"
)

// accountMailers returns the mailboxes of the user's accounts; those that can send come first.
func (d *App) accountMailers() (out []pim.Mailer) {
	accounts := slices.Clone(d.opt.Config.Accounts)
	slices.SortStableFunc(accounts, func(a, b config.Account) int {
		switch sends := a.HasServer(pim.SMTP); {
		case sends == b.HasServer(pim.SMTP):
			return 0
		case sends:
			return -1
		}
		return 1
	})
	for _, c := range accounts {
		if c.MissingKeys() == "" && (c.HasServer(pim.SMTP) || c.HasServer(pim.IMAP)) {
			out = append(out, netaccount.NewMail(d.accountServers(c)))
		}
	}
	return append(out, d.appMailers(len(out) > 0)...)
}

// accountCalendars returns the calendars of the user's accounts.
func (d *App) accountCalendars() (out []pim.Calendars) {
	for _, a := range d.accountsWith("caldav")() {
		out = append(out, netaccount.NewCalendars(a))
	}
	if len(out) == 0 {
		out = d.appCalendars()
	}
	return out
}

// addressBooks returns the address books of the user's accounts, or the one of this machine.
func (d *App) addressBooks() (out []pim.Contacts) {
	for _, a := range d.accountsWith("carddav")() {
		out = append(out, netaccount.NewContacts(a))
	}
	if len(out) == 0 {
		out = d.appBooks()
	}
	return out
}

// searchContacts searches a name in the address books.
func (d *App) searchContacts(ctx context.Context, words string) ([]pim.Contact, error) {
	return contacts.Find(ctx, d.addressBooks(), words, 20)
}

// readAttachment reads a mail attachment from a file that the user allows Hob to read.
func (d *App) readAttachment(ctx context.Context, path string) (pim.Attachment, error) {
	doc, err := d.files.ReadDocument(ctx, path, pim.MaxFileBytes)
	if err != nil {
		return pim.Attachment{}, err
	}
	return pim.Attachment{Name: filepath.Base(doc.Path), Data: doc.Content}, nil
}
