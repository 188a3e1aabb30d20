package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

// Limits of a search from entity to entity. They also limit the cost of entities with many
// relations.
const (
	maxWords  = 64 // words of a text to search for names
	maxName   = 4  // words in a name
	maxNamed  = 12
	maxFan    = 48 // relations to follow per entity
	maxAround = 20 // maximum number of rows in the result
	hopWeight = 0.5
)

// Named implements knowledge.Graph. It never returns the user's own entity, because all other
// entities are related to it.
func (g *Graph) Named(q store.Querier, realms []string, text string) ([]knowledge.Entity, error) {
	keys := nameCandidates(text)
	if len(keys) == 0 || len(realms) == 0 {
		return nil, nil
	}
	args := append(toAnySlice(keys), toAnySlice(realms)...)
	rows, err := q.Query(`SELECT DISTINCT CASE WHEN e.merged_into <> '' THEN e.merged_into ELSE e.id END, a.key, a.kind FROM entity_aliases a JOIN entities e ON e.id = a.entity
		WHERE a.key IN (`+sqlPlaceholders(len(keys))+`) AND e.realm IN (`+sqlPlaceholders(len(realms))+`) AND e.id <> 'owner' LIMIT 200`, args...)
	if err != nil {
		return nil, fmt.Errorf("graph: read names: %w", err)
	}
	defer rows.Close()
	byKey := map[string][]string{}
	for rows.Next() {
		var id, key, kind string
		if err := rows.Scan(&id, &key, &kind); err != nil {
			return nil, fmt.Errorf("graph: read names: %w", err)
		}
		if kind == byRole && !strings.HasPrefix(key, "my ") {
			continue
		}
		if !slices.Contains(byKey[key], id) {
			byKey[key] = append(byKey[key], id)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("graph: read names: %w", err)
	}
	var ids []string
	sorting.StableByFunc(keys, func(a, b string) int { return len(b) - len(a) })
	var covered []string
	for _, k := range keys {
		if slices.ContainsFunc(covered, func(c string) bool { return strings.Contains(" "+c+" ", " "+k+" ") }) {
			continue
		}
		for _, id := range byKey[k] {
			covered = append(covered, k)
			if !slices.Contains(ids, id) && len(ids) < maxNamed {
				ids = append(ids, id)
			}
		}
	}
	return g.loadEntities(q, ids)
}

// nameCandidates returns the parts of text that may be names: word sequences, roles such as "my
// sister", and email addresses.
func nameCandidates(text string) []string {
	if len(text) > 4000 {
		text = strings.ToValidUTF8(text[:4000], "")
	}
	w := textnorm.FoldedWords(text)
	w = w[:min(len(w), maxWords)]
	var out []string
	for i := range w {
		if say.Mine(w[i]) && i+1 < len(w) {
			out = append(out, "my "+w[i+1])
		}
		for n := 1; n <= maxName && i+n <= len(w); n++ {
			out = append(out, strings.Join(w[i:i+n], " "))
		}
	}
	for f := range strings.FieldsSeq(text) { // do not split addresses
		if f = strings.ToLower(strings.Trim(f, ".,;:()<>\"'")); strings.Contains(f, "@") {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mergedMembers returns the given ids and the ids of the entities that were merged into them.
func mergedMembers(q store.Querier, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	p := sqlPlaceholders(len(ids))
	rows, err := q.Query(`SELECT id FROM entities WHERE id IN (`+p+`) UNION SELECT id FROM entities WHERE merged_into IN (`+p+`)`, append(toAnySlice(ids), toAnySlice(ids)...)...)
	if err != nil {
		return nil, fmt.Errorf("graph: read merged entities: %w", err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("graph: read merged entities: %w", err)
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

// ExpandNeighbors implements knowledge.Graph. It never follows relations of the user's own entity,
// because it is related to all other entities.
func (g *Graph) ExpandNeighbors(q store.Querier, realms, entities []string, hops, limit int) ([]knowledge.GraphNeighbor, error) {
	if limit <= 0 || limit > maxAround {
		limit = maxAround
	}
	hops = min(max(hops, 0), 3)
	seen := map[string]bool{OwnerID: true}
	docs := map[int64]knowledge.GraphNeighbor{}
	front := entities
	for hop := 0; hop <= hops && len(front) > 0; hop++ {
		all, err := mergedMembers(q, front)
		if err != nil {
			return nil, err
		}
		score := math.Pow(hopWeight, float64(hop))
		for _, id := range all {
			seen[id] = true
			if err := g.rowsOf(q, realms, id, limit, func(n int64) {
				if _, there := docs[n]; !there {
					docs[n] = knowledge.GraphNeighbor{N: n, Hops: hop, Score: score}
				}
			}); err != nil {
				return nil, err
			}
		}
		if hop == hops || len(docs) > 4*maxAround {
			break
		}
		if front, err = g.unseenNeighbors(q, realms, all, seen); err != nil {
			return nil, err
		}
	}
	out := make([]knowledge.GraphNeighbor, 0, len(docs))
	for _, n := range docs {
		out = append(out, n)
	}
	sorting.ByFunc(out, func(a, b knowledge.GraphNeighbor) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.N, a.N))
	})
	return out[:min(len(out), limit)], nil
}

// rowsOf calls f with the newest rows of docs that mention an entity.
func (g *Graph) rowsOf(q store.Querier, realms []string, id string, limit int, f func(int64)) error {
	rows, err := q.Query(`SELECT m.doc FROM mentions m JOIN docs d ON d.n = m.doc WHERE m.entity = ? AND d.kind <> 'retired' AND d.realm IN (`+sqlPlaceholders(len(realms))+`)
		ORDER BY m.doc DESC LIMIT ?`, append(append([]any{id}, toAnySlice(realms)...), limit)...)
	if err != nil {
		return fmt.Errorf("graph: read mentions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return fmt.Errorf("graph: read mentions: %w", err)
		}
		f(n)
	}
	return rows.Err()
}

// unseenNeighbors returns the entities that are one relation away and have not been visited yet.
func (g *Graph) unseenNeighbors(q store.Querier, realms, ids []string, seen map[string]bool) ([]string, error) {
	var out []string
	for _, id := range ids {
		rows, err := q.Query(`SELECT CASE WHEN e.merged_into <> '' THEN e.merged_into ELSE e.id END FROM (
				SELECT to_id AS id, realm FROM relations WHERE from_id = ? AND over = 0 UNION SELECT from_id, realm FROM relations WHERE to_id = ? AND over = 0) r
			JOIN entities e ON e.id = r.id WHERE r.realm IN (`+sqlPlaceholders(len(realms))+`) LIMIT ?`, append(append([]any{id, id}, toAnySlice(realms)...), maxFan)...)
		if err != nil {
			return nil, fmt.Errorf("graph: read relations: %w", err)
		}
		err = func() error {
			defer rows.Close()
			for rows.Next() {
				var other string
				if err := rows.Scan(&other); err != nil {
					return err
				}
				if !seen[other] {
					seen[other] = true
					out = append(out, other)
				}
			}
			return rows.Err()
		}()
		if err != nil {
			return nil, fmt.Errorf("graph: read relations: %w", err)
		}
	}
	return out[:min(len(out), 2*maxFan)], nil
}
