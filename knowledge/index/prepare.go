package index

import (
	"context"
	"errors"
	"time"

	"hob/knowledge/store"
)

// Bounds of what a search does before it when nothing follows in the
// background, as in a command without the daemon.
const (
	mostAtOnce = 20_000 // rows or changes that are indexed
	atOnce     = 20 * time.Second
)

// errNotYet says that the index is still being made.
var errNotYet = errors.New("the index is being built")

// prepare opens the index for a search. Where nothing follows, it is brought up
// to date when that is soon done; never within a transaction, which must not
// wait for that.
func (x *Index) prepare(q store.Querier) error {
	g, err := x.open()
	if err != nil || g != nil && x.running.Load() {
		return err
	}
	if _, ok := q.(*store.Tx); ok || x.running.Load() {
		if g == nil {
			x.Changed() // Run makes it
			return errNotYet
		}
		return nil
	}
	behind, err := x.behind(q, g)
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
	x.quiet = true // whoever searches may be the one who writes
	defer func() { x.quiet = false }()
	return x.catchUp(ctx)
}

// behind is how many changes the index lacks; when there is none, the rows.
func (x *Index) behind(q store.Querier, g *generation) (n int64, err error) {
	if g == nil {
		err = q.QueryRow(`SELECT count(*) FROM docs`).Scan(&n)
		return n, err
	}
	last, err := x.base.LastChange(q)
	x.mu.RLock()
	defer x.mu.RUnlock()
	return last - g.seq, err
}
