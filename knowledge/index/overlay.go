package index

import (
	"cmp"
	"errors"
	"sync"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/terms"
)

// mostFresh bounds how many changes that the index does not hold yet a search
// looks at; when there are more, the newest.
const mostFresh = 2000

// fresh is a row that was changed after what the index holds.
type fresh struct {
	seq   int64
	field string // "" when it is gone
	terms terms.Doc
}

// overlay keeps the fresh rows that were read already. What a transaction has
// not committed is never kept.
type overlay struct {
	mu   sync.Mutex // guards what follows
	from int64      // the index holds everything up to it
	upto int64      // everything after from and up to it is in rows
	rows map[int64]fresh
}

// drop forgets the rows that the index holds now.
func (o *overlay) drop(seq int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.from, o.upto, o.rows = seq, seq, nil
}

// errDropped says that changes were dropped that a snapshot of the index does not
// hold: the index has moved on meanwhile, or was not known to the store.
var errDropped = errors.New("index: unread changes were dropped from the log")

// freshRows returns the rows changed after seq, as q sees them.
func (x *Index) freshRows(q store.Querier, seq int64) (map[int64]fresh, error) {
	last, err := x.base.LastChange(q)
	if err != nil || last <= seq {
		return nil, err
	}
	start := max(seq, last-mostFresh)
	kept, from := x.overlay.have(seq, start)
	if from >= last {
		return kept, nil
	}
	list, err := x.base.Changes(q, from, mostFresh)
	if err != nil {
		return nil, err
	}
	if dropped, err := x.base.Dropped(q, from); err != nil || dropped { // asked last: they may go at any time
		return nil, cmp.Or(err, errDropped)
	}
	rows := make(map[int64]fresh, len(kept)+len(list))
	for n, f := range kept {
		rows[n] = f
	}
	for _, c := range list {
		f := fresh{seq: c.Seq}
		if !c.Gone {
			f.field, f.terms = fieldOf(c.Doc.Kind, c.Doc.Realm), knowledge.TermsOf(c.Doc, x.weights())
		}
		rows[c.N] = f
	}
	if _, ok := q.(*store.Tx); !ok && len(list) > 0 {
		x.overlay.keep(seq, list[len(list)-1].Seq, rows)
	}
	return rows, nil
}

// have returns what is kept of the rows after seq, and from where on there is
// more to read. The map is never changed.
func (o *overlay) have(seq, start int64) (map[int64]fresh, int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.from != seq || o.upto < start {
		return nil, start
	}
	return o.rows, o.upto
}

func (o *overlay) keep(seq, upto int64, rows map[int64]fresh) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.from == seq && upto > o.upto && len(rows) <= 2*mostFresh {
		o.upto, o.rows = upto, rows
	}
}
