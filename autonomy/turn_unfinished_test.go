package autonomy_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/llm/llmtest"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// An event whose end can never be written is tried only three times, because each attempt calls a
// model.
func TestTurn_IsDeadWhenItsEndCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := llmtest.NewScripted(llmtest.Options{Otherwise: &llmtest.Answer{Text: "hello"}})
		e := startEngine(t, setup{model: m})
		defer e.stop()
		e.execSQL(`DROP TABLE turns`)
		id := e.putMessage("s", "hi", "")
		ev := e.awaitClosed(id)
		if ev.State != bus.Dead || len(m.Asked()) != bus.MaxAttempts {
			t.Errorf("event is %s after %d model calls", ev.State, len(m.Asked()))
		}
		ds, err := e.bus.Outbox.EventDeliveries(t.Context(), id)
		if err != nil || len(ds) != 1 || !strings.Contains(ds[0].Text, "stopped retrying") {
			t.Errorf("deliveries to the owner: %+v, %v", ds, err)
		}
	})
}

// While the disk is full, no event is lost and no attempt is counted, however long that lasts.
func TestTurn_WaitsWhileTheDiskIsFull(t *testing.T) {
	storetest.FileOnly(t, "the test limits the size of the file")
	synctest.Test(t, func(t *testing.T) {
		m := llmtest.NewScripted(llmtest.Options{Otherwise: &llmtest.Answer{Text: strings.Repeat("a long answer ", 10_000)}})
		e := startEngine(t, setup{model: m})
		defer e.stop()
		pages := 0
		e.limitPages(0, &pages)
		e.limitPages(pages+5, &pages)
		id := e.putMessage("s", "hi", "")
		time.Sleep(time.Minute)
		synctest.Wait()
		ev, err := e.bus.Inbox.Event(t.Context(), id)
		if err != nil || ev.State == bus.Done || ev.State == bus.Dead || ev.Attempts > 1 {
			t.Fatalf("event while the disk is full: %+v, %v", ev, err)
		}
		e.limitPages(1<<30, &pages)
		if ev = e.awaitClosed(id); ev.State != bus.Done || ev.Attempts != 1 {
			t.Errorf("event afterwards: %s after %d attempts: %s", ev.State, ev.Attempts, ev.Error)
		}
		ds, err := e.bus.Outbox.EventDeliveries(t.Context(), id)
		if err != nil || len(ds) != 1 {
			t.Errorf("%d deliveries, %v", len(ds), err)
		}
	})
}

func (e *engine) execSQL(query string) {
	e.t.Helper()
	failOnError(e.t, e.store.Write(e.t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(query)
		return err
	}))
}

// limitPages sets the maximum number of pages of the database, to simulate a full disk. If n is 0, it
// reads the current number of pages instead. It stores the number in pages.
func (e *engine) limitPages(n int, pages *int) {
	e.t.Helper()
	failOnError(e.t, e.store.Write(e.t.Context(), func(tx *store.Tx) error {
		if n == 0 {
			return tx.QueryRow(`PRAGMA page_count`).Scan(pages)
		}
		return tx.QueryRow(fmt.Sprintf(`PRAGMA max_page_count = %d`, n)).Scan(pages)
	}))
}
