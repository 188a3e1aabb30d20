package app

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"regexp"
	"strings"
	"testing"
	"time"

	"hob/platform/pim/pimtest"
)

// decodeMail returns the body of a mail in readable form: with folded lines joined and transfer
// encodings decoded.
func decodeMail(t *testing.T, raw string) string {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(raw))
	failOnError(t, err)
	b, err := io.ReadAll(m.Body)
	failOnError(t, err)
	text := string(b)
	if q, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(text))); err == nil {
		text = string(q)
	}
	for _, block := range regexp.MustCompile(`(?m)(?:^[A-Za-z0-9+/=]{40,}\r?$\n?)+`).FindAllString(text, -1) {
		if b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(block), "")); err == nil {
			text += string(b)
		}
	}
	return strings.NewReplacer("\r\n ", "", "\n ", "").Replace(text)
}

// showRequests makes a call, denies its approval requests, and returns the list of requests.
func (h *daemonFixture) showRequests(name, args string) string {
	h.t.Helper()
	var c called
	_, body := h.callAPI(http.MethodPost, "/api/v1/tools/"+name, map[string]any{"arguments": json.RawMessage(args), "session": "home"})
	failOnError(h.t, json.Unmarshal(body, &c))
	_, list := h.callAPI(http.MethodGet, "/api/v1/approvals", nil)
	for _, a := range c.Approvals {
		h.callAPI(http.MethodPost, "/api/v1/sessions/"+a.Session+"/approvals/"+a.ID, map[string]any{"approved": false})
		h.waitEvent(a.Event)
	}
	var rows []struct{ Reason, Exact, Summary string }
	failOnError(h.t, json.Unmarshal(list, &rows))
	return fmt.Sprintf("%+v", rows)
}

// TestInvitation_IsAnswered tests the complete program with a calendar server that does not notify
// the organizer, and with one that accepts mail. The approval request shows the organizer, who gets
// the reply.
func TestInvitation_IsAnswered(t *testing.T) {
	r, s := pimtest.StartRadicale(t), pimtest.StartSMTP(t)
	r.Make("Home")
	at := time.Now().Add(48 * time.Hour).UTC().Format("20060102T150405Z")
	lines := "SEQUENCE:3\nDTSTART:" + at + "\nDURATION:PT1H\nORGANIZER;CN=Ada:mailto:ada@example.org\nATTENDEE;CN=Me;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:tester@test.local\nATTENDEE:mailto:bob@example.org"
	r.Put("Home", "i1", "SUMMARY:Budget review\n"+lines)
	r.Put("Home", "i2", "SUMMARY:Garden party\nDTSTART:"+at+"\nORGANIZER:mailto:ada@example.org\nATTENDEE:mailto:bob@example.org")
	h := openDaemon(t, fmt.Sprintf("[autonomy]\nsend_delay = \"0s\"\n[accounts.home]\ncaldav = %q\nsmtp = %q\nca = %q\naddress = \"tester@test.local\"\nuser = \"tester\"\npassword = %q\n", r.URL, s.URL, s.CA, pimtest.Secret))
	if got := h.showRequests("answer_invitation", `{"event":"budget","answer":"decline"}`); !strings.Contains(got, "DECLINED, to ada@example.org") || len(s.Mails()) != 0 {
		t.Errorf("%s %+v", got, s.Mails())
	}
	got := h.callTool("answer_invitation", `{"event":"budget","answer":"decline","comment":"I am away; sorry"}`)
	if len(got.Approvals) != 1 || !strings.Contains(got.Approvals[0].Summary, `Answer the invitation to "budget": decline, "I am away; sorry"`) ||
		!strings.Contains(got.Text, `Declined: "Budget review"`) || !strings.Contains(got.Text, "An email was sent to ada@example.org.") {
		t.Fatalf("%+v", got)
	}
	if m := s.Mails(); len(m) != 1 || len(m[0].To) != 1 || m[0].To[0] != "ada@example.org" {
		t.Fatalf("Mails = %+v", m)
	}
	m := decodeMail(t, s.Mails()[0].Mail)
	for _, want := range []string{"METHOD:REPLY", "UID:i1", "SEQUENCE:3", "ATTENDEE;CN=Me;PARTSTAT=DECLINED:mailto:tester@test.local", `COMMENT:I am away\; sorry`} {
		if !strings.Contains(m, want) {
			t.Errorf("%q is missing in\n%s", want, m)
		}
	}
	if strings.Contains(m, "bob@example.org") {
		t.Error("the mail names the other guests")
	}
	if got := h.callTool("answer_invitation", `{"event":"garden","answer":"accept"}`); !strings.Contains(got.Error, "not invited") || len(s.Mails()) != 1 {
		t.Errorf("%+v", got)
	}
	if got := h.callTool("delete_calendar_event", `{"event":"garden"}`); !strings.Contains(got.Text, "Its guests were not notified.") || len(s.Mails()) != 1 {
		t.Errorf("deletion of another person's event: %+v", got)
	}
}

// TestInvitation_GuestsByName checks that a guest's name is looked up in the address book, that the address is
// shown, and that Hob asks which person is meant if the name is ambiguous.
func TestInvitation_GuestsByName(t *testing.T) {
	r, s := pimtest.StartRadicale(t), pimtest.StartSMTP(t)
	r.Make("Home")
	r.MakeBook("people")
	r.PutCard("people", "anna", "FN:Anna Ozola\nEMAIL:anna@example.org")
	r.PutCard("people", "bob1", "FN:Bob One\nEMAIL:bob@one.example")
	r.PutCard("people", "bob2", "FN:Bob Two\nEMAIL:bob@two.example")
	h := openDaemon(t, fmt.Sprintf("[autonomy]\nsend_delay = \"0s\"\n[accounts.home]\ncaldav = %q\ncarddav = %[1]q\nsmtp = %q\nca = %q\naddress = \"tester@test.local\"\nuser = \"tester\"\npassword = %q\n", r.URL, s.URL, s.CA, pimtest.Secret))
	if got := h.showRequests("create_calendar_event", `{"title":"Lunch","start":"tomorrow at 12:00","guests":["Anna"]}`); !strings.Contains(got, "with Anna Ozola <anna@example.org>") || len(s.Mails()) != 0 {
		t.Errorf("%s %+v", got, s.Mails())
	}
	got := h.callTool("create_calendar_event", `{"title":"Lunch","start":"tomorrow at 12:00","guests":["Anna"]}`)
	if len(got.Approvals) != 1 || len(s.Mails()) != 1 || s.Mails()[0].To[0] != "anna@example.org" {
		t.Fatalf("%+v %+v", got, s.Mails())
	}
	if got := h.callTool("create_calendar_event", `{"title":"Lunch","start":"tomorrow at 12:00","guests":["Bob"]}`); !strings.Contains(got.Error, "Bob One <bob@one.example>, Bob Two <bob@two.example>; give the address") || len(s.Mails()) != 1 {
		t.Errorf("%+v", got)
	}
	if got := h.askHob("what is Anna's email address"); !strings.Contains(got, "anna@example.org") {
		t.Error(got)
	}
}
