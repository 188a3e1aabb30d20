package knowledge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hob/platform/store"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// candidates is the number of best word matches that are reranked by age. maxTerms limits the words
// of one query.
const (
	candidates = 60
	maxTerms   = 24
	// maxPlain limits the length of an exact text in characters. SQLite rejects patterns longer
	// than 50,000 bytes.
	maxPlain = 1000
)

// Search returns documents by words, best first. In the first round every content word must match.
// If there are no matches, it tries prefixes, stems and typing errors, then at least half of the
// words, then the text as a substring of recent rows. It accepts any text as a query; an empty one
// lists the newest rows.
func (b *Base) Search(q store.Querier, text string, opt SearchOptions) ([]Hit, error) {
	limit := clampLimit(opt.Limit)
	f := searchCondition(opt)
	terms := contentWords(text)
	if len(terms) == 0 {
		if strings.TrimSpace(text) == "" {
			return b.newestHits(q, f, limit)
		}
		return b.substringHits(q, text, f, limit)
	}
	s, err := b.resolveScope(q, Request{Kinds: opt.Kinds, Realm: opt.Realm, EveryRealm: opt.EveryRealm})
	if err != nil {
		return nil, err
	}
	for _, loose := range []bool{false, true} {
		if loose && opt.All {
			break
		}
		a, err := b.lookupWords(q, s, TermQuery{Text: strings.Join(terms, " "), Limit: max(limit, matched), Loose: loose})
		if err != nil {
			return nil, err
		}
		found := matchesWithWords(a, len(a.Words))
		if len(found) == 0 && loose && len(terms) > 1 {
			found = matchesWithWords(a, (len(a.Words)+1)/2)
		}
		if len(found) > 0 {
			return b.readMatches(q, found[:min(len(found), max(limit, candidates))], f, limit)
		}
	}
	return b.substringHits(q, text, f, limit)
}

// matched is the number of matches requested from the index.
const matched = 300

// matchesWithWords returns the matches that contain at least the given number of words. It sorts
// them by the number of words they contain, then by rank.
func matchesWithWords(a WordAnswer, words int) (out []TermMatch) {
	for _, m := range a.Matches {
		if n := bits.OnesCount64(m.Has); n >= max(words, 1) {
			m.Score += 100 * float64(n)
			out = append(out, m)
		}
	}
	sorting.StableByFunc(out, func(x, y TermMatch) int { return cmp.Compare(y.Score, x.Score) })
	return out
}

// readMatches reads the rows of matches that the search allows.
func (b *Base) readMatches(q store.Querier, list []TermMatch, w sqlCondition, limit int) ([]Hit, error) {
	score := map[int64]float64{}
	ids := make([]int64, len(list))
	for i, m := range list {
		ids[i] = m.N
		score[m.N] = m.Score
	}
	raw, err := json.Marshal(ids) // one parameter: a text for each list would be compiled each time
	if err != nil {
		return nil, fmt.Errorf("knowledge: read rows: %w", err)
	}
	out, err := queryHits(q, `SELECT `+docColumns+`, 0.0 FROM json_each(?) v CROSS JOIN docs d ON d.n = CAST(v.value AS INTEGER) WHERE `+w.sql+` ORDER BY d.n DESC`,
		append([]any{string(raw)}, w.args...)...)
	for i := range out {
		out[i].Score = score[out[i].N]
	}
	return b.boostRecent(out, limit), err
}

// sqlCondition is an SQL condition on kinds and realm.
type sqlCondition struct {
	sql  string
	args []any
}

func searchCondition(opt SearchOptions) sqlCondition {
	w := sqlCondition{sql: "d.kind <> ?", args: []any{KindRetired}}
	if n := len(opt.Kinds); n > 0 {
		w = sqlCondition{sql: "d.kind IN (?" + strings.Repeat(", ?", n-1) + ")"}
		for _, k := range opt.Kinds {
			w.args = append(w.args, k)
		}
	}
	if !opt.EveryRealm {
		w.sql += " AND (d.realm = ? OR d.realm = '' AND d.kind NOT IN (?, ?, ?, ?))"
		w.args = append(w.args, opt.Realm, KindFact, KindRetired, KindTurn, KindChunk)
	}
	return w
}

// atMost returns a LIMIT clause with a literal number. SQLite recompiles a statement each time a
// bound LIMIT changes, which takes longer than running it.
func atMost(n int) string { return " LIMIT " + strconv.Itoa(n) }

const docColumns = `d.n, d.kind, d.ref, d.title, d.text, d.at, d.provenance, d.realm, d.grp, d.pos, d.speaker, d.source`

func (b *Base) newestHits(q store.Querier, w sqlCondition, limit int) ([]Hit, error) {
	return queryHits(q, `SELECT `+docColumns+`, 0.0 FROM docs d WHERE `+w.sql+` ORDER BY d.at DESC, d.n DESC`+atMost(limit), w.args...)
}

func (b *Base) substringHits(q store.Querier, text string, w sqlCondition, limit int) ([]Hit, error) {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")
	if n := utf8.RuneCountInString(text); n < 2 || n > maxPlain {
		return nil, nil
	}
	like := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
	args := append(slices.Clone(w.args), like, like)
	return queryHits(q, `SELECT `+docColumns+`, 0.0 FROM (SELECT * FROM docs ORDER BY n DESC`+atMost(scanned)+`) d WHERE `+w.sql+`
		AND (d.text LIKE ? ESCAPE '\' OR d.title LIKE ? ESCAPE '\') ORDER BY d.at DESC, d.n DESC`+atMost(limit), args...)
}

// boostRecent increases the score of recent documents by up to a third. Ages are relative to the
// newest candidate, so that the order does not depend on the current time.
func (b *Base) boostRecent(list []Hit, limit int) []Hit {
	var newest time.Time
	for _, h := range list {
		if h.At.After(newest) {
			newest = h.At
		}
	}
	for i := range list {
		age := newest.Sub(list[i].At)
		list[i].Score = (list[i].Score + 1e-9) * (1 + math.Exp2(-float64(age)/float64(b.opt.HalfLife))/3)
	}
	sorting.StableByFunc(list, func(p, q Hit) int { return cmp.Compare(q.Score, p.Score) })
	return list[:min(limit, len(list))]
}

func queryHits(q store.Querier, stmt string, args ...any) (out []Hit, err error) {
	rows, err := q.Query(stmt, args...)
	if err != nil {
		return nil, fmt.Errorf("knowledge: search rows: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var h Hit
		var at int64
		if err := rows.Scan(&h.N, &h.Kind, &h.Ref, &h.Title, &h.Text, &at, &h.Provenance, &h.Realm, &h.Group, &h.Pos, &h.Speaker, &h.Source, &h.Score); err != nil {
			return nil, fmt.Errorf("knowledge: search rows: %w", err)
		}
		h.At = store.Time(at)
		out = append(out, h)
	}
	return out, rows.Err()
}

// contentWords returns the content words of a query, or all words if there are no content words.
// Each word appears once. The words are not folded, because the index folds them.
func contentWords(text string) []string {
	var some, all, seen []string
	for _, w := range textnorm.Words(text) {
		folded := textnorm.Fold(w)
		if slices.Contains(seen, folded) || len(all) == maxTerms {
			continue
		}
		seen = append(seen, folded)
		all = append(all, w)
		if !loadVagueWords()[folded] && len([]rune(w)) > 1 || isNumber(w) {
			some = append(some, w)
		}
	}
	if len(some) == 0 {
		return all
	}
	return some
}

func isNumber(w string) bool { return strings.Trim(w, "0123456789") == "" }

// loadVagueWords returns the words of a query that do not describe its subject.
var loadVagueWords = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a about all am an and any anything are as at be been but by can could did do does everything for
		from had has have he her hers him his how i if in into is it its just know like me mine my of on or our please remember
		remembered said say she should so some something tell that the their them then there these they this those to told us was we
		were what whats when where which who whom whose why will with would you your yours find search look recall asked ask s t d ll m
		re ve`) {
		m[w] = true
	}
	return m
})
