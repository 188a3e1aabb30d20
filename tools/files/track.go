package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
)

// maxTracked limits the files in trusted folders that are compared before and after a command.
const maxTracked = 200_000

// runPrefix is the prefix of the id of a tree mark that belongs to a running command.
const runPrefix = "run:"

// TrackChanges records what a program changes in the trusted folders, because the program may write
// text of unknown origin. While the program runs, all items in these folders are untrusted. After
// settle, only the changed files are untrusted. id identifies the run. If Hob stops in between, the
// folders remain untrusted until the owner vouches for them.
func (f *Files) TrackChanges(ctx context.Context, id string, list []provenance.Origin) (settle func(context.Context) (changed int, err error), err error) {
	roots := f.trustedRoots()
	if len(roots) == 0 || f.marks.st == nil {
		return func(context.Context) (int, error) { return 0, nil }, nil
	}
	f.runs.Store(id, true)
	before, whole := trackFiles(roots)
	err = f.marks.writeTx(ctx, func(tx *store.Tx) error {
		for _, root := range roots {
			if err := noteTreeTx(tx, root, runPrefix+id, encodeOrigins(list)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.runs.Delete(id)
		return nil, err
	}
	return func(ctx context.Context) (int, error) {
		defer f.runs.Delete(id)
		after, all := trackFiles(roots)
		if !whole || !all {
			return 0, errUntracked
		}
		var files []fileSum
		for path, info := range after {
			if old := before[path]; old == nil || !sameState(old, info) {
				files = append(files, fileSum{path, f.sumAt(ctx, path, info)})
			}
		}
		if err := f.marks.noteAll(ctx, files, list); err != nil {
			return 0, err
		}
		return len(files), f.marks.writeTx(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(`DELETE FROM outside_trees WHERE id = ?`, runPrefix+id)
			return err
		})
	}, nil
}

var errUntracked = errors.New("cannot compare the trusted folders with their earlier state; they count as untrusted until you run hob file trust for each of them")

// trustedRoots returns the existing trusted folders with their links resolved, except folders
// inside another trusted folder.
func (f *Files) trustedRoots() (out []string) {
	for _, t := range f.trusted {
		real, err := filepath.EvalSymlinks(t)
		if err != nil {
			real = t // the command may have created the folder
		}
		out = append(out, real)
	}
	var outer []string
	for i, a := range out {
		covered := false
		for k, b := range out {
			if _, in := relativeTo(b, a); in && i != k && (a != b || k < i) {
				covered = true
			}
		}
		if !covered {
			outer = append(outer, a)
		}
	}
	return outer
}

// trackFiles returns the state of all files below the roots. whole is false if the result omits
// some files.
func trackFiles(roots []string) (files map[string]fs.FileInfo, whole bool) {
	files, whole = map[string]fs.FileInfo{}, true
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil || len(files) >= maxTracked:
				whole = false
				return fs.SkipAll
			case d.IsDir() || !d.Type().IsRegular():
				return nil
			}
			info, err := d.Info()
			if err == nil {
				files[path] = info
			} else if !errors.Is(err, fs.ErrNotExist) {
				whole = false
			}
			return nil
		})
	}
	return files, whole
}

// sameState reports whether a and b describe the same state of a file.
func sameState(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && changeTime(a).Equal(changeTime(b))
}

// sumAt returns the digest of a file in a trusted folder. It returns "" if the file cannot be read;
// the path of the file is then still marked.
func (f *Files) sumAt(ctx context.Context, path string, info fs.FileInfo) string {
	if info.Size() > maxSumSize {
		return ""
	}
	sum, err := sumFile(ctx, func() (*os.File, error) {
		dir, name := filepath.Split(path)
		root, err := os.OpenRoot(strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator))
		if err != nil {
			return nil, err
		}
		defer func() { _ = root.Close() }()
		return root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	}, info.Size())
	if err != nil {
		return ""
	}
	return sum
}
