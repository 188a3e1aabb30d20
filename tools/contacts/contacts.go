// Package contacts provides search_contacts, which finds people in the owner's address books by
// name, company, address or number.
//
// Text from an address book is untrusted, because servers create contacts from email and other
// people may share the address book.
package contacts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of a result.
const (
	usual   = 10
	most    = 50
	askWait = 20 * time.Second
)

// Deps are the dependencies of the tools.
type Deps struct {
	// Books returns the owner's address books.
	Books func() []pim.Contacts
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool { return []tools.Tool{d.searchContacts()} }

type searchIn struct {
	Query string `json:"query" jsonschema:"words from a name, company, email address or number"`
	Limit int    `json:"limit,omitempty" jsonschema:"default 10, at most 50"`
}

// searchOut is the Data of a search_contacts result.
type searchOut struct {
	Contacts []pim.Contact `json:"contacts"`
	Error    string        `json:"error,omitempty"` // sources that could not be read
}

// Find searches all address books concurrently. It returns matches even with an error, which names
// the sources that could not be read.
func Find(ctx context.Context, books []pim.Contacts, words string, limit int) ([]pim.Contact, error) {
	results := make([][]pim.Contact, len(books))
	failed := make([]error, len(books))
	var wg sync.WaitGroup
	for i, b := range books {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, askWait)
			defer cancel()
			results[i], failed[i] = b.FindContacts(ctx, words, limit)
		})
	}
	wg.Wait()
	out := []pim.Contact{}
	for _, c := range slices.Concat(results...) {
		if len(out) < limit && !slices.ContainsFunc(out, func(o pim.Contact) bool {
			return o.Name == c.Name && slices.Equal(o.Addresses, c.Addresses) && slices.Equal(o.Phones, c.Phones)
		}) {
			out = append(out, c)
		}
	}
	return out, errors.Join(failed...)
}

func (d Deps) searchContacts() tools.Tool {
	return tools.New(tools.Def[searchIn]{
		Spec: tools.Spec{
			Name: "search_contacts", Category: "contacts", Effects: tools.Read, Timeout: time.Minute,
			Description: "Find people in the user's address books: email addresses, phone numbers, company, birthday.",
			Keywords:    "contact contacts address book person people phone number email address of birthday who is call",
		},
		Summary: func(in searchIn) string {
			return "Search for " + textnorm.Ellipsize(in.Query, 80) + " in the address book"
		},
		Run: func(ctx context.Context, _ tools.Call, in searchIn) (tools.Result, error) {
			books := d.Books()
			switch {
			case len(books) == 0:
				return tools.Result{}, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "no account has an address book", Remedy: "set " + pim.CardDAV + " of an account"}
			case len(textnorm.FoldedWords(in.Query)) == 0:
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "query is empty; name the person")
			case in.Limit < 0:
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "limit must be 1 to %d", most)
			case in.Limit == 0:
				in.Limit = usual
			}
			list, err := Find(ctx, books, in.Query, min(in.Limit, most))
			if err != nil && len(list) == 0 {
				return tools.Result{}, tools.Quoting(tools.Errorf(tools.Failed, "address book cannot be read: %w", err), provenance.Outside)
			}
			out := searchOut{Contacts: list}
			text := listText(in.Query, list)
			if err != nil {
				out.Error = pim.SanitizeLine(err.Error(), 400)
				text += "\n\nSome sources could not be read: " + out.Error
			}
			return tools.Result{
				Text: text, Data: out, Source: provenance.Outside,
				Origins: []provenance.Origin{{Kind: "contacts", Label: books[0].Name(), Via: "search_contacts"}},
			}, nil
		},
	})
}

func listText(query string, list []pim.Contact) string {
	if len(list) == 0 {
		return fmt.Sprintf("No one in the address book matches %q.", textnorm.Ellipsize(query, 80))
	}
	var b strings.Builder
	for i, c := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("- " + c.Name)
		if c.Company != "" && c.Company != c.Name {
			b.WriteString(" (" + c.Company + ")")
		}
		for _, x := range [][2]string{
			{"mail", strings.Join(c.Addresses, ", ")}, {"phone", strings.Join(c.Phones, ", ")}, {"birthday", c.Birthday}, {"note", c.Notes},
		} {
			if x[1] != "" {
				b.WriteString("; " + x[0] + ": " + x[1])
			}
		}
	}
	return b.String()
}
