package store_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/platform/store"
	"hob/platform/store/postgres"
	"hob/platform/store/storetest"
)

// Statements without rows wait until a result is needed, so that they share its round trip.
func TestShared_DefersStatements(t *testing.T) {
	server := storetest.NewServer(t)
	failOnError(t, server.Exec(t.Context(), "postgres", "CREATE DATABASE deferred"))
	url := server.URL("deferred")
	g := newGate(t, server.Port)
	db, err := store.Open(t.Context(), tempPath(t), testSets(), store.Options{
		URL: strings.Replace(url, fmt.Sprintf("127.0.0.1:%d", server.Port), g.addr, 1), Instance: "one",
		Lease: time.Minute, // the server waits 20 s for a closure that a busy machine delays
	})
	failOnError(t, err)
	t.Cleanup(func() { failOnError(t, db.Close()) })
	insert := func(tx *store.Tx, k int) error {
		_, err := tx.Exec(`INSERT INTO t VALUES (?, 'x')`, k)
		return err
	}
	failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error { return insert(tx, 1) })) // prepares the statement

	t.Run("a transaction needs few round trips", func(t *testing.T) {
		g.setState(func() { g.requests = 0 })
		failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			for k := 2; k < 22; k++ {
				if err := insert(tx, k); err != nil {
					return err
				}
			}
			return nil
		}))
		var sent int
		g.setState(func() { sent = g.requests })
		if sent > 10 { // the begin, the statements, the commit; others compare the clock
			t.Errorf("20 inserts needed %d requests, want 3", sent)
		}
		if got := len(listRows(t, db.Reader(t.Context()))); got != 21 {
			t.Errorf("%d rows, want 21", got)
		}
	})

	t.Run("preparing another statement returns the error of the one before it", func(t *testing.T) {
		failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`CREATE TABLE names (name TEXT PRIMARY KEY) WITHOUT ROWID`)
			return err
		}))
		var long strings.Builder
		for range 400 { // a text that PostgreSQL cannot compress
			long.WriteString(rand.Text())
		}
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.Exec(`INSERT INTO names VALUES (?)`, long.String()); err != nil {
				return err
			}
			_, err := tx.Exec(`UPDATE names SET name = ? WHERE name = ?`, "a", "b")
			return err
		})
		if !errors.Is(err, postgres.ErrTooLong) || errors.Is(err, store.ErrAway) || db.Away() != nil {
			t.Errorf("Write = %v, away: %v", err, db.Away())
		}
	})

	t.Run("a query and the number of changed rows see the statements before them", func(t *testing.T) {
		failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			res, err := tx.Exec(`UPDATE t SET v = ? WHERE k <= ?`, "y", 5)
			if err != nil {
				return err
			}
			if err := insert(tx, 30); err != nil {
				return err
			}
			var n int
			if err := tx.QueryRow(`SELECT count(*) FROM t WHERE v = ? OR k = 30`, "y").Scan(&n); err != nil || n != 6 {
				t.Errorf("%d rows (%v), want 6", n, err)
			}
			if n, err := res.RowsAffected(); err != nil || n != 5 {
				t.Errorf("the update before the query changed %d rows (%v), want 5", n, err)
			}
			if res, err = tx.Exec(`DELETE FROM t WHERE k > ?`, 5); err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n != 17 {
				t.Errorf("the last delete changed %d rows (%v), want 17", n, err)
			}
			return nil
		}))
	})

	t.Run("closures that fail early or late lose only their own changes", func(t *testing.T) {
		refused := errors.New("refused")
		closures := []func(*store.Tx) error{
			func(tx *store.Tx) error { return insert(tx, 100) },
			func(tx *store.Tx) error { return errors.Join(insert(tx, 101), insert(tx, 101)) }, // the key exists
			func(tx *store.Tx) error { return insert(tx, 102) },
			func(*store.Tx) error { return refused },                                  // before anything was sent
			func(tx *store.Tx) error { return errors.Join(insert(tx, 103), refused) }, // the insert was not sent
			func(tx *store.Tx) error { return insert(tx, 104) },
			func(tx *store.Tx) error {
				_, err := tx.Exec(`INSERT INTO nowhere VALUES (?)`, 1) // cannot be prepared
				return err
			},
			func(tx *store.Tx) error { return insert(tx, 105) },
		}
		release := blockWriter(t, db)
		results := make([]chan error, len(closures))
		for i, fn := range closures {
			results[i] = make(chan error, 1)
			go func() { results[i] <- db.Write(t.Context(), fn) }()
		}
		release()
		for i, ended := range results {
			err := <-ended
			switch i {
			case 1:
				if err == nil || !strings.Contains(err.Error(), "duplicate key") {
					t.Errorf("closure %d: %v, want the error of its last statement", i, err)
				}
			case 3, 4:
				if !errors.Is(err, refused) {
					t.Errorf("closure %d: %v, want its own error", i, err)
				}
			case 6:
				if err == nil || !strings.Contains(err.Error(), "nowhere") {
					t.Errorf("closure %d: %v, want the error of the server", i, err)
				}
			default:
				failOnError(t, err)
			}
		}
		want := []string{"1=y", "2=y", "3=y", "4=y", "5=y", "100=x", "102=x", "104=x", "105=x"}
		if got := listRows(t, db.Reader(t.Context())); !slices.Equal(got, want) {
			t.Errorf("rows %v, want %v", got, want)
		}
	})

	t.Run("a lost connection is not taken for a missing row", func(t *testing.T) {
		update := func(before func()) error {
			return db.Write(t.Context(), func(tx *store.Tx) error {
				before()
				res, err := tx.Exec(`UPDATE t SET v = ? WHERE k = ?`, "z", 1)
				if err != nil {
					return err
				}
				if n, err := res.RowsAffected(); err != nil || n != 1 {
					return errors.New("no such row")
				}
				return nil
			})
		}
		failOnError(t, update(func() {})) // prepares the statement
		err := update(func() {            // the writer holds the lock
			failOnError(t, server.Exec(t.Context(), "deferred", "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"))
		})
		if !errors.Is(err, store.ErrAway) {
			t.Errorf("%v, want an outage", err)
		}
	})
}
