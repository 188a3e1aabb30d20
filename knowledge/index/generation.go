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

// Keys that the index keeps beside its rows, written with each batch.
const (
	keySeq    = "seq"    // the last change it holds
	keyMark   = "mark"   // its mark
	keyFormat = "format" // how the rows were analysed; only of a whole index
	keyNobody = "nobody" // there is a row of no words, see merge
)

// generation is one index on the disk: a rebuild makes the next beside it.
type generation struct {
	name   string
	path   string // "" is in memory
	ix     *scorch.Scorch
	queue  *api.AnalysisQueue
	seq    int64 // guarded by Index.work
	mark   int64 // as it was opened
	format string
	nobody bool          // guarded by Index.work
	gone   chan struct{} // closed when the index is
}

// openGeneration opens or makes the index in a folder. ErrBusy: another process
// has it.
func openGeneration(path, name string) (*generation, error) {
	g := &generation{name: name, path: path, queue: api.NewAnalysisQueue(1), gone: make(chan struct{})}
	ix, err := scorch.NewScorch(scorch.Name, map[string]any{
		"path": path, "bolt_timeout": "200ms", // without it a second process waits for ever
		// few segments: a query looks into each
		"scorchMergePlanOptions": map[string]any{
			"maxSegmentsPerTier": 4, "maxSegmentSize": 50_000_000, "segmentsPerMergeTask": 4, "tierGrowth": 10.0, "floorSegmentSize": 2000, "reclaimDeletesWeight": 2.0,
		},
	}, g.queue)
	if err == nil {
		g.ix = ix.(*scorch.Scorch)
		err = guarded(g.ix.Open)
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

// guarded turns a panic into an error: a damaged file may cause one.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("index: %w: %v", ErrDamaged, r)
		}
	}()
	return f()
}

func (g *generation) readKeys() error {
	return guarded(func() error {
		r, err := g.ix.Reader()
		if err != nil {
			return fmt.Errorf("index: read: %w", err)
		}
		defer func() { _ = r.Close() }()
		format, err := r.GetInternal([]byte(keyFormat))
		if err != nil {
			return fmt.Errorf("index: read: %w", err)
		}
		g.format = string(format)
		nobody, err := r.GetInternal([]byte(keyNobody))
		if err != nil {
			return fmt.Errorf("index: read: %w", err)
		}
		g.nobody = len(nobody) > 0
		if g.seq, err = internal(r, keySeq); err != nil {
			return err
		}
		g.mark, err = internal(r, keyMark)
		return err
	})
}

// internal reads a number that is kept beside the rows, 0 when it is not there.
func internal(r api.IndexReader, key string) (int64, error) {
	v, err := r.GetInternal([]byte(key))
	if err != nil || len(v) == 0 {
		return 0, err
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("index: %w: %s is %q", ErrDamaged, key, v)
	}
	return n, nil
}

// errGone: a search that met damage took the index out of use meanwhile.
var errGone = errors.New("index: the generation was closed")

// apply makes a batch durable, whoever stops meanwhile: scorch cannot be closed
// under it. A failure leaves the index unusable until it is
// opened anew.
func (g *generation) apply(b *api.Batch) error {
	before := g.errors()
	done := make(chan error, 1)
	go func() { done <- guarded(func() error { return g.ix.Batch(b) }) }()
	t := time.NewTicker(500 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				return fmt.Errorf("index: write: %w", err)
			}
			return nil
		case <-g.gone: // scorch leaves a batch that it was given waiting for ever
			return errGone
		case <-t.C: // scorch's own goroutines end when they panic, and a batch would wait for ever
			if g.errors() > before {
				return fmt.Errorf("index: write: %w", ErrDamaged)
			}
		}
	}
}

func (g *generation) errors() uint64 {
	if s, ok := g.ix.Stats().(*scorch.Stats); ok {
		return atomic.LoadUint64(&s.TotOnErrors)
	}
	return 0
}

func (g *generation) close() error {
	close(g.gone)
	err := guarded(g.ix.Close)
	g.queue.Close()
	if err != nil {
		return fmt.Errorf("index: close: %w", err)
	}
	return nil
}

func setNumber(b *api.Batch, key string, n int64) {
	b.SetInternal([]byte(key), strconv.AppendInt(nil, n, 10))
}
