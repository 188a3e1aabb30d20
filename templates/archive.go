package templates

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// The bounds of an archive.
const (
	maxArchive  = 4 << 20 // as it lies on the disk
	maxUnpacked = 8 << 20 // of all that is in it
	maxEntries  = 1000
)

// readArchive reads a template out of an archive, into memory: nothing of it is
// ever written as it names itself.
func readArchive(name string, fi fs.FileInfo) (files, error) {
	switch {
	case !isArchive(name):
		return nil, fmt.Errorf("%w: %s is neither a folder nor an archive (.tar.gz, .tgz, .zip)", ErrInvalid, cut(name, 200))
	case !fi.Mode().IsRegular():
		return nil, notPlain(name)
	case fi.Size() > maxArchive:
		return nil, fmt.Errorf("%w: the archive is larger than %d MB", ErrInvalid, maxArchive>>20)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := bounded(f, name, maxArchive)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(strings.ToLower(name), ".zip") {
		return unzip(b)
	}
	return untar(b)
}

// unpacking gathers the entries of an archive. What is wrong with one of them is
// wrong with the whole.
type unpacking struct {
	out  files
	seen map[string]bool // by names without regard to case
	top  string          // the one folder in which all lies
	tops int
	bare bool // something lies at the top itself
}

// entry checks an entry's name and returns it clean; "" is a folder.
func (u *unpacking) entry(name string, mode fs.FileMode) (string, error) {
	if len(u.seen) >= maxEntries {
		return "", fmt.Errorf("%w: the archive has more than %d entries", ErrInvalid, maxEntries)
	}
	clean := strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	switch {
	case mode.IsDir() && (clean == "" || clean == "."):
		return "", nil
	case !mode.IsRegular() && !mode.IsDir():
		return "", notPlain(name)
	case !fs.ValidPath(clean) || strings.ContainsAny(clean, "\\:\x00"):
		return "", fmt.Errorf("%w: the archive contains a file with the path %q, which is outside the template", ErrInvalid, cut(name, 120))
	}
	low := strings.ToLower(clean)
	if u.seen[low] && !mode.IsDir() {
		return "", fmt.Errorf("%w: the archive contains %q twice", ErrInvalid, cut(clean, 120))
	}
	u.seen[low] = true
	top, _, below := strings.Cut(clean, "/")
	if top == "__MACOSX" { // what the Mac adds to archives; it counts, and is left alone
		return "", nil
	}
	if !below && !mode.IsDir() {
		u.bare = true
	}
	if top != u.top {
		u.top, u.tops = top, u.tops+1
	}
	if mode.IsDir() {
		return "", nil
	}
	return clean, nil
}

// limit is how much of an entry is kept, wherever the template lies in it.
func limit(name string) int {
	if n := wanted(name); n > 0 {
		return n
	}
	_, rest, _ := strings.Cut(name, "/")
	return wanted(rest)
}

// files are those of the template, which lies at the top or in the one folder
// there.
func (u *unpacking) files() files {
	if u.bare || u.tops != 1 || u.out[manifestFile] != nil {
		return u.only(u.out)
	}
	inner := files{}
	for name, b := range u.out {
		if rest, ok := strings.CutPrefix(name, u.top+"/"); ok {
			inner[rest] = b
		}
	}
	return u.only(inner)
}

func (*unpacking) only(f files) files {
	for name := range f {
		if wanted(name) == 0 {
			delete(f, name)
		}
	}
	return f
}

func damaged(err error) error {
	return fmt.Errorf("%w: read archive: %w", ErrInvalid, err)
}

// errTooMuch says that an archive unpacks to more than it may.
var errTooMuch = fmt.Errorf("%w: the unpacked archive is larger than %d MB", ErrInvalid, maxUnpacked>>20)

// budget fails once more was read than it has.
type budget struct {
	r    io.Reader
	left int64
}

func (b *budget) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooMuch
	}
	return n, err
}

func untar(b []byte) (files, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, damaged(err)
	}
	u := &unpacking{out: files{}, seen: map[string]bool{}}
	r := tar.NewReader(&budget{z, maxUnpacked})
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return u.files(), nil
		}
		if errors.Is(err, errTooMuch) {
			return nil, errTooMuch
		}
		if err != nil {
			return nil, damaged(err)
		}
		mode := h.FileInfo().Mode()
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue // of archives that git makes
		}
		if h.Typeflag == tar.TypeLink { // its mode looks like a file's
			return nil, notPlain(h.Name)
		}
		name, err := u.entry(h.Name, mode)
		if err != nil {
			return nil, err
		}
		n := limit(name)
		if name == "" || n == 0 {
			continue
		}
		if u.out[name], err = bounded(r, name, n); err != nil {
			return nil, err
		}
	}
}

func unzip(b []byte) (files, error) {
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, damaged(err)
	}
	u := &unpacking{out: files{}, seen: map[string]bool{}}
	total := uint64(0)
	for _, f := range r.File {
		if total += f.UncompressedSize64; total > maxUnpacked || f.UncompressedSize64 > maxUnpacked {
			return nil, errTooMuch
		}
		name, err := u.entry(f.Name, f.Mode())
		if err != nil {
			return nil, err
		}
		n := limit(name)
		if name == "" || n == 0 {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return nil, damaged(err)
		}
		u.out[name], err = bounded(in, name, n)
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
	}
	return u.files(), nil
}
