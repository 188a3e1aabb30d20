// Package index finds rows of docs by words: a bleve index (scorch) that
// derives from them, follows their changes in the background, can be made anew
// while it serves, and forgets what is removed. It is the knowledge.Index of a
// Base.
//
// It uses scorch without bleve's queries: the rows come analysed (package
// terms), nothing is stored but their numbers, and the ranking is BM25 over the
// postings, in which a common word costs no more than a rare one. It decides
// nothing about who may see what: that is the caller's, who names the kinds and
// realms.
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
	"hob/knowledge/store"
	"hob/platform/system"
	"hob/platform/terms"
)

// Name is how the store knows this index among what derives from docs.
const Name = "index"

// Errors a caller can act on.
var (
	// ErrBusy: another process has the index. Remedy: end it, or ask the daemon.
	ErrBusy = errors.New("the index is in use by another Hob process; stop that process or try again")
	// ErrDamaged: a file of the index is not what was written. It is made anew.
	ErrDamaged = errors.New("the index is damaged")
	// ErrClosed: the index was closed.
	ErrClosed = errors.New("the index is closed")
)

// Options of New; the zero value is useful.
type Options struct {
	// Title (default 2) and Speaker (default 1) are how much a word of the title
	// and of the speaker's name counts beside one of the text.
	Title, Speaker int
	// Postings (default 12,000) bounds how many rows one query looks at because
	// they have its rare words; common words only weigh what was found so.
	Postings int
	// Delay (default 500 ms) is how long changes are gathered before they are
	// written: searches see them at once all the same.
	Delay time.Duration
	Log   *slog.Logger
}

func (o *Options) fill() {
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

// Index is the index of one store. All methods may be called concurrently.
type Index struct {
	st   *store.Store
	base *knowledge.Base // to follow with; it searches nothing
	dir  string
	opt  Options
	scan knowledge.Index // when there is no index to ask

	wake    chan struct{}
	running atomic.Bool // Run follows

	// work is held by who changes the index: following, rebuilding, purging.
	work  sync.Mutex // guards what follows
	rows  int        // see size
	quiet bool       // the store must not be written to
	known bool       // the store was told how far the index is

	mu      sync.RWMutex // guards what follows; searches hold it for reading
	cur     *generation
	closed  bool
	tried   time.Time // when opening failed last
	trouble error     // why

	overlay overlay

	figMu sync.Mutex // guards what follows
	fig   *figures   // nil when not known
	figOf *generation
}

// New returns the index kept in a folder, "" for one in memory. Nothing is
// opened before it is needed.
func New(st *store.Store, dir string, opt Options) (*Index, error) {
	base, err := knowledge.New(st, knowledge.Options{})
	if err != nil {
		return nil, err
	}
	opt.fill()
	x := &Index{
		st: st, base: base, dir: dir, opt: opt, wake: make(chan struct{}, 1),
		scan: knowledge.NewScan(knowledge.Weights{Title: opt.Title, Speaker: opt.Speaker}),
	}
	return x, nil
}

// format says how rows are analysed. An index of another format is made anew.
func (x *Index) format() string {
	return fmt.Sprintf("1 terms=%d title=%d speaker=%d", terms.Version, x.opt.Title, x.opt.Speaker)
}

// Changed says that rows were written; Run follows soon.
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
	return x.drop()
}

// drop closes what is open; mu is held.
func (x *Index) drop() error {
	g := x.cur
	x.cur = nil
	if g == nil {
		return nil
	}
	return g.close()
}

// retry is how long a failure to open holds before it is tried again.
const retry = 5 * time.Second

// open makes sure that the index is open, when there is a whole one; it is nil
// when there is none yet. work is not needed: mu is.
func (x *Index) open() (*generation, error) {
	x.mu.RLock()
	g, closed, trouble, tried := x.cur, x.closed, x.trouble, x.tried
	x.mu.RUnlock()
	switch {
	case closed:
		return nil, ErrClosed
	case g != nil:
		return g, nil
	case trouble != nil && time.Since(tried) < retry:
		return nil, trouble
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cur != nil || x.closed {
		return x.cur, nil
	}
	g, err := x.load()
	x.trouble, x.tried = err, time.Now()
	if err != nil {
		return nil, err
	}
	x.cur = g
	return g, nil
}

// load opens the current generation; nil when there is none that is whole and
// fits the store. mu is held.
func (x *Index) load() (*generation, error) {
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
	fits, err := x.fits(g)
	if err == nil && fits {
		return g, nil
	}
	if err == nil && g.format == "" { // it was whole when it came into use
		return nil, x.setAside(path, errors.Join(ErrDamaged, g.close()))
	}
	if err == nil {
		x.opt.Log.Info("index does not match the database; it is rebuilt", "folder", path)
		err = errors.Join(g.close(), forgetCurrent(x.dir))
		return nil, err
	}
	return nil, errors.Join(err, g.close())
}

// fits says whether an index goes on from where the store is. It does not where
// the store has dropped changes that the index has not seen, nor where the last
// one that it has seen is not the store's, as after a restored backup.
func (x *Index) fits(g *generation) (bool, error) {
	if g.format != x.format() {
		return false, nil
	}
	mark, known, err := x.base.Mark(x.st.Reader(context.Background()), g.seq)
	return known && mark == g.mark, err
}

// asideFolder is where a damaged index is put.
const asideFolder = "damaged"

// setAside puts a damaged index where it is in nobody's way; mu is held. One is
// kept.
func (x *Index) setAside(path string, why error) error {
	aside := filepath.Join(x.dir, asideFolder)
	err := system.RemoveAll(aside)
	if err == nil {
		err = system.Rename(path, aside)
	}
	err = errors.Join(err, forgetCurrent(x.dir))
	if err != nil {
		return fmt.Errorf("%w; and it could not be moved aside: %w", why, err)
	}
	x.opt.Log.Error("index was damaged; it was moved aside and is rebuilt", "folder", aside, "err", why)
	return nil
}
