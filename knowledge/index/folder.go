package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hob/platform/host/system"
)

// The index folder contains generations in numbered folders, and the file "current", which contains
// the name of the active generation. The file is replaced by a rename, so that it always names a
// complete generation.
const currentFile = "current"

// currentName returns the active generation, or "".
func currentName(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	b, err := os.ReadFile(filepath.Join(dir, currentFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("index: read the active generation: %w; check the permissions of the folder", err)
	}
	name := strings.TrimSpace(string(b))
	if _, err := strconv.Atoi(name); err != nil { // reject a path, which another program must have written
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

// setCurrent durably makes a generation the active one.
func setCurrent(dir, name string) error {
	tmp := filepath.Join(dir, currentFile+".new")
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("index: activate a generation: %w", err)
	}
	_, err = f.WriteString(name + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("index: activate a generation: %w", err)
	}
	if err := system.Rename(tmp, filepath.Join(dir, currentFile)); err != nil {
		return fmt.Errorf("index: activate a generation: %w", err)
	}
	syncFolder(dir)
	return nil
}

// syncFolder makes a rename durable. It ignores errors, because not all systems support it.
func syncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// removeOldGenerations removes inactive generations that a crash left behind.
func removeOldGenerations(dir, keep string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("index: list the generations: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil && e.Name() != keep {
			errs = append(errs, system.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// nextName returns an unused name for a generation.
func nextName(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("index: list the generations: %w", err)
	}
	most := 0
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			most = max(most, n)
		}
	}
	return strconv.Itoa(most + 1), nil
}
