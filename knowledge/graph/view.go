package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/api"
	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// viewHops is the maximum number of relations between an entity and the entities shown around it.
const viewHops = 2

// nearRows is the maximum number of rows about an entity that are shown.
const nearRows = 10

// view collects a part of the graph for the API.
type view struct {
	api.MemoryGraph
	edges map[string]bool // relations that the view already contains
}

// Overview returns at most limit entities with the relations between them: the newest entities or,
// if name is set, the entities around the entity with that id or name. It returns api.ErrNotFound
// if no entity has this id or name.
func (g *Graph) Overview(q store.Querier, name string, limit int) (api.MemoryGraph, error) {
	v := view{api.MemoryGraph{Entities: []api.Entity{}, Relations: []api.GraphEdge{}}, map[string]bool{}}
	if name == "" {
		list, err := g.Entities(q, Filter{EveryRealm: true, Limit: limit})
		if err != nil {
			return api.MemoryGraph{}, err
		}
		for _, e := range list {
			v.Entities = append(v.Entities, api.Entity(e))
		}
		err = v.addRelations(g, q)
		return v.MemoryGraph, err
	}
	e, ok, err := g.findEntity(q, name)
	if err == nil && !ok {
		err = fmt.Errorf("no person or other entity is named %q: %w; list all with: hob memory graph", textnorm.Ellipsize(name, 60), api.ErrNotFound)
	}
	if err != nil {
		return api.MemoryGraph{}, err
	}
	v.Root = e.ID
	v.Entities = append(v.Entities, api.Entity(e))
	err = v.addNeighbors(g, q, limit)
	return v.MemoryGraph, err
}

// addNeighbors adds the neighbors of the root up to a number of hops.
func (v *view) addNeighbors(g *Graph, q store.Querier, limit int) error {
	seen := map[string]bool{v.Root: true}
	from := v.Entities
	for range viewHops {
		var next []api.Entity
		for _, e := range from {
			list, err := g.Neighbors(q, e.ID)
			if err != nil {
				return err
			}
			for _, n := range list {
				if n.Over || !seen[n.Entity.ID] && len(seen) >= limit {
					continue
				}
				if !seen[n.Entity.ID] {
					seen[n.Entity.ID] = true
					next = append(next, api.Entity(n.Entity))
				}
				v.addEdge(e, n)
			}
		}
		v.Entities = append(v.Entities, next...)
		from = next
	}
	return nil
}

// addRelations adds the relations between the entities of the view.
func (v *view) addRelations(g *Graph, q store.Querier) error {
	known := map[string]bool{}
	for _, e := range v.Entities {
		known[e.ID] = true
	}
	for _, e := range v.Entities {
		list, err := g.Neighbors(q, e.ID)
		if err != nil {
			return err
		}
		for _, n := range list {
			if !n.Over && known[n.Entity.ID] {
				v.addEdge(e, n)
			}
		}
	}
	return nil
}

// addEdge adds a relation once, although both of its entities list it.
func (v *view) addEdge(e api.Entity, n Neighbor) {
	if !v.edges[n.Relation.ID] {
		v.edges[n.Relation.ID] = true
		v.Relations = append(v.Relations, edgeOf(e, n))
	}
}

// edgeOf returns the relation between an entity and its neighbor with their displayed ids. A merged
// entity is replaced by the entity into which it was merged.
func edgeOf(e api.Entity, n Neighbor) api.GraphEdge {
	x := api.GraphEdge{Relation: api.Relation(n.Relation), Over: n.Over}
	if n.Name == n.Relation.Name {
		x.From, x.FromName, x.To, x.ToName = e.ID, e.Name, n.Entity.ID, n.Entity.Name
	} else {
		x.From, x.FromName, x.To, x.ToName = n.Entity.ID, n.Entity.Name, e.ID, e.Name
	}
	x.Name = strings.ReplaceAll(x.Name, "_", " ")
	return x
}

// findEntity finds an entity by its id or name. An exact name takes precedence over a partial one.
func (g *Graph) findEntity(q store.Querier, name string) (e knowledge.Entity, ok bool, err error) {
	e, err = g.Entity(q, name)
	if err == nil || !errors.Is(err, knowledge.ErrNoEntity) {
		return e, err == nil, err
	}
	list, err := g.Entities(q, Filter{Text: name, EveryRealm: true, Limit: 100})
	if err != nil || len(list) == 0 {
		return e, false, err
	}
	for _, e := range list {
		if textnorm.EqualFolded(e.Name, name) || slices.ContainsFunc(e.Aliases, func(a string) bool { return textnorm.EqualFolded(a, name) }) {
			return e, true, nil
		}
	}
	return list[0], true, nil
}

// EntityItem returns an entity by its id or name, with its relations and the numbers of the rows
// that mention it. It returns api.ErrNotFound if there is none.
func (g *Graph) EntityItem(q store.Querier, name string) (it api.MemoryItem, rows []int64, err error) {
	e, ok, err := g.findEntity(q, name)
	if err == nil && !ok {
		err = api.ErrNotFound
	}
	if err != nil {
		return it, nil, err
	}
	it.MemoryRow = api.MemoryRow{ID: e.ID, Kind: "entity", Text: e.Name, At: e.CreatedAt, Provenance: e.Provenance, Realm: e.Realm, Source: e.Source}
	it.Entity = new(api.Entity(e))
	list, err := g.Neighbors(q, e.ID)
	if err != nil {
		return it, nil, err
	}
	for _, n := range list {
		it.Relations = append(it.Relations, edgeOf(*it.Entity, n))
	}
	near, err := g.ExpandNeighbors(q, []string{e.Realm, ""}, []string{e.ID}, 0, nearRows)
	for _, n := range near {
		rows = append(rows, n.N)
	}
	return it, rows, err
}
