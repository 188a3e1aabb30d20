package index

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"time"

	api "github.com/blevesearch/bleve_index_api"

	"hob/knowledge"
	"hob/platform/retry"
	"hob/platform/store"
)

// batch is the number of rows per write. A batch is smaller if it contains more than muchText bytes
// of text.
const (
	batch    = 500
	muchText = 16 << 20
)

// much is the number of rows in one run after which memory is returned to the operating system.
const much = 5_000

// Run follows the changes of docs until ctx ends. It logs failures and retries with an increasing
// delay. In the meantime, searches read unindexed rows directly.
func (x *Index) Run(ctx context.Context) error {
	x.running.Store(true)
	defer x.running.Store(false)
	fails := 0
	pauses := retry.Backoff{First: max(2*x.opt.Delay, reopenWait), Max: time.Minute}
	for first := true; ; first = false {
		var err error
		if !first || x.isBehind(ctx) { // if no change is pending, the first search opens the index
			err = x.CatchUp(ctx)
		}
		wait := x.opt.Delay
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			fails++
			wait = pauses.Delay(fails)
			x.opt.Log.Warn("index update failed; retrying", "err", err, "in", wait)
			x.Changed()
		default:
			fails = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case <-x.wake:
		}
		if retry.Sleep(ctx, wait) != nil { // collect further changes before indexing
			return nil
		}
		select { // the next round reads all changes, so drop a signal that arrived before the round
		case <-x.wake:
		default:
		}
	}
}

// isBehind reports whether there are pending changes. It does not open the index.
func (x *Index) isBehind(ctx context.Context) bool {
	q := x.st.Reader(ctx)
	last, err := x.base.LastChange(q)
	if err != nil {
		return true
	}
	done, err := x.base.AckedChange(q, Name)
	return err != nil || done < last
}

// CatchUp indexes all changes that exist when it is called. If the index is missing or does not
// match the store, CatchUp rebuilds it.
func (x *Index) CatchUp(ctx context.Context) error {
	x.work.Lock()
	defer x.work.Unlock()
	return x.catchUp(ctx)
}

func (x *Index) catchUp(ctx context.Context) error {
	q := x.st.Reader(ctx)
	last, err := x.base.LastChange(q)
	if err != nil {
		return err
	}
	g, err := x.openCurrent() //nolint:contextcheck // searches share the open index, so ctx must not cancel opening it
	if err != nil {
		return err
	}
	if g == nil {
		return x.rebuildIndex(ctx, nil)
	}
	if err := g.removePlaceholder(); err != nil { // a crash may have left the placeholder
		return x.closeBroken(ctx, g, err)
	}
	if lost, err := x.hasLostChanges(ctx, g); err != nil || lost {
		if err == nil {
			err = x.rebuildIndex(ctx, nil)
		}
		return err
	}
	n := 0
	for g.seq < last {
		k, err := x.applyNextBatch(ctx, g)
		if err != nil {
			return x.closeBroken(ctx, g, err)
		}
		if k == 0 { // the change with this number does not exist
			break
		}
		n += k
	}
	if done, err := x.base.AckedChange(q, Name); err != nil || done < g.seq {
		if err = errors.Join(err, x.ackChanges(ctx, g.seq)); err != nil {
			return err
		}
	}
	if n > much {
		debug.FreeOSMemory()
	}
	return nil
}

// hasLostChanges reports whether the store dropped changes that the index needs. If a search
// created the index before any consumer was registered, it registers the index. The caller has locked
// work.
func (x *Index) hasLostChanges(ctx context.Context, g *generation) (bool, error) {
	if x.quiet { // the caller is a search, which must neither write to the store nor start a rebuild
		return false, nil
	}
	if !x.known {
		if err := x.ackChanges(ctx, g.seq); err != nil {
			return false, err
		}
	}
	return x.base.HasDroppedChanges(x.st.Reader(ctx), g.seq)
}

// closeBroken closes an index after a failed write. The index is opened again with its last
// complete batch, or rebuilt if it was retired. The caller has locked work.
func (x *Index) closeBroken(ctx context.Context, g *generation, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errGone) {
		return x.rebuildIndex(ctx, nil)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cur == g {
		x.trouble, x.tried = err, time.Now()
		err = errors.Join(err, x.closeCurrent())
		if errors.Is(err, ErrDamaged) && g.path != "" {
			x.trouble = x.setAside(g.path, err)
		}
	}
	return err
}

// applyNextBatch indexes one batch of changes and returns its size.
func (x *Index) applyNextBatch(ctx context.Context, g *generation) (int, error) {
	list, err := x.base.Changes(x.st.Reader(ctx), g.seq, x.batchRows())
	if err != nil || len(list) == 0 {
		return 0, err
	}
	seq := list[len(list)-1].Seq
	mark, _, err := x.base.ChangeMarker(x.st.Reader(ctx), seq)
	if err != nil {
		return 0, err
	}
	b := x.buildBatch(list)
	setNumber(b, keySeq, seq)
	setNumber(b, keyMark, mark)
	if err := g.applyBatch(b); err != nil {
		return 0, err
	}
	x.recordProgress(g, seq)
	return len(list), nil
}

// recordProgress records that the index contains every change up to seq.
func (x *Index) recordProgress(g *generation, seq int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	g.seq = seq
	x.overlay.dropIndexed(seq)
}

// batchRows returns the number of rows to read next. The caller has locked work.
func (x *Index) batchRows() int {
	if x.rows == 0 {
		x.rows = batch
	}
	return x.rows
}

func (x *Index) buildBatch(list []knowledge.Change) *api.Batch {
	b := api.NewBatch()
	text := 0
	defer func() {
		switch {
		case text > muchText:
			x.rows = max(x.rows/8, 1)
		case text < muchText/16:
			x.rows = min(2*x.batchRows(), batch)
		}
	}()
	for _, c := range list {
		text += len(c.Doc.Text)
		if c.Gone {
			b.Delete(rowKey(c.N))
			continue
		}
		b.Update(newRow(c.N, c.Doc, knowledge.AnalyzeDoc(c.Doc, x.fieldWeights())))
	}
	return b
}

func (x *Index) fieldWeights() knowledge.Weights {
	return knowledge.Weights{Title: x.opt.Title, Speaker: x.opt.Speaker}
}

// ackChanges allows the store to drop the changes that the index has durably stored. The store
// keeps later ones. The caller has locked work.
func (x *Index) ackChanges(ctx context.Context, seq int64) error {
	if x.quiet {
		return nil
	}
	err := x.st.Write(ctx, func(tx *store.Tx) error { return x.base.AckChangesTx(tx, Name, seq) })
	x.known = x.known || err == nil
	return err
}

// createFolder creates the folder of the index.
func (x *Index) createFolder() error {
	if x.dir == "" {
		return nil
	}
	return os.MkdirAll(x.dir, 0o700)
}
