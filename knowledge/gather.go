package knowledge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hob/platform/store"
	"hob/platform/text/sorting"
)

// candidateSet collects the candidate rows for an answer. The number of SQL statements is constant
// and does not depend on the number of rows.
type candidateSet struct {
	b     *Base
	q     store.Querier
	r     Request
	k     *parsedQuestion
	where sqlCondition
	scope []searchDomain
	rows  map[int64]*row
	found []TermMatch // results of the index by term, best first
}

// Limits for rows that are added because of their time.
const (
	datedScan = 2000
	datedRows = 300
)

func (b *Base) gatherCandidates(q store.Querier, r Request, k *parsedQuestion) (*candidateSet, error) {
	g := &candidateSet{b: b, q: q, r: r, k: k, rows: map[int64]*row{}}
	g.setBounds()
	var err error
	if r.looked != nil {
		g.scope = r.looked.scope
	} else if g.scope, err = b.resolveScope(q, r); err != nil || len(g.scope) == 0 {
		return g, err
	}
	for _, step := range []func() error{g.findSpeakers, g.byWords, g.byTime, g.byGraph, g.addNeighborRows} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// byWords adds the rows that the index finds.
func (g *candidateSet) byWords() error {
	limit := max(g.b.tune.Candidates, 2*g.r.Limit)
	if g.k.route.Kind == RouteMulti {
		limit += limit / 2
	}
	if g.hasBounds() {
		limit = max(limit, 1000)
	}
	text := make([]string, len(g.k.terms))
	for i, t := range g.k.terms {
		text[i] = t.text
	}
	for _, loose := range []bool{false, true} {
		a, known := g.r.looked.answerFor(text, limit)
		if !known || loose {
			var err error
			if a, err = g.b.lookupWords(g.q, g.scope, TermQuery{Text: strings.Join(text, " "), Limit: limit, Loose: loose}); err != nil {
				return err
			}
		}
		g.k.weighTerms(a, g.b.tune.Little)
		g.found = a.Matches
		if len(g.found) > 0 {
			break
		}
	}
	if err := g.addSpeakerMentions(limit); err != nil {
		return err
	}
	return g.fetchRows(g.found)
}

// fetchRows reads the matching rows that the request allows.
func (g *candidateSet) fetchRows(found []TermMatch) error {
	ids := make([]string, 0, len(found))
	has := map[int64]uint64{}
	for _, m := range found {
		has[m.N] |= m.Has
		if g.rows[m.N] == nil {
			ids = append(ids, strconv.FormatInt(m.N, 10))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	// The ids are one JSON argument, so that the statement text is constant and compiled once.
	args := append([]any{"[" + strings.Join(ids, ",") + "]"}, g.where.args...)
	return g.readRows(`SELECT `+rowColumns+` FROM json_each(?) v CROSS JOIN docs d ON d.n = CAST(v.value AS INTEGER) WHERE `+g.where.sql, args, func(r *row) { r.has = has[r.n] })
}

// byTime adds rows from the time that the question names. They need not contain words from the
// question.
func (g *candidateSet) byTime() error {
	if g.k.anchor != nil {
		if s, ok, err := g.b.resolveAnchor(g.q, g.r, *g.k.anchor); err != nil {
			return err
		} else if ok {
			g.k.spans = append(g.k.spans, s)
			g.k.dropEventWords(g.k.anchor.event)
		}
	}
	for _, s := range g.k.spans {
		later := min(max(s.to.Sub(s.from), soon), late)
		args := append([]any{store.Millis(s.from), store.Millis(s.to.Add(later))}, g.where.args...)
		err := g.readRows(`SELECT `+rowColumns+` FROM (SELECT * FROM docs WHERE at >= ? AND at < ? ORDER BY at`+atMost(datedScan)+`) d WHERE `+g.where.sql+atMost(datedRows), args, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// dropEventWords removes the words of an event from the question, because they only describe the time.
func (k *parsedQuestion) dropEventWords(event string) {
	gone := tokenizeFolded(event)
	k.terms = slices.DeleteFunc(k.terms, func(t term) bool { return slices.Contains(gone, t.text) })
}

// resolveAnchor returns the period before or after the event that the anchor names.
func (b *Base) resolveAnchor(q store.Querier, r Request, a anchor) (timeSpan, bool, error) {
	r.Text, r.Limit, r.Meaning, r.History = a.event, 1, false, false
	got, err := b.runRetrieval(context.Background(), q, r) // only the time of the match is used; its text is discarded
	if err != nil || len(got.Hits) == 0 {
		return timeSpan{}, false, err
	}
	h := got.Hits[0]
	return a.anchoredDay(eventTime(h.Text, h.At.In(r.Zone))), true, nil
}

// byGraph adds rows about the entities that the question names.
func (g *candidateSet) byGraph() error {
	if g.b.opt.Graph == nil || g.r.Hops < 0 {
		return nil
	}
	named, err := g.b.opt.Graph.Named(g.q, g.scopeRealms(), g.r.Text)
	if err != nil || len(named) == 0 {
		return err
	}
	ids := make([]string, len(named))
	names := make([]string, len(named))
	for i, e := range named {
		ids[i], names[i] = e.ID, e.Name
	}
	hops := g.b.tune.Hops
	if g.r.Hops > 0 {
		hops = min(g.r.Hops, maxHops)
	}
	near, err := g.b.opt.Graph.ExpandNeighbors(g.q, g.scopeRealms(), ids, hops, g.b.tune.Leads)
	if err != nil {
		return err
	}
	g.k.route.Reasons = append(g.k.route.Reasons, "names "+strings.Join(names, ", "))
	found := make([]TermMatch, len(near))
	for i, n := range near {
		found[i] = TermMatch{N: n.N}
		if n.Hops > 0 && g.k.route.Kind == RouteSingle {
			g.k.route.Kind = RouteMultiHop
		}
	}
	if err := g.fetchRows(found); err != nil {
		return err
	}
	for _, n := range near {
		if r := g.rows[n.N]; r != nil && r.graph < n.Score {
			r.graph, r.hops = n.Score, n.Hops
		}
	}
	return nil
}

// maxHops limits Request.Hops.
const maxHops = 4

// addNeighborRows adds the rows adjacent to the candidates.
func (g *candidateSet) addNeighborRows() error {
	if g.r.alone {
		return nil
	}
	type stretch struct {
		Group string `json:"g"`
		From  int    `json:"a"`
		To    int    `json:"z"`
	}
	var list []stretch
	by := map[string][]int{}
	for _, r := range g.rows {
		if r.doc.Group != "" {
			by[r.doc.Group] = append(by[r.doc.Group], r.doc.Pos)
		}
	}
	for group, at := range by {
		slices.Sort(at)
		for _, p := range at {
			from, to := p-g.b.tune.Neighbors, p+g.b.tune.Neighbors
			if n := len(list); n > 0 && list[n-1].Group == group && list[n-1].To >= from-1 {
				list[n-1].To = to
				continue
			}
			list = append(list, stretch{group, from, to})
		}
	}
	if len(list) == 0 || g.b.tune.Neighbors == 0 {
		return nil
	}
	sorting.ByFunc(list, func(a, b stretch) int { return strings.Compare(a.Group, b.Group) })
	raw, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("knowledge: read neighboring rows: %w", err)
	}
	return g.readRows(`SELECT `+rowColumns+` FROM json_each(?) v CROSS JOIN docs d ON d.grp = v.value ->> 'g' AND d.grp <> '' AND d.pos BETWEEN CAST(v.value ->> 'a' AS INTEGER) AND CAST(v.value ->> 'z' AS INTEGER)
		WHERE `+g.where.sql, append([]any{string(raw)}, g.where.args...), nil)
}

const rowColumns = `d.n, d.kind, d.ref, d.title, d.text, d.at, d.provenance, d.realm, d.grp, d.pos, d.speaker, d.source`

// readRows runs an SQL statement and adds the resulting rows that are not candidates yet.
func (g *candidateSet) readRows(stmt string, args []any, each func(*row)) (err error) {
	rows, err := g.q.Query(stmt, args...)
	if err != nil {
		return fmt.Errorf("knowledge: read matching rows: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r := &row{}
		var at int64
		d := &r.doc
		if err := rows.Scan(&r.n, &d.Kind, &d.Ref, &d.Title, &d.Text, &at, &d.Provenance, &d.Realm, &d.Group, &d.Pos, &d.Speaker, &d.Source); err != nil {
			return fmt.Errorf("knowledge: read matching rows: %w", err)
		}
		if g.rows[r.n] != nil {
			continue
		}
		d.At = store.Time(at)
		if each != nil {
			each(r)
		}
		g.rows[r.n] = r
	}
	return rows.Err()
}

// rankRows scores the candidates and returns them best first.
func (g *candidateSet) rankRows() []*row {
	rank := &ranking{k: g.k, t: g.b.tune, half: g.b.opt.HalfLife}
	for _, r := range g.rows {
		rank.rows = append(rank.rows, r)
	}
	sorting.ByFunc(rank.rows, func(a, b *row) int { return cmp.Compare(a.n, b.n) })
	readAll(rank.rows, g.k, g.b.tune.Form)
	return rank.scoreRows()
}
