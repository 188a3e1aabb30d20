package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/api"
	"hob/autonomy/service"
	"hob/knowledge"
	"hob/knowledge/graph"
	"hob/knowledge/transfer"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// graphView builds a part of the graph of people and things.
type graphView struct{ api.MemoryGraph }

// graphHops is the distance, in relations, shown around one entity.
const graphHops = 2

// MemoryGraph implements api.Memory.
func (b *backend) MemoryGraph(ctx context.Context, name string, limit int) (api.MemoryGraph, error) {
	if err := b.d.graph.CatchUp(ctx, b.d.base); err != nil {
		return api.MemoryGraph{}, service.Classify(err)
	}
	q := b.d.store.Reader(ctx)
	v := graphView{api.MemoryGraph{Entities: []api.Entity{}, Relations: []api.GraphEdge{}}}
	if name == "" {
		list, err := b.d.graph.Entities(q, graph.Filter{EveryRealm: true, Limit: limit})
		if err != nil {
			return api.MemoryGraph{}, service.Classify(err)
		}
		v.Entities = service.ConvertEach(list, apiEntity)
		if v.Entities == nil {
			v.Entities = []api.Entity{}
		}
		err = v.addRelations(b.d.graph, q)
		return v.MemoryGraph, service.Classify(err)
	}
	e, ok, err := b.findEntity(q, name)
	if err == nil && !ok {
		err = fmt.Errorf("no person or thing has the name %q: %w; see all with: hob memory graph", textnorm.Ellipsize(name, 60), api.ErrNotFound)
	}
	if err != nil {
		return api.MemoryGraph{}, service.Classify(err)
	}
	v.Root = e.ID
	v.Entities = append(v.Entities, api.Entity(e))
	err = v.addNeighbors(b.d.graph, q, limit)
	return v.MemoryGraph, service.Classify(err)
}

// addNeighbors adds the neighbors up to a number of hops.
func (v *graphView) addNeighbors(g *graph.Graph, q store.Querier, limit int) error {
	seen, edges := map[string]bool{v.Root: true}, map[string]bool{}
	from := v.Entities
	for range graphHops {
		var next []api.Entity
		for _, e := range from {
			list, err := g.Neighbours(q, e.ID)
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
				if !edges[n.Relation.ID] {
					edges[n.Relation.ID] = true
					v.Relations = append(v.Relations, edgeOf(e, n))
				}
			}
		}
		v.Entities = append(v.Entities, next...)
		from = next
	}
	return nil
}

// edgeOf returns the relation between an entity and its neighbor with their displayed ids; the
// entity they were merged into replaces merged ones.
func edgeOf(e api.Entity, n graph.Neighbour) api.GraphEdge {
	x := api.GraphEdge{Relation: api.Relation(n.Relation), Over: n.Over}
	if n.Name == n.Relation.Name {
		x.From, x.FromName, x.To, x.ToName = e.ID, e.Name, n.Entity.ID, n.Entity.Name
	} else {
		x.From, x.FromName, x.To, x.ToName = n.Entity.ID, n.Entity.Name, e.ID, e.Name
	}
	x.Name = relationText(x.Name)
	return x
}

// relationText writes a relation for people.
func relationText(name string) string { return strings.ReplaceAll(name, "_", " ") }

// addRelations adds the relations between the entities of the view.
func (v *graphView) addRelations(g *graph.Graph, q store.Querier) error {
	known, edges := map[string]bool{}, map[string]bool{}
	for _, e := range v.Entities {
		known[e.ID] = true
	}
	for _, e := range v.Entities {
		list, err := g.Neighbours(q, e.ID)
		if err != nil {
			return err
		}
		for _, n := range list {
			if !n.Over && known[n.Entity.ID] && !edges[n.Relation.ID] {
				edges[n.Relation.ID] = true
				v.Relations = append(v.Relations, edgeOf(e, n))
			}
		}
	}
	return nil
}

// findEntity finds an entity by its id or name: an exact name before a partial one.
func (b *backend) findEntity(q store.Querier, name string) (e knowledge.Entity, ok bool, err error) {
	e, err = b.d.graph.Entity(q, name)
	if err == nil || !errors.Is(err, knowledge.ErrNoEntity) {
		return e, err == nil, err
	}
	list, err := b.d.graph.Entities(q, graph.Filter{Text: name, EveryRealm: true, Limit: 100})
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

// nearRows is how many rows about an entity are shown.
const nearRows = 10

func (b *backend) entityItem(q store.Querier, name string) (it api.MemoryItem, ok bool, err error) {
	e, ok, err := b.findEntity(q, name)
	if err != nil || !ok {
		return it, ok, err
	}
	it.MemoryRow = api.MemoryRow{ID: e.ID, Kind: "entity", Text: e.Name, At: e.CreatedAt, Provenance: e.Provenance, Realm: e.Realm, Source: e.Source}
	it.Entity = service.ConvertPtr(&e, apiEntity)
	list, err := b.d.graph.Neighbours(q, e.ID)
	if err != nil {
		return it, true, err
	}
	for _, n := range list {
		it.Relations = append(it.Relations, edgeOf(*it.Entity, n))
	}
	near, err := b.d.graph.ExpandNeighbors(q, []string{e.Realm, ""}, []string{e.ID}, 0, nearRows)
	if err != nil {
		return it, true, err
	}
	for _, n := range near {
		list, err := b.d.base.RowsAfter(q, n.N-1, 1)
		if err != nil {
			return it, true, err
		}
		if len(list) == 1 && list[0].N == n.N {
			it.Near = append(it.Near, rowOf(knowledge.Hit{Doc: list[0].Doc}))
		}
	}
	return it, true, nil
}

func (b *backend) namedIn(q store.Querier, realm, text string) ([]knowledge.Entity, error) {
	return b.d.graph.Named(q, []string{realm}, text)
}

func (d *App) countGraph(q store.Querier) (entities, relations int, err error) {
	return d.graph.Count(q)
}

func (x exporter) exportGraph(ctx context.Context) error {
	if err := x.d.graph.CatchUp(ctx, x.d.base); err != nil {
		return err
	}
	return x.d.graph.ForEach(x.q,
		func(e knowledge.Entity) error { return x.w.Write(transfer.Record{Entity: &e}) },
		func(r knowledge.Relation) error { return x.w.Write(transfer.Record{Relation: &r}) })
}

// putGraph imports entities and relations that were created explicitly. The others are derived
// from facts, which are imported as well.
func (p batchImport) putGraph(r transfer.Record) (added bool, err error) {
	im := p.im
	if e := r.Entity; e != nil {
		if im.isHobExport() && !e.ByHand || e.ID == graph.OwnerID {
			return false, nil
		}
		said := e.ID
		e.ID = im.recordID("e", e.ID)
		e.Source = im.sourceRef(e.Source)
		e.Provenance = im.limitSource(e.Provenance)
		if !im.isTrustedSource() {
			e.Realm = ""
		}
		var id string
		if id, added, err = im.d.graph.RestoreEntityTx(p.tx, *e); err == nil {
			im.entities[said] = id
		}
		if errors.Is(err, knowledge.ErrNoEntity) {
			return false, invalidRecordError{err}
		}
		return added, err
	}
	x := r.Relation
	if im.isHobExport() && !x.ByHand {
		return false, nil
	}
	x.ID = im.recordID("r", x.ID)
	x.Fact = im.recordID("f", x.Fact)
	x.Source = im.sourceRef(x.Source)
	x.Provenance = im.limitSource(x.Provenance)
	x.From, x.To = im.localEntityID(x.From), im.localEntityID(x.To)
	if !im.isTrustedSource() {
		x.Realm = ""
	}
	added, err = im.d.graph.RestoreRelationTx(p.tx, *x)
	switch {
	case errors.Is(err, graph.ErrNoEnd) && im.in.DryRun: // it would be there
		return true, nil
	case errors.Is(err, graph.ErrNoEnd), errors.Is(err, knowledge.ErrNoEntity):
		return false, invalidRecordError{err}
	}
	return added, err
}

// localEntityID is the id under which an entity of the file is known here.
func (im *importer) localEntityID(id string) string {
	if e, ok := im.entities[id]; ok {
		return e
	}
	if id == graph.OwnerID && im.isTrustedSource() {
		return id
	}
	return ""
}
