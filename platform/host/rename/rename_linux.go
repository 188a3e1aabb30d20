package rename

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// noReplace uses renameat2 with RENAME_NOREPLACE
// (https://man7.org/linux/man-pages/man2/rename.2.html). File systems that do not support it return
// EINVAL.
func noReplace(oldDir *os.Root, old string, newDir *os.Root, name string) error {
	return withFolders(oldDir, old, newDir, name, func(from, to int) error {
		err := unix.Renameat2(from, old, to, name, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
			return renameChecked(oldDir, old, newDir, name, func() error { return unix.Renameat(from, old, to, name) })
		}
		return err
	})
}
