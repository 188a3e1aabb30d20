package index

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	api "github.com/blevesearch/bleve_index_api"

	"hob/knowledge"
	"hob/platform/text/sorting"
)

// candidate is a matching row, identified by its position in the snapshot.
type candidate struct {
	has    uint64
	score  float64
	place  uint32
	length float32
}

// collectCandidates finds the candidates: all rows with a rare word, up to a limit. Common words
// only increase their scores. If all words are common, the candidates are the rows that contain
// several of them, or a sample of the rows with a single word.
func (s *termSearch) collectCandidates() error {
	order := s.byRarity()
	left := s.opt.Postings
	rare := 0
	for _, i := range order {
		if s.df[i] > left {
			break
		}
		left -= s.df[i]
		rare++
	}
	if rare == 0 && len(order) > 0 {
		return s.collectCommon(order)
	}
	for _, f := range s.fields {
		for _, i := range order[:rare] {
			if err := s.addWordRows(f, i); err != nil {
				return err
			}
		}
	}
	if rare < len(order) {
		s.trimCandidates()
	}
	for _, f := range s.fields {
		for _, i := range order[rare:] {
			if err := s.addCommonWord(f, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// byRarity returns the words that occur in any row, rarest first.
func (s *termSearch) byRarity() []int {
	var out []int
	for i, n := range s.df {
		if n > 0 {
			out = append(out, i)
		}
	}
	sorting.ByFunc(out, func(a, b int) int { return cmp.Or(cmp.Compare(s.df[a], s.df[b]), cmp.Compare(a, b)) })
	return out
}

// addWordRows adds the rows with a word to the candidates.
func (s *termSearch) addWordRows(f *fieldSearch, i int) error {
	if !f.known || len(f.lists[i]) == 0 {
		return nil
	}
	if err := s.openRareTerms(f, i); err != nil {
		return err
	}
	most := len(f.found)
	for _, p := range f.lists[i] {
		most += p.count
	}
	out, old := slices.Grow(f.spare[:0], most), f.found
	for {
		c, ok, err := s.nextCandidate(f, i)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		for len(old) > 0 && old[0].place < c.place {
			out = append(out, old[0])
			old = old[1:]
		}
		if len(old) > 0 && old[0].place == c.place {
			c.score += old[0].score
			c.has |= old[0].has
			old = old[1:]
		}
		out = append(out, c)
	}
	f.spare, f.found = f.found, append(out, old...)
	return nil
}

// nextCandidate returns the next row with a word, scored by its best term.
func (s *termSearch) nextCandidate(f *fieldSearch, i int) (candidate, bool, error) {
	list := f.lists[i]
	low := int64(end)
	for k := range list {
		if list[k].place < 0 {
			if err := list[k].advanceTo(0); err != nil {
				return candidate{}, false, err
			}
		}
		low = min(low, list[k].place)
	}
	if low == end {
		return candidate{}, false, nil
	}
	c := candidate{place: uint32(low), has: 1 << i}
	freq := 0.0
	for k := range list {
		if list[k].place == low {
			freq = max(freq, list[k].weight*list[k].freq)
			c.length = float32(list[k].length)
			if err := list[k].advanceTo(low + 1); err != nil {
				return candidate{}, false, err
			}
		}
	}
	c.score = s.scoreBM25(i, freq, float64(c.length), f.avg)
	return c, true, nil
}

// mostWeighed is the approximate number of candidates to which the scores of common words are
// added.
const mostWeighed = 4000

// trimCandidates keeps the best candidates by their rare words.
func (s *termSearch) trimCandidates() {
	low := s.nthScore(mostWeighed)
	for _, f := range s.fields {
		f.found = slices.DeleteFunc(f.found, func(c candidate) bool { return c.score < low })
	}
}

// nthScore returns the score of the nth best candidate, or a value below all scores if there are fewer.
func (s *termSearch) nthScore(n int) float64 {
	total := 0
	for _, f := range s.fields {
		total += len(f.found)
	}
	if total <= n {
		return math.Inf(-1)
	}
	scores := make([]float64, 0, total)
	for _, f := range s.fields {
		for _, c := range f.found {
			scores = append(scores, c.score)
		}
	}
	return nthLargest(scores, n)
}

// addCommonWord adds the score of a common word to the candidates that contain it.
func (s *termSearch) addCommonWord(f *fieldSearch, i int) error {
	if !f.known {
		return nil
	}
	for k := range f.found {
		c := &f.found[k]
		freq := 0.0
		for j := range f.lists[i] {
			p := &f.lists[i][j]
			if err := p.advanceTo(int64(c.place)); err != nil {
				return err
			}
			if p.place == int64(c.place) {
				freq = max(freq, p.weight*p.freq)
				if p.exact {
					c.length = float32(p.length)
				}
			}
		}
		if freq > 0 {
			c.has |= 1 << i
			c.score += s.scoreBM25(i, freq, float64(c.length), f.avg)
		}
	}
	return nil
}

// bestMatches returns the best candidates of all fields as rows. It includes all rows with the same
// score as the last one, so that the result does not depend on the layout of the index on disk.
func (s *termSearch) bestMatches() ([]knowledge.TermMatch, error) {
	low := s.nthScore(s.limit + min(len(s.fresh), s.limit))
	var list []candidate
	for _, f := range s.fields {
		for _, c := range f.found {
			if c.score >= low && c.has != 0 {
				list = append(list, c)
			}
		}
	}
	sorting.ByFunc(list, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.place, a.place)) })
	var out []knowledge.TermMatch
	for _, c := range list[:min(len(list), 2*s.limit+mostTies)] {
		ext, err := s.r.ExternalID(api.NewIndexInternalID(nil, uint64(c.place)))
		if err != nil {
			return nil, fmt.Errorf("index: look up terms: %w", err)
		}
		row, err := parseRowKey(ext)
		if err != nil {
			return nil, fmt.Errorf("index: look up terms: %w: invalid row id %q", ErrDamaged, ext)
		}
		if _, newer := s.fresh[row]; !newer {
			out = append(out, knowledge.TermMatch{N: row, Score: c.score, Has: c.has})
		}
	}
	return out, nil
}

// mostTies limits the number of tied rows.
const mostTies = 2000

// nthLargest returns the nth largest number, counted from 1. It reorders the list.
func nthLargest(list []float64, n int) float64 {
	for lo, hi := 0, len(list)-1; ; {
		if lo >= hi {
			return list[n-1]
		}
		pivot := list[(lo+hi)/2]
		i, j := lo, hi
		for i <= j {
			for list[i] > pivot {
				i++
			}
			for list[j] < pivot {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i++
				j--
			}
		}
		switch {
		case n-1 <= j:
			hi = j
		case n-1 >= i:
			lo = i
		default:
			return list[n-1]
		}
	}
}
