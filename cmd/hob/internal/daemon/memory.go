package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/channels/web"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/credential"
)

// memoryRow is a row of the knowledge as lists show it.
type memoryRow struct {
	ID         string              `json:"id"`
	Kind       string              `json:"kind"`
	Title      string              `json:"title,omitempty"`
	Text       string              `json:"text"`
	At         time.Time           `json:"at"`
	Provenance provenance.Source   `json:"provenance"`
	Origins    []provenance.Origin `json:"origins,omitempty"`
	Realm      string              `json:"realm,omitempty"`
	Group      string              `json:"group,omitempty"`
	Pos        int                 `json:"pos,omitempty"`
	Speaker    string              `json:"speaker,omitempty"`
	Source     string              `json:"source,omitempty"`
	Score      float64             `json:"score,omitempty"`
	Parts      []knowledge.Part    `json:"parts,omitempty"`
	Replaced   []knowledge.Fact    `json:"replaced,omitempty"`
	Until      time.Time           `json:"until,omitzero"` // when it ceased to be so
	Past       bool                `json:"past,omitempty"` // it was so before
}

func rowOf(h knowledge.Hit) memoryRow {
	return memoryRow{
		ID: h.Ref, Kind: h.Kind, Title: h.Title, Text: h.Text, At: h.At, Provenance: h.Provenance, Origins: h.Origins, Realm: h.Realm, Group: h.Group, Pos: h.Pos,
		Speaker: h.Speaker, Source: h.Source, Score: h.Score, Parts: h.Parts, Until: h.Until, Replaced: h.Replaced,
	}
}

// explainedSearch is the answer to a search with its reasons.
type explainedSearch struct {
	Query string          `json:"query"`
	Route knowledge.Route `json:"route"`
	Hits  []memoryRow     `json:"hits"`
	// Withheld counts omitted rows that look like a credential.
	Withheld int `json:"withheld,omitempty"`
}

func withheldRemark(n int) string {
	if n == 1 {
		return "omitted 1 result that looks like a credential; search for it by name"
	}
	return fmt.Sprintf("omitted %d results that look like credentials; search for them by name", n)
}

// MemorySearch implements web.Memory.
func (b *backend) MemorySearch(ctx context.Context, q web.MemoryQuery) (any, error) {
	if q.Text == "" && len(q.Kinds) == 0 && q.Speaker == "" && q.Since.IsZero() && q.Until.IsZero() {
		facts, err := b.d.base.ListFacts(ctx, q.Limit, q.All)
		if facts == nil {
			facts = []knowledge.Fact{}
		}
		return facts, classifyError(err)
	}
	if err := b.d.library.Index(ctx); err != nil {
		return nil, classifyError(err)
	}
	a, err := b.d.base.Retrieve(ctx, b.d.store.Reader(ctx), knowledge.Request{
		Text: q.Text, Kinds: q.Kinds, EveryRealm: true, Limit: q.Limit, Now: time.Now(), Zone: b.d.zone(), Since: q.Since, Until: q.Until, Speaker: q.Speaker,
		History: q.History, Meaning: q.Meaning, Viewer: credential.AskedBy(q.Text),
	})
	if err != nil {
		return nil, classifyError(err)
	}
	out := explainedSearch{Query: q.Text, Route: a.Route, Hits: make([]memoryRow, 0, len(a.Hits))}
	for _, h := range a.Hits {
		out.Hits = append(out.Hits, rowOf(h))
	}
	if q.History {
		for _, h := range a.History {
			r := rowOf(h)
			r.Past = true
			out.Hits = append(out.Hits, r)
		}
	}
	if out.Withheld = a.Withheld; q.Explain {
		return out, nil
	}
	if a.Withheld > 0 {
		out.Hits = append(out.Hits, memoryRow{Kind: "withheld", Text: withheldRemark(a.Withheld), At: time.Now()})
	}
	return out.Hits, nil
}

// memoryItem is all about one thing.
type memoryItem struct {
	memoryRow

	// For facts: the time it refers to, the fact it replaced, and the fact that replaced it.
	Event      string           `json:"event,omitempty"`
	FactKind   string           `json:"fact_kind,omitempty"`
	ValidFrom  time.Time        `json:"valid_from,omitzero"`
	ValidUntil time.Time        `json:"valid_until,omitzero"`
	RetiredAt  time.Time        `json:"retired_at,omitzero"`
	History    []knowledge.Fact `json:"history,omitempty"`
	ReplacedBy *knowledge.Fact  `json:"replaced_by,omitempty"`
	// About are the entities that it names.
	About []knowledge.Entity `json:"about,omitempty"`
	// Of an entity.
	Entity    *knowledge.Entity `json:"entity,omitempty"`
	Relations []graphEdge       `json:"relations,omitempty"`
	// Near contains the rows about an entity, or next to a row in its conversation or document.
	Near []memoryRow `json:"near,omitempty"`
}

// MemoryItem implements web.Memory.
func (b *backend) MemoryItem(ctx context.Context, id string) (any, error) {
	if err := b.d.graph.CatchUp(ctx, b.d.base); err != nil {
		return nil, classifyError(err)
	}
	q := b.d.store.Reader(ctx)
	f, err := b.d.base.Fact(q, id)
	if err == nil {
		it, err := b.factItem(q, f)
		return it, classifyError(err)
	}
	if !errors.Is(err, knowledge.ErrNotFound) {
		return nil, classifyError(err)
	}
	it, ok, err := b.rowItem(q, id)
	if err == nil && !ok {
		it, ok, err = b.entityItem(q, id)
	}
	if err == nil && !ok {
		err = fmt.Errorf("no item has the id or name %q: %w; find it with: hob memory search", id, web.ErrNotFound)
	}
	return it, classifyError(err)
}

func (b *backend) factItem(q store.Querier, f knowledge.Fact) (memoryItem, error) {
	kind := knowledge.KindFact
	if !f.RetiredAt.IsZero() {
		kind = knowledge.KindRetired
	}
	it := memoryItem{
		memoryRow: memoryRow{ID: f.ID, Kind: kind, Text: f.Text, At: f.CreatedAt, Provenance: f.Provenance, Origins: f.Origins, Realm: f.Realm, Source: f.Source, Past: !f.RetiredAt.IsZero()},
		Event:     f.Event, FactKind: f.Kind, ValidFrom: f.ValidFrom, ValidUntil: f.ValidUntil, RetiredAt: f.RetiredAt,
	}
	var err error
	if it.History, err = b.d.base.SupersededFacts(q, f.ID); err != nil {
		return it, err
	}
	if f.RetiredBy != "" {
		switch by, err := b.d.base.Fact(q, f.RetiredBy); {
		case err == nil:
			it.ReplacedBy = &by
		case !errors.Is(err, knowledge.ErrNotFound): // it was forgotten since
			return it, err
		}
	}
	it.About, err = b.namedIn(q, f.Realm, f.Text)
	return it, err
}

// rowItem returns a row of another kind with its neighbors.
func (b *backend) rowItem(q store.Querier, id string) (it memoryItem, ok bool, err error) {
	docs, err := b.d.base.DocsByRef(q, id)
	if err != nil || len(docs) == 0 {
		return it, false, err
	}
	d := docs[0]
	it.memoryRow = rowOf(knowledge.Hit{Doc: d})
	if it.Origins, err = origins.Of(q, origins.Row, d.Ref); err != nil || d.Group == "" {
		return it, true, err
	}
	near, err := b.d.base.AdjacentDocs(q, d, 2)
	for _, n := range near {
		it.Near = append(it.Near, rowOf(knowledge.Hit{Doc: n}))
	}
	return it, true, err
}
