package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/store"
	"hob/platform/store/storetest"
)

const copiedTables = `CREATE TABLE q (n INTEGER PRIMARY KEY AUTOINCREMENT, v REAL, b BLOB);
CREATE TABLE log (a TEXT NOT NULL);
CREATE TABLE pair (b INTEGER NOT NULL, a TEXT NOT NULL, x TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
INSERT INTO log (a) VALUES ('of the migration');
CREATE TRIGGER q_log AFTER INSERT ON q BEGIN INSERT INTO log (a) VALUES ('q ' || new.n); END`

// fillTables writes rows that are hard to copy.
func fillTables(t *testing.T, db *store.Store) {
	t.Helper()
	failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		for i := range 250 {
			if _, err := tx.Exec(`INSERT INTO q (v, b) VALUES (?, ?)`, float64(i)/4, []byte{0, byte(i), 0xff}); err != nil {
				return err
			}
			if _, err := tx.Exec(`INSERT INTO pair (a, b, x) VALUES (?, ?, ?)`, fmt.Sprintf("ü%d \\ 'x'", i%7), i, map[bool]any{true: "\U0001f331", false: nil}[i%2 == 0]); err != nil {
				return err
			}
		}
		_, err := tx.Exec(`DELETE FROM q WHERE n = 250`)
		return err
	}))
}

func TestCopy(t *testing.T) {
	server := storetest.NewServer(t)
	tables := testSets(copiedTables)
	dir := t.TempDir()
	here := store.Location{Path: filepath.Join(dir, "hob.db")}
	db := openStore(t, here.Path, tables...)
	fillTables(t, db)
	failOnError(t, db.Close())
	failOnError(t, server.Exec(t.Context(), "postgres", "CREATE DATABASE target"))
	there := store.Location{Path: filepath.Join(dir, "none.db"), URL: server.URL("target")}

	broken, cancel := context.WithCancel(t.Context())
	batches := 0
	if _, err := store.Copy(broken, here, there, tables, func(string, int64) {
		if batches++; batches == 3 {
			cancel()
		}
	}); err == nil {
		t.Fatal("an interrupted copy reported success")
	}
	if _, err := store.Open(t.Context(), here.Path, tables, store.Options{URL: there.URL}); !errors.Is(err, store.ErrHalfCopy) {
		t.Errorf("Open of a half copy = %v, want ErrHalfCopy", err)
	}
	want, err := store.Copy(t.Context(), here, there, tables, nil)
	failOnError(t, err)
	counts := map[string]int64{}
	for _, x := range want {
		counts[x.Table] = x.Rows
	}
	if diff := cmp.Diff(map[string]int64{"t": 0, "q": 249, "log": 251, "pair": 250}, counts); diff != "" {
		t.Error(diff)
	}
	if _, err := store.Copy(t.Context(), here, there, tables, nil); !errors.Is(err, store.ErrNotEmpty) {
		t.Errorf("copy into a full database = %v, want ErrNotEmpty", err)
	}
	if _, err := store.Copy(t.Context(), there, here, tables, nil); !errors.Is(err, store.ErrNotEmpty) {
		t.Errorf("copy over a file = %v, want ErrNotEmpty", err)
	}

	back := store.Location{Path: filepath.Join(dir, "back.db")}
	got, err := store.Copy(t.Context(), there, back, tables, nil)
	failOnError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("digests differ after the way back: %s", diff)
	}
	for name, s := range map[string]*store.Store{"PostgreSQL": openShared(t, there.URL, tables...), "SQLite": openStore(t, back.Path, tables...)} {
		var n, logged int
		failOnError(t, s.Write(t.Context(), func(tx *store.Tx) error {
			return tx.QueryRow(`INSERT INTO q (v) VALUES (1) RETURNING n`).Scan(&n)
		}))
		failOnError(t, s.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM log`).Scan(&logged))
		if n != 251 || logged != 252 {
			t.Errorf("%s: the next row has the number %d and the trigger made %d rows, want 251 and 252", name, n, logged)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.copy*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}
