package system

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile atomically replaces a private file (0600): after a crash it has either the old
// or the new content. It follows a symbolic link, so that a link into a dotfiles repository
// is kept.
func WriteFile(path string, data []byte) error { return WriteFrom(path, bytes.NewReader(data)) }

// WriteFrom is WriteFile with the content of r. If r fails, nothing is replaced. During the
// write, and after a crash, a temporary file exists beside it, whose name begins with
// the name of path between two dots.
func WriteFrom(path string, r io.Reader) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	} else if !errors.Is(err, fs.ErrNotExist) {
		return writeFailure(path, err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return writeFailure(path, err)
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*") // made with 0600
	if err != nil {
		return writeFailure(path, err)
	}
	tmp := f.Name()
	if err := fillFile(f, r); err != nil {
		return errors.Join(writeFailure(path, err), os.Remove(tmp))
	}
	if err := Rename(tmp, path); err != nil {
		return errors.Join(writeFailure(path, err), os.Remove(tmp))
	}
	syncDir(dir)
	return nil
}

func writeFailure(path string, err error) error {
	return fmt.Errorf("write %s: %w; %s", path, innermostError(err), writeRemedy(err, "make its folder writable"))
}

func fillFile(f *os.File, r io.Reader) error {
	_, err := io.Copy(f, r)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes a rename durable on systems that can sync folders (not on Windows, where
// NTFS journals it).
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}
