package index

import (
	"context"
	"fmt"
	"math"

	"github.com/blevesearch/bleve/v2/index/scorch"
	api "github.com/blevesearch/bleve_index_api"
)

// windows is the number of sections of the index in which rows with a common word are sampled.
const windows = 32

// collectCommon finds candidates if all words are common: the rows that contain the two rarest
// words, or the three rarest if two still match too many rows, and so on. For a single word, or if
// no row contains two of the words, it samples the index. It intersects bitmaps of postings, which
// is fast.
func (s *termSearch) collectCommon(order []int) error {
	total := 0
	for _, f := range s.fields {
		total += s.fig.fields[f.name].rows
	}
	for _, f := range s.fields {
		var words []int
		for _, i := range order {
			if f.known && len(f.lists[i]) > 0 {
				words = append(words, i)
			}
		}
		if len(words) == 0 {
			continue
		}
		share := max(mostWeighed*s.fig.fields[f.name].rows/max(total, 1), 2*windows)
		places, err := s.intersectWords(f, words, share)
		if err != nil {
			return err
		}
		for _, p := range places {
			f.found = append(f.found, candidate{place: uint32(p)})
		}
		if err := s.openRareTerms(f, words[0]); err != nil { // mainly needed for the lengths of the rows
			return err
		}
		for _, i := range words {
			if err := s.addCommonWord(f, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// intersectWords returns the positions of the rows that contain the rarest words. It adds words
// until at most the given number of rows remains.
func (s *termSearch) intersectWords(f *fieldSearch, words []int, most int) ([]int64, error) {
	var last []int64
	for n := 1; n <= min(len(words), 6); n++ {
		t, done, err := s.openIntersection(f, words[:n])
		if err != nil {
			return nil, err
		}
		places, more, err := s.samplePlaces(t, most)
		if err := done(err); err != nil {
			return nil, err
		}
		if len(places) == 0 && n > 1 {
			return last, nil
		}
		last = places
		if !more {
			break
		}
	}
	return last, nil
}

// samplePlaces reads at most the given number of positions. more reports whether there are others;
// the positions are then a sample of the whole index.
func (s *termSearch) samplePlaces(t api.TermFieldReader, most int) (out []int64, more bool, err error) {
	var tfd api.TermFieldDoc
	for len(out) <= most {
		d, err := t.Next(tfd.Reset())
		if err != nil {
			return nil, false, fmt.Errorf("index: look up terms: %w", err)
		}
		if d == nil {
			return out, false, nil
		}
		tfd = *d
		out = append(out, int64(d.ID.Value()))
	}
	size := s.placeCount()
	out = out[:most/windows]
	for w := int64(1); w < windows; w++ {
		start := max(w*size/windows, out[len(out)-1]+1)
		for k := 0; k < most/windows && start < size; k++ {
			var d *api.TermFieldDoc
			if k == 0 {
				d, err = t.Advance(api.NewIndexInternalID(nil, uint64(start)), tfd.Reset())
			} else {
				d, err = t.Next(tfd.Reset())
			}
			if err != nil {
				return nil, false, fmt.Errorf("index: look up terms: %w", err)
			}
			if d == nil {
				return out, true, nil
			}
			tfd = *d
			out = append(out, int64(d.ID.Value()))
		}
	}
	return out, true, nil
}

// placeCount returns the number of positions in the snapshot, including removed rows.
func (s *termSearch) placeCount() int64 {
	snap, ok := s.r.(*scorch.IndexSnapshot)
	if !ok {
		return math.MaxInt32
	}
	n := int64(0)
	for _, seg := range snap.Segments() {
		n += int64(seg.FullSize())
	}
	return n
}

// openIntersection opens the rows that contain all of the words. The caller must close them with
// done.
func (s *termSearch) openIntersection(f *fieldSearch, words []int) (t api.TermFieldReader, done func(error) error, err error) {
	var opened []api.TermFieldReader
	done = func(err error) error {
		for _, t := range opened {
			if cerr := t.Close(); err == nil {
				err = cerr
			}
		}
		return err
	}
	var each []api.TermFieldReader
	for _, i := range words {
		t, err := s.openUnion(f, i, &opened)
		if err != nil {
			return nil, nil, done(err)
		}
		each = append(each, t)
	}
	t, err = optimizeReaders(each, "conjunction:unadorned")
	if err != nil {
		return nil, nil, done(err)
	}
	return t, done, nil
}

// openUnion opens the rows that contain any of the terms of a word.
func (s *termSearch) openUnion(f *fieldSearch, i int, opened *[]api.TermFieldReader) (api.TermFieldReader, error) {
	var each []api.TermFieldReader
	for _, v := range s.words[i].Variants {
		t, err := s.r.TermFieldReader(context.Background(), []byte(v.Term), f.name, false, false, false)
		if err != nil {
			return nil, fmt.Errorf("index: look up terms: %w", err)
		}
		*opened = append(*opened, t)
		if t.Count() > 0 {
			each = append(each, t)
		}
	}
	if len(each) == 0 {
		each = (*opened)[len(*opened)-1:]
	}
	return optimizeReaders(each, "disjunction:unadorned")
}

// optimizeReaders combines readers through the bitmaps of their postings.
func optimizeReaders(each []api.TermFieldReader, kind string) (api.TermFieldReader, error) {
	if len(each) == 1 {
		return each[0], nil
	}
	var octx api.OptimizableContext
	for _, t := range each {
		o, ok := t.(api.Optimizable)
		if !ok {
			return nil, fmt.Errorf("index: search: cannot combine postings of type %T", t)
		}
		var err error
		if octx, err = o.Optimize(kind, octx); err != nil {
			return nil, fmt.Errorf("index: look up terms: %w", err)
		}
		if octx == nil {
			return nil, fmt.Errorf("index: search: cannot combine postings with %s", kind)
		}
	}
	out, err := octx.Finish()
	if err != nil {
		return nil, fmt.Errorf("index: look up terms: %w", err)
	}
	t, ok := out.(api.TermFieldReader)
	if !ok {
		return nil, fmt.Errorf("index: search: cannot combine postings with %s", kind)
	}
	return t, nil
}
