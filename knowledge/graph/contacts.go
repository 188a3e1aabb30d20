package graph

import (
	"errors"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/document"
)

// PeopleTx stores the employers of the people that a document names. It returns the ids of the
// stored relations, which KeepTx needs.
func (g *Graph) PeopleTx(tx *store.Tx, list []document.Person, from knowledge.TextOrigin) (out []string, err error) {
	for _, who := range list {
		l, err := g.LinkTx(tx, knowledge.Link{
			From: who.Name, FromKind: knowledge.Person, Relation: "works at", To: who.Org, ToKind: knowledge.Company,
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
