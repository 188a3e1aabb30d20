package knowledge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge/store"
	"hob/platform/phrase"
)

// historyRows is how much of what was so before is shown.
const historyRows = 5

// outdated lists the rows that tell what is no longer so and no more than that
// of what is asked for. A message in which a fact was told that is retired since
// may say other things, of which it is right.
func outdated(q store.Querier, k *question, rows []*row, form float64) (map[*row]bool, error) {
	var events []any
	for _, r := range rows {
		if e, ok := strings.CutPrefix(r.doc.Source, "event:"); ok && r.doc.Kind == KindTurn {
			events = append(events, e)
		}
	}
	if len(events) == 0 {
		return nil, nil
	}
	list, err := query(q, `SELECT `+factColumns+` FROM facts WHERE event <> '' AND retired_at > 0 AND event IN (?`+strings.Repeat(", ?", len(events)-1)+`)`, events...)
	if err != nil {
		return nil, fmt.Errorf("knowledge: what is no longer so: %w", err)
	}
	told := map[string]*row{} // by the event, as if they were one
	for _, f := range list {
		if told["event:"+f.Event] == nil {
			told["event:"+f.Event] = &row{}
		}
		told["event:"+f.Event].doc.Text += f.Text + "\n"
	}
	for _, t := range told {
		t.read(k, form, nil)
	}
	out := map[*row]bool{}
	for _, r := range rows {
		if t := told[r.doc.Source]; t != nil && r.doc.Kind == KindTurn && r.within(t) {
			out[r] = true
		}
	}
	return out, nil
}

// within reports whether a row says nothing besides another of what is asked
// for; where it has no word of that, nothing at all.
func (r *row) within(o *row) bool {
	has := false
	for i, n := range r.own {
		if n > 0 && o.own[i] == 0 {
			return false
		}
		has = has || n > 0
	}
	words := tokens(o.doc.Text)
	return has || !slices.ContainsFunc(Subjects(r.doc.Text), func(w string) bool { return !slices.Contains(words, phrase.Fold(w)) })
}

// replaced adds to facts what they replaced.
func (b *Base) replaced(q store.Querier, hits []Hit) error {
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
	list, err := query(q, `SELECT `+factColumns+` FROM facts WHERE retired_by <> '' AND retired_by IN (?`+strings.Repeat(", ?", len(ids)-1)+`) ORDER BY retired_at DESC, n DESC`, ids...)
	if err != nil {
		return fmt.Errorf("knowledge: what was replaced: %w", err)
	}
	for _, f := range list {
		h := &hits[at[f.RetiredBy]]
		h.Replaced = append(h.Replaced, f)
	}
	return nil
}

// history looks for what was so before: retired facts that the question is
// about, those in whose place the answers stand, and rows in which they were told.
func (b *Base) history(ctx context.Context, q store.Querier, r Request, a *Answer) error {
	picky := r.Strict
	r.Kinds, r.Limit, r.History, r.Meaning = []string{KindRetired}, historyRows, false, false
	k := understand(r.Text, r.Now)
	k.terms = slices.DeleteFunc(k.terms, func(t term) bool { return slices.Contains(k.bygone, t.text) })
	old := Answer{}
	if len(k.terms) > 0 {
		g, err := b.gather(q, r, k)
		if err != nil {
			return errors.Join(err, ctx.Err())
		}
		rows := g.ranked()
		if picky && len(rows) > 0 {
			rows = strict(rows, b.tune)
		}
		if err := b.settle(q, k, &old, rows, historyRows); err != nil {
			return err
		}
	}
	before, err := b.chain(q, a.Hits)
	if err != nil {
		return err
	}
	for _, h := range slices.Concat(old.Hits, before, a.said) {
		same := func(x Hit) bool { return x.Kind == h.Kind && x.Ref == h.Ref }
		if len(a.History) < historyRows && !slices.ContainsFunc(a.History, same) {
			a.History = append(a.History, h)
		}
	}
	return b.ended(q, a.History)
}

// chainTop is of how many answers the facts that they replaced are history.
const chainTop = 3

// chain lists what the best facts replaced, and what that had replaced.
func (b *Base) chain(q store.Querier, list []Hit) ([]Hit, error) {
	var ids []any
	for _, h := range list[:min(len(list), chainTop)] {
		if h.Kind == KindFact {
			ids = append(ids, h.Ref)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return hits(q, `WITH RECURSIVE v(id, realm, at) AS (
			SELECT id, realm, retired_at FROM facts WHERE retired_by IN (?`+strings.Repeat(", ?", len(ids)-1)+`)
			UNION SELECT f.id, f.realm, f.retired_at FROM v JOIN facts f ON f.retired_by = v.id AND f.realm = v.realm)
		SELECT `+docColumns+`, 0.0 FROM v JOIN docs d ON d.kind = '`+KindRetired+`' AND d.ref = v.id ORDER BY v.at DESC`+atMost(historyRows), ids...)
}

// bygones lists the newest of what was so before, when nothing says of what.
func (b *Base) bygones(q store.Querier, r Request, a *Answer) (err error) {
	r.Kinds = []string{KindRetired}
	g := &gathering{r: r}
	g.narrowed()
	if a.History, err = b.newest(q, g.where, historyRows); err != nil {
		return err
	}
	return b.ended(q, a.History)
}

// ended says of what is history until when it was so.
func (b *Base) ended(q store.Querier, list []Hit) error {
	for i := range list {
		h := &list[i]
		if h.Kind != KindRetired {
			continue
		}
		f, err := fact(q, h.Ref)
		if err != nil {
			return err
		}
		h.Until = f.RetiredAt
	}
	return nil
}

const (
	// minTold is how long what a fact said must be for a message to be held to
	// repeat it, and factsTop of how many of the best facts that is looked at.
	minTold  = 4
	factsTop = 10
)

// repeated puts messages that repeat what one of the best facts replaced, and
// that are older than it, behind all others, and marks them: they were right
// when they were written.
func repeated(q store.Querier, rows []*row) error {
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
	old, err := outlivedBy(q, `SELECT DISTINCT c.value, f.retired_at FROM facts f JOIN claims c ON c.fact = f.id
		WHERE f.retired_by <> '' AND f.retired_by IN (?`+strings.Repeat(", ?", len(ids)-1)+`)`, ids...)
	if err != nil || len(old) == 0 {
		return err
	}
	for _, v := range old {
		if len(v.words) < minTold+2 || slices.ContainsFunc(facts, func(r *row) bool { return says(r.doc.Text, v.words) }) {
			continue // it holds of something else, or again
		}
		for _, r := range rows {
			if r.doc.Kind == KindTurn && r.doc.At.Before(v.until) && says(r.doc.Text, v.words) {
				r.until = v.until
			}
		}
	}
	slices.SortStableFunc(rows, func(x, y *row) int {
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

// outlived is a value that a fact gave until it was replaced.
type outlived struct {
	words string
	until time.Time
}

func outlivedBy(q store.Querier, stmt string, args ...any) (out []outlived, err error) {
	rows, err := q.Query(stmt, args...)
	if err != nil {
		return nil, fmt.Errorf("knowledge: what was replaced: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var v outlived
		var at int64
		if err := rows.Scan(&v.words, &at); err != nil {
			return nil, fmt.Errorf("knowledge: what was replaced: %w", err)
		}
		v.words, v.until = " "+strings.Join(phrase.Split(v.words), " ")+" ", store.Time(at)
		out = append(out, v)
	}
	return out, rows.Err()
}

// says reports whether words stand in a text one after the other.
func says(text, words string) bool {
	return strings.Contains(" "+strings.Join(phrase.Split(text), " ")+" ", words)
}
