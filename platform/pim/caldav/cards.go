package caldav

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/emersion/go-vcard"

	"hob/platform/pim"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// Limits for reading address books.
const (
	maxBooks  = 20
	maxCard   = 1 << 20 // bytes of one card, including its picture
	maxValues = 10      // maximum addresses or numbers of one card
)

const (
	askBooks = `<?xml version="1.0"?><d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop>` +
		`<d:current-user-principal/><c:addressbook-home-set/><d:resourcetype/><d:displayname/></d:prop></d:propfind>`
	askCards = `<?xml version="1.0"?><c:addressbook-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><d:getetag/><c:address-data/></d:prop>` +
		`<c:filter test="anyof">%s</c:filter></c:addressbook-query>`
	askCard = `<c:prop-filter name="%s"><c:text-match collation="i;unicode-casemap" match-type="contains">%s</c:text-match></c:prop-filter>`
)

// book is one address book.
type book struct {
	at   *url.URL
	name string
}

// Books returns the names of the user's address books (RFC 6352, 7.1).
func (c *Client) Books(ctx context.Context) (names []string, err error) {
	list, err := c.addressBooks(ctx)
	for _, b := range list {
		names = append(names, b.name)
	}
	return names, err
}

func (c *Client) addressBooks(ctx context.Context) ([]book, error) {
	well := *c.base
	well.Path, well.RawPath = "/.well-known/carddav", ""
	var first error
	for _, u := range []*url.URL{c.base, &well} {
		list, err := c.booksFrom(ctx, u, 2)
		if len(list) > 0 {
			return list[:min(len(list), maxBooks)], nil
		}
		if first = errors.Join(first, err); errors.Is(err, pim.ErrSignIn) {
			return nil, err
		}
		if s, is := errors.AsType[*statusError](err); is && s.code >= http.StatusInternalServerError {
			return nil, err
		}
	}
	if first == nil {
		first = c.account.Errorf("no address book found; set carddav to the address of your address book")
	}
	return nil, first
}

// booksFrom determines whether an address is an address book, an address book home or the user's
// principal. For a principal, it reads the home.
func (c *Client) booksFrom(ctx context.Context, u *url.URL, more int) (out []book, err error) {
	ms, at, err := c.requestXML(ctx, "PROPFIND", u, "0", askBooks)
	if err != nil {
		return nil, err
	}
	for _, r := range ms.Responses {
		p := r.mergeProps()
		if p.Type.Book != nil {
			return []book{{at, pim.SanitizeLine(p.Name, 120)}}, nil
		}
		for _, home := range p.Books.Href[:min(len(p.Books.Href), maxHomes)] {
			to, err := at.Parse(home)
			if err != nil {
				continue
			}
			ms, where, err := c.requestXML(ctx, "PROPFIND", to, "1", askBooks)
			if err != nil {
				return nil, err
			}
			for _, r := range ms.Responses {
				if p := r.mergeProps(); p.Type.Book != nil {
					if b, err := where.Parse(r.Href); err == nil {
						out = append(out, book{b, pim.SanitizeLine(p.Name, 120)})
					}
				}
			}
		}
		if len(out) == 0 && len(p.Principal.Href) > 0 && more > 0 {
			if to, err := at.Parse(p.Principal.Href[0]); err == nil {
				return c.booksFrom(ctx, to, more-1)
			}
		}
	}
	return out, nil
}

// Cards finds contacts whose names, company, addresses or numbers contain all words. An error
// together with contacts names the address books that could not be read.
func (c *Client) Cards(ctx context.Context, words string, limit int) ([]pim.Contact, error) {
	want := textnorm.FoldedWords(words)
	if len(want) == 0 {
		return nil, fmt.Errorf("%w: search text is empty", pim.ErrInvalid)
	}
	list, err := c.addressBooks(ctx)
	if err != nil {
		return nil, err
	}
	longest := slices.MaxFunc(strings.Fields(words), func(a, b string) int { return len(a) - len(b) })
	var text strings.Builder
	if err := xml.EscapeText(&text, []byte(longest)); err != nil {
		return nil, err
	}
	some := ""
	for _, name := range []string{"FN", "NICKNAME", "ORG", "EMAIL", "TEL"} {
		some += fmt.Sprintf(askCard, name, text.String())
	}
	out := []pim.Contact{}
	var failed []error
	for _, b := range list {
		found, err := c.queryCards(ctx, b, some, want)
		if len(found) == 0 && ctx.Err() == nil { // servers compare different fields and treat accents differently, so read all contacts
			found, err = c.queryCards(ctx, b, `<c:prop-filter name="FN"/>`, want)
		}
		failed = append(failed, err)
		out = append(out, found...)
	}
	out = out[:min(len(out), limit)]
	sorting.StableByFunc(out, func(a, b pim.Contact) int { return strings.Compare(a.Name, b.Name) })
	return out, errors.Join(failed...)
}

// queryCards queries one address book.
func (c *Client) queryCards(ctx context.Context, b book, filter string, want []string) (out []pim.Contact, err error) {
	ms, _, err := c.requestXML(ctx, "REPORT", b.at, "1", fmt.Sprintf(askCards, filter))
	if err != nil {
		return nil, err
	}
	for _, r := range ms.Responses {
		if x, ok := parseCard(r.mergeProps().Card, want); ok {
			if at, err := b.at.Parse(r.Href); err == nil {
				x.Ref = at.String()
			}
			out = append(out, x)
		}
	}
	return out, nil
}

// parseCard parses a contact card (RFC 6350). ok is false if the card is not valid or does not
// contain all words.
func parseCard(data string, want []string) (x pim.Contact, ok bool) {
	defer func() {
		if recover() != nil { // the parser may panic on invalid data
			ok = false
		}
	}()
	if data == "" || len(data) > maxCard {
		return x, false
	}
	v, err := vcard.NewDecoder(strings.NewReader(data)).Decode()
	if err != nil {
		return x, false
	}
	x.Name = pim.SanitizeLine(v.PreferredValue(vcard.FieldFormattedName), 120)
	x.Company = pim.SanitizeLine(strings.Trim(strings.ReplaceAll(v.Value(vcard.FieldOrganization), ";", ", "), ", "), 120)
	x.Birthday = pim.SanitizeLine(v.Value(vcard.FieldBirthday), 20)
	x.Notes = pim.SanitizeLine(v.Value(vcard.FieldNote), 500)
	for _, m := range v.Values(vcard.FieldEmail) {
		if len(x.Addresses) < maxValues {
			x.Addresses = append(x.Addresses, strings.ToLower(pim.SanitizeLine(m, 254)))
		}
	}
	for _, t := range v.Values(vcard.FieldTelephone) {
		if len(x.Phones) < maxValues {
			x.Phones = append(x.Phones, pim.SanitizeLine(strings.TrimPrefix(t, "tel:"), 40))
		}
	}
	if x.Name == "" {
		x.Name = x.Company
	}
	have := textnorm.FoldedWords(strings.Join(append(append([]string{x.Name, x.Company, v.Value(vcard.FieldNickname)}, x.Addresses...), x.Phones...), " "))
	for _, w := range want {
		if !slices.ContainsFunc(have, func(h string) bool { return strings.HasPrefix(h, w) }) {
			return x, false
		}
	}
	return x, true
}
