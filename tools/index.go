package tools

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"hob/platform/text/sorting"
)

// Weights of the search. They are tuned on testdata/search/development.txt.
const (
	saturation = 1.2  // k1 of BM25: limits the effect of repetitions of a word
	others     = 0.3  // weight of the other terms of a word, relative to the word's best term
	meant      = 0.8  // weight of a synonym if the word itself occurs in the tools' text
	slipped    = 0.75 // weight of a word with a typing error
	twice      = 0.5  // weight of a word with two typing errors
	covered    = 0.3  // bonus if the request contains the complete name
)

// maxWords limits the words of a request that are used for the search.
const maxWords = 100

// field is one part of a spec, with the weight of its words and its length normalization (b of
// BM25).
type field struct{ weight, dilution float64 }

// fields contains the weights for the name, keywords, description, category and arguments of a
// spec.
var fields = [...]field{{3, 0.3}, {2, 0.5}, {1.5, 0.5}, {1, 0}, {0.4, 0.7}} //nolint:gochecknoglobals // a constant

// index ranks tools with BM25F: Okapi BM25 with weighted fields (Robertson & Zaragoza, "The
// Probabilistic Relevance Framework", 2009). It is immutable.
type index struct {
	terms   map[string]*term
	names   [][]*term // terms of each tool's name
	exact   map[string]int
	lexicon lexicon
	table   *synonyms
	phrases *phraseModel
}

// term is one stem with the tools that use it.
type term struct {
	idf  float64
	uses []termUse
}

type termUse struct {
	doc   int
	score float64 // scores of the tools for a request that contains this term
}

func newIndex(specs []*Spec, table *synonyms, phrases *phraseTable) *index {
	x := &index{terms: map[string]*term{}, exact: map[string]int{}, table: table, names: make([][]*term, len(specs)), phrases: newPhraseModel(specs, phrases)}
	texts := make([][len(fields)][]string, len(specs))
	var mean [len(fields)]float64
	seen, stems := map[string]bool{}, map[string]string{}
	for i, s := range specs {
		x.exact[normalizeName(s.Name)] = i
		for f, text := range [...]string{s.Name, s.Keywords, s.Description, s.Category, argumentWords(s.Schema.Raw())} {
			for _, w := range splitWords(text) {
				if table.isStopWord(w) && f > 0 {
					continue
				}
				if f < len(fields)-1 && !seen[w] {
					seen[w] = true
					x.lexicon.addWord(w)
				}
				s, ok := stems[w]
				if !ok {
					s = stemEnglish(w)
					stems[w] = s
				}
				texts[i][f] = append(texts[i][f], s)
			}
			mean[f] += float64(len(texts[i][f])) / float64(len(specs))
		}
	}
	for w := range table.exact {
		if !seen[w] && !table.isStopWord(w) {
			x.lexicon.addWord(w)
		}
	}
	slices.Sort(x.lexicon.words) // the iteration order of a map is random
	x.lexicon.masks = x.lexicon.masks[:0]
	for _, w := range x.lexicon.words {
		x.lexicon.masks = append(x.lexicon.masks, letterMask(w))
	}
	for i := range texts {
		x.addTool(i, &texts[i], &mean)
	}
	for _, t := range x.terms {
		n := float64(len(t.uses))
		t.idf = math.Log(1 + (float64(len(specs))-n+0.5)/(n+0.5))
		for i, u := range t.uses {
			t.uses[i].score = t.idf * u.score * (saturation + 1) / (u.score + saturation)
		}
	}
	return x
}

// addTool indexes the words of one tool.
func (x *index) addTool(doc int, texts *[len(fields)][]string, mean *[len(fields)]float64) {
	count := map[string]float64{}
	for f, list := range texts {
		norm := 1 - fields[f].dilution + fields[f].dilution*float64(len(list))/max(mean[f], 1)
		for _, s := range list {
			count[s] += fields[f].weight / norm
		}
	}
	for s, n := range count {
		t := x.terms[s]
		if t == nil {
			t = &term{}
			x.terms[s] = t
		}
		t.uses = append(t.uses, termUse{doc, n})
	}
	for _, s := range texts[0] {
		x.names[doc] = append(x.names[doc], x.terms[s])
	}
}

// argumentWords returns the names and descriptions of a schema's arguments.
func argumentWords(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct {
			Description string
		}
	}
	if json.Unmarshal(schema, &s) != nil {
		return "" // the schema of a foreign tool may have any form
	}
	var b strings.Builder
	for name, p := range s.Properties {
		b.WriteString(name + " " + p.Description + " ")
	}
	return b.String()
}

// weightedTerm is a possible meaning of a word of the request: a term with its weight.
type weightedTerm struct {
	*term
	weight float64
}

// searchTools returns at most n tools, best first.
func (x *index) searchTools(query string, n int) []int {
	score := make([]float64, len(x.names))
	best, sum := make([]float64, len(x.names)), make([]float64, len(x.names))
	asked := map[*term]float64{}
	said := splitWords(query)
	said = said[:min(maxWords, len(said))]
	for _, list := range x.queryMeanings(said) {
		for _, w := range list {
			asked[w.term] = max(asked[w.term], w.weight)
			for _, u := range w.uses {
				s := w.weight * u.score
				best[u.doc], sum[u.doc] = max(best[u.doc], s), sum[u.doc]+s
			}
		}
		for _, w := range list {
			for _, u := range w.uses {
				score[u.doc] += best[u.doc] + others*(sum[u.doc]-best[u.doc])
				best[u.doc], sum[u.doc] = 0, 0
			}
		}
	}
	for i := range score {
		score[i] *= 1 + covered*nameCoverage(x.names[i], asked)
	}
	hits := x.addPhraseScores(score, said)
	for _, i := range x.matchExactName(query) {
		if !slices.Contains(hits, i) {
			hits = append(hits, i)
		}
		score[i] += 1e6
	}
	sorting.ByFunc(hits, func(a, b int) int { return cmp.Or(cmp.Compare(score[b], score[a]), a-b) })
	return hits[:min(max(n, 0), len(hits))]
}

// addPhraseScores adds the score of the phrase model to the score of each tool. It returns the tools
// that the request may mean: those that share a word with it, and those that the model considers
// likely.
func (x *index) addPhraseScores(score []float64, said []string) (hits []int) {
	rated := x.phrases.rateTools(said, x.table.isStopWord)
	for i := range score {
		likely := score[i] > 0
		if rated != nil {
			likely = likely || rated[i] > likelyScore
			if !x.phrases.known[i] {
				score[i] *= unknownBonus
			}
			score[i] += rated[i]
		}
		if likely {
			hits = append(hits, i)
		}
	}
	return hits
}

// nameCoverage returns the fraction (0 to 1) of a name's terms that the request contains.
func nameCoverage(name []*term, asked map[*term]float64) float64 {
	var have, all float64
	for _, t := range name {
		have += asked[t] * t.idf
		all += t.idf
	}
	if all == 0 {
		return 0
	}
	return have / all * have / all
}

// matchExactName returns the tools whose exact name equals the request or occurs in it. A name that
// consists of one word matches only if it is the complete request, because a word such as
// "remember" occurs in many requests.
func (x *index) matchExactName(query string) []int {
	if i, ok := x.exact[normalizeName(query)]; ok {
		return []int{i}
	}
	var out []int
	for w := range strings.FieldsFuncSeq(query, func(r rune) bool { return r != '_' && (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z') }) {
		if i, ok := x.exact[normalizeName(w)]; ok && strings.Contains(w, "_") && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}
