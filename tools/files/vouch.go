package files

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/platform/store"
	"hob/tools"
)

// isVouched reports whether the owner vouched for the content with the digest sum.
func (m provenanceMarks) isVouched(ctx context.Context, sum string) (bool, error) {
	_, found, err := m.queryOrigins(ctx, `SELECT '[]' FROM vouched_contents WHERE digest = ?`, sum)
	return found, err
}

// Vouch records that the owner vouches for the current content of a file, or of the files below a
// folder. In a trusted folder, this content then counts as the owner's words. record writes an
// audit entry in the same transaction.
func (f *Files) Vouch(ctx context.Context, path string, now time.Time, record func(*store.Tx) error) (api.TrustedFiles, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.openSpot(path)
	if err != nil {
		return api.TrustedFiles{}, err
	}
	defer s.Close()
	switch {
	case s.info == nil:
		return api.TrustedFiles{}, f.describeFileError("find", s, fs.ErrNotExist)
	case !f.isTrusted(s.abs):
		e := tools.Errorf(tools.Unsupported, "%s is not in a trusted folder", s.errorLabel())
		e.Remedy = "move the item into a folder of files.trusted first"
		return api.TrustedFiles{}, e
	}
	files, whole, err := f.treeDigests(ctx, s)
	if err != nil {
		return api.TrustedFiles{}, err
	}
	out := api.TrustedFiles{Path: s.abs, Left: !whole}
	err = f.marks.writeTx(ctx, func(tx *store.Tx) error {
		for _, x := range files {
			if x.sum == "" {
				continue
			}
			if _, err := tx.Exec(`INSERT INTO vouched_contents (digest, at) VALUES (?,?) ON CONFLICT (digest) DO UPDATE SET at = excluded.at`, x.sum, store.Millis(now)); err != nil {
				return err
			}
			out.Files++
		}
		return record(tx)
	})
	if err != nil || !whole {
		return out, err // keep the marks of paths, because the owner did not vouch for all content
	}
	if err := f.dropStale(ctx, s.abs); err != nil {
		return out, err
	}
	return out, f.marks.dropTree(ctx, s.abs)
}

// dropStale removes the marks of runs that were interrupted before settle.
func (f *Files) dropStale(ctx context.Context, path string) error {
	path = markKey(path)
	low, high := descendantRange(path)
	return f.marks.writeTx(ctx, func(tx *store.Tx) error {
		ids, err := runsBelowTx(tx, path)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if _, live := f.runs.Load(strings.TrimPrefix(id, runPrefix)); live {
				continue
			}
			if _, err := tx.Exec(`DELETE FROM outside_trees WHERE id = ? AND (path = ? OR path >= ? AND path < ?)`, id, path, low, high); err != nil {
				return err
			}
		}
		return nil
	})
}

// runsBelowTx returns the ids of the runs that mark a path or a path below it.
func runsBelowTx(tx *store.Tx, path string) (ids []string, err error) {
	low, high := descendantRange(path)
	rows, err := tx.Query(`SELECT DISTINCT id FROM outside_trees WHERE id <> '' AND (path = ? OR path >= ? AND path < ?)`, path, low, high)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
