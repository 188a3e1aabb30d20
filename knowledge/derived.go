package knowledge

import (
	"context"
	"errors"
	"time"

	"hob/knowledge/store"
	"hob/platform/provenance"
)

// Index finds rows of docs by words. It derives from them (Base.Changes) and
// runs behind; a search sees what it does not hold yet as well, read from q.
type Index interface {
	// Words searches. Any text is a valid query.
	Words(q store.Querier, w WordQuery) (WordAnswer, error)
}

// WordQuery asks an Index.
type WordQuery struct {
	Text   string
	Kinds  []string // never empty
	Realms []string // never empty; "" is that of the main agent
	Limit  int      // of matches; default 200
	// Loose allows beginnings of words and words with a slip of the pen, for
	// when nothing else is found.
	Loose bool
}

// Word is one word of a query as the index knows it.
type Word struct {
	Text   string  // as it was written
	Rows   int     // how many rows of the kinds and realms have it
	Weight float64 // its inverse document frequency
}

// WordMatch is a row that has words of the query.
type WordMatch struct {
	N     int64
	Score float64 // BM25
	Has   uint64  // bit i: it has Words[i]
}

// WordAnswer is what an Index found, the best first.
type WordAnswer struct {
	Words   []Word // at most 64
	Rows    int    // that were searched
	Matches []WordMatch
}

// ErrNoEmbedder says that nothing turns texts into vectors.
var ErrNoEmbedder = errors.New("no embedder is configured; set [knowledge] embeddings")

// Vectors finds rows of docs by meaning. It derives from them as an Index does.
type Vectors interface {
	// Nearest returns the rows nearest to a text, the nearest first; Score is
	// the cosine similarity. ErrNoEmbedder when there is none.
	Nearest(ctx context.Context, q store.Querier, text string, kinds, realms []string, limit int) ([]WordMatch, error)
}

// Kinds of entities. A graph keeps others as they come.
const (
	Person   = "person"
	Company  = "organisation"
	Place    = "place"
	Happened = "event"
	Thing    = "thing"
)

// Entity is somebody or something that is talked about.
type Entity struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Kind       string            `json:"kind"`
	Aliases    []string          `json:"aliases,omitempty"` // other names, mail addresses, phone numbers in E.164
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Source     string            `json:"source,omitempty"`
	// ByHand: somebody made it; others follow from what is kept, and go with it.
	ByHand    bool      `json:"by_hand,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Relation joins two entities: From is Name of To ("Ana" "works at" "Initech").
type Relation struct {
	ID         string            `json:"id"`
	From       string            `json:"from"` // ids
	Name       string            `json:"name"`
	To         string            `json:"to"`
	Fact       string            `json:"fact,omitempty"` // the fact that says so
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Source     string            `json:"source,omitempty"`
	ByHand     bool              `json:"by_hand,omitempty"` // as that of an Entity
	// ValidFrom and ValidUntil bound when it holds; zero when that is not known.
	ValidFrom  time.Time `json:"valid_from,omitzero"`
	ValidUntil time.Time `json:"valid_until,omitzero"`
	CreatedAt  time.Time `json:"created_at"`
}

// Near is a row of docs that the graph leads to.
type Near struct {
	N     int64
	Hops  int     // from an entity that the text names
	Score float64 // halved with each hop
}

// Graph knows who and what the rows of docs are about, and how these are
// related.
type Graph interface {
	// Named returns the entities that a text names, the longest names first.
	Named(q store.Querier, realms []string, text string) ([]Entity, error)
	// Around walks the relations from entities in both directions and returns
	// the rows of docs that are about what it comes to, the nearest first.
	Around(q store.Querier, realms, entities []string, hops, limit int) ([]Near, error)
}
