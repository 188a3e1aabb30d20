// Package embed searches rows of docs by meaning: it embeds the text of the rows and compares the
// vectors with the vector of the query. It implements knowledge.Vectors.
//
// The vectors are stored in a separate database file next to the store. They are derived from the
// docs: Run follows knowledge.Base.Changes in the background and saves its position in the same
// transaction as the vectors, so that a crash loses at most one batch. If the file is missing,
// damaged or belongs to another model, it is rebuilt. Unchanged text is not embedded again. The
// file never mixes vectors of two models.
//
// The caller provides an llm.Embedder that enforces the budget and has a circuit breaker. The
// package makes no access decisions; it returns row numbers.
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
	"hob/platform/store"
)

// Name identifies the vectors as a consumer of changes (knowledge.Base.AckChangesTx).
const Name = "vectors"

// Values of Options.FirstPass.
const (
	Auto = "auto"
	On   = "on"
	Off  = "off"
)

// Options of New. Path, Store, Embedder and Model are required.
type Options struct {
	// Path is the path of the vector file. The file can be rebuilt if it is lost.
	Path     string
	Store    *store.Store
	Embedder llm.Embedder
	// Model is the embedding model as "provider/model". A change of the model rebuilds all vectors.
	Model string
	// QueryPrefix and DocumentPrefix are prepended to the texts; see Prefixes.
	QueryPrefix, DocumentPrefix string
	// Chars is the maximum number of characters of a text that are embedded (default 6,000). Batch
	// is the number of texts per call (default 32).
	Chars, Batch int
	// QueryTimeout limits how long a query waits for its vector (default 2 s).
	QueryTimeout time.Duration
	// FirstPass is Auto, On or Off (default Auto). Rescored is the number of rows from the first
	// pass that are compared exactly (default 300).
	FirstPass string
	Rescored  int
	Log       *slog.Logger
}

// Vectors stores the vectors of the docs. Its methods may be called concurrently, except Run, which
// may run once. Close it after Run has returned.
type Vectors struct {
	o       Options
	base    *knowledge.Base
	queries *queryCache
	wake    chan struct{}
	// stepping is held by Run or CatchUp. writing is held by writers, but not during a call to the
	// embedder. A writer that runs during the call increments turn.
	stepping, writing sync.Mutex
	turn              int
	// reading is held for reading while a search reads the file, and for writing while the file is
	// closed.
	reading sync.RWMutex

	mu      sync.Mutex  // guards the fields below
	db      *vectorFile // nil: not open
	closed  bool
	trouble error // error of the last attempt to embed
	tries   int   // number of consecutive failures
}

// New validates the options. It does not open the file.
func New(o Options) (*Vectors, error) {
	if o.Path == "" || o.Store == nil || o.Embedder == nil || o.Model == "" {
		return nil, errors.New("embed: Options needs Path, Store, Embedder and Model")
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
		return nil, fmt.Errorf("embed: unknown first pass %q; use %q, %q or %q", o.FirstPass, Auto, On, Off)
	}
	if o.Rescored <= 0 {
		o.Rescored = 300
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	base, err := knowledge.New(o.Store, knowledge.Options{}) // used only to follow changes
	if err != nil {
		return nil, err
	}
	v := &Vectors{o: o, base: base, wake: make(chan struct{}, 1)}
	v.queries = newQueries(o)
	return v, nil
}

// Changed signals that docs have changed. It does not block.
func (v *Vectors) Changed() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// modelIdentity returns the model and the prefix. Stored vectors are valid only for the same model
// and prefix.
func (v *Vectors) modelIdentity() string { return v.o.Model + "\n" + v.o.DocumentPrefix }

// openVectorFile opens the vector database on first use.
func (v *Vectors) openVectorFile(ctx context.Context) (*vectorFile, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, errors.New("embed: vectors are closed")
	}
	if v.db != nil {
		return v.db, nil
	}
	db, err := openFile(ctx, v.o.Path)
	if isDamagedFile(err) {
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

// withVectorFile calls fn with the open file and prevents it from being closed.
func (v *Vectors) withVectorFile(ctx context.Context, fn func(*vectorFile) error) error {
	v.reading.RLock()
	f, err := v.openVectorFile(ctx)
	if err == nil {
		err = fn(f)
	}
	v.reading.RUnlock()
	return v.discardIfDamaged(err)
}

// discardIfDamaged checks an error before it is returned. If the file is damaged, it discards the
// file, so that the next use starts with an empty one.
func (v *Vectors) discardIfDamaged(err error) error {
	if !isDamagedFile(err) {
		return err
	}
	return errors.Join(err, v.discardFile())
}

// discardFile deletes the file with all vectors.
func (v *Vectors) discardFile() error {
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

// Close closes the file. A nil *Vectors, which Open may return, has no file.
func (v *Vectors) Close() error {
	if v == nil {
		return nil
	}
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

// queryInts returns the integers that a query selects.
func queryInts(ctx context.Context, q queryer, stmt string, args ...any) (out []int64, err error) {
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
