package graph

import (
	"fmt"

	"hob/platform/store"
	"hob/platform/store/erase"
)

// Eraser returns the eraser for manual links. Data derived from a row is deleted with the row.
func (g *Graph) Eraser() erase.Eraser {
	return erase.Owned{
		Before: eraseSourcesTx,
		List: []erase.Table{
			{Name: "entities", Key: []string{"id"}, Text: []string{"name"}, Names: []string{"source"}},
			{Name: "entity_aliases", Key: []string{"entity", "key", "doc", "source"}, Text: []string{"text"}, Names: []string{"key", "source"}},
			{Name: "relations", Key: []string{"id"}, Names: []string{"source"}},
		},
		After: removeNamelessTx, Besides: []string{"mentions", "graph_state", "entity_pairs"}, Forgot: g.resetNames,
	}
}

// eraseSourcesTx erases links from a source or an event, before the source itself is redacted.
func eraseSourcesTx(tx *store.Tx, e *erase.Erasure, _ *erase.Scrubber) (n erase.Erased, err error) {
	sources := e.Sources
	for _, id := range e.Events {
		sources = append(sources[:len(sources):len(sources)], "event:"+id)
	}
	for _, source := range sources {
		k, err := eraseOriginTx(tx, source, e.Realm)
		if err != nil {
			return n, err
		}
		n.Rows += k
	}
	return n, nil
}

// removeNamelessTx removes entities without any name left.
func removeNamelessTx(tx *store.Tx, _ *erase.Erasure, _ *erase.Scrubber) (n erase.Erased, err error) {
	n.Rows, err = execCounted(tx, `DELETE FROM entities WHERE name = ? AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity = entities.id)`, erase.Mark)
	return n, err
}

// eraseOriginTx removes the data of a source. If other data mentions an entity, the entity keeps
// the names that the other data uses. An entity that is part of a link always keeps at least one
// name. realm limits the removal to one realm.
func eraseOriginTx(tx *store.Tx, source, realm string) (n int, err error) {
	const there = ` AND (?2 = '' OR entity IN (SELECT id FROM entities WHERE realm = ?2))`
	for _, stmt := range []string{
		`DELETE FROM relations WHERE source = ?1 AND (?2 = '' OR realm = ?2)`,
		`DELETE FROM entity_aliases WHERE doc = 0 AND source = ?1` + there + ` AND (` + unlinked + `
			OR EXISTS (SELECT 1 FROM entity_aliases b WHERE b.entity = entity_aliases.entity AND (b.doc <> 0 OR b.source <> entity_aliases.source)))`,
	} {
		k, err := execCounted(tx, stmt, source, realm)
		if err != nil {
			return n, err
		}
		n += k
	}
	for _, stmt := range []string{
		`UPDATE OR REPLACE entity_aliases SET source = '' WHERE source = ?1` + there,
		`UPDATE entities SET source = '', by_hand = 0 WHERE source = ?1 AND (?2 = '' OR realm = ?2) AND id <> 'owner'`,
	} {
		if _, err := execCounted(tx, stmt, source, realm); err != nil {
			return n, err
		}
	}
	k, err := execCounted(tx, `DELETE FROM entities WHERE by_hand = 0 AND `+orphan)
	return n + k, err
}

const (
	// unspoken selects entities that no row mentions and that have no relations. orphan selects the
	// subset that also has no manual name.
	unspoken = `id <> 'owner' AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = entities.id)
	AND NOT EXISTS (SELECT 1 FROM relations WHERE from_id = entities.id) AND NOT EXISTS (SELECT 1 FROM relations WHERE to_id = entities.id)`
	orphan = unspoken + ` AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity = entities.id AND doc = 0)`
	// unlinked selects aliases of entities that have no manual link.
	unlinked = `NOT EXISTS (SELECT 1 FROM relations WHERE from_id = entity_aliases.entity AND doc = 0) AND NOT EXISTS (SELECT 1 FROM relations WHERE to_id = entity_aliases.entity AND doc = 0)`
)

func execCounted(tx *store.Tx, stmt string, args ...any) (int, error) {
	r, err := tx.Exec(stmt, args...)
	if err != nil {
		return 0, fmt.Errorf("graph: erase entities: %w", err)
	}
	n, err := r.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("graph: erase entities: %w", err)
	}
	return int(n), nil
}
