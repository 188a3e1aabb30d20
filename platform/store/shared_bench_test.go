package store_test

import (
	"testing"

	"hob/platform/store"
	"hob/platform/store/storetest"
)

// BenchmarkWriteShared measures writes to PostgreSQL, one after the other.
func BenchmarkWriteShared(b *testing.B) {
	server := storetest.NewServer(b)
	failOnError(b, server.Exec(b.Context(), "postgres", "CREATE DATABASE writes"))
	db := openShared(b, server.URL("writes"))
	for i := 0; b.Loop(); i++ {
		failOnError(b, db.Write(b.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`INSERT INTO t VALUES (?, 'a row of some length, as an event has')`, i)
			return err
		}))
	}
}
