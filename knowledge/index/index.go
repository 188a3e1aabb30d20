// Package index is a full-text index of rows of docs. It uses bleve's scorch, follows the changes
// of docs in the background, can be rebuilt while it serves searches, and removes erased data from
// disk. It implements knowledge.Index.
//
// It does not use bleve's queries. Package analyzer analyzes the rows; the index stores only row
// numbers and terms. The ranking is BM25 over the postings, in which a common word costs no more
// than a rare one. The package makes no access decisions: the caller passes the kinds and realms.
package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"hob/knowledge"
	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/text/analyzer"
)

// Name identifies the index as a consumer of changes.
const Name = "index"

// Errors that callers handle.
var (
	// ErrBusy means that another process uses the index. Remedy: stop that process, or use the
	// daemon.
	ErrBusy = errors.New("the index is in use by another Hob process; stop that process or try again later")
	// ErrDamaged means that an index file is corrupt. The index will be rebuilt.
	ErrDamaged = errors.New("the index is damaged")
	// ErrClosed means that the index is closed.
	ErrClosed = errors.New("the index is closed")
)

// Options configures New. The zero value is ready to use.
type Options struct {
	// Title (default 2) and Speaker (default 1) are the weights of a word in the title and in the
	// speaker's name. A word in the text has a weight of 1.
	Title, Speaker int
	// Postings (default 12,000) limits the number of rows that a query reads for its rare words.
	// Common words only increase the scores of these rows.
	Postings int
	// Delay (default 500 ms) is how long changes are collected before they are indexed. Searches
	// see changes immediately.
	Delay time.Duration
	Log   *slog.Logger
}

func (o *Options) setDefaults() {
	if o.Title <= 0 {
		o.Title = 2
	}
	if o.Speaker <= 0 {
		o.Speaker = 1
	}
	if o.Postings <= 0 {
		o.Postings = 12_000
	}
	if o.Delay <= 0 {
		o.Delay = 500 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// Index is the index of one store. Its methods may be called concurrently.
type Index struct {
	st   *store.Store
	base *knowledge.Base // used only to follow changes
	dir  string
	opt  Options
	scan knowledge.Index // fallback that works without an index

	wake    chan struct{}
	running atomic.Bool // set while Run follows the changes

	// work is held by operations that change the index: follow, rebuild and purge.
	work  sync.Mutex // guards the fields below
	rows  int        // number of rows per read; 0 means the default
	quiet bool       // the store must not be written to
	known bool       // the store has recorded the position of the index

	mu      sync.RWMutex // guards the fields below; searches hold it for reading
	cur     *generation
	closed  bool
	tried   time.Time // time of the last failure to open
	trouble error     // error of that failure

	overlay overlay

	figMu sync.Mutex     // guards the field below
	fig   *snapshotStats // nil if unknown
	figOf *generation
}

// New returns the index in a folder, or in memory if dir is "". It opens the index on first use.
func New(st *store.Store, dir string, opt Options) (*Index, error) {
	base, err := knowledge.New(st, knowledge.Options{})
	if err != nil {
		return nil, err
	}
	opt.setDefaults()
	x := &Index{
		st: st, base: base, dir: dir, opt: opt, wake: make(chan struct{}, 1),
		scan: knowledge.NewScan(knowledge.Weights{Title: opt.Title, Speaker: opt.Speaker}),
	}
	return x, nil
}

// formatVersion returns the version of the analysis. An index with another version is rebuilt.
func (x *Index) formatVersion() string {
	return fmt.Sprintf("1 terms=%d title=%d speaker=%d", analyzer.Version, x.opt.Title, x.opt.Speaker)
}

// Changed signals that rows were written. Run indexes them soon.
func (x *Index) Changed() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Close closes the index. Run must have returned.
func (x *Index) Close() error {
	x.work.Lock()
	defer x.work.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	return x.closeCurrent()
}

// closeCurrent closes the open generation. The caller has locked mu.
func (x *Index) closeCurrent() error {
	g := x.cur
	x.cur = nil
	if g == nil {
		return nil
	}
	return g.close()
}

// reopenWait is the delay after a failure to open the index.
const reopenWait = 5 * time.Second

// openCurrent returns the open generation and opens it if necessary. It returns nil if no complete
// index exists. The caller has locked mu. A lock on work is not necessary.
func (x *Index) openCurrent() (*generation, error) {
	x.mu.RLock()
	g, closed, trouble, tried := x.cur, x.closed, x.trouble, x.tried
	x.mu.RUnlock()
	switch {
	case closed:
		return nil, ErrClosed
	case g != nil:
		return g, nil
	case trouble != nil && time.Since(tried) < reopenWait:
		return nil, trouble
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cur != nil || x.closed {
		return x.cur, nil
	}
	g, err := x.loadCurrent()
	x.trouble, x.tried = err, time.Now()
	if err != nil {
		return nil, err
	}
	x.cur = g
	return g, nil
}

// loadCurrent opens the active generation; it returns nil if it is incomplete or does not match the store.
// The caller has locked mu.
func (x *Index) loadCurrent() (*generation, error) {
	name, err := currentName(x.dir)
	if err != nil || name == "" {
		return nil, err
	}
	path := filepath.Join(x.dir, name)
	g, err := openGeneration(path, name)
	if errors.Is(err, ErrBusy) {
		return nil, err
	}
	if err != nil {
		return nil, x.setAside(path, err)
	}
	fits, err := x.matchesStore(g)
	if err == nil && fits {
		return g, nil
	}
	if err == nil && g.format == "" { // every active index was complete when it was activated
		return nil, x.setAside(path, errors.Join(ErrDamaged, g.close()))
	}
	if err == nil {
		x.opt.Log.Info("index does not match the database; rebuilding it", "folder", path)
		err = errors.Join(g.close(), forgetCurrent(x.dir))
		return nil, err
	}
	return nil, errors.Join(err, g.close())
}

// matchesStore reports whether the index can continue from its position in the store. It cannot if
// changes that it needs were dropped, or if the last indexed change differs, for example after a
// backup was restored.
func (x *Index) matchesStore(g *generation) (bool, error) {
	if g.format != x.formatVersion() {
		return false, nil
	}
	mark, known, err := x.base.ChangeMarker(x.st.Reader(context.Background()), g.seq)
	return known && mark == g.mark, err
}

// asideFolder receives a damaged index.
const asideFolder = "damaged"

// setAside moves a damaged index to asideFolder, where it replaces an earlier one. The caller has
// locked mu.
func (x *Index) setAside(path string, why error) error {
	aside := filepath.Join(x.dir, asideFolder)
	err := system.RemoveAll(aside)
	if err == nil {
		err = system.Rename(path, aside)
	}
	err = errors.Join(err, forgetCurrent(x.dir))
	if err != nil {
		return fmt.Errorf("%w; moving it aside also failed: %w", why, err)
	}
	x.opt.Log.Error("index was damaged and moved aside; rebuilding it", "folder", aside, "err", why)
	return nil
}
