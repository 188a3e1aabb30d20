package tools

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// Words of users and models that the tools' own texts do not contain, in English and in
// seven other languages. The head of the file explains the format.
//
//go:embed synonyms.txt
var synonymText string

// synonyms is the parsed table of synonyms.txt. It is immutable.
type synonyms struct {
	exact   map[string][]meaning // by word; no terms: a stop word
	stems   map[string][]meaning // by stem of an English word
	begin   map[string][]meaning // by prefix
	phrases map[string][]meaning // phrases joined with spaces
	longest int                  // number of words of the longest phrase
}

// meaning is a term of the tools, as a stem, and its weight.
type meaning struct {
	stem   string
	weight float64
}

// general is the weight of a verb that fits many tools.
const general = 0.5

// table parses the file once, when the first search needs it.
var table = sync.OnceValue(func() *synonyms { return parseSynonyms(synonymText) })

func parseSynonyms(text string) *synonyms {
	s := &synonyms{exact: map[string][]meaning{}, stems: map[string][]meaning{}, begin: map[string][]meaning{}, phrases: map[string][]meaning{}}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		terms, said, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		weight := 1.0
		if terms, ok = strings.CutPrefix(terms, "~"); ok {
			weight = general
		}
		var list []meaning
		for _, t := range words(terms) {
			list = append(list, meaning{stem(t), weight})
		}
		for w := range strings.FieldsSeq(said) {
			s.add(w, list)
		}
	}
	return s
}

func (s *synonyms) add(said string, terms []meaning) {
	said, begins := strings.CutSuffix(said, "*")
	list := words(said)
	switch {
	case len(list) > 1:
		s.longest = max(s.longest, len(list))
		merge(s.phrases, strings.Join(list, " "), terms)
	case len(list) == 0:
	case begins:
		merge(s.begin, list[0], terms)
	default:
		merge(s.exact, list[0], terms)
		if len(terms) > 0 {
			merge(s.stems, stem(list[0]), terms)
		}
	}
}

// merge adds terms to those of the same word in other lines. A word that is a stop word in
// one language may have a meaning in another.
func merge(m map[string][]meaning, word string, terms []meaning) { m[word] = join(m[word], terms) }

func join(have, more []meaning) []meaning {
	have = slices.Clip(have)
	for _, t := range more {
		if !slices.ContainsFunc(have, func(h meaning) bool { return h.stem == t.stem }) {
			have = append(have, t)
		}
	}
	return have
}

// empty reports whether a word is a stop word.
func (s *synonyms) empty(w string) bool {
	terms, ok := s.exact[w]
	return ok && len(terms) == 0
}

// starts returns the terms of all prefixes of a word, those of the longest first, and the
// rest of the word after that prefix.
func (s *synonyms) starts(w string) (terms []meaning, rest string) {
	rest = w
	for i := len(w); i >= 3; i-- {
		if t, ok := s.begin[w[:i]]; ok {
			if terms == nil {
				rest = w[i:]
			}
			terms = join(terms, t)
		}
	}
	return terms, rest
}
