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

// EraseTx implements erase.Eraser: besides phrases, what came from a source or
// was said in an event.
func (r eraser) EraseTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
	sources := e.Sources
	for _, id := range e.Events {
		sources = append(sources[:len(sources):len(sources)], "event:"+id)
	}
	for _, source := range sources { // before a source is blotted out
		k, err := fromTx(tx, source, e.Realm)
		if err != nil {
			return n, err
		}
		n.Rows += k
	}
	m, err := r.Owned.EraseTx(tx, e, s)
	if err != nil {
		return n, err
	}
	k, err := run(tx, `DELETE FROM entities WHERE name = ? AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity = entities.id)`, erase.Mark) // nobody knows them any more
	n.Rows += k
	return n.Add(m), err
}

// fromTx removes what came from a source. Somebody of whom something else speaks
// stays, by the name that this gives. With a realm nothing but what is there goes.
func fromTx(tx *store.Tx, source, realm string) (n int, err error) {
	for _, stmt := range []string{
		`DELETE FROM relations WHERE source = ?1 AND (?2 = '' OR realm = ?2)`,
		`DELETE FROM entity_aliases WHERE doc = 0 AND entity IN (SELECT id FROM entities e WHERE source = ?1 AND (?2 = '' OR realm = ?2) AND e.id <> 'owner'
			AND NOT EXISTS (SELECT 1 FROM relations WHERE from_id = e.id AND doc = 0) AND NOT EXISTS (SELECT 1 FROM relations WHERE to_id = e.id AND doc = 0))`,
	} {
		k, err := run(tx, stmt, source, realm)
		if err != nil {
			return n, err
		}
		n += k
	}
	if _, err := run(tx, `UPDATE entities SET source = '', by_hand = 0 WHERE source = ?1 AND (?2 = '' OR realm = ?2) AND id <> 'owner'`, source, realm); err != nil {
		return n, err
	}
	k, err := run(tx, `DELETE FROM entities WHERE by_hand = 0 AND `+orphan)
	return n + k, err
}

// orphan says of an entity that nothing speaks of it.
const orphan = `id <> 'owner' AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = entities.id)
	AND NOT EXISTS (SELECT 1 FROM relations WHERE from_id = entities.id) AND NOT EXISTS (SELECT 1 FROM relations WHERE to_id = entities.id)`

func run(tx *store.Tx, stmt string, args ...any) (int, error) {
	r, err := tx.Exec(stmt, args...)
	if err != nil {
		return 0, fmt.Errorf("graph: forget: %w", err)
	}
	n, err := r.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("graph: forget: %w", err)
	}
	return int(n), nil
}
