package rename

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// noReplace uses renameatx_np with RENAME_EXCL (rename(2) of macOS). File systems that do not
// support it return ENOTSUP.
func noReplace(oldDir *os.Root, old string, newDir *os.Root, name string) error {
	return withFolders(oldDir, old, newDir, name, func(from, to int) error {
		err := unix.RenameatxNp(from, old, to, name, unix.RENAME_EXCL)
		if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
			return renameChecked(oldDir, old, newDir, name, func() error { return unix.Renameat(from, old, to, name) })
		}
		return err
	})
}
