// Package rename moves a file or folder from one open folder to another and never replaces an
// existing file. Folders are passed as open handles, so that no process can replace a folder with a
// link between a check and the move. The package does not copy across devices and applies no
// policy. The file tools and the trash use it.
package rename

import (
	"errors"
	"io/fs"
	"os"
)

// ErrCrossDevice means that the folders are on different devices or that the system cannot rename
// between them. The caller may copy instead.
var ErrCrossDevice = errors.New("source and destination are on different devices")

// NoReplace renames old in oldDir to name in newDir. If name already exists, it changes nothing,
// and the error wraps fs.ErrExist.
func NoReplace(oldDir *os.Root, old string, newDir *os.Root, name string) error {
	return noReplace(oldDir, old, newDir, name)
}

// renameChecked implements NoReplace on systems without an atomic call. It checks whether the name
// exists and then renames.
func renameChecked(oldDir *os.Root, old string, newDir *os.Root, name string, do func() error) error {
	if _, err := newDir.Lstat(name); err == nil {
		return &os.LinkError{Op: "rename", Old: old, New: name, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := oldDir.Lstat(old); err != nil {
		return err
	}
	return do()
}
