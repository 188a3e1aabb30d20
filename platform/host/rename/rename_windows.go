package rename

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// noReplace uses MoveFileEx without MOVEFILE_REPLACE_EXISTING and MOVEFILE_COPY_ALLOWED. MoveFileEx
// needs paths; the open handles prevent other processes from renaming the folders during the call.
func noReplace(oldDir *os.Root, old string, newDir *os.Root, name string) error {
	from, err := windows.UTF16PtrFromString(filepath.Join(oldDir.Name(), old))
	if err != nil {
		return err
	}
	to, err := windows.UTF16PtrFromString(filepath.Join(newDir.Name(), name))
	if err != nil {
		return err
	}
	err = windows.MoveFileEx(from, to, windows.MOVEFILE_WRITE_THROUGH)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_NOT_SAME_DEVICE):
		return ErrCrossDevice
	}
	return &os.LinkError{Op: "rename", Old: old, New: name, Err: err}
}
