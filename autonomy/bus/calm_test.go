package bus_test

import (
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// An idle tick does not query the database.
func TestClaim_ReadsNothingWhenIdle(t *testing.T) {
	f := newBus(t)
	idle := func(when string) {
		t.Helper()
		if n := testing.AllocsPerRun(100, func() { _, _, _ = f.Inbox.Claim(t.Context(), 4) }); n != 0 {
			t.Errorf("%s: %v allocations", when, n)
		}
	}
	idle("nothing was ever there")
	_, err := f.Inbox.Put(t.Context(), bus.Event{Kind: bus.Message, Source: "web", Session: "s", Channel: "web", Text: "later", Provenance: provenance.Owner, NotBefore: f.now.Add(time.Minute)})
	failOnError(t, err)
	if list, next, err := f.Inbox.Claim(t.Context(), 4); len(list) != 0 || !next.Equal(f.now.Add(time.Minute)) || err != nil {
		t.Errorf("Claim = %v %s %v", list, next, err)
	}
	idle("something waits for its time")
	f.now = f.now.Add(time.Minute)
	if list, _, err := f.Inbox.Claim(t.Context(), 0); len(list) != 0 || err != nil { // no free slot
		t.Errorf("%v %v", list, err)
	}
	list, _, err := f.Inbox.Claim(t.Context(), 4)
	if len(list) != 1 || err != nil {
		t.Fatalf("Claim = %v %v", list, err)
	}
	f.writeTx(func(tx *store.Tx) error { return f.Inbox.FinishTx(tx, list[0].ID, "done") })
	_, _, err = f.Inbox.Claim(t.Context(), 4)
	failOnError(t, err)
	idle("all is done")
}

// After a delay, Claim finds events that another process has written.
func TestClaim_FindsEventsOfAnotherProcess(t *testing.T) {
	f := newBus(t)
	id, err := f.Inbox.Put(t.Context(), bus.Event{Kind: bus.Message, Source: "web", Session: "s", Channel: "web", Text: "once", Provenance: provenance.Owner})
	failOnError(t, err)
	list, _, err := f.Inbox.Claim(t.Context(), 4)
	failOnError(t, err)
	f.writeTx(func(tx *store.Tx) error { return f.Inbox.FinishTx(tx, list[0].ID, "done") })
	_, _, err = f.Inbox.Claim(t.Context(), 4)
	failOnError(t, err)
	other, err := storetest.Open(t.Context(), f.store.Path(), []store.MigrationSet{bus.Migrations()}, store.Options{})
	failOnError(t, err)
	failOnError(t, other.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE inbox SET state = 'pending'`)
		return err
	}))
	failOnError(t, other.Close())
	f.now = f.now.Add(5 * time.Minute)
	if list, _, err := f.Inbox.Claim(t.Context(), 4); len(list) != 1 || err != nil {
		t.Errorf("%v: %v %v", id, list, err)
	}
}

// A channel that polls an empty outbox causes no writes.
func TestOutbox_PollsWithoutWritesWhenEmpty(t *testing.T) {
	f := newBus(t)
	f.sendTexts("e1", outboxItem("push", "a", "a1"), outboxItem("push", "a", "a2"))
	f.expectList("the first", f.takeTexts("push", 1), "a1")
	before := f.store.CommitCount()
	f.expectList("a busy chat", f.takeTexts("push", 1))
	f.expectList("another channel", f.takeTexts("push2", 1))
	if n := f.store.CommitCount() - before; n != 0 {
		t.Errorf("%d transactions", n)
	}
}
