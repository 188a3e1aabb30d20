package index

import (
	"cmp"
	"errors"
	"sync"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/analyzer"
)

// mostFresh is the maximum number of unindexed changes that a search reads. If there are more, it
// reads the newest.
const mostFresh = 2000

// freshRow is a row that changed after the last indexed change.
type freshRow struct {
	seq   int64
	field string // "" if the row was removed
	terms analyzer.Doc
}

// overlay caches unindexed rows. It never caches uncommitted rows.
type overlay struct {
	mu   sync.Mutex // guards the fields below
	from int64      // the index contains all changes up to this one
	upto int64      // rows contains all changes after from up to this one
	rows map[int64]freshRow
}

// dropIndexed removes the rows that have been indexed in the meantime.
func (o *overlay) dropIndexed(seq int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.from, o.upto, o.rows = seq, seq, nil
}

// errDropped means that changes missing in a snapshot were dropped, because the index has advanced
// in the meantime or was not registered with the store.
var errDropped = errors.New("index: unread changes were dropped from the log")

// freshRows returns the rows changed after seq, as visible to q.
func (x *Index) freshRows(q store.Querier, seq int64) (map[int64]freshRow, error) {
	last, err := x.base.LastChange(q)
	if err != nil || last <= seq {
		return nil, err
	}
	start := max(seq, last-mostFresh)
	kept, from := x.overlay.rowsSince(seq, start)
	if from >= last {
		return kept, nil
	}
	list, err := x.base.Changes(q, from, mostFresh)
	if err != nil {
		return nil, err
	}
	if dropped, err := x.base.HasDroppedChanges(q, from); err != nil || dropped { // check this last, because changes may be dropped at any time
		return nil, cmp.Or(err, errDropped)
	}
	rows := make(map[int64]freshRow, len(kept)+len(list))
	for n, f := range kept {
		rows[n] = f
	}
	for _, c := range list {
		f := freshRow{seq: c.Seq}
		if !c.Gone {
			f.field, f.terms = fieldOf(c.Doc.Kind, c.Doc.Realm), knowledge.AnalyzeDoc(c.Doc, x.fieldWeights())
		}
		rows[c.N] = f
	}
	if _, ok := q.(*store.Tx); !ok && len(list) > 0 {
		x.overlay.storeRows(seq, list[len(list)-1].Seq, rows)
	}
	return rows, nil
}

// rowsSince returns the cached rows after seq, and the position from which the other rows must be
// read. The map is never modified.
func (o *overlay) rowsSince(seq, start int64) (map[int64]freshRow, int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.from != seq || o.upto < start {
		return nil, start
	}
	return o.rows, o.upto
}

func (o *overlay) storeRows(seq, upto int64, rows map[int64]freshRow) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.from == seq && upto > o.upto && len(rows) <= 2*mostFresh {
		o.upto, o.rows = upto, rows
	}
}
