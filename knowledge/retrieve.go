package knowledge

import (
	"context"
	"time"

	"hob/knowledge/store"
)

// Request asks Retrieve; only Text is needed.
type Request struct {
	Text  string
	Kinds []string // empty: everything but retired facts
	// Realm is whose memory is searched, EveryRealm the owner's view of all.
	Realm      string
	EveryRealm bool
	Limit      int // default 10, at most 1,000
	// Now is when it is asked and Zone where: time words ("last spring") are
	// read by them. Default: now, UTC.
	Now  time.Time
	Zone *time.Location
	// Since and Until (not included) bound when a row was said or written.
	Since, Until time.Time
	Speaker      string // only what this one said
	// Hops bounds how far the graph is followed: 0 is the default, less than
	// that is not at all.
	Hops int
	// History asks for what was so before as well; a text that asks for it
	// ("my old address") does so by itself.
	History bool
	// Meaning allows the embedder and the model to be asked. Without it nothing
	// leaves the process, so it is for the path of a turn and for transactions;
	// with it Retrieve must not be called inside a write transaction.
	Meaning bool
}

// Routes of a request.
const (
	RouteNone     = "none"      // nothing in the text can be looked for
	RouteSingle   = "single"    // one row is likely to hold the answer
	RouteMulti    = "multi"     // the answer lies in several places ("which ...", "how often ...")
	RouteMultiHop = "multi-hop" // it is about something that is named only by its relation to something else
)

// Route says how a request was understood.
type Route struct {
	Kind    string   `json:"kind"`
	Reasons []string `json:"reasons,omitempty"`
}

// Answer is what Retrieve found, the best first.
type Answer struct {
	Route Route `json:"route"`
	Hits  []Hit `json:"hits"`
	// History are retired facts: what was so before. They are never among Hits
	// unless Request.Kinds names them.
	History []Hit `json:"history,omitempty"`
}

// Part is one reason for a hit's score.
type Part struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Corrector looks at what was found and says what else to search for; "" when
// it is good. It may ask a model.
type Corrector interface {
	Correct(ctx context.Context, text string, hits []Hit) (again string, err error)
}

// Reranker puts hits in a better order: it returns a score for each. It may ask
// a model.
type Reranker interface {
	Rerank(ctx context.Context, text string, hits []Hit) ([]float64, error)
}

// Retrieve finds what is kept about a text. What it could not ask (no index, no
// embedder) it does without.
func (b *Base) Retrieve(_ context.Context, q store.Querier, r Request) (Answer, error) {
	hits, err := b.Search(q, r.Text, SearchOptions{Limit: r.Limit, Kinds: r.Kinds, Realm: r.Realm, EveryRealm: r.EveryRealm})
	return Answer{Route: Route{Kind: RouteSingle}, Hits: hits}, err
}
