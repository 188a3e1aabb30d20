package apple

import (
	"context"
	"strings"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scriptapp"
)

// Contacts is the address book of the Contacts app.
type Contacts struct{ scriptapp.App }

// NewContacts returns Contacts that run their scripts with r.
func NewContacts(r osrun.Runner) *Contacts {
	return &Contacts{newApp(r, "com.apple.AddressBook", "Contacts", func(file string) osrun.Script { return loadScript(file) })}
}

// noYear is the year that Contacts uses for a birthday without a year.
const noYear = 1604

// FindContacts implements pim.Contacts.
func (c *Contacts) FindContacts(ctx context.Context, text string, limit int) ([]pim.Contact, error) {
	var got struct {
		People []struct {
			ID, Name, Company string
			Addresses, Phones []string
			Born              *int64
		}
		Partial []string
	}
	if err := c.Read(ctx, "find_contacts.js", struct {
		Words []string `json:"words"`
		Limit int      `json:"limit"`
	}{scriptapp.SearchWords(text), limit}, &got); err != nil {
		return nil, err
	}
	out := make([]pim.Contact, 0, len(got.People))
	for _, p := range got.People {
		x := pim.Contact{Ref: p.ID, Name: pim.SanitizeLine(p.Name, 120), Company: pim.SanitizeLine(p.Company, 120)}
		for _, a := range p.Addresses {
			x.Addresses = append(x.Addresses, strings.ToLower(pim.SanitizeLine(a, 254)))
		}
		for _, n := range p.Phones {
			x.Phones = append(x.Phones, pim.SanitizeLine(n, 40))
		}
		if p.Born != nil { // stored as noon in UTC
			if t := time.UnixMilli(*p.Born).UTC(); t.Year() == noYear {
				x.Birthday = t.Format("--01-02")
			} else {
				x.Birthday = t.Format(time.DateOnly)
			}
		}
		out = append(out, x)
	}
	var warnings []string
	for _, w := range got.Partial {
		warnings = append(warnings, "Contacts: "+w)
	}
	return out, pim.Partial(warnings...)
}
