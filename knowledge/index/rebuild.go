package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"

	api "github.com/blevesearch/bleve_index_api"

	"hob/platform/host/system"
)

// Reindex rebuilds the index. The old index serves searches until the new one is complete. progress
// receives the number of finished rows and the total; it may be nil.
func (x *Index) Reindex(ctx context.Context, progress func(done, total int)) error {
	x.work.Lock()
	defer x.work.Unlock()
	if _, err := x.openCurrent(); err != nil && !errors.Is(err, ErrDamaged) { //nolint:contextcheck // searches share the open index, so ctx must not cancel opening it
		return err
	}
	if err := x.rebuildIndex(ctx, progress); err != nil {
		return err
	}
	return x.removeUnusedFiles() // the new index is intact, so no damaged one is needed
}

// rebuildIndex creates the next generation. The caller has locked work, so that the store keeps the
// changes that the new generation needs.
func (x *Index) rebuildIndex(ctx context.Context, progress func(done, total int)) error {
	g, err := x.createGeneration()
	if err != nil {
		return err
	}
	if err = x.indexAllRows(ctx, g, progress); err == nil {
		err = x.swapGeneration(g)
	}
	if err != nil { // an incomplete generation is useless
		err = errors.Join(err, g.close())
		if g.path != "" {
			err = errors.Join(err, system.RemoveAll(g.path))
		}
		return err
	}
	debug.FreeOSMemory()
	return x.ackChanges(ctx, g.seq)
}

// createGeneration creates an empty generation.
func (x *Index) createGeneration() (*generation, error) {
	if x.dir == "" {
		return openGeneration("", "")
	}
	if err := x.createFolder(); err != nil {
		return nil, fmt.Errorf("index: create the folder: %w; check the permissions and free space of the folder", err)
	}
	name, err := currentName(x.dir)
	if err == nil {
		err = removeOldGenerations(x.dir, name)
	}
	if err != nil {
		return nil, err
	}
	next, err := nextName(x.dir)
	if err != nil {
		return nil, err
	}
	return openGeneration(filepath.Join(x.dir, next), next)
}

// indexAllRows indexes all rows, and then the changes made since it started.
func (x *Index) indexAllRows(ctx context.Context, g *generation, progress func(done, total int)) error {
	q := x.st.Reader(ctx)
	// Make the store keep all changes for the new index.
	if err := x.ackChanges(ctx, 0); err != nil {
		return err
	}
	seq, err := x.base.LastChange(q)
	if err != nil {
		return err
	}
	var total, done int
	if err := q.QueryRow(`SELECT count(*) FROM docs`).Scan(&total); err != nil {
		return fmt.Errorf("index: count rows: %w", err)
	}
	for after := int64(0); ; {
		list, err := x.base.RowsAfter(x.st.Reader(ctx), after, x.batchRows())
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		after = list[len(list)-1].N
		if err := g.applyBatch(x.buildBatch(list)); err != nil {
			return err
		}
		if done += len(list); progress != nil {
			progress(done, max(done, total))
		}
	}
	return x.finishGeneration(ctx, g, seq)
}

// finishGeneration marks a generation as complete and follows until no change is pending.
func (x *Index) finishGeneration(ctx context.Context, g *generation, seq int64) error {
	mark, _, err := x.base.ChangeMarker(x.st.Reader(ctx), seq)
	if err != nil {
		return err
	}
	b := api.NewBatch()
	setNumber(b, keySeq, seq)
	setNumber(b, keyMark, mark)
	b.SetInternal([]byte(keyFormat), []byte(x.formatVersion()))
	if err := g.applyBatch(b); err != nil {
		return err
	}
	g.seq, g.format = seq, x.formatVersion()
	for {
		n, err := x.applyNextBatch(ctx, g)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}

// swapGeneration activates a generation and removes the previous one. After a crash, one of them is
// active and the other is removed later.
func (x *Index) swapGeneration(g *generation) error {
	x.mu.Lock() // lock before setCurrent, because a search could otherwise open the new generation first
	if g.path != "" {
		if err := setCurrent(x.dir, g.name); err != nil {
			x.mu.Unlock()
			return err
		}
	}
	old := x.cur
	x.cur, x.trouble = g, nil
	x.overlay.dropIndexed(g.seq)
	x.mu.Unlock()
	var err error
	if old != nil { // searches no longer use it
		err = old.close()
	}
	if err == nil && g.path != "" {
		err = removeOldGenerations(x.dir, g.name)
	}
	if err != nil { // the new generation is active anyway
		x.opt.Log.Warn("old index could not be removed", "err", err)
	}
	return nil
}
