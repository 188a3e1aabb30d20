package graph

import (
	"fmt"

	"hob/knowledge/store"
	"hob/platform/erase"
)

// Eraser takes out what is to be forgotten. What was made from a row went with
// it; this looks after what was linked by hand.
func (g *Graph) Eraser() erase.Eraser {
	return eraser{erase.Owned{
		List: []erase.Table{
			{Name: "entities", Key: []string{"id"}, Text: []string{"name"}, Names: []string{"source"}},
			{Name: "entity_aliases", Key: []string{"entity", "key", "doc"}, Text: []string{"text"}, Names: []string{"key"}},
			{Name: "relations", Key: []string{"id"}, Names: []string{"source"}},
		},
		Besides: []string{"mentions", "graph_state"}, Forgot: g.forgetNames,
	}}
}

type eraser struct{ erase.Owned }

// EraseTx implements erase.Eraser: besides phrases, what came from a source.
func (r eraser) EraseTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (erase.Erased, error) {
	n, err := r.Owned.EraseTx(tx, e, s)
	if err != nil {
		return n, err
	}
	for _, source := range e.Sources {
		for _, table := range []string{"relations", "entities"} {
			res, err := tx.Exec(`DELETE FROM `+table+` WHERE source = ?`, source)
			if err != nil {
				return n, fmt.Errorf("graph: forget: %w", err)
			}
			k, err := res.RowsAffected()
			if err != nil {
				return n, fmt.Errorf("graph: forget: %w", err)
			}
			n.Rows += int(k)
		}
	}
	return n, nil
}
