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

// MemoryOptions of Memory.
type MemoryOptions struct {
	Binary   string               // the program whose idle memory is measured with the filled database
	Tables   []store.MigrationSet // tables of the program's database
	Rows     int                  // number of rows at the end
	Numbers  int                  // length of each vector; 0: no vectors
	Queries  int                  // searches at each size, default 300
	Progress io.Writer
}

// Growth contains the figures at one size.
type Growth struct {
	Rows int `json:"rows"`
	// Rows per second since the previous size: stored, indexed by words, and embedded.
	Stored  float64 `json:"stored_per_s"`
	Indexed float64 `json:"indexed_per_s"`
	Vectors float64 `json:"vectors_per_s,omitempty"`
	// Bytes on the disk.
	Database    int64 `json:"database_bytes"`
	Index       int64 `json:"index_bytes"`
	VectorBytes int64 `json:"vector_bytes,omitempty"`
	// Time of a search (knowledge.Base.Retrieve, ten hits), in milliseconds.
	P50 float64 `json:"p50_ms"`
	P95 float64 `json:"p95_ms"`
	// CPU is the processor time of one operation. Other work on the machine changes it less than
	// the elapsed time. 0 if unknown.
	CPU float64 `json:"cpu_ms"`
	// Found is the share of the questions whose source row is among the first ten hits.
	Found float64 `json:"found"`
	// Time of a search by meaning, in milliseconds: exact, and with a first pass. RecallAt is the
	// share of the ten nearest rows that the search with a first pass finds.
	Exact50  float64 `json:"exact_p50_ms,omitempty"`
	Exact95  float64 `json:"exact_p95_ms,omitempty"`
	First50  float64 `json:"first_pass_p50_ms,omitempty"`
	First95  float64 `json:"first_pass_p95_ms,omitempty"`
	RecallAt float64 `json:"first_pass_recall,omitempty"`
	// The idle memory of the program with this number of rows, after a start and some searches,
	// in bytes: anonymous, and mapped from files.
	Anonymous int64 `json:"anonymous_bytes"`
	Files     int64 `json:"file_backed_bytes"`
	// Busy is the largest anonymous memory seen while searching in this process.
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

// Memory fills a memory with generated rows and measures it at each size. out receives each
// size when it is done.
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

// measuredSizes returns the numbers of rows at which measurements are made: 1, 3, 10 and so on
// thousands.
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

// openStores opens the same stores as the daemon, with its defaults.
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

// waitMerged waits until the index has merged: merging uses a full processor core, and normal use
// never adds that many rows at once.
func (r *memoryRun) waitMerged(ctx context.Context) error {
	const calm, longest = 6, 240 // halves of a second
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

// perWrite is the number of rows per transaction, as when a document or a conversation is
// imported.
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

// putRow stores a row as the owning package does.
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

// measureSearches measures searches.
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

// sampleQuestions returns a sample of the corpus's questions.
func (r *memoryRun) sampleQuestions() []searchQuestion {
	step := max(1, len(r.c.seen)/r.o.Queries)
	var out []searchQuestion
	for i := 0; i < len(r.c.seen) && len(out) < r.o.Queries; i += step {
		out = append(out, r.c.seen[i])
	}
	return out
}

// byMeaning measures searches of the vectors, exact and with a first pass.
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

// restSearches is the number of searches before idle memory is measured, and restWait the
// waiting time after them.
const (
	restSearches = 20
	restWait     = 5 * time.Second
)

// measureProgram starts the program with the filled memory, runs searches, and measures its memory when
// it is idle again.
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

// size1 returns the size of a file or folder in bytes.
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
