package graph

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/platform/provenance"
	"hob/platform/shortid"
)

// LinkTx keeps a relation. An end that is not there yet is made, unless it
// looks like an id.
func (g *Graph) LinkTx(tx *store.Tx, l knowledge.Link) (knowledge.Linked, error) {
	if l.At.IsZero() {
		l.At = time.Now()
	}
	if l.Provenance == provenance.Unknown {
		l.Provenance = provenance.Outside
	}
	name, turned := Normal(l.Relation)
	if name == "" {
		return knowledge.Linked{}, errors.New(`a relation is needed, such as "works at"`)
	}
	if turned {
		l.From, l.To, l.FromKind, l.ToKind = l.To, l.From, l.ToKind, l.FromKind
	}
	var out knowledge.Linked
	for i, end := range []string{l.From, l.To} {
		kind := l.FromKind
		if i == 1 {
			kind = l.ToKind
			if kind == "" {
				kind = objects[name]
			}
		}
		id, made, err := g.endTx(tx, l, end, kind)
		if err != nil {
			return out, err
		}
		if made {
			out.Made = append(out.Made, id)
		}
		e, err := g.root(tx, id)
		if err != nil {
			return out, err
		}
		if i == 0 {
			out.From = e
		} else {
			out.To = e
		}
	}
	if out.From.ID == out.To.ID {
		return out, knowledge.ErrSame
	}
	return out, g.relateTx(tx, l, name, &out)
}

func (g *Graph) relateTx(tx *store.Tx, l knowledge.Link, name string, out *knowledge.Linked) error {
	rows, err := tx.Query(`SELECT `+relationColumns+` FROM relations r WHERE r.from_id = ? AND r.name = ? AND r.to_id = ? AND r.over = 0 AND r.doc = 0`, out.From.ID, name, out.To.ID)
	if err != nil {
		return fmt.Errorf("graph: link: %w", err)
	}
	list, err := relations(rows)
	if err != nil {
		return fmt.Errorf("graph: link: %w", err)
	}
	if len(list) > 0 && (list[0].Provenance.Tainted() == l.Provenance.Tainted() || l.Provenance.Tainted()) {
		out.Relation, out.Known = list[0].Relation, true
		return nil
	}
	r := knowledge.Relation{
		ID: shortid.New("r"), From: out.From.ID, Name: name, To: out.To.ID, Realm: l.Realm, Provenance: l.Provenance, Source: l.Source,
		ValidFrom: l.ValidFrom, ValidUntil: l.ValidUntil, CreatedAt: store.Time(store.Millis(l.At)),
	}
	if _, err := tx.Exec(`INSERT INTO relations (id, from_id, name, to_id, realm, provenance, source, valid_from, valid_until, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.From, r.Name, r.To, r.Realm, string(r.Provenance), r.Source, millis(r.ValidFrom), millis(r.ValidUntil), millis(l.At)); err != nil {
		return fmt.Errorf("graph: link: %w", err)
	}
	out.Relation = r
	tx.AfterCommit(func() { g.forgetNames(); g.Wake() })
	return nil
}

// endTx finds an end of a link by id or name, or makes it.
func (g *Graph) endTx(tx *store.Tx, l knowledge.Link, end, kind string) (id string, made bool, err error) {
	end = strings.TrimSpace(strings.ToValidUTF8(end, "\uFFFD"))
	key := nameKey(end)
	switch key {
	case "":
		return "", false, knowledge.ErrNobody
	case "me", "i", "owner", "the owner", "you", "us", "myself":
		return OwnerID, false, ownerTx(tx, l.At)
	}
	var there int
	if err := tx.QueryRow(`SELECT count(*) FROM entities WHERE id = ? AND realm IN (?, '')`, end, l.Realm).Scan(&there); err != nil {
		return "", false, fmt.Errorf("graph: link: %w", err)
	}
	if there > 0 {
		return end, false, nil
	}
	kinds := []string{byName, byMail, byPhone, byRole, byFirst}
	if e164, ok := Phone(end, g.o.Region()); ok {
		key = nameKey(e164)
	} else if strings.Contains(end, "@") {
		key = strings.ToLower(end)
	}
	rows, err := tx.Query(`SELECT DISTINCT CASE WHEN e.merged_into <> '' THEN e.merged_into ELSE e.id END FROM entity_aliases a JOIN entities e ON e.id = a.entity
		WHERE a.key = ? AND e.realm = ? AND a.kind IN (`+placeholders(len(kinds))+`) LIMIT 5`, append([]any{key, l.Realm}, anys(kinds)...)...)
	if err != nil {
		return "", false, fmt.Errorf("graph: link: %w", err)
	}
	ids, err := strs(rows)
	switch {
	case err != nil:
		return "", false, fmt.Errorf("graph: link: %w", err)
	case len(ids) == 1:
		return ids[0], false, nil
	case len(ids) > 1:
		return "", false, fmt.Errorf("%w: %q can be %s", knowledge.ErrAmbiguous, phrase.Cut(end, 60), strings.Join(ids, ", "))
	case len(key) > 100:
		return "", false, knowledge.ErrNobody
	}
	id, err = g.makeTx(tx, l, end, kind)
	return id, true, err
}

func (g *Graph) makeTx(tx *store.Tx, l knowledge.Link, name, kind string) (string, error) {
	if kind == "" {
		kind = knowledge.Thing
		if r := []rune(name); len(r) > 0 && strings.ToUpper(string(r[0])) == string(r[0]) {
			kind = knowledge.Person
		}
	}
	m := &making{g: g, tx: tx, at: l.At, d: knowledge.Doc{Realm: l.Realm, Provenance: l.Provenance, Source: l.Source}}
	id, err := m.create(name, kind)
	if err != nil {
		return "", err
	}
	if err := m.exec(`UPDATE entities SET by_hand = 1 WHERE id = ?`, id); err != nil {
		return "", err
	}
	if err := m.alias(id, nameKey(name), name, byName); err != nil {
		return "", err
	}
	if first, _, ok := strings.Cut(nameKey(name), " "); ok && kind == knowledge.Person {
		return id, m.alias(id, first, first, byFirst)
	}
	return id, nil
}

// KeepTx takes back the links that were made of a source, but for those of these
// ids, with the ends that were made for them and that nothing else names.
func (g *Graph) KeepTx(tx *store.Tx, realm, source string, keep []string) error {
	rows, err := tx.Query(`SELECT id FROM relations WHERE realm = ? AND source = ? AND doc = 0`, realm, source)
	if err != nil {
		return fmt.Errorf("graph: keep: %w", err)
	}
	ids, err := strs(rows)
	if err != nil {
		return fmt.Errorf("graph: keep: %w", err)
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
			return fmt.Errorf("graph: keep: %w", err)
		}
	}
	_, err = tx.Exec(`DELETE FROM entities WHERE realm = ? AND source = ? AND by_hand = 1 AND id <> 'owner' AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = entities.id)
		AND NOT EXISTS (SELECT 1 FROM relations WHERE from_id = entities.id OR to_id = entities.id)`, realm, source)
	if err != nil {
		return fmt.Errorf("graph: keep: %w", err)
	}
	tx.AfterCommit(func() { g.forgetNames(); g.Wake() })
	return nil
}

// UnlinkTx takes a link back, with the ends that were made for it and that
// nothing else names. knowledge.ErrNobody when it is gone.
func (g *Graph) UnlinkTx(tx *store.Tx, relation string, made []string) error {
	r, err := tx.Exec(`DELETE FROM relations WHERE id = ? AND doc = 0`, relation)
	if err != nil {
		return fmt.Errorf("graph: unlink: %w", err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, knowledge.ErrNobody)
	}
	for _, id := range made {
		if _, err := tx.Exec(`DELETE FROM entities WHERE id = ?1 AND id <> 'owner' AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = ?1)
			AND NOT EXISTS (SELECT 1 FROM relations WHERE from_id = ?1 OR to_id = ?1)`, id); err != nil {
			return fmt.Errorf("graph: unlink: %w", err)
		}
	}
	tx.AfterCommit(g.forgetNames)
	return nil
}

// MergeTx says that two entities are one. SplitTx undoes it.
func (g *Graph) MergeTx(tx *store.Tx, from, into string) error {
	a, err := g.root(tx, from)
	if err != nil {
		return err
	}
	b, err := g.root(tx, into)
	if err != nil {
		return err
	}
	if a.ID == b.ID || a.ID == OwnerID {
		return knowledge.ErrSame
	}
	if a.Realm != b.Realm {
		return fmt.Errorf("%w in this memory", knowledge.ErrNobody)
	}
	return mergeTx(tx, a.ID, b.ID)
}

// mergeTx leaves the rows where they are and lets one stand for the other.
func mergeTx(tx *store.Tx, from, into string) error {
	if _, err := tx.Exec(`UPDATE entities SET merged_into = ?2 WHERE (id = ?1 OR merged_into = ?1) AND id <> ?2`, from, into); err != nil {
		return fmt.Errorf("graph: merge: %w", err)
	}
	return nil
}

// SplitTx undoes a merge: the entity stands for itself again.
func (g *Graph) SplitTx(tx *store.Tx, id string) error {
	r, err := tx.Exec(`UPDATE entities SET merged_into = '' WHERE id = ? AND merged_into <> ''`, id)
	if err != nil {
		return fmt.Errorf("graph: split: %w", err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, knowledge.ErrNobody)
	}
	return nil
}
