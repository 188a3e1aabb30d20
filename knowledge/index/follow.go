package index

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"time"

	api "github.com/blevesearch/bleve_index_api"

	"hob/knowledge"
	"hob/knowledge/store"
)

// batch is how many rows are written at once, as long as their texts are not
// long: fewer after muchText bytes.
const (
	batch    = 500
	muchText = 16 << 20
)

// much is after how many rows in one go the memory that took is given back.
const much = 5_000

// Run follows the changes until ctx ends. A failure is logged and tried again,
// less and less often: searches read the rows themselves meanwhile.
func (x *Index) Run(ctx context.Context) error {
	x.running.Store(true)
	defer x.running.Store(false)
	wait := x.opt.Delay
	for first := true; ; first = false {
		var err error
		if !first || x.lags(ctx) { // else it is opened when it is needed
			err = x.CatchUp(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			wait = min(max(2*wait, retry), time.Minute)
			x.opt.Log.Warn("index update failed; retrying", "err", err, "in", wait)
			x.Changed()
		default:
			wait = x.opt.Delay
		}
		select {
		case <-ctx.Done():
			return nil
		case <-x.wake:
		}
		t := time.NewTimer(wait) // gathers what comes
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
		select { // what woke it meanwhile is in this round
		case <-x.wake:
		default:
		}
	}
}

// lags says whether there is something to follow, without opening the index.
func (x *Index) lags(ctx context.Context) bool {
	q := x.st.Reader(ctx)
	last, err := x.base.LastChange(q)
	if err != nil {
		return true
	}
	done, err := x.base.Done(q, Name)
	return err != nil || done < last
}

// CatchUp returns when the index holds every change there was when it was
// called. An index that is not there, or does not fit, is made anew.
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
	g, err := x.open() //nolint:contextcheck // a search, which opens it as well, has none
	if err != nil {
		return err
	}
	if g == nil {
		return x.rebuild(ctx, nil)
	}
	if err := g.tidy(); err != nil { // after a crash
		return x.broke(ctx, g, err)
	}
	if lost, err := x.lost(ctx, g); err != nil || lost {
		if err == nil {
			err = x.rebuild(ctx, nil)
		}
		return err
	}
	n := 0
	for g.seq < last {
		k, err := x.step(ctx, g)
		if err != nil {
			return x.broke(ctx, g, err)
		}
		if k == 0 { // no change has this number
			break
		}
		n += k
	}
	if done, err := x.base.Done(q, Name); err != nil || done < g.seq {
		if err = errors.Join(err, x.tell(ctx, g.seq)); err != nil {
			return err
		}
	}
	if n > much {
		debug.FreeOSMemory()
	}
	return nil
}

// lost says that the store has dropped changes that an index has yet to see. An
// index that a search made before anything followed is not known to the store: from
// here on it is. work is held.
func (x *Index) lost(ctx context.Context, g *generation) (bool, error) {
	if x.quiet { // a search does not wait for another index
		return false, nil
	}
	if !x.known {
		if err := x.tell(ctx, g.seq); err != nil {
			return false, err
		}
	}
	return x.base.Dropped(x.st.Reader(ctx), g.seq)
}

// broke closes an index that could not be written, so that it is opened anew,
// as it was at the last batch that is whole. One that was taken out of use is
// made anew. work is held.
func (x *Index) broke(ctx context.Context, g *generation, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errGone) {
		return x.rebuild(ctx, nil)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cur == g {
		x.trouble, x.tried = err, time.Now()
		err = errors.Join(err, x.drop())
		if errors.Is(err, ErrDamaged) && g.path != "" {
			x.trouble = x.setAside(g.path, err)
		}
	}
	return err
}

// step writes one batch of changes and says how many there were.
func (x *Index) step(ctx context.Context, g *generation) (int, error) {
	list, err := x.base.Changes(x.st.Reader(ctx), g.seq, x.size())
	if err != nil || len(list) == 0 {
		return 0, err
	}
	seq := list[len(list)-1].Seq
	mark, _, err := x.base.Mark(x.st.Reader(ctx), seq)
	if err != nil {
		return 0, err
	}
	b := x.batch(list)
	setNumber(b, keySeq, seq)
	setNumber(b, keyMark, mark)
	if err := g.apply(b); err != nil {
		return 0, err
	}
	x.moved(g, seq)
	return len(list), nil
}

// moved notes that an index holds every change up to seq.
func (x *Index) moved(g *generation, seq int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	g.seq = seq
	x.overlay.drop(seq)
}

// size is how many rows to read next. work is held.
func (x *Index) size() int {
	if x.rows == 0 {
		x.rows = batch
	}
	return x.rows
}

func (x *Index) batch(list []knowledge.Change) *api.Batch {
	b := api.NewBatch()
	text := 0
	defer func() {
		switch {
		case text > muchText:
			x.rows = max(x.rows/8, 1)
		case text < muchText/16:
			x.rows = min(2*x.size(), batch)
		}
	}()
	for _, c := range list {
		text += len(c.Doc.Text)
		if c.Gone {
			b.Delete(id(c.N))
			continue
		}
		b.Update(newRow(c.N, c.Doc, knowledge.TermsOf(c.Doc, x.weights())))
	}
	return b
}

func (x *Index) weights() knowledge.Weights {
	return knowledge.Weights{Title: x.opt.Title, Speaker: x.opt.Speaker}
}

// tell lets the store drop the changes that the index holds for good, and has it
// keep those after them. work is held.
func (x *Index) tell(ctx context.Context, seq int64) error {
	if x.quiet {
		return nil
	}
	err := x.st.Write(ctx, func(tx *store.Tx) error { return x.base.DoneTx(tx, Name, seq) })
	x.known = x.known || err == nil
	return err
}

// mkdir makes the folder of the index.
func (x *Index) mkdir() error {
	if x.dir == "" {
		return nil
	}
	return os.MkdirAll(x.dir, 0o700)
}
