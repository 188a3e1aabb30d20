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

// Limits of a template archive.
const (
	maxArchive  = 4 << 20 // compressed size in bytes
	maxUnpacked = 8 << 20 // uncompressed size in bytes
	maxEntries  = 1000
)

// readArchive reads a template from an archive into memory. It never writes to a path that an entry
// of the archive names.
func readArchive(name string, fi fs.FileInfo) (files, error) {
	switch {
	case !isArchive(name):
		return nil, fmt.Errorf("%w: %s is neither a folder nor an archive (.tar.gz, .tgz, .zip)", ErrInvalid, sanitizeExcerpt(name, 200))
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
	b, err := readBounded(f, name, maxArchive)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(strings.ToLower(name), ".zip") {
		return unpackZip(b)
	}
	return unpackTar(b)
}

// archiveContents collects the entries of an archive. A single invalid entry makes the archive
// invalid.
type archiveContents struct {
	out  files
	seen map[string]bool // names of the entries so far, in lower case
	top  string          // the only top-level folder, if any
	tops int
	bare bool // the archive has a file at the top level
}

// checkEntry checks the name of an entry and returns the cleaned name, or "" for a folder.
func (u *archiveContents) checkEntry(name string, mode fs.FileMode) (string, error) {
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
		return "", fmt.Errorf("%w: the archive contains a file with the path %q, which is outside the template", ErrInvalid, sanitizeExcerpt(name, 120))
	}
	low := strings.ToLower(clean)
	if u.seen[low] && !mode.IsDir() {
		return "", fmt.Errorf("%w: the archive contains %q twice", ErrInvalid, sanitizeExcerpt(clean, 120))
	}
	u.seen[low] = true
	top, _, below := strings.Cut(clean, "/")
	if top == "__MACOSX" { // macOS metadata counts toward the limits but is otherwise ignored
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

// entryLimit returns the maximum number of bytes that are read from an entry. The template may be
// at the top level of the archive or in a folder.
func entryLimit(name string) int {
	if n := wantedSize(name); n > 0 {
		return n
	}
	_, rest, _ := strings.Cut(name, "/")
	return wantedSize(rest)
}

// templateFiles returns the template's files, which are at the top level of the archive or in its
// only folder.
func (u *archiveContents) templateFiles() files {
	if u.bare || u.tops != 1 || u.out[manifestFile] != nil {
		return u.keepWanted(u.out)
	}
	inner := files{}
	for name, b := range u.out {
		if rest, ok := strings.CutPrefix(name, u.top+"/"); ok {
			inner[rest] = b
		}
	}
	return u.keepWanted(inner)
}

func (*archiveContents) keepWanted(f files) files {
	for name := range f {
		if wantedSize(name) == 0 {
			delete(f, name)
		}
	}
	return f
}

func damagedError(err error) error {
	return fmt.Errorf("%w: read archive: %w", ErrInvalid, err)
}

// errTooMuch means that the unpacked archive exceeds the size limit.
var errTooMuch = fmt.Errorf("%w: the unpacked archive is larger than %d MB", ErrInvalid, maxUnpacked>>20)

// budget is a reader that fails when more bytes are read than the budget allows.
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

func unpackTar(b []byte) (files, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, damagedError(err)
	}
	u := &archiveContents{out: files{}, seen: map[string]bool{}}
	r := tar.NewReader(&budget{z, maxUnpacked})
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return u.templateFiles(), nil
		}
		if errors.Is(err, errTooMuch) {
			return nil, errTooMuch
		}
		if err != nil {
			return nil, damagedError(err)
		}
		mode := h.FileInfo().Mode()
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue // skip global headers, which archives created by git contain
		}
		if h.Typeflag == tar.TypeLink { // check the type flag, because a hard link has the mode of a regular file
			return nil, notPlain(h.Name)
		}
		name, err := u.checkEntry(h.Name, mode)
		if err != nil {
			return nil, err
		}
		n := entryLimit(name)
		if name == "" || n == 0 {
			continue
		}
		if u.out[name], err = readBounded(r, name, n); err != nil {
			return nil, err
		}
	}
}

func unpackZip(b []byte) (files, error) {
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, damagedError(err)
	}
	u := &archiveContents{out: files{}, seen: map[string]bool{}}
	total := uint64(0)
	for _, f := range r.File {
		if total += f.UncompressedSize64; total > maxUnpacked || f.UncompressedSize64 > maxUnpacked {
			return nil, errTooMuch
		}
		name, err := u.checkEntry(f.Name, f.Mode())
		if err != nil {
			return nil, err
		}
		n := entryLimit(name)
		if name == "" || n == 0 {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return nil, damagedError(err)
		}
		u.out[name], err = readBounded(in, name, n)
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
	}
	return u.templateFiles(), nil
}
