package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	api "github.com/blevesearch/bleve_index_api"

	"hob/knowledge/store"
	"hob/platform/erase"
	"hob/platform/system"
)

// Compact returns when nothing is left on the disk of the rows that were removed
// before it was called: what the index has of them is not merely marked as
// gone, its files are written anew without their words and the old ones removed.
func (x *Index) Compact(ctx context.Context) error {
	x.work.Lock()
	defer x.work.Unlock()
	if err := x.compact(ctx); err != nil {
		return err
	}
	return x.dropRest() // last: on the way there a damaged one may be put aside
}

func (x *Index) compact(ctx context.Context) error {
	if err := x.catchUp(ctx); err != nil {
		return err
	}
	g, err := x.open() //nolint:contextcheck // a search, which opens it as well, has none
	if err != nil {
		return err
	}
	if g == nil { // a search took it out of use
		return x.rebuild(ctx, nil)
	}
	clean, err := g.clean()
	if err == nil && !clean {
		if err = g.merge(ctx); err == nil {
			clean, err = g.clean()
		}
	}
	if err != nil {
		return x.broke(ctx, g, err)
	}
	if clean {
		return nil
	}
	return x.rebuild(ctx, nil) // nothing of the old one stays then
}

// dropRest removes what is not in use and holds what was removed since: the
// damaged index that was put aside, and what an end in the middle of making the
// index anew left. work is held.
func (x *Index) dropRest() error {
	if x.dir == "" {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := system.RemoveAll(filepath.Join(x.dir, asideFolder)); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	name, err := currentName(x.dir)
	if err != nil {
		return err
	}
	if err := sweep(x.dir, name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Tables implements erase.Eraser: the index has none.
func (x *Index) Tables() []string { return nil }

// EraseTx implements erase.Eraser: the index follows what goes of the rows.
func (x *Index) EraseTx(*store.Tx, *erase.Erasure, *erase.Scrubber) (erase.Erased, error) {
	return erase.Erased{}, nil
}

// Purge implements erase.Eraser, see Compact.
func (x *Index) Purge(ctx context.Context, _ *erase.Erasure, _ *erase.Scrubber) (erase.Erased, error) {
	return erase.Erased{}, x.Compact(ctx)
}

// clean says that no segment holds a removed row and no file lies about that is
// not in use.
func (g *generation) clean() (clean bool, err error) {
	err = guarded(func() (err error) { clean, err = g.cleanly(); return err })
	select {
	case <-g.gone: // nothing of it holds
		return false, errGone
	default:
		return clean, err
	}
}

func (g *generation) cleanly() (bool, error) {
	r, err := g.ix.Reader()
	if err != nil {
		return false, fmt.Errorf("index: %w", err)
	}
	defer func() { _ = r.Close() }()
	list := segments(r)
	for _, s := range list {
		if gone := s.FullSize() - s.LiveSize(); gone > 1 || gone == 1 && !lacks(s, nobody) {
			return false, nil
		}
	}
	if g.path == "" {
		return true, nil
	}
	files, err := filepath.Glob(filepath.Join(escape(g.path), "*.zap"))
	return len(files) <= len(list), err
}

// escape makes a folder's name match itself alone.
func escape(path string) string {
	out := make([]rune, 0, len(path))
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' && os.PathSeparator != '\\' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// nobody is a row of no words.
const nobody = "nobody"

// merge writes everything into one segment. A row of no words comes and goes
// meanwhile, because a segment that is alone is not written anew.
func (g *generation) merge(ctx context.Context) error {
	b := api.NewBatch()
	b.Update(&row{id: nobody})
	b.SetInternal([]byte(keyNobody), []byte("1"))
	if err := g.apply(b); err != nil {
		return err
	}
	g.nobody = true
	if err := g.ix.ForceMerge(ctx, nil); err != nil {
		return fmt.Errorf("index: merge: %w", err)
	}
	if err := g.tidy(); err != nil {
		return err
	}
	return g.settle(ctx)
}

// tidy removes the row of no words.
func (g *generation) tidy() error {
	if !g.nobody {
		return nil
	}
	b := api.NewBatch()
	b.Delete(nobody)
	b.DeleteInternal([]byte(keyNobody))
	err := g.apply(b)
	g.nobody = err != nil
	return err
}

// settle waits until scorch has removed the files that are not in use any more,
// which it does some time after it wrote others; for a while.
func (g *generation) settle(ctx context.Context) error {
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for range 50 {
		if clean, err := g.clean(); err != nil || clean {
			return err
		}
		b := api.NewBatch()
		b.SetInternal([]byte("purged"), []byte("1"))
		if err := g.apply(b); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), errors.New("index: old files are not removed yet"))
		case <-t.C:
		}
	}
	return nil
}

// lacks reports whether what was removed of a segment is the row of an id.
func lacks(s *scorch.SegmentSnapshot, id string) bool {
	at, err := s.Segment().DocNumbers([]string{id})
	return err == nil && !at.IsEmpty() && s.Deleted() != nil && s.Deleted().Contains(at.Minimum())
}

// segments of a snapshot.
func segments(r api.IndexReader) []*scorch.SegmentSnapshot {
	if s, ok := r.(*scorch.IndexSnapshot); ok {
		return s.Segments()
	}
	return nil
}
