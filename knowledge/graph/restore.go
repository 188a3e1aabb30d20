package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/shortid"
)

// ForEach calls entity and relation for all stored data, for export.
func (g *Graph) ForEach(q store.Querier, entity func(knowledge.Entity) error, relation func(knowledge.Relation) error) error {
	const page = 500
	for after := ""; ; {
		ids, err := scanStrings(q.Query(`SELECT id FROM entities WHERE id > ? AND merged_into = '' ORDER BY id LIMIT ?`, after, page))
		if err != nil {
			return fmt.Errorf("graph: export entities: %w", err)
		}
		list, err := g.loadEntities(q, ids)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := entity(e); err != nil {
				return err
			}
		}
		if len(ids) < page {
			break
		}
		after = ids[len(ids)-1]
	}
	return eachRelation(q, page, relation)
}

func eachRelation(q store.Querier, page int, fn func(knowledge.Relation) error) error {
	merged, err := scanStrings(q.Query(`SELECT id || ' ' || merged_into FROM entities WHERE merged_into <> ''`))
	if err != nil {
		return fmt.Errorf("graph: export entities: %w", err)
	}
	root := map[string]string{}
	for _, s := range merged {
		id, into, _ := strings.Cut(s, " ")
		root[id] = into
	}
	for after := ""; ; {
		list, err := scanRelations(q.Query(`SELECT `+relationColumns+` FROM relations r WHERE r.over = 0 AND r.id > ? ORDER BY r.id LIMIT ?`, after, page))
		if err != nil {
			return fmt.Errorf("graph: export entities: %w", err)
		}
		for _, r := range list {
			after = r.ID
			r.From, r.To = cmp.Or(root[r.From], r.From), cmp.Or(root[r.To], r.To)
			if r.From == r.To {
				continue
			}
			if err := fn(r.Relation); err != nil {
				return err
			}
		}
		if len(list) < page {
			return nil
		}
	}
}

// Count returns the number of entities and relations.
func (g *Graph) Count(q store.Querier) (entities, relations int, err error) {
	err = q.QueryRow(`SELECT (SELECT count(*) FROM entities WHERE merged_into = ''), (SELECT count(*) FROM relations WHERE over = 0)`).Scan(&entities, &relations)
	if err != nil {
		return 0, 0, fmt.Errorf("graph: count entities: %w", err)
	}
	return entities, relations, nil
}

// RestoreEntityTx imports an entity as a manual one and returns its id. If an entity with the same
// names exists, it uses that entity, unless only that entity is trusted. Thus an untrusted address
// is never added to a person that the user named.
func (g *Graph) RestoreEntityTx(tx *store.Tx, e knowledge.Entity) (id string, added bool, err error) {
	e.Name = strings.TrimSpace(strings.ToValidUTF8(e.Name, "\uFFFD"))
	if nameKey(e.Name) == "" || len(e.Name) > 500 {
		return "", false, knowledge.ErrNoEntity
	}
	if e.Provenance == provenance.Unknown {
		e.Provenance = provenance.Outside
	}
	if e.CreatedAt.IsZero() {
		e.CreatedAt = time.Now()
	}
	m := &rowExtraction{g: g, tx: tx, at: e.CreatedAt, d: knowledge.Doc{Realm: e.Realm, Provenance: e.Provenance, Source: e.Source}}
	if id, err = g.matchImported(tx, e); err != nil {
		return "", false, err
	}
	if id == "" {
		added = true
		if id, err = g.freeID(tx, e.ID); err != nil {
			return "", false, err
		}
		if err := m.execSQL(`INSERT INTO entities (id, name, kind, realm, provenance, source, by_hand, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?)`,
			id, e.Name, e.Kind, e.Realm, string(e.Provenance), e.Source, unixMillis(e.CreatedAt), unixMillis(e.CreatedAt)); err != nil {
			return "", false, err
		}
	}
	tx.AfterCommit(func() { g.resetNames(); g.Wake() })
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		key, kind := g.aliasOf(name)
		if key == "" || len(key) > 200 {
			continue
		}
		if err := m.addAlias(id, key, strings.TrimSpace(name), kind); err != nil {
			return "", false, err
		}
	}
	return id, added, nil
}

// freeID returns the requested id, or a new id if the requested one is already used.
func (g *Graph) freeID(tx *store.Tx, id string) (string, error) {
	var n int
	if err := tx.QueryRow(`SELECT count(*) FROM entities WHERE id = ?`, id).Scan(&n); err != nil {
		return "", fmt.Errorf("graph: import entities: %w", err)
	}
	if n > 0 || id == "" || id == OwnerID || len(id) > 100 {
		return newID(), nil
	}
	return id, nil
}

// aliasOf returns the kind of an alias and its normalized form.
func (g *Graph) aliasOf(name string) (key, kind string) {
	if e164, ok := NormalizePhone(name, g.o.Region()); ok {
		return nameKey(e164), byPhone
	}
	if strings.Contains(name, "@") {
		return strings.ToLower(strings.TrimSpace(name)), byMail
	}
	return nameKey(name), byName
}

// matchImported returns the only existing entity that matches an imported one. Addresses and
// numbers come first. The first name of a sender is not sufficient.
func (g *Graph) matchImported(tx *store.Tx, e knowledge.Entity) (string, error) {
	addressed := slices.ContainsFunc(e.Aliases, func(s string) bool { _, kind := g.aliasOf(s); return kind != byName })
	for _, name := range append(slices.Clone(e.Aliases), e.Name) {
		key, kind := g.aliasOf(name)
		if key == "" || addressed && e.Provenance.Tainted() && kind == byName && !strings.Contains(key, " ") {
			continue
		}
		ids, err := scanStrings(tx.Query(`SELECT DISTINCT CASE WHEN e.merged_into <> '' THEN e.merged_into ELSE e.id END FROM entity_aliases a JOIN entities e ON e.id = a.entity
			WHERE a.key = ? AND a.kind = ? AND e.realm = ? AND (? = '' OR e.kind = ?) AND (? OR `+foreign+`) LIMIT 2`,
			key, kind, e.Realm, e.Kind, e.Kind, !e.Provenance.Tainted()))
		if err != nil {
			return "", fmt.Errorf("graph: import entities: %w", err)
		}
		if len(ids) == 1 {
			return ids[0], nil
		}
	}
	return "", nil
}

// RestoreRelationTx imports a relation between two entities, which are identified by id. It returns
// false if the relation exists. If the fact of the relation exists, the relation is bound to it.
func (g *Graph) RestoreRelationTx(tx *store.Tx, r knowledge.Relation) (bool, error) {
	name, turned := CanonicalRelation(r.Name)
	if name == "" {
		return false, knowledge.ErrNoEntity
	}
	if turned {
		r.From, r.To = r.To, r.From
	}
	if r.Provenance == provenance.Unknown {
		r.Provenance = provenance.Outside
	}
	if r.CreatedAt.IsZero() {
		r.CreatedAt = time.Now()
	}
	var ends, there int
	err := tx.QueryRow(`SELECT (SELECT count(*) FROM entities WHERE id IN (?1, ?2)), (SELECT count(*) FROM relations WHERE from_id = ?1 AND name = ?3 AND to_id = ?2 AND over = 0)`,
		r.From, r.To, name).Scan(&ends, &there)
	switch {
	case err != nil:
		return false, fmt.Errorf("graph: import entities: %w", err)
	case there > 0:
		return false, nil
	case ends < 2 || r.From == r.To:
		return false, knowledge.ErrNoEnd
	}
	if err := tx.QueryRow(`SELECT count(*) FROM relations WHERE id = ?`, r.ID).Scan(&there); err != nil {
		return false, fmt.Errorf("graph: import entities: %w", err)
	}
	if there > 0 || r.ID == "" || len(r.ID) > 100 {
		r.ID = shortid.New("r")
	}
	_, err = tx.Exec(`INSERT INTO relations (id, from_id, name, to_id, fact, realm, provenance, source, valid_from, valid_until, created_at)
		VALUES (?, ?, ?, ?, coalesce((SELECT id FROM facts WHERE id = ? AND retired_at = 0), ''), ?, ?, ?, ?, ?, ?)`,
		r.ID, r.From, name, r.To, r.Fact, r.Realm, string(r.Provenance), r.Source, store.Millis(r.ValidFrom), store.Millis(r.ValidUntil), store.Millis(r.CreatedAt))
	if err != nil {
		return false, fmt.Errorf("graph: import entities: %w", err)
	}
	return true, nil
}
