package store_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"hob/platform/store"
)

// BenchmarkWrite measures durable writes; several writers share commits.
func BenchmarkWrite(b *testing.B) {
	for _, writers := range []int{1, 8} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			db := openStore(b, tempPath(b))
			var k, left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var wg sync.WaitGroup
			for range writers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						err := db.Write(b.Context(), func(tx *store.Tx) error {
							_, err := tx.Exec(`INSERT INTO t VALUES (?, 'a row of some length, as an event has')`, k.Add(1))
							return err
						})
						if err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkQuery measures a repeated query.
func BenchmarkQuery(b *testing.B) {
	db := openStore(b, tempPath(b))
	for _, query := range []string{`SELECT k FROM t WHERE k > ?`, `SELECT k FROM t WHERE k > 0 ORDER BY k LIMIT ?`} {
		b.Run(query, func(b *testing.B) {
			for b.Loop() {
				rows, err := db.Reader(b.Context()).Query(query, 1)
				if err == nil {
					err = errors.Join(rows.Err(), rows.Close()) //nolint:sqlclosecheck // rows are closed immediately, because the loop runs many queries
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
