package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/terms"
)

const (
	maxWords     = 64
	defaultLimit = 200
)

// Words searches; see knowledge.Index. Without an index to ask, because it is
// being made or another process has it, the newest rows are looked through.
func (x *Index) Words(q store.Querier, w knowledge.WordQuery) (knowledge.WordAnswer, error) {
	if w.Limit <= 0 {
		w.Limit = defaultLimit
	}
	if err := x.prepare(q); err != nil {
		if errors.Is(err, ErrClosed) {
			return knowledge.WordAnswer{}, err
		}
		return x.scan.Words(q, w)
	}
	g, out, err := x.ask(q, w)
	if errors.Is(err, errDropped) { // the next snapshot holds them
		g, out, err = x.ask(q, w)
	}
	switch {
	case g == nil:
	case errors.Is(err, ErrDamaged):
		x.damaged(g, err)
	case errors.Is(err, errDropped):
		x.Changed() // Run makes it anew
	default:
		return out, err
	}
	return x.scan.Words(q, w)
}

// ask searches what is open and says what that was, nil for nothing.
func (x *Index) ask(q store.Querier, w knowledge.WordQuery) (g *generation, out knowledge.WordAnswer, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.cur == nil {
		return nil, out, nil
	}
	err = guarded(func() (err error) { out, err = x.search(q, w); return err })
	return x.cur, out, err
}

// damaged takes an index out of use; Run makes a new one.
func (x *Index) damaged(g *generation, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cur != g || g.path == "" {
		return
	}
	err = errors.Join(err, x.drop())
	x.trouble = x.setAside(g.path, err)
	x.Changed()
}

// search asks the open index; mu is held for reading.
func (x *Index) search(q store.Querier, w knowledge.WordQuery) (knowledge.WordAnswer, error) {
	r, err := x.cur.ix.Reader()
	if err != nil {
		return knowledge.WordAnswer{}, fmt.Errorf("index: search: %w", err)
	}
	defer func() { _ = r.Close() }() // it was only read
	seq, err := internal(r, keySeq)
	if err != nil {
		return knowledge.WordAnswer{}, err
	}
	rows, err := x.freshRows(q, seq)
	if err != nil {
		return knowledge.WordAnswer{}, err
	}
	fig, err := x.figures(r, seq)
	if err != nil {
		return knowledge.WordAnswer{}, err
	}
	s := &search{opt: &x.opt, r: r, fig: fig, loose: w.Loose, limit: w.Limit, fresh: rows}
	s.words = terms.Query(w.Text, s.languages(), maxWords)
	for _, k := range w.Kinds {
		for _, realm := range w.Realms {
			s.fields = append(s.fields, &fieldSearch{name: fieldOf(k, realm)})
		}
	}
	return s.run()
}

// search is one search in one snapshot of the index.
type search struct {
	opt    *Options
	r      reader
	fig    *figures
	fresh  map[int64]fresh
	stale  []int64 // where the rows stand in the index that are fresh
	fields []*fieldSearch
	words  []terms.Word
	loose  bool
	limit  int

	rows   int       // that are searched
	df     []int     // of each word
	weight []float64 // of each word
}

// fieldSearch is what a search finds in one field.
type fieldSearch struct {
	name  string
	known bool // to the index
	avg   float64
	lists [][]posting // of each word: opened, in the order of the terms
	found []candidate // in the order of the row's place in the index
	spare []candidate
}

func (s *search) run() (out knowledge.WordAnswer, err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	s.df = make([]int, len(s.words))
	s.weight = make([]float64, len(s.words))
	if s.stale, err = s.places(); err != nil {
		return out, err
	}
	if err := s.open(); err != nil {
		return out, err
	}
	if err := s.count(); err != nil {
		return out, err
	}
	for i := range s.words {
		n, df := float64(s.rows), float64(min(s.df[i], s.rows))
		s.weight[i] = math.Log(1 + (n-df+0.5)/(df+0.5))
	}
	if err := s.collect(); err != nil {
		return out, err
	}
	list, err := s.best()
	if err != nil {
		return out, err
	}
	return s.answer(append(list, s.matchFresh()...)), nil
}

// answer leaves out the names with punctuation that no row has: their parts are
// words as well.
func (s *search) answer(list []knowledge.WordMatch) knowledge.WordAnswer {
	out := knowledge.WordAnswer{Rows: s.rows}
	place := make([]int, len(s.words))
	for i, w := range s.words {
		place[i] = -1
		if w.Extra && s.df[i] == 0 {
			continue
		}
		place[i] = len(out.Words)
		out.Words = append(out.Words, knowledge.Word{Text: w.Text, Rows: s.df[i], Weight: s.weight[i]})
	}
	slices.SortFunc(list, func(a, b knowledge.WordMatch) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.N, a.N))
	})
	list = list[:min(len(list), s.limit)]
	if len(out.Words) < len(s.words) {
		for i := range list {
			has := uint64(0)
			for k, p := range place {
				if p >= 0 && list[i].Has&(1<<k) != 0 {
					has |= 1 << p
				}
			}
			list[i].Has = has
		}
	}
	out.Matches = list
	return out
}

// score is BM25 of one word.
func (s *search) score(word int, freq, length, avg float64) float64 {
	return knowledge.BM25(s.weight[word], freq, length, avg)
}

// matchFresh searches the rows that the index does not hold yet.
func (s *search) matchFresh() []knowledge.WordMatch {
	var out []knowledge.WordMatch
	for n, f := range s.fresh {
		avg, ok := s.average(f.field)
		if !ok {
			continue
		}
		m := knowledge.WordMatch{N: n}
		for i := range s.words {
			if freq := s.words[i].Freq(f.terms, s.loose); freq > 0 {
				m.Has |= 1 << i
				m.Score += s.score(i, freq, float64(f.terms.Length), avg)
			}
		}
		if m.Has != 0 {
			out = append(out, m)
		}
	}
	return out
}

// average is how many words a row of a field has; false when it is not asked for.
func (s *search) average(field string) (float64, bool) {
	for _, f := range s.fields {
		if f.name == field {
			return f.avg, true
		}
	}
	return 0, false
}

// count adds the fresh rows to what the index says about words and fields, in place of
// what they were.
func (s *search) count() error {
	length, rows := map[string]float64{}, map[string]int{}
	for _, f := range s.fresh {
		if _, ok := s.average(f.field); !ok {
			continue
		}
		length[f.field] += float64(f.terms.Length)
		rows[f.field]++
		for i := range s.words {
			if s.words[i].Freq(f.terms, s.loose) > 0 {
				s.df[i]++
			}
		}
	}
	for _, f := range s.fields {
		fig := s.fig.fields[f.name]
		were, err := figuresOf(func(term string) (int, error) { return s.were(f.name, term) })
		if err != nil {
			return err
		}
		if n := fig.rows - were.rows + rows[f.name]; n > 0 {
			f.avg = (fig.length - were.length + length[f.name]) / float64(n)
			s.rows += n
		}
	}
	return nil
}

// mostStale is of how many fresh rows it is looked up what they were: of more, what
// they were counts as well until the index has followed.
const mostStale = 256

// places are where the index holds what fresh rows were, in order.
func (s *search) places() (out []int64, err error) {
	if len(s.fresh) > mostStale {
		return nil, nil
	}
	for n := range s.fresh {
		at, err := s.r.InternalID(id(n))
		if err != nil {
			return nil, fmt.Errorf("index: search: %w", err)
		}
		if len(at) > 0 {
			out = append(out, int64(at.Value()))
		}
	}
	slices.Sort(out)
	return out, nil
}

// were says how many of the rows that are fresh had a term.
func (s *search) were(field, term string) (n int, err error) {
	if len(s.stale) == 0 {
		return 0, nil
	}
	t, err := s.r.TermFieldReader(context.Background(), []byte(term), field, false, false, false)
	if err != nil {
		return 0, fmt.Errorf("index: search: %w", err)
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	p := posting{rows: t, place: -1}
	for _, place := range s.stale {
		if err := p.to(place); err != nil {
			return 0, err
		}
		if p.place == place {
			n++
		}
	}
	return n, nil
}
