package graph

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// Filter selects entities. The zero value selects all.
type Filter struct {
	Text       string // a name or part of a name
	Kind       string
	Realm      string
	EveryRealm bool
	Limit      int // default 100, at most 10,000
}

// Neighbor is an entity related to another one.
type Neighbor struct {
	Relation knowledge.Relation `json:"relation"`
	// Name is the name of the relation as seen from the queried entity: "employs" if the other
	// entity "works at" it.
	Name   string           `json:"name"`
	Entity knowledge.Entity `json:"entity"`
	// Over is true if the relation is no longer valid.
	Over bool `json:"over,omitempty"`
}

const entityColumns = `e.id, e.name, e.kind, e.realm, e.provenance, e.source, e.by_hand, e.created_at, e.updated_at`

// Entities returns the known entities, newest first.
func (g *Graph) Entities(q store.Querier, f Filter) ([]knowledge.Entity, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	escape := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
	like := "%" + escape.Replace(strings.Join(textnorm.FoldedWords(f.Text), " ")) + "%"
	address := "%" + escape.Replace(strings.ToLower(strings.TrimSpace(f.Text))) + "%" // the key of an address is not folded
	ids, err := scanStrings(q.Query(`SELECT e.id FROM entities e WHERE e.merged_into = '' AND (?1 = '' OR e.kind = ?1) AND (?2 OR e.realm = ?3)
		AND (?4 = '%%' OR e.id = ?5 OR EXISTS (SELECT 1 FROM entity_aliases a WHERE a.entity IN (SELECT id FROM entities WHERE id = e.id OR merged_into = e.id) AND (a.key LIKE ?4 ESCAPE '\' OR a.kind = 'mail' AND a.key LIKE ?7 ESCAPE '\')))
		ORDER BY e.updated_at DESC, e.id LIMIT ?6`, f.Kind, f.EveryRealm, f.Realm, like, strings.TrimSpace(f.Text), min(f.Limit, 10_000), address))
	if err != nil {
		return nil, fmt.Errorf("graph: list entities: %w", err)
	}
	return g.loadEntities(q, ids)
}

func scanStrings(rows *sql.Rows, err error) (out []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// Entity returns one entity by id.
func (g *Graph) Entity(q store.Querier, id string) (knowledge.Entity, error) {
	list, err := g.loadEntities(q, []string{id})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: %s", knowledge.ErrNoEntity, textnorm.Ellipsize(id, 40))
	}
	if err != nil {
		return knowledge.Entity{}, err
	}
	return list[0], nil
}

// loadEntities loads entities with their aliases, in the order of ids.
func (g *Graph) loadEntities(q store.Querier, ids []string) ([]knowledge.Entity, error) {
	var out []knowledge.Entity
	for _, id := range ids {
		var e knowledge.Entity
		var created, updated int64
		err := q.QueryRow(`SELECT `+entityColumns+` FROM entities e WHERE e.id = ?`, id).
			Scan(&e.ID, &e.Name, &e.Kind, &e.Realm, &e.Provenance, &e.Source, &e.ByHand, &created, &updated)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("graph: read entity: %w", err)
		}
		e.CreatedAt, e.UpdatedAt = store.Time(created), store.Time(updated)
		e.Aliases, err = scanStrings(q.Query(`SELECT DISTINCT a.text FROM entity_aliases a WHERE a.entity IN (SELECT id FROM entities WHERE id = ?1 OR merged_into = ?1) AND a.kind <> 'first' AND a.text <> ?2
			ORDER BY a.text LIMIT 50`, id, e.Name))
		if err != nil {
			return nil, fmt.Errorf("graph: read names: %w", err)
		}
		out = append(out, e)
	}
	return out, nil
}

// Neighbors returns the related entities, valid relations first.
func (g *Graph) Neighbors(q store.Querier, id string) ([]Neighbor, error) {
	all, err := mergedMembers(q, []string{id})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	p := sqlPlaceholders(len(all))
	list, err := scanRelations(q.Query(`SELECT `+relationColumns+` FROM relations r WHERE r.from_id IN (`+p+`) OR r.to_id IN (`+p+`) ORDER BY r.over, r.created_at DESC, r.id LIMIT 1000`, append(toAnySlice(all), toAnySlice(all)...)...))
	if err != nil {
		return nil, fmt.Errorf("graph: read relations: %w", err)
	}
	var out []Neighbor
	for _, r := range list {
		n := Neighbor{Relation: r.Relation, Name: r.Name, Over: r.over}
		other := r.To
		if containsString(all, r.To) {
			other, n.Name = r.From, InverseRelation(r.Name)
		}
		e, err := g.rootEntity(q, other)
		if err != nil {
			return nil, err
		}
		n.Entity = e
		out = append(out, n)
	}
	return out, nil
}

// rootEntity returns the entity that id was merged into, or the entity itself.
func (g *Graph) rootEntity(q store.Querier, id string) (knowledge.Entity, error) {
	var into string
	if err := q.QueryRow(`SELECT merged_into FROM entities WHERE id = ?`, id).Scan(&into); err == nil && into != "" {
		id = into
	}
	return g.Entity(q, id)
}

func containsString(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

const relationColumns = `r.id, r.from_id, r.name, r.to_id, r.fact, r.realm, r.provenance, r.source, r.valid_from, r.valid_until, r.doc = 0, r.created_at, r.over`

type relation struct {
	knowledge.Relation

	over bool
}

func scanRelations(rows *sql.Rows, err error) (out []relation, _ error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var r relation
		var from, until, created int64
		if err := rows.Scan(&r.ID, &r.From, &r.Name, &r.To, &r.Fact, &r.Realm, &r.Provenance, &r.Source, &from, &until, &r.ByHand, &created, &r.over); err != nil {
			return nil, err
		}
		r.ValidFrom, r.ValidUntil, r.CreatedAt = store.Time(from), store.Time(until), store.Time(created)
		out = append(out, r)
	}
	return out, rows.Err()
}
