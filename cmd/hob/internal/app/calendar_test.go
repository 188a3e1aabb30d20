package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/platform/pim/pimtest"
)

// TestCalendarWatcher_ReportsEvents tests a calendar watcher with the complete program and a real server.
func TestCalendarWatcher_ReportsEvents(t *testing.T) {
	r := pimtest.StartRadicale(t)
	r.Make("Work")
	r.Put("Work", "call", "SUMMARY:Call with Ada\nDTSTART:"+time.Now().Add(20*time.Minute).UTC().Format("20060102T150405Z"))
	conf := fmt.Sprintf("[accounts.home]\ncaldav = %q\nuser = \"tester\"\npassword = %q\n", r.URL, pimtest.Secret)
	h := openDaemon(t, conf)
	code, body := h.callAPI(http.MethodPost, "/api/v1/tools/create_watcher", map[string]any{
		"session": "home", "arguments": map[string]any{"kind": "calendar", "config": map[string]any{"before": []string{"30m"}}},
	})
	if code != http.StatusOK || !strings.Contains(string(body), "events 30 minutes before they start, and when they are changed, moved or cancelled") {
		t.Fatalf("%d %s", code, body)
	}
	h.awaitDelivery("notice", `Call with Ada starts in 20 minutes`)
	h.stop()
	r.Put("Work", "call", "SUMMARY:Call with Ada\nSTATUS:CANCELLED\nDTSTART:"+time.Now().Add(20*time.Minute).UTC().Format("20060102T150405Z"))
	h = openAt(t, h.home, conf)
	defer h.stop()
}
