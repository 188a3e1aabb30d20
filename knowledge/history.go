package knowledge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/knowledge/store"
)

// historyRows is how much of what was so before is shown.
const historyRows = 5

// outdated lists the sources of rows in which a fact was told that is retired
// since.
func outdated(q store.Querier, rows []*row) (map[string]bool, error) {
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
	out := map[string]bool{}
	for _, f := range list {
		out["event:"+f.Event] = true
	}
	return out, nil
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

// history looks for what was so before: retired facts, and rows in which they
// were told.
func (b *Base) history(ctx context.Context, q store.Querier, r Request, a *Answer) error {
	r.Kinds, r.Limit, r.History, r.Meaning = []string{KindRetired}, historyRows, false, false
	k := understand(r.Text, r.Now)
	g, err := b.gather(q, r, k)
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	old := Answer{}
	if err := b.settle(q, &old, g.ranked(), historyRows); err != nil {
		return err
	}
	a.History = old.Hits
	for _, h := range a.said {
		if len(a.History) < historyRows {
			a.History = append(a.History, h)
		}
	}
	return nil
}
