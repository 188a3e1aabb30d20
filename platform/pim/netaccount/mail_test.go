package netaccount_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	gomail "github.com/emersion/go-message/mail"

	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/platform/pim/pimtest"
)

// newMailbox returns an account on a real dovecot and an SMTP server.
func newMailbox(t *testing.T) (*netaccount.Mail, *pimtest.Dovecot, *pimtest.SMTP) {
	t.Helper()
	d, s := pimtest.StartDovecot(t, ""), pimtest.StartSMTP(t)
	a := d.Account("tester")
	a = a.With(pim.SMTP, s.URL)
	a.CA = pimtest.Both(t, d.CA, s.CA)
	return netaccount.NewMail(a), d, s
}

func findMail(t *testing.T, m *netaccount.Mail, folder string) []pim.Message {
	t.Helper()
	list, err := m.FindMail(t.Context(), pim.MailQuery{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSendMail(t *testing.T) {
	m, d, s := newMailbox(t)
	l := pim.OutgoingMail{
		To: []pim.Person{{Name: "Ada, Countess", Address: "ada@example.org"}}, Bcc: []pim.Person{{Address: "grace@example.org"}},
		Subject: "Grüße aus Vilnius " + strings.Repeat("und weiter ", 20), Text: "Liebe Ada,\n.\nbis " + strings.Repeat("bald ", 300) + "\n.. Dein B.",
		Answers: "q2@example.org", References: []string{"q1@example.org"}, Files: []pim.Attachment{{Name: "Rechnung März.pdf", Data: []byte("%PDF\x00\r\n.\r\n")}},
	}
	r, err := m.SendMail(t.Context(), l)
	if err != nil || r.Outcome != pim.Sent || r.Why != "" {
		t.Fatalf("SendMail = %+v, %v", r, err)
	}
	got := s.Mails()
	if len(got) != 1 || got[0].From != "tester@test.local" || fmt.Sprint(got[0].To) != "[ada@example.org grace@example.org]" || strings.Contains(got[0].Mail, "grace") {
		t.Fatalf("Mails = %+v", got)
	}
	reader, err := gomail.CreateReader(strings.NewReader(got[0].Mail))
	if err != nil {
		t.Fatal(err)
	}
	subject, _ := reader.Header.Subject()
	to, _ := reader.Header.AddressList("To")
	refers, _ := reader.Header.MsgIDList("References")
	id, _ := reader.Header.MessageID()
	if subject != strings.TrimSpace(l.Subject) && subject != l.Subject || len(to) != 1 || to[0].Name != "Ada, Countess" || fmt.Sprint(refers) != "[q1@example.org q2@example.org]" || id != r.ID {
		t.Errorf("%q %v %v %s", subject, to, refers, id)
	}
	var parts []string
	for {
		p, err := reader.NextPart()
		if err != nil {
			break
		}
		b, _ := io.ReadAll(p.Body)
		parts = append(parts, string(b))
	}
	if len(parts) != 2 || strings.TrimSpace(strings.ReplaceAll(parts[0], "\r\n", "\n")) != l.Text || parts[1] != string(l.Files[0].Data) {
		t.Errorf("%q", parts)
	}
	for line := range strings.SplitSeq(got[0].Mail, "\r\n") {
		if len(line) > 998 {
			t.Error("a line exceeds the limit of RFC 5322")
		}
	}
	sent := findMail(t, m, "sent")
	if len(sent) != 1 || sent[0].ID != r.ID || !sent[0].Seen || fmt.Sprint(sent[0].Refers) != "[q1@example.org q2@example.org]" {
		t.Fatalf("%+v", sent)
	}
	t.Run("sends to no one if one recipient is rejected", func(t *testing.T) {
		_, err := m.SendMail(t.Context(), pim.OutgoingMail{To: []pim.Person{{Address: "ada@example.org"}, {Address: "refuse@example.org"}}, Text: "x"})
		if !errors.Is(err, pim.ErrRefused) || !strings.Contains(err.Error(), "refuse@example.org") || len(s.Mails()) != 1 {
			t.Error(err, len(s.Mails()))
		}
	})
	t.Run("reports Uncertain if the server hangs up", func(t *testing.T) {
		r, err := m.SendMail(t.Context(), pim.OutgoingMail{To: []pim.Person{{Address: "mute@example.org"}}, Text: "x"})
		if err != nil || r.Outcome != pim.Uncertain || len(s.Mails()) != 2 || len(findMail(t, m, "sent")) != 1 {
			t.Errorf("SendMail = %+v, %v", r, err)
		}
	})
	t.Run("nobody", func(t *testing.T) {
		if _, err := m.SendMail(t.Context(), pim.OutgoingMail{Text: "x"}); !errors.Is(err, pim.ErrInvalid) {
			t.Error(err)
		}
	})
	t.Run("reports a sent mail if the mailbox fails", func(t *testing.T) {
		d.Stop()
		defer d.Start()
		r, err := m.SendMail(t.Context(), pim.OutgoingMail{To: []pim.Person{{Address: "ada@example.org"}}, Text: "x"})
		if err != nil || r.Outcome != pim.Sent || !strings.Contains(r.Why, "no copy") {
			t.Errorf("SendMail = %+v, %v", r, err)
		}
	})
}

func TestDraftMail(t *testing.T) {
	m, d, _ := newMailbox(t)
	l := pim.OutgoingMail{ID: "one@test.local", To: []pim.Person{{Address: "ada@example.org"}}, Subject: "Lunch", Text: "On Friday?"}
	r, err := m.DraftMail(t.Context(), l)
	if err != nil || r.Outcome != pim.Sent || r.ID == "" {
		t.Fatalf("DraftMail = %+v, %v", r, err)
	}
	again, err := m.DraftMail(t.Context(), l) // repeated as after a crash
	if err != nil || again.ID != r.ID || len(findMail(t, m, "drafts")) != 1 {
		t.Errorf("%+v, %v", again, err)
	}
	x, err := m.ReadMail(t.Context(), r.ID)
	if err != nil || x.Subject != "Lunch" || x.Text != "On Friday?" {
		t.Errorf("ReadMail = %+v, %v", x, err)
	}
	if err := m.TakeBack(t.Context(), r.Undo); err != nil || len(findMail(t, m, "drafts")) != 0 {
		t.Error(err)
	}
	if err := m.TakeBack(t.Context(), r.Undo); !errors.Is(err, pim.ErrChanged) {
		t.Error(err)
	}
	if _, err := m.ReadMail(t.Context(), r.ID); !errors.Is(err, pim.ErrNotFound) {
		t.Error(err)
	}
	d.Deliver("tester", "Drafts", "From: a@b.org\nMessage-ID: <x@y>\nSubject: Mine\n\nx\n", time.Time{})
	if r, err = m.DraftMail(t.Context(), pim.OutgoingMail{Text: "no recipient yet"}); err != nil {
		t.Fatal(err)
	}
	d.Renumber("tester") // the messages get new UIDs, so the draft must be found by its Message-ID
	if err := m.TakeBack(t.Context(), r.Undo); err != nil {
		t.Error(err)
	}
	if list := findMail(t, m, "drafts"); len(list) != 1 || list[0].Subject != "Mine" {
		t.Errorf("%+v", list)
	}
}

func TestMoveMail(t *testing.T) {
	for name, caps := range map[string]string{"MOVE": "", "COPY": "IMAP4rev1 UIDPLUS SPECIAL-USE LIST-EXTENDED"} {
		t.Run(name, func(t *testing.T) {
			d := pimtest.StartDovecot(t, caps)
			m := netaccount.NewMail(d.Account("tester"))
			for _, s := range []string{"Keep", "Go"} {
				d.Deliver("tester", "INBOX", "From: Ada <ada@example.org>\nReply-To: Eve <eve@x.org>\nMessage-ID: <"+s+"@x>\nSubject: "+s+"\n\nx\n", time.Time{})
			}
			list := findMail(t, m, "")
			if len(list) != 2 || list[0].Subject != "Go" || list[0].ReplyTo[0].Address != "eve@x.org" {
				t.Fatalf("%+v", list)
			}
			r, err := m.MoveMail(t.Context(), list[0].Ref, "archive")
			if err != nil || r.Outcome != pim.Sent || len(findMail(t, m, "")) != 1 || len(findMail(t, m, "archive")) != 1 {
				t.Fatalf("MoveMail = %+v, %v", r, err)
			}
			if x, err := m.ReadMail(t.Context(), r.ID); err != nil || x.Subject != "Go" {
				t.Errorf("ReadMail = %+v, %v", x, err)
			}
			if _, err := m.MoveMail(t.Context(), list[0].Ref, "archive"); !errors.Is(err, pim.ErrNotFound) {
				t.Error(err)
			}
			if err := m.TakeBack(t.Context(), r.Undo); err != nil || len(findMail(t, m, "")) != 2 || len(findMail(t, m, "archive")) != 0 {
				t.Error(err)
			}
			if _, err := m.MoveMail(t.Context(), list[1].Ref, "nowhere"); !errors.Is(err, pim.ErrNoFolder) {
				t.Error(err)
			}
		})
	}
	t.Run("neither", func(t *testing.T) {
		d := pimtest.StartDovecot(t, "IMAP4rev1")
		m := netaccount.NewMail(d.Account("tester"))
		d.Deliver("tester", "INBOX", "From: a@b.org\nSubject: Go\n\nx\n", time.Time{})
		list := findMail(t, m, "")
		if _, err := m.MoveMail(t.Context(), list[0].Ref, "trash"); !errors.Is(err, errors.ErrUnsupported) || len(findMail(t, m, "")) != 1 {
			t.Error(err)
		}
	})
}
