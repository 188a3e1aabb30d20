package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	api "github.com/blevesearch/bleve_index_api"

	"hob/platform/host/system"
	"hob/platform/store/erase"
)

// Compact removes the data of deleted rows from disk. It rewrites the index files without deleted
// terms and deletes the old files.
func (x *Index) Compact(ctx context.Context) error {
	x.work.Lock()
	defer x.work.Unlock()
	if err := x.compactCurrent(ctx); err != nil {
		return err
	}
	return x.removeUnusedFiles() // last, because earlier steps may move a damaged index to that folder
}

func (x *Index) compactCurrent(ctx context.Context) error {
	if err := x.catchUp(ctx); err != nil {
		return err
	}
	g, err := x.openCurrent() //nolint:contextcheck // searches share the open index, so ctx must not cancel opening it
	if err != nil {
		return err
	}
	if g == nil { // a search found damage and retired the index
		return x.rebuildIndex(ctx, nil)
	}
	clean, err := g.isClean()
	if err == nil && !clean {
		if err = g.mergeSegments(ctx); err == nil {
			clean, err = g.isClean()
		}
	}
	if err != nil {
		return x.closeBroken(ctx, g, err)
	}
	if clean {
		return nil
	}
	return x.rebuildIndex(ctx, nil) // a rebuild does not copy old files
}

// removeUnusedFiles removes unused files that contain deleted data: a damaged index that was moved
// aside, and the files that an interrupted rebuild left behind. The caller has locked work.
func (x *Index) removeUnusedFiles() error {
	if x.dir == "" {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := system.RemoveAll(filepath.Join(x.dir, asideFolder)); err != nil {
		return fmt.Errorf("index: remove the damaged index: %w", err)
	}
	name, err := currentName(x.dir)
	if err != nil {
		return err
	}
	if err := removeOldGenerations(x.dir, name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Eraser returns an eraser that calls Compact, which also removes the erased rows from the index.
func (x *Index) Eraser() erase.Eraser {
	return erase.Owned{Files: func(ctx context.Context, _ *erase.Erasure, _ *erase.Scrubber) (erase.Erased, error) {
		return erase.Erased{}, x.Compact(ctx)
	}}
}

// isClean reports whether no segment contains a deleted row and there are no unused files.
func (g *generation) isClean() (clean bool, err error) {
	err = recoverPanic(func() (err error) { clean, err = g.checkSegments(); return err })
	select {
	case <-g.gone: // the result is not valid
		return false, errGone
	default:
		return clean, err
	}
}

func (g *generation) checkSegments() (bool, error) {
	r, err := g.ix.Reader()
	if err != nil {
		return false, fmt.Errorf("index: read index files: %w", err)
	}
	defer func() { _ = r.Close() }()
	list := snapshotSegments(r)
	for _, s := range list {
		if gone := s.FullSize() - s.LiveSize(); gone > 1 || gone == 1 && !isRemovedRow(s, nobody) {
			return false, nil
		}
	}
	if g.path == "" {
		return true, nil
	}
	files, err := filepath.Glob(filepath.Join(system.EscapeGlob(g.path), "*.zap"))
	return len(files) <= len(list), err
}

// nobody is the id of a placeholder row without words.
const nobody = "nobody"

// mergeSegments rewrites the index into one segment. It adds and removes the placeholder row,
// because scorch does not rewrite a single segment.
func (g *generation) mergeSegments(ctx context.Context) error {
	b := api.NewBatch()
	b.Update(&indexRow{id: nobody})
	b.SetInternal([]byte(keyNobody), []byte("1"))
	if err := g.applyBatch(b); err != nil {
		return err
	}
	g.nobody = true
	if err := g.ix.ForceMerge(ctx, nil); err != nil {
		return fmt.Errorf("index: merge index files: %w", err)
	}
	if err := g.removePlaceholder(); err != nil {
		return err
	}
	return g.waitForCleanup(ctx)
}

// removePlaceholder removes the placeholder row.
func (g *generation) removePlaceholder() error {
	if !g.nobody {
		return nil
	}
	b := api.NewBatch()
	b.Delete(nobody)
	b.DeleteInternal([]byte(keyNobody))
	err := g.applyBatch(b)
	g.nobody = err != nil
	return err
}

// waitForCleanup waits for at most 1 s until scorch has deleted its unused files. Scorch deletes
// them with a delay after it has written new ones.
func (g *generation) waitForCleanup(ctx context.Context) error {
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for range 50 {
		if clean, err := g.isClean(); err != nil || clean {
			return err
		}
		b := api.NewBatch()
		b.SetInternal([]byte("purged"), []byte("1"))
		if err := g.applyBatch(b); err != nil {
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

// isRemovedRow reports whether the row with this id was deleted from a segment.
func isRemovedRow(s *scorch.SegmentSnapshot, id string) bool {
	at, err := s.Segment().DocNumbers([]string{id})
	return err == nil && !at.IsEmpty() && s.Deleted() != nil && s.Deleted().Contains(at.Minimum())
}

// snapshotSegments returns the segments of a snapshot.
func snapshotSegments(r api.IndexReader) []*scorch.SegmentSnapshot {
	if s, ok := r.(*scorch.IndexSnapshot); ok {
		return s.Segments()
	}
	return nil
}
