package app

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/platform/pim/pimtest"
	"hob/platform/store"
)

// delayedConfig returns the configuration of an account that sends mail with a delay.
func delayedConfig(s *pimtest.SMTP, delay string) string {
	return fmt.Sprintf("[autonomy]\nsend_delay = %q\n[files]\nallowed = [\"~\"]\n[accounts.work]\nsmtp = %q\nca = %q\naddress = \"tester@test.local\"\nuser = \"tester\"\npassword = %q\n", delay, s.URL, s.CA, pimtest.Secret)
}

// sendOf waits until the delayed call has ended and returns it with its row in the ledger.
func (h *daemonFixture) sendOf(call string) (s bus.ScheduledSend, e bus.Entry) {
	h.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		var err error
		s, err = h.d.bus.Scheduled.Get(h.d.store.Reader(h.t.Context()), call)
		failOnError(h.t, err)
		if !s.EndedAt.IsZero() || time.Now().After(deadline) {
			e, err = h.d.bus.Ledger.Call(h.t.Context(), call)
			failOnError(h.t, err)
			return s, e
		}
	}
}

// TestDelay_MailIsCancelledAfterARestart checks that a mail waits, that the result says how to cancel
// it, and that a cancelled mail is never sent.
func TestDelay_MailIsCancelledAfterARestart(t *testing.T) {
	s := pimtest.StartSMTP(t)
	h := openDaemon(t, delayedConfig(s, "1h"))
	c := h.callTool("send_email", `{"to":["ada@example.org"],"subject":"Late","text":"I am late."}`)
	if !strings.Contains(c.Text, "The email \"Late\" to ada@example.org will be sent at ") || !strings.Contains(c.Text, "to cancel it: hob undo "+c.Call) {
		t.Fatalf("%+v", c)
	}
	h.stop()
	h = openAt(t, h.home, delayedConfig(s, "1h"))
	if u := h.callTool("undo", `{"id":"`+c.Call+`"}`); !strings.Contains(u.Text, "Canceled: the email \"Late\" to ada@example.org was not sent.") {
		t.Errorf("%+v", u)
	}
	if u := h.callTool("undo", `{"id":"`+c.Call+`"}`); !strings.Contains(u.Error, "already undone") {
		t.Errorf("second undo = %+v", u)
	}
	if row, e := h.sendOf(c.Call); row.State != bus.SendCancelled || row.Frozen != nil || e.UndoneAt.IsZero() || len(s.Mails()) != 0 {
		t.Errorf("%+v %+v %v", row, e, s.Mails())
	}
	_, why := h.callAPI(http.MethodGet, "/api/v1/why?id="+c.Call, nil)
	if !strings.Contains(string(why), `to ada@example.org: cancelled at `) {
		t.Errorf("why: %s", why)
	}
	_, log := h.callAPI(http.MethodGet, "/api/v1/audit?limit=50", nil)
	if !strings.Contains(string(log), `"action":"undo"`) {
		t.Errorf("the audit log: %s", log)
	}
}

// TestDelay_SendsWhatWasApproved checks that the approved mail is sent even if its file has changed
// since, and that it cannot be undone afterwards.
func TestDelay_SendsWhatWasApproved(t *testing.T) {
	s := pimtest.StartSMTP(t)
	h := openDaemon(t, delayedConfig(s, "700ms"))
	file := filepath.Join(h.home, "note.txt")
	failOnError(t, os.WriteFile(file, []byte("as approved"), 0o600))
	c := h.callTool("send_email", `{"to":["ada@example.org"],"subject":"Note","text":"See below.","attach":["`+file+`"]}`)
	failOnError(t, os.WriteFile(file, []byte("changed afterwards"), 0o600))
	if len(s.Mails()) != 0 {
		t.Error("the mail was sent before its delay ended")
	}
	row, e := h.sendOf(c.Call)
	if row.State != bus.SendSent || e.State != bus.CallDone || !strings.Contains(e.Result, "Sent to ada@example.org: Note.") {
		t.Fatalf("sendOf = %+v %+v", row, e)
	}
	if m := s.Mails(); len(m) != 1 || !strings.Contains(m[0].Mail, "YXMgYXBwcm92ZWQ=") {
		t.Errorf("Mails = %+v", m)
	}
	if u := h.callTool("undo", `{"id":"`+c.Call+`"}`); !strings.Contains(u.Error, "too late: it was sent at") {
		t.Errorf("%+v", u)
	}
	_, log := h.callAPI(http.MethodGet, "/api/v1/audit?limit=50", nil)
	if !strings.Contains(string(log), `"action":"send"`) {
		t.Errorf("the audit log: %s", log)
	}
}

// TestDelay_ReportsFailures checks that a send that fails later, and one with an unknown outcome,
// are reported and not repeated.
func TestDelay_ReportsFailures(t *testing.T) {
	s := pimtest.StartSMTP(t)
	h := openDaemon(t, delayedConfig(s, "10ms"))
	c := h.callTool("send_email", `{"to":["refuse@example.org"],"text":"x"}`)
	if row, e := h.sendOf(c.Call); row.State != bus.SendFailed || e.State != bus.CallFailed || e.Code != "failed" {
		t.Errorf("sendOf = %+v %+v", row, e)
	}
	h.awaitDelivery("notice", `^The email to refuse@example.org was not sent: .*550 no such user`)
	c = h.callTool("send_email", `{"to":["mute@example.org"],"text":"x"}`)
	if row, e := h.sendOf(c.Call); row.State != bus.SendUnknown || e.State != bus.CallUnknown {
		t.Errorf("sendOf = %+v %+v", row, e)
	}
	h.awaitDelivery("notice", `^Outcome unknown: the email to mute@example.org may have been sent`)
	if len(s.Mails()) != 1 {
		t.Errorf("%+v", s.Mails())
	}
}

// TestDelay_OwnAddressIsNotDelayed checks that an email to the user's own address is sent
// immediately.
func TestDelay_OwnAddressIsNotDelayed(t *testing.T) {
	s := pimtest.StartSMTP(t)
	h := openDaemon(t, delayedConfig(s, "1h"))
	if c := h.callTool("send_email", `{"to":["tester@test.local"],"text":"Note to self."}`); !strings.Contains(c.Text, "Sent to tester@test.local") || len(s.Mails()) != 1 {
		t.Errorf("%+v", c)
	}
}

// TestDelay_Calendar checks with a real calendar server that an event is delayed only if it has
// guests.
func TestDelay_Calendar(t *testing.T) {
	r, s := pimtest.StartRadicale(t), pimtest.StartSMTP(t)
	r.Make("Home")
	conf := func(delay string) string {
		return fmt.Sprintf("[autonomy]\nsend_delay = %q\n[accounts.home]\ncaldav = %q\nsmtp = %q\nca = %q\naddress = \"tester@test.local\"\nuser = \"tester\"\npassword = %q\n", delay, r.URL, s.URL, s.CA, pimtest.Secret)
	}
	h := openDaemon(t, conf("1h"))
	cal := netaccount.NewCalendars(r.Account("tester"))
	titles := func() (out string) {
		t.Helper()
		list, err := cal.FindEvents(t.Context(), pim.TimeRange{From: time.Now().AddDate(0, 0, -1), To: time.Now().AddDate(0, 0, 30), Zone: time.UTC})
		failOnError(t, err)
		for _, e := range list {
			out += e.Title + " " + e.Start.UTC().Format("15:04") + ";"
		}
		return out
	}
	if c := h.callTool("create_calendar_event", `{"title":"Alone","start":"tomorrow at 9:00"}`); !strings.Contains(c.Text, `Added "Alone" to the calendar`) || titles() != "Alone 09:00;" {
		t.Fatalf("%+v %s", c, titles())
	}
	const review = `{"title":"Review","start":"tomorrow at 15:00","guests":["ada@example.org"]}`
	c := h.callTool("create_calendar_event", review)
	if !strings.Contains(c.Text, `The invitation to "Review" to ada@example.org will be sent at `) || titles() != "Alone 09:00;" {
		t.Fatalf("%+v %s", c, titles())
	}
	if got := h.askHob("undo that"); !strings.Contains(got, `Canceled: the invitation to "Review" to ada@example.org was not sent.`) {
		t.Error(got)
	}
	h.stop()
	h = openAt(t, h.home, conf("10ms"))
	c = h.callTool("create_calendar_event", review)
	if row, e := h.sendOf(c.Call); row.State != bus.SendSent || !strings.Contains(e.Result, "The invitations were sent by email.") || titles() != "Alone 09:00;Review 15:00;" || len(s.Mails()) != 1 {
		t.Fatalf("%+v %+v %s", row, e, titles())
	}
	c = h.callTool("update_calendar_event", `{"event":"review","start":"16:00"}`)
	if row, e := h.sendOf(c.Call); row.State != bus.SendSent || titles() != "Alone 09:00;Review 16:00;" || len(s.Mails()) != 2 {
		t.Fatalf("%+v %+v %s", row, e, titles())
	}
	if u := h.callTool("undo", `{"id":"`+c.Call+`"}`); !strings.Contains(u.Text, "Restored the event. Its guests were not notified.") || titles() != "Alone 09:00;Review 15:00;" {
		t.Errorf("%+v %s", u, titles())
	}
	at := time.Now().Add(48 * time.Hour).UTC().Format("20060102T150405Z")
	r.Put("Home", "i1", "SUMMARY:Budget\nDTSTART:"+at+"\nDURATION:PT1H\nORGANIZER:mailto:eve@example.org\nATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:tester@test.local")
	c = h.callTool("answer_invitation", `{"event":"budget","answer":"accept"}`)
	if row, e := h.sendOf(c.Call); row.What != `the answer to "budget" to eve@example.org` || row.State != bus.SendSent || len(s.Mails()) != 3 || !strings.Contains(e.Result, "An email was sent to eve@example.org.") {
		t.Fatalf("sendOf = %+v %+v", row, e)
	}
	c = h.callTool("delete_calendar_event", `{"event":"review"}`)
	if row, _ := h.sendOf(c.Call); row.State != bus.SendSent || strings.Contains(titles(), "Review") || len(s.Mails()) != 4 {
		t.Fatalf("%+v %s", row, titles())
	}
}

// TestDelay_ButtonCancels checks that the button of a notification cancels the sends of an answer.
func TestDelay_ButtonCancels(t *testing.T) {
	s := pimtest.StartSMTP(t)
	url, _ := startReceiver(t)
	h := openDaemon(t, delayedConfig(s, "1h")+"[channels.webhook]\nurl = \""+url+"\"\nsecret = \"whsec\"\n")
	for tool, args := range map[string]string{"send_email": `{"to":["ada@example.org"],"text":"x"}`, "send_message": `{"channel":"webhook","text":"hello"}`} {
		c := h.callTool(tool, args)
		e, err := h.d.bus.Ledger.Call(t.Context(), c.Call)
		failOnError(t, err)
		if is, err := h.d.buttons.CanCancel(t.Context(), channels.Delivery{Event: e.Event}); !is || err != nil {
			t.Errorf("%s: CanCancel = %v, %v", tool, is, err)
		}
		if said, err := h.d.buttons.Cancel(t.Context(), "desktop", e.Event); err != nil || !strings.Contains(said, "was not sent") {
			t.Errorf("%s: Cancel = %q, %v", tool, said, err)
		}
		if _, err := h.d.buttons.Cancel(t.Context(), "desktop", e.Event); err == nil {
			t.Errorf("%s: a second cancellation succeeded", tool)
		}
	}
}

// TestDelay_ButtonCancelsAllSends checks that the button cancels the other sends of an answer even
// if one of them can no longer be canceled.
func TestDelay_ButtonCancelsAllSends(t *testing.T) {
	s := pimtest.StartSMTP(t)
	h := openDaemon(t, delayedConfig(s, "1h"))
	late, mail := h.callTool("send_email", `{"to":["ada@example.org"],"text":"x"}`), h.callTool("send_email", `{"to":["bob@example.org"],"text":"x"}`)
	e, err := h.d.bus.Ledger.Call(t.Context(), late.Call)
	failOnError(t, err)
	failOnError(t, h.d.store.Write(t.Context(), func(tx *store.Tx) error {
		if _, err := tx.Exec(`UPDATE scheduled_sends SET event = ?`, e.Event); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE ledger SET undone_at = 1 WHERE call = ?`, late.Call)
		return err
	}))
	said, err := h.d.buttons.Cancel(t.Context(), "desktop", e.Event)
	if err != nil || !strings.Contains(said, "Canceled: the email to bob@example.org was not sent.") || !strings.Contains(said, late.Call+" was already undone") {
		t.Errorf("Cancel = %q, %v", said, err)
	}
	if row, _ := h.sendOf(mail.Call); row.State != bus.SendCancelled {
		t.Errorf("sendOf = %+v", row)
	}
}
