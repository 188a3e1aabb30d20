package tools

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"iter"
	"math"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"hob/platform/text/sorting"
)

// Weights of the phrase model. They were chosen by cross-validation over the phrases
// in testdata/phrases.txt, not with the requests that measure the search.
const (
	phraseWeight = 1.0 // weight of the model, relative to BM25
	unknownBonus = 1.5 // weight of BM25 for a tool without examples, relative to other tools
	loneWord     = 0.3 // weight of the model for a request of one word, which is often a keyword
	smoothing    = 20  // pseudo-counts of each label
	contrary     = 0.3 // weight of evidence against a label
	gramWeight   = 0.4 // weight of an n-gram, relative to a word
	gramLength   = 4   // characters of an n-gram
	likelyScore  = 1.5 // minimum score of a tool that shares no word with the request
)

// phraseData counts how often each stem occurs in examples of what users say for each tool.
// `go test ./tools -run TestPhrases -update` generates it from testdata/phrases.txt.
//
//go:embed phrases.txt.gz
var phraseData []byte

// phraseTable is the parsed phraseData. It is immutable.
type phraseTable struct {
	tools []string
	stems []phraseStem // sorted
	grams []stemGram   // sorted by n-gram
}

type phraseStem struct {
	stem string
	uses []toolCount
}

type toolCount struct{ tool, count int }

type stemGram struct {
	gram string
	stem int // index in stems
}

// defaultPhrases parses the counts once, when the first search needs them.
var defaultPhrases = sync.OnceValue(func() *phraseTable { return parsePhrases(decompressPhrases()) })

// decompressPhrases returns the text of phraseData, which a test checks.
func decompressPhrases() string {
	r, err := gzip.NewReader(bytes.NewReader(phraseData))
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return ""
	}
	return string(text)
}

// parsePhrases parses the counts. Its comments and the line "= TOOL TOOL ..." precede the stems.
func parsePhrases(text string) *phraseTable {
	p := &phraseTable{}
	for line := range strings.Lines(text) {
		head, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case head == "#" || !ok:
			continue
		case head == "=":
			p.tools = strings.Fields(rest)
			continue
		}
		s := phraseStem{stem: head}
		s.uses = parseCounts(rest, len(p.tools))
		for g := range wordGrams(head) {
			p.grams = append(p.grams, stemGram{g, len(p.stems)})
		}
		p.stems = append(p.stems, s)
	}
	sorting.ByFunc(p.grams, func(a, b stemGram) int { return strings.Compare(a.gram, b.gram) })
	return p
}

// parseCounts parses the counts of a stem: the number of each tool as two digits in base 36,
// followed by a capital letter (B for 2) if the count exceeds 1.
func parseCounts(text string, tools int) (out []toolCount) {
	for i := 0; i+2 <= len(text); i += 2 {
		n, err := strconv.ParseInt(text[i:i+2], 36, 0)
		if err != nil || int(n) >= tools {
			return out
		}
		u := toolCount{int(n), 1}
		if i+2 < len(text) && text[i+2] >= 'A' && text[i+2] <= 'Z' {
			u.count = int(text[i+2]-'A') + 1
			i++
		}
		out = append(out, u)
	}
	return out
}

// wordGrams yields the n-grams of a stem, which also occur in words with other endings. A caret
// marks the start of the word.
func wordGrams(stem string) iter.Seq[string] {
	return func(yield func(string) bool) {
		r := []rune("^" + stem)
		for i := range len(r) - gramLength + 1 {
			if !yield(string(r[i : i+gramLength])) {
				return
			}
		}
	}
}

// phraseModel rates how well a request fits the labels of each tool: its name, the words of its name,
// its category and its effects. It is a naive Bayes classifier over stems and n-grams. Tools share
// labels, so that it learns what "delete" means from all tools that delete something, and it also
// rates tools without examples. It is immutable.
type phraseModel struct {
	table  *phraseTable
	labels [][]int   // labels of each tool of the index
	toolOf []int     // index of each tool of the table, or -1
	known  []bool    // whether the table contains examples of each tool of the index
	total  []float64 // count of all features of each label
	absent []float64 // evidence of a feature that does not occur with a label
	all    float64
}

func newPhraseModel(specs []*Spec, table *phraseTable) *phraseModel {
	m := &phraseModel{table: table, labels: make([][]int, len(specs)), known: make([]bool, len(specs))}
	ids, byName := map[string]int{}, map[string]int{}
	for i, s := range specs {
		byName[s.Name] = i
		m.labels[i] = specLabels(s, ids)
	}
	for _, name := range table.tools {
		i, ok := byName[name]
		if ok {
			m.known[i] = true
		} else {
			i = -1
		}
		m.toolOf = append(m.toolOf, i)
	}
	m.total = make([]float64, len(ids))
	for _, s := range table.stems {
		features := float64(1 + max(0, utf8.RuneCountInString(s.stem)+2-gramLength))
		for _, u := range s.uses {
			m.addCount(m.total, u, features)
			m.all += float64(u.count) * features
		}
	}
	mean := m.all / float64(max(1, len(m.total)))
	for i, n := range m.total {
		if n == 0 {
			m.total[i] = mean // no tool with this label has examples
		}
		m.absent = append(m.absent, contrary*math.Log(smoothing/(m.total[i]+smoothing)))
	}
	return m
}

// specLabels returns the numbers of a tool's labels. It adds new labels to ids.
func specLabels(s *Spec, ids map[string]int) (out []int) {
	list := []string{"tool " + s.Name, "category " + s.Category, "effects " + s.Effects.String()}
	for _, w := range splitWords(s.Name) {
		list = append(list, stemEnglish(w))
	}
	for _, l := range list {
		id, ok := ids[l]
		if !ok {
			id = len(ids)
			ids[l] = id
		}
		out = append(out, id)
	}
	return out
}

// addCount adds n occurrences of a feature in the examples of a tool to the tool's labels.
func (m *phraseModel) addCount(counts []float64, u toolCount, n float64) {
	if i := m.toolOf[u.tool]; i >= 0 {
		for _, l := range m.labels[i] {
			counts[l] += float64(u.count) * n
		}
	}
}

// rateTools returns a score for each tool, or nil if the examples contain no word of the request
// except stop words.
func (m *phraseModel) rateTools(words []string, isStopWord func(string) bool) []float64 {
	features := map[string]float64{} // n-grams contain a caret or have gramLength characters; stems have the prefix "="
	known := false
	for _, w := range words {
		s := stemEnglish(w)
		features["="+s] = 1
		known = known || !isStopWord(w) && len(m.table.stemUses(s)) > 0
		for g := range wordGrams(s) {
			features[g] = gramWeight
		}
	}
	if !known {
		return nil
	}
	norm := 0.0
	for _, w := range features {
		norm += w * w
	}
	norm = math.Sqrt(norm)
	label, counts := make([]float64, len(m.total)), make([]float64, len(m.total))
	for f, w := range features {
		m.addEvidence(label, counts, f, w/norm)
	}
	weight := phraseWeight
	if len(words) == 1 {
		weight *= loneWord
	}
	score := make([]float64, len(m.labels))
	for i, list := range m.labels {
		for _, l := range list {
			score[i] += label[l] * weight
		}
		if !m.known[i] {
			score[i] = max(score[i], 0) // other words than those of its labels may mean this tool
		}
	}
	return score
}

// addEvidence adds the logarithmic odds of one feature to each label. counts is scratch space.
func (m *phraseModel) addEvidence(label, counts []float64, feature string, weight float64) {
	clear(counts)
	n := 0
	add := func(uses []toolCount) {
		for _, u := range uses {
			m.addCount(counts, u, 1)
			n += u.count
		}
	}
	if s, ok := strings.CutPrefix(feature, "="); ok {
		add(m.table.stemUses(s))
	} else {
		for i := range m.table.gramStems(feature) {
			add(m.table.stems[i].uses)
		}
	}
	if n == 0 {
		return
	}
	usual := float64(n) / m.all
	for l, c := range counts {
		odds := m.absent[l]
		if c > 0 {
			if odds = math.Log((c/usual + smoothing) / (m.total[l] + smoothing)); odds < 0 {
				odds *= contrary
			}
		}
		label[l] += weight * odds
	}
}

func (p *phraseTable) stemUses(stem string) []toolCount {
	i, ok := sort.Find(len(p.stems), func(i int) int { return strings.Compare(stem, p.stems[i].stem) })
	if !ok {
		return nil
	}
	return p.stems[i].uses
}

// gramStems yields the indexes of the stems that contain an n-gram.
func (p *phraseTable) gramStems(gram string) iter.Seq[int] {
	return func(yield func(int) bool) {
		i := sort.Search(len(p.grams), func(i int) bool { return p.grams[i].gram >= gram })
		for ; i < len(p.grams) && p.grams[i].gram == gram; i++ {
			if !yield(p.grams[i].stem) {
				return
			}
		}
	}
}
