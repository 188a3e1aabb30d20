package knowledge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/credential"
)

// Request is the input of Retrieve. Only Text is required.
type Request struct {
	Text  string
	Kinds []string // empty means all kinds except retired facts
	// Without excludes kinds.
	Without []string
	// Strict drops weak matches, and rows that score much worse than the best row.
	Strict bool
	// Realm is the memory to search. EveryRealm searches all realms, for the user's own view.
	Realm      string
	EveryRealm bool
	Limit      int // default 10, at most 1,000
	// Now and Zone are used to resolve time expressions such as "last spring". The defaults are the
	// current time and UTC.
	Now  time.Time
	Zone *time.Location
	// Since (inclusive) and Until (exclusive) limit the time of a row.
	Since, Until time.Time
	Speaker      string // only rows by this speaker
	// Hops limits the distance in the graph. 0 selects the default, and a negative number disables
	// the graph.
	Hops int
	// Edges is the maximum number of relations in Answer.Edges.
	Edges int
	// History includes outdated data. A text that asks for outdated data ("my old address") has the
	// same effect.
	History bool
	// Viewer is the reader of the answer. The zero value may not read credentials: rows that look
	// like one are removed and counted in Answer.Withheld.
	Viewer credential.Viewer
	// Meaning allows calls to the embedder and the model. Without it, no data leaves the process.
	// With it, Retrieve must not be called inside a write transaction.
	Meaning bool

	alone  bool        // score the rows without their neighbors in the conversation, which costs half of the time
	looked *wordLookup // a lookup that Recollect has made, or nil
}

// Routes of a request.
const (
	RouteNone     = "none"      // the text contains no searchable words
	RouteSingle   = "single"    // one row probably contains the answer
	RouteMulti    = "multi"     // the answer is spread over several rows ("which ...", "how often ...")
	RouteMultiHop = "multi-hop" // the text names the subject only by its relation to something else
)

// Route describes how Retrieve interpreted a request.
type Route struct {
	Kind    string   `json:"kind"`
	Reasons []string `json:"reasons,omitempty"`
}

// Answer is the result of Retrieve, best hit first.
type Answer struct {
	Route Route `json:"route"`
	Hits  []Hit `json:"hits"`
	// History lists retired facts. They are in Hits only if Request.Kinds names them.
	History []Hit `json:"history,omitempty"`
	// Edges lists relations of the graph that the hits do not state.
	Edges []Edge `json:"edges,omitempty"`
	// Withheld is the number of removed rows that look like a credential.
	Withheld int `json:"withheld,omitempty"`

	said []Hit // rows that matched but state outdated facts
}

// Part is one component of a score.
type Part struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// RetrieveNow runs Retrieve outside any transaction.
func (b *Base) RetrieveNow(ctx context.Context, r Request) (Answer, error) {
	return b.Retrieve(ctx, b.st.Reader(ctx), r)
}

// Retrieve finds the stored rows that match a text. It also works without an index or embedder,
// with worse results. An empty text lists the newest rows. The facts of the answer count as used.
func (b *Base) Retrieve(ctx context.Context, q store.Querier, r Request) (Answer, error) {
	a, err := b.retrieveReadable(ctx, q, r)
	if err == nil {
		b.uses.noteFound(a.Hits, a.Edges)
	}
	return a, err
}

// retrieveReadable retrieves the rows that the viewer may read.
func (b *Base) retrieveReadable(ctx context.Context, q store.Querier, r Request) (Answer, error) {
	limit := clampLimit(r.Limit)
	if !r.Viewer.ReadsAll() && (!r.Meaning || b.opt.Reranker == nil) { // a reranker gets more rows in any case
		r.Limit = limit + spareRows
	}
	a, err := b.runRetrieval(ctx, q, r)
	if err != nil {
		return a, err
	}
	var now, past int
	a.Hits, now = readableHits(r.Viewer, a.Hits, limit)
	a.History, past = readableHits(r.Viewer, a.History, len(a.History))
	a.Withheld += now + past
	return a, b.addEdges(q, r, &a)
}

// addEdges adds the relations that answer the request and that no hit states.
func (b *Base) addEdges(q store.Querier, r Request, a *Answer) (err error) {
	if r.Edges <= 0 || b.opt.Graph == nil {
		return nil
	}
	w := EdgeQuery{Text: r.Text, Realms: []string{r.Realm}, Now: r.Now, Limit: r.Edges}
	for _, h := range slices.Concat(a.Hits, a.History) {
		w.Except = append(w.Except, h.Ref)
	}
	if a.Edges, err = b.opt.Graph.Edges(q, w); err != nil {
		return err
	}
	a.Edges = slices.DeleteFunc(a.Edges, func(e Edge) bool { return r.Viewer.Hides("", e.Text) })
	return nil
}

// spareRows is the number of additional rows that are read to replace withheld rows.
const spareRows = 10

// readableHits returns at most limit rows that the viewer may read, and the number of withheld rows
// that rank before the last returned row.
func readableHits(v credential.Viewer, hits []Hit, limit int) (out []Hit, withheld int) {
	out = hits[:0:0]
	for _, h := range hits {
		if len(out) == limit {
			break
		}
		title, text := h.Title, h.Text
		if v.Hides("", title) || v.Hides(title, text) {
			withheld++
			continue
		}
		h.Title, _ = v.Show("", title)
		h.Text, _ = v.Show(title, text)
		h.Replaced = slices.DeleteFunc(slices.Clone(h.Replaced), func(f Fact) bool { return v.Hides("", f.Text) })
		out = append(out, h)
	}
	return out, withheld
}

func (b *Base) runRetrieval(ctx context.Context, q store.Querier, r Request) (Answer, error) {
	r = b.withRequestDefaults(r)
	limit := r.Limit
	if r.Meaning && b.opt.Reranker != nil { // the reranker gets more rows than requested
		r.Limit = max(r.Limit, b.opt.RerankHits)
	}
	k := parseQuestion(r.Text, r.Now)
	a := Answer{Route: k.route}
	if k.route.Kind == RouteNone {
		if strings.TrimSpace(r.Text) != "" {
			if r.History || k.history {
				err := b.newestHistory(q, r, &a)
				return a, err
			}
			return a, nil
		}
		g := &candidateSet{r: r}
		g.setBounds()
		hits, err := b.newestHits(q, g.where, limit)
		a.Hits = hits
		return a, err
	}
	g, err := b.gatherCandidates(q, r, k)
	if err != nil {
		return a, err
	}
	if err := b.byMeaning(ctx, g); err != nil {
		if ctx.Err() != nil {
			return a, err
		}
		k.route.Reasons = append(k.route.Reasons, "searched by words only: "+err.Error())
	}
	rows := g.rankRows()
	a.Route = k.route
	if r.Strict {
		rows = filterStrict(rows, b.tune)
	}
	if err := b.buildHits(q, k, &a, rows, r.Limit); err != nil {
		return a, err
	}
	if r.Meaning {
		a.Hits, a.Withheld = readableHits(r.Viewer, a.Hits, len(a.Hits)) // a model reads the hits, so remove those that the viewer may not read
		if err := b.improveAnswer(ctx, q, r, &a); err != nil {
			if ctx.Err() != nil {
				return a, err
			}
			a.Route.Reasons = append(a.Route.Reasons, "not reranked: "+err.Error())
		}
		a.Hits = a.Hits[:min(len(a.Hits), limit)]
	}
	if r.History || k.history {
		if err := b.addHistory(ctx, q, r, &a); err != nil {
			return a, err
		}
	}
	return a, nil
}

// withRequestDefaults fills in the defaults of a request.
func (b *Base) withRequestDefaults(r Request) Request {
	r.Limit = clampLimit(r.Limit)
	if r.Zone == nil {
		r.Zone = time.UTC
	}
	if r.Now.IsZero() {
		r.Now = time.Now()
	}
	r.Now = r.Now.In(r.Zone)
	return r
}

// byMeaning adds the rows nearest in meaning.
func (b *Base) byMeaning(ctx context.Context, g *candidateSet) error {
	if !g.r.Meaning || b.opt.Vectors == nil || len(g.scope) == 0 {
		return nil
	}
	realms := g.scope[len(g.scope)-1].realms // use the widest realms; rows that the request excludes are not read
	near, err := b.opt.Vectors.Nearest(ctx, g.q, g.r.Text, g.scopeKinds(), realms, b.tune.Candidates)
	if errors.Is(err, ErrNoEmbedder) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("search by meaning: %w", err)
	}
	known := make(map[int64]bool, len(g.rows))
	for n := range g.rows {
		known[n] = true
	}
	if err := g.fetchRows(near); err != nil {
		return err
	}
	for i, m := range near {
		if r := g.rows[m.N]; r != nil {
			r.meaning, r.place, r.meant = m.Score, i+1, !known[m.N]
		}
	}
	return nil
}

// filterStrict keeps the rows that contain enough of the words, that are named, that are near in
// meaning, or that are from the named time.
func filterStrict(rows []*row, t Tuning) []*row {
	return slices.DeleteFunc(slices.Clone(rows), func(r *row) bool {
		other := r.graph > 0 || r.place > 0 || r.dated
		return r.share < t.Share && !other || r.score < t.Weak*rows[0].score
	})
}

// fuseRankings merges the rankings by words and by meaning with reciprocal rank fusion
// (https://doi.org/10.1145/1571941.1572114).
func fuseRankings(rows []*row, slow int) {
	if !slices.ContainsFunc(rows, func(r *row) bool { return r.place > 0 }) {
		return
	}
	place := 0 // rank among the rows that were found by words, times or relations
	for _, r := range rows {
		r.score = 0
		if !r.meant {
			place++
			r.score = 1 / float64(slow+place)
			r.parts = append(r.parts, Part{"rank by words", r.score})
		}
		if r.place > 0 {
			byMeaning := 1 / float64(slow+r.place)
			r.score += byMeaning
			r.parts = append(r.parts, Part{"meaning", r.meaning}, Part{"rank by meaning", byMeaning})
		}
	}
	sortRows(rows)
}

// buildHits converts the best rows to hits. A message that states an outdated fact that the
// question asks about becomes history instead of a hit: it contains the right words, but its
// statement is wrong.
func (b *Base) buildHits(q store.Querier, k *parsedQuestion, a *Answer, rows []*row, limit int) error {
	fuseRankings(rows, b.tune.Meaning)
	if err := demoteRepeats(q, rows); err != nil {
		return err
	}
	rows = rows[:min(len(rows), limit+historyRows)]
	old, err := findOutdatedRows(q, k, rows, b.tune.Form)
	if err != nil {
		return err
	}
	for _, r := range rows {
		h := Hit{Doc: r.doc, N: r.n, Score: r.score, Parts: r.parts, Until: r.until}
		switch {
		case old[r]:
			a.said = append(a.said, h)
		case len(a.Hits) < limit:
			a.Hits = append(a.Hits, h)
		}
	}
	if err := addOrigins(q, a.Hits); err != nil {
		return err
	}
	return b.addReplacedFacts(q, a.Hits)
}

// addOrigins fills in the origins of rows with untrusted text.
func addOrigins(q store.Querier, hits []Hit) (err error) {
	for i := range hits {
		if h := &hits[i]; h.Provenance.Tainted() {
			if h.Origins, err = origins.Of(q, origins.Row, h.Ref); err != nil {
				return fmt.Errorf("knowledge: read origins: %w", err)
			}
		}
	}
	return nil
}
