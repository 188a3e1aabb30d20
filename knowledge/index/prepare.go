package index

import (
	"context"
	"errors"
	"time"

	"hob/platform/store"
)

// Limits of the indexing that a search may do first if no background process follows the changes,
// for example in a command without the daemon.
const (
	mostAtOnce = 20_000 // rows or changes to index
	atOnce     = 20 * time.Second
)

// errNotYet reports that the index is still being built.
var errNotYet = errors.New("the index is being built")

// prepareSearch opens the index for a search. If no background process follows the changes and an
// update is quick, it updates the index. It does not update the index within a transaction, because
// transactions must not wait.
func (x *Index) prepareSearch(q store.Querier) error {
	g, err := x.openCurrent()
	if err != nil || g != nil && x.running.Load() {
		return err
	}
	if _, ok := q.(*store.Tx); ok || x.running.Load() {
		if g == nil {
			x.Changed() // Run rebuilds it
			return errNotYet
		}
		return nil
	}
	behind, err := x.countMissing(q, g)
	if err != nil || g != nil && behind <= mostFresh {
		return err
	}
	if behind > mostAtOnce {
		if g == nil {
			return errNotYet
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), atOnce)
	defer cancel()
	x.work.Lock()
	defer x.work.Unlock()
	x.quiet = true // do not write to the store: the caller may hold its write lock
	defer func() { x.quiet = false }()
	return x.catchUp(ctx)
}

// countMissing returns the number of unindexed changes or, without an index, the number of rows.
func (x *Index) countMissing(q store.Querier, g *generation) (n int64, err error) {
	if g == nil {
		err = q.QueryRow(`SELECT count(*) FROM docs`).Scan(&n)
		return n, err
	}
	last, err := x.base.LastChange(q)
	x.mu.RLock()
	defer x.mu.RUnlock()
	return last - g.seq, err
}
