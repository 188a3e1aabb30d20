package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/service"
	"hob/knowledge"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/credential"
)

func rowOf(h knowledge.Hit) api.MemoryRow {
	return api.MemoryRow{
		ID: h.Ref, Kind: h.Kind, Title: h.Title, Text: h.Text, At: h.At, Provenance: h.Provenance, Origins: h.Origins, Realm: h.Realm, Group: h.Group, Pos: h.Pos,
		Speaker: h.Speaker, Source: h.Source, Score: h.Score, Parts: service.ConvertEach(h.Parts, apiScorePart), Until: h.Until, Replaced: service.ConvertEach(h.Replaced, apiFact),
	}
}

func withheldRemark(n int) string {
	if n == 1 {
		return "omitted 1 result that looks like a credential; search for it by name"
	}
	return fmt.Sprintf("omitted %d results that look like credentials; search for them by name", n)
}

// Facts implements api.Memory.
func (b *backend) Facts(ctx context.Context, limit int, all bool) ([]api.Fact, error) {
	facts, err := b.d.base.ListFacts(ctx, limit, all)
	return append([]api.Fact{}, service.ConvertEach(facts, apiFact)...), service.Classify(err)
}

// MemorySearch implements api.Memory.
func (b *backend) MemorySearch(ctx context.Context, q api.MemoryQuery) ([]api.MemoryRow, error) {
	out, err := b.ExplainSearch(ctx, q)
	if err == nil && out.Withheld > 0 {
		out.Hits = append(out.Hits, api.MemoryRow{Kind: "withheld", Text: withheldRemark(out.Withheld), At: time.Now()})
	}
	return out.Hits, err
}

// ExplainSearch implements api.Memory.
func (b *backend) ExplainSearch(ctx context.Context, q api.MemoryQuery) (out api.ExplainedSearch, err error) {
	if err := b.d.library.Index(ctx); err != nil {
		return out, service.Classify(err)
	}
	a, err := b.d.base.Retrieve(ctx, b.d.store.Reader(ctx), knowledge.Request{
		Text: q.Text, Kinds: q.Kinds, EveryRealm: true, Limit: q.Limit, Now: time.Now(), Zone: b.d.zone(), Since: q.Since, Until: q.Until, Speaker: q.Speaker,
		History: q.History, Meaning: q.Meaning, Viewer: credential.AskedBy(q.Text),
	})
	if err != nil {
		return out, service.Classify(err)
	}
	out = api.ExplainedSearch{Query: q.Text, Route: api.Route(a.Route), Hits: make([]api.MemoryRow, 0, len(a.Hits)), Withheld: a.Withheld}
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
	return out, nil
}

// MemoryItem implements api.Memory.
func (b *backend) MemoryItem(ctx context.Context, id string) (it api.MemoryItem, err error) {
	if err := b.d.graph.CatchUp(ctx, b.d.base); err != nil {
		return it, service.Classify(err)
	}
	q := b.d.store.Reader(ctx)
	f, err := b.d.base.Fact(q, id)
	if err == nil {
		it, err := b.factItem(q, f)
		return it, service.Classify(err)
	}
	if !errors.Is(err, knowledge.ErrNotFound) {
		return it, service.Classify(err)
	}
	it, ok, err := b.rowItem(q, id)
	if err == nil && !ok {
		it, ok, err = b.entityItem(q, id)
	}
	if err == nil && !ok {
		err = fmt.Errorf("no item has the id or name %q: %w; find it with: hob memory search", id, api.ErrNotFound)
	}
	return it, service.Classify(err)
}

func (b *backend) factItem(q store.Querier, f knowledge.Fact) (api.MemoryItem, error) {
	kind := knowledge.KindFact
	if !f.RetiredAt.IsZero() {
		kind = knowledge.KindRetired
	}
	it := api.MemoryItem{
		MemoryRow: api.MemoryRow{ID: f.ID, Kind: kind, Text: f.Text, At: f.CreatedAt, Provenance: f.Provenance, Origins: f.Origins, Realm: f.Realm, Source: f.Source, Past: !f.RetiredAt.IsZero()},
		Event:     f.Event, FactKind: f.Kind, ValidFrom: f.ValidFrom, ValidUntil: f.ValidUntil, RetiredAt: f.RetiredAt,
	}
	history, err := b.d.base.SupersededFacts(q, f.ID)
	if err != nil {
		return it, err
	}
	it.History = service.ConvertEach(history, apiFact)
	if f.RetiredBy != "" {
		switch by, err := b.d.base.Fact(q, f.RetiredBy); {
		case err == nil:
			it.ReplacedBy = service.ConvertPtr(&by, apiFact)
		case !errors.Is(err, knowledge.ErrNotFound): // it was forgotten since
			return it, err
		}
	}
	about, err := b.namedIn(q, f.Realm, f.Text)
	it.About = service.ConvertEach(about, apiEntity)
	return it, err
}

// rowItem returns a row of another kind with its neighbors.
func (b *backend) rowItem(q store.Querier, id string) (it api.MemoryItem, ok bool, err error) {
	docs, err := b.d.base.DocsByRef(q, id)
	if err != nil || len(docs) == 0 {
		return it, false, err
	}
	d := docs[0]
	it.MemoryRow = rowOf(knowledge.Hit{Doc: d})
	if it.Origins, err = origins.Of(q, origins.Row, d.Ref); err != nil || d.Group == "" {
		return it, true, err
	}
	near, err := b.d.base.AdjacentDocs(q, d, 2)
	for _, n := range near {
		it.Near = append(it.Near, rowOf(knowledge.Hit{Doc: n}))
	}
	return it, true, err
}
