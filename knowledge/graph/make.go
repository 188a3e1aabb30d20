package graph

import (
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/store"
)

// rowExtraction extracts the graph data of one row of docs.
type rowExtraction struct {
	g    *Graph
	tx   *store.Tx
	doc  int64
	d    knowledge.Doc
	fact knowledge.Fact
	at   time.Time
	// old and was contain the names and mentions of the row's previous version that have not been
	// found in the current version yet.
	old map[entityName]bool
	was map[string]bool
}

// entityName identifies an entity by one of its names.
type entityName struct{ entity, key string }

func (m *rowExtraction) execSQL(stmt string, args ...any) error {
	if _, err := m.tx.Exec(stmt, args...); err != nil {
		return fmt.Errorf("graph: update the graph of a row: %w", err)
	}
	return nil
}

// clearDerived removes the data derived from the previous version of the row. Names and mentions
// are kept until the row is processed, because they identify the entities.
func (m *rowExtraction) clearDerived() error {
	if err := m.execSQL(`DELETE FROM relations WHERE doc = ?`, m.doc); err != nil {
		return err
	}
	m.old, m.was = map[entityName]bool{}, map[string]bool{}
	err := m.forEachString(func(s string) {
		entity, key, _ := strings.Cut(s, " ")
		m.old[entityName{entity, key}] = true
	}, `SELECT entity || ' ' || key FROM entity_aliases WHERE doc = ?`, m.doc)
	if err != nil {
		return err
	}
	return m.forEachString(func(s string) { m.was[s] = true }, `SELECT entity FROM mentions WHERE doc = ?`, m.doc)
}

// forEachString calls f with each result of a query.
func (m *rowExtraction) forEachString(f func(string), stmt string, args ...any) error {
	list, err := scanStrings(m.tx.Query(stmt, args...))
	if err != nil {
		return fmt.Errorf("graph: read names: %w", err)
	}
	for _, s := range list {
		f(s)
	}
	return nil
}

// removeStale removes the names and mentions that the row no longer contains. Triggers remove an
// entity when no name or mention of it remains.
func (m *rowExtraction) removeStale() error {
	for n := range m.old {
		if err := m.execSQL(`DELETE FROM entity_aliases WHERE entity = ? AND key = ? AND doc = ?`, n.entity, n.key, m.doc); err != nil {
			return err
		}
	}
	for id := range m.was {
		if err := m.execSQL(`DELETE FROM mentions WHERE doc = ? AND entity = ?`, m.doc, id); err != nil {
			return err
		}
	}
	return nil
}

func (m *rowExtraction) addMention(id string) error {
	delete(m.was, id)
	return m.execSQL(`INSERT OR IGNORE INTO mentions (doc, entity) SELECT ?, id FROM entities WHERE id = ?`, m.doc, id)
}

// findOrCreateEntity returns the entity with a name, or creates it.
func (m *rowExtraction) findOrCreateEntity(name, kind string) (string, error) {
	name = strings.Trim(strings.TrimSpace(name), `.,;:"'`)
	key := nameKey(name)
	if key == "" || len(key) > 100 || len(strings.Fields(key)) > 6 {
		return "", nil
	}
	id, err := firstOrEmpty(findNamesakes(m.tx, m.d.Realm, key, byName, byMail, byPhone))
	if err == nil && id == "" && kind == knowledge.Person {
		if !strings.Contains(key, " ") { // "Ana", if there is only one Ana
			id, err = singleOrEmpty(findNamesakes(m.tx, m.d.Realm, key, byFirst))
		} else { // "Ana Silva", who was known only as "Ana"
			id, err = m.expandFirstName(key)
		}
	}
	if err != nil {
		return "", err
	}
	if id == "" {
		if id, err = m.createEntity(name, kind); err != nil {
			return "", err
		}
	}
	if err := m.addMention(id); err != nil {
		return "", err
	}
	if err := m.addAlias(id, key, name, byName); err != nil {
		return "", err
	}
	if first, _, ok := strings.Cut(key, " "); ok && kind == knowledge.Person {
		if err := m.addAlias(id, first, first, byFirst); err != nil {
			return "", err
		}
	}
	return id, m.execSQL(`UPDATE entities SET updated_at = max(updated_at, ?), kind = CASE WHEN kind = 'thing' THEN ? ELSE kind END WHERE id = ?`, unixMillis(m.at), kind, id)
}

// expandFirstName finds the entity that is known only by the first word of a full name, and adds
// the full name to it.
func (m *rowExtraction) expandFirstName(key string) (string, error) {
	first, _, _ := strings.Cut(key, " ")
	if others, err := findNamesakes(m.tx, m.d.Realm, first, byFirst); err != nil || len(others) > 0 {
		return "", err // another entity with a full name already has this first name
	}
	id, err := singleOrEmpty(findNamesakes(m.tx, m.d.Realm, first, byName))
	if err != nil || id == "" {
		return "", err
	}
	var kind string
	if err := m.tx.QueryRow(`SELECT kind FROM entities WHERE id = ?`, id).Scan(&kind); err != nil || kind != knowledge.Person {
		return "", err
	}
	return id, nil
}

func (m *rowExtraction) createEntity(name, kind string) (string, error) {
	id := newID()
	p := m.d.Provenance
	err := m.execSQL(`INSERT INTO entities (id, name, kind, realm, provenance, source, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		id, name, kind, m.d.Realm, string(p), m.d.Source, unixMillis(m.at), unixMillis(m.at))
	return id, err
}

// addAlias adds a name to an entity. Earlier rows are searched for new names later.
func (m *rowExtraction) addAlias(id, key, text, kind string) error {
	var there int
	if err := m.tx.QueryRow(`SELECT count(*) FROM entity_aliases WHERE entity = ? AND key = ?`, id, key).Scan(&there); err != nil {
		return fmt.Errorf("graph: save alias: %w", err)
	}
	fresh := there == 0 && kind == byName
	if fresh {
		m.g.learnName(key, m.d.Realm, id)
	}
	delete(m.old, entityName{id, key})
	return m.execSQL(`INSERT OR IGNORE INTO entity_aliases (entity, key, text, kind, doc, fresh, source) VALUES (?, ?, ?, ?, ?, ?, CASE ?5 WHEN 0 THEN ?7 ELSE '' END)`,
		id, key, text, kind, m.doc, fresh, m.d.Source)
}

// ownerEntity returns the entity of the user in a realm.
func (m *rowExtraction) ownerEntity() (string, error) {
	return OwnerID, ownerTx(m.tx, m.at)
}

func ownerTx(tx *store.Tx, at time.Time) error {
	_, err := tx.Exec(`INSERT OR IGNORE INTO entities (id, name, kind, realm, provenance, by_hand, created_at, updated_at) VALUES ('owner', 'you', 'person', '', 'hob', 1, ?1, ?1)`, unixMillis(at))
	if err != nil {
		return fmt.Errorf("graph: create owner entity: %w", err)
	}
	return nil
}
