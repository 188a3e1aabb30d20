package store_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/store"
)

func TestBackups(t *testing.T) {
	path := tempPath(t)
	db := openStore(t, path)
	stop, wrote := make(chan struct{}), make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for k := 0; ; k += 2 {
			err := db.Write(context.Background(), func(tx *store.Tx) error {
				_, err := tx.Exec(`INSERT INTO t VALUES (?, 'x'), (?, 'y')`, k, k+1)
				return err
			})
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case wrote <- struct{}{}:
			default:
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	<-wrote
	var paths []string
	for range 8 {
		p, err := db.BackupNow(t.Context())
		failOnError(t, err)
		paths = append(paths, p)
	}
	close(stop)
	wg.Wait()
	if diff := cmp.Diff(paths[3:], listPaths(t, filepath.Dir(paths[0]))); diff != "" {
		t.Errorf("the newest five: %s", diff)
	}
	last := 0
	for _, p := range paths[3:] {
		if b, err := os.ReadFile(p); err != nil || len(b) == 0 {
			t.Fatal(err)
		}
		n := countRows(t, openStore(t, p))
		if n%2 != 0 || n < max(2, last) {
			t.Errorf("%s has %d rows, the one before %d", p, n, last)
		}
		last = n
	}
	if err := db.Backup(t.Context(), paths[7]); err == nil || !strings.Contains(err.Error(), "another name") {
		t.Errorf("Backup over an existing file = %v", err)
	}
	if runtime.GOOS != "windows" {
		err := db.Backup(t.Context(), "/dev/null/x")
		if err == nil {
			t.Error("Backup to an invalid path returned no error")
		}
	}
	to := filepath.Join(t.TempDir(), "new folder", "copy.db")
	failOnError(t, db.Backup(t.Context(), to))
	if n := countRows(t, openStore(t, to)); n < last {
		t.Errorf("%d rows in the copy", n)
	}
}

func listPaths(t *testing.T, dir string) []string {
	var out []string
	for _, n := range listFiles(t, dir) {
		out = append(out, filepath.Join(dir, n))
	}
	return out
}
