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
	"slices"
	"strings"

	"hob/knowledge/store"
	"hob/platform/provenance"
)

// Bounds of what is read to know contents again.
const (
	maxSummed  = 20_000    // files of one folder
	maxSumSize = 512 << 20 // bytes of all of them
)

// fileSum is a file and the digest of its content, "" if it was not read.
type fileSum struct{ path, sum string }

// markKey is the form of a path in the tables. Where names differ in case only,
// they are the same file.
func markKey(path string) string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.ToLower(path)
	}
	return path
}

// within are the origins of an untrusted folder that holds path, or is path.
func (m marks) within(ctx context.Context, path string) ([]provenance.Origin, bool, error) {
	path = markKey(path)
	var all []any
	for dir := path; ; dir = filepath.Dir(dir) {
		if all = append(all, dir); dir == filepath.Dir(dir) {
			break
		}
	}
	return m.one(ctx, `SELECT list FROM outside_trees WHERE path IN (?`+strings.Repeat(",?", len(all)-1)+`) LIMIT 1`, all...)
}

// noteTree notes that everything in a folder is untrusted, and the contents of its
// files, so that they stay so under other names.
func (m marks) noteTree(ctx context.Context, path string, files []fileSum, list []provenance.Origin) error {
	return m.write(ctx, func(tx *store.Tx) error {
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

// trustedNow reports whether what lies at a resolved path counts as the owner's
// words, as far as that can be told without reading it.
func (f *Files) trustedNow(ctx context.Context, abs string) bool {
	if !f.trusts(abs) {
		return false
	}
	_, marked, err := f.marks.at(ctx, abs)
	return err == nil && !marked
}

// carried says that what was moved into a trusted folder stays untrusted.
type carried bool

// note tells the user so.
func (c carried) note(s *spot) string {
	if !c {
		return ""
	}
	return fmt.Sprintf(" Its text still counts as untrusted. To vouch for it, run: hob file trust %q", s.shown())
}

// carryMarks notes, before a move, what will be untrusted at its destination: what
// is marked already, and what comes from a folder that is not trusted into one that
// is. done drops the marks of the source.
func (f *Files) carryMarks(ctx context.Context, from, to *spot, u *moveUndo) (marked carried, done func() error, err error) {
	if done, err = f.marks.move(ctx, from.abs, to.abs); err != nil || !f.trusts(from.abs) && !f.trusts(to.abs) {
		return false, done, err
	}
	list, outside, err := f.marks.at(ctx, from.abs)
	if err != nil {
		return false, nil, err
	}
	outside = outside || !f.trusts(from.abs)
	if !outside && f.trusts(to.abs) {
		return false, done, nil
	}
	files, whole, err := f.sums(ctx, from)
	if err != nil {
		return false, nil, err
	}
	own := u.Own
	u.Own = ""
	switch {
	case !outside: // the owner's own leaves a trusted folder
		if _, any, err := f.marks.below(ctx, from.abs); err == nil && !any && whole {
			u.Own = sumOf(files)
		}
		return false, done, nil
	case whole && own != "" && own == sumOf(files): // it comes back as it was
		return false, done, nil
	}
	list = provenance.Join([]provenance.Origin{{Kind: "file", Label: f.show(from.abs)}}, list)
	if from.info.IsDir() {
		for i := range files {
			files[i].path = filepath.Join(to.abs, files[i].path)
		}
		return carried(f.trusts(to.abs)), done, f.marks.noteTree(ctx, to.abs, files, list)
	}
	sum := ""
	if len(files) > 0 {
		sum = files[0].sum
	}
	return carried(f.trusts(to.abs)), done, f.marks.noteAll(ctx, []fileSum{{to.abs, sum}}, list)
}

// ownSum returns the digest of what lies in a trusted folder and is the owner's own,
// "" for everything else and for what is too much to read.
func (f *Files) ownSum(ctx context.Context, s *spot) (string, error) {
	if !f.trustedNow(ctx, s.abs) {
		return "", nil
	}
	if _, marked, err := f.marks.below(ctx, s.abs); err != nil || marked {
		return "", err
	}
	files, whole, err := f.sums(ctx, s)
	if err != nil || !whole {
		return "", err
	}
	return sumOf(files), nil
}

// unproven marks a place in a trusted folder as untrusted before something comes back
// to it. settle drops the mark if it is what own says.
func (f *Files) unproven(ctx context.Context, s *spot, own string) (settle func() error, err error) {
	if !f.trusts(s.abs) {
		return func() error { return nil }, nil
	}
	list := []provenance.Origin{{Kind: "file", Label: f.show(s.abs), Via: "trash"}}
	if err := f.marks.noteTree(ctx, s.abs, nil, list); err != nil {
		return nil, err
	}
	return func() error {
		now, err := f.at(s.abs)
		if err != nil {
			return err
		}
		defer now.Close()
		if now.info == nil { // nothing came back
			return f.marks.drop(ctx, s.abs)
		}
		files, whole, err := f.sums(ctx, now)
		if err != nil {
			return err
		}
		if whole && own != "" && own == sumOf(files) {
			return f.marks.drop(ctx, s.abs)
		}
		return f.marks.write(ctx, func(tx *store.Tx) error { return noteSumsTx(tx, files, encodeOrigins(list)) })
	}, nil
}

// sumOf is one digest of all names and contents.
func sumOf(files []fileSum) string {
	slices.SortFunc(files, func(a, b fileSum) int { return strings.Compare(a.path, b.path) })
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %s\n", f.path, f.sum)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sums returns the digests of a file, or of the files below a folder, with their
// paths relative to it. whole is false when it is not everything that is there.
func (f *Files) sums(ctx context.Context, s *spot) (files []fileSum, whole bool, err error) {
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
		read(func() (*os.File, error) { return s.open(maxSumSize) }, "", s.info.Size())
		return files, whole, ctx.Err()
	}
	dir, err := s.folder()
	if err != nil {
		return nil, false, f.trouble("list", s, err)
	}
	defer func() { _ = dir.Close() }()
	err = fs.WalkDir(dir.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			whole = false // a link may lead anywhere later
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

var errGrows = errors.New("the file grows")

// sumFile digests a file of a known size.
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
