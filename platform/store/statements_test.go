package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"hob/platform/store"
)

// TestStatement_InUse runs a statement again while rows of the same text are being read in the same
// transaction.
func TestStatement_InUse(t *testing.T) {
	db := openStore(t, tempPath(t))
	for k := range 3 {
		insertRow(t, db, k, "x")
	}
	const query = `SELECT k FROM t WHERE k >= ? ORDER BY k`
	failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		for range 2 { // the second time, the text is cached
			outer, err := tx.Query(query, 0)
			if err != nil {
				return err
			}
			var seen []int
			for outer.Next() {
				var k, first int
				if err := outer.Scan(&k); err != nil {
					return err
				}
				if err := tx.QueryRow(query, k).Scan(&first); err != nil {
					return err
				}
				if first != k {
					t.Errorf("rows from %d on start with %d", k, first)
				}
				seen = append(seen, k)
			}
			if err := errors.Join(outer.Err(), outer.Close()); err != nil { //nolint:sqlclosecheck // rows must be closed before the next iteration
				return err
			}
			if len(seen) != 3 {
				t.Errorf("saw %d", seen)
			}
		}
		return nil
	}))
}

// A cached statement works with different limits, in any notation.
func TestLimits(t *testing.T) {
	db := openStore(t, tempPath(t))
	for k := range 5 {
		insertRow(t, db, k, "x")
	}
	for query, args := range map[string]func(limit int) []any{
		`SELECT k FROM t WHERE k >= ? ORDER BY k LIMIT ?`:                               func(n int) []any { return []any{0, n} },
		`SELECT k FROM t WHERE k >= ?2 ORDER BY k LIMIT ?1`:                             func(n int) []any { return []any{n, 0} },
		`SELECT k FROM t WHERE k >= ? ORDER BY k LIMIT ? OFFSET ?`:                      func(n int) []any { return []any{0, n, 0} },
		`SELECT k FROM t WHERE k IN (SELECT k FROM t ORDER BY k LIMIT ?) AND v <> '1?'`: func(n int) []any { return []any{n} },
	} {
		for limit, want := range map[int]int{0: 0, 2: 2, 4: 4, 9: 5, -1: 5} {
			rows, err := db.Reader(t.Context()).Query(query, args(limit)...)
			failOnError(t, err)
			n := 0
			for rows.Next() {
				n++
			}
			failOnError(t, errors.Join(rows.Err(), rows.Close())) //nolint:sqlclosecheck // rows are closed immediately, because the loop runs many queries
			if n != want {
				t.Errorf("%s: %d rows with a limit of %d, want %d", query, n, limit, want)
			}
		}
	}
}

// A statement behaves as if newly compiled after an error, after a change of its table, and if too
// many are cached.
func TestStatement_ReusedAfterErrorsAndChanges(t *testing.T) {
	db := openStore(t, tempPath(t))
	insertRow(t, db, 1, "one")
	for range 3 {
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`INSERT INTO t (k, v) VALUES (?, ?)`, 1, "again")
			return err
		})
		if err == nil {
			t.Fatal("the same key was inserted twice")
		}
	}
	insertRow(t, db, 2, "two")
	all := func() (cols, n int) {
		r, err := db.Read().QueryContext(t.Context(), `SELECT * FROM t`)
		failOnError(t, err)
		defer r.Close()
		names, err := r.Columns()
		failOnError(t, err)
		for r.Next() {
			n++
		}
		failOnError(t, r.Err())
		return len(names), n
	}
	if cols, n := all(); cols != 2 || n != 2 {
		t.Fatalf("%d columns, %d rows", cols, n)
	}
	failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`ALTER TABLE t ADD COLUMN w TEXT`)
		return err
	}))
	for i := range 200 {
		var got int
		failOnError(t, db.Read().QueryRowContext(t.Context(), fmt.Sprintf(`SELECT %d + count(*) FROM t`, i)).Scan(&got))
		if got != i+2 {
			t.Fatalf("%d + 2 = %d", i, got)
		}
	}
	if cols, n := all(); cols != 3 || n != 2 {
		t.Fatalf("after the change: %d columns, %d rows", cols, n)
	}
}

// A canceled read leaves no state in the statement.
func TestStatement_CanceledRead(t *testing.T) {
	db := openStore(t, tempPath(t))
	for k := range 100 {
		insertRow(t, db, k, "x")
	}
	const query = `SELECT count(*) FROM t a, t b, t c, t d WHERE a.v = ?`
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		var n int
		if err := db.Read().QueryRowContext(ctx, query, "x").Scan(&n); !errors.Is(err, context.Canceled) {
			t.Errorf("the read gave %d, %v", n, err)
		}
	})
	cancel()
	wg.Wait()
	var n sql.NullInt64
	failOnError(t, db.Read().QueryRowContext(t.Context(), query, "y").Scan(&n))
	if n.Int64 != 0 {
		t.Errorf("%d rows", n.Int64)
	}
}
