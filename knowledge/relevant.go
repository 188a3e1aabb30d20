package knowledge

import (
	"cmp"
	_ "embed" // the word list
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"hob/knowledge/store"
	"hob/platform/phrase"
)

//go:embed quiet.txt
var quietText string

// quiet are words by which no fact is called up unasked, folded.
var quiet = sync.OnceValue(func() map[string]bool {
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
	// weak is the share of the best score below which a fact is not shown.
	weak = 0.3
	// common is how many facts may have a word before it says little: only the
	// newest of them are looked at, and two such words are needed.
	common     = 100
	commonness = 0.5
	// maxSubjects bounds the work of one text.
	maxSubjects = 12
)

// Relevant returns the facts of a realm that a text is about, best first, for
// showing them unasked. It is stricter than Recall: a word that tells something
// must be the same but for its ending, and nothing is better than something
// that has nothing to do with it. A fact from outside taints the request that
// holds it, so it needs two such words, and at least half of those in the text.
func (b *Base) Relevant(q store.Querier, realm, text string, limit int) ([]Fact, error) {
	terms := Subjects(text)
	terms = terms[:min(len(terms), maxSubjects)]
	if len(terms) == 0 {
		return nil, nil
	}
	list, err := scored(q, realm, terms)
	if err != nil {
		return nil, fmt.Errorf("knowledge: relevant: %w", err)
	}
	var out []Fact
	for _, h := range list {
		if h.score < max(1, weak*list[0].score) || len(out) == clamp(limit) {
			break
		}
		f, err := fact(q, h.ref)
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

// found is a fact that has some of the words.
type found struct {
	n     int64
	ref   string
	words int
	score float64
}

// scored lists the facts that have any of the words, best first, and of those
// that are as good the newest first. A rare word counts for more.
func scored(q store.Querier, realm string, terms []string) ([]found, error) {
	var docs float64
	if err := q.QueryRow(`SELECT coalesce(max(n), 0) FROM docs`).Scan(&docs); err != nil {
		return nil, err
	}
	all := map[int64]*found{}
	for _, t := range terms {
		with, err := having(q, realm, t)
		if err != nil {
			return nil, err
		}
		weight := commonness
		if len(with) < common {
			weight = 1 + math.Log(max(1, docs/float64(max(1, len(with)))))
		}
		for _, f := range with {
			if all[f.n] == nil {
				all[f.n] = &found{n: f.n, ref: f.ref}
			}
			all[f.n].words++
			all[f.n].score += weight
		}
	}
	var out []found
	for _, f := range all {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(x, y found) int { return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.n, x.n)) })
	return out, nil
}

// having lists the newest facts with a word.
func having(q store.Querier, realm, term string) (out []found, err error) {
	rows, err := q.Query(`SELECT d.n, d.ref FROM docs_fts JOIN docs d ON d.n = docs_fts.rowid
		WHERE docs_fts MATCH ? AND d.kind = ? AND d.realm = ? ORDER BY docs_fts.rowid DESC LIMIT ?`, conjunction([]string{term}, false), KindFact, realm, common)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var f found
		if err := rows.Scan(&f.n, &f.ref); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, rows.Err()
}

// Subjects are the words of a text that say what it is about, each once; by
// them a fact may be called up.
func Subjects(text string) []string {
	var out, seen []string
	if len(text) > 4000 {
		text = strings.ToValidUTF8(text[:4000], "")
	}
	for _, w := range phrase.Words(text) {
		f := phrase.Fold(w)
		if len(out) == maxTerms {
			break
		}
		if len([]rune(w)) < 2 || vague()[f] || quiet()[f] || slices.Contains(seen, f) {
			continue
		}
		seen = append(seen, f)
		out = append(out, w)
	}
	return out
}
