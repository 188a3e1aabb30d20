package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/emersion/go-ical"
	"github.com/emersion/go-vcard"
)

// parseCalendar reads the events and tasks of an iCalendar file (RFC 5545).
func (p *parser) parseCalendar(_ string, data []byte) (*Document, error) {
	s, err := decodeOrError(data)
	if err != nil {
		return nil, err
	}
	d := &Document{}
	dec := ical.NewDecoder(strings.NewReader(strings.TrimLeft(s, "\ufeff \n")))
	for {
		c, err := dec.Decode()
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			if len(d.Sections) > 0 {
				d.Cut = true
				return d, nil //nolint:nilerr // keep the components parsed before the error
			}
			return nil, newBrokenError("%w", err)
		}
		if name, err := c.Props.Text("X-WR-CALNAME"); err == nil && d.Title == "" {
			d.Title = name
		}
		for _, child := range c.Children {
			if len(d.Sections) >= p.limits.Entries {
				d.Cut = true
				return d, nil
			}
			if child.Name == ical.CompEvent || child.Name == ical.CompToDo || child.Name == ical.CompJournal {
				d.addAppointment(child)
			}
		}
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
	}
}

func (d *Document) addAppointment(c *ical.Component) {
	title := propText(c, ical.PropSummary)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", title)
	for _, x := range []struct{ name, prop string }{{"Start", ical.PropDateTimeStart}, {"End", ical.PropDateTimeEnd}, {"Due", ical.PropDue}} {
		if s := formatMoment(c, x.prop); s != "" {
			fmt.Fprintf(&b, "%s: %s\n", x.name, s)
		}
	}
	if p := c.Props.Get(ical.PropRecurrenceRule); p != nil {
		fmt.Fprintf(&b, "Repeats: %s\n", p.Value)
	}
	for _, x := range []struct{ name, prop string }{{"Place", ical.PropLocation}, {"Status", ical.PropStatus}} {
		if s := propText(c, x.prop); s != "" {
			fmt.Fprintf(&b, "%s: %s\n", x.name, s)
		}
	}
	for _, prop := range []string{ical.PropOrganizer, ical.PropAttendee} {
		for _, a := range c.Props.Values(prop) {
			who := Person{Name: a.Params.Get(ical.ParamCommonName)}
			if mail, ok := strings.CutPrefix(strings.ToLower(a.Value), "mailto:"); ok {
				who.Mails = []string{mail}
			}
			if who.Name != "" || who.Mails != nil {
				d.People = append(d.People, who)
				fmt.Fprintf(&b, "With: %s %s\n", who.Name, strings.Join(who.Mails, " "))
			}
		}
	}
	if s := propText(c, ical.PropDescription); s != "" {
		b.WriteString("\n" + s)
	}
	d.Sections = append(d.Sections, Section{Heading: []string{title}, Text: b.String()})
}

func propText(c *ical.Component, name string) string {
	s, err := c.Props.Text(name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(s)
}

// formatMoment formats a time in the zone that the file specifies.
func formatMoment(c *ical.Component, name string) string {
	p := c.Props.Get(name)
	if p == nil {
		return ""
	}
	t, err := p.DateTime(time.UTC)
	if err != nil {
		return p.Value // the zone of the time is unknown
	}
	if p.ValueType() == ical.ValueDate {
		return t.Format("Mon 2006-01-02")
	}
	return t.Format("Mon 2006-01-02 15:04 MST")
}

// parseCards reads a vCard file (RFC 6350); each card is one person.
func (p *parser) parseCards(_ string, data []byte) (*Document, error) {
	s, err := decodeOrError(data)
	if err != nil {
		return nil, err
	}
	d := &Document{}
	dec := vcard.NewDecoder(bytes.NewReader([]byte(s)))
	for {
		c, err := dec.Decode()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && len(d.Sections) == 0 {
			return nil, newBrokenError("%w", err)
		}
		if err != nil || len(d.Sections) >= p.limits.Entries {
			d.Cut = true
			break
		}
		d.addCard(c)
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
	}
	if len(d.Sections) == 1 {
		d.Title = d.People[0].Name
	}
	return d, nil
}

func (d *Document) addCard(c vcard.Card) {
	who := Person{Name: c.PreferredValue(vcard.FieldFormattedName), Org: strings.Trim(strings.ReplaceAll(c.Value(vcard.FieldOrganization), ";", ", "), ", ")}
	if n := c.Name(); who.Name == "" && n != nil {
		who.Name = strings.TrimSpace(n.GivenName + " " + n.FamilyName)
	}
	var b strings.Builder
	b.WriteString(who.Name + "\n")
	for _, m := range c.Values(vcard.FieldEmail) {
		who.Mails = append(who.Mails, strings.TrimPrefix(strings.TrimSpace(m), "mailto:"))
	}
	for _, t := range c.Values(vcard.FieldTelephone) {
		who.Phones = append(who.Phones, strings.TrimPrefix(strings.TrimSpace(t), "tel:"))
	}
	for _, x := range []struct {
		name   string
		values []string
	}{
		{"Organisation", []string{who.Org}},
		{"Title", c.Values(vcard.FieldTitle)},
		{"Mail", who.Mails},
		{"Phone", who.Phones},
		{"Birthday", c.Values(vcard.FieldBirthday)},
		{"Web", c.Values(vcard.FieldURL)},
		{"Note", c.Values(vcard.FieldNote)},
	} {
		if v := strings.Join(x.values, ", "); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", x.name, v)
		}
	}
	for _, a := range c.Addresses() {
		parts := []string{a.StreetAddress, a.PostalCode + " " + a.Locality, a.Region, a.Country}
		fmt.Fprintf(&b, "Address: %s\n", strings.Join(cleanHeading(parts), ", "))
	}
	d.People = append(d.People, who)
	d.Sections = append(d.Sections, Section{Heading: []string{who.Name}, Text: b.String()})
}
