package knowledge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/store"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// historyRows limits the history that is returned.
const historyRows = 5

// findOutdatedRows returns the rows that match the question only because of a fact that was retired
// later. A message may state more than such a fact, and its other statements may still be valid.
func findOutdatedRows(q store.Querier, k *parsedQuestion, rows []*row, form float64) (map[*row]bool, error) {
	var events []string
	for _, r := range rows {
		if e, ok := strings.CutPrefix(r.doc.Source, "event:"); ok && r.doc.Kind == KindTurn {
			events = append(events, e)
		}
	}
	if len(events) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(events) // one parameter: a text for each number of events would be compiled each time
	if err != nil {
		return nil, fmt.Errorf("knowledge: read outdated facts: %w", err)
	}
	list, err := queryFacts(q, `SELECT `+factColumns+` FROM facts WHERE event <> '' AND retired_at > 0 AND event IN (SELECT value FROM json_each(?))`, string(raw))
	if err != nil {
		return nil, fmt.Errorf("knowledge: read outdated facts: %w", err)
	}
	told := map[string]*row{} // keyed by event: the joined text of the facts that the event stated
	for _, f := range list {
		if told["event:"+f.Event] == nil {
			told["event:"+f.Event] = &row{}
		}
		told["event:"+f.Event].doc.Text += f.Text + "\n"
	}
	for _, t := range told {
		t.countTerms(k, form, nil)
	}
	out := map[*row]bool{}
	for _, r := range rows {
		if t := told[r.doc.Source]; t != nil && r.doc.Kind == KindTurn && r.isCoveredBy(t) {
			out[r] = true
		}
	}
	return out, nil
}

// isCoveredBy reports whether o contains all words of the question that r contains. If r contains
// none of them, o must contain all topic words of r.
func (r *row) isCoveredBy(o *row) bool {
	has := false
	for i, n := range r.own {
		if n > 0 && o.own[i] == 0 {
			return false
		}
		has = has || n > 0
	}
	words := tokenizeFolded(o.doc.Text)
	return has || !slices.ContainsFunc(TopicWords(r.doc.Text), func(w string) bool { return !slices.Contains(words, textnorm.Fold(w)) })
}

// addReplacedFacts fills in the facts that each hit replaced.
func (b *Base) addReplacedFacts(q store.Querier, hits []Hit) error {
	at := map[string]int{}
	var ids []any
	for i, h := range hits {
		if h.Kind == KindFact {
			at[h.Ref] = i
			ids = append(ids, h.Ref)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	list, err := queryFacts(q, `SELECT `+factColumns+` FROM facts WHERE retired_by <> '' AND retired_by IN (?`+strings.Repeat(", ?", len(ids)-1)+`) ORDER BY retired_at DESC, n DESC`, ids...)
	if err != nil {
		return fmt.Errorf("knowledge: read replaced facts: %w", err)
	}
	for _, f := range list {
		h := &hits[at[f.RetiredBy]]
		h.Replaced = append(h.Replaced, f)
	}
	return nil
}

// addHistory adds outdated data: retired facts that match the question, facts that the hits replaced,
// and the messages that stated them.
func (b *Base) addHistory(ctx context.Context, q store.Querier, r Request, a *Answer) error {
	picky := r.Strict
	r.Kinds, r.Limit, r.History, r.Meaning, r.looked = []string{KindRetired}, historyRows, false, false, nil
	k := parseQuestion(r.Text, r.Now)
	k.terms = slices.DeleteFunc(k.terms, func(t term) bool { return slices.Contains(k.bygone, t.text) })
	old := Answer{}
	if len(k.terms) > 0 {
		g, err := b.gatherCandidates(q, r, k)
		if err != nil {
			return errors.Join(err, ctx.Err())
		}
		rows := g.rankRows()
		if picky && len(rows) > 0 {
			rows = filterStrict(rows, b.tune)
		}
		if err := b.buildHits(q, k, &old, rows, historyRows); err != nil {
			return err
		}
	}
	before, err := b.supersededChain(q, a.Hits)
	if err != nil {
		return err
	}
	for _, h := range slices.Concat(old.Hits, before, a.said) {
		same := func(x Hit) bool { return x.Kind == h.Kind && x.Ref == h.Ref }
		if len(a.History) < historyRows && !slices.ContainsFunc(a.History, same) {
			a.History = append(a.History, h)
		}
	}
	return b.addEndTimes(q, a.History)
}

// chainTop is the number of hits whose replaced facts are added to the history.
const chainTop = 3

// supersededChain returns the facts that the best hits replaced, directly or transitively.
func (b *Base) supersededChain(q store.Querier, list []Hit) ([]Hit, error) {
	var ids []any
	for _, h := range list[:min(len(list), chainTop)] {
		if h.Kind == KindFact {
			ids = append(ids, h.Ref)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return queryHits(q, `WITH RECURSIVE v(id, realm, at) AS (
			SELECT id, realm, retired_at FROM facts WHERE retired_by IN (?`+strings.Repeat(", ?", len(ids)-1)+`)
			UNION SELECT f.id, f.realm, f.retired_at FROM v JOIN facts f ON f.retired_by = v.id AND f.realm = v.realm)
		SELECT `+docColumns+`, 0.0 FROM v JOIN docs d ON d.kind = '`+KindRetired+`' AND d.ref = v.id ORDER BY v.at DESC`+atMost(historyRows), ids...)
}

// newestHistory adds the newest history. It is used for a question that names no subject.
func (b *Base) newestHistory(q store.Querier, r Request, a *Answer) (err error) {
	r.Kinds = []string{KindRetired}
	g := &candidateSet{r: r}
	g.setBounds()
	if a.History, err = b.newestHits(q, g.where, historyRows); err != nil {
		return err
	}
	return b.addEndTimes(q, a.History)
}

// addEndTimes sets the time at which each hit in the history became invalid.
func (b *Base) addEndTimes(q store.Querier, list []Hit) error {
	for i := range list {
		h := &list[i]
		if h.Kind != KindRetired {
			continue
		}
		f, err := factByID(q, h.Ref)
		if err != nil {
			return err
		}
		h.Until = f.RetiredAt
	}
	return nil
}

const (
	// minTold is the minimum length of a replaced value that a message must contain to count as a
	// repetition. factsTop is the number of best facts that are checked.
	minTold  = 4
	factsTop = 10
)

// demoteRepeats moves messages to the end if they repeat a value that one of the best facts
// replaced and are older than that fact. It marks them as history, because they were correct when
// they were written.
func demoteRepeats(q store.Querier, rows []*row) error {
	var facts []*row
	var ids []any
	for _, r := range rows {
		if r.doc.Kind == KindFact && len(facts) < factsTop {
			facts = append(facts, r)
			ids = append(ids, r.doc.Ref)
		}
	}
	if len(ids) == 0 || !slices.ContainsFunc(rows, func(r *row) bool { return r.doc.Kind == KindTurn }) {
		return nil
	}
	old, err := supersededValues(q, `SELECT DISTINCT c.value, f.retired_at FROM facts f JOIN claims c ON c.fact = f.id
		WHERE f.retired_by <> '' AND f.retired_by IN (?`+strings.Repeat(", ?", len(ids)-1)+`)`, ids...)
	if err != nil || len(old) == 0 {
		return err
	}
	for _, v := range old {
		if len(v.words) < minTold+2 || slices.ContainsFunc(facts, func(r *row) bool { return containsPhrase(r.doc.Text, v.words) }) {
			continue // the value belongs to another subject or became valid again
		}
		for _, r := range rows {
			if r.doc.Kind == KindTurn && r.doc.At.Before(v.until) && containsPhrase(r.doc.Text, v.words) {
				r.until = v.until
			}
		}
	}
	sorting.StableByFunc(rows, func(x, y *row) int {
		switch {
		case x.until.IsZero() == y.until.IsZero():
			return 0
		case x.until.IsZero():
			return -1
		}
		return 1
	})
	return nil
}

// supersededValue is a value of a fact that a newer fact replaced.
type supersededValue struct {
	words string
	until time.Time
}

func supersededValues(q store.Querier, stmt string, args ...any) (out []supersededValue, err error) {
	rows, err := q.Query(stmt, args...)
	if err != nil {
		return nil, fmt.Errorf("knowledge: read replaced facts: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var v supersededValue
		var at int64
		if err := rows.Scan(&v.words, &at); err != nil {
			return nil, fmt.Errorf("knowledge: read replaced facts: %w", err)
		}
		v.words, v.until = " "+strings.Join(textnorm.FoldedWords(v.words), " ")+" ", store.Time(at)
		out = append(out, v)
	}
	return out, rows.Err()
}

// containsPhrase reports whether text contains the words as a sequence.
func containsPhrase(text, words string) bool {
	return strings.Contains(" "+strings.Join(textnorm.FoldedWords(text), " ")+" ", words)
}
