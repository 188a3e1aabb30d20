package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/analyzer"
	"hob/platform/text/sorting"
)

const (
	maxWords     = 64
	defaultLimit = 200
)

// SearchTerms implements knowledge.Index. If the index is being built or another process uses it, SearchTerms
// scans the newest rows.
func (x *Index) SearchTerms(q store.Querier, w knowledge.TermQuery) (knowledge.WordAnswer, error) {
	if w.Limit <= 0 {
		w.Limit = defaultLimit
	}
	if err := x.prepareSearch(q); err != nil {
		if errors.Is(err, ErrClosed) {
			return knowledge.WordAnswer{}, err
		}
		return x.scan.SearchTerms(q, w)
	}
	g, out, err := x.searchOpenIndex(q, w)
	if errors.Is(err, errDropped) { // the next snapshot contains the dropped changes
		g, out, err = x.searchOpenIndex(q, w)
	}
	switch {
	case g == nil:
	case errors.Is(err, ErrDamaged):
		x.retireDamaged(g, err)
	case errors.Is(err, errDropped):
		x.Changed() // Run rebuilds it
	default:
		return out, err
	}
	return x.scan.SearchTerms(q, w)
}

// searchOpenIndex searches the open generation and returns it, or nil if none is open.
func (x *Index) searchOpenIndex(q store.Querier, w knowledge.TermQuery) (g *generation, out knowledge.WordAnswer, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.cur == nil {
		return nil, out, nil
	}
	err = recoverPanic(func() (err error) { out, err = x.searchGeneration(q, w); return err })
	return x.cur, out, err
}

// retireDamaged retires a damaged index. Run rebuilds it.
func (x *Index) retireDamaged(g *generation, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cur != g || g.path == "" {
		return
	}
	err = errors.Join(err, x.closeCurrent())
	x.trouble = x.setAside(g.path, err)
	x.Changed()
}

// searchGeneration searches the open generation. The caller has locked mu for reading.
func (x *Index) searchGeneration(q store.Querier, w knowledge.TermQuery) (knowledge.WordAnswer, error) {
	r, err := x.cur.ix.Reader()
	if err != nil {
		return knowledge.WordAnswer{}, fmt.Errorf("index: look up terms: %w", err)
	}
	defer func() { _ = r.Close() }() // a read-only snapshot cannot lose data
	seq, err := readInternal(r, keySeq)
	if err != nil {
		return knowledge.WordAnswer{}, err
	}
	rows, err := x.freshRows(q, seq)
	if err != nil {
		return knowledge.WordAnswer{}, err
	}
	fig, err := x.loadSnapshotStats(r, seq)
	if err != nil {
		return knowledge.WordAnswer{}, err
	}
	s := &termSearch{opt: &x.opt, r: r, fig: fig, loose: w.Loose, limit: w.Limit, fresh: rows}
	s.words = analyzer.Query(w.Text, s.rowLanguages(), maxWords)
	for _, k := range w.Kinds {
		for _, realm := range w.Realms {
			s.fields = append(s.fields, &fieldSearch{name: fieldOf(k, realm)})
		}
	}
	return s.findMatches()
}

// termSearch is one search in one snapshot of the index.
type termSearch struct {
	opt    *Options
	r      reader
	fig    *snapshotStats
	fresh  map[int64]freshRow
	stale  []int64 // positions of the outdated versions of fresh rows
	fields []*fieldSearch
	words  []analyzer.QueryTerm
	loose  bool
	limit  int

	rows   int       // number of rows that were searched
	df     []int     // number of rows per word
	weight []float64 // weight per word
}

// fieldSearch is the part of a search in one field.
type fieldSearch struct {
	name  string
	known bool // the index contains the field
	avg   float64
	lists [][]posting // opened postings per word
	found []candidate // sorted by position in the index
	spare []candidate
}

func (s *termSearch) findMatches() (out knowledge.WordAnswer, err error) {
	defer func() { err = errors.Join(err, s.closePostings()) }()
	s.df = make([]int, len(s.words))
	s.weight = make([]float64, len(s.words))
	if s.stale, err = s.stalePlaces(); err != nil {
		return out, err
	}
	if err := s.openTerms(); err != nil {
		return out, err
	}
	if err := s.countFreshRows(); err != nil {
		return out, err
	}
	for i := range s.words {
		n, df := float64(s.rows), float64(min(s.df[i], s.rows))
		s.weight[i] = math.Log(1 + (n-df+0.5)/(df+0.5))
	}
	if err := s.collectCandidates(); err != nil {
		return out, err
	}
	list, err := s.bestMatches()
	if err != nil {
		return out, err
	}
	return s.buildAnswer(append(list, s.matchFresh()...)), nil
}

// buildAnswer returns the best matches and the statistics of the query terms. It omits names with
// punctuation that occur in no row, because their parts are separate words.
func (s *termSearch) buildAnswer(list []knowledge.TermMatch) knowledge.WordAnswer {
	out := knowledge.WordAnswer{Rows: s.rows}
	place := make([]int, len(s.words))
	for i, w := range s.words {
		place[i] = -1
		if w.Extra && s.df[i] == 0 {
			continue
		}
		place[i] = len(out.Words)
		out.Words = append(out.Words, knowledge.QueryTerm{Text: w.Text, Rows: s.df[i], Weight: s.weight[i]})
	}
	sorting.ByFunc(list, func(a, b knowledge.TermMatch) int {
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

// scoreBM25 returns the BM25 score of one word.
func (s *termSearch) scoreBM25(word int, freq, length, avg float64) float64 {
	return knowledge.BM25(s.weight[word], freq, length, avg)
}

// matchFresh searches the rows that are not indexed yet.
func (s *termSearch) matchFresh() []knowledge.TermMatch {
	var out []knowledge.TermMatch
	for n, f := range s.fresh {
		avg, ok := s.averageLength(f.field)
		if !ok {
			continue
		}
		m := knowledge.TermMatch{N: n}
		for i := range s.words {
			if freq := s.words[i].Freq(f.terms, s.loose); freq > 0 {
				m.Has |= 1 << i
				m.Score += s.scoreBM25(i, freq, float64(f.terms.Length), avg)
			}
		}
		if m.Has != 0 {
			out = append(out, m)
		}
	}
	return out
}

// averageLength returns the average number of words per row of a field, and false if the field is
// not searched.
func (s *termSearch) averageLength(field string) (float64, bool) {
	for _, f := range s.fields {
		if f.name == field {
			return f.avg, true
		}
	}
	return 0, false
}

// countFreshRows replaces the outdated versions of fresh rows with the fresh rows in the statistics
// of words and fields.
func (s *termSearch) countFreshRows() error {
	length, rows := map[string]float64{}, map[string]int{}
	for _, f := range s.fresh {
		if _, ok := s.averageLength(f.field); !ok {
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
		were, err := figuresOf(func(term string) (int, error) { return s.staleTermCount(f.name, term) })
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

// mostStale is the maximum number of fresh rows whose outdated versions are subtracted. If there
// are more, the outdated versions are included until the index has caught up.
const mostStale = 256

// stalePlaces returns the positions of the outdated versions of fresh rows, in order.
func (s *termSearch) stalePlaces() (out []int64, err error) {
	if len(s.fresh) > mostStale {
		return nil, nil
	}
	for n := range s.fresh {
		at, err := s.r.InternalID(rowKey(n))
		if err != nil {
			return nil, fmt.Errorf("index: look up terms: %w", err)
		}
		if len(at) > 0 {
			out = append(out, int64(at.Value()))
		}
	}
	slices.Sort(out)
	return out, nil
}

// staleTermCount returns how many outdated versions of fresh rows contain a term.
func (s *termSearch) staleTermCount(field, term string) (n int, err error) {
	if len(s.stale) == 0 {
		return 0, nil
	}
	t, err := s.r.TermFieldReader(context.Background(), []byte(term), field, false, false, false)
	if err != nil {
		return 0, fmt.Errorf("index: look up terms: %w", err)
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	p := posting{rows: t, place: -1}
	for _, place := range s.stale {
		if err := p.advanceTo(place); err != nil {
			return 0, err
		}
		if p.place == place {
			n++
		}
	}
	return n, nil
}
