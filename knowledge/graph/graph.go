// Package graph stores the entities that the rows of docs mention: their names, their relations
// with validity periods, and the rows that mention them. It implements knowledge.Graph.
//
// Data extracted from rows is derived. The graph follows the changes of docs in the background
// instead of during a turn, and derived data is deleted in the same transaction as its row. Manual
// links of the user (LinkTx) do not depend on rows. Two entities are merged while they share an
// email address or a phone number, or while the name of one is the role of the other, such as "my sister"
// (see regroupTx). The package calls no model.
package graph

import (
	"cmp"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// Options configures New. Store is required.
type Options struct {
	Store *store.Store
	// Region returns the ISO 3166 code of the country for phone numbers without a country code, or
	// "".
	Region func() string
	// Follow is the number of changes per transaction (default 200).
	Follow int
	Log    *slog.Logger
}

// Graph stores entities and their relations. Its methods may be called concurrently.
type Graph struct {
	o    Options
	wake chan struct{}

	following sync.Mutex // serializes Follow; each call continues where the last one ended

	mu    sync.Mutex
	names nameIndex // names to search for in text; nil if they must be loaded
}

// New validates the options.
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

// OwnerID is the id of the user's entity.
const OwnerID = knowledge.OwnerID

// Kinds of aliases.
const (
	byName  = "name"
	byFirst = "first"  // the first word of a full name
	byRole  = "role"   // "my sister", for the person with that role
	byCall  = "called" // "my sister", for the person who is called by that role ("my sister is called Ana")
	byMail  = "mail"
	byPhone = "phone"
)

// nameKey returns the normalized form of a name.
func nameKey(name string) string { return strings.Join(textnorm.FoldedWords(name), " ") }

// Wake signals that docs have changed, so that Run follows without delay.
func (g *Graph) Wake() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *Graph) resetNames() {
	g.mu.Lock()
	g.names = nil
	g.mu.Unlock()
}

func sqlPlaceholders(n int) string { return "?" + strings.Repeat(", ?", max(0, n-1)) }

func toAnySlice[T any](list []T) []any {
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

func unixMillis(t time.Time) int64 { return store.Millis(t) }
