package netaccount

import (
	"context"

	"hob/platform/pim"
	"hob/platform/pim/caldav"
)

// Contacts are the address books of an account.
type Contacts struct{ account pim.Account }

// NewContacts returns the contacts of an account with CardDAV.
func NewContacts(a pim.Account) *Contacts { return &Contacts{a} }

// Name implements pim.Driver.
func (c *Contacts) Name() string { return c.account.Name }

// FindContacts implements pim.Contacts.
func (c *Contacts) FindContacts(ctx context.Context, words string, limit int) ([]pim.Contact, error) {
	d, err := caldav.OpenCards(ctx, c.account)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Cards(ctx, words, limit)
}
