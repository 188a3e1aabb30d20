package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
)

// Limits of a card.
const (
	maxCard    = 1 << 20 // bytes, without images
	maxAliases = 50
)

// contactCard contains the imported fields of a vCard (RFC 6350, and versions 2.1 and 3.0): names,
// email addresses, phone numbers and employers.
type contactCard struct {
	uid, name, kind         string
	nick, mails, tels, orgs []string
	title, note, birthday   string
	size                    int
	broken                  error
}

// readVCard reads the cards in a file.
func readVCard(r io.Reader, t recordFunc) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxRecord)
	var c *contactCard
	n, began := 0, 0
	flush := func(l string) error {
		name, value := parseProperty(l)
		switch {
		case name == "BEGIN" && strings.EqualFold(value, "VCARD"):
			c, began = &contactCard{}, n
		case name == "END" && strings.EqualFold(value, "VCARD") && c != nil:
			one := *c
			c = nil
			return one.emitCard(t, fmt.Sprintf("card at line %d", began))
		case c != nil:
			c.addProperty(name, value)
		}
		return nil
	}
	held := ""
	for in.Scan() {
		n++
		l := strings.TrimRight(strings.ToValidUTF8(in.Text(), "\uFFFD"), "\r")
		if n == 1 {
			l = strings.TrimPrefix(l, "\uFEFF")
		}
		if rest, ok := unfoldLine(l, held); ok && held != "" {
			if len(held) < maxCard {
				held += rest
			}
			continue
		}
		if err := flush(held); err != nil {
			return err
		}
		held = l
	}
	if err := flush(held); err != nil {
		return err
	}
	if c != nil {
		t.skip(fmt.Sprintf("card at line %d", began), errors.New("END:VCARD is missing"))
	}
	return scanError(in)
}

// unfoldLine reports whether a line continues the previous one. It does if it starts with
// whitespace, or if the previous line ends in "=", as in quoted-printable.
func unfoldLine(l, before string) (string, bool) {
	if l != "" && (l[0] == ' ' || l[0] == '\t') {
		return l[1:], true
	}
	if strings.HasSuffix(before, "=") && strings.Contains(strings.ToUpper(before), "QUOTED-PRINTABLE") {
		return "\n" + l, true
	}
	return "", false
}

// parseProperty parses a line: "item1.TEL;TYPE=cell:+1 555".
func parseProperty(l string) (name, value string) {
	head, value, _ := strings.Cut(l, ":")
	params := strings.Split(strings.ToUpper(head), ";")
	name = params[0]
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	for _, p := range params[1:] {
		if strings.HasSuffix(p, "QUOTED-PRINTABLE") {
			b, err := io.ReadAll(io.LimitReader(quotedprintable.NewReader(strings.NewReader(value)), maxCard))
			if err == nil {
				value = strings.ToValidUTF8(string(b), "\uFFFD")
			}
		}
	}
	return name, value
}

func (c *contactCard) addProperty(name, value string) {
	if slices.Contains([]string{"PHOTO", "LOGO", "KEY", "SOUND"}, name) {
		return
	}
	if c.size += len(value); c.size > maxCard {
		c.broken = errors.New("the card is larger than 1 MB")
		return
	}
	parts := splitValue(value)
	plain := strings.TrimSpace(strings.Join(parts, " "))
	switch name {
	case "UID":
		c.uid = plain
	case "FN":
		c.name = plain
	case "N":
		if c.name == "" && len(parts) > 1 {
			c.name = strings.TrimSpace(parts[1] + " " + parts[0])
		}
	case "NICKNAME":
		c.nick = append(c.nick, strings.Split(plain, ",")...)
	case "EMAIL":
		c.mails = append(c.mails, strings.ToLower(plain))
	case "TEL":
		c.tels = append(c.tels, strings.TrimPrefix(plain, "tel:"))
	case "ORG":
		c.orgs = append(c.orgs, strings.TrimSpace(parts[0]))
	case "TITLE", "ROLE":
		c.title = plain
	case "BDAY":
		c.birthday = plain
	case "NOTE":
		c.note = plain
	case "KIND":
		c.kind = strings.ToLower(plain)
	case "X-ABSHOWAS":
		if strings.EqualFold(plain, "company") {
			c.kind = "org"
		}
	}
}

// splitValue splits a value at semicolons (RFC 6350 section 3.4).
func splitValue(s string) []string {
	out := []string{""}
	last := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			if s[i] == 'n' || s[i] == 'N' {
				out[last] += "\n"
			} else {
				out[last] += s[i : i+1]
			}
		case s[i] == ';' && len(out) < 32:
			out = append(out, "")
			last++
		default:
			out[last] += s[i : i+1]
		}
	}
	return out
}

// emitCard emits an entity, its employer, and a searchable row.
func (c contactCard) emitCard(t recordFunc, where string) error {
	c.name = line1(c.name)
	if c.name == "" && len(c.orgs) > 0 {
		c.name, c.kind = line1(c.orgs[0]), "org"
	}
	if c.broken == nil && c.name == "" {
		c.broken = errors.New("the card has no name")
	}
	if c.broken != nil {
		t.skip(where, c.broken)
		return nil
	}
	e := knowledge.Entity{ID: stableRef("vcard", c.uid, c.name), Name: c.name, Kind: knowledge.Person, Provenance: provenance.Outside}
	if c.kind == "org" {
		e.Kind = knowledge.Company
	}
	for _, list := range [][]string{c.nick, c.mails, c.tels} {
		for _, a := range list {
			if a = line1(a); a != "" && !slices.Contains(e.Aliases, a) && len(e.Aliases) < maxAliases {
				e.Aliases = append(e.Aliases, a)
			}
		}
	}
	if err := t.emitRecord(where, Record{Entity: &e}); err != nil {
		return err
	}
	if len(c.orgs) > 0 && e.Kind == knowledge.Person && line1(c.orgs[0]) != "" {
		org := line1(c.orgs[0])
		o := knowledge.Entity{ID: stableRef("vcard", "org", org), Name: org, Kind: knowledge.Company, Provenance: provenance.Outside}
		if err := t.emitRecord(where, Record{Entity: &o}); err != nil {
			return err
		}
		if err := t.emitRecord(where, Record{Relation: &knowledge.Relation{ID: stableRef("vcard", "works", e.ID, o.ID), From: e.ID, Name: "works_at", To: o.ID, Provenance: provenance.Outside}}); err != nil {
			return err
		}
	}
	return t.emitRecord(where, Record{Fact: &knowledge.Fact{ID: "f" + e.ID, Text: c.describeCard(e), Provenance: provenance.Outside, CreatedAt: time.Time{}}})
}

// describeCard describes a card in one sentence.
func (c contactCard) describeCard(e knowledge.Entity) string {
	out := []string{}
	for _, p := range [][2]string{{"mail", strings.Join(c.mails, ", ")}, {"phone", strings.Join(c.tels, ", ")}, {"works at", strings.Join(c.orgs, ", ")}, {"is", c.title}, {"birthday", c.birthday}, {"note", c.note}} {
		if v := strings.Join(strings.Fields(p[1]), " "); v != "" {
			out = append(out, p[0]+" "+v)
		}
	}
	if len(out) == 0 {
		return e.Name + " is in the address book"
	}
	return textnorm.Ellipsize(e.Name+": "+strings.Join(out, "; "), 2000)
}

func line1(s string) string { return textnorm.Ellipsize(strings.Join(strings.Fields(s), " "), 120) }
