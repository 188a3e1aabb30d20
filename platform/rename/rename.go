// Package rename moves a name from one open folder to another without ever
// replacing what is there. The folders are handles, so that nobody can swap a
// folder for a link between a check and the move. It does not copy across
// devices and knows no policy. The file tools and the trash call it.
package rename

import (
	"errors"
	"io/fs"
	"os"
)

// ErrCrossDevice says that the two folders are on different devices (or the system
// cannot rename between them); the caller may copy.
var ErrCrossDevice = errors.New("the two places are on different devices")

// NoReplace renames old in oldDir to name in newDir. When name exists already
// the error wraps fs.ErrExist, and nothing has changed.
func NoReplace(oldDir *os.Root, old string, newDir *os.Root, name string) error {
	return noReplace(oldDir, old, newDir, name)
}

// checked is the way where the system has no atomic call: look, then rename.
func checked(oldDir *os.Root, old string, newDir *os.Root, name string, do func() error) error {
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
