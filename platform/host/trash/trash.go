// Package trash moves files and folders to the trash of the user's desktop and
// restores them. It uses the freedesktop.org Trash specification 1.0 on Linux
// (https://specifications.freedesktop.org/trash-spec/latest/), the Trash folders of
// Finder on macOS and the Recycle Bin on Windows.
//
// It never deletes: Put fails where the location has no trash. The file tools decide
// what may be moved and pass the folder as an open handle.
package trash

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

// Errors that callers can handle.
var (
	// ErrNoTrash means that the location has no trash (a network drive, a read-only or foreign volume).
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
			return nil, fmt.Errorf("trash: %w; set HOME", err)
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

// Item is an item in the trash; it can be stored and passed to Restore later.
type Item struct {
	Original string `json:"original"`       // where it was, absolute
	Location string `json:"location"`       // where it is now
	Info     string `json:"info,omitempty"` // the file that describes it to the desktop
}

// Put moves name, an entry of the open folder dir, to the trash. at is the deletion
// time in the user's time zone. On an error nothing was moved.
func (c *Store) Put(dir *os.Root, name string, at time.Time) (Item, error) {
	if name == "" || name == "." || name == ".." || filepath.Base(name) != name {
		return Item{}, fmt.Errorf("trash: %q is not a file name", name)
	}
	if _, err := dir.Lstat(name); err != nil {
		return Item{}, fmt.Errorf("trash: %w", err)
	}
	item, err := c.moveToTrash(dir, name, at)
	if err != nil {
		return Item{}, fmt.Errorf("trash: %s: %w", name, err)
	}
	return item, nil
}

// Restore moves an item back to name in the open folder dir. The error wraps fs.ErrExist if the name exists, ErrGone
// if the trash was emptied. In both cases nothing was moved.
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
