package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hob/platform/system"
)

// The folder holds generations in folders named by numbers and the file
// "current", which names the one in use. It is renamed into place, so that at
// any instant the one it names is whole.
const currentFile = "current"

// currentName is the generation in use, "" when there is none.
func currentName(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	b, err := os.ReadFile(filepath.Join(dir, currentFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("index: %w; check the permissions of the folder", err)
	}
	name := strings.TrimSpace(string(b))
	if _, err := strconv.Atoi(name); err != nil { // never a path that somebody else wrote
		return "", forgetCurrent(dir)
	}
	return name, nil
}

func forgetCurrent(dir string) error {
	err := os.Remove(filepath.Join(dir, currentFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// setCurrent makes a generation the one in use, for good.
func setCurrent(dir, name string) error {
	tmp := filepath.Join(dir, currentFile+".new")
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	_, err = f.WriteString(name + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if err := system.Rename(tmp, filepath.Join(dir, currentFile)); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	syncFolder(dir)
	return nil
}

// syncFolder makes a rename last; systems that cannot do it need not.
func syncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// sweep removes the generations that are not in use: leftovers of a crash.
func sweep(dir, keep string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil && e.Name() != keep {
			errs = append(errs, system.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// nextName is a free name for a generation.
func nextName(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("index: %w", err)
	}
	most := 0
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			most = max(most, n)
		}
	}
	return strconv.Itoa(most + 1), nil
}
