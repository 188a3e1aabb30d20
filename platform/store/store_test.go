package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/platform/store"
	"hob/platform/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const schema = `CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT NOT NULL)`

func testSets(steps ...string) []store.MigrationSet {
	return []store.MigrationSet{{Owner: "test", Steps: append([]string{schema}, steps...)}}
}

func failOnError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openStore(t testing.TB, path string, s ...store.MigrationSet) *store.Store {
	t.Helper()
	if s == nil {
		s = testSets()
	}
	db, err := storetest.Open(t.Context(), path, s, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func tempPath(t testing.TB) string { return filepath.Join(t.TempDir(), "hob.db") }

func insertRow(t testing.TB, db *store.Store, k int, v string) {
	t.Helper()
	failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO t (k, v) VALUES (?, ?)`, k, v)
		return err
	}))
}

// listRows returns the whole table as "k=v".
func listRows(t testing.TB, q store.Querier) []string {
	t.Helper()
	rs, err := q.Query(`SELECT k, v FROM t ORDER BY k`)
	failOnError(t, err)
	defer rs.Close()
	out := []string{}
	for rs.Next() {
		var k int
		var v string
		failOnError(t, rs.Scan(&k, &v))
		out = append(out, fmt.Sprintf("%d=%s", k, v))
	}
	failOnError(t, rs.Err())
	return out
}

func countRows(t testing.TB, db *store.Store) (n int) {
	t.Helper()
	failOnError(t, db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM t`).Scan(&n))
	return n
}

func listFiles(t testing.TB, dir string) []string {
	t.Helper()
	es, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	failOnError(t, err)
	var out []string
	for _, e := range es {
		out = append(out, e.Name())
	}
	return out
}

func TestOpen_KeepsCommittedRows(t *testing.T) {
	path := tempPath(t)
	db := openStore(t, path)
	insertRow(t, db, 1, "one")
	failOnError(t, db.Close())
	if got := listFiles(t, filepath.Dir(path)); !cmp.Equal(got, []string{"hob.db"}) {
		t.Errorf("files after a clean exit: %v", got)
	}
	db = openStore(t, path)
	if diff := cmp.Diff([]string{"1=one"}, listRows(t, db.Reader(t.Context()))); diff != "" {
		t.Error(diff)
	}
	if db.QuarantinedPath() != "" || db.Path() != path {
		t.Errorf("set aside %q, path %q", db.QuarantinedPath(), db.Path())
	}
}

func TestOpen_UnusualPaths(t *testing.T) {
	for _, dir := range []string{"with space", "100%41", "a#b", "Käse 日本 🏠", "plus+and&amp", "[x]*", "what?mode=ro"} {
		t.Run(dir, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.ContainsAny(dir, "?*") {
				t.Skip("the name is not valid on Windows")
			}
			path := filepath.Join(t.TempDir(), dir, "hob file.db")
			db := openStore(t, path)
			insertRow(t, db, 1, "x")
			backup, err := db.BackupNow(t.Context())
			failOnError(t, err)
			failOnError(t, db.Close())
			if got := listFiles(t, filepath.Dir(path)); !cmp.Equal(got, []string{"backups", "hob file.db"}) {
				t.Errorf("files: %v", got)
			}
			failOnError(t, os.WriteFile(path, []byte(strings.Repeat("not a database", 100)), 0o600))
			db = openStore(t, path) // the backup is found in a folder with special characters too
			if countRows(t, db) != 1 || db.QuarantinedPath() == "" || filepath.Dir(backup) != filepath.Join(filepath.Dir(path), "backups") {
				t.Errorf("the file was not restored from %s", backup)
			}
		})
	}
}

func TestOpen_FilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has different permissions")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	db := openStore(t, filepath.Join(dir, "hob.db"))
	insertRow(t, db, 1, "x")
	_, err := db.BackupNow(t.Context())
	failOnError(t, err)
	failOnError(t, filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
		failOnError(t, err)
		fi, err := d.Info()
		failOnError(t, err)
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if fi.Mode().Perm() != want {
			t.Errorf("%s is %o, want %o", path, fi.Mode().Perm(), want)
		}
		return nil
	}))
}

func TestMigrations(t *testing.T) {
	path := tempPath(t)
	add := `ALTER TABLE t ADD COLUMN w TEXT NOT NULL DEFAULT 'new'`
	other := store.MigrationSet{Owner: "other", Steps: []string{`CREATE TABLE o (x)`}}
	t.Run("first", func(t *testing.T) {
		db := openStore(t, path)
		insertRow(t, db, 1, "one")
	})
	backups := filepath.Join(filepath.Dir(path), "backups")
	if got := listFiles(t, backups); len(got) != 0 {
		t.Errorf("backups of an empty database: %v", got)
	}
	t.Run("rolls back a failed step", func(t *testing.T) {
		_, err := store.Open(t.Context(), path, testSets(add, `CREATE TABLE nonsense (`), store.Options{})
		if err == nil || !strings.Contains(err.Error(), "migrate test to 3") {
			t.Errorf("error %v", err)
		}
		db := openStore(t, path)
		if diff := cmp.Diff([]string{"1=one"}, listRows(t, db.Reader(t.Context()))); diff != "" {
			t.Error(diff)
		}
		if err := db.Read().QueryRowContext(t.Context(), `SELECT w FROM t`).Scan(new(string)); err == nil {
			t.Error("a part of the failed migration was committed")
		}
	})
	t.Run("backs up before the next step", func(t *testing.T) {
		before := len(listFiles(t, backups))
		db := openStore(t, path, append(testSets(add), other)...)
		var w string
		failOnError(t, db.Read().QueryRowContext(t.Context(), `SELECT w FROM t WHERE k = 1`).Scan(&w))
		if w != "new" {
			t.Errorf("w = %q", w)
		}
		got := listFiles(t, backups)
		if len(got) != before+1 || !strings.Contains(got[len(got)-1], "pre-migration") {
			t.Fatalf("backups: %v", got)
		}
		old, err := sql.Open("sqlite", filepath.Join(backups, got[len(got)-1]))
		failOnError(t, err)
		defer old.Close()
		var n int
		failOnError(t, old.QueryRowContext(t.Context(), `SELECT max(version) FROM migrations WHERE owner = 'test'`).Scan(&n))
		if n != 1 {
			t.Errorf("the backup is at version %d", n)
		}
	})
	t.Run("no backup without a migration", func(t *testing.T) {
		before := listFiles(t, backups)
		openStore(t, path, append(testSets(add), other)...)
		if diff := cmp.Diff(before, listFiles(t, backups)); diff != "" {
			t.Error(diff)
		}
	})
	for name, s := range map[string][]store.MigrationSet{"newer version": append(testSets(), other), "unknown owner": testSets(add)} {
		t.Run(name+" is refused", func(t *testing.T) {
			before, err := os.ReadFile(path)
			failOnError(t, err)
			_, err = store.Open(t.Context(), path, s, store.Options{})
			if !errors.Is(err, store.ErrNewerSchema) || !strings.Contains(err.Error(), "update Hob") {
				t.Errorf("error %v", err)
			}
			after, err := os.ReadFile(path)
			failOnError(t, err)
			if !cmp.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestOpen_UnwritableFolders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	failOnError(t, os.WriteFile(file, nil, 0o600))
	failOnError(t, os.Mkdir(filepath.Join(dir, "folder.db"), 0o700))
	tests := []struct{ name, path string }{
		{"the folder is a file", filepath.Join(file, "hob.db")},
		{"the file is a folder", filepath.Join(dir, "folder.db")},
	}
	if os.Getuid() > 0 { // root can write everywhere
		ro := filepath.Join(dir, "ro")
		failOnError(t, os.Mkdir(ro, 0o500))
		tests = append(tests, struct{ name, path string }{"a read-only folder", filepath.Join(ro, "hob.db")})
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := store.Open(t.Context(), tc.path, testSets(), store.Options{})
			if err == nil || !strings.Contains(err.Error(), "check the permissions") {
				t.Errorf("error without a remedy: %v", err)
			}
		})
	}
	if got := listFiles(t, filepath.Join(dir, "folder.db")); len(got) != 0 {
		t.Errorf("files left behind: %v", got)
	}
}

func TestTimes(t *testing.T) {
	at := time.Date(2026, 3, 29, 2, 30, 0, 123e6, time.FixedZone("x", 3600))
	if got := store.Time(store.Millis(at)); !got.Equal(at) || got.Location() != time.UTC {
		t.Errorf("%v became %v", at, got)
	}
	if store.Millis(time.Time{}) != 0 || !store.Time(0).IsZero() {
		t.Error("the zero time is not 0")
	}
}

func TestReader_SeesCommittedRowsOnly(t *testing.T) {
	db := openStore(t, tempPath(t))
	insertRow(t, db, 1, "one")
	failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		if _, err := tx.Exec(`INSERT INTO t VALUES (2, 'two')`); err != nil {
			return err
		}
		if got := listRows(t, tx); len(got) != 2 {
			t.Errorf("inside: %v", got)
		}
		if got := listRows(t, db.Reader(context.WithoutCancel(t.Context()))); len(got) != 1 {
			t.Errorf("reader outside of the transaction, before the commit: %v", got)
		}
		return nil
	}))
	if _, err := db.Read().ExecContext(t.Context(), `DELETE FROM t`); err == nil {
		t.Error("a read-only connection accepted a write")
	}
	if got := listRows(t, db.Reader(t.Context())); len(got) != 2 {
		t.Errorf("reader after the commit: %v", got)
	}
}

func TestWrite_DoesNotRecreateARemovedFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot remove open files")
	}
	path := tempPath(t)
	db := openStore(t, path)
	failOnError(t, os.Remove(path))
	if err := db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM t`).Scan(new(int)); err == nil {
		t.Error("a query on a deleted file returned rows")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty database was created (%v)", err)
	}
}
