package email

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"hob/platform/pim"
	"hob/watchers"
	"hob/watchers/watcherstest"
)

// TestOutage_IsReportedOnce checks that a server that is unreachable for a day is reported only once,
// and that the error remains the watcher's last error.
func TestOutage_IsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := watcherstest.Open(t, New())
		sink := watcherstest.NewSink(st)
		o := watcherstest.Options(st, sink, New())
		o.Account = accountLookup(pim.Account{
			Name: "work", Servers: pim.Servers{pim.IMAP: "imaps://127.0.0.1:1"}, Address: "ada@example.org",
			Secret: func(context.Context) (string, error) { return "secret", nil },
		})
		m, err := watchers.New(o)
		if err != nil {
			t.Fatal(err)
		}
		stop := watcherstest.Start(t, m)
		s := watcherstest.Create(t, st, m, watchers.Spec{Kind: Kind, Config: json.RawMessage(`{}`), Report: "test"})
		time.Sleep(tellAfter - time.Minute)
		if n := len(sink.Troubles()); n != 0 {
			t.Errorf("short outage was reported: %v", sink.Troubles())
		}
		for range 24 {
			time.Sleep(time.Hour)
			synctest.Wait()
			if got, err := m.Get(t.Context(), s.ID); err != nil || got.LastError == "" {
				t.Errorf("server is down: last error = %q, %v", got.LastError, err)
			}
		}
		if n := len(sink.Troubles()); n != 1 {
			t.Errorf("reported %d times: %v", n, sink.Troubles())
		}
		stop()
	})
}
