package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/store"
)

// setFull limits the file to its current size, like a full disk.
func setFull(t *testing.T, db *store.Store, full bool) {
	t.Helper()
	failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		pages := 1 << 30
		if full {
			if err := tx.QueryRow(`PRAGMA page_count`).Scan(&pages); err != nil {
				return err
			}
		}
		return tx.QueryRow(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)).Scan(&pages)
	}))
}

func TestWrite_FullDisk(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	insertIn := func(tx *store.Tx, k int, v string) error {
		_, err := tx.Exec(`INSERT INTO t VALUES (?, ?)`, k, v)
		return err
	}
	tests := []struct {
		name string
		fn   func(tx *store.Tx) error
	}{
		{"returned", func(tx *store.Tx) error {
			if err := insertIn(tx, 100, "small"); err != nil {
				return err
			}
			return insertIn(tx, 101, big)
		}},
		{"swallowed", func(tx *store.Tx) error {
			_ = insertIn(tx, 100, "small")
			_ = insertIn(tx, 101, big)
			_ = insertIn(tx, 102, "small") // must not run in a new transaction
			return nil
		}},
		{"through a row", func(tx *store.Tx) error {
			if err := insertIn(tx, 100, "small"); err != nil {
				return err
			}
			var k int
			return tx.QueryRow(`INSERT INTO t VALUES (101, ?) RETURNING k`, big).Scan(&k)
		}},
		{"an update", func(tx *store.Tx) error {
			if err := insertIn(tx, 100, "small"); err != nil {
				return err
			}
			_, err := tx.Exec(`UPDATE t SET v = v || ?`, big)
			return err
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			db := openStore(t, tempPath(t))
			for k := range 3 {
				insertRow(t, db, k, "before")
			}
			setFull(t, db, true)
			release := blockWriter(t, db)
			errs := make([]error, 6)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() {
					errs[i] = db.Write(t.Context(), func(tx *store.Tx) error {
						if i == 3 {
							return tc.fn(tx)
						}
						return insertIn(tx, 10+i, "small")
					})
				})
			}
			release()
			wg.Wait()
			want := []string{"0=before", "1=before", "2=before"}
			for i, err := range errs {
				switch {
				case err == nil:
					want = append(want, fmt.Sprintf("%d=small", 10+i))
				case !errors.Is(err, store.ErrFull):
					t.Errorf("write %d: %v", i, err)
				}
			}
			if errs[3] == nil {
				t.Error("a write without free space succeeded")
			}
			if diff := cmp.Diff(want, listRows(t, db.Reader(t.Context()))); diff != "" {
				t.Errorf("acknowledged and stored rows differ: %s", diff)
			}
			setFull(t, db, false)
			insertRow(t, db, 200, big)
			failOnError(t, db.Check(t.Context()))
		})
	}
}
