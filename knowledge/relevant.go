package knowledge

import (
	"cmp"
	"database/sql"
	_ "embed" // the word list
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"hob/platform/store"
	"hob/platform/text/textnorm"
)

//go:embed quiet.txt
var quietText string

// loadQuietWords returns the folded words that never cause a fact to be shown.
var loadQuietWords = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for line := range strings.Lines(quietText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, w := range strings.Fields(line) {
			m[w] = true
		}
	}
	return m
})

const (
	// weak determines which facts are dropped: those with less than this share of the best score.
	weak = 0.3
	// common is the number of facts that must contain a word for it to count as common. Only the
	// newest of these facts are read, and a fact needs two common words to match.
	common     = 100
	commonness = 0.5
	// maxSubjects limits the number of words that are used from one text.
	maxSubjects = 12
)

// Relevant returns the facts of a realm that match a text, best first, so that they can be shown
// without a request. It is stricter than Recall: a content word must match except for its ending,
// because it is better to show no fact than an unrelated one. An untrusted fact taints the request
// that includes it, so it needs two matching words and at least half of the words in the text.
func (b *Base) Relevant(q store.Querier, realm, text string, limit int) ([]Fact, error) {
	terms := TopicWords(text)
	terms = terms[:min(len(terms), maxSubjects)]
	if len(terms) == 0 {
		return nil, nil
	}
	list, err := b.scoreFacts(q, realm, terms)
	if err != nil {
		return nil, fmt.Errorf("knowledge: find relevant facts: %w", err)
	}
	var out []Fact
	for _, h := range list {
		if h.score < max(1, weak*list[0].score) || len(out) == clampLimit(limit) {
			break
		}
		f, err := factAt(q, h.n)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if f.Provenance.Tainted() && (h.words < 2 || h.words*2 < len(terms)) {
			continue
		}
		out = append(out, f)
	}
	return out, nil
}

// scoredFact is a fact that contains some of the words.
type scoredFact struct {
	n     int64
	words int
	score float64
}

// scoreFacts returns the facts that contain any of the words, best first. Facts with equal scores
// are sorted newest first. Rare words have a higher weight.
func (b *Base) scoreFacts(q store.Querier, realm string, terms []string) ([]scoredFact, error) {
	a, err := b.wordIndex().SearchTerms(q, TermQuery{Text: strings.Join(terms, " "), Kinds: []string{KindFact}, Realms: []string{realm}, Limit: matched})
	if err != nil {
		return nil, err
	}
	out := make([]scoredFact, 0, len(a.Matches))
	for _, m := range a.Matches {
		f := scoredFact{n: m.N, words: bits.OnesCount64(m.Has)}
		for i, w := range a.Words {
			switch {
			case m.Has>>i&1 == 0:
			case w.Rows < common:
				f.score += 1 + math.Log(max(1, float64(a.Rows)/float64(max(1, w.Rows))))
			default:
				f.score += commonness
			}
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(x, y scoredFact) int { return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.n, x.n)) })
	return out, nil
}

// factAt returns the fact of a row, or sql.ErrNoRows.
func factAt(q store.Querier, n int64) (Fact, error) {
	var id string
	if err := q.QueryRow(`SELECT ref FROM docs WHERE n = ? AND kind = ?`, n, KindFact).Scan(&id); err != nil {
		return Fact{}, err
	}
	return factByID(q, id)
}

// TopicWords returns the content words of text without duplicates. Relevant uses them to find
// facts.
func TopicWords(text string) []string {
	var out, seen []string
	if len(text) > 4000 {
		text = strings.ToValidUTF8(text[:4000], "")
	}
	for _, w := range textnorm.Words(text) {
		f := textnorm.Fold(w)
		if len(out) == maxTerms {
			break
		}
		if len([]rune(w)) < 2 || loadVagueWords()[f] || loadQuietWords()[f] || slices.Contains(seen, f) {
			continue
		}
		seen = append(seen, f)
		out = append(out, w)
	}
	return out
}
