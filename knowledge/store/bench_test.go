package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"hob/knowledge/store"
)

// BenchmarkWrite measures durable writes; several writers share commits.
func BenchmarkWrite(b *testing.B) {
	for _, writers := range []int{1, 8} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			db := open(b, temp(b))
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
