package graph

import (
	"cmp"
	"errors"
	"slices"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/document"
)

// PeopleTx stores the people that a document names: their addresses and phone numbers, and their
// employers. It returns the ids of the stored people and relations, which KeepTx needs. People from
// untrusted text stay apart from people that the user named (see RestoreEntityTx).
func (g *Graph) PeopleTx(tx *store.Tx, list []document.Person, from knowledge.TextOrigin) (out []string, err error) {
	for _, who := range list {
		id, err := g.personTx(tx, who, from)
		if err != nil {
			return nil, err
		}
		if id != "" {
			out = append(out, id)
		}
		if who.Org == "" {
			continue
		}
		l, err := g.LinkTx(tx, knowledge.Link{
			From: cmp.Or(id, who.Name), FromKind: knowledge.Person, Relation: "works at", To: who.Org, ToKind: knowledge.Company,
			Realm: from.Realm, Provenance: from.Provenance, Source: from.Source, At: from.At,
		})
		switch {
		case err == nil:
			out = append(out, l.Relation.ID)
		case !errors.Is(err, knowledge.ErrNoEntity) && !errors.Is(err, knowledge.ErrAmbiguous) && !errors.Is(err, knowledge.ErrSame):
			return nil, err
		}
	}
	return out, nil
}

// personTx stores a person with addresses or numbers, and returns the id, or "" if the person has
// none.
func (g *Graph) personTx(tx *store.Tx, who document.Person, from knowledge.TextOrigin) (string, error) {
	names := slices.Concat(who.Mails, who.Phones)
	if len(names) == 0 || len(nameKey(who.Name)) > 100 {
		return "", nil
	}
	id, _, err := g.RestoreEntityTx(tx, knowledge.Entity{
		Name: who.Name, Kind: knowledge.Person, Aliases: names[:min(len(names), maxUpsertNames)], Realm: from.Realm, Provenance: from.Provenance, Source: from.Source, CreatedAt: from.At,
	})
	if errors.Is(err, knowledge.ErrNoEntity) {
		return "", nil
	}
	return id, err
}
