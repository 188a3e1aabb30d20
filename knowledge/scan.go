package knowledge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/knowledge/store"
	"hob/platform/phrase"
)

// scanned is how many of the newest rows are read when there is no index.
const scanned = 20_000

// words is the index, or what stands in for it.
func (b *Base) words() Index {
	if b.opt.Index != nil {
		return b.opt.Index
	}
	return scanning{b}
}

// scanning finds words without an index, by reading the newest rows: for a base
// that is small or whose index is not there.
type scanning struct{ b *Base }

// Words implements Index.
func (s scanning) Words(q store.Querier, w WordQuery) (WordAnswer, error) {
	var terms []term
	for _, text := range phrase.Words(w.Text) {
		if f := phrase.Fold(text); !slices.ContainsFunc(terms, func(t term) bool { return t.text == f }) && len(terms) < 64 {
			terms = append(terms, newTerm(f))
		}
	}
	a := WordAnswer{Words: make([]Word, len(terms))}
	if len(terms) == 0 || len(w.Kinds) == 0 || len(w.Realms) == 0 {
		return a, nil
	}
	g := &gathering{q: q, rows: map[int64]*row{}}
	args := make([]any, 0, len(w.Kinds)+len(w.Realms))
	for _, k := range slices.Concat(w.Kinds, w.Realms) {
		args = append(args, k)
	}
	err := g.read(`SELECT `+rowColumns+` FROM docs d WHERE d.kind IN (?`+strings.Repeat(", ?", len(w.Kinds)-1)+`) AND d.realm IN (?`+strings.Repeat(", ?", len(w.Realms)-1)+`)
		ORDER BY d.n DESC`+atMost(scanned), args, nil)
	if err != nil {
		return a, errors.Join(fmt.Errorf("knowledge: search: %w", err))
	}
	form := 0.0
	if w.Loose {
		form = s.b.tune.Form
	}
	k := &question{terms: terms}
	avg := 1.0
	for _, r := range g.rows {
		r.read(k, form)
		if w.Loose {
			r.begin(terms, form)
		}
		avg += r.length / float64(len(g.rows))
	}
	a.Rows = len(g.rows)
	for i, t := range terms {
		a.Words[i].Text = t.text
		for _, r := range g.rows {
			if r.own[i] > 0 {
				a.Words[i].Rows++
			}
		}
		a.Words[i].Weight = inverse(a.Rows, a.Words[i].Rows)
	}
	for _, r := range g.rows {
		m := WordMatch{N: r.n}
		for i, x := range r.own {
			if x > 0 {
				x /= 1 - s.b.tune.B + s.b.tune.B*r.length/avg
				m.Score += a.Words[i].Weight * x * (s.b.tune.K1 + 1) / (x + s.b.tune.K1)
				m.Has |= 1 << i
			}
		}
		if m.Has != 0 {
			a.Matches = append(a.Matches, m)
		}
	}
	slices.SortFunc(a.Matches, func(x, y WordMatch) int { return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(y.N, x.N)) })
	limit := w.Limit
	if limit <= 0 {
		limit = 200
	}
	a.Matches = a.Matches[:min(len(a.Matches), limit)]
	return a, nil
}

// begin counts words that begin with a term.
func (r *row) begin(terms []term, form float64) {
	for i, t := range terms {
		if r.own[i] > 0 || len(t.text) < 3 {
			continue
		}
		for _, w := range r.words {
			if strings.HasPrefix(w, t.text) {
				r.own[i] += form
			}
		}
	}
}
