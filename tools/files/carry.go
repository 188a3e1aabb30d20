package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/sorting"
)

// Limits for reading file contents. Their digests are needed to recognize the files later.
const (
	maxSummed  = 20_000    // maximum number of files in one folder
	maxSumSize = 512 << 20 // maximum total size of all files, in bytes
)

// fileSum contains the path of a file and the digest of its content. The digest is "" if the file
// was not read.
type fileSum struct{ path, sum string }

// markKey returns the form of a path that the tables contain. On systems that ignore case, paths
// that differ only in case refer to the same file.
func markKey(path string) string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.ToLower(path)
	}
	return path
}

// enclosingTree returns the query for the list of an untrusted folder that is or contains path, and its
// arguments, the first of which is path.
func enclosingTree(path string) (query string, args []any) {
	for dir := markKey(path); ; dir = filepath.Dir(dir) {
		if args = append(args, dir); dir == filepath.Dir(dir) {
			break
		}
	}
	query = "SELECT list FROM outside_trees WHERE path IN (?1"
	for i := range args[1:] {
		query += fmt.Sprintf(",?%d", i+2)
	}
	return query + ")", args
}

// noteTree records that a folder is untrusted. It also records the digests of the folder's files,
// so that they remain untrusted under other names.
func (m provenanceMarks) noteTree(ctx context.Context, path string, files []fileSum, list []provenance.Origin) error {
	return m.writeTx(ctx, func(tx *store.Tx) error {
		if err := noteTreeTx(tx, path, "", encodeOrigins(list)); err != nil {
			return err
		}
		return noteSumsTx(tx, files, encodeOrigins(list))
	})
}

func noteTreeTx(tx *store.Tx, path, id, raw string) error {
	_, err := tx.Exec(`INSERT INTO outside_trees (path, id, list) VALUES (?,?,?) ON CONFLICT (path, id) DO UPDATE SET list = excluded.list`, markKey(path), id, raw)
	return err
}

// trustedNow reports whether the item at a resolved path counts as the owner's words. It does not
// read the file.
func (f *Files) trustedNow(ctx context.Context, abs string) bool {
	if !f.isTrusted(abs) {
		return false
	}
	_, marked, err := f.marks.contentOrigins(ctx, abs)
	return err == nil && !marked
}

// untrustedMove is true if an item that is moved into a trusted folder remains untrusted.
type untrustedMove bool

// untrustedMoveNote returns the note about the move for the user.
func (c untrustedMove) untrustedMoveNote(s *openPath) string {
	if !c {
		return ""
	}
	return fmt.Sprintf(" Its text still counts as untrusted. To vouch for the text, run: hob file trust %q", s.displayName())
}

// carryMarks records, before a move, which items will be untrusted at the destination: marked
// items, and items that move from an untrusted folder into a trusted one. done removes the marks of
// the source.
func (f *Files) carryMarks(ctx context.Context, from, to *openPath, u *moveUndo) (marked untrustedMove, done func() error, err error) {
	if done, err = f.marks.moveMarks(ctx, from.abs, to.abs); err != nil || !f.isTrusted(from.abs) && !f.isTrusted(to.abs) {
		return false, done, err
	}
	list, outside, err := f.marks.contentOrigins(ctx, from.abs)
	if err != nil {
		return false, nil, err
	}
	outside = outside || !f.isTrusted(from.abs)
	if !outside && f.isTrusted(to.abs) {
		return false, done, nil
	}
	files, whole, err := f.treeDigests(ctx, from)
	if err != nil {
		return false, nil, err
	}
	own := u.Own
	u.Own = ""
	switch {
	case !outside: // a trusted item is moved out of a trusted folder
		if _, any, err := f.marks.treeOrigins(ctx, from.abs); err == nil && !any && whole {
			u.Own = sumOf(files)
		}
		return false, done, nil
	case whole && own != "" && own == sumOf(files): // the item returns unchanged, so it is trusted again
		return false, done, nil
	}
	list = provenance.Join([]provenance.Origin{{Kind: "file", Label: f.displayPath(from.abs)}}, list)
	if from.info.IsDir() {
		for i := range files {
			files[i].path = filepath.Join(to.abs, files[i].path)
		}
		return untrustedMove(f.isTrusted(to.abs)), done, f.marks.noteTree(ctx, to.abs, files, list)
	}
	sum := ""
	if len(files) > 0 {
		sum = files[0].sum
	}
	return untrustedMove(f.isTrusted(to.abs)), done, f.marks.noteAll(ctx, []fileSum{{to.abs, sum}}, list)
}

// ownSum returns the digest of a trusted item in a trusted folder. It returns "" for all other
// items and for items that are too large to read.
func (f *Files) ownSum(ctx context.Context, s *openPath) (string, error) {
	if !f.trustedNow(ctx, s.abs) {
		return "", nil
	}
	if _, marked, err := f.marks.treeOrigins(ctx, s.abs); err != nil || marked {
		return "", err
	}
	files, whole, err := f.treeDigests(ctx, s)
	if err != nil || !whole {
		return "", err
	}
	return sumOf(files), nil
}

// markForRestore marks a path in a trusted folder as untrusted before an item is restored there.
// settle removes the mark if the item has the digest own.
func (f *Files) markForRestore(ctx context.Context, s *openPath, own string) (settle func() error, err error) {
	if !f.isTrusted(s.abs) {
		return func() error { return nil }, nil
	}
	list := []provenance.Origin{{Kind: "file", Label: f.displayPath(s.abs), Via: "trash"}}
	if err := f.marks.noteTree(ctx, s.abs, nil, list); err != nil {
		return nil, err
	}
	return func() error {
		now, err := f.openSpot(s.abs)
		if err != nil {
			return err
		}
		defer now.Close()
		if now.info == nil { // no item was restored
			return f.marks.dropTree(ctx, s.abs)
		}
		files, whole, err := f.treeDigests(ctx, now)
		if err != nil {
			return err
		}
		if whole && own != "" && own == sumOf(files) {
			return f.marks.dropTree(ctx, s.abs)
		}
		return f.marks.writeTx(ctx, func(tx *store.Tx) error { return noteSumsTx(tx, files, encodeOrigins(list)) })
	}, nil
}

// sumOf returns one digest for all names and contents of files.
func sumOf(files []fileSum) string {
	sorting.ByFunc(files, func(a, b fileSum) int { return strings.Compare(a.path, b.path) })
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %s\n", f.path, f.sum)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// treeDigests returns the digests of a file, or of the files below a folder with their relative
// paths. whole is false if some files were omitted.
func (f *Files) treeDigests(ctx context.Context, s *openPath) (files []fileSum, whole bool, err error) {
	if s.info == nil {
		return nil, false, fs.ErrNotExist
	}
	left, whole := int64(maxSumSize), true
	read := func(open func() (*os.File, error), rel string, size int64) {
		if left -= size; left < 0 || len(files) >= maxSummed {
			whole = false
			return
		}
		sum, err := sumFile(ctx, open, size)
		whole = whole && err == nil
		files = append(files, fileSum{rel, sum})
	}
	if !s.info.IsDir() {
		read(func() (*os.File, error) { return s.openFile(maxSumSize) }, "", s.info.Size())
		return files, whole, ctx.Err()
	}
	dir, err := s.openFolder()
	if err != nil {
		return nil, false, f.describeFileError("list", s, err)
	}
	defer func() { _ = dir.Close() }()
	err = fs.WalkDir(dir.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			whole = false // the target of a link may change later
			return ctx.Err()
		}
		if d.IsDir() {
			return ctx.Err()
		}
		info, err := d.Info()
		if err != nil {
			whole = false
			return ctx.Err()
		}
		read(func() (*os.File, error) { return dir.OpenFile(rel, os.O_RDONLY|openFlags, 0) }, rel, info.Size())
		return ctx.Err()
	})
	return files, whole, err
}

var errGrows = errors.New("the file is growing")

// sumFile returns the digest of a file of a known size.
func sumFile(ctx context.Context, open func() (*os.File, error), size int64) (string, error) {
	file, err := open()
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(&reader{ctx: ctx, r: file}, size+1))
	if err == nil && n > size {
		err = errGrows
	}
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
