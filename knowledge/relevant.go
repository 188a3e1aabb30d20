package knowledge

import (
	_ "embed" // the word list
	"fmt"
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

// weak is the share of the best score below which a fact is not shown.
const weak = 0.3

// Relevant returns the facts of a realm that a text is about, best first, for
// showing them unasked. It is stricter than Recall: a word that tells something
// must be the same but for its ending, and nothing is better than something
// that has nothing to do with it. A fact from outside taints the request that
// holds it, so it needs two such words, and at least half of those in the text.
func (b *Base) Relevant(q store.Querier, realm, text string, limit int) ([]Fact, error) {
	terms := Subjects(text)
	if len(terms) == 0 {
		return nil, nil
	}
	one := `SELECT rowid AS n, -bm25(docs_fts) AS score FROM docs_fts WHERE docs_fts MATCH ?`
	args := make([]any, 0, len(terms)+3)
	for _, t := range terms {
		args = append(args, join([]string{t}, false))
	}
	args = append(args, KindFact, realm)
	found, err := scored(q, `SELECT d.ref, count(*) AS words, sum(m.score) AS score
		FROM (`+one+strings.Repeat(" UNION ALL "+one, len(terms)-1)+`) m JOIN docs d ON d.n = m.n WHERE d.kind = ? AND d.realm = ?
		GROUP BY d.n ORDER BY words DESC, score DESC, d.n DESC`+atMost(4*limit), args...)
	if err != nil {
		return nil, fmt.Errorf("knowledge: relevant: %w", err)
	}
	var out []Fact
	for _, h := range found {
		f, err := fact(q, h.ref)
		if err != nil {
			return nil, err
		}
		if f.Provenance.Tainted() && (h.words < 2 || h.words*2 < len(terms)) {
			continue
		}
		if out = append(out, f); len(out) == clamp(limit) {
			break
		}
	}
	return out, nil
}

// found is a fact that has some of the words.
type found struct {
	ref   string
	words int
	score float64
}

func scored(q store.Querier, stmt string, args ...any) (out []found, err error) {
	rows, err := q.Query(stmt, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	best := 0.0
	for rows.Next() {
		var f found
		if err := rows.Scan(&f.ref, &f.words, &f.score); err != nil {
			return nil, err
		}
		best = max(best, f.score)
		out = append(out, f)
	}
	// A word that most facts have scores next to nothing beside a rare one.
	return slices.DeleteFunc(out, func(f found) bool { return f.score < weak*best }), rows.Err()
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
