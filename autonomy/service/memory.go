package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/mind/extract"
	sessions "hob/autonomy/session"
	"hob/knowledge"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/credential"
)

// Graph is the graph of people and things.
type Graph interface {
	// CatchUp processes the pending changes to the memory, for a limited time.
	CatchUp(ctx context.Context, b knowledge.ChangeSource) error
	// Overview returns at most limit entities with their relations: the newest entities or, if name
	// is set, the entities around the entity with that id or name. It returns api.ErrNotFound if no
	// such entity exists.
	Overview(q store.Querier, name string, limit int) (api.MemoryGraph, error)
	// EntityItem returns the entity with the given id or name, its relations, and the numbers of
	// the rows that mention it. It returns api.ErrNotFound if there is no such entity.
	EntityItem(q store.Querier, name string) (it api.MemoryItem, rows []int64, err error)
	// Named returns the entities that text names.
	Named(q store.Querier, realms []string, text string) ([]knowledge.Entity, error)
	Count(q store.Querier) (entities, relations int, err error)
}

// Index is the search index of the memory.
type Index interface {
	// Name is the name of the index as a consumer of changes.
	Name() string
	DerivedStats(ctx context.Context) (api.DerivedStats, error)
	Reindex(ctx context.Context, progress func(done, total int)) error
}

// Vectors holds the embeddings of the memory.
type Vectors interface {
	// Enabled reports whether vectors are enabled in the configuration.
	Enabled() bool
	DerivedStats(ctx context.Context) (api.DerivedStats, error)
	Reindex(ctx context.Context) error
}

// Transfer exports the memory, and imports exports and documents.
type Transfer interface {
	MemoryExport(ctx context.Context, to io.Writer, format string, conversations bool) error
	MemoryImport(ctx context.Context, in api.MemoryImport, step func(api.MemoryProgress)) (api.ImportResult, error)
}

// Facts implements api.Memory.
func (sv *Service) Facts(ctx context.Context, limit int, all bool) ([]api.Fact, error) {
	facts, err := sv.o.Memory.ListFacts(ctx, limit, all)
	return append([]api.Fact{}, ConvertEach(facts, apiFact)...), Classify(err)
}

// MemorySearch implements api.Memory.
func (sv *Service) MemorySearch(ctx context.Context, q api.MemoryQuery) ([]api.MemoryRow, error) {
	out, err := sv.ExplainSearch(ctx, q)
	if err == nil && out.Withheld > 0 {
		out.Hits = append(out.Hits, api.MemoryRow{Kind: "withheld", Text: withheldRemark(out.Withheld), At: time.Now()})
	}
	return out.Hits, err
}

func withheldRemark(n int) string {
	if n == 1 {
		return "omitted 1 result that looks like a credential; search for it by name"
	}
	return fmt.Sprintf("omitted %d results that look like credentials; search for them by name", n)
}

// ExplainSearch implements api.Memory.
func (sv *Service) ExplainSearch(ctx context.Context, q api.MemoryQuery) (out api.ExplainedSearch, err error) {
	if err := sv.o.Messages.Index(ctx); err != nil {
		return out, Classify(err)
	}
	a, err := sv.o.Memory.Retrieve(ctx, sv.o.Store.Reader(ctx), knowledge.Request{
		Text: q.Text, Kinds: q.Kinds, EveryRealm: true, Limit: q.Limit, Now: time.Now(), Zone: sv.o.Zone(), Since: q.Since, Until: q.Until, Speaker: q.Speaker,
		History: q.History, Meaning: q.Meaning, Viewer: credential.AskedBy(q.Text),
	})
	if err != nil {
		return out, Classify(err)
	}
	out = api.ExplainedSearch{Query: q.Text, Route: api.Route(a.Route), Hits: make([]api.MemoryRow, 0, len(a.Hits)), Withheld: a.Withheld}
	for _, h := range a.Hits {
		out.Hits = append(out.Hits, apiMemoryRow(h))
	}
	if q.History {
		for _, h := range a.History {
			r := apiMemoryRow(h)
			r.Past = true
			out.Hits = append(out.Hits, r)
		}
	}
	return out, nil
}

// MemoryItem implements api.Memory.
func (sv *Service) MemoryItem(ctx context.Context, id string) (api.MemoryItem, error) {
	if err := sv.o.Graph.CatchUp(ctx, sv.o.Memory); err != nil {
		return api.MemoryItem{}, Classify(err)
	}
	q := sv.o.Store.Reader(ctx)
	it, ok, err := sv.factItem(q, id)
	if err == nil && !ok {
		it, ok, err = sv.rowItem(q, id)
	}
	if err == nil && !ok {
		it, ok, err = sv.entityItem(q, id)
	}
	if err == nil && !ok {
		err = fmt.Errorf("no item has the id or name %q: %w; find it with: hob memory search", id, api.ErrNotFound)
	}
	return it, Classify(err)
}

// factItem returns a fact and its history.
func (sv *Service) factItem(q store.Querier, id string) (it api.MemoryItem, ok bool, err error) {
	f, err := sv.o.Memory.Fact(q, id)
	if errors.Is(err, knowledge.ErrNotFound) {
		return it, false, nil
	}
	if err != nil {
		return it, false, err
	}
	kind := knowledge.KindFact
	if !f.RetiredAt.IsZero() {
		kind = knowledge.KindRetired
	}
	it = api.MemoryItem{
		MemoryRow: api.MemoryRow{ID: f.ID, Kind: kind, Text: f.Text, At: f.CreatedAt, Provenance: f.Provenance, Origins: f.Origins, Realm: f.Realm, Source: f.Source, Past: !f.RetiredAt.IsZero()},
		Event:     f.Event, FactKind: f.Kind, Pinned: f.Pinned, ValidFrom: f.ValidFrom, ValidUntil: f.ValidUntil, RetiredAt: f.RetiredAt,
	}
	history, err := sv.o.Memory.SupersededFacts(q, f.ID)
	if err != nil {
		return it, true, err
	}
	it.History = ConvertEach(history, apiFact)
	if f.RetiredBy != "" {
		switch by, err := sv.o.Memory.Fact(q, f.RetiredBy); {
		case err == nil:
			it.ReplacedBy = ConvertPtr(&by, apiFact)
		case !errors.Is(err, knowledge.ErrNotFound): // if not found, the replacing fact was erased
			return it, true, err
		}
	}
	about, err := sv.o.Graph.Named(q, []string{f.Realm}, f.Text)
	it.About = ConvertEach(about, apiEntity)
	return it, true, err
}

// rowItem returns a row that is not a fact, and the adjacent rows.
func (sv *Service) rowItem(q store.Querier, id string) (it api.MemoryItem, ok bool, err error) {
	docs, err := sv.o.Memory.DocsByRef(q, id)
	if err != nil || len(docs) == 0 {
		return it, false, err
	}
	d := docs[0]
	it.MemoryRow = apiMemoryRow(knowledge.Hit{Doc: d})
	if it.Origins, err = origins.Of(q, origins.Row, d.Ref); err != nil || d.Group == "" {
		return it, true, err
	}
	near, err := sv.o.Memory.AdjacentDocs(q, d, 2)
	for _, n := range near {
		it.Near = append(it.Near, apiMemoryRow(knowledge.Hit{Doc: n}))
	}
	return it, true, err
}

// entityItem returns a person or thing, and the rows about it.
func (sv *Service) entityItem(q store.Querier, name string) (it api.MemoryItem, ok bool, err error) {
	it, rows, err := sv.o.Graph.EntityItem(q, name)
	if errors.Is(err, api.ErrNotFound) {
		return it, false, nil
	}
	if err != nil {
		return it, false, err
	}
	for _, n := range rows {
		list, err := sv.o.Memory.RowsAfter(q, n-1, 1)
		if err != nil {
			return it, true, err
		}
		if len(list) == 1 && list[0].N == n {
			it.Near = append(it.Near, apiMemoryRow(knowledge.Hit{Doc: list[0].Doc}))
		}
	}
	return it, true, nil
}

// MemoryGraph implements api.Memory.
func (sv *Service) MemoryGraph(ctx context.Context, name string, limit int) (api.MemoryGraph, error) {
	if err := sv.o.Graph.CatchUp(ctx, sv.o.Memory); err != nil {
		return api.MemoryGraph{}, Classify(err)
	}
	g, err := sv.o.Graph.Overview(sv.o.Store.Reader(ctx), name, limit)
	return g, Classify(err)
}

// MemoryStats implements api.Memory.
func (sv *Service) MemoryStats(ctx context.Context) (api.MemoryStats, error) {
	q := sv.o.Store.Reader(ctx)
	counts, err := sv.o.Memory.CountRows(q)
	if err != nil {
		return api.MemoryStats{}, Classify(err)
	}
	out := api.MemoryStats{Counts: append([]api.RowCount{}, ConvertEach(counts, apiRowCount)...)}
	for _, c := range counts {
		out.Rows += c.Rows
	}
	if out.Behind, err = sv.o.Messages.Behind(ctx); err != nil {
		return api.MemoryStats{}, Classify(err)
	}
	if out.Derived, err = sv.DerivedStats(ctx); err != nil {
		return api.MemoryStats{}, Classify(err)
	}
	if out.Entities, out.Relations, err = sv.o.Graph.Count(q); err != nil {
		return api.MemoryStats{}, Classify(err)
	}
	if out.Documents, err = sv.o.Memory.CountGroups(q, knowledge.KindChunk); err != nil {
		return api.MemoryStats{}, Classify(err)
	}
	junk, err := sv.o.Memory.CountJunk(q, time.Now())
	if err != nil {
		return api.MemoryStats{}, Classify(err)
	}
	out.Junk = api.JunkStats(junk)
	out.Database, out.OnDisk = sizeOfDatabase(sv.o.Paths.Database()), sizesBelow(sv.o.Paths.Data)
	return out, nil
}

// MemoryConsolidate implements api.Memory.
func (sv *Service) MemoryConsolidate(ctx context.Context) (api.Consolidation, error) {
	r, err := sv.o.Consolidator.Run(ctx)
	return api.Consolidation(r), Classify(err)
}

// MemoryFlush implements api.Memory.
func (sv *Service) MemoryFlush(ctx context.Context, session string) (api.MemoryFlush, error) {
	if session != "" {
		if _, ok, err := sv.o.Sessions.Get(ctx, session); err != nil || !ok {
			return api.MemoryFlush{}, Classify(cmp.Or(err, fmt.Errorf("%s: %w", session, sessions.ErrNoSession)))
		}
	}
	r, err := sv.o.Extractor.Flush(ctx, session)
	if errors.Is(err, extract.ErrOff) {
		err = fmt.Errorf("%w: %w", api.ErrConflict, err)
	}
	return api.MemoryFlush{Turns: r.Turns, Left: r.Left, Facts: append([]api.Fact{}, ConvertEach(r.Facts, apiFact)...)}, Classify(err)
}

// PinFact implements api.Memory.
func (sv *Service) PinFact(ctx context.Context, id string, pinned bool) (out api.Fact, err error) {
	err = sv.o.Store.Write(ctx, func(tx *store.Tx) error {
		f, err := sv.o.Memory.PinTx(tx, id, pinned)
		out = apiFact(f)
		return err
	})
	if errors.Is(err, knowledge.ErrNotFound) {
		err = fmt.Errorf("no fact has the id %q: %w; find it with: hob memory list", id, api.ErrNotFound)
	}
	return out, Classify(err)
}

// DerivedStats returns the states of the derived data, which are the index and the vectors.
func (sv *Service) DerivedStats(ctx context.Context) ([]api.DerivedStats, error) {
	index, err := sv.o.Index.DerivedStats(ctx)
	if err != nil {
		return nil, err
	}
	vectors, err := sv.o.Vectors.DerivedStats(ctx)
	return []api.DerivedStats{index, vectors}, err
}

// sizeOfDatabase returns the total size of the database files in bytes.
func sizeOfDatabase(path string) (n int64) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if fi, err := os.Stat(path + suffix); err == nil {
			n += fi.Size()
		}
	}
	return n
}

// sizesBelow returns the size in bytes of each file or folder directly in root. Unreadable files
// are not counted.
func sizesBelow(root string) map[string]int64 {
	out := map[string]int64{}
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // an unreadable file is not counted
		}
		fi, err := e.Info()
		rel, rerr := filepath.Rel(root, path)
		if err != nil || rerr != nil {
			return nil
		}
		for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(rel) {
			rel = dir
		}
		out[rel] += fi.Size()
		return nil
	})
	return out
}

// MemoryReindex implements api.Memory.
func (sv *Service) MemoryReindex(ctx context.Context, step func(api.MemoryProgress)) error {
	if err := sv.o.Messages.Index(ctx); err != nil {
		return Classify(err)
	}
	var last api.MemoryProgress
	err := sv.o.Index.Reindex(ctx, func(done, total int) {
		last = api.MemoryProgress{Doing: "index", Done: int64(done), Total: int64(total)}
		step(last)
	})
	if err != nil {
		return Classify(fmt.Errorf("rebuild the index: %w", err))
	}
	if sv.o.Vectors.Enabled() {
		step(api.MemoryProgress{Doing: "vectors", Done: last.Done})
		if err := sv.o.Vectors.Reindex(ctx); err != nil {
			return Classify(fmt.Errorf("rebuild the vectors: %w", err))
		}
	}
	step(api.MemoryProgress{Doing: "done", Done: last.Done, Total: last.Total})
	return nil
}

// MemoryExport implements api.Memory.
func (sv *Service) MemoryExport(ctx context.Context, to io.Writer, format string, conversations bool) error {
	return Classify(sv.o.Transfer.MemoryExport(ctx, to, format, conversations))
}

// MemoryImport implements api.Memory.
func (sv *Service) MemoryImport(ctx context.Context, in api.MemoryImport, step func(api.MemoryProgress)) (api.ImportResult, error) {
	out, err := sv.o.Transfer.MemoryImport(ctx, in, step)
	return out, Classify(err)
}

func apiFact(x knowledge.Fact) api.Fact { return api.Fact(x) }

func apiEntity(x knowledge.Entity) api.Entity { return api.Entity(x) }

func apiScorePart(x knowledge.Part) api.ScorePart { return api.ScorePart(x) }

func apiRowCount(x knowledge.Count) api.RowCount { return api.RowCount(x) }

func apiRow(x knowledge.Doc) api.Row { return api.Row(x) }

func apiMemoryRow(h knowledge.Hit) api.MemoryRow {
	return api.MemoryRow{
		ID: h.Ref, Kind: h.Kind, Title: h.Title, Text: h.Text, At: h.At, Provenance: h.Provenance, Origins: h.Origins, Realm: h.Realm, Group: h.Group, Pos: h.Pos,
		Speaker: h.Speaker, Source: h.Source, Score: h.Score, Parts: ConvertEach(h.Parts, apiScorePart), Until: h.Until, Replaced: ConvertEach(h.Replaced, apiFact),
	}
}

func apiErasurePlan(x knowledge.ErasurePlan) api.ErasurePlan {
	return api.ErasurePlan{
		Facts:  ConvertEach(x.Facts, apiFact),
		Docs:   ConvertEach(x.Docs, apiRow),
		Within: x.Within,
		Made:   ConvertEach(x.Made, apiRow),
		Turns:  x.Turns,
		Calls:  x.Calls,
	}
}

func apiErasure(x knowledge.ErasureStatus) api.Erasure { return api.Erasure(x) }
