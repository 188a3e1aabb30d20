package memory

import (
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
)

// Graph is the knowledge graph of people and things.
type Graph interface {
	knowledge.Linker
	// FindEntities returns the entities that a query matches.
	FindEntities(q store.Querier, w knowledge.EntityQuery) ([]knowledge.FoundEntity, error)
	// Related returns the relations of an entity. It returns knowledge.ErrNoEntity or
	// knowledge.ErrAmbiguous if the name does not identify one entity.
	Related(q store.Querier, w knowledge.RelatedQuery) (knowledge.Entity, []knowledge.Edge, error)
	// UpsertTx creates an entity or adds data to it, and RevertUpsertTx reverts this change.
	UpsertTx(tx *store.Tx, e knowledge.EntityChange) (knowledge.EntityChanged, error)
	RevertUpsertTx(tx *store.Tx, done knowledge.EntityChanged) error
	// MergeTx records that two entities are the same, SplitTx that they are different, and
	// RevertPairTx reverts either.
	MergeTx(tx *store.Tx, c knowledge.PairChange) (knowledge.PairChanged, error)
	SplitTx(tx *store.Tx, c knowledge.PairChange) (knowledge.PairChanged, error)
	RevertPairTx(tx *store.Tx, done knowledge.PairChanged) error
}

// recallEdges is the maximum number of relations in a recall result.
const recallEdges = 8

// edgeLine describes a relation and its origin.
func edgeLine(e knowledge.Edge, now time.Time) string {
	s := e.Text
	if !e.ValidFrom.IsZero() {
		s += " since " + dateparse.FormatDay(e.ValidFrom, now)
	}
	if !e.ValidUntil.IsZero() {
		s += " until " + dateparse.FormatDay(e.ValidUntil, now)
	}
	return s + " (" + factSourceText(knowledge.Fact{Provenance: e.Provenance, CreatedAt: e.CreatedAt}, now) + ")"
}

// edgesText describes the relations that follow other results. first is true if there are no other
// results.
func edgesText(list []knowledge.Edge, now time.Time, first bool) string {
	switch {
	case len(list) == 0:
		return ""
	case len(list) == 1 && first:
		return "I remember: " + edgeLine(list[0], now) + "."
	}
	lines := make([]string, len(list))
	for i, e := range list {
		lines[i] = "\n- " + edgeLine(e, now)
	}
	out := "\nRelations:" + strings.Join(lines, "")
	if first {
		out = strings.TrimSpace(out)
	}
	return out
}

// edgesSource returns the provenance of a result that also shows relations, and their origins.
func edgesSource(src provenance.Source, list []knowledge.Edge) (provenance.Source, []provenance.Origin) {
	var from [][]provenance.Origin
	for _, e := range list {
		if e.Provenance.Tainted() {
			src = provenance.Outside
			from = append(from, e.Origins)
		}
	}
	return src, provenance.Join(slices.Clip(from)...)
}

// withEdges appends the relations of an answer to the text about its rows, or replaces the text if
// there are no rows. It also returns the provenance and the origins of the result.
func withEdges(a knowledge.Answer, text string, now time.Time) (string, provenance.Source, []provenance.Origin) {
	src, from := edgesSource(sourceOf(append(a.Hits, a.History...), hitSource), a.Edges)
	edges := edgesText(a.Edges, now, len(a.Hits) == 0)
	if len(a.Hits) > 0 || edges == "" {
		edges = text + edges
	}
	return edges, src, provenance.Join(originsOf(a.Hits, a.History), from)
}
