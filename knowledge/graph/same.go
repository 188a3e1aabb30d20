package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hob/platform/store"
)

// clean is an SQL condition. It holds if alias a of entity e, with row d of docs, does not come
// from untrusted text.
const clean = `coalesce(d.provenance, e.provenance) IN ('owner', 'hob', 'tool')`

// foreign is an SQL condition. It holds if only untrusted text names entity e.
const foreign = `NOT EXISTS (SELECT 1 FROM entity_aliases b LEFT JOIN docs bd ON bd.n = b.doc WHERE b.entity = e.id AND coalesce(bd.provenance, e.provenance) IN ('owner', 'hob', 'tool'))`

// findNamesakes returns the entities with a key, oldest first. It represents merged entities by
// their root. It omits entities that only untrusted text names, if there are others.
func findNamesakes(q store.Querier, realm, key string, kinds ...string) (out []string, err error) {
	rows, err := q.Query(`SELECT e.id, CASE WHEN e.merged_into <> '' THEN e.merged_into ELSE e.id END, max(`+clean+`) AS clean FROM entity_aliases a
		JOIN entities e ON e.id = a.entity LEFT JOIN docs d ON d.n = a.doc WHERE a.key = ? AND e.realm = ? AND a.kind IN (`+sqlPlaceholders(len(kinds))+`)
		GROUP BY e.id ORDER BY clean DESC, e.created_at, min(a.doc), e.id LIMIT 20`, append([]any{key, realm}, toAnySlice(kinds)...)...)
	if err != nil {
		return nil, fmt.Errorf("graph: find entity: %w", err)
	}
	defer rows.Close()
	var roots []string
	var best bool
	for rows.Next() {
		var id, root string
		var clean bool
		if err := rows.Scan(&id, &root, &clean); err != nil {
			return nil, fmt.Errorf("graph: find entity: %w", err)
		}
		best = best || clean
		if clean == best && !slices.Contains(roots, root) {
			out, roots = append(out, id), append(roots, root)
		}
	}
	return out, rows.Err()
}

// singleOrEmpty returns the only item of a list, or "".
func singleOrEmpty(list []string, err error) (string, error) {
	if err != nil || len(list) != 1 {
		return "", err
	}
	return list[0], nil
}

// firstOrEmpty returns the first item of a list, or "".
func firstOrEmpty(list []string, err error) (string, error) {
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0], nil
}

// identityKey is an alias that may cause entities to be merged.
type identityKey struct {
	entity, kind, key string
	realm             string
	// clean is true if the alias does not come from untrusted text. outside is true if only
	// untrusted text names the entity.
	clean, outside bool
	named          bool
}

// regroupTx recomputes which entities are merged. Call it after aliases change. It merges entities
// that share an address or a number, and "my sister" with the person who has that role. Untrusted
// text can merge only entities that no trusted text mentions. The result is derived, so entities
// are separated again when the reason is removed.
func (g *Graph) regroupTx(tx *store.Tx) error {
	var changed bool
	if err := tx.QueryRow(`SELECT regroup FROM graph_state`).Scan(&changed); err != nil || !changed {
		return err
	}
	list, err := loadIdentityKeys(tx)
	if err != nil {
		return err
	}
	same, apart, err := loadPairs(tx)
	if err != nil {
		return err
	}
	into := groupEntities(list, same, apart)
	if _, err := tx.Exec(`UPDATE entities SET merged_into = '' WHERE merged_into <> ''`); err != nil {
		return fmt.Errorf("graph: merge entities: %w", err)
	}
	for from, to := range into {
		if _, err := tx.Exec(`UPDATE entities SET merged_into = ? WHERE id = ?`, to, from); err != nil {
			return fmt.Errorf("graph: merge entities: %w", err)
		}
	}
	if _, err := tx.Exec(`UPDATE graph_state SET regroup = 0`); err != nil {
		return fmt.Errorf("graph: merge entities: %w", err)
	}
	return nil
}

// loadIdentityKeys returns the aliases, sorted by entity: first the entities with a name, then the
// others, each oldest first.
func loadIdentityKeys(q store.Querier) (out []identityKey, err error) {
	rows, err := q.Query(`SELECT e.id, a.kind, a.key, e.realm, max(`+clean+`),
			`+foreign+`,
			EXISTS (SELECT 1 FROM entity_aliases b WHERE b.entity = e.id AND b.kind = ?) AS named
		FROM entity_aliases a JOIN entities e ON e.id = a.entity LEFT JOIN docs d ON d.n = a.doc
		WHERE a.kind IN (?, ?, ?, ?) AND e.id <> 'owner' GROUP BY e.id, a.kind, a.key ORDER BY named DESC, e.created_at, (SELECT min(b.doc) FROM entity_aliases b WHERE b.entity = e.id), e.id`, byName, byMail, byPhone, byRole, byCall)
	if err != nil {
		return nil, fmt.Errorf("graph: merge entities: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s identityKey
		if err := rows.Scan(&s.entity, &s.kind, &s.key, &s.realm, &s.clean, &s.outside, &s.named); err != nil {
			return nil, fmt.Errorf("graph: merge entities: %w", err)
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// groupEntities maps each merged entity to the entity that represents it. The user's decisions take
// precedence: pairs in same are merged, and no group contains a pair in apart.
func groupEntities(list []identityKey, same []entityPair, apart map[entityPair]bool) map[string]string {
	by := map[string][]identityKey{}
	for _, s := range list {
		if !s.clean && !s.outside {
			continue // untrusted text gave this alias to a trusted entity
		}
		kind := s.kind
		if kind == byCall {
			kind = byRole
		}
		k := strings.Join([]string{s.realm, kind, s.key, fmt.Sprint(s.clean)}, "\x00")
		by[k] = append(by[k], s)
	}
	rank := map[string]int{}
	for i, s := range list {
		if _, ok := rank[s.entity]; !ok {
			rank[s.entity] = i
		}
	}
	into := map[string]string{}
	root := func(id string) string {
		for into[id] != "" {
			id = into[id]
		}
		return id
	}
	join := func(x, y string) {
		a, b := root(x), root(y)
		for p := range apart {
			if l, r := root(p.a), root(p.b); l == a && r == b || l == b && r == a {
				return
			}
		}
		ra, known := rank[a]
		rb, also := rank[b]
		if !known && also || known == also && (ra > rb || ra == rb && b < a) {
			a, b = b, a
		}
		if a != b {
			into[b] = a
		}
	}
	for _, p := range same {
		join(p.a, p.b)
	}
	for _, k := range slices.Sorted(maps.Keys(by)) {
		for _, p := range mergePairs(by[k]) {
			join(p[0], p[1])
		}
	}
	for id := range into {
		into[id] = root(id)
	}
	return into
}

// mergePairs returns the pairs of entities in a group that must be merged.
func mergePairs(group []identityKey) (out [][2]string) {
	one := group[0].entity
	if k := group[0].kind; k == byRole || k == byCall {
		called := slices.DeleteFunc(slices.Clone(group), func(s identityKey) bool { return s.kind != byCall })
		if len(called) == 0 || slices.ContainsFunc(called, func(s identityKey) bool { return s.entity != called[0].entity }) {
			return nil // there are several sisters
		}
		one = called[0].entity
		group = slices.DeleteFunc(slices.Clone(group), func(s identityKey) bool { return s.named })
	}
	for _, s := range group {
		if s.entity != one {
			out = append(out, [2]string{one, s.entity})
		}
	}
	return out
}
