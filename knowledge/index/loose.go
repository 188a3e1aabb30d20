package index

import (
	"errors"
	"fmt"
	"unicode/utf8"

	api "github.com/blevesearch/bleve_index_api"

	"hob/platform/text/analyzer"
)

// Limits of a loose search, for each word in each field.
const (
	mostExpanded = 32   // terms to add
	mostSeen     = 2000 // terms to read
)

// expandWord returns the terms of a field that start with a word or its stem. If slips is set, it
// also returns terms that differ by a typing error.
func (s *termSearch) expandWord(field string, i int, slips bool) ([]analyzer.TermVariant, error) {
	w := &s.words[i]
	have := map[string]bool{}
	for _, v := range w.Variants {
		have[v.Term] = true
	}
	var out []analyzer.TermVariant
	read := func(d api.FieldDict, err error) error {
		if err != nil {
			return fmt.Errorf("index: look up terms: %w", err)
		}
		defer func() { err = errors.Join(err, d.Close()) }()
		for n := 0; n < mostSeen && len(out) < mostExpanded; n++ {
			e, err := d.Next()
			if err != nil || e == nil {
				return err
			}
			if weight := w.Like(e.Term); weight > 0 && !have[e.Term] {
				have[e.Term] = true
				out = append(out, analyzer.TermVariant{Term: e.Term, Weight: weight})
			}
		}
		return err
	}
	begin := w.Text
	if root := analyzer.Root(begin); root != "" {
		begin = root
	}
	if len(begin) >= 3 {
		if err := read(s.r.FieldDictPrefix(field, []byte(begin))); err != nil {
			return nil, err
		}
	}
	fuzzy, ok := s.r.(api.IndexReaderFuzzy)
	if k := analyzer.Slips(w.Text); ok && slips && k > 0 {
		_, size := utf8.DecodeRuneInString(w.Text)
		if err := read(fuzzy.FieldDictFuzzy(field, w.Text, k, w.Text[:size])); err != nil {
			return nil, err
		}
	}
	return out, nil
}
