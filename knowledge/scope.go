package knowledge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hob/platform/store"
	"hob/platform/text/sorting"
)

// setBounds builds the SQL condition of the request: kinds, realm, times and speaker.
func (g *candidateSet) setBounds() {
	g.where = searchCondition(SearchOptions{Kinds: g.r.Kinds, Realm: g.r.Realm, EveryRealm: g.r.EveryRealm})
	for _, k := range g.r.Without {
		g.where.sql += " AND d.kind <> ?"
		g.where.args = append(g.where.args, k)
	}
	if !g.r.Since.IsZero() {
		g.where.sql += " AND d.at >= ?"
		g.where.args = append(g.where.args, store.Millis(g.r.Since))
	}
	if !g.r.Until.IsZero() {
		g.where.sql += " AND d.at < ?"
		g.where.args = append(g.where.args, store.Millis(g.r.Until))
	}
	if g.r.Speaker != "" {
		g.where.sql += " AND d.speaker COLLATE NOCASE = ? COLLATE NOCASE"
		g.where.args = append(g.where.args, g.r.Speaker)
	}
}

// hasBounds reports whether the request has conditions that an index cannot check.
func (g *candidateSet) hasBounds() bool {
	return !g.r.Since.IsZero() || !g.r.Until.IsZero() || g.r.Speaker != ""
}

// privateKinds lists the kinds that belong to one realm only.
var privateKinds = []string{KindFact, KindRetired, KindTurn, KindChunk}

// searchDomain is one part of the search space: rows of these kinds in these realms.
type searchDomain struct{ kinds, realms []string }

// resolveScope returns the search space of a request: rows of private kinds in its realm, and rows
// of other kinds in its realm and in shared data. It finds the kinds and realms by index lookups
// and does not read all rows.
func (b *Base) resolveScope(q store.Querier, r Request) (out []searchDomain, err error) {
	kinds := r.Kinds
	if len(kinds) == 0 {
		kinds, err = distinctValues(q, "kind", "")
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == KindRetired })
	}
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return slices.Contains(r.Without, k) })
	if err != nil || len(kinds) == 0 {
		return nil, err
	}
	switch {
	case r.EveryRealm:
		realms, err := distinctValues(q, "realm", "realm <> '' AND ")
		return []searchDomain{{kinds, append(realms, "")}}, err
	case r.Realm == "":
		return []searchDomain{{kinds, []string{""}}}, nil
	}
	var facts, others []string
	for _, k := range kinds {
		if slices.Contains(privateKinds, k) {
			facts = append(facts, k)
		} else {
			others = append(others, k)
		}
	}
	if len(facts) > 0 {
		out = append(out, searchDomain{facts, []string{r.Realm}})
	}
	if len(others) > 0 {
		out = append(out, searchDomain{others, []string{r.Realm, ""}})
	}
	return out, nil
}

// wordLookup is a lookup of words with its answer.
type wordLookup struct {
	words  []string
	scope  []searchDomain
	limit  int
	answer WordAnswer
}

// answerFor returns the best matches of the lookup if it equals a lookup of these terms. The index
// ignores the case of ASCII letters. In a scope of several parts, each part has its own limit.
func (l *wordLookup) answerFor(terms []string, limit int) (WordAnswer, bool) {
	same := func(word, term string) bool { return strings.ToLower(word) == term && isASCII(word) }
	if l == nil || limit > l.limit || len(l.scope) > 1 || !slices.EqualFunc(l.words, terms, same) {
		return WordAnswer{}, false
	}
	a := l.answer
	a.Matches = a.Matches[:min(len(a.Matches), limit)]
	return a, true
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// lookupWords searches each part of the scope and merges the answers.
func (b *Base) lookupWords(q store.Querier, in []searchDomain, w TermQuery) (WordAnswer, error) {
	var all WordAnswer
	for i, d := range in {
		w.Kinds, w.Realms = d.kinds, d.realms
		a, err := b.wordIndex().SearchTerms(q, w)
		if err != nil {
			return all, fmt.Errorf("knowledge: search rows: %w", err)
		}
		if i == 0 {
			all = a
			continue
		}
		all.Rows += a.Rows
		all.Matches = append(all.Matches, a.Matches...)
		for j := range min(len(all.Words), len(a.Words)) {
			all.Words[j].Rows += a.Words[j].Rows
		}
	}
	if len(in) > 1 {
		sorting.StableByFunc(all.Matches, func(x, y TermMatch) int { return cmp.Compare(y.Score, x.Score) })
		for j := range all.Words {
			all.Words[j].Weight = inverseDocFrequency(all.Rows, all.Words[j].Rows)
		}
	}
	return all, nil
}

// distinctValues returns the distinct values of an indexed column.
func distinctValues(q store.Querier, column, cond string) (out []string, err error) {
	next := `SELECT min(` + column + `) FROM docs WHERE ` + cond + column + ` > `
	rows, err := q.Query(`WITH RECURSIVE v(x) AS (` + next + `'' UNION ALL SELECT (` + next + `v.x) FROM v WHERE v.x IS NOT NULL)
		SELECT x FROM v WHERE x IS NOT NULL LIMIT 1000`)
	if err != nil {
		return nil, fmt.Errorf("knowledge: list the %ss: %w", column, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// scopeRealms returns the distinct realms of the scope. An agent with its own realm gets only that
// realm, because the graph contains facts.
func (g *candidateSet) scopeRealms() []string {
	if g.r.Realm != "" && !g.r.EveryRealm {
		return []string{g.r.Realm}
	}
	return g.scope[0].realms
}

// scopeKinds returns the kinds of the scope.
func (g *candidateSet) scopeKinds() (out []string) {
	for _, d := range g.scope {
		out = append(out, d.kinds...)
	}
	return out
}
