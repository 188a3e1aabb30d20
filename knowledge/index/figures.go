package index

import (
	"cmp"
	"context"
	"fmt"

	api "github.com/blevesearch/bleve_index_api"

	"hob/platform/text/sorting"
)

// reader is the part of an index snapshot that a search needs.
type reader = api.IndexReader

// snapshotStats holds statistics of a snapshot.
type snapshotStats struct {
	seq       int64
	fields    map[string]fieldFigures
	languages []language
}

type fieldFigures struct {
	rows   int
	length float64 // total length in words
}

type language struct {
	name string
	rows int
}

// loadSnapshotStats returns the statistics of a snapshot. They are computed once per snapshot. The
// caller has locked mu for reading.
func (x *Index) loadSnapshotStats(r reader, seq int64) (*snapshotStats, error) {
	x.figMu.Lock()
	defer x.figMu.Unlock()
	if x.fig != nil && x.fig.seq == seq && x.figOf == x.cur {
		return x.fig, nil
	}
	f := &snapshotStats{seq: seq, fields: map[string]fieldFigures{}}
	names, err := r.Fields()
	if err != nil {
		return nil, fmt.Errorf("index: read fields: %w", err)
	}
	for _, name := range names {
		if name == idField || name == languages {
			continue
		}
		if f.fields[name], err = readFigures(r, name); err != nil {
			return nil, err
		}
	}
	if f.languages, err = readLanguages(r); err != nil {
		return nil, err
	}
	x.fig, x.figOf = f, x.cur
	return f, nil
}

func readFigures(r reader, field string) (fieldFigures, error) {
	return figuresOf(func(term string) (int, error) { return countOf(r, field, term) })
}

// figuresOf computes the statistics of a field from the number of rows per term.
func figuresOf(count func(term string) (int, error)) (fieldFigures, error) {
	n, err := count(all)
	f := fieldFigures{rows: n}
	for i := 0; err == nil && n > 0 && i < lengthBits; i++ {
		var k int
		k, err = count(lengthBitTerm(i))
		f.length += float64(k) * float64(int(1)<<i)
	}
	return f, err
}

// countOf returns the number of rows with a term.
func countOf(r reader, field, term string) (int, error) {
	t, err := r.TermFieldReader(context.Background(), []byte(term), field, false, false, false)
	if err != nil {
		return 0, fmt.Errorf("index: read index files: %w", err)
	}
	n := t.Count()
	return int(n), t.Close()
}

func readLanguages(r reader) ([]language, error) {
	d, err := r.FieldDict(languages)
	if err != nil {
		return nil, fmt.Errorf("index: read languages: %w", err)
	}
	defer func() { _ = d.Close() }()
	var out []language
	for {
		e, err := d.Next()
		if err != nil {
			return nil, fmt.Errorf("index: read languages: %w", err)
		}
		if e == nil {
			break
		}
		n, err := countOf(r, languages, e.Term) // the number excludes removed rows
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, language{e.Term, n})
		}
	}
	sorting.ByFunc(out, func(a, b language) int { return cmp.Or(cmp.Compare(b.rows, a.rows), cmp.Compare(a.name, b.name)) })
	return out, nil
}

// most is the maximum number of languages in which a word is stemmed.
const most = 6

// rowLanguages returns the languages of the rows, most frequent first. They are used because a
// query is too short to detect its language.
func (s *termSearch) rowLanguages() []string {
	rows := map[string]int{}
	for _, l := range s.fig.languages {
		rows[l.name] += l.rows
	}
	for _, f := range s.fresh {
		if f.field != "" {
			rows[f.terms.Lang]++
		}
	}
	var out []string
	for l := range rows {
		if l != "" && l != "cjk" {
			out = append(out, l)
		}
	}
	sorting.ByFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(rows[b], rows[a]), cmp.Compare(a, b)) })
	return out[:min(len(out), most)]
}
