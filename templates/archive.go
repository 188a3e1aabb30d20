package templates

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"hob/platform/host/unpack"
)

// Limits of a template archive.
const (
	maxArchive  = 4 << 20 // compressed size in bytes
	maxUnpacked = 8 << 20 // uncompressed size in bytes
	maxEntries  = 1000
)

// readArchive reads a template from an archive into memory.
func readArchive(name string, fi fs.FileInfo) (files, error) {
	switch {
	case !unpack.IsArchive(name):
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
	c, err := unpack.Read(name, b, unpack.Limits{Unpacked: maxUnpacked, Entries: maxEntries, Entry: entryLimit})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	found := c.Files
	if _, bare := c.Files[manifestFile]; !bare {
		found = c.Within()
	}
	out := files{}
	for name, f := range found {
		if wantedSize(name) > 0 {
			out[name] = f.Data
		}
	}
	return out, nil
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
