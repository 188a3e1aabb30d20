package index

import (
	"context"
	"fmt"

	api "github.com/blevesearch/bleve_index_api"

	"hob/knowledge"
	"hob/platform/text/analyzer"
)

// Dump lists the content of the index: field, term, row, frequency and length.
func (x *Index) Dump() (map[string]bool, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	r, err := x.cur.ix.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	fields, err := r.Fields()
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, f := range fields {
		d, err := r.FieldDict(f)
		if err != nil {
			return nil, err
		}
		for e, err := d.Next(); e != nil; e, err = d.Next() {
			if err != nil {
				return nil, err
			}
			t, err := r.TermFieldReader(context.Background(), []byte(e.Term), f, true, true, false)
			if err != nil {
				return nil, err
			}
			for p, err := t.Next(nil); p != nil; p, err = t.Next(nil) {
				if err != nil {
					return nil, err
				}
				id, err := r.ExternalID(p.ID)
				if err != nil {
					return nil, err
				}
				out[fmt.Sprintf("%q %q row %s x%d norm %.4f", f, e.Term, id, p.Freq, p.Norm)] = true
			}
			if err := t.Close(); err != nil {
				return nil, err
			}
		}
		if err := d.Close(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Damage retires the index like a search that finds a damaged segment.
func (x *Index) Damage() {
	x.mu.RLock()
	g := x.cur
	x.mu.RUnlock()
	if g != nil {
		x.retireDamaged(g, ErrDamaged)
	}
}

// WriteClosed writes to a retired index.
func (x *Index) WriteClosed(ctx context.Context) error {
	g := x.cur
	x.Damage()
	b := api.NewBatch()
	b.Update(newRow(1, knowledge.Doc{Kind: "note"}, analyzer.Of(analyzer.Part{Text: "milk"})))
	return g.applyBatch(b)
}
