// Package embed finds rows of docs by meaning: it turns their texts into vectors
// and compares these with that of a question. It implements knowledge.Vectors.
//
// The vectors lie in a database file of their own beside that of the store. They
// derive from the docs: Run follows knowledge.Base.Changes in the background and
// keeps how far it is in the transaction of the vectors, so that a crash costs at
// most one batch; a file that is lost, damaged or of another model is made anew.
// Texts that did not change are not embedded again. Vectors of two models are
// never held together.
//
// What makes the vectors is an llm.Embedder that the caller has put behind the
// budget and a breaker. The package decides nothing about who may see what; it
// gives out the numbers of rows.
package embed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/knowledge/store"
)

// Name is under which the vectors follow the docs (knowledge.Base.DoneTx).
const Name = "vectors"

// First passes.
const (
	Auto = "auto"
	On   = "on"
	Off  = "off"
)

// Options of New. Path, Store, Embedder and Model are required.
type Options struct {
	// Path is the file of the vectors. It may be lost at any time.
	Path     string
	Store    *store.Store
	Embedder llm.Embedder
	// Model names what makes the vectors, "provider/model". With another one all
	// are made anew.
	Model string
	// QueryPrefix and DocumentPrefix stand before the texts; see Prefixes.
	QueryPrefix, DocumentPrefix string
	// Chars is how many characters of a text are embedded (default 6,000), Batch
	// how many texts in one call (default 32).
	Chars, Batch int
	// QueryTimeout is how long a question waits for its vector (default 2 s).
	QueryTimeout time.Duration
	// FirstPass is Auto, On or Off (default Auto), Rescored how many of it are
	// compared exactly (default 300).
	FirstPass string
	Rescored  int
	Log       *slog.Logger
}

// Vectors are the vectors of the docs. Their methods may be called
// concurrently; Run once. Close them after Run has returned.
type Vectors struct {
	o       Options
	base    *knowledge.Base
	queries *queries
	wake    chan struct{}
	// stepping is held by Run or CatchUp, writing by whoever writes, and not while
	// the embedder works; turn counts who came in between.
	stepping, writing sync.Mutex
	turn              int
	// reading is held for reading while a search reads the file, and else by who
	// closes it.
	reading sync.RWMutex

	mu      sync.Mutex // guards what follows
	db      *file      // nil: not opened yet
	closed  bool
	trouble error // why the last try to embed failed
	tries   int   // of them in a row
}

// New checks the options. It opens nothing.
func New(o Options) (*Vectors, error) {
	if o.Path == "" || o.Store == nil || o.Embedder == nil || o.Model == "" {
		return nil, errors.New("embed: a required option is missing")
	}
	if o.Chars <= 0 {
		o.Chars = 6000
	}
	if o.Batch <= 0 {
		o.Batch = 32
	}
	if o.QueryTimeout <= 0 {
		o.QueryTimeout = 2 * time.Second
	}
	if o.FirstPass == "" {
		o.FirstPass = Auto
	}
	if o.FirstPass != Auto && o.FirstPass != On && o.FirstPass != Off {
		return nil, fmt.Errorf("embed: the first pass %q must be %q, %q or %q", o.FirstPass, Auto, On, Off)
	}
	if o.Rescored <= 0 {
		o.Rescored = 300
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	base, err := knowledge.New(o.Store, knowledge.Options{}) // to follow; it searches nothing
	if err != nil {
		return nil, err
	}
	v := &Vectors{o: o, base: base, wake: make(chan struct{}, 1)}
	v.queries = newQueries(o)
	return v, nil
}

// Changed says that docs have changed. It does not wait.
func (v *Vectors) Changed() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// identity is what the vectors that are held must be of.
func (v *Vectors) identity() string { return v.o.Model + "\n" + v.o.DocumentPrefix }

// file opens the database of the vectors, once.
func (v *Vectors) file(ctx context.Context) (*file, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, errors.New("embed: the vectors are closed")
	}
	if v.db != nil {
		return v.db, nil
	}
	db, err := openFile(ctx, v.o.Path)
	if damaged(err) {
		v.o.Log.Warn("vector file is damaged; vectors are rebuilt", "err", err)
		if err = removeFile(v.o.Path); err == nil {
			db, err = openFile(ctx, v.o.Path)
		}
	}
	if err != nil {
		return nil, err
	}
	v.db = db
	return db, nil
}

// read lets fn read the file, which is not closed meanwhile.
func (v *Vectors) read(ctx context.Context, fn func(*file) error) error {
	v.reading.RLock()
	f, err := v.file(ctx)
	if err == nil {
		err = fn(f)
	}
	v.reading.RUnlock()
	return v.met(err)
}

// met looks at an error on its way out: a damaged file is dropped, so that the
// next use begins with an empty one.
func (v *Vectors) met(err error) error {
	if !damaged(err) {
		return err
	}
	return errors.Join(err, v.discard())
}

// discard drops the file with all that is held.
func (v *Vectors) discard() error {
	v.reading.Lock()
	defer v.reading.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	var err error
	if v.db != nil {
		err = v.db.close()
		v.db = nil
	}
	return errors.Join(err, removeFile(v.o.Path))
}

// Close closes the file.
func (v *Vectors) Close() error {
	v.reading.Lock()
	defer v.reading.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	if v.db == nil {
		return nil
	}
	db := v.db
	v.db = nil
	return db.close()
}

// numbers reads numbers out of a query.
func numbers(ctx context.Context, q queryer, stmt string, args ...any) (out []int64, err error) {
	rows, err := q.QueryContext(ctx, stmt, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, rows.Err()
}
