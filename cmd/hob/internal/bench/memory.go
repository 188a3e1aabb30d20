package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"hob/knowledge"
	"hob/knowledge/embed"
	"hob/knowledge/index"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/text/credential"
)

// MemoryOptions holds the options of Memory.
type MemoryOptions struct {
	Binary   string               // the program whose idle memory is measured with the filled database
	Tables   []store.MigrationSet // tables in the program's database
	Rows     int                  // final number of rows
	Numbers  int                  // length of each vector; 0 means no vectors
	Queries  int                  // number of searches at each size, default 300
	Progress io.Writer
}

// Growth holds the figures at one size.
type Growth struct {
	Rows int `json:"rows"`
	// Rows per second since the previous size that were stored, indexed by words, and embedded.
	Stored  float64 `json:"stored_per_s"`
	Indexed float64 `json:"indexed_per_s"`
	Vectors float64 `json:"vectors_per_s,omitempty"`
	// Size on disk in bytes.
	Database    int64 `json:"database_bytes"`
	Index       int64 `json:"index_bytes"`
	VectorBytes int64 `json:"vector_bytes,omitempty"`
	// Time per search (knowledge.Base.Retrieve, 10 hits), in milliseconds.
	P50 float64 `json:"p50_ms"`
	P95 float64 `json:"p95_ms"`
	// CPU is the processor time of one operation in milliseconds, or 0 if unknown. Other work on
	// the machine affects it less than the elapsed time.
	CPU float64 `json:"cpu_ms"`
	// Found is the share of questions whose source row is among the first 10 hits.
	Found float64 `json:"found"`
	// Time per search by meaning, in milliseconds: exact, and with a first pass. RecallAt is the
	// share of the 10 nearest rows that a search with a first pass finds.
	Exact50  float64 `json:"exact_p50_ms,omitempty"`
	Exact95  float64 `json:"exact_p95_ms,omitempty"`
	First50  float64 `json:"first_pass_p50_ms,omitempty"`
	First95  float64 `json:"first_pass_p95_ms,omitempty"`
	RecallAt float64 `json:"first_pass_recall,omitempty"`
	// The program's idle memory in bytes with this number of rows, after a start and some searches:
	// anonymous memory, and memory mapped from files.
	Anonymous int64 `json:"anonymous_bytes"`
	Files     int64 `json:"file_backed_bytes"`
	// Busy is the maximum anonymous memory in bytes during searches in this process.
	Busy int64 `json:"searching_anonymous_bytes"`
}

// memoryRun is a running measurement.
type memoryRun struct {
	o    MemoryOptions
	home *home
	data string
	c    *corpus

	st   *store.Store
	ix   *index.Index
	vecs *embed.Vectors
	base *knowledge.Base
}

// Memory fills a memory with generated rows and measures it at each size. It calls out with the
// figures of each size.
func Memory(ctx context.Context, o MemoryOptions, out func(Growth)) (err error) {
	if o.Rows < 1000 {
		return errors.New("at least 1,000 rows are needed")
	}
	if o.Queries <= 0 {
		o.Queries = 300
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	h, err := newHome(Options{Binary: o.Binary}, nil)
	if err != nil {
		return err
	}
	defer h.removeDir()
	r := &memoryRun{o: o, home: h, data: filepath.Join(h.dir, "hob"), c: newCorpus()}
	if err := h.startProgram(ctx); err != nil { // the first start creates the tables
		return err
	}
	if err := h.stopProgram(ctx); err != nil {
		return err
	}
	have := 0
	for _, n := range measuredSizes(o.Rows) {
		g, err := r.growTo(ctx, have, n)
		if err != nil {
			return fmt.Errorf("at %d rows: %w", n, err)
		}
		have = n
		out(g)
	}
	return nil
}

// measuredSizes returns the numbers of rows at which to measure: 1,000, 3,000, 10,000 and so on.
func measuredSizes(rows int) (out []int) {
	for n := 1000; n < rows; n *= 10 {
		out = append(out, n)
		if 3*n < rows {
			out = append(out, 3*n)
		}
	}
	return append(out, rows)
}

func (r *memoryRun) growTo(ctx context.Context, have, rows int) (g Growth, err error) {
	g.Rows = rows
	if err := r.openStores(ctx); err != nil {
		return g, err
	}
	if err := r.addRows(ctx, &g, rows-have); err != nil {
		return g, errors.Join(err, r.closeStores())
	}
	if err := r.waitMerged(ctx); err != nil {
		return g, errors.Join(err, r.closeStores())
	}
	if err := r.measureSearches(ctx, &g); err != nil {
		return g, errors.Join(err, r.closeStores())
	}
	if err := r.closeStores(); err != nil {
		return g, err
	}
	g.Database, g.Index, g.VectorBytes = size1(r.data, "hob.db"), size1(r.data, "index"), size1(r.data, "vectors.db")
	return g, r.measureProgram(ctx, &g)
}

// openStores opens the same stores as the daemon, with the daemon's defaults.
func (r *memoryRun) openStores(ctx context.Context) (err error) {
	if r.st, err = store.Open(ctx, filepath.Join(r.data, "hob.db"), r.o.Tables, store.Options{SkipCheck: true}); err != nil {
		return err
	}
	if r.ix, err = index.New(r.st, filepath.Join(r.data, "index"), index.Options{}); err != nil {
		return errors.Join(err, r.st.Close())
	}
	if r.vecs, err = r.openVectors(embed.Auto); err != nil {
		return errors.Join(err, r.st.Close())
	}
	r.base, err = knowledge.New(r.st, knowledge.Options{Index: r.ix})
	return err
}

// waitMerged waits until the index has finished merging. Merging uses a full processor core, and
// normal use never adds that many rows at the same time.
func (r *memoryRun) waitMerged(ctx context.Context) error {
	const calm, longest = 6, 1200 // in units of 0.5 s
	fmt.Fprintln(r.o.Progress, "waiting for the index to merge ...")
	var last index.Stats
	for i, same := 0, 0; i < longest && same < calm; i++ {
		s, err := r.ix.Stats(ctx)
		if err != nil {
			return err
		}
		if same++; s.Bytes != last.Bytes || s.Segments != last.Segments {
			same = 0
		}
		last = s
		if err := retry.Sleep(ctx, time.Second/2); err != nil {
			return err
		}
	}
	return nil
}

func (r *memoryRun) openVectors(first string) (*embed.Vectors, error) {
	if r.o.Numbers == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	return embed.New(embed.Options{
		Path: filepath.Join(r.data, "vectors.db"), Store: r.st, Embedder: hashEmbedder(r.o.Numbers), Model: "bench/hashing", Batch: 100, FirstPass: first,
	})
}

func (r *memoryRun) closeStores() error {
	var errs []error
	if r.vecs != nil {
		errs = append(errs, r.vecs.Close())
	}
	errs = append(errs, r.ix.Close(), r.st.Close())
	r.st, r.ix, r.vecs, r.base = nil, nil, nil, nil
	debug.FreeOSMemory()
	return errors.Join(errs...)
}

// perWrite is the number of rows per transaction. It matches the import of a document or a
// conversation.
const perWrite = 200

func (r *memoryRun) addRows(ctx context.Context, g *Growth, rows int) error {
	begun := time.Now()
	said := begun
	for left := rows; left > 0; left -= perWrite {
		docs := make([]knowledge.Doc, min(left, perWrite))
		for i := range docs {
			docs[i] = r.c.nextRow()
		}
		err := r.st.Write(ctx, func(tx *store.Tx) error {
			for _, d := range docs {
				if err := r.putRow(tx, d); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if time.Since(said) > 2*time.Second {
			said = time.Now()
			fmt.Fprintf(r.o.Progress, "storing rows: %d of %d\n", r.c.n, g.Rows)
		}
	}
	g.Stored = rowsPerSecond(rows, begun)
	fmt.Fprintf(r.o.Progress, "indexing %d rows ...\n", rows)
	begun = time.Now()
	if err := r.ix.CatchUp(ctx); err != nil {
		return err
	}
	g.Indexed = rowsPerSecond(rows, begun)
	if r.vecs == nil {
		return nil
	}
	fmt.Fprintf(r.o.Progress, "making %d vectors ...\n", rows)
	begun = time.Now()
	if err := r.vecs.CatchUp(ctx, nil); err != nil {
		return err
	}
	g.Vectors = rowsPerSecond(rows, begun)
	return nil
}

// putRow stores a row in the same way as the package that owns it.
func (r *memoryRun) putRow(tx *store.Tx, d knowledge.Doc) error {
	if d.Kind != knowledge.KindFact {
		return r.base.IndexTx(tx, d)
	}
	_, err := r.base.RememberTx(tx, knowledge.Fact{ID: d.Ref, Text: d.Text, Provenance: d.Provenance, CreatedAt: d.At})
	return err
}

func rowsPerSecond(rows int, begun time.Time) float64 {
	return float64(rows) / time.Since(begun).Seconds()
}

// measureSearches measures the time of searches.
func (r *memoryRun) measureSearches(ctx context.Context, g *Growth) error {
	fmt.Fprintf(r.o.Progress, "searching %d rows ...\n", g.Rows)
	q := r.st.Reader(ctx)
	questions := r.sampleQuestions()
	var times []time.Duration
	found := 0
	before, berr := usageOf(os.Getpid())
	for i, a := range questions {
		begun := time.Now()
		got, err := r.base.Retrieve(ctx, q, knowledge.Request{Text: a.text, Viewer: credential.Everything()})
		if err != nil {
			return err
		}
		if i >= len(questions)/10 { // the first questions warm the caches
			times = append(times, time.Since(begun))
		}
		if slices.ContainsFunc(got.Hits, func(h knowledge.Hit) bool { return h.Ref == a.ref }) {
			found++
		}
	}
	slices.Sort(times)
	g.P50, g.P95, g.Found = milliseconds(percentileAt(times, 50)), milliseconds(percentileAt(times, 95)), float64(found)/float64(len(questions))
	if u, err := usageOf(os.Getpid()); err == nil && berr == nil {
		g.Busy, g.CPU = u.anon, milliseconds(u.cpu-before.cpu)/float64(len(questions))
	}
	return r.byMeaning(ctx, g, q, questions)
}

// sampleQuestions returns a sample of the questions about the corpus.
func (r *memoryRun) sampleQuestions() []searchQuestion {
	step := max(1, len(r.c.seen)/r.o.Queries)
	var out []searchQuestion
	for i := 0; i < len(r.c.seen) && len(out) < r.o.Queries; i += step {
		out = append(out, r.c.seen[i])
	}
	return out
}

// byMeaning measures vector searches: exact, and with a first pass.
func (r *memoryRun) byMeaning(ctx context.Context, g *Growth, q store.Querier, questions []searchQuestion) error {
	if r.vecs == nil {
		return nil
	}
	kinds := []string{knowledge.KindTurn, knowledge.KindFact, "note", knowledge.KindChunk}
	questions = questions[:min(len(questions), max(10, 3_000_000/g.Rows))] // an exact search of many rows is slow
	var found [2][][]int64
	for way, first := range []string{embed.Off, embed.On} {
		v, err := r.openVectors(first)
		if err != nil {
			return err
		}
		var times []time.Duration
		for i := -3; i < len(questions); i++ {
			begun := time.Now()
			near, err := v.Nearest(ctx, q, questions[max(i, 0)].text+fmt.Sprint(" ", min(i, 0)), kinds, []string{""}, 10)
			if err != nil {
				return errors.Join(err, v.Close())
			}
			if i < 0 {
				continue
			}
			times = append(times, time.Since(begun))
			var ns []int64
			for _, m := range near {
				ns = append(ns, m.N)
			}
			found[way] = append(found[way], ns)
		}
		if err := v.Close(); err != nil {
			return err
		}
		slices.Sort(times)
		if way == 0 {
			g.Exact50, g.Exact95 = milliseconds(percentileAt(times, 50)), milliseconds(percentileAt(times, 95))
		} else {
			g.First50, g.First95 = milliseconds(percentileAt(times, 50)), milliseconds(percentileAt(times, 95))
		}
	}
	same, all := 0, 0
	for i, exact := range found[0] {
		for _, n := range exact {
			all++
			if slices.Contains(found[1][i], n) {
				same++
			}
		}
	}
	g.RecallAt = float64(same) / float64(max(1, all))
	return nil
}

// restSearches is the number of searches before the idle memory is measured. restWait is the wait
// after the searches.
const (
	restSearches = 20
	restWait     = 5 * time.Second
)

// measureProgram starts the program with the filled memory, runs searches, and measures the
// program's memory after it has become idle.
func (r *memoryRun) measureProgram(ctx context.Context, g *Growth) error {
	fmt.Fprintf(r.o.Progress, "starting the program over %d rows ...\n", g.Rows)
	if err := r.home.startProgram(ctx); err != nil {
		return err
	}
	err := func() error {
		for _, a := range r.sampleQuestions()[:restSearches] {
			if err := r.home.callTool(ctx, "recall", map[string]any{"query": a.text}); err != nil {
				return err
			}
		}
		if err := retry.Sleep(ctx, restWait); err != nil {
			return err
		}
		u, err := usageOf(r.home.processID())
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		g.Anonymous, g.Files = u.anon, u.rss-u.anon
		return err
	}()
	return errors.Join(err, r.home.stopProgram(ctx))
}

// size1 returns the size in bytes of a file or folder.
func size1(dir, name string) (n int64) {
	_ = filepath.WalkDir(filepath.Join(dir, name), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // a missing file counts as 0 bytes
		}
		if fi, err := e.Info(); err == nil {
			n += fi.Size()
		}
		return nil
	})
	return n
}
