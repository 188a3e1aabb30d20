package graph

import (
	"slices"
	"strings"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// Aliases returns the other names, addresses and numbers of a person, who is identified by name or
// relation: "Ana", "my sister" or only "sister". Names from untrusted text are ignored, because an
// unknown sender could use them to impersonate that person.
func (g *Graph) Aliases(q store.Querier, name string) (out []string, _ error) {
	for _, name := range []string{name, "my " + name} {
		some, err := g.trustedAliases(q, name)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

func (g *Graph) trustedAliases(q store.Querier, name string) (out []string, _ error) {
	list, err := g.Named(q, []string{""}, name)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range list {
		if !e.Provenance.Tainted() {
			ids = append(ids, e.ID)
		}
	}
	own, err := g.TrustedNames(q, ids...)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if names := own[id]; slices.ContainsFunc(names, func(n string) bool { return textnorm.EqualFolded(n, name) }) {
			out = append(out, names...)
		}
	}
	return out, nil
}

// maxKnownPeople limits the number of people that KnownPeople compares.
const maxKnownPeople = 2000

// KnownPeople returns a function that finds a person in the user's facts by the name or the address
// of a sender. The function returns the person's name, or "" if the sender is unknown. People known
// only from untrusted text are ignored.
func (g *Graph) KnownPeople(q store.Querier) (func(name, address string) string, error) {
	list, err := g.Entities(q, Filter{Kind: knowledge.Person, Limit: maxKnownPeople})
	if err != nil {
		return nil, err
	}
	var ids []string
	list = slices.DeleteFunc(list, func(e knowledge.Entity) bool { return e.Provenance != provenance.Owner })
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	own, err := g.TrustedNames(q, ids...)
	if err != nil {
		return nil, err
	}
	return func(name, address string) string {
		for _, e := range list {
			if isPerson(own[e.ID], name, address) {
				return e.Name
			}
		}
		return ""
	}, nil
}

// isPerson compares a sender with a known person: by address, or by a name of at least two words.
func isPerson(names []string, name, address string) bool {
	sender := textnorm.FoldedWords(name)
	for _, n := range names {
		if address != "" && strings.EqualFold(n, address) {
			return true
		}
		if known := textnorm.FoldedWords(n); len(known) > 1 && slices.Equal(known, sender) {
			return true
		}
	}
	return false
}

// ContactAliases returns the other names, addresses and numbers of a person. If they cannot be
// read, it logs the error and returns none.
func (g *Graph) ContactAliases(q store.Querier, name string) []string {
	out, err := g.Aliases(q, name)
	if err != nil {
		g.o.Log.Warn("unknown person", "err", err)
	}
	return out
}
