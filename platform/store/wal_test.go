package store_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"hob/platform/store"
)

// growLog creates a database whose write-ahead log has at least the given size, as a killed process
// leaves it. It returns the number of rows.
func growLog(t *testing.T, path string, mb int) (rows int) {
	t.Helper()
	dir := t.TempDir()
	failOnError(t, openStore(t, filepath.Join(dir, "a.db")).Close())
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "a.db")+"?_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)&_pragma=synchronous(OFF)")
	failOnError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for size := int64(0); size < int64(mb)<<20; {
		_, err := db.ExecContext(t.Context(), `WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 2000) INSERT INTO t SELECT ? + k, hex(randomblob(2000)) FROM n`, rows)
		failOnError(t, err)
		rows += 2000
		fi, err := os.Stat(filepath.Join(dir, "a.db-wal"))
		failOnError(t, err)
		size = fi.Size()
	}
	for _, ext := range []string{"", "-wal"} { // before Close merges the log
		failOnError(t, os.Link(filepath.Join(dir, "a.db"+ext), path+ext))
	}
	failOnError(t, os.Remove(filepath.Join(dir, "a.db"))) // so that Close finds no database to merge into
	failOnError(t, os.Remove(filepath.Join(dir, "a.db-wal")))
	return rows
}

// HOB_WAL_MB is the size of the log in MB (default 70).
func TestOpen_MergesLargeLogInBackground(t *testing.T) {
	mb := 70
	if n, err := strconv.Atoi(os.Getenv("HOB_WAL_MB")); err == nil {
		mb = n
	}
	path := tempPath(t)
	failOnError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	rows := growLog(t, path, mb)
	began := time.Now()
	db := openStore(t, path)
	opened := time.Since(began)
	began = time.Now()
	failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO t VALUES (-1, 'first')`)
		return err
	}))
	t.Logf("log of %d MB: open %s, first commit %s", mb, opened.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	began = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for size := int64(1); size > 0; {
		fi, err := os.Stat(path + "-wal")
		failOnError(t, err)
		if size = fi.Size(); size > 0 {
			if ctx.Err() != nil {
				t.Fatalf("the log still has %d MB", size>>20)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	t.Logf("merged after %s", time.Since(began).Round(time.Millisecond))
	if n := countRows(t, db); n != rows+1 {
		t.Errorf("%d rows, want %d", n, rows+1)
	}
	failOnError(t, db.Close())
}

func TestClose_EndsMergeOfLargeLog(t *testing.T) {
	path := tempPath(t)
	failOnError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	rows := growLog(t, path, 70)
	failOnError(t, openStore(t, path).Close())
	db := openStore(t, path)
	if n := countRows(t, db); n != rows {
		t.Errorf("%d rows, want %d", n, rows)
	}
}
