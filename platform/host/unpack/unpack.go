// Package unpack reads archives from untrusted sources into memory: zip and tar, plain or compressed
// with gzip. It never writes to a path that an entry names. It refuses links, special files, paths
// that leave the archive, entries that occur twice, and archives that exceed the limits. Templates
// and skills use it.
package unpack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"hob/platform/text/visible"
)

// Limits of an archive. All fields but Entry are required.
type Limits struct {
	Unpacked int64 // bytes of the unpacked archive
	Entries  int
	// Entry returns the maximum size of a file in bytes, 0 if the file is not needed. Nil means that
	// all files are needed and may have any size up to Unpacked.
	Entry func(name string) int
}

// Contents are the files of an archive.
type Contents struct {
	// Files contains the needed files by their slash-separated paths.
	Files map[string]File
	// Top is the folder that contains everything else, "" if there is none.
	Top string
}

// File is a file of an archive.
type File struct {
	Data       []byte
	Executable bool
}

// IsArchive reports whether a path has the extension of an archive.
func IsArchive(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".zip") || strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz")
}

// Read reads an archive whose format follows from its name; see IsArchive.
func Read(name string, b []byte, l Limits) (Contents, error) {
	if strings.HasSuffix(strings.ToLower(name), ".zip") {
		return Zip(b, l)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return Contents{}, damagedError(err)
	}
	return Tar(z, l)
}

// Within returns the files below the only top-level folder if there is one, otherwise all files.
func (c Contents) Within() map[string]File {
	if c.Top == "" {
		return c.Files
	}
	out := map[string]File{}
	for name, f := range c.Files {
		if rest, ok := strings.CutPrefix(name, c.Top+"/"); ok {
			out[rest] = f
		}
	}
	return out
}

// collector collects the entries of an archive. A single invalid entry makes the archive invalid.
type collector struct {
	l    Limits
	out  map[string]File
	seen map[string]bool // names of the entries so far, in lower case
	top  string          // the first top-level folder
	tops int
	bare bool // the archive has a file at the top level
}

func newCollector(l Limits) *collector {
	if l.Entry == nil {
		l.Entry = func(string) int { return int(l.Unpacked) }
	}
	return &collector{l: l, out: map[string]File{}, seen: map[string]bool{}}
}

func (u *collector) collectedFiles() Contents {
	c := Contents{Files: u.out}
	if !u.bare && u.tops == 1 {
		c.Top = u.top
	}
	return c
}

// checkEntry checks the name of an entry and returns the cleaned name, or "" for a folder.
func (u *collector) checkEntry(name string, mode fs.FileMode) (string, error) {
	if len(u.seen) >= u.l.Entries {
		return "", fmt.Errorf("the archive has more than %d entries", u.l.Entries)
	}
	clean := strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	switch {
	case mode.IsDir() && (clean == "" || clean == "."):
		return "", nil
	case !mode.IsRegular() && !mode.IsDir():
		return "", notPlain(name)
	case !fs.ValidPath(clean) || strings.ContainsAny(clean, "\\:\x00"):
		return "", fmt.Errorf("the archive contains a file with the path %q, which is outside the archive", shortName(name))
	}
	low := strings.ToLower(clean)
	if u.seen[low] && !mode.IsDir() {
		return "", fmt.Errorf("the archive contains %q twice", shortName(clean))
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

func notPlain(name string) error {
	return fmt.Errorf("%s is not a regular file", shortName(name))
}

func damagedError(err error) error { return fmt.Errorf("read archive: %w", err) }

func shortName(s string) string {
	if r := []rune(s); len(r) > 120 {
		s = string(r[:120]) + "..."
	}
	return visible.Text(s)
}

// ReadBounded reads r. It fails if r contains more than limit bytes.
func ReadBounded(r io.Reader, name string, limit int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if tooMuch, ok := errors.AsType[tooMuchError](err); ok {
		return nil, tooMuch
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", shortName(name), err)
	}
	if len(b) > limit {
		return nil, fmt.Errorf("%s is larger than %d KB", shortName(name), limit>>10)
	}
	return b, nil
}

// tooMuchError means that the unpacked archive exceeds the size limit, in bytes.
type tooMuchError int64

func (e tooMuchError) Error() string {
	return fmt.Sprintf("the unpacked archive is larger than %d MB", int64(e)>>20)
}

// budget is a reader that fails when more bytes are read than the budget allows.
type budget struct {
	r    io.Reader
	left int64
	most int64
}

func (b *budget) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, tooMuchError(b.most)
	}
	return n, err
}

// Tar reads a tar archive.
func Tar(in io.Reader, l Limits) (Contents, error) {
	u := newCollector(l)
	r := tar.NewReader(&budget{in, l.Unpacked, l.Unpacked})
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return u.collectedFiles(), nil
		}
		if tooMuch, ok := errors.AsType[tooMuchError](err); ok {
			return Contents{}, tooMuch
		}
		if err != nil {
			return Contents{}, damagedError(err)
		}
		mode := h.FileInfo().Mode()
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue // skip global headers, which archives created by git contain
		}
		if h.Typeflag == tar.TypeLink { // check the type flag, because a hard link has the mode of a regular file
			return Contents{}, notPlain(h.Name)
		}
		name, err := u.checkEntry(h.Name, mode)
		if err != nil {
			return Contents{}, err
		}
		if err := u.addFile(r, name, mode); err != nil {
			return Contents{}, err
		}
	}
}

func (u *collector) addFile(r io.Reader, name string, mode fs.FileMode) error {
	if name == "" {
		return nil
	}
	n := u.l.Entry(name)
	if n == 0 {
		return nil
	}
	b, err := ReadBounded(r, name, n)
	if err != nil {
		return err
	}
	u.out[name] = File{Data: b, Executable: mode&0o100 != 0}
	return nil
}

// Zip reads a zip archive.
func Zip(b []byte, l Limits) (Contents, error) {
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return Contents{}, damagedError(err)
	}
	u := newCollector(l)
	total := uint64(0)
	most := uint64(max(l.Unpacked, 0))
	for _, f := range r.File {
		if total += f.UncompressedSize64; total > most || f.UncompressedSize64 > most {
			return Contents{}, tooMuchError(l.Unpacked)
		}
		name, err := u.checkEntry(f.Name, f.Mode())
		if err != nil {
			return Contents{}, err
		}
		if name == "" {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return Contents{}, damagedError(err)
		}
		if err = errors.Join(u.addFile(in, name, f.Mode()), in.Close()); err != nil {
			return Contents{}, err
		}
	}
	return u.collectedFiles(), nil
}
