package knowledge

import (
	"context"
	"errors"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
)

// Index is a full-text index of the rows of docs. It is derived from the rows (Base.Changes) and
// updated asynchronously. A search reads the rows that are not indexed yet from q.
type Index interface {
	// SearchTerms searches the index. It accepts any text as a query.
	SearchTerms(q store.Querier, w TermQuery) (WordAnswer, error)
}

// TermQuery is a query to an Index.
type TermQuery struct {
	Text   string
	Kinds  []string // never empty
	Realms []string // never empty; "" is the main agent's realm
	Limit  int      // maximum number of matches; default 200
	// Loose also matches prefixes and words with typing errors. Use it if an exact search finds
	// nothing.
	Loose bool
}

// QueryTerm is one term of a query with its index statistics.
type QueryTerm struct {
	Text   string  // the term as written in the query
	Rows   int     // number of rows in the searched kinds and realms that contain the term
	Weight float64 // inverse document frequency
}

// TermMatch is a row that contains terms of the query.
type TermMatch struct {
	N     int64
	Score float64 // BM25
	Has   uint64  // bit i is set if the row contains Words[i]
}

// WordAnswer is the result of an Index search, best match first.
type WordAnswer struct {
	Words   []QueryTerm // at most 64 terms
	Rows    int         // number of rows searched
	Matches []TermMatch
}

// ErrNoEmbedder reports that no embedding model is configured.
var ErrNoEmbedder = errors.New("no embedder is configured; set [knowledge] embeddings")

// Vectors searches the rows of docs by meaning. Like an Index it is derived from the rows.
type Vectors interface {
	// Nearest returns the rows most similar to text, best first; Score is the cosine similarity. It
	// returns ErrNoEmbedder if no embedder is configured.
	Nearest(ctx context.Context, q store.Querier, text string, kinds, realms []string, limit int) ([]TermMatch, error)
}

// Kinds of entities. A graph also stores other kinds unchanged.
const (
	Person   = "person"
	Company  = "organisation"
	Place    = "place"
	Happened = "event"
	Thing    = "thing"
)

// Entity is a person, place or other subject of the stored rows.
type Entity struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Kind       string            `json:"kind"`
	Aliases    []string          `json:"aliases,omitempty"` // other names, email addresses, and phone numbers in E.164
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Source     string            `json:"source,omitempty"`
	// ByHand is true if a user created the entity. All other entities are derived from rows and
	// deleted with them.
	ByHand    bool      `json:"by_hand,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Relation is a directed edge between two entities. Name describes how From relates to To: "Ana"
// "works at" "Initech".
type Relation struct {
	ID         string            `json:"id"`
	From       string            `json:"from"` // entity ids
	Name       string            `json:"name"`
	To         string            `json:"to"`
	Fact       string            `json:"fact,omitempty"` // id of the fact that states the relation
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Source     string            `json:"source,omitempty"`
	ByHand     bool              `json:"by_hand,omitempty"` // has the same meaning as in Entity
	// ValidFrom and ValidUntil are the validity period. Zero means unknown.
	ValidFrom  time.Time `json:"valid_from,omitzero"`
	ValidUntil time.Time `json:"valid_until,omitzero"`
	CreatedAt  time.Time `json:"created_at"`
}

// GraphNeighbor is a row of docs reached through the graph.
type GraphNeighbor struct {
	N     int64
	Hops  int     // distance from an entity that the text names
	Score float64 // halved with each hop
}

// ChangeSource contains the methods of Base that consumers of the changes need.
type ChangeSource interface {
	Changes(q store.Querier, after int64, limit int) ([]Change, error)
	AckChangesTx(tx *store.Tx, name string, seq int64) error
	Fact(q store.Querier, id string) (Fact, error)
	Search(q store.Querier, text string, opt SearchOptions) ([]Hit, error)
}

// Graph stores the entities that the rows of docs mention and the relations between them.
type Graph interface {
	// Named returns the entities that a text names. Those with the longest names come first.
	Named(q store.Querier, realms []string, text string) ([]Entity, error)
	// ExpandNeighbors follows relations from entities in both directions. It returns the rows about
	// the entities that it reaches, nearest first.
	ExpandNeighbors(q store.Querier, realms, entities []string, hops, limit int) ([]GraphNeighbor, error)
	// Refresh processes the latest changes of b, if there are few. Do not call it in a transaction.
	Refresh(ctx context.Context, b ChangeSource) error
	// Edges returns the valid relations that answer a text, best first.
	Edges(q store.Querier, w EdgeQuery) ([]Edge, error)
}

// EdgeQuery selects relations. Realms must not be empty.
type EdgeQuery struct {
	Text   string
	Realms []string
	Now    time.Time
	Limit  int
	// Around also returns the relations of the entities in a text that does not ask about them.
	Around bool
	// Except lists facts; the relations that they state are omitted.
	Except []string
}

// Edge is a relation in words: "Ada works at Vinted".
type Edge struct {
	Relation

	FromName string `json:"from_name"`
	ToName   string `json:"to_name"`
	// Text is the relation as a sentence without a full stop. It addresses the user as "you".
	Text string `json:"text"`
	// Origins are the sources of an untrusted relation. Provenance is the least trusted of the
	// relation and of the shown names.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Asked is true if a word of the text asks for the relation.
	Asked bool `json:"-"`
}
