package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// maxUpsertNames limits the names of one change.
const maxUpsertNames = 20

// resolveEntity finds an entity of a realm by id or exact name. It returns knowledge.ErrNoEntity or
// knowledge.ErrAmbiguous.
func (g *Graph) resolveEntity(q store.Querier, realm, name string) (knowledge.Entity, error) {
	name = strings.TrimSpace(name)
	switch nameKey(name) {
	case "me", "i", "owner", "you", "myself", "the user":
		if realm == "" {
			return g.Entity(q, OwnerID)
		}
	}
	if looksLikeID(name) {
		e, err := g.rootEntity(q, name)
		if err == nil && e.Realm != realm {
			err = fmt.Errorf("%w: %s", knowledge.ErrNoEntity, name)
		}
		return e, err
	}
	key, _ := g.aliasOf(name)
	ids, err := findNamesakes(q, realm, key, byName, byMail, byPhone, byRole, byCall)
	if err == nil && len(ids) == 0 {
		ids, err = findNamesakes(q, realm, key, byFirst)
	}
	switch {
	case err != nil:
		return knowledge.Entity{}, err
	case len(ids) == 0:
		return knowledge.Entity{}, fmt.Errorf("%w: %s", knowledge.ErrNoEntity, textnorm.Ellipsize(name, 60))
	case len(ids) > 1:
		return knowledge.Entity{}, fmt.Errorf("%w: %q can be %s", knowledge.ErrAmbiguous, textnorm.Ellipsize(name, 60), strings.Join(ids, ", "))
	}
	return g.rootEntity(q, ids[0])
}

// FindEntities returns the entities that a query matches, newest first.
func (g *Graph) FindEntities(q store.Querier, w knowledge.EntityQuery) ([]knowledge.FoundEntity, error) {
	list, err := g.Entities(q, Filter{Text: w.Text, Kind: w.Kind, Realm: w.Realm, Limit: w.Limit})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	trusted, err := g.TrustedNames(q, ids...)
	if err != nil {
		return nil, err
	}
	out := make([]knowledge.FoundEntity, 0, len(list))
	for _, e := range list {
		f := knowledge.FoundEntity{Entity: trustedView(e, trusted[e.ID])}
		all, err := mergedMembers(q, []string{e.ID})
		if err != nil {
			return nil, err
		}
		p := sqlPlaceholders(len(all))
		if err := q.QueryRow(`SELECT count(*) FROM relations WHERE over = 0 AND (from_id IN (`+p+`) OR to_id IN (`+p+`))`, append(toAnySlice(all), toAnySlice(all)...)...).Scan(&f.Relations); err != nil {
			return nil, fmt.Errorf("graph: count relations: %w", err)
		}
		out = append(out, f)
	}
	return out, nil
}

// trustedView returns an entity with its trusted names only, if it has any.
func trustedView(e knowledge.Entity, trusted []string) knowledge.Entity {
	if len(trusted) == 0 || e.ID == OwnerID {
		return e
	}
	if !slices.Contains(trusted, e.Name) {
		e.Name = slices.MaxFunc(trusted, func(a, b string) int { return len(a) - len(b) })
	}
	e.Aliases = slices.DeleteFunc(trusted, func(n string) bool { return n == e.Name })
	if e.Provenance.Tainted() {
		e.Provenance = provenance.Owner
	}
	return e
}

// Related returns an entity and the relations up to a number of hops around it, nearest first.
func (g *Graph) Related(q store.Querier, w knowledge.RelatedQuery) (e knowledge.Entity, out []knowledge.Edge, err error) {
	if e, err = g.resolveEntity(q, w.Realm, w.Entity); err != nil {
		return e, nil, err
	}
	if w.Now.IsZero() {
		w.Now = time.Now()
	}
	var names map[string]bool
	if w.Relation != "" {
		name, _ := CanonicalRelation(w.Relation)
		names = map[string]bool{name: true}
		for _, word := range textnorm.FoldedWords(strings.ReplaceAll(w.Relation, "_", " ")) {
			for _, n := range relationWords()[word] {
				names[n] = true
			}
		}
	}
	eq := knowledge.EdgeQuery{Realms: []string{w.Realm}, Now: w.Now, Limit: w.Limit}
	var list []edge
	seen, front := map[string]bool{e.ID: true}, []string{e.ID}
	for range min(max(w.Hops, 1), 3) {
		step, err := g.edgesOf(q, eq, front, names)
		if err != nil {
			return e, nil, err
		}
		front = nil
		for _, x := range step {
			list = append(list, x)
			for _, id := range []string{x.from.ID, x.to.ID} {
				if !seen[id] && id != OwnerID { // the user is related to all entities
					seen[id] = true
					front = append(front, id)
				}
			}
		}
		if len(list) >= w.Limit || len(front) == 0 {
			break
		}
		front = front[:min(len(front), maxFan)]
	}
	trusted, err := g.TrustedNames(q, e.ID)
	if err != nil {
		return e, nil, err
	}
	out, err = g.describeEdges(q, eq, list)
	return trustedView(e, trusted[e.ID]), out, err
}

// UpsertTx creates an entity, or adds names and a kind to the entity with the name. Untrusted text
// must not change an entity that trusted text names. If only untrusted text names the existing
// entity, trusted text creates another entity.
func (g *Graph) UpsertTx(tx *store.Tx, c knowledge.EntityChange) (out knowledge.EntityChanged, err error) {
	c.Name = strings.TrimSpace(strings.ToValidUTF8(c.Name, "\uFFFD"))
	if c.Provenance == provenance.Unknown {
		c.Provenance = provenance.Outside
	}
	if c.At.IsZero() {
		c.At = time.Now()
	}
	if len(c.Names) > maxUpsertNames || len(c.Name) > 200 {
		return out, fmt.Errorf("too many or too long names; the limits are %d names of 200 bytes", maxUpsertNames)
	}
	e, err := g.resolveEntity(tx, c.Realm, c.Name)
	if err != nil && (!errors.Is(err, knowledge.ErrNoEntity) || looksLikeID(c.Name)) {
		return out, err
	}
	found := err == nil
	if found {
		var untrusted bool
		if err := tx.QueryRow(`SELECT `+foreign+` FROM entities e WHERE e.id = ?`, e.ID).Scan(&untrusted); err != nil {
			return out, fmt.Errorf("graph: read entity: %w", err)
		}
		switch {
		case c.Provenance.Tainted() && (!untrusted || e.ID == OwnerID):
			return out, fmt.Errorf("%w: %s", knowledge.ErrTrustedEntity, textnorm.Ellipsize(c.Name, 60))
		case !c.Provenance.Tainted() && untrusted && e.ID != OwnerID:
			found = false
		}
	}
	m := &rowExtraction{g: g, tx: tx, at: c.At, d: knowledge.Doc{Realm: c.Realm, Provenance: c.Provenance, Source: c.Source}}
	out.Source, out.Made = c.Source, !found
	id := e.ID
	if !found {
		if id, err = m.createLinkEntity(c.Name, c.Kind); err != nil {
			return out, err
		}
	} else if c.Kind != "" && c.Kind != e.Kind && id != OwnerID {
		out.OldKind = e.Kind
		if err := m.execSQL(`UPDATE entities SET kind = ? WHERE id = ?`, c.Kind, id); err != nil {
			return out, err
		}
	}
	for _, name := range c.Names {
		key, kind := g.aliasOf(strings.ToValidUTF8(name, "\uFFFD"))
		if key == "" || len(key) > 200 {
			return out, fmt.Errorf("%w: %q is not a name", knowledge.ErrNoEntity, textnorm.Ellipsize(name, 60))
		}
		n, err := execCounted(tx, `INSERT OR IGNORE INTO entity_aliases (entity, key, text, kind, doc, fresh, source) VALUES (?, ?, ?, ?, 0, ?, ?)`,
			id, key, strings.TrimSpace(name), kind, kind == byName, c.Source)
		if err != nil {
			return out, err
		}
		if n > 0 {
			out.Keys = append(out.Keys, keyDigest(key))
		}
	}
	tx.AfterCommit(func() { g.resetNames(); g.Wake() })
	out.Entity, err = g.Entity(tx, id)
	return out, err
}

// RevertUpsertTx reverts a change. An entity that was created is deleted, unless something else
// mentions it by now. It returns knowledge.ErrNoEntity if the change no longer has any effect.
func (g *Graph) RevertUpsertTx(tx *store.Tx, done knowledge.EntityChanged) error {
	id := done.Entity.ID
	if _, err := g.Entity(tx, id); err != nil {
		return err
	}
	reverted := 0
	keys, err := scanStrings(tx.Query(`SELECT key FROM entity_aliases WHERE entity = ? AND doc = 0 AND source = ?`, id, done.Source))
	if err != nil {
		return fmt.Errorf("graph: read names: %w", err)
	}
	for _, key := range keys {
		if !slices.Contains(done.Keys, keyDigest(key)) {
			continue
		}
		n, err := execCounted(tx, `DELETE FROM entity_aliases WHERE entity = ? AND key = ? AND doc = 0 AND source = ?`, id, key, done.Source)
		if err != nil {
			return err
		}
		reverted += n
	}
	if done.OldKind != "" {
		n, err := execCounted(tx, `UPDATE entities SET kind = ?1 WHERE id = ?2 AND kind <> ?1`, done.OldKind, id)
		if err != nil {
			return err
		}
		reverted += n
	}
	if done.Made {
		n, err := execCounted(tx, `UPDATE entities SET by_hand = 0 WHERE id = ? AND by_hand = 1`, id)
		if err != nil {
			return err
		}
		reverted += n
		if _, err := execCounted(tx, `DELETE FROM entities WHERE id = ? AND `+unspoken, id); err != nil {
			return err
		}
	}
	if reverted == 0 {
		return knowledge.ErrNoEntity
	}
	tx.AfterCommit(func() { g.resetNames(); g.Wake() })
	return nil
}

// keyDigest identifies a name without repeating it, because undo records must not keep forgotten
// text.
func keyDigest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}
