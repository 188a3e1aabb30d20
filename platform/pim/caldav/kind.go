package caldav

import (
	"context"

	"hob/platform/pim"
)

// Calendars is the account kind of calendar servers.
type Calendars struct{}

// Describe implements pim.AccountKind.
func (Calendars) Describe() pim.AccountDescription {
	return pim.AccountDescription{
		Key: pim.CalDAV, Label: "calendars", Flag: "address of the calendars (CalDAV)", Check: pim.CheckURL,
		Question:  "Address of your calendars, such as https://dav.example.org/",
		Help:      `The address of the calendar server: "https://dav.example.org/".`,
		Announced: []pim.AnnouncedService{{Service: "caldavs", Prefix: "https://", Suffix: "/"}},
	}
}

// Test implements pim.AccountKind. It lists the calendars.
func (Calendars) Test(ctx context.Context, a pim.Account) (string, error) {
	c, err := Open(ctx, a)
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
	return "calendars: " + pim.JoinNames(names), nil
}

// AddressBooks is the account kind of address book servers.
type AddressBooks struct{}

// Describe implements pim.AccountKind.
func (AddressBooks) Describe() pim.AccountDescription {
	return pim.AccountDescription{
		Key: pim.CardDAV, Label: "people", Flag: "address of the address books (CardDAV)", Check: pim.CheckURL,
		Question: "Address of your address books, such as https://dav.example.org/",
		Help:     `The address of the address book server: "https://dav.example.org/". Empty: Hob looks up no contacts.`,
	}
}

// Test implements pim.AccountKind. It lists the address books.
func (AddressBooks) Test(ctx context.Context, a pim.Account) (string, error) {
	c, err := OpenCards(ctx, a)
	if err != nil {
		return "", err
	}
	defer c.Close()
	books, err := c.Books(ctx)
	return "address books: " + pim.JoinNames(books), err
}
