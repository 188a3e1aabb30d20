package app

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/platform/pim/pimtest"
)

// TestMailWatcher_ReportsMails tests a mail watcher with the complete program and a real mail server, with
// restarts of both.
func TestMailWatcher_ReportsMails(t *testing.T) {
	d := pimtest.StartDovecot(t, "")
	letter := func(id, from, subject string) string {
		return fmt.Sprintf("From: %s\nTo: tester@test.local\nSubject: %s\nMessage-ID: <%s@test.local>\nDate: %s\n\nPlease pay.\n",
			from, subject, id, time.Now().Format(time.RFC1123Z))
	}
	d.Deliver("tester", "INBOX", letter("0", "Ada Lovelace <ada@x.org>", "invoice of last year"), time.Now().Add(-time.Hour))
	conf := fmt.Sprintf("[accounts.work]\nimap = %q\nca = %q\naddress = \"tester@test.local\"\npassword = %q\n", d.IMAPS, d.CA, pimtest.Secret)
	h := openDaemon(t, conf)
	if code, body := h.callAPI(http.MethodPost, "/api/v1/tools/create_watcher", map[string]any{
		"session":   "home",
		"arguments": map[string]any{"kind": "email", "config": map[string]any{"from": "Ada", "words": "invoice"}},
	}); code != http.StatusOK || !strings.Contains(string(body), "mail from Ada about invoice") {
		t.Fatalf("%d %s", code, body)
	}
	d.Deliver("tester", "INBOX", letter("1", "Bob <bob@x.org>", "invoice"), time.Time{})
	d.Deliver("tester", "INBOX", letter("2", "Ada Lovelace <ada@x.org>", "The invoice"), time.Time{})
	h.awaitDelivery("notice", `Mail from Ada Lovelace <ada@x\.org>: The invoice`)
	h.stop()
	d.Deliver("tester", "INBOX", letter("3", "Ada Lovelace <ada@x.org>", "Another invoice"), time.Time{})
	d.Stop()
	d.Start()
	h = openAt(t, h.home, conf)
	h.awaitDelivery("notice", `Another invoice`)
	_, body := h.callAPI(http.MethodGet, "/api/v1/deliveries", nil)
	for text, n := range map[string]int{"The invoice": 1, "Another invoice": 1, "last year": 0, "bob@": 0} {
		if got := bytes.Count(body, []byte(text)); got != n {
			t.Errorf("%q is reported %d times, want %d: %s", text, got, n, body)
		}
	}
}
