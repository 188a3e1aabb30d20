package index

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	api "github.com/blevesearch/bleve_index_api"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// Internal keys, written with each batch.
const (
	keySeq    = "seq"    // Seq of the last indexed change
	keyMark   = "mark"   // mark of the last indexed change
	keyFormat = "format" // version of the analysis; set only if the index is complete
	keyNobody = "nobody" // set if the placeholder row exists
)

// generation is one index on disk. A rebuild creates the next generation in a separate folder.
type generation struct {
	name   string
	path   string // "" means in memory
	ix     *scorch.Scorch
	queue  *api.AnalysisQueue
	seq    int64 // guarded by Index.work
	mark   int64 // read when the index was opened
	format string
	nobody bool          // guarded by Index.work
	gone   chan struct{} // closed together with the index
}

// openGeneration opens or creates the index in a folder. It returns ErrBusy if another process uses
// it.
func openGeneration(path, name string) (*generation, error) {
	g := &generation{name: name, path: path, queue: api.NewAnalysisQueue(1), gone: make(chan struct{})}
	ix, err := scorch.NewScorch(scorch.Name, map[string]any{
		"path": path, "bolt_timeout": "200ms", // without a timeout, a second process would wait for the file lock forever
		// keep the number of segments small, because a query reads all of them
		"scorchMergePlanOptions": map[string]any{
			"maxSegmentsPerTier": 4, "maxSegmentSize": 50_000_000, "segmentsPerMergeTask": 4, "tierGrowth": 10.0, "floorSegmentSize": 2000, "reclaimDeletesWeight": 2.0,
		},
	}, g.queue)
	if err == nil {
		g.ix = ix.(*scorch.Scorch)
		err = recoverPanic(g.ix.Open)
	}
	if err != nil {
		g.queue.Close()
		if errors.Is(err, bbolterrors.ErrTimeout) {
			return nil, ErrBusy
		}
		return nil, fmt.Errorf("index: open %s: %w", path, err)
	}
	if err := g.readKeys(); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// recoverPanic converts a panic to an error, because reading a damaged file can panic.
func recoverPanic(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("index: read index files: %w: %v", ErrDamaged, r)
		}
	}()
	return f()
}

func (g *generation) readKeys() error {
	return recoverPanic(func() error {
		r, err := g.ix.Reader()
		if err != nil {
			return fmt.Errorf("index: read index files: %w", err)
		}
		defer func() { _ = r.Close() }()
		format, err := r.GetInternal([]byte(keyFormat))
		if err != nil {
			return fmt.Errorf("index: read index files: %w", err)
		}
		g.format = string(format)
		nobody, err := r.GetInternal([]byte(keyNobody))
		if err != nil {
			return fmt.Errorf("index: read index files: %w", err)
		}
		g.nobody = len(nobody) > 0
		if g.seq, err = readInternal(r, keySeq); err != nil {
			return err
		}
		g.mark, err = readInternal(r, keyMark)
		return err
	})
}

// readInternal returns an internal number, or 0 if it is missing.
func readInternal(r api.IndexReader, key string) (int64, error) {
	v, err := r.GetInternal([]byte(key))
	if err != nil || len(v) == 0 {
		return 0, err
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("index: read index files: %w: %s is %q", ErrDamaged, key, v)
	}
	return n, nil
}

// errGone is returned if a search found damage and closed the index in the meantime.
var errGone = errors.New("index: the generation was closed")

// applyBatch writes a batch durably. It does not stop when a context ends, because scorch cannot be
// closed during a write. After a failure, the index must be opened again.
func (g *generation) applyBatch(b *api.Batch) error {
	before := g.errorCount()
	done := make(chan error, 1)
	go func() { done <- recoverPanic(func() error { return g.ix.Batch(b) }) }()
	t := time.NewTicker(500 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				return fmt.Errorf("index: write index files: %w", err)
			}
			return nil
		case <-g.gone: // scorch would never finish the batch
			return errGone
		case <-t.C: // if scorch's own goroutine panics, the batch would never finish
			if g.errorCount() > before {
				return fmt.Errorf("index: write index files: %w", ErrDamaged)
			}
		}
	}
}

func (g *generation) errorCount() uint64 {
	if s, ok := g.ix.Stats().(*scorch.Stats); ok {
		return atomic.LoadUint64(&s.TotOnErrors)
	}
	return 0
}

func (g *generation) close() error {
	close(g.gone)
	err := recoverPanic(g.ix.Close)
	g.queue.Close()
	if err != nil {
		return fmt.Errorf("index: close index files: %w", err)
	}
	return nil
}

func setNumber(b *api.Batch, key string, n int64) {
	b.SetInternal([]byte(key), strconv.AppendInt(nil, n, 10))
}
