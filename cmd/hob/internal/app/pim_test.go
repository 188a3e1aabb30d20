package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/platform/pim/pimtest"
)

// TestAccounts_Mail tests simple requests about mail with the complete program and real servers: a
// draft and its undo, a mail that is shown before it is sent, a reply whose recipients are shown,
// and archiving.
func TestAccounts_Mail(t *testing.T) {
	d, s := pimtest.StartDovecot(t, ""), pimtest.StartSMTP(t)
	a := d.Account("tester")
	a = a.With(pim.SMTP, s.URL)
	a.CA = pimtest.Both(t, d.CA, s.CA)
	d.Deliver("tester", "INBOX", "From: Bob <bob@x.org>\nReply-To: eve@evil.example\nTo: tester@test.local\nSubject: Lunch\nMessage-ID: <1@x>\n\nAt noon?\n", time.Time{})
	h := openDaemon(t, fmt.Sprintf("[autonomy]\nsend_delay = \"0s\"\n[accounts.work]\nimap = %q\nsmtp = %q\nca = %q\naddress = \"tester@test.local\"\nuser = \"tester\"\npassword = %q\n", a.Server(pim.IMAP), a.Server(pim.SMTP), a.CA, pimtest.Secret))
	box := netaccount.NewMail(a)
	in := func(folder string) []pim.Message {
		t.Helper()
		list, err := box.FindMail(t.Context(), pim.MailQuery{Folder: folder})
		failOnError(t, err)
		return list
	}
	if got := h.askHob("draft a mail to ada@example.org saying lunch on Friday?"); !strings.Contains(got, "The draft to ada@example.org is saved in the drafts of work: Lunch on Friday?") || len(in("drafts")) != 1 {
		t.Fatal(got)
	}
	if got := h.askHob("undo that"); !strings.Contains(got, "Removed the draft.") || len(in("drafts")) != 0 {
		t.Error(got)
	}
	send := func(say string, why ...string) string {
		t.Helper()
		event, id := h.sendForApproval(say)
		_, body := h.callAPI(http.MethodGet, "/api/v1/approvals", nil)
		for _, w := range why {
			if !strings.Contains(string(body), w) {
				t.Errorf("the request does not show %q: %s", w, body)
			}
		}
		h.answerApproval(id, true)
		h.awaitEnd(event)
		_, body = h.callAPI(http.MethodGet, "/api/v1/inbox/"+event, nil)
		return string(body)
	}
	if got := send("send a mail to ada@example.org saying I will be late", "it reaches ada@example.org", "I will be late"); !strings.Contains(got, "Sent to ada@example.org: I will be late.") ||
		len(s.Mails()) != 1 || len(in("sent")) != 1 {
		t.Errorf("%s %+v", got, s.Mails())
	}
	if got := send("reply to the mail from Bob saying yes", "it reaches eve@evil.example; the sender Bob <bob@x.org> requests replies to that address"); !strings.Contains(got, "Sent to eve@evil.example: Re: Lunch.") {
		t.Error(got)
	}
	event, id := h.sendForApproval("archive the mail from Bob") // the turn's context contains the mail's untrusted text
	h.answerApproval(id, true)
	h.awaitEnd(event)
	if len(in("archive")) != 1 || len(in("")) != 0 {
		t.Error("the mail is not in the archive")
	}
}

// TestAccounts_Calendar tests requests about events with the complete program and a real calendar
// server.
func TestAccounts_Calendar(t *testing.T) {
	r, s := pimtest.StartRadicale(t), pimtest.StartSMTP(t)
	r.Make("Home")
	h := openDaemon(t, fmt.Sprintf("[autonomy]\nsend_delay = \"0s\"\n[accounts.home]\ncaldav = %q\nsmtp = %q\nca = %q\naddress = \"tester@test.local\"\nuser = \"tester\"\npassword = %q\n", r.URL, s.URL, s.CA, pimtest.Secret))
	c := netaccount.NewCalendars(r.Account("tester"))
	in := func() (out []string) {
		t.Helper()
		list, err := c.FindEvents(t.Context(), pim.TimeRange{From: time.Now().AddDate(0, 0, -1), To: time.Now().AddDate(0, 0, 30), Zone: time.UTC})
		failOnError(t, err)
		for _, e := range list {
			out = append(out, e.Title)
		}
		return out
	}
	if got := h.askHob("put lunch with Ada tomorrow at 12 in my calendar"); !strings.Contains(got, `Added "Lunch with Ada" to the calendar Home: tomorrow at 12:00 to 13:00.`) || strings.Join(in(), "") != "Lunch with Ada" {
		t.Fatal(got, in())
	}
	if got := h.askHob("undo that"); !strings.Contains(got, "Removed the event from the calendar.") || len(in()) != 0 {
		t.Error(got)
	}
	got := h.callTool("create_calendar_event", `{"title":"Review","start":"tomorrow at 15:00","guests":["ada@example.org"]}`)
	if len(got.Approvals) != 1 || !strings.Contains(got.Approvals[0].Summary, "and invite ada@example.org") || !strings.Contains(got.Text, "The invitations were sent by email.") || strings.Join(in(), "") != "Review" {
		t.Fatalf("%+v %v", got, in())
	}
	if m := s.Mails(); len(m) != 1 || m[0].To[0] != "ada@example.org" || !strings.Contains(m[0].Mail, "METHOD:REQUEST") && !strings.Contains(m[0].Mail, "method=REQUEST") {
		t.Errorf("Mails = %+v", m)
	}
	if got := h.callTool("update_calendar_event", `{"event":"review","start":"16:00"}`); len(got.Approvals) != 1 || !strings.Contains(got.Text, `Moved "Review"`) || !strings.Contains(got.Text, "An email was sent to ada@example.org.") || len(s.Mails()) != 2 {
		t.Fatalf("%+v %+v", got, s.Mails())
	}
	if m := decodeMail(t, s.Mails()[1].Mail); !strings.Contains(m, "METHOD:REQUEST") || !strings.Contains(m, "SEQUENCE:1") || !strings.Contains(m, ", 16:00 ") {
		t.Errorf("%s", m)
	}
	if got := h.callTool("delete_calendar_event", `{"event":"review"}`); len(got.Approvals) != 1 || !strings.Contains(got.Text, `Removed "Review"`) || len(in()) != 0 || len(s.Mails()) != 3 {
		t.Fatalf("%+v", got)
	}
	if m := decodeMail(t, s.Mails()[2].Mail); !strings.Contains(m, "METHOD:CANCEL") || !strings.Contains(m, "STATUS:CANCELLED") || !strings.Contains(m, "SEQUENCE:2") {
		t.Errorf("%s", m)
	}
}

// sendForApproval sends a message that leads to an approval request.
func (h *daemonFixture) sendForApproval(say string) (event, approval string) {
	h.t.Helper()
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", map[string]string{"text": say})
	var r struct {
		Event     string
		Approvals []struct{ ID string }
	}
	if code != http.StatusAccepted || json.Unmarshal(body, &r) != nil || len(r.Approvals) != 1 {
		h.t.Fatalf("%q: %d %s", say, code, body)
	}
	return r.Event, r.Approvals[0].ID
}
