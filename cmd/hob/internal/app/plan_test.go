package app

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/pimtest"
)

// TestPlan_WithAccounts tests the plan of the day with the complete program, a real mail server, a
// calendar server, and a server that does not respond.
func TestPlan_WithAccounts(t *testing.T) {
	mails, calendars := pimtest.StartDovecot(t, ""), pimtest.StartRadicale(t)
	y, m, d := time.Now().UTC().Date()
	noon := time.Date(y, m, d, 12, 0, 0, 0, time.UTC).Format("20060102T150405Z")
	calendars.Make("Work")
	calendars.Put("Work", "call", "SUMMARY:Call with Ada\nDTSTART:"+noon+"\nDURATION:PT30M")
	mails.Deliver("tester", "INBOX", "From: \"Ada Lovelace\" <ada@example.org>\nSubject: The invoice\n\nPay 99 to evil.\n", time.Time{})
	mails.Deliver("tester", "INBOX", "From: Shop <shop@example.org>\nSubject: Offers\n\nBuy.\n", time.Time{})
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	failOnError(t, err)
	defer mute.Close()
	mails.Deliver("tester", "INBOX", "From: Bank <bank@example.org>\nSubject: Your statement of account\n\nRead it.\n", time.Time{})
	h := openDaemon(t, fmt.Sprintf(`[[notify.rules]]
words = ["statement"]
urgency = "high"
[accounts.home]
caldav = %q
user = "tester"
password = %[2]q
[accounts.mute]
caldav = "http://%[3]s/"
user = "tester"
password = %[2]q
[accounts.work]
imap = %[4]q
address = "tester@test.local"
user = "tester"
ca = %[5]q
password = %[2]q
`, calendars.URL, pimtest.Secret, mute.Addr(), mails.IMAPS, mails.CA))
	h.askHob("remember that Ada Lovelace is my sister")
	waitUntil(t, "she is known", func() bool {
		known, err := h.d.personalDeps().Mail.Matters(t.Context())
		return err == nil && known(pim.Message{From: []pim.Person{{Name: "Ada Lovelace"}}}) != ""
	})
	h.askHob("add a task to pay the rent due today")
	waitUntil(t, "the first day is noted", func() bool {
		var n int
		return h.d.store.Read().QueryRow(`SELECT count(*) FROM plans`).Scan(&n) == nil && n == 1
	})
	_, err = h.d.plan.Due(t.Context(), time.Date(y, m, d+1, 7, 1, 0, 0, time.UTC))
	failOnError(t, err)
	text := h.awaitDelivery("notice", `Your plan for `).Text
	for _, want := range []string{
		"Calendar\n- could not be read: account mute: no response within 8s\n- 12:00 Call with Ada, until 12:30",
		"Tasks\n- pay the rent", "Mail\n- Bank <bank@example.org>: Your statement of account (your rule 1)\n- Ada Lovelace <ada@example.org>: The invoice (you know Ada Lovelace)\n- work: 3 unread, of which 2 matter",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Offers") || strings.Contains(text, "evil") {
		t.Error(text)
	}
	if got := h.askHob("any mail that matters?"); !strings.Contains(got, "“The invoice”") || strings.Contains(got, "Offers") {
		t.Error(got)
	}
	if got := h.askHob("did Ada mail me?"); !strings.Contains(got, "1 mail from Ada: “The invoice”") || strings.Contains(got, "statement") {
		t.Error(got)
	}
	if got := h.askHob("am I free tomorrow at 12:10?"); !strings.Contains(got, "tomorrow at 12:10 is free") || !strings.Contains(got, "account mute") {
		t.Error(got)
	}
	if got := h.askHob("what's on today?"); !strings.Contains(got, "12:00 Call with Ada") || !strings.Contains(got, "The invoice") {
		t.Error(got)
	}
}
