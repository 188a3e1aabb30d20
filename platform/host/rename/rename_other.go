//go:build !linux && !darwin && !windows

package rename

import "os"

func noReplace(oldDir *os.Root, old string, newDir *os.Root, name string) error {
	if oldDir != newDir {
		return ErrCrossDevice
	}
	return renameChecked(oldDir, old, newDir, name, func() error { return oldDir.Rename(old, name) })
}
