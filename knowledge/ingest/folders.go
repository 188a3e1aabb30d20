package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"hob/knowledge/store"
	"hob/platform/provenance"
)

// Folder is one that is kept in step.
type Folder struct {
	Path  string `json:"path"` // absolute
	Realm string `json:"realm,omitempty"`
}

// Folders lists those that were added by AddFolder.
func (l *Library) Folders(ctx context.Context) (out []Folder, err error) {
	rows, err := l.opt.Store.Reader(ctx).Query(`SELECT path, realm FROM doc_folders ORDER BY path, realm`)
	if err != nil {
		return nil, fmt.Errorf("ingest: folders: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var f Folder
		if err := rows.Scan(&f.Path, &f.Realm); err != nil {
			return nil, fmt.Errorf("ingest: folders: %w", err)
		}
		out = append(out, f)
	}
	return out, rows.Err()
}

// AddFolder has a folder kept in step; fresh is false when it was already.
func (l *Library) AddFolder(ctx context.Context, f Folder, now time.Time) (fresh bool, err error) {
	err = l.opt.Store.Write(ctx, func(tx *store.Tx) error {
		r, err := tx.Exec(`INSERT INTO doc_folders (path, realm, added_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, f.Path, f.Realm, store.Millis(now))
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		fresh = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("ingest: folder: %w", err)
	}
	return fresh, nil
}

// RemoveFolder ends that; what was taken in from it stays until it is removed.
func (l *Library) RemoveFolder(ctx context.Context, f Folder) error {
	err := l.opt.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM doc_folders WHERE path = ? AND realm = ?`, f.Path, f.Realm)
		return err
	})
	if err != nil {
		return fmt.Errorf("ingest: folder: %w", err)
	}
	return nil
}

// RemoveAll removes what came in with a folder; what somebody asked for besides
// stays.
func (l *Library) RemoveAll(ctx context.Context, f Folder) error {
	err := l.opt.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE doc_sources SET folder = '' WHERE folder = ? AND realm = ? AND folder <> '' AND asked`, f.Path, f.Realm)
		return err
	})
	if err != nil {
		return fmt.Errorf("ingest: folder: %w", err)
	}
	list, err := l.sourcesIn(ctx, f)
	if err != nil {
		return err
	}
	for _, s := range list {
		if err := l.Remove(ctx, f.Realm, s); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// inQuery repeats the condition of its index.
const inQuery = `SELECT source FROM doc_sources WHERE folder = ? AND folder <> '' AND realm = ? ORDER BY n`

// sourcesIn are the files that came from a folder.
func (l *Library) sourcesIn(ctx context.Context, f Folder) (out []string, err error) {
	rows, err := l.opt.Store.Reader(ctx).Query(inQuery, f.Path, f.Realm)
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, fmt.Errorf("ingest: %w", err)
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// ErrFolderGone says that a folder, or all that was in it, is not there. What
// was taken in from it is kept: a disk may have been taken away.
var ErrFolderGone = errors.New("the folder does not exist or is empty; its documents are kept. If you removed it on purpose, remove it from [knowledge] folders and forget its documents")

// Reconcile brings a folder in step: what is new or changed is taken in, what is
// gone is removed.
func (l *Library) Reconcile(ctx context.Context, f Folder, progress func(done, total int, name string)) (Report, error) {
	before, err := l.sourcesIn(ctx, f)
	if err != nil {
		return Report{}, err
	}
	seen := map[string]bool{}
	var list []Entry
	left, err := l.opt.Files.Walk(ctx, f.Path, func(e Entry) error {
		seen["file:"+e.Path] = true
		list = append(list, e)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(list) == 0 && len(before) > 0 {
		return Report{}, ErrFolderGone
	}
	if err != nil {
		return Report{}, err
	}
	r := Report{}
	if left != "" {
		r.skip(f.Path, errors.New(left))
	}
	for i, e := range list {
		if progress != nil {
			progress(i, len(list), e.Path)
		}
		changed, err := l.take(ctx, f, e, &r)
		if err != nil {
			return r, err
		}
		if changed && !rest(ctx) {
			return r, ctx.Err()
		}
	}
	for _, s := range before {
		if !seen[s] {
			if err := l.Gone(ctx, f, s); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// breath is how long a scan waits after each file that it took in: others come
// first.
const breath = 2 * time.Millisecond

func rest(ctx context.Context) bool {
	t := time.NewTimer(breath)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// take takes in one file of a folder; only ctx's errors and those of the store
// are errors.
func (l *Library) take(ctx context.Context, f Folder, e Entry, r *Report) (changed bool, err error) {
	o, err := l.file(ctx, Want{Realm: f.Realm, Folder: f.Path, Provenance: provenance.Hob}, e)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, ErrForgotten):
		return false, nil
	case err != nil && ofFile(err):
		r.skip(e.Path, err)
		return false, nil
	case err != nil:
		return false, err
	}
	r.add(o)
	return !o.Unchanged, nil
}

// Gone removes a file of a folder that is not there any more.
func (l *Library) Gone(ctx context.Context, f Folder, name string) error {
	path, ok := strings.CutPrefix(name, "file:")
	if !ok {
		return nil
	}
	if there, err := l.opt.Files.There(ctx, path); err != nil || there {
		return nil //nolint:nilerr // what cannot be seen is not gone
	}
	err := l.Remove(ctx, f.Realm, name)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Changed looks at files of a folder that were reported as changed.
func (l *Library) Changed(ctx context.Context, f Folder, paths []string) (Report, error) {
	var r Report
	slices.Sort(paths)
	var gone []string
	for _, p := range slices.Compact(paths) {
		found := false
		_, err := l.opt.Files.Walk(ctx, p, func(e Entry) error {
			found = true
			_, err := l.take(ctx, f, e, &r)
			return err
		})
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			gone = append(gone, p)
		case err != nil && !found:
			r.skip(p, err)
		case err != nil:
			return r, err
		}
	}
	if len(gone) == 0 {
		return r, nil
	}
	if there, err := l.opt.Files.There(ctx, f.Path); err != nil || !there {
		return r, ErrFolderGone
	}
	for _, p := range gone {
		if err := l.Gone(ctx, f, "file:"+p); err != nil {
			return r, err
		}
	}
	return r, nil
}
