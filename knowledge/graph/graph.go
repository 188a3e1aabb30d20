// Package graph keeps who and what the rows of docs are about: entities with
// the names they go by, how they are related and since when, and in which rows
// they are mentioned. It implements knowledge.Graph.
//
// What it reads out of facts derives from them: it follows the changes of docs,
// off the path of a turn, and goes with its row when that is removed, in the
// same transaction. What the owner linked by hand (LinkTx) is its own. Two
// entities are one as long as they have a mail address or a telephone number in
// common, or one is called what the other is (see regroupTx). No model is called
// here.
package graph

import (
	"cmp"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/phrase"
)

// Options of New; Store is required.
type Options struct {
	Store *store.Store
	// Region is the ISO 3166 code of the country by which telephone numbers
	// without one are read, "" for none.
	Region func() string
	// Follow is how many changes are taken in at once (default 200).
	Follow int
	Log    *slog.Logger
}

// Graph is the entities and their relations. Its methods may be called
// concurrently.
type Graph struct {
	o    Options
	wake chan struct{}

	following sync.Mutex // one at a time: each begins where the last one ended

	mu    sync.Mutex
	names names // that are looked for in texts; nil: to be read again
}

// New checks the options.
func New(o Options) (*Graph, error) {
	if o.Store == nil {
		return nil, errors.New("graph: a store is required")
	}
	if o.Region == nil {
		o.Region = func() string { return "" }
	}
	o.Follow = cmp.Or(o.Follow, 200)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Graph{o: o, wake: make(chan struct{}, 1)}, nil
}

// OwnerID is the entity that is the owner.
const OwnerID = "owner"

// Kinds of aliases.
const (
	byName  = "name"
	byFirst = "first"  // the first of several names
	byRole  = "role"   // "my sister", of whoever is said to be one
	byCall  = "called" // the same, of whoever is said to be she
	byMail  = "mail"
	byPhone = "phone"
)

// nameKey is a name as it is compared.
func nameKey(name string) string { return strings.Join(phrase.Split(name), " ") }

// Wake says that docs have changed: the graph need not wait for its clock.
func (g *Graph) Wake() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *Graph) forgetNames() {
	g.mu.Lock()
	g.names = nil
	g.mu.Unlock()
}

func placeholders(n int) string { return "?" + strings.Repeat(", ?", max(0, n-1)) }

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = x
	}
	return out
}

var (
	_ knowledge.Graph  = (*Graph)(nil)
	_ knowledge.Linker = (*Graph)(nil)
)

func millis(t time.Time) int64 { return store.Millis(t) }
