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
	exact   map[string][]termMeaning // keyed by word; a word without terms is a stop word
	stems   map[string][]termMeaning // keyed by the stem of an English word
	begin   map[string][]termMeaning // keyed by prefix
	phrases map[string][]termMeaning // phrases joined with spaces
	longest int                      // number of words of the longest phrase
}

// termMeaning is a stemmed term of the tools' descriptions, with its weight.
type termMeaning struct {
	stem   string
	weight float64
}

// general is the weight of a verb that matches many tools.
const general = 0.5

// defaultSynonyms parses synonyms.txt once, when the first search needs it.
var defaultSynonyms = sync.OnceValue(func() *synonyms { return parseSynonyms(synonymText) })

func parseSynonyms(text string) *synonyms {
	s := &synonyms{exact: map[string][]termMeaning{}, stems: map[string][]termMeaning{}, begin: map[string][]termMeaning{}, phrases: map[string][]termMeaning{}}
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
		var list []termMeaning
		for _, t := range splitWords(terms) {
			list = append(list, termMeaning{stemEnglish(t), weight})
		}
		for w := range strings.FieldsSeq(said) {
			s.addSynonyms(w, list)
		}
	}
	return s
}

func (s *synonyms) addSynonyms(said string, terms []termMeaning) {
	said, begins := strings.CutSuffix(said, "*")
	list := splitWords(said)
	switch {
	case len(list) > 1:
		s.longest = max(s.longest, len(list))
		mergeMeanings(s.phrases, strings.Join(list, " "), terms)
	case len(list) == 0:
	case begins:
		mergeMeanings(s.begin, list[0], terms)
	default:
		mergeMeanings(s.exact, list[0], terms)
		if len(terms) > 0 {
			mergeMeanings(s.stems, stemEnglish(list[0]), terms)
		}
	}
}

// mergeMeanings adds terms to the terms that other lines define for the same word. A stop word of
// one language may have a meaning in another language.
func mergeMeanings(m map[string][]termMeaning, word string, terms []termMeaning) {
	m[word] = joinMeanings(m[word], terms)
}

func joinMeanings(have, more []termMeaning) []termMeaning {
	have = slices.Clip(have)
	for _, t := range more {
		if !slices.ContainsFunc(have, func(h termMeaning) bool { return h.stem == t.stem }) {
			have = append(have, t)
		}
	}
	return have
}

// isStopWord reports whether a word is a stop word.
func (s *synonyms) isStopWord(w string) bool {
	terms, ok := s.exact[w]
	return ok && len(terms) == 0
}

// matchPrefixes returns the terms of all prefixes of a word, starting with the longest prefix. rest
// is the part of the word after the longest prefix.
func (s *synonyms) matchPrefixes(w string) (terms []termMeaning, rest string) {
	rest = w
	for i := len(w); i >= 3; i-- {
		if t, ok := s.begin[w[:i]]; ok {
			if terms == nil {
				rest = w[i:]
			}
			terms = joinMeanings(terms, t)
		}
	}
	return terms, rest
}
