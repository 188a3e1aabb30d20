// Package storetest provides tests with a prepared database, because creating its tables takes
// longer than most tests. Only tests import it.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"hob/platform/store"
)

// Empty returns a function that copies an empty database to path if no file exists there. The empty
// database is created only once, with the migrations in sets.
func Empty(sets func() []store.MigrationSet) func(t testing.TB, path string) {
	made := sync.OnceValues(func() ([]byte, error) { return emptyDatabase(sets()) })
	return func(t testing.TB, path string) {
		t.Helper()
		if OnServer() { // Open copies a template
			return
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return
		}
		b, err := made()
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func emptyDatabase(sets []store.MigrationSet) (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "hob-empty-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "hob.db")
	s, err := store.Open(context.Background(), path, sets, store.Options{})
	if err != nil {
		return nil, fmt.Errorf("create an empty database: %w", err)
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
