package graph

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// entityPair is a decision of the user that two entities are the same or different.
type entityPair struct{ a, b string }

func newPair(a, b string) entityPair {
	if b < a {
		a, b = b, a
	}
	return entityPair{a, b}
}

// loadPairs returns the decisions of the user, oldest first.
func loadPairs(q store.Querier) (same []entityPair, apart map[entityPair]bool, err error) {
	rows, err := q.Query(`SELECT a, b, same FROM entity_pairs ORDER BY created_at, a, b`)
	if err != nil {
		return nil, nil, fmt.Errorf("graph: read merged pairs: %w", err)
	}
	defer rows.Close()
	apart = map[entityPair]bool{}
	for rows.Next() {
		var p entityPair
		var isSame bool
		if err := rows.Scan(&p.a, &p.b, &isSame); err != nil {
			return nil, nil, fmt.Errorf("graph: read merged pairs: %w", err)
		}
		if isSame {
			same = append(same, p)
		} else {
			apart[p] = true
		}
	}
	return same, apart, rows.Err()
}

// checkTrust returns ErrTrustedEntity if the change comes from untrusted text but trusted text
// names one of the entities.
func checkTrust(q store.Querier, c knowledge.PairChange, ids ...string) error {
	if !c.Provenance.Tainted() && c.Provenance != "" {
		return nil
	}
	for _, id := range ids {
		var untrusted bool
		if err := q.QueryRow(`SELECT `+foreign+` FROM entities e WHERE e.id = ?`, id).Scan(&untrusted); err != nil {
			return fmt.Errorf("graph: read entity: %w", err)
		}
		if !untrusted {
			return knowledge.ErrTrustedEntity
		}
	}
	return nil
}

// decideTx stores a decision about two entities and records in out how to revert it.
func decideTx(tx *store.Tx, p entityPair, same bool, at time.Time, out *knowledge.PairChanged) error {
	old := ""
	err := tx.QueryRow(`SELECT CASE same WHEN 1 THEN 'same' ELSE 'apart' END FROM entity_pairs WHERE a = ? AND b = ?`, p.a, p.b).Scan(&old)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("graph: read merged pairs: %w", err)
	}
	out.A, out.B, out.Was = p.a, p.b, old
	_, err = execCounted(tx, `INSERT INTO entity_pairs (a, b, same, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (a, b) DO UPDATE SET same = excluded.same`, p.a, p.b, same, unixMillis(at))
	return err
}

// MergeTx records that two entities are the same. It returns knowledge.ErrSame if they are merged
// already.
func (g *Graph) MergeTx(tx *store.Tx, c knowledge.PairChange) (out knowledge.PairChanged, err error) {
	a, err := g.resolveEntity(tx, c.Realm, c.First)
	if err != nil {
		return out, err
	}
	b, err := g.resolveEntity(tx, c.Realm, c.Second)
	if err != nil {
		return out, err
	}
	if a.ID == b.ID || a.ID == OwnerID || b.ID == OwnerID {
		return out, fmt.Errorf("%w: %s", knowledge.ErrSame, textnorm.Ellipsize(a.Name, 60))
	}
	if err := checkTrust(tx, c, a.ID, b.ID); err != nil {
		return out, err
	}
	if err := decideTx(tx, newPair(a.ID, b.ID), true, c.At, &out); err != nil {
		return out, err
	}
	return out, g.afterPairTx(tx, a.ID, &out)
}

// SplitTx records that the second name does not belong to the first entity. If the name belongs to
// a merged entity, it separates that entity. Otherwise it moves the name, the rows that use only
// this name, and their relations to a new entity.
func (g *Graph) SplitTx(tx *store.Tx, c knowledge.PairChange) (out knowledge.PairChanged, err error) {
	a, err := g.resolveEntity(tx, c.Realm, c.First)
	if err != nil {
		return out, err
	}
	key, _ := g.aliasOf(c.Second)
	members, err := mergedMembers(tx, []string{a.ID})
	if err != nil || a.ID == OwnerID {
		return out, errors.Join(err, fmt.Errorf("%w: %s", knowledge.ErrNoEntity, textnorm.Ellipsize(c.Second, 60)))
	}
	p := sqlPlaceholders(len(members))
	with, err := scanStrings(tx.Query(`SELECT DISTINCT entity FROM entity_aliases WHERE entity IN (`+p+`) AND kind <> '`+byFirst+`' AND (key = ? OR entity = ?) ORDER BY entity`,
		append(toAnySlice(members), key, strings.TrimSpace(c.Second))...))
	if err != nil {
		return out, fmt.Errorf("graph: split: %w", err)
	}
	if len(with) == 0 {
		return out, fmt.Errorf("%w: %q is not a name of %s", knowledge.ErrNoEntity, textnorm.Ellipsize(c.Second, 60), textnorm.Ellipsize(a.Name, 60))
	}
	if err := checkTrust(tx, c, members...); err != nil {
		return out, err
	}
	if len(members) > len(with) { // entities without the name stay together
		rest := slices.DeleteFunc(members, func(id string) bool { return containsString(with, id) })
		if len(with) == 1 && len(rest) == 1 {
			if err := decideTx(tx, newPair(rest[0], with[0]), false, c.At, &out); err != nil {
				return out, err
			}
			return out, g.afterPairTx(tx, a.ID, &out)
		}
		return out, fmt.Errorf("%w: %q belongs to several merged entries; give the id of one: %s", knowledge.ErrAmbiguous, textnorm.Ellipsize(c.Second, 60), strings.Join(append(with, rest...), ", "))
	}
	if len(with) > 1 {
		return out, fmt.Errorf("%w: %q is a name of %s", knowledge.ErrAmbiguous, textnorm.Ellipsize(c.Second, 60), strings.Join(with, ", "))
	}
	return out, g.splitNameTx(tx, c, a, key, &out)
}

// splitNameTx moves a name to a new entity.
func (g *Graph) splitNameTx(tx *store.Tx, c knowledge.PairChange, a knowledge.Entity, key string, out *knowledge.PairChanged) error {
	var others int
	if err := tx.QueryRow(`SELECT count(*) FROM entity_aliases WHERE entity = ? AND key <> ? AND kind <> '`+byFirst+`'`, a.ID, key).Scan(&others); err != nil {
		return fmt.Errorf("graph: split: %w", err)
	}
	if others == 0 {
		return fmt.Errorf("%w: %s has no other name; add the full name first: hob memory link, or tell Hob", knowledge.ErrSame, textnorm.Ellipsize(a.Name, 60))
	}
	id := newID()
	if _, err := execCounted(tx, `INSERT INTO entities (id, name, kind, realm, provenance, source, by_hand, created_at, updated_at)
		SELECT ?, (SELECT text FROM entity_aliases WHERE entity = e.id AND key = ? LIMIT 1), kind, realm, provenance, source, by_hand, created_at, ? FROM entities e WHERE id = ?`, id, key, unixMillis(c.At), a.ID); err != nil {
		return err
	}
	const only = `doc <> 0 AND doc IN (SELECT doc FROM entity_aliases WHERE entity = ?1 AND key = ?3) AND doc NOT IN (SELECT doc FROM entity_aliases WHERE entity = ?1 AND key <> ?3 AND kind <> '` + byFirst + `')`
	for _, stmt := range []string{
		`UPDATE relations SET from_id = ?2 WHERE from_id = ?1 AND ` + only,
		`UPDATE relations SET to_id = ?2 WHERE to_id = ?1 AND ` + only,
		`UPDATE mentions SET entity = ?2 WHERE entity = ?1 AND ` + only,
		`UPDATE entity_aliases SET entity = ?2 WHERE entity = ?1 AND key = ?3`,
	} {
		if _, err := execCounted(tx, stmt, a.ID, id, key); err != nil {
			return err
		}
	}
	if err := decideTx(tx, newPair(a.ID, id), false, c.At, out); err != nil {
		return err
	}
	out.Made, out.From, out.OldName = id, a.ID, ""
	if nameKey(a.Name) == key { // the entity loses its name
		out.OldName = keyDigest(key)
		if _, err := execCounted(tx, `UPDATE entities SET name = (SELECT text FROM entity_aliases WHERE entity = ?1 AND kind <> '`+byFirst+`' ORDER BY kind <> 'name', length(text) DESC, text LIMIT 1) WHERE id = ?1`, a.ID); err != nil {
			return err
		}
	}
	return g.afterPairTx(tx, a.ID, out)
}

// afterPairTx recomputes which entities are merged, and returns the resulting entities in out.
func (g *Graph) afterPairTx(tx *store.Tx, first string, out *knowledge.PairChanged) (err error) {
	tx.AfterCommit(func() { g.resetNames(); g.Wake() })
	if err := g.regroupNowTx(tx); err != nil {
		return err
	}
	if out.First, err = g.rootEntity(tx, first); err != nil {
		return err
	}
	other := out.A
	if other == first || out.Made != "" {
		other = out.B
	}
	if out.Made != "" {
		other = out.Made
	}
	out.Second, err = g.rootEntity(tx, other)
	return err
}

// regroupNowTx recomputes which entities are merged and keeps a pending recomputation pending.
func (g *Graph) regroupNowTx(tx *store.Tx) error {
	var pending bool
	if err := tx.QueryRow(`SELECT regroup FROM graph_state`).Scan(&pending); err != nil {
		return fmt.Errorf("graph: merge entities: %w", err)
	}
	if _, err := execCounted(tx, `UPDATE graph_state SET regroup = 1`); err != nil {
		return err
	}
	if err := g.regroupTx(tx); err != nil {
		return err
	}
	_, err := execCounted(tx, `UPDATE graph_state SET regroup = ?`, pending)
	return err
}

// RevertPairTx reverts a merge or a split. It returns knowledge.ErrNoEntity if the decision or an
// entity no longer exists.
func (g *Graph) RevertPairTx(tx *store.Tx, done knowledge.PairChanged) error {
	n, err := execCounted(tx, `DELETE FROM entity_pairs WHERE a = ? AND b = ?`, done.A, done.B)
	if err != nil {
		return err
	}
	if n == 0 {
		return knowledge.ErrNoEntity
	}
	if done.Was != "" {
		if err := decideTx(tx, entityPair{done.A, done.B}, done.Was == "same", time.Now(), new(knowledge.PairChanged)); err != nil {
			return err
		}
	}
	if done.Made != "" {
		for _, stmt := range []string{
			`UPDATE relations SET from_id = ?2 WHERE from_id = ?1`, `UPDATE relations SET to_id = ?2 WHERE to_id = ?1`,
			`UPDATE mentions SET entity = ?2 WHERE entity = ?1 AND NOT EXISTS (SELECT 1 FROM mentions m WHERE m.doc = mentions.doc AND m.entity = ?2)`,
			`UPDATE entity_aliases SET entity = ?2 WHERE entity = ?1
				AND NOT EXISTS (SELECT 1 FROM entity_aliases a WHERE a.entity = ?2 AND a.key = entity_aliases.key AND a.doc = entity_aliases.doc AND a.source = entity_aliases.source)`,
			`UPDATE entities SET by_hand = 0 WHERE id = ?1 AND ?2 <> ''`, `DELETE FROM entities WHERE id = ?1 AND ?2 <> ''`,
		} {
			if _, err := execCounted(tx, stmt, done.Made, done.From); err != nil {
				return err
			}
		}
		if done.OldName != "" {
			names, err := scanStrings(tx.Query(`SELECT DISTINCT text FROM entity_aliases WHERE entity = ?`, done.From))
			if err != nil {
				return fmt.Errorf("graph: read names: %w", err)
			}
			for _, name := range names {
				if keyDigest(nameKey(name)) == done.OldName {
					if _, err := execCounted(tx, `UPDATE entities SET name = ? WHERE id = ?`, name, done.From); err != nil {
						return err
					}
				}
			}
		}
	}
	tx.AfterCommit(func() { g.resetNames(); g.Wake() })
	return g.regroupNowTx(tx)
}
