package mail

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/platform/pim/pimtest"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
	"hob/tools/files"
)

// officeBox is a mailbox on Dovecot with an SMTP server, a calendar and a folder for files.
type officeBox struct {
	*pimtest.Dovecot
	by     map[string]tools.Tool
	smtp   *pimtest.SMTP
	box    *netaccount.Mail
	events pim.Calendars
	dir    string
}

func openOffice(t *testing.T) *officeBox {
	t.Helper()
	o := &officeBox{Dovecot: pimtest.StartDovecot(t, ""), smtp: pimtest.StartSMTP(t), by: map[string]tools.Tool{}}
	r := pimtest.StartRadicale(t)
	r.Make("Home")
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o.dir = filepath.Join(home, "Documents")
	st, err := storetest.Open(t.Context(), filepath.Join(home, "hob.db"), files.Migrations(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	f, err := files.New(files.Options{Allowed: []string{o.dir}, Drop: o.dir, Home: home, UndoDir: filepath.Join(home, "undo"), Store: st})
	if err != nil {
		t.Fatal(err)
	}
	a := o.Account("tester")
	a = a.With(pim.SMTP, o.smtp.URL)
	a.CA, a.Address = pimtest.Both(t, o.CA, o.smtp.CA), "tester@test.local"
	o.box, o.events = netaccount.NewMail(a), netaccount.NewCalendars(r.Account("tester"))
	d := Deps{
		Accounts: func() []pim.Account { return []pim.Account{a} }, Mailers: func() []pim.Mailer { return []pim.Mailer{o.box} }, Calendars: func() []pim.Calendars { return []pim.Calendars{o.events} },
		Attach: f.ReadAttachment, UndoSave: f.UndoSave,
		Save: func(ctx context.Context, folder, name string, content []byte, list []provenance.Origin) (out SavedFile, err error) {
			out.Path, out.Shown, out.Undo, err = f.SaveUntrusted(ctx, folder, name, content, list)
			return out, err
		},
	}
	for _, x := range Tools(d) {
		o.by[x.Spec().Name] = x
	}
	return o
}

func (o *officeBox) undoCall(t *testing.T, tool string, r tools.Result) (string, error) {
	t.Helper()
	if r.Undo == nil {
		return "", errors.New("no undo")
	}
	return o.by[tool].(tools.Undoer).Undo(t.Context(), r.Undo.Data)
}

func (o *officeBox) listFolder(t *testing.T, folder string) []pim.Message {
	t.Helper()
	list, err := o.box.FindMail(t.Context(), pim.MailQuery{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// partOf returns a part of a multipart email.
func partOf(kind, disposition, content string) string {
	return fmt.Sprintf("--b\nContent-Type: %s\nContent-Disposition: %s\nContent-Transfer-Encoding: base64\n\n%s\n", kind, disposition, base64.StdEncoding.EncodeToString([]byte(content)))
}

func buildMultipart(head string, parts ...string) string {
	return head + "\nContent-Type: multipart/mixed; boundary=b\n\n" + strings.Join(parts, "") + "--b--\n"
}

// sortPeople sorts by address, because the order of To and Cc in a header is undefined.
func sortPeople(list []pim.Person) []pim.Person {
	return slices.SortedFunc(slices.Values(list), func(a, b pim.Person) int { return strings.Compare(a.Address, b.Address) })
}

func TestSaveAttachment(t *testing.T) {
	o := openOffice(t)
	head := "From: Ada <ada@example.org>\nTo: tester@test.local\nSubject: "
	o.Deliver("tester", "INBOX", buildMultipart(head+"Papers", partOf("text/plain", "inline", "See there."), partOf("application/pdf", `attachment; filename="Invoice March.pdf"`, "%PDF\x00\r\n"),
		partOf("text/plain", `attachment; filename="../../.bashrc"`, "rm -rf /"), partOf("text/plain", `attachment; filename="a`+"\u202e"+`txt.exe"`, "MZ")), time.Now())
	o.Deliver("tester", "INBOX", letterFrom("Bob <bob@example.org>", "Nothing attached", "Hi"), time.Now())
	save := o.by["save_email_attachment"]
	j, r, err := assessAndCall(t, save, `{"mail":"papers","name":"invoice"}`)
	if err != nil || j.Why != `it saves files from the email "Papers" of Ada <ada@example.org>` || r.Source != provenance.Outside || r.Text != "Saved ~/Documents/Invoice March.pdf (7 bytes)." {
		t.Fatalf("save_email_attachment = %+v, %v", r, err)
	}
	path := filepath.Join(o.dir, "Invoice March.pdf")
	if b, err := os.ReadFile(path); err != nil || string(b) != "%PDF\x00\r\n" {
		t.Errorf("%q, %v", b, err)
	}
	_, all, err := assessAndCall(t, save, `{"mail":"papers","folder":"~/Documents/2026"}`)
	if err != nil || all.Text != "Saved ~/Documents/2026/Invoice March.pdf (7 bytes), ~/Documents/2026/bashrc (8 bytes), ~/Documents/2026/atxt.exe (2 bytes)." {
		t.Errorf("save_email_attachment = %s, %v", all.Text, err)
	}
	if _, second, err := assessAndCall(t, save, `{"mail":"papers","name":"invoice march"}`); err != nil || second.Text != "Saved ~/Documents/Invoice March (2).pdf (7 bytes)." {
		t.Errorf("a second save = %s, %v", second.Text, err)
	}
	if _, err := o.undoCall(t, "save_email_attachment", r); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(o.dir, "2026", "bashrc"), []byte("edited"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := o.undoCall(t, "save_email_attachment", all); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("undo of an edited file = %v", err)
	}
	for args, code := range map[string]tools.Code{
		`{"mail":"papers","name":"zebra"}`: tools.NotFound, `{"mail":"nothing attached"}`: tools.NotFound, `{"mail":"zebra"}`: tools.NotFound, `{"mail":"papers","folder":"/etc"}`: tools.PolicyDenied,
	} {
		if _, _, err := assessAndCall(t, save, args); tools.CodeOf(err) != code {
			t.Errorf("save_email_attachment %s = %v (%s), want %s", args, err, tools.CodeOf(err), code)
		}
	}
	if list, err := os.ReadDir(filepath.Join(o.dir)); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}

// A change of the recipients or the subject keeps the HTML of a draft, in UTF-8; a new text replaces it.
func TestEditDraft_KeepsHTML(t *testing.T) {
	o := openOffice(t)
	o.Create("tester", "Drafts")
	o.Create("tester", "Trash")
	const html = "<p>Caf\xe9 <b>at noon</b></p>"
	o.Deliver("tester", "Drafts", buildMultipart("From: tester@test.local\nTo: Ada <ada@example.org>\nSubject: Lunch\nMessage-ID: <d2@test.local>",
		partOf("text/plain", "inline", "Coffee at noon"), partOf("text/html; charset=iso-8859-1", "inline", html)), time.Now())
	htmlOf := func() string {
		parts, err := o.box.ReadParts(t.Context(), o.listFolder(t, "drafts")[0].Ref, 1<<20, func(p pim.MailPart) bool { return p.Kind == "text/html" })
		if err != nil {
			t.Fatal(err)
		}
		var out string
		for _, p := range parts {
			out += strings.TrimSpace(string(p.Data))
		}
		return out
	}
	edit := o.by["edit_draft"]
	if _, _, err := assessAndCall(t, edit, `{"draft":"lunch","subject":"Lunch on Friday"}`); err != nil {
		t.Fatal(err)
	}
	x, err := o.box.ReadMail(t.Context(), o.listFolder(t, "drafts")[0].Ref)
	if err != nil || x.Subject != "Lunch on Friday" || x.Text != "Coffee at noon" || len(x.Files) != 0 || htmlOf() != "<p>Caf\u00e9 <b>at noon</b></p>" {
		t.Errorf("draft = %+v, %v; HTML %q", x, err, htmlOf())
	}
	if _, _, err := assessAndCall(t, edit, `{"draft":"lunch","text":"Tea at noon"}`); err != nil {
		t.Fatal(err)
	}
	if got := htmlOf(); got != "" {
		t.Errorf("HTML after a new text = %q", got)
	}
}

// A small file of an email of 40 MB can be saved; the large one gives a clear error.
func TestSaveAttachment_LargeEmail(t *testing.T) {
	o := openOffice(t)
	large := bytes.Repeat([]byte("0123456789abcde\n"), 30<<20/16)
	o.Deliver("tester", "INBOX", buildMultipart("From: Ada <ada@example.org>\nSubject: Video", partOf("video/mp4", `attachment; filename="v.mp4"`, string(large)), partOf("text/plain", `attachment; filename="notes.txt"`, "small")), time.Now())
	if r, list := triageAt(t, o.by["email_triage"], time.Now(), `{}`); len(list) != 1 {
		t.Errorf("email_triage = %s", r.Text)
	}
	if _, r, err := assessAndCall(t, o.by["save_email_attachment"], `{"mail":"video","name":"notes"}`); err != nil || r.Text != "Saved ~/Documents/notes.txt (5 bytes)." {
		t.Errorf("%s, %v", r.Text, err)
	}
	if _, _, err := assessAndCall(t, o.by["save_email_attachment"], `{"mail":"video"}`); err == nil || !strings.Contains(err.Error(), "v.mp4 is larger than 10 MB; save it with a mail program") {
		t.Error(err)
	}
}

func TestEditDraft(t *testing.T) {
	o := openOffice(t)
	o.Create("tester", "Drafts")
	o.Create("tester", "Trash")
	o.Deliver("tester", "Drafts", buildMultipart("From: tester@test.local\nTo: Ada <ada@example.org>\nCc: Grace <grace@example.org>\nBcc: secret@example.org\nSubject: Offer\nMessage-ID: <d1@test.local>\nIn-Reply-To: <q2@x>\nReferences: <q1@x> <q2@x>",
		partOf("text/plain", "inline", "The price is 10."), partOf("text/csv", `attachment; filename="prices.csv"`, "a,1\n")), time.Now())
	edit := o.by["edit_draft"]
	j, r, err := assessAndCall(t, edit, `{"draft":"offer","text":"The price is 12.","subject":"Better offer"}`)
	if err != nil || j.Why != `it replaces the draft "Offer" to Ada <ada@example.org>, Grace <grace@example.org>` || r.Undo == nil {
		t.Fatalf("edit_draft = %+v, %v", r, err)
	}
	list := o.listFolder(t, "drafts")
	if len(list) != 1 || len(o.listFolder(t, "trash")) != 1 || len(o.smtp.Mails()) != 0 {
		t.Fatalf("drafts = %+v", list)
	}
	x, err := o.box.ReadMail(t.Context(), list[0].Ref)
	if err != nil || x.Subject != "Better offer" || x.Text != "The price is 12." || fmt.Sprint(sortPeople(x.To), x.Cc, x.Bcc) != "[Ada <ada@example.org> Grace <grace@example.org>] [Grace <grace@example.org>] [secret@example.org]" ||
		strings.Join(x.Refers, " ") != "q1@x q2@x" || strings.Join(x.Files, "") != "prices.csv" {
		t.Errorf("%+v, %v", x, err)
	}
	t.Run("recipients and files", func(t *testing.T) {
		if err := os.MkdirAll(o.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(o.dir, "terms.txt"), []byte("terms"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, r, err := assessAndCall(t, edit, `{"draft":"grace","to":["bob@example.org"],"attach":["terms.txt"]}`)
		if err != nil {
			t.Fatal(err)
		}
		x, err := o.box.ReadMail(t.Context(), o.listFolder(t, "drafts")[0].Ref)
		if err != nil || x.Subject != "Better offer" || x.Text != "The price is 12." || fmt.Sprint(sortPeople(x.To)) != "[bob@example.org Grace <grace@example.org>]" || strings.Join(x.Files, " ") != "prices.csv terms.txt" {
			t.Errorf("%+v, %v", x, err)
		}
		if _, err := o.undoCall(t, "edit_draft", r); err != nil {
			t.Error(err)
		}
	})
	if said, err := o.undoCall(t, "edit_draft", r); err != nil || said != "Restored the former draft." {
		t.Errorf("undo = %q, %v", said, err)
	}
	if list := o.listFolder(t, "drafts"); len(list) != 1 || list[0].Subject != "Offer" {
		t.Errorf("drafts = %+v", list)
	}
	for args, code := range map[string]tools.Code{
		`{"draft":"offer"}`: tools.InvalidArguments, `{"draft":"zebra","text":"x"}`: tools.NotFound, `{"draft":"offer","to":["x\ny@example.org"]}`: tools.InvalidArguments,
		`{"draft":"offer","attach":["/etc/passwd"]}`: tools.PolicyDenied, `{"draft":"offer","subject":"a\r\nBcc: x@example.org"}`: tools.InvalidArguments,
	} {
		if _, _, err := assessAndCall(t, edit, args); tools.CodeOf(err) != code {
			t.Errorf("edit_draft %s = %v (%s), want %s", args, err, tools.CodeOf(err), code)
		}
	}
	if len(o.listFolder(t, "drafts")) != 1 {
		t.Error("a failed change left a draft")
	}
}

const invitation = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:meet-1\r\nDTSTAMP:20261101T000000Z\r\nSEQUENCE:2\r\nDTSTART:%s\r\nDURATION:PT1H\r\nSUMMARY:Harbour review\r\nLOCATION:Pier 3\r\n" +
	"ORGANIZER:mailto:greta@example.org\r\nATTENDEE;RSVP=TRUE;PARTSTAT=NEEDS-ACTION:mailto:tester@test.local\r\nATTENDEE:mailto:ada@example.org\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

// An accepted invitation that repeats enters the calendar with its rule. If the rule does not give
// the dates of the invitation, only the first date is added.
func TestAnswerEmailInvitation_AddsTheRecurrence(t *testing.T) {
	o := openOffice(t)
	start := time.Now().AddDate(0, 0, 3).UTC().Truncate(time.Hour)
	for name, more := range map[string]string{"weekly": "RRULE:FREQ=WEEKLY;COUNT=4\r\n", "pause": "RRULE:FREQ=WEEKLY;COUNT=4\r\nEXDATE:" + start.AddDate(0, 0, 7).Format("20060102T150405Z") + "\r\n"} {
		data := strings.NewReplacer("meet-1", name, "Harbour review", name, "DURATION:PT1H\r\n", "DURATION:PT1H\r\n"+more).Replace(fmt.Sprintf(invitation, start.Format("20060102T150405Z")))
		o.Deliver("tester", "INBOX", buildMultipart("From: Greta <greta@example.org>\nTo: tester@test.local\nSubject: "+name+"\nMessage-ID: <"+name+"@x>", partOf("text/plain", "inline", "Please come."), partOf("text/calendar; method=REQUEST; charset=utf-8", "inline", data)), time.Now())
		_, r, err := assessAndCall(t, o.by["answer_email_invitation"], `{"mail":"`+name+`","answer":"accept"}`)
		if err != nil {
			t.Fatal(err)
		}
		list, err := o.events.FindEvents(t.Context(), pim.TimeRange{From: start.Add(-time.Hour), To: start.AddDate(0, 3, 0), Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, e := range list {
			if e.Title == name {
				n++
			}
		}
		if want, said := map[string]int{"weekly": 4, "pause": 1}[name], map[string]string{"weekly": "It repeats as in the invitation.", "pause": "Only its first date was added"}[name]; n != want || !strings.Contains(r.Text, said) {
			t.Errorf("%s: %d dates in the calendar, want %d: %s", name, n, want, r.Text)
		}
	}
}

func TestAnswerEmailInvitation(t *testing.T) {
	o := openOffice(t)
	start := time.Now().AddDate(0, 0, 3).UTC().Truncate(time.Hour)
	put := func(subject, from, data string) {
		o.Deliver("tester", "INBOX", buildMultipart("From: "+from+"\nTo: tester@test.local\nSubject: "+subject+"\nMessage-ID: <"+strings.ReplaceAll(subject, " ", "")+"@x>", partOf("text/plain", "inline", "Please come."), partOf("text/calendar; method=REQUEST; charset=utf-8", "inline", data)), time.Now())
	}
	event := fmt.Sprintf(invitation, start.Format("20060102T150405Z"))
	put("Invitation harbour", "Greta <greta@example.org>", event)
	put("Forged", "Eve <eve@evil.example>", strings.Replace(event, "meet-1", "meet-2", 1))
	put("For others", "Greta <greta@example.org>", strings.Replace(event, "tester@test.local", "someone@test.local", 1))
	put("Broken", "Greta <greta@example.org>", "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nnonsense")
	put("Long ago", "Greta <greta@example.org>", fmt.Sprintf(invitation, "20010101T100000Z"))
	put("Hidden organizer", "Greta <greta@example.org>", strings.Replace(event, "mailto:greta@example.org", "mailto:greta@example.org%0d%0aBcc:eve@evil.example", 1))
	o.Deliver("tester", "INBOX", letterFrom("Bob <bob@example.org>", "Plain", "Come at 5"), time.Now())
	o.Deliver("tester", "INBOX", buildMultipart("From: Bob <bob@example.org>\nSubject: Cancelled", partOf("text/calendar; method=CANCEL", "inline", strings.Replace(event, "REQUEST", "CANCEL", 1))), time.Now())
	answer := o.by["answer_email_invitation"]
	j, r, err := assessAndCall(t, answer, `{"mail":"invitation harbour","answer":"accept","comment":"I bring cake."}`)
	if err != nil || strings.Join(j.To, " ") != "greta@example.org" || !strings.HasPrefix(j.Why, `it notifies greta@example.org, the organizer of "Harbour review", `) || r.Source != provenance.Outside {
		t.Fatalf("answer_email_invitation = %+v, %+v, %v", j, r, err)
	}
	got := o.smtp.Mails()
	if len(got) != 1 || strings.Join(got[0].To, " ") != "greta@example.org" {
		t.Fatalf("Mails = %+v", got)
	}
	plain := strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(got[0].Mail)
	for _, want := range []string{"Subject: Accepted: Harbour review\r\n", "In-Reply-To: <Invitationharbour@x>\r\n", "METHOD:REPLY\r\n", "UID:meet-1\r\n", "SEQUENCE:2\r\n", "PARTSTAT=ACCEPTED:mailto:tester@test.local\r\n", "COMMENT:I bring cake.\r\n", "method=REPLY"} {
		if !strings.Contains(plain, want) {
			t.Errorf("%q is missing in %s", want, plain)
		}
	}
	events := func() (out []string) {
		list, err := o.events.FindEvents(t.Context(), pim.TimeRange{From: start.Add(-time.Hour), To: start.Add(2 * time.Hour), Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			out = append(out, e.Title+" at "+e.Place)
		}
		return out
	}
	if strings.Join(events(), ", ") != "Harbour review at Pier 3" || !strings.Contains(r.Text, "The event is in your calendar ") {
		t.Errorf("calendar = %q: %s", events(), r.Text)
	}
	if _, again, err := assessAndCall(t, answer, `{"mail":"invitation harbour","answer":"tentative"}`); err != nil || !strings.Contains(again.Text, "already in your calendar") || len(events()) != 1 {
		t.Errorf("a second answer = %s, %v", again.Text, err)
	}
	if _, err := o.undoCall(t, "answer_email_invitation", r); err != nil || len(events()) != 0 {
		t.Error(err)
	}
	before := len(o.smtp.Mails())
	if j := tools.JudgmentOf(t.Context(), answer, json.RawMessage(`{"mail":"forged","answer":"decline"}`)); j.Refused != nil || !strings.Contains(j.Why, "the email is from another sender, Eve <eve@evil.example>") {
		t.Errorf("%+v", j)
	}
	for args, code := range map[string]tools.Code{
		`{"mail":"for others","answer":"accept"}`: tools.InvalidArguments, `{"mail":"broken","answer":"accept"}`: tools.InvalidArguments, `{"mail":"long ago","answer":"accept"}`: tools.InvalidArguments,
		`{"mail":"plain","answer":"accept"}`: tools.NotFound, `{"mail":"cancelled","answer":"accept"}`: tools.InvalidArguments, `{"mail":"forged","answer":"perhaps not"}`: tools.InvalidArguments,
		`{"mail":"hidden organizer","answer":"accept"}`: tools.InvalidArguments,
	} {
		if _, _, err := assessAndCall(t, answer, args); tools.CodeOf(err) != code {
			t.Errorf("answer_email_invitation %s = %v (%s), want %s", args, err, tools.CodeOf(err), code)
		}
	}
	if len(o.smtp.Mails()) != before {
		t.Error("a refused answer was sent")
	}
}
