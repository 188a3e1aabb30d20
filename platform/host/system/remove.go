package system

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// RemoveAll is os.RemoveAll that also works on file systems that only support simple
// deletion: some network drives and RAM disks of Windows reject the method that Go uses
// ("Incorrect function").
func RemoveAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil || runtime.GOOS != "windows" || errors.Is(err, fs.ErrPermission) {
		return err
	}
	if removeEach(path) != nil {
		return err // the first error is more specific
	}
	return nil
}

// removeEach removes the content of a folder before the folder itself. It removes links, not their targets.
func removeEach(path string) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if fi.IsDir() {
		list, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := removeEach(filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(path)
}
