//go:build linux || darwin

package rename

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func withFolders(oldDir *os.Root, old string, newDir *os.Root, name string, do func(from, to int) error) error {
	from, err := oldDir.Open(".")
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := newDir.Open(".")
	if err != nil {
		return err
	}
	defer to.Close()
	err = do(int(from.Fd()), int(to.Fd()))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EXDEV):
		return ErrCrossDevice
	}
	if _, ok := errors.AsType[unix.Errno](err); !ok {
		return err
	}
	return &os.LinkError{Op: "rename", Old: old, New: name, Err: err}
}
