package graph

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
)

// LinkTx stores a relation. It creates missing entities, unless the name looks like an id.
func (g *Graph) LinkTx(tx *store.Tx, l knowledge.Link) (out knowledge.Linked, err error) {
	if l.At.IsZero() {
		l.At = time.Now()
	}
	if l.Provenance == provenance.Unknown {
		l.Provenance = provenance.Outside
	}
	name, turned := CanonicalRelation(l.Relation)
	if name == "" {
		return out, errors.New(`relation is empty; give one such as "works at"`)
	}
	if turned {
		l.From, l.To, l.FromKind, l.ToKind = l.To, l.From, l.ToKind, l.FromKind
	}
	if l.ToKind == "" {
		l.ToKind = objectKinds[name]
	}
	m := &rowExtraction{g: g, tx: tx, at: l.At, d: knowledge.Doc{Realm: l.Realm, Provenance: l.Provenance, Source: l.Source}}
	if l.Fact != "" {
		err := tx.QueryRow(`SELECT n FROM docs WHERE ref = ? AND kind = ?`, l.Fact, knowledge.KindFact).Scan(&m.doc)
		if errors.Is(err, sql.ErrNoRows) {
			return out, fmt.Errorf("%w: the fact is no longer valid", knowledge.ErrNoEntity)
		}
		if err != nil {
			return out, fmt.Errorf("graph: add relation: %w", err)
		}
	}
	var ids [2]string
	for i, end := range []struct{ name, kind string }{{l.From, l.FromKind}, {l.To, l.ToKind}} {
		id, made, err := m.resolveLinkEnd(end.name, end.kind)
		if err != nil {
			return out, err
		}
		if made {
			out.Made = append(out.Made, id)
		}
		ids[i] = id
	}
	if out.From, err = g.rootEntity(tx, ids[0]); err != nil {
		return out, err
	}
	if out.To, err = g.rootEntity(tx, ids[1]); err != nil {
		return out, err
	}
	if out.From.ID == out.To.ID {
		return out, knowledge.ErrSame
	}
	tx.AfterCommit(func() { g.resetNames(); g.Wake() })
	out.Relation, out.Known, err = relateTx(tx, l, ids[0], name, ids[1])
	return out, err
}

// relateTx stores a relation, unless the same relation exists and is trusted at least as much.
func relateTx(tx *store.Tx, l knowledge.Link, from, name, to string) (r knowledge.Relation, known bool, err error) {
	list, err := scanRelations(tx.Query(`SELECT `+relationColumns+` FROM relations r WHERE r.from_id = ? AND r.name = ? AND r.to_id = ? AND r.over = 0 AND r.doc = 0 AND r.fact IN ('', ?)`, from, name, to, l.Fact))
	if err != nil {
		return r, false, fmt.Errorf("graph: add relation: %w", err)
	}
	if len(list) > 0 && (list[0].Provenance.Tainted() == l.Provenance.Tainted() || l.Provenance.Tainted()) {
		return list[0].Relation, true, nil
	}
	r = knowledge.Relation{
		ID: shortid.New("r"), From: from, Name: name, To: to, Fact: l.Fact, Realm: l.Realm, Provenance: l.Provenance, Source: l.Source,
		ValidFrom: l.ValidFrom, ValidUntil: l.ValidUntil, CreatedAt: store.Time(store.Millis(l.At)),
	}
	if _, err := tx.Exec(`INSERT INTO relations (id, from_id, name, to_id, fact, realm, provenance, source, valid_from, valid_until, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.From, r.Name, r.To, r.Fact, r.Realm, string(r.Provenance), r.Source, unixMillis(r.ValidFrom), unixMillis(r.ValidUntil), unixMillis(l.At)); err != nil {
		return r, false, fmt.Errorf("graph: add relation: %w", err)
	}
	return r, false, nil
}

// resolveLinkEnd finds an entity by id or name, or creates one. A link is a source for the names of
// both entities.
func (m *rowExtraction) resolveLinkEnd(name, kind string) (id string, made bool, err error) {
	name = strings.TrimSpace(strings.ToValidUTF8(name, "\uFFFD"))
	key := nameKey(name)
	switch key {
	case "":
		return "", false, knowledge.ErrNoEntity
	case "me", "i", "owner", "the owner", "you", "us", "myself":
		return OwnerID, false, ownerTx(m.tx, m.at)
	}
	var there int
	if err := m.tx.QueryRow(`SELECT count(*) FROM entities WHERE id = ? AND realm = ?`, name, m.d.Realm).Scan(&there); err != nil {
		return "", false, fmt.Errorf("graph: add relation: %w", err)
	}
	switch {
	case there > 0 && m.doc == 0:
		return name, false, nil
	case there > 0:
		return name, false, m.addMention(name)
	case looksLikeID(name):
		return "", false, fmt.Errorf("%w: %s", knowledge.ErrNoEntity, name)
	}
	if e164, ok := NormalizePhone(name, m.g.o.Region()); ok {
		key = nameKey(e164)
	} else if strings.Contains(name, "@") {
		key = strings.ToLower(name)
	}
	ids, err := findNamesakes(m.tx, m.d.Realm, key, byName, byMail, byPhone, byRole, byCall, byFirst)
	switch {
	case err != nil:
		return "", false, err
	case len(ids) > 1:
		return "", false, fmt.Errorf("%w: %q can be %s", knowledge.ErrAmbiguous, textnorm.Ellipsize(name, 60), strings.Join(ids, ", "))
	case len(ids) == 0 && len(key) > 100:
		return "", false, knowledge.ErrNoEntity
	case len(ids) == 0:
		id, err = m.createLinkEntity(name, kind)
		return id, true, err
	}
	id = ids[0]
	if err := m.execSQL(`INSERT INTO entity_aliases (entity, key, text, kind, doc, source)
		SELECT ?1, ?2, CASE kind WHEN 'first' THEN ?3 ELSE text END, CASE kind WHEN 'first' THEN 'name' ELSE kind END, ?4, CASE ?4 WHEN 0 THEN ?5 ELSE '' END
		FROM entity_aliases WHERE entity = ?1 AND key = ?2 ORDER BY kind = 'first' LIMIT 1
		ON CONFLICT (entity, key, doc, source) DO UPDATE SET text = excluded.text, kind = excluded.kind WHERE entity_aliases.kind = 'first'`, id, key, name, m.doc, m.d.Source); err != nil {
		return "", false, err
	}
	if m.doc == 0 {
		return id, false, nil
	}
	return id, false, m.addMention(id)
}

// newID returns a new entity id. The id contains a digit, so that it differs from a name.
func newID() string {
	for {
		if id := shortid.New("e"); looksLikeID(id) {
			return id
		}
	}
}

// looksLikeID reports whether s has the form of an id.
func looksLikeID(s string) bool {
	return len(s) == len(shortid.New("e")) && s[0] == 'e' && strings.ContainsAny(s, "0123456789") && strings.Trim(s, "0123456789abcdefghjkmnpqrstvwxyz") == ""
}

func (m *rowExtraction) createLinkEntity(name, kind string) (string, error) {
	if kind == "" {
		kind = knowledge.Thing
		if r := []rune(name); len(r) > 0 && strings.ToUpper(string(r[0])) == string(r[0]) {
			kind = knowledge.Person
		}
	}
	id, err := m.createEntity(name, kind)
	if err != nil {
		return "", err
	}
	if m.doc == 0 {
		err = m.execSQL(`UPDATE entities SET by_hand = 1 WHERE id = ?`, id)
	} else {
		err = m.addMention(id)
	}
	if err != nil {
		return "", err
	}
	if err := m.addAlias(id, nameKey(name), name, byName); err != nil {
		return "", err
	}
	if first, _, ok := strings.Cut(nameKey(name), " "); ok && kind == knowledge.Person {
		return id, m.addAlias(id, first, first, byFirst)
	}
	return id, nil
}

// KeepTx deletes the links and the people of a source except those with the given ids. It also
// deletes the entities that were created for them and are mentioned nowhere else.
func (g *Graph) KeepTx(tx *store.Tx, realm, source string, keep []string) error {
	ids, err := scanStrings(tx.Query(`SELECT id FROM relations WHERE realm = ? AND source = ? AND doc = 0`, realm, source))
	if err != nil {
		return fmt.Errorf("graph: remove links of source: %w", err)
	}
	stay := map[string]bool{}
	for _, id := range keep {
		stay[id] = true
	}
	for _, id := range ids {
		if stay[id] {
			continue
		}
		if _, err := tx.Exec(`DELETE FROM relations WHERE id = ?`, id); err != nil {
			return fmt.Errorf("graph: remove links of source: %w", err)
		}
	}
	kept, err := json.Marshal(append([]string{}, keep...))
	if err != nil {
		return fmt.Errorf("graph: remove links of source: %w", err)
	}
	named, err := scanStrings(tx.Query(`SELECT DISTINCT a.entity FROM entity_aliases a JOIN entities e ON e.id = a.entity WHERE a.doc = 0 AND a.source = ? AND e.realm = ?`, source, realm))
	if err != nil {
		return fmt.Errorf("graph: remove links of source: %w", err)
	}
	affected, err := json.Marshal(append([]string{}, named...))
	if err != nil {
		return fmt.Errorf("graph: remove links of source: %w", err)
	}
	const unrelated = ` AND id <> 'owner' AND NOT EXISTS (SELECT 1 FROM relations WHERE from_id = entities.id) AND NOT EXISTS (SELECT 1 FROM relations WHERE to_id = entities.id)`
	for _, x := range []struct {
		stmt string
		args []any
	}{
		{`DELETE FROM entity_aliases WHERE doc = 0 AND source = ? AND entity IN (SELECT value FROM json_each(?)) AND entity NOT IN (SELECT value FROM json_each(?)) AND ` + unlinked, []any{source, string(affected), string(kept)}},
		{`DELETE FROM entities WHERE realm = ? AND source = ? AND by_hand = 1 AND id NOT IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = entities.id)
			AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity = entities.id AND doc = 0 AND source <> ?)` + unrelated, []any{realm, source, string(kept), source}},
		{`DELETE FROM entities WHERE id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity = entities.id)` + unrelated, []any{string(affected)}},
	} {
		if _, err := tx.Exec(x.stmt, x.args...); err != nil {
			return fmt.Errorf("graph: remove links of source: %w", err)
		}
	}
	tx.AfterCommit(func() { g.resetNames(); g.Wake() })
	return nil
}

// UnlinkTx deletes a relation. It also deletes the entities that were created for the relation and
// are mentioned nowhere else. It returns knowledge.ErrNoEntity if the relation does not exist.
func (g *Graph) UnlinkTx(tx *store.Tx, relation string, made []string) error {
	var from, to, source string
	err := tx.QueryRow(`DELETE FROM relations WHERE id = ? AND doc = 0 RETURNING from_id, to_id, source`, relation).Scan(&from, &to, &source)
	if errors.Is(err, sql.ErrNoRows) {
		return knowledge.ErrNoEntity
	}
	if err != nil {
		return fmt.Errorf("graph: remove relation: %w", err)
	}
	if _, err := execCounted(tx, `DELETE FROM entity_aliases WHERE doc = 0 AND entity IN (?1, ?2) AND source = ?3 AND `+unlinked+` AND NOT EXISTS (SELECT 1 FROM entities WHERE id = entity AND by_hand = 1)`,
		from, to, source); err != nil { // aliases that the link gave to existing entities
		return err
	}
	if _, err := execCounted(tx, `DELETE FROM entities WHERE id IN (?, ?) AND by_hand = 0 AND `+orphan, from, to); err != nil {
		return err
	}
	for _, id := range made {
		if _, err := execCounted(tx, `DELETE FROM entities WHERE id = ? AND `+unspoken, id); err != nil {
			return err
		}
	}
	tx.AfterCommit(g.resetNames)
	return nil
}
