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

	"hob/knowledge/store"
	"hob/platform/phrase"
)

// gathering collects the rows that may be in an answer. It asks a fixed number
// of statements, however many rows there are.
type gathering struct {
	b     *Base
	q     store.Querier
	r     Request
	k     *question
	where where
	scope []domain
	rows  map[int64]*row
	found []WordMatch // by words, best first
}

// Bounds on the rows that are looked at because of their time.
const (
	datedScan = 2000
	datedRows = 300
)

func (b *Base) gather(q store.Querier, r Request, k *question) (*gathering, error) {
	g := &gathering{b: b, q: q, r: r, k: k, rows: map[int64]*row{}}
	g.narrowed()
	var err error
	if g.scope, err = b.scope(q, r); err != nil || len(g.scope) == 0 {
		return g, err
	}
	for _, step := range []func() error{g.speakers, g.byWords, g.byTime, g.byGraph, g.neighbours} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// narrowed sets what the request allows: kinds, realm, times and speaker.
func (g *gathering) narrowed() {
	g.where = filter(SearchOptions{Kinds: g.r.Kinds, Realm: g.r.Realm, EveryRealm: g.r.EveryRealm})
	for _, k := range g.r.Without {
		g.where.sql += " AND d.kind <> ?"
		g.where.args = append(g.where.args, k)
	}
	if !g.r.Since.IsZero() {
		g.where.sql += " AND d.at >= ?"
		g.where.args = append(g.where.args, store.Millis(g.r.Since))
	}
	if !g.r.Until.IsZero() {
		g.where.sql += " AND d.at < ?"
		g.where.args = append(g.where.args, store.Millis(g.r.Until))
	}
	if g.r.Speaker != "" {
		g.where.sql += " AND d.speaker = ? COLLATE NOCASE"
		g.where.args = append(g.where.args, g.r.Speaker)
	}
}

// narrow reports whether the request has bounds that an index does not know.
func (g *gathering) narrow() bool {
	return !g.r.Since.IsZero() || !g.r.Until.IsZero() || g.r.Speaker != ""
}

// private are the kinds that belong to one memory alone, see filter.
var private = []string{KindFact, KindRetired, KindTurn, KindChunk}

// domain is a part of what is searched: rows of these kinds in these realms.
type domain struct{ kinds, realms []string }

// scope lists what a request means: what is private of its realm, and of the rest
// also what is nobody's memory. Kinds and realms are few; each is found by a jump in
// an index and not by reading all rows.
func (b *Base) scope(q store.Querier, r Request) (out []domain, err error) {
	kinds := r.Kinds
	if len(kinds) == 0 {
		kinds, err = distinct(q, "kind", "")
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == KindRetired })
	}
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return slices.Contains(r.Without, k) })
	if err != nil || len(kinds) == 0 {
		return nil, err
	}
	switch {
	case r.EveryRealm:
		realms, err := distinct(q, "realm", "realm <> '' AND ")
		return []domain{{kinds, append(realms, "")}}, err
	case r.Realm == "":
		return []domain{{kinds, []string{""}}}, nil
	}
	var facts, others []string
	for _, k := range kinds {
		if slices.Contains(private, k) {
			facts = append(facts, k)
		} else {
			others = append(others, k)
		}
	}
	if len(facts) > 0 {
		out = append(out, domain{facts, []string{r.Realm}})
	}
	if len(others) > 0 {
		out = append(out, domain{others, []string{r.Realm, ""}})
	}
	return out, nil
}

// lookup asks the index for each part and joins the answers.
func (b *Base) lookup(q store.Querier, in []domain, w WordQuery) (WordAnswer, error) {
	var all WordAnswer
	for i, d := range in {
		w.Kinds, w.Realms = d.kinds, d.realms
		a, err := b.words().Words(q, w)
		if err != nil {
			return all, fmt.Errorf("knowledge: search: %w", err)
		}
		if i == 0 {
			all = a
			continue
		}
		all.Rows += a.Rows
		all.Matches = append(all.Matches, a.Matches...)
		for j := range min(len(all.Words), len(a.Words)) {
			all.Words[j].Rows += a.Words[j].Rows
		}
	}
	if len(in) > 1 {
		slices.SortStableFunc(all.Matches, func(x, y WordMatch) int { return cmp.Compare(y.Score, x.Score) })
		for j := range all.Words {
			all.Words[j].Weight = inverse(all.Rows, all.Words[j].Rows)
		}
	}
	return all, nil
}

// distinct lists the values of an indexed column.
func distinct(q store.Querier, column, cond string) (out []string, err error) {
	next := `SELECT min(` + column + `) FROM docs WHERE ` + cond + column + ` > `
	rows, err := q.Query(`WITH RECURSIVE v(x) AS (` + next + `'' UNION ALL SELECT (` + next + `v.x) FROM v WHERE v.x IS NOT NULL)
		SELECT x FROM v WHERE x IS NOT NULL LIMIT 1000`)
	if err != nil {
		return nil, fmt.Errorf("knowledge: list the %ss: %w", column, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// speakers finds out who of the named has said something: a name may be the
// beginning of a speaker's.
func (g *gathering) speakers() error {
	k := g.k
	for _, w := range tokens(k.text) {
		if (w == "i" || w == "my" || w == "me") && !slices.Contains(k.speakers, "owner") {
			k.speakers = append(k.speakers, "owner")
		}
	}
	if len(k.names) == 0 {
		return nil
	}
	type name struct {
		From string `json:"a"`
		To   string `json:"z"`
	}
	type part struct {
		Kind  string `json:"k"`
		Realm string `json:"r"`
	}
	names := make([]name, len(k.names))
	for i, n := range k.names {
		names[i] = name{n, n + "\U0010FFFF"}
		if len([]rune(n)) < 3 {
			names[i].To = n + "!" // the whole name, or the first word of it
		}
	}
	var parts []part
	for _, d := range g.scope {
		for _, kind := range d.kinds {
			for _, realm := range d.realms {
				parts = append(parts, part{kind, realm})
			}
		}
	}
	raw, err := json.Marshal([]any{names, parts})
	if err != nil {
		return fmt.Errorf("knowledge: who said something: %w", err)
	}
	// What of these rows is not searched may not say who is there: each part of the
	// scope is looked into by itself, by a jump in the index.
	rows, err := g.q.Query(`SELECT n.key, min((SELECT d.speaker FROM docs d WHERE d.speaker <> '' AND d.realm = s.value ->> 'r' AND d.kind = s.value ->> 'k'
			AND d.speaker >= n.value ->> 'a' COLLATE NOCASE AND d.speaker < n.value ->> 'z' COLLATE NOCASE ORDER BY d.speaker COLLATE NOCASE LIMIT 1))
		FROM json_each(?1, '$[0]') n CROSS JOIN json_each(?1, '$[1]') s GROUP BY n.key ORDER BY n.key`, string(raw))
	if err != nil {
		return fmt.Errorf("knowledge: who said something: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var i int
		var speaker *string
		if err := rows.Scan(&i, &speaker); err != nil {
			return fmt.Errorf("knowledge: who said something: %w", err)
		}
		if speaker == nil {
			continue
		}
		if !slices.Contains(k.speakers, *speaker) {
			k.speakers = append(k.speakers, *speaker)
		}
		k.drop(phrase.Fold(k.names[i]))
	}
	return rows.Err()
}

// drop takes a speaker's name out of the words: who is meant says nothing about
// what was said, and others say the name when they speak to them.
func (k *question) drop(name string) {
	k.called = append(k.called, name)
	if len(k.terms) > 1 {
		k.terms = slices.DeleteFunc(k.terms, func(t term) bool { return t.text == name })
	}
}

// byWords asks the index.
func (g *gathering) byWords() error {
	limit := max(g.b.tune.Candidates, 2*g.r.Limit)
	if g.k.route.Kind == RouteMulti {
		limit += limit / 2
	}
	if g.narrow() {
		limit = max(limit, 1000)
	}
	text := make([]string, len(g.k.terms))
	for i, t := range g.k.terms {
		text[i] = t.text
	}
	for _, loose := range []bool{false, true} {
		a, err := g.b.lookup(g.q, g.scope, WordQuery{Text: strings.Join(text, " "), Limit: limit, Loose: loose})
		if err != nil {
			return err
		}
		g.k.weigh(a, g.b.tune.Little)
		g.found = a.Matches
		if len(g.found) > 0 {
			break
		}
	}
	if err := g.named(limit); err != nil {
		return err
	}
	return g.fetch(g.found)
}

// named looks for what is about a speaker but said by nobody ("Ana lives in
// Leipzig"): there the name is a word like others.
func (g *gathering) named(limit int) error {
	if len(g.k.called) == 0 {
		return nil
	}
	var scope []domain
	for _, d := range g.scope {
		d.kinds = slices.DeleteFunc(slices.Clone(d.kinds), func(k string) bool { return k == KindTurn })
		if len(d.kinds) > 0 {
			scope = append(scope, d)
		}
	}
	text := slices.Clone(g.k.called)
	for _, t := range g.k.terms {
		text = append(text, t.text)
	}
	a, err := g.b.lookup(g.q, scope, WordQuery{Text: strings.Join(text, " "), Limit: limit})
	for _, m := range a.Matches {
		m.Has = 0 // its bits are of another query
		g.found = append(g.found, m)
	}
	return err
}

// fetch reads the rows that were found, as far as the request allows them.
func (g *gathering) fetch(found []WordMatch) error {
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
	// One list as JSON: the statement is the same each time, and compiled once.
	args := append([]any{"[" + strings.Join(ids, ",") + "]"}, g.where.args...)
	return g.read(`SELECT `+rowColumns+` FROM json_each(?) v CROSS JOIN docs d ON d.n = v.value WHERE `+g.where.sql, args, func(r *row) { r.has = has[r.n] })
}

// byTime adds rows of the time that is named: they may have none of the words.
func (g *gathering) byTime() error {
	if g.k.anchor != nil {
		if s, ok, err := g.b.anchored(g.q, g.r, *g.k.anchor); err != nil {
			return err
		} else if ok {
			g.k.spans = append(g.k.spans, s)
			g.k.forget(g.k.anchor.event)
		}
	}
	for _, s := range g.k.spans {
		later := min(max(s.to.Sub(s.from), soon), late)
		args := append([]any{store.Millis(s.from), store.Millis(s.to.Add(later))}, g.where.args...)
		err := g.read(`SELECT `+rowColumns+` FROM (SELECT * FROM docs WHERE at >= ? AND at < ? ORDER BY at`+atMost(datedScan)+`) d WHERE `+g.where.sql+atMost(datedRows), args, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// forget takes the words of an event out of the question: they told the time.
func (k *question) forget(event string) {
	gone := tokens(event)
	k.terms = slices.DeleteFunc(k.terms, func(t term) bool { return slices.Contains(gone, t.text) })
}

// anchored finds when something happened, and the stretch beside it.
func (b *Base) anchored(q store.Querier, r Request, a anchor) (span, bool, error) {
	r.Text, r.Limit, r.Meaning, r.History = a.event, 1, false, false
	got, err := b.Retrieve(context.Background(), q, r)
	if err != nil || len(got.Hits) == 0 {
		return span{}, false, err
	}
	h := got.Hits[0]
	return a.span(happened(h.Text, h.At.In(r.Zone))), true, nil
}

// byGraph follows what the question names.
func (g *gathering) byGraph() error {
	if g.b.opt.Graph == nil || g.r.Hops < 0 {
		return nil
	}
	named, err := g.b.opt.Graph.Named(g.q, g.realms(), g.r.Text)
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
	near, err := g.b.opt.Graph.Around(g.q, g.realms(), ids, hops, g.b.tune.Leads)
	if err != nil {
		return err
	}
	g.k.route.Reasons = append(g.k.route.Reasons, "it names "+strings.Join(names, ", "))
	found := make([]WordMatch, len(near))
	for i, n := range near {
		found[i] = WordMatch{N: n.N}
		if n.Hops > 0 && g.k.route.Kind == RouteSingle {
			g.k.route.Kind = RouteMultiHop
		}
	}
	if err := g.fetch(found); err != nil {
		return err
	}
	for _, n := range near {
		if r := g.rows[n.N]; r != nil && r.graph < n.Score {
			r.graph, r.hops = n.Score, n.Hops
		}
	}
	return nil
}

// realms are those of the scope, each once. The graph keeps facts: of a realm
// with a memory of its own it sees that alone.
func (g *gathering) realms() []string {
	if g.r.Realm != "" && !g.r.EveryRealm {
		return []string{g.r.Realm}
	}
	return g.scope[0].realms
}

// kinds are those of the scope.
func (g *gathering) kinds() (out []string) {
	for _, d := range g.scope {
		out = append(out, d.kinds...)
	}
	return out
}

// maxHops bounds how far a request may ask to go.
const maxHops = 4

// neighbours adds the rows beside those there are.
func (g *gathering) neighbours() error {
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
			from, to := p-g.b.tune.Neighbours, p+g.b.tune.Neighbours
			if n := len(list); n > 0 && list[n-1].Group == group && list[n-1].To >= from-1 {
				list[n-1].To = to
				continue
			}
			list = append(list, stretch{group, from, to})
		}
	}
	if len(list) == 0 || g.b.tune.Neighbours == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b stretch) int { return strings.Compare(a.Group, b.Group) })
	raw, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("knowledge: neighbours: %w", err)
	}
	return g.read(`SELECT `+rowColumns+` FROM json_each(?) v CROSS JOIN docs d ON d.grp = v.value ->> 'g' AND d.grp <> '' AND d.pos BETWEEN v.value ->> 'a' AND v.value ->> 'z'
		WHERE `+g.where.sql, append([]any{string(raw)}, g.where.args...), nil)
}

const rowColumns = `d.n, d.kind, d.ref, d.title, d.text, d.at, d.provenance, d.realm, d.grp, d.pos, d.speaker, d.source`

// read adds the rows of a statement that are not there yet.
func (g *gathering) read(stmt string, args []any, each func(*row)) (err error) {
	rows, err := g.q.Query(stmt, args...)
	if err != nil {
		return fmt.Errorf("knowledge: read what was found: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r := &row{}
		var at int64
		d := &r.doc
		if err := rows.Scan(&r.n, &d.Kind, &d.Ref, &d.Title, &d.Text, &at, &d.Provenance, &d.Realm, &d.Group, &d.Pos, &d.Speaker, &d.Source); err != nil {
			return fmt.Errorf("knowledge: read what was found: %w", err)
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

// ranked scores what was gathered, best first.
func (g *gathering) ranked() []*row {
	rank := &ranking{k: g.k, t: g.b.tune, half: g.b.opt.HalfLife}
	for _, r := range g.rows {
		rank.rows = append(rank.rows, r)
	}
	slices.SortFunc(rank.rows, func(a, b *row) int { return cmp.Compare(a.n, b.n) })
	readAll(rank.rows, g.k, g.b.tune.Form)
	return rank.score()
}
