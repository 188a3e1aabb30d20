package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	api "github.com/blevesearch/bleve_index_api"

	"hob/knowledge"
)

// posting is one term of a word in one field.
type posting struct {
	weight float64 // what a match by this term is worth
	count  int
	rows   api.TermFieldReader
	place  int64 // where it stands; -1 before the first
	freq   float64
	length float64
	tfd    api.TermFieldDoc
}

// candidate is a row that was found, by its place in the snapshot.
type candidate struct {
	place  int64
	length float64
	score  float64
	has    uint64
}

// open opens the terms of each word in each field.
func (s *search) open() error {
	for _, f := range s.fields {
		fig, ok := s.fig.fields[f.name]
		if f.known = ok && fig.rows > 0; !f.known {
			continue
		}
		f.lists = make([][]posting, len(s.words))
		for i := range s.words {
			n, err := s.openWord(f, i)
			if err != nil {
				return err
			}
			s.df[i] += n
		}
	}
	return nil
}

// openWord opens the terms of a word in a field and says how many rows have it.
func (s *search) openWord(f *fieldSearch, i int) (int, error) {
	rows := 0
	add := func(term string, weight float64) error {
		p, err := s.posting(f.name, term, weight)
		if err != nil || p == nil {
			return err
		}
		f.lists[i] = append(f.lists[i], *p)
		rows = max(rows, p.count)
		return nil
	}
	for _, v := range s.words[i].Variants {
		if err := add(v.Term, v.Weight); err != nil {
			return 0, err
		}
	}
	if s.loose && !s.words[i].Extra {
		list, err := s.expand(f.name, i, rows == 0)
		if err != nil {
			return 0, err
		}
		for _, v := range list {
			if err := add(v.Term, v.Weight); err != nil {
				return 0, err
			}
		}
	}
	return rows, nil
}

// posting opens a term; nil when no row has it.
func (s *search) posting(field, term string, weight float64) (*posting, error) {
	t, err := s.r.TermFieldReader(context.Background(), []byte(term), field, true, true, false)
	if err != nil {
		return nil, fmt.Errorf("index: search: %w", err)
	}
	n := int(t.Count())
	if n == 0 {
		return nil, t.Close()
	}
	return &posting{weight: weight, count: n, rows: t, place: -1}, nil
}

func (s *search) close() error {
	var errs []error
	for _, f := range s.fields {
		for _, list := range f.lists {
			for i := range list {
				if list[i].rows != nil {
					errs = append(errs, list[i].rows.Close())
				}
			}
		}
	}
	return errors.Join(errs...)
}

// to moves a posting to the first row at or after a place; false at its end.
func (p *posting) to(place int64) (bool, error) {
	if p.place >= place {
		return p.place != math.MaxInt64, nil
	}
	var d *api.TermFieldDoc
	var err error
	if place == p.place+1 {
		d, err = p.rows.Next(p.tfd.Reset())
	} else {
		d, err = p.rows.Advance(api.NewIndexInternalID(nil, uint64(place)), p.tfd.Reset())
	}
	if err != nil {
		return false, fmt.Errorf("index: search: %w", err)
	}
	if d == nil {
		p.place = math.MaxInt64
		return false, nil
	}
	p.tfd = *d
	p.place, p.freq = int64(d.ID.Value()), float64(d.Freq)
	p.length = math.Round(1 / (d.Norm * d.Norm)) // kept as a 32-bit number
	return true, nil
}

// collect finds the candidates: every row that has a rare word, as long as
// those are not too many together. Common words only add to the score of what
// was found so; when there are none but common words, rows that have several of
// them count, and of a single one a share.
func (s *search) collect() error {
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
	for _, f := range s.fields {
		if !f.known {
			continue
		}
		var err error
		if rare > 0 {
			for _, i := range order[:rare] {
				if err == nil {
					err = s.union(f, i)
				}
			}
			s.trim(f)
			for _, i := range order[rare:] {
				if err == nil {
					err = s.weigh(f, i)
				}
			}
		} else if len(order) > 0 {
			err = s.common(f, order)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// byRarity are the words that some row has, the rarest first.
func (s *search) byRarity() []int {
	var out []int
	for i, n := range s.df {
		if n > 0 {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b int) int { return cmp.Or(cmp.Compare(s.df[a], s.df[b]), cmp.Compare(a, b)) })
	return out
}

// union adds the rows that have a word to the candidates.
func (s *search) union(f *fieldSearch, i int) error {
	list := f.lists[i]
	if len(list) == 0 {
		return nil
	}
	out := make([]candidate, 0, len(f.found)+list[0].count)
	old := f.found
	for {
		c, ok, err := s.next(f, i)
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
	f.found = append(out, old...)
	return nil
}

// next is the next row that has a word by any of its terms, by the best.
func (s *search) next(f *fieldSearch, i int) (candidate, bool, error) {
	list := f.lists[i]
	low := int64(math.MaxInt64)
	for k := range list {
		if list[k].place < 0 {
			if _, err := list[k].to(0); err != nil {
				return candidate{}, false, err
			}
		}
		low = min(low, list[k].place)
	}
	if low == math.MaxInt64 {
		return candidate{}, false, nil
	}
	c := candidate{place: low, has: 1 << i}
	freq := 0.0
	for k := range list {
		if list[k].place == low {
			freq = max(freq, list[k].weight*list[k].freq)
			c.length = list[k].length
			if _, err := list[k].to(low + 1); err != nil {
				return candidate{}, false, err
			}
		}
	}
	c.score = s.score(i, freq, c.length, f.avg)
	return c, true, nil
}

// mostWeighed is how many candidates of a field common words are looked up for.
const mostWeighed = 3000

// trim keeps the best candidates by their rare words.
func (s *search) trim(f *fieldSearch) {
	if len(f.found) <= mostWeighed {
		return
	}
	slices.SortFunc(f.found, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.place, a.place)) })
	f.found = f.found[:mostWeighed]
	slices.SortFunc(f.found, func(a, b candidate) int { return cmp.Compare(a.place, b.place) })
}

// weigh adds what a common word says about the candidates.
func (s *search) weigh(f *fieldSearch, i int) error {
	for k := range f.found {
		c := &f.found[k]
		freq := 0.0
		for j := range f.lists[i] {
			p := &f.lists[i][j]
			if _, err := p.to(c.place); err != nil {
				return err
			}
			if p.place == c.place {
				freq = max(freq, p.weight*p.freq)
				c.length = p.length
			}
		}
		if freq > 0 {
			c.has |= 1 << i
			c.score += s.score(i, freq, c.length, f.avg)
		}
	}
	return nil
}

// best are the best candidates of all fields as rows; with those that are as
// good as the last, so that which are found does not depend on how the index
// lies on the disk.
func (s *search) best() ([]knowledge.WordMatch, error) {
	var list []candidate
	for _, f := range s.fields {
		list = append(list, f.found...)
	}
	list = slices.DeleteFunc(list, func(c candidate) bool { return c.has == 0 })
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.place, a.place)) })
	n := min(len(list), s.limit+min(len(s.fresh), s.limit))
	for n > 0 && n < len(list) && n < s.limit+mostTies && list[n].score == list[n-1].score {
		n++
	}
	var out []knowledge.WordMatch
	for _, c := range list[:n] {
		ext, err := s.r.ExternalID(api.NewIndexInternalID(nil, uint64(c.place)))
		if err != nil {
			return nil, fmt.Errorf("index: search: %w", err)
		}
		row, err := number(ext)
		if err != nil {
			return nil, fmt.Errorf("index: %w: a row is called %q", ErrDamaged, ext)
		}
		if _, newer := s.fresh[row]; !newer {
			out = append(out, knowledge.WordMatch{N: row, Score: c.score, Has: c.has})
		}
	}
	return out, nil
}

// mostTies bounds how many rows that are equally good are looked at.
const mostTies = 2000
