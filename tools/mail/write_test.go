package mail

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/platform/pim/pimtest"
	"hob/platform/provenance"
	"hob/tools"
)

// newWritingTools returns the tools for the mailbox of post with an SMTP server and an address book, the
// SMTP server, and a function that lists the emails in a folder.
func newWritingTools(t *testing.T) (map[string]tools.Tool, *pimtest.SMTP, func(folder string) []pim.Message) {
	t.Helper()
	d, server, now := startMailbox(t)
	by, s, in := toolsOn(t, d, server)
	server.Deliver("tester", "INBOX", "From: Bob <bob@example.org>\nReply-To: Eve <eve@evil.example>\nTo: tester@test.local\nSubject: Lunch?\nMessage-ID: <lunch@x>\nReferences: <first@x>\n\nAt noon?\n", now)
	server.Deliver("tester", "INBOX", "From: Zoe <zoe@shop.example>\nTo: tester@test.local\nSubject: The =?utf-8?q?=E2=80=8B=EF=BB=BFpre?=header\nMessage-ID: <a\u202eb@x>\nReferences: <a\u200b@x> <first@x>\n\nBuy.\n", now.Add(-30*24*time.Hour))
	return by, s, in
}

// newToolsOn returns the tools for an empty mailbox.
func newToolsOn(t *testing.T) (map[string]tools.Tool, *pimtest.Dovecot, *pimtest.SMTP) {
	t.Helper()
	server := pimtest.StartDovecot(t, "")
	for _, folder := range []string{"Sent", "Archive", "Trash"} {
		server.Create("tester", folder)
	}
	by, s, _ := toolsOn(t, Deps{Accounts: func() []pim.Account { return []pim.Account{server.Account("tester")} }}, server)
	return by, server, s
}

// toolsOn returns the tools for a mailbox.
func toolsOn(t *testing.T, d Deps, server *pimtest.Dovecot) (map[string]tools.Tool, *pimtest.SMTP, func(folder string) []pim.Message) {
	t.Helper()
	s := pimtest.StartSMTP(t)
	a := server.Account("tester")
	a = a.With(pim.SMTP, s.URL)
	a.CA = pimtest.Both(t, server.CA, s.CA)
	box := netaccount.NewMail(a)
	d.Mailers = func() []pim.Mailer { return []pim.Mailer{box} }
	d.Attach = func(_ context.Context, path string) (pim.Attachment, error) {
		if path != "report.txt" {
			return pim.Attachment{}, tools.Errorf(tools.PolicyDenied, "%s is not in an allowed folder", path)
		}
		return pim.Attachment{Name: path, Data: []byte("all is well\n")}, nil
	}
	d.People = func(_ context.Context, words string) ([]pim.Contact, error) {
		if words == "Grace" {
			return []pim.Contact{{Name: "Grace Hopper", Addresses: []string{"grace@example.org"}}, {Name: "Grace Kelly", Addresses: []string{"kelly@example.org"}}}, nil
		}
		if words == "Ada" {
			return []pim.Contact{{Name: "Ada Lovelace", Addresses: []string{"ada@example.org"}}}, nil
		}
		return nil, nil
	}
	byName := map[string]tools.Tool{}
	for _, x := range Tools(d) {
		byName[x.Spec().Name] = x
	}
	return byName, s, func(folder string) []pim.Message {
		t.Helper()
		list, err := box.FindMail(t.Context(), pim.MailQuery{Folder: folder})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
}

// assessAndCall assesses a call and then runs it bound to the assessment, as the engine does.
func assessAndCall(t *testing.T, x tools.Tool, args string) (tools.CallAssessment, tools.Result, error) {
	t.Helper()
	j := tools.JudgmentOf(t.Context(), x, json.RawMessage(args))
	if j.Refused != nil {
		return j, tools.Result{}, j.Refused
	}
	r, err := x.Call(t.Context(), tools.Call{ID: "c-" + args, Args: json.RawMessage(args), Now: time.Now(), Exact: j.Exact, Progress: func(float64, string) {}})
	return j, r, err
}

func TestSend(t *testing.T) {
	by, s, in := newWritingTools(t)
	send := by["send_email"]
	j, r, err := assessAndCall(t, send, `{"to":["Ada","Linus <linus@example.org>"],"bcc":["root@example.org"],"subject":"Report","text":"See the file.","attach":["report.txt"]}`)
	if err != nil || j.Why != "it reaches Ada Lovelace <ada@example.org>, Linus <linus@example.org>; blind copy to root@example.org" ||
		strings.Join(j.To, " ") != "ada@example.org linus@example.org root@example.org" || j.Pattern != "" || !strings.Contains(j.Exact, "report.txt, 12 bytes, sha256 ") {
		t.Errorf("%+v, %v", j, err)
	}
	if got := s.Mails(); len(got) != 1 || len(got[0].To) != 3 || strings.Contains(got[0].Mail, "root@") || !strings.HasPrefix(r.Text, "Sent to Ada Lovelace <ada@example.org>") || !r.Source.Tainted() { // cards of an address book are untrusted
		t.Errorf("%+v %+v", got, r)
	}
	if list := in("sent"); len(list) != 1 || list[0].Subject != "Report" {
		t.Errorf("%+v", list)
	}
	t.Run("an answer goes to the Reply-To address, and the result says so", func(t *testing.T) {
		j, _, err := assessAndCall(t, send, `{"answer":"lunch","text":"Yes."}`)
		if err != nil || j.Why != "it reaches eve@evil.example; the sender Bob <bob@example.org> requests replies to that address" || j.Pattern != "mail:eve@evil.example" {
			t.Errorf("%+v, %v", j, err)
		}
		last := s.Mails()[len(s.Mails())-1].Mail
		for _, want := range []string{"Subject: Re: Lunch?\r\n", "In-Reply-To: <lunch@x>\r\n", "References: <first@x> <lunch@x>\r\n", "To: <eve@evil.example>\r\n"} {
			if !strings.Contains(last, want) {
				t.Errorf("%q is missing: %s", want, last)
			}
		}
	})
	t.Run("an answer to a mail with an odd name and subject", func(t *testing.T) {
		_, _, err := assessAndCall(t, send, `{"answer":"preheader","text":"Yes."}`)
		if err != nil {
			t.Fatal(err)
		}
		last := s.Mails()[len(s.Mails())-1].Mail
		if !strings.Contains(last, "Subject: Re: The preheader\r\n") || strings.Contains(last, "In-Reply-To") || !strings.Contains(last, "References: <first@x>\r\n") {
			t.Error(last)
		}
	})
	t.Run("to the owner himself", func(t *testing.T) {
		if j, _, err := assessAndCall(t, send, `{"to":["tester@test.local"],"text":"Note to self."}`); err != nil || strings.Join(j.To, " ") != tools.Owner {
			t.Errorf("assessAndCall = %+v, %v", j, err)
		}
	})
	before := len(s.Mails())
	for name, tc := range map[string]struct {
		args string
		code tools.Code
	}{
		"a second line":                         {`{"to":["ada@example.org"],"subject":"x\r\nBcc: eve@evil.example","text":"x"}`, tools.InvalidArguments},
		"a hidden recipient":                    {`{"to":["ada@example.org\nBcc: eve@evil.example"],"text":"x"}`, tools.InvalidArguments},
		"several addresses":                     {`{"to":["Grace"],"text":"x"}`, tools.InvalidArguments},
		"no known recipient":                    {`{"to":["Mallory"],"text":"x"}`, tools.NotFound},
		"nobody":                                {`{"text":"x"}`, tools.InvalidArguments},
		"no text":                               {`{"to":["ada@example.org"],"text":" "}`, tools.InvalidArguments},
		"a file outside of the allowed folders": {`{"to":["ada@example.org"],"text":"x","attach":["/etc/passwd"]}`, tools.PolicyDenied},
		"no such account":                       {`{"to":["ada@example.org"],"text":"x","account":"other"}`, tools.NotFound},
		"a reply to a missing mail":             {`{"answer":"nothing of the kind","text":"x"}`, tools.NotFound},
		"an unknown outcome":                    {`{"to":["mute@example.org"],"text":"x"}`, tools.OutcomeUnknown},
		"one recipient is refused":              {`{"to":["ada@example.org","refuse@example.org"],"text":"x"}`, tools.Failed},
	} {
		if _, _, err := assessAndCall(t, send, tc.args); tools.CodeOf(err) != tc.code {
			t.Errorf("%s: assessAndCall = %v", name, err)
		}
	}
	if got := len(s.Mails()); got != before+1 { // only the email with the unknown outcome was sent
		t.Errorf("%d mails were sent", got-before)
	}
	if _, err := send.Call(t.Context(), tools.Call{Args: json.RawMessage(`{"to":["ada@example.org"],"text":"x"}`), Exact: "another", Now: time.Now()}); tools.CodeOf(err) != tools.Conflict {
		t.Error(err)
	}
}

func TestDraftAndMove(t *testing.T) {
	by, s, in := newWritingTools(t)
	_, r, err := assessAndCall(t, by["draft_email"], `{"to":["Ada"],"text":"Lunch on Friday?"}`)
	if err != nil || r.Text != "The draft to Ada Lovelace <ada@example.org> is saved in the drafts of work: Lunch on Friday?." || r.Undo == nil || len(in("drafts")) != 1 || len(s.Mails()) != 0 {
		t.Fatalf("assessAndCall = %+v, %v", r, err)
	}
	undo := func(tool string, data json.RawMessage) error {
		_, err := by[tool].(tools.Undoer).Undo(t.Context(), data)
		return err
	}
	if err := undo("draft_email", r.Undo.Data); err != nil || len(in("drafts")) != 0 {
		t.Error(err)
	}
	if err := undo("draft_email", r.Undo.Data); tools.CodeOf(err) != tools.Conflict {
		t.Error(err)
	}
	move := by["move_email"]
	if _, err := move.Call(t.Context(), tools.Call{Args: json.RawMessage(`{"mail":"lunch"}`), Exact: "another", Now: time.Now()}); tools.CodeOf(err) != tools.Conflict || len(in("")) != 5 {
		t.Error(err)
	}
	j, r, err := assessAndCall(t, move, `{"mail":"lunch"}`)
	if j.Why != `it is the email "Lunch?" from Bob <bob@example.org>` {
		t.Error(j.Why)
	}
	if err != nil || len(in("archive")) != 1 || r.Source != provenance.Outside || r.Undo == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, _, err := assessAndCall(t, by["move_email"], `{"mail":"lunch"}`); tools.CodeOf(err) != tools.NotFound {
		t.Error(err)
	}
	if err := undo("move_email", r.Undo.Data); err != nil || len(in("archive")) != 0 || len(in("")) != 5 {
		t.Error(err)
	}
	if _, _, err := assessAndCall(t, by["move_email"], `{"mail":"example"}`); tools.CodeOf(err) != tools.InvalidArguments || !strings.Contains(err.Error(), "The invoice (work/") || !tools.SourceOf(err).Tainted() {
		t.Error(err)
	}
	_, r, err = assessAndCall(t, by["read_emails"], `{"limit":1}`)
	id := r.Data.(mailOut).Mails[0].ID
	if err != nil || !strings.Contains(r.Text, "Id: "+id) {
		t.Fatalf("%s %v", r.Text, err)
	}
	_, r, err = assessAndCall(t, by["read_email"], `{"mail":"`+id+`"}`)
	if err != nil || !strings.HasPrefix(r.Text, "From: Bob <bob@example.org>\nReply-To: Eve <eve@evil.example>\nTo: tester@test.local\nSubject: Lunch?") || !strings.HasSuffix(r.Text, "At noon?") {
		t.Errorf("%s %v", r.Text, err)
	}
}
