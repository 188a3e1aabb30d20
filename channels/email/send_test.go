package email

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/channels"
	"hob/platform/pim/imapmail"
)

// testThread checks that an answer belongs to the thread of the answered mail, in both directions,
// and also with mail programs that reference only the previous mail.
func testThread(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	ch := w.newChannel(w.channelConfig())
	w.runChannel(ch)
	w.put(letterTo("root@x.org", ada, "Größe", "how large is it?"))
	in := w.awaitMessages(1)[0]
	if in.Text != "Größe\n\nhow large is it?" {
		t.Errorf("%q", in.Text)
	}
	path := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(path, []byte("name,size\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := channels.Delivery{ID: "d1", Kind: channels.Reply, Chat: in.Chat, Cause: in.Payload, Text: "It is **large**.\n\n- one\n- two", Files: []channels.Attachment{{Name: "größe.csv", MIME: "text/csv", Path: path}}}
	for d.Attempts = range 2 { // the second attempt simulates a resend after a crash
		if r, err := ch.Send(t.Context(), d); err != nil || r.ID == "" {
			t.Fatal(r, err)
		}
	}
	got := w.parsedMails()
	m := got[0]
	if got[1].id != m.id {
		t.Errorf("Message-ID of the second copy = %s, want %s", got[1].id, m.id)
	}
	for name, want := range map[string]string{
		"In-Reply-To": "<root@x.org>", "References": "<root@x.org>", "Auto-Submitted": "auto-replied", "X-Hob": "1", "X-Hob-Hops": "0", "To": "<" + ada + ">",
	} {
		if m.header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, m.header.Get(name), want)
		}
	}
	if m.decodeSubject() != "Re: Größe" || !strings.Contains(m.plain, "It is") || !strings.Contains(m.html, "large") || m.files["größe.csv"] != "name,size\n" || !strings.HasPrefix(m.header.Get("Content-Type"), "multipart/mixed") {
		t.Errorf("%q: %q, %q, %q", m.decodeSubject(), m.plain, m.html, m.files)
	}
	// Two answers to Hob's mail: one references only the last mail, the other the complete thread.
	w.put(letterTo("second@x.org", ada, "Re: Größe", "thanks", "In-Reply-To: <"+m.id+">"))
	w.put(letterTo("third@x.org", ada, "AW: Größe", "indeed", "References: <root@x.org>\n <"+m.id+"> <second@x.org>"))
	for i, in2 := range w.awaitMessages(3)[1:] {
		if in2.Chat != in.Chat {
			t.Errorf("mail %d is in chat %s, want %s", i, in2.Chat, in.Chat)
		}
		if want := []string{m.id, "second@x.org"}[i]; !slices.Equal(in2.ReplyTo, []string{want}) || !in2.OnlyReplies {
			t.Errorf("%d replies to %q (only replies count: %v), want %s and true", i, in2.ReplyTo, in2.OnlyReplies, want)
		}
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: fmt.Sprint("e", i), Chat: in2.Chat, Cause: in2.Payload, Text: "ok"}); err != nil {
			t.Fatal(err)
		}
	}
	if m := w.parsedMails()[3]; m.header.Get("X-Hob-Hops") != "1" || !strings.HasSuffix(m.header.Get("References"), "<third@x.org>") || m.decodeSubject() != "Re: Größe" {
		t.Errorf("%q, %q, %q", m.header.Get("X-Hob-Hops"), m.header.Get("References"), m.decodeSubject())
	}
	// A notice starts a separate thread, and the owner's reply to it returns to the conversation of
	// the notice.
	if _, err := ch.Send(t.Context(), channels.Delivery{ID: "n", Kind: channels.Notice, Chat: in.Chat, Text: "The bin is out.\nIt was collected."}); err != nil {
		t.Fatal(err)
	}
	n := w.parsedMails()[4]
	if n.decodeSubject() != "The bin is out." || n.header.Get("References")+n.header.Get("In-Reply-To") != "" || n.header.Get("Auto-Submitted") != "auto-generated" {
		t.Errorf("%q, %v", n.decodeSubject(), n.header)
	}
	w.put(letterTo("fourth@x.org", ada, "Re: The bin is out.", "good", "References: <"+n.id+">"))
	if in := w.awaitMessages(4); in[3].Chat != in[0].Chat {
		t.Errorf("%s, want %s", in[3].Chat, in[0].Chat)
	}
	yes, _ := w.listSeen("Gesendet")
	if len(yes) != 4 {
		t.Errorf("%d copies in the folder of sent mails", len(yes))
	}
	if _, found, err := ch.Find(t.Context(), d); !found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	d.ID = "never sent"
	if _, found, err := ch.Find(t.Context(), d); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

// testDrafts checks that an outgoing mail is stored once in the drafts folder and not sent.
func testDrafts(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	c := w.channelConfig()
	c.Drafts = true
	ch := w.newChannel(c)
	d := channels.Delivery{ID: "d1", Kind: channels.Notice, Chat: chatOf(ada, hashOf("x")), Text: "a draft"}
	for range 2 {
		if _, err := ch.Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if _, found, err := ch.Find(t.Context(), d); !found || err != nil || len(w.parsedMails()) != 0 {
		t.Errorf("Find = %v, %v; %d mails were sent", found, err, len(w.parsedMails()))
	}
	m, err := imapmail.Open(t.Context(), w.acc)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	if s, err := m.Select(t.Context(), "Drafts"); err != nil || s.Messages != 1 {
		t.Errorf("%d drafts, %v", s.Messages, err)
	}
}

// testHeadersStayHeaders checks that text in a mail or message cannot add lines to a header.
func testHeadersStayHeaders(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	ch := w.newChannel(w.channelConfig())
	chat := chatOf(ada, hashOf("x"))
	bad := "x\r\nBcc: eve@evil.example\r\n\r\nhello"
	for i, d := range []channels.Delivery{
		{Chat: chat, Text: "x", Cause: []byte(fmt.Sprintf(`{"to":%q,"id":%q}`, ada, bad))},
		{Chat: chat, Text: "x", Cause: []byte(fmt.Sprintf(`{"to":%q,"id":"a@b","refers":[%q]}`, ada, bad))},
		{Chat: chat, Text: "x", Cause: []byte(fmt.Sprintf(`{"to":%q,"id":"a@b","subject":%q}`, ada, bad))},
		{Chat: ada + "\r\nBcc: eve@evil.example/" + hashOf("x"), Text: "x"},
		{Chat: ada + ", eve@evil.example/" + hashOf("x"), Text: "x"},
		{Chat: hob + "/" + hashOf("x"), Text: "to itself"},
		{Chat: "", Text: "to nobody"},
		{Chat: chat, Text: "x", Cause: []byte(`{`)},
		{Chat: chat, Text: "x", Files: []channels.Attachment{{Name: "gone", Path: filepath.Join(t.TempDir(), "gone")}}},
	} {
		d.ID = fmt.Sprint(i)
		if _, err := ch.Send(t.Context(), d); channels.ClassOf(err) != channels.Permanent {
			t.Errorf("%d: Send = %v", i, err)
		}
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ch.Send(t.Context(), channels.Delivery{ID: "ok", Chat: chat, Text: bad, Files: []channels.Attachment{{Name: bad, MIME: bad, Path: path}}}); err != nil {
		t.Fatal(err)
	}
	got := w.parsedMails()
	if len(got) != 1 || got[0].header.Get("Bcc") != "" || len(got[0].to) != 1 {
		t.Errorf("%d mails, %v", len(got), got)
	}
	if head, _, _ := strings.Cut(w.sentMails()[0].Mail, "\r\n\r\n"); strings.Contains(head, "\nBcc") {
		t.Error(head)
	}
}

// testRefusals checks that a permanent rejection ends the delivery, and that the error for a mail
// that the server may have accepted has MaybeSent set.
func testRefusals(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	ch := w.newChannel(w.channelConfig())
	_, err := ch.Send(t.Context(), channels.Delivery{ID: "a", Chat: chatOf("refuse@example.org", hashOf("x")), Text: "x"})
	if channels.ClassOf(err) != channels.Permanent {
		t.Errorf("Send = %v", err)
	}
	_, err = ch.Send(t.Context(), channels.Delivery{ID: "b", Chat: chatOf("mute@example.org", hashOf("x")), Text: "x"})
	e, ok := err.(*channels.Error) //nolint:errorlint // Send returns this type unwrapped
	if !ok || !e.MaybeSent || e.Class != channels.Temporary {
		t.Errorf("%+v", err)
	}
}
