package bus_test

import (
	"strings"
	"testing"

	"hob/autonomy/bus"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// many is the length of a long queue.
const many = 10_000

const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) `

func (f *fixture) fillInbox(n int) {
	f.t.Helper()
	f.writeTx(func(tx *store.Tx) error {
		_, err := tx.Exec(numbers+`INSERT INTO inbox (id, kind, source, session, lane, text, provenance, received_at, state)
			SELECT 'e' || substr(CAST(1000000 + i AS TEXT), 2), 'message', 's', 'a', 'a', 'x', 'owner', 0, 'pending' FROM n`, n)
		return err
	})
}

// neverReads fails the test if a query scans an entire table.
func (f *fixture) neverReads(table, query string, args ...any) {
	f.t.Helper()
	if storetest.OnServer() {
		return // PostgreSQL chooses a plan by the number of rows
	}
	rows, err := f.store.Read().QueryContext(f.t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	failOnError(f.t, err)
	defer rows.Close()
	steps := 0
	for rows.Next() {
		var id, parent, unused int
		var detail string
		failOnError(f.t, rows.Scan(&id, &parent, &unused, &detail))
		if steps++; strings.HasPrefix(detail, "SCAN "+table) {
			f.t.Errorf("the query scans the whole table: %s", detail)
		}
	}
	failOnError(f.t, rows.Err())
	if steps == 0 {
		f.t.Error("no query plan")
	}
}

// Claiming from a long queue is as cheap as from a short one.
func TestClaim_CostDoesNotGrowWithTheQueue(t *testing.T) {
	f := newBus(t)
	f.fillInbox(many)
	f.neverReads("h", bus.Heads, 1)
	f.neverReads("inbox", bus.Heads, 1)
	other := f.putEvent(bus.Event{Source: "s", Session: "b"})
	for _, want := range []string{"e000001", "e000002"} {
		got, _ := f.claimEvents(1)
		f.expectList("claimed", got, want)
		f.finishEvents(got...)
		if other != "" {
			got, _ = f.claimEvents(1)
			f.expectList("the other session's turn", got, other)
			f.finishEvents(other)
			other = ""
		}
	}
	acc, err := f.Inbox.Put(t.Context(), bus.Event{Kind: bus.Message, Source: "s", Session: "a"})
	if err != nil || acc.Position < 100 || acc.Repeated {
		t.Errorf("Put = %+v, %v", acc, err)
	}
}

func TestClaimDeliveries_CostDoesNotGrowWithTheChat(t *testing.T) {
	f := newBus(t)
	f.writeTx(func(tx *store.Tx) error {
		_, err := tx.Exec(numbers+`INSERT INTO outbox (id, event, n, kind, session, channel, chat, text, provenance, state, created_at)
			SELECT 'd' || i, 'e' || i, 1, 'reply', 's', 'push', 'c', 'text ' || i, 'hob', 'queued', 0 FROM n`, many/5)
		return err
	})
	f.sendTexts("late", outboxItem("push", "b", "another chat"))
	f.neverReads("o", bus.ChatHeads+"SELECT seq FROM heads", "push", 1)
	f.neverReads("outbox", bus.ChatHeads+"SELECT seq FROM heads", "push", 1)
	f.expectList("one per chat", f.takeTexts("push", 9), "text 1", "another chat")
}

func TestPut_TextOfTenMegabytes(t *testing.T) {
	f := newBus(t)
	big := strings.Repeat("0123456789ä", 10<<20/12)
	id := f.putEvent(bus.Event{Source: "s", Session: "s", Text: big})
	events, _, err := f.Inbox.Claim(t.Context(), 1)
	failOnError(t, err)
	if len(events) != 1 || events[0].ID != id || events[0].Text != big {
		t.Fatalf("%d events", len(events))
	}
	f.finishEvents(id)
}
