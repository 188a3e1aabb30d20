package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/retry"
	"hob/platform/store"
)

// Folder is a synced folder.
type Folder struct {
	Path  string `json:"path"` // absolute
	Realm string `json:"realm,omitempty"`
}

// Folders returns the folders added by AddFolder.
func (l *Library) Folders(ctx context.Context) (out []Folder, err error) {
	rows, err := l.opt.Store.Reader(ctx).Query(`SELECT path, realm FROM doc_folders ORDER BY path, realm`)
	if err != nil {
		return nil, fmt.Errorf("ingest: read folders: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var f Folder
		if err := rows.Scan(&f.Path, &f.Realm); err != nil {
			return nil, fmt.Errorf("ingest: read folders: %w", err)
		}
		out = append(out, f)
	}
	return out, rows.Err()
}

// AddFolder starts syncing a folder. fresh is false if it was already synced.
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
		return false, fmt.Errorf("ingest: read folder: %w", err)
	}
	return fresh, nil
}

// RemoveFolder stops syncing a folder. It keeps the folder's documents.
func (l *Library) RemoveFolder(ctx context.Context, f Folder) error {
	err := l.opt.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM doc_folders WHERE path = ? AND realm = ?`, f.Path, f.Realm)
		return err
	})
	if err != nil {
		return fmt.Errorf("ingest: change folder: %w", err)
	}
	return nil
}

// RemoveAll removes the documents of a folder, except those that the user also requested
// individually.
func (l *Library) RemoveAll(ctx context.Context, f Folder) error {
	err := l.opt.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE doc_sources SET folder = '' WHERE folder = ? AND realm = ? AND folder <> '' AND asked <> 0`, f.Path, f.Realm)
		return err
	})
	if err != nil {
		return fmt.Errorf("ingest: change folder: %w", err)
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

// inQuery repeats the condition of the partial index, so that SQLite uses that index.
const inQuery = `SELECT source FROM doc_sources WHERE folder = ? AND folder <> '' AND realm = ? ORDER BY n`

// sourcesIn returns the sources from a folder.
func (l *Library) sourcesIn(ctx context.Context, f Folder) (out []string, err error) {
	rows, err := l.opt.Store.Reader(ctx).Query(inQuery, f.Path, f.Realm)
	if err != nil {
		return nil, fmt.Errorf("ingest: list the sources of a folder: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, fmt.Errorf("ingest: list the sources of a folder: %w", err)
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// ErrFolderGone means that a folder is missing or empty. Its documents are kept, because a disk may
// be disconnected.
var ErrFolderGone = errors.New("the folder does not exist or is empty; its documents are kept. If you removed it on purpose, remove it from [knowledge] folders and forget its documents")

// Reconcile syncs a folder: it ingests new and changed files and removes the documents of deleted
// files.
func (l *Library) Reconcile(ctx context.Context, f Folder, progress func(done, total int, name string)) (Report, error) {
	before, err := l.sourcesIn(ctx, f)
	if err != nil {
		return Report{}, err
	}
	seen := map[string]bool{}
	var list []knowledge.File
	left, err := l.walkFiles(ctx, f.Path, func(e knowledge.File) error {
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
		r.addSkipped(f.Path, errors.New(left))
	}
	for i, e := range list {
		if progress != nil {
			progress(i, len(list), e.Path)
		}
		changed, err := l.ingestEntry(ctx, f, e, &r)
		if err != nil {
			return r, err
		}
		if changed && retry.Sleep(ctx, breath) != nil {
			return r, ctx.Err()
		}
	}
	for _, s := range before {
		if !seen[s] {
			if err := l.RemoveMissing(ctx, f, s); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// breath is the pause after each ingested file of a scan, during which other work can run.
const breath = 2 * time.Millisecond

// ingestEntry ingests one file of a folder. It returns only errors from ctx and from the store, and
// records other errors in r.
func (l *Library) ingestEntry(ctx context.Context, f Folder, e knowledge.File, r *Report) (changed bool, err error) {
	o, err := l.ingestFile(ctx, FileOptions{Realm: f.Realm, Folder: f.Path, Provenance: provenance.Hob}, e)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, ErrForgotten):
		return false, nil
	case err != nil && affectsOneFile(err):
		r.addSkipped(e.Path, err)
		return false, nil
	case err != nil:
		return false, err
	}
	r.addOutcome(o)
	return !o.Unchanged, nil
}

// RemoveMissing removes the documents of a deleted file in a folder.
func (l *Library) RemoveMissing(ctx context.Context, f Folder, name string) error {
	path, ok := strings.CutPrefix(name, "file:")
	if !ok {
		return nil
	}
	if there, err := l.opt.Files.Exists(path); err != nil || there {
		return nil //nolint:nilerr // an unreadable file is not a removed file
	}
	err := l.Remove(ctx, f.Realm, name)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// IngestChanged processes the files of a folder that were reported as changed.
func (l *Library) IngestChanged(ctx context.Context, f Folder, paths []string) (Report, error) {
	var r Report
	slices.Sort(paths)
	var gone []string
	for _, p := range slices.Compact(paths) {
		found := false
		_, err := l.walkFiles(ctx, p, func(e knowledge.File) error {
			found = true
			_, err := l.ingestEntry(ctx, f, e, &r)
			return err
		})
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			gone = append(gone, p)
		case err != nil && !found:
			r.addSkipped(p, err)
		case err != nil:
			return r, err
		}
	}
	if len(gone) == 0 {
		return r, nil
	}
	if there, err := l.opt.Files.Exists(f.Path); err != nil || !there {
		return r, ErrFolderGone
	}
	for _, p := range gone {
		if err := l.RemoveMissing(ctx, f, "file:"+p); err != nil {
			return r, err
		}
	}
	return r, nil
}
