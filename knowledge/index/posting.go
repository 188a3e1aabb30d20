package index

import (
	"context"
	"errors"
	"fmt"
	"math"

	api "github.com/blevesearch/bleve_index_api"
)

// posting is one term of a word in one field.
type posting struct {
	term   string
	weight float64 // weight of a match with this term
	count  int
	exact  bool // read frequencies and row lengths, instead of only positions
	rows   api.TermFieldReader
	place  int64 // current position; -1 before the first
	freq   float64
	length float64
	tfd    api.TermFieldDoc
	goal   api.IndexInternalID
}

// openTerms opens the terms of each word in each field.
func (s *termSearch) openTerms() error {
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

// openWord opens the terms of a word in a field and returns the number of rows with the word.
func (s *termSearch) openWord(f *fieldSearch, i int) (int, error) {
	rows := 0
	add := func(term string, weight float64) error {
		p, err := s.openPosting(f.name, term, weight)
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
		list, err := s.expandWord(f.name, i, rows == 0)
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

// openPosting opens a term. It returns nil if no row contains the term.
func (s *termSearch) openPosting(field, term string, weight float64) (*posting, error) {
	t, err := s.r.TermFieldReader(context.Background(), []byte(term), field, false, false, false)
	if err != nil {
		return nil, fmt.Errorf("index: look up terms: %w", err)
	}
	n := int(t.Count())
	if n > 0 {
		were, err := s.staleTermCount(field, term)
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		n -= were
	}
	if n == 0 {
		return nil, t.Close()
	}
	return &posting{term: term, weight: weight, count: n, rows: t, place: -1, freq: 1}, nil
}

// openRareTerms opens the terms of a word with their frequencies. It is only for rare words,
// because reading one frequency requires decoding all earlier rows in a block of 1,024.
func (s *termSearch) openRareTerms(f *fieldSearch, i int) error {
	for k := range f.lists[i] {
		p := &f.lists[i][k]
		t, err := s.r.TermFieldReader(context.Background(), []byte(p.term), f.name, true, true, false)
		if err != nil {
			return fmt.Errorf("index: look up terms: %w", err)
		}
		err = p.rows.Close()
		p.rows, p.exact, p.place = t, true, -1
		if err != nil {
			return fmt.Errorf("index: look up terms: %w", err)
		}
	}
	return nil
}

func (s *termSearch) closePostings() error {
	var errs []error
	for _, f := range s.fields {
		for _, list := range f.lists {
			for i := range list {
				errs = append(errs, list[i].rows.Close())
			}
		}
	}
	return errors.Join(errs...)
}

// end is the position after the last row.
const end = math.MaxInt64

// advanceTo advances a posting to the first row at or after a position.
func (p *posting) advanceTo(place int64) error {
	if p.place >= place {
		return nil
	}
	var d *api.TermFieldDoc
	var err error
	if place == p.place+1 {
		d, err = p.rows.Next(&p.tfd)
	} else {
		p.goal = api.NewIndexInternalID(p.goal, uint64(place)) // use a separate buffer, because the reader still uses the position in tfd
		d, err = p.rows.Advance(p.goal, &p.tfd)
	}
	if err != nil {
		return fmt.Errorf("index: look up terms: %w", err)
	}
	if d == nil {
		p.place = end
		return nil
	}
	p.place = int64(d.ID.Value())
	if p.exact {
		p.freq = float64(d.Freq)
		p.length = math.Round(1 / (d.Norm * d.Norm)) // stored as a 32-bit number
	}
	return nil
}
