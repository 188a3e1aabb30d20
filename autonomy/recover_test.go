package autonomy_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/platform/provenance"
	"hob/platform/store"
)

// An event that crashed Hob too often is reported once, also if its notice is deferred while
// Hob restarts repeatedly.
func TestRecover_ReportsDeadEventOnceAtNight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(23 * time.Hour)
		dir := t.TempDir()
		night := setup{dir: dir, quiet: []notify.QuietWindow{{Start: 22 * 60, End: 7 * 60}}}
		idle := night
		idle.idle = true
		e := startEngine(t, idle)
		failOnError(t, e.store.Write(t.Context(), func(tx *store.Tx) error {
			if _, err := e.bus.Inbox.PutTx(tx, bus.Event{ID: "fatal", Kind: bus.Watcher, Source: "watcher:w1", Session: "watcher:w1", Text: "New mail", Provenance: provenance.Outside}); err != nil {
				return err
			}
			_, err := tx.Exec(`UPDATE inbox SET crashes = ? WHERE id = 'fatal'`, bus.MaxCrashes)
			return err
		}))
		e.stop()
		for range 3 {
			e = startEngine(t, night)
			synctest.Wait()
			e.stop()
		}
		time.Sleep(9 * time.Hour)
		for range 2 {
			e = startEngine(t, night)
			synctest.Wait()
			time.Sleep(time.Minute)
			list, err := e.bus.Outbox.Deliveries(context.Background(), "", "", "", 10)
			failOnError(t, err)
			if len(list) != 1 || strings.Count(list[0].Text, "I stopped retrying: New mail.") != 1 {
				t.Errorf("%+v", list)
			}
			e.stop()
		}
	})
}
