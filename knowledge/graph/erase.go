package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// Eraser returns the eraser for manual links. Data derived from a row is deleted with the row.
func (g *Graph) Eraser() erase.Eraser {
	return erase.Owned{
		Before: eraseSourcesTx,
		List: []erase.Table{
			// The names come first: when one is deleted, a trigger renames its entity to another name.
			{Name: "entity_aliases", Key: []string{"entity", "key", "doc", "source"}, Names: []string{"text", "key", "source"}},
			{Name: "entities", Key: []string{"id"}, Text: []string{"name"}, Names: []string{"source"}},
			{Name: "relations", Key: []string{"id"}, Names: []string{"source"}},
		},
		Quotes: g.quotedTexts,
		After:  removeNamelessTx, Besides: []string{"mentions", "graph_state", "entity_pairs"}, Forgot: g.resetNames,
	}
}

// erasedSources returns the sources from which all links are erased.
func erasedSources(e *erase.Erasure) []string {
	sources := slices.Clone(e.Sources)
	for _, id := range e.Events {
		sources = append(sources, "event:"+id)
	}
	return sources
}

// quotedTexts returns the erased relations as sentences, because the contexts of conversations
// contain them in this form.
func (g *Graph) quotedTexts(q store.Querier, e *erase.Erasure) (out []string, err error) {
	var list []relation
	add := func(where string, args ...any) {
		if err == nil {
			var more []relation
			more, err = scanRelations(q.Query(`SELECT `+relationColumns+` FROM relations r WHERE `+where, args...))
			list = append(list, more...)
		}
	}
	for _, source := range erasedSources(e) {
		add(`source = ?1 AND (?2 = '' OR realm = ?2)`, source, e.Realm)
	}
	for _, id := range e.Facts {
		add(`fact = ?1 OR doc IN (SELECT n FROM docs WHERE ref = ?1 AND kind IN (?2, ?3))`, id, knowledge.KindFact, knowledge.KindRetired)
	}
	if err != nil {
		return nil, fmt.Errorf("graph: read erased relations: %w", err)
	}
	for _, r := range list {
		x := edge{relation: r}
		if x.from, err = rootName(q, r.From); err == nil {
			x.to, err = rootName(q, r.To)
		}
		if errors.Is(err, knowledge.ErrNoEntity) {
			continue
		}
		if err != nil {
			return nil, err
		}
		shown, err := g.describeEdges(q, knowledge.EdgeQuery{Limit: 1}, []edge{x})
		if err != nil {
			return nil, err
		}
		for _, s := range shown {
			out = append(out, s.Text)
		}
	}
	return out, nil
}

// eraseSourcesTx erases links from a source or an event, before the source itself is redacted.
func eraseSourcesTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
	for _, source := range erasedSources(e) {
		k, err := eraseOriginTx(tx, source, e.Realm)
		if err != nil {
			return n, err
		}
		n.Rows += k
	}
	k, err := eraseRelationNamesTx(tx, s)
	n.Rows += k
	return n, err
}

// eraseRelationNamesTx erases relations whose name contains erased text. Names contain underscores
// instead of spaces.
func eraseRelationNamesTx(tx *store.Tx, s *erase.Scrubber) (n int, err error) {
	names, err := scanStrings(tx.Query(`SELECT DISTINCT name FROM relations`))
	if err != nil {
		return 0, fmt.Errorf("graph: read relations: %w", err)
	}
	for _, name := range names {
		if !s.Has(strings.ReplaceAll(name, "_", " ")) {
			continue
		}
		k, err := execCounted(tx, `DELETE FROM relations WHERE name = ?`, name)
		if err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}

// removeNamelessTx removes entities without any name left.
func removeNamelessTx(tx *store.Tx, _ *erase.Erasure, _ *erase.Scrubber) (n erase.Erased, err error) {
	n.Rows, err = execCounted(tx, `DELETE FROM entities WHERE instr(name, ?) > 0 AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity = entities.id)`, erase.Mark)
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
		`DELETE FROM entity_aliases WHERE source = '' AND ?1 <> '' AND EXISTS (SELECT 1 FROM entity_aliases b WHERE b.source = ?1 AND b.entity = entity_aliases.entity
			AND b.key = entity_aliases.key AND b.doc = entity_aliases.doc)` + there,
		`UPDATE entity_aliases SET source = '' WHERE source = ?1` + there,
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
