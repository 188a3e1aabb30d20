package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"

	api "github.com/blevesearch/bleve_index_api"

	"hob/platform/system"
)

// Reindex makes the index anew beside the one in use, which serves until the
// new one is whole. progress, when there is one, is told how many rows of how
// many are done.
func (x *Index) Reindex(ctx context.Context, progress func(done, total int)) error {
	x.work.Lock()
	defer x.work.Unlock()
	if _, err := x.open(); err != nil && !errors.Is(err, ErrDamaged) { //nolint:contextcheck // a search, which opens it as well, has none
		return err
	}
	if err := x.rebuild(ctx, progress); err != nil {
		return err
	}
	return x.dropRest() // there is another that is sound
}

// rebuild makes the next generation. work is held, so that nobody else tells
// the store to drop changes that the new one has yet to see.
func (x *Index) rebuild(ctx context.Context, progress func(done, total int)) error {
	g, err := x.begin()
	if err != nil {
		return err
	}
	if err = x.fill(ctx, g, progress); err == nil {
		err = x.swap(g)
	}
	if err != nil { // what there is of it is no use
		err = errors.Join(err, g.close())
		if g.path != "" {
			err = errors.Join(err, system.RemoveAll(g.path))
		}
		return err
	}
	debug.FreeOSMemory()
	return x.tell(ctx, g.seq)
}

// begin opens an empty generation.
func (x *Index) begin() (*generation, error) {
	if x.dir == "" {
		return openGeneration("", "")
	}
	if err := x.mkdir(); err != nil {
		return nil, fmt.Errorf("index: %w; check the permissions and free space of the folder", err)
	}
	name, err := currentName(x.dir)
	if err == nil {
		err = sweep(x.dir, name)
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

// fill brings every row into a new generation, and then what changed since.
func (x *Index) fill(ctx context.Context, g *generation, progress func(done, total int)) error {
	q := x.st.Reader(ctx)
	// Until it is told more, the store keeps what the new index has yet to see.
	if err := x.tell(ctx, 0); err != nil {
		return err
	}
	seq, err := x.base.LastChange(q)
	if err != nil {
		return err
	}
	var total, done int
	if err := q.QueryRow(`SELECT count(*) FROM docs`).Scan(&total); err != nil {
		return fmt.Errorf("index: count: %w", err)
	}
	for after := int64(0); ; {
		list, err := x.base.All(x.st.Reader(ctx), after, x.size())
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		after = list[len(list)-1].N
		if err := g.apply(x.batch(list)); err != nil {
			return err
		}
		if done += len(list); progress != nil {
			progress(done, max(done, total))
		}
	}
	return x.finish(ctx, g, seq)
}

// finish marks a generation as whole and follows until nothing is left.
func (x *Index) finish(ctx context.Context, g *generation, seq int64) error {
	mark, _, err := x.base.Mark(x.st.Reader(ctx), seq)
	if err != nil {
		return err
	}
	b := api.NewBatch()
	setNumber(b, keySeq, seq)
	setNumber(b, keyMark, mark)
	b.SetInternal([]byte(keyFormat), []byte(x.format()))
	if err := g.apply(b); err != nil {
		return err
	}
	g.seq, g.format = seq, x.format()
	for {
		n, err := x.step(ctx, g)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}

// swap makes a generation the one that serves and removes the one before. A
// crash on the way leaves either in use, and the other to be swept.
func (x *Index) swap(g *generation) error {
	x.mu.Lock() // first: a search that opens what is current would find it in use
	if g.path != "" {
		if err := setCurrent(x.dir, g.name); err != nil {
			x.mu.Unlock()
			return err
		}
	}
	old := x.cur
	x.cur, x.trouble = g, nil
	x.overlay.drop(g.seq)
	x.mu.Unlock()
	var err error
	if old != nil { // no search is in it any more
		err = old.close()
	}
	if err == nil && g.path != "" {
		err = sweep(x.dir, g.name)
	}
	if err != nil { // the new one serves all the same
		x.opt.Log.Warn("old index could not be removed", "err", err)
	}
	return nil
}
