// Package trash moves files and folders to the trash of the user's desktop and restores them. It
// uses the freedesktop.org Trash specification 1.0 on Linux
// (https://specifications.freedesktop.org/trash-spec/latest/), the Trash folders of Finder on
// macOS, and the Recycle Bin on Windows.
//
// It never deletes permanently: Put fails if the location has no trash. The file tools decide what
// may be moved, and pass the folder as an open handle.
package trash

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Errors that callers can handle.
var (
	// ErrNoTrash means that the location has no trash, such as a network drive or a read-only or
	// foreign volume.
	ErrNoTrash = errors.New("no trash folder for this location")
	// ErrGone means that the item is no longer in the trash.
	ErrGone = errors.New("item is no longer in the trash")
)

// Options of New; the zero value is useful.
type Options struct {
	// Home is the user's home folder (default os.UserHomeDir).
	Home string
	// DataHome is $XDG_DATA_HOME (default: that variable, then Home/.local/share); Linux only.
	DataHome string
}

// Store is the user's trash. Its methods may be called concurrently.
type Store struct{ opt Options }

// New checks the options.
func New(opt Options) (*Store, error) {
	if opt.Home == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("trash: find the home folder: %w; set HOME", err)
		}
		opt.Home = home
	}
	if opt.DataHome == "" {
		opt.DataHome = os.Getenv("XDG_DATA_HOME")
	}
	if !filepath.IsAbs(opt.DataHome) { // the specification requires that relative paths are ignored
		opt.DataHome = filepath.Join(opt.Home, ".local", "share")
	}
	return &Store{opt: opt}, nil
}

// Item is an item in the trash. It can be stored and passed to Restore later.
type Item struct {
	Original string `json:"original"`       // original path, absolute
	Location string `json:"location"`       // path in the trash
	Info     string `json:"info,omitempty"` // path of the file that describes the item to the desktop
}

// Put moves name, an entry of the open folder dir, to the trash. at is the deletion time in the
// user's time zone. If Put returns an error, it has moved nothing.
func (c *Store) Put(dir *os.Root, name string, at time.Time) (Item, error) {
	if name == "" || name == "." || name == ".." || filepath.Base(name) != name {
		return Item{}, fmt.Errorf("trash: %q is not a file name", name)
	}
	if _, err := dir.Lstat(name); err != nil {
		return Item{}, fmt.Errorf("trash: find the file: %w", err)
	}
	item, err := c.moveToTrash(dir, name, at)
	if err != nil {
		return Item{}, fmt.Errorf("trash: %s: %w", name, err)
	}
	return item, nil
}

// Restore moves an item back to name in the open folder dir. The error wraps fs.ErrExist if the
// name exists, or ErrGone if the trash was emptied. In both cases nothing was moved.
func (c *Store) Restore(item Item, dir *os.Root, name string) error {
	if err := c.restoreItem(item, dir, name); err != nil {
		return fmt.Errorf("trash: restore %s: %w", name, err)
	}
	return nil
}

// maxName leaves room for ".trashinfo" and a number in a file name of 255 bytes.
const maxName = 236

// candidateName returns the n-th name to try for a file called name: "a.txt",
// "a.2.txt", "a.3.txt", ...
func candidateName(name string, n int, sep string) string {
	ext := filepath.Ext(name)
	if ext == name || len(ext) > 16 {
		ext = ""
	}
	base := strings.TrimSuffix(name, ext)
	if limit := maxName - len(ext); len(base) > limit {
		base = base[:limit]
		for !utf8.ValidString(base) && len(base) > limit-utf8.UTFMax {
			base = base[:len(base)-1]
		}
	}
	if n == 1 {
		return base + ext
	}
	return fmt.Sprintf("%s%s%d%s", base, sep, n, ext)
}

// maxTries limits the search for a free name.
const maxTries = 10_000

// errIndex means that a $I file cannot be parsed.
var errIndex = errors.New("not a metadata file of the Recycle Bin")

// parseIndex returns the original path of an item from its $I file. The path has 260 UTF-16 units
// in version 1 (Vista to 8.1). In version 2 (Windows 10 and later) its length precedes it, in units
// including the terminating zero. Microsoft does not document the format; see
// https://github.com/libyal/dtformats/blob/main/documentation/Windows%20Recycle.Bin%20file%20formats.asciidoc
func parseIndex(b []byte) (original string, err error) {
	if len(b) < 24 {
		return "", fmt.Errorf("%w: %d bytes", errIndex, len(b))
	}
	var name []byte
	switch v := binary.LittleEndian.Uint64(b); v {
	case 1:
		name = b[24:]
	case 2:
		if len(b) < 28 {
			return "", fmt.Errorf("%w: %d bytes", errIndex, len(b))
		}
		units := uint64(binary.LittleEndian.Uint32(b[24:]))
		name = b[28:]
		if units > 1<<15 || uint64(len(name)) < 2*units {
			return "", fmt.Errorf("%w: file is truncated", errIndex)
		}
		name = name[:2*units]
	default:
		return "", fmt.Errorf("%w: version %d", errIndex, v)
	}
	var units []uint16
	for i := 0; i+1 < len(name); i += 2 {
		u := binary.LittleEndian.Uint16(name[i:])
		if u == 0 {
			break
		}
		units = append(units, u)
	}
	if len(units) == 0 {
		return "", fmt.Errorf("%w: file name is missing", errIndex)
	}
	return string(utf16.Decode(units)), nil
}
