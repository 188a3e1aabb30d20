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

// Words implements knowledge.Index. If the index is being built or another process uses it, Words
// scans the newest rows.
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
	if errors.Is(err, errDropped) { // the next snapshot contains them
		g, out, err = x.ask(q, w)
	}
	switch {
	case g == nil:
	case errors.Is(err, ErrDamaged):
		x.damaged(g, err)
	case errors.Is(err, errDropped):
		x.Changed() // Run rebuilds it
	default:
		return out, err
	}
	return x.scan.Words(q, w)
}

// ask searches the open generation and returns it, or nil if none is open.
func (x *Index) ask(q store.Querier, w knowledge.WordQuery) (g *generation, out knowledge.WordAnswer, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.cur == nil {
		return nil, out, nil
	}
	err = guarded(func() (err error) { out, err = x.search(q, w); return err })
	return x.cur, out, err
}

// damaged retires a damaged index. Run rebuilds it.
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

// search searches the open generation. The caller holds mu for reading.
func (x *Index) search(q store.Querier, w knowledge.WordQuery) (knowledge.WordAnswer, error) {
	r, err := x.cur.ix.Reader()
	if err != nil {
		return knowledge.WordAnswer{}, fmt.Errorf("index: search: %w", err)
	}
	defer func() { _ = r.Close() }() // a read-only snapshot cannot lose data
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
	stale  []int64 // places of the outdated versions of fresh rows
	fields []*fieldSearch
	words  []terms.Word
	loose  bool
	limit  int

	rows   int       // number of searched rows
	df     []int     // rows per word
	weight []float64 // weight per word
}

// fieldSearch is the part of a search in one field.
type fieldSearch struct {
	name  string
	known bool // the index contains the field
	avg   float64
	lists [][]posting // opened terms per word
	found []candidate // sorted by place
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

// answer removes the names with punctuation that no row contains. Their parts are separate words.
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

// score returns the BM25 score of one word.
func (s *search) score(word int, freq, length, avg float64) float64 {
	return knowledge.BM25(s.weight[word], freq, length, avg)
}

// matchFresh searches the rows that are not indexed yet.
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

// average returns the mean number of words per row of a field; false if the field is not searched.
func (s *search) average(field string) (float64, bool) {
	for _, f := range s.fields {
		if f.name == field {
			return f.avg, true
		}
	}
	return 0, false
}

// count adds the fresh rows to the statistics of words and fields, in place of their outdated
// versions.
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

// mostStale is the maximum number of fresh rows whose outdated versions are subtracted. With more
// fresh rows, the outdated versions are counted too until the index catches up.
const mostStale = 256

// places returns the places of the outdated versions of fresh rows, in order.
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

// were returns how many outdated versions of fresh rows contain a term.
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
