package bus_test

import (
	"fmt"
	"testing"

	"hob/autonomy/bus"
	"hob/platform/store"
)

// BenchmarkPutClaimFinish measures how many events pass through the inbox per second: Put, Claim
// and Finish, with three durable commits for one event in each queue.
func BenchmarkPutClaimFinish(b *testing.B) {
	for _, lanes := range []int{1, 8} {
		b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) {
			f := newBus(b)
			for b.Loop() {
				f.writeTx(func(tx *store.Tx) error {
					for l := range lanes {
						if _, err := f.Inbox.PutTx(tx, bus.Event{Kind: bus.Message, Source: "s", Session: fmt.Sprint(l), Text: "hello"}); err != nil {
							return err
						}
					}
					return nil
				})
				ids, _ := f.claimEvents(lanes)
				f.writeTx(func(tx *store.Tx) error {
					for _, id := range ids {
						if err := f.Inbox.FinishTx(tx, id, "answer"); err != nil {
							return err
						}
					}
					return nil
				})
				if len(ids) != lanes {
					b.Fatalf("claimed %d of %d", len(ids), lanes)
				}
			}
			b.ReportMetric(float64(b.N*lanes)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkClaimBehindALongQueue measures Claim while 10,000 events wait in one queue.
func BenchmarkClaimBehindALongQueue(b *testing.B) {
	f := newBus(b)
	f.fillInbox(many)
	for b.Loop() {
		ids, _ := f.claimEvents(1)
		failOnError(b, f.Inbox.Release(b.Context(), ids[0]))
	}
}
