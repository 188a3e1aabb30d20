package email

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hob/channels"
	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/pim/pimtest"
)

// testWhatIsHeard checks that mails from before the first start are not received, mails that arrive
// while Hob is off are received once on its return, and only accepted mails are marked as read.
func testWhatIsHeard(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	w.put(letterTo("old@x.org", ada, "before", "an old mail"))
	w.in.stranger = func(in channels.Inbound) bool { return in.Sender != ada }
	stop := w.runChannel(w.newChannel(w.channelConfig()))
	w.put(letterTo("one@x.org", ada, "", "the first one"))
	w.put(letterTo("eve@x.org", "eve@evil.example", "", "from a stranger"))
	w.put(letterTo("two@x.org", ada, "", "the second one"))
	w.awaitMessages(2)
	stop()
	w.put(letterTo("three@x.org", ada, "", "while it was off"))
	stop = w.runChannel(w.newChannel(w.channelConfig()))
	got := w.awaitMessages(3)
	w.waitUntil("the mails to be marked as read", func() bool { yes, _ := w.listSeen("INBOX"); return len(yes) == 3 })
	if yes, no := w.listSeen("INBOX"); fmt.Sprint(yes, no) != "[2 4 5] [1 3]" {
		t.Errorf("marked as read: %v, unread: %v", yes, no)
	}
	stop()
	for i, want := range []string{"the first one", "the second one", "while it was off"} {
		if got[i].Text != want || got[i].Sender != ada || got[i].Group || got[i].Forwarded || !strings.HasPrefix(got[i].Chat, ada+"/") {
			t.Errorf("%+v", got[i])
		}
	}
	if got[0].Chat == got[1].Chat {
		t.Error("two threads belong to one chat")
	}
}

// testRenumbered checks that Hob neither misses nor repeats a mail when a server renumbers its
// mails.
func testRenumbered(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	w.put = func(mail string) { w.d.Deliver(w.acc.User, "INBOX", mail, time.Time{}) } // a direct delivery needs no open connection, so it works after a server stop
	for i := range 5 {
		w.put(letterTo(fmt.Sprintf("old%d@x.org", i), ada, "", "old"))
	}
	stop := w.runChannel(w.newChannel(w.channelConfig()))
	for i := range 5 {
		w.put(letterTo(fmt.Sprintf("new%d@x.org", i), ada, "", fmt.Sprint("new ", i)))
	}
	w.awaitMessages(5)
	w.waitUntil("the stored position", func() bool {
		raw, _ := w.keep.Get(t.Context(), stateKey)
		var s state
		return json.Unmarshal(raw, &s) == nil && len(s.Known) == 10
	})
	stop()
	w.put(letterTo("off@x.org", ada, "", "while it was off"))
	w.d.Renumber(w.acc.User)
	w.in.keys = map[string]bool{} // forget the accepted messages
	stop = w.runChannel(w.newChannel(w.channelConfig()))
	w.waitUntil("the one that is new", func() bool { return len(w.in.listMessages()) > 5 })
	w.put(letterTo("after@x.org", ada, "", "after it"))
	got := w.awaitMessages(7)
	stop()
	if got[5].Text != "while it was off" || got[6].Text != "after it" {
		t.Errorf("%q, %q", got[5].Text, got[6].Text)
	}
}

// testMoved checks that mails that were moved or deleted while Hob was off are not received, but
// the mails before and after them are, and so is a mail that is moved back.
func testMoved(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	w.d.Create(w.acc.User, "Elsewhere")
	ch := w.newChannel(w.channelConfig())
	stop := w.runChannel(ch)
	w.put(letterTo("zero@x.org", ada, "", "before"))
	w.awaitMessages(1)
	stop()
	for i := range 4 {
		w.put(letterTo(fmt.Sprint("m", i, "@x.org"), ada, "", fmt.Sprint("mail ", i)))
	}
	m, err := imapmail.Open(t.Context(), w.acc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Enter(t.Context(), "INBOX"); err != nil {
		t.Fatal(err)
	}
	uids, err := m.After(t.Context(), 2)
	if err != nil || len(uids) != 4 {
		t.Fatal(uids, err)
	}
	_, err = m.Move(t.Context(), uids[1], "Elsewhere")
	if err := errors.Join(err, m.Remove(t.Context(), uids[3]), m.Close()); err != nil {
		t.Fatal(err)
	}
	stop = w.runChannel(w.newChannel(w.channelConfig()))
	got := w.awaitMessages(3)
	if got[1].Text != "mail 0" || got[2].Text != "mail 2" {
		t.Errorf("%q, %q", got[1].Text, got[2].Text)
	}
	stop()
	// A mail that is moved back gets a new number, so it is received.
	if m, err = imapmail.Open(t.Context(), w.acc); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Enter(t.Context(), "Elsewhere"); err != nil {
		t.Fatal(err)
	}
	_, err = m.Move(t.Context(), 1, "INBOX")
	if err := errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
	w.runChannel(w.newChannel(w.channelConfig()))
	if got := w.awaitMessages(4); got[3].Text != "mail 1" {
		t.Errorf("%q", got[3].Text)
	}
}

// testNotTaken checks that a mail that was not accepted is received again.
func testNotTaken(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	w.runChannel(w.newChannel(w.channelConfig()))()
	w.put(letterTo("one@x.org", ada, "", "hello"))
	w.in.failWith(errors.New("the disk is full"))
	if err := w.newChannel(w.channelConfig()).Run(t.Context(), w.in); err == nil {
		t.Error("Run returned no error for a refused message")
	}
	if yes, _ := w.listSeen("INBOX"); len(yes) > 0 {
		t.Error("a refused mail is marked as read")
	}
	w.in.failWith(nil)
	w.runChannel(w.newChannel(w.channelConfig()))
	w.awaitMessages(1)
}

// testWhoWrites checks that no sender is verified without a result of the owner's mail host.
func testWhoWrites(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	w.runChannel(w.newChannel(w.channelConfig()))
	mails := []string{
		strings.Replace(letterTo("1@x.org", ada, "", "forged"), trusted, "mx.evil.example", 1),
		letterTo("2@x.org", ada, "", "two heads", "From: eve@evil.example"),
		strings.Replace(letterTo("3@x.org", ada, "", "failed"), "dmarc=pass", "dmarc=fail", 1),
	}
	for i, m := range mails {
		w.put(m)
		in := w.awaitMessages(i + 1)[i]
		if !strings.HasPrefix(in.Sender, unverified) || !in.Forwarded || strings.HasPrefix(in.Chat, ada) {
			t.Errorf("%d: %+v", i, in)
		}
		if _, err := w.newChannel(w.channelConfig()).Send(t.Context(), channels.Delivery{ID: "x", Chat: in.Chat, Cause: in.Payload, Text: "no"}); channels.ClassOf(err) != channels.Permanent {
			t.Errorf("%d: reply error %v", i, err)
		}
	}
	c := w.channelConfig()
	c.Allow = []string{"Ada@Example.org ", "unverified:ada@example.org", "UNVERIFIED:x"}
	if got := w.newChannel(c).Allow(); fmt.Sprint(got) != "[ada@example.org]" {
		t.Errorf("allowed senders = %q", got)
	}
	c.TrustedHost = ""
	blind := w.newChannel(c)
	test, err := blind.Test(t.Context())
	if err != nil || !strings.Contains(test, "trusted_host") || !strings.Contains(test, "none of the 3 newest emails carries a usable one: the sender's domain has not signed it") {
		t.Errorf("Test = %q, %v", test, err)
	}
	for imap, want := range map[string]string{"imap.gmail.com": "mx.google.com", "imaps://imap.gmail.com:993": "mx.google.com", "outlook.office365.com": "", "imap.gmail.com.evil.example": "", "imap.mail.me.com": ""} {
		if got := hostOf(imap); got != want {
			t.Errorf("%s: hostOf = %q", imap, got)
		}
	}
}

// testGroup checks that a mail to several people is a group, and that the answer goes only to its
// sender.
func testGroup(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	ch := w.newChannel(w.channelConfig())
	w.runChannel(ch)
	w.put(letterTo("g1@x.org", ada, "Lunch", "shall we?", "Cc: bob@example.org"))
	copied := strings.Replace(letterTo("g2@x.org", ada, "Lunch", "for information"), "To: "+hob, "To: bob@example.org\nCc: "+hob, 1)
	w.put(copied)
	w.put(letterTo("g3@x.org", ada, "", "only you", "Cc: Ada <"+ada+">, hob+home@test.local"))
	w.put("Delivered-To: " + hob + "\nX-Original-To: <Assistant@test.local>\n" + strings.Replace(letterTo("g4@x.org", ada, "", "by another name"), "To: "+hob, "To: assistant@test.local", 1))
	got := w.awaitMessages(4)
	for i, want := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, true}} {
		if got[i].Group != want[0] || got[i].Mentioned != want[1] {
			t.Errorf("%d: group %v, mentioned %v", i, got[i].Group, got[i].Mentioned)
		}
	}
	in := got[0]
	for _, d := range []channels.Delivery{
		{ID: "a", Chat: in.Chat, Cause: in.Payload, Text: "yes", Kind: channels.Reply},
		{ID: "b", Chat: in.Chat, Session: in.Conversation(false), Text: "later", Kind: channels.Notice},
	} {
		d.Session = "email:" + in.Chat + ":" + in.Sender
		if _, err := ch.Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range w.parsedMails() {
		if fmt.Sprint(m.to) != "["+ada+"]" || m.header.Get("Cc") != "" {
			t.Errorf("sent to %v, Cc %q", m.to, m.header.Get("Cc"))
		}
	}
}

// testSubjectPrefix checks that only mails with the prefix are received, and that answers have it.
func testSubjectPrefix(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	c := w.channelConfig()
	c.SubjectPrefix = "[Hob]"
	ch := w.newChannel(c)
	w.runChannel(ch)
	w.put(letterTo("a@x.org", ada, "Lunch", "not for Hob"))
	w.put(letterTo("b@x.org", ada, "Re: [hob] Lunch", "for Hob"))
	in := w.awaitMessages(1)[0]
	if in.ChatName != "Lunch" || in.Text != "for Hob" {
		t.Errorf("%+v", in)
	}
	for _, d := range []channels.Delivery{{ID: "a", Chat: in.Chat, Cause: in.Payload, Text: "yes"}, {ID: "b", Chat: in.Chat, Text: "# News\nof today"}} {
		if _, err := ch.Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.parsedMails(); got[0].decodeSubject() != "Re: [Hob] Lunch" || !strings.HasPrefix(got[1].decodeSubject(), "[Hob] News") {
		t.Errorf("%q, %q", got[0].decodeSubject(), got[1].decodeSubject())
	}
}

// testFilesComeAlong checks that files are fetched unchanged, also from a large mail, and that of a
// mail above the size limit only the text is read.
func testFilesComeAlong(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	ch := w.newChannel(w.channelConfig())
	ch.most = 2 << 20
	w.runChannel(ch)
	mail := func(id string, size int) string {
		body := strings.Repeat("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU2Nzg5MDEyMzQ1Njc4OTAx\n", size/66+1)
		head, _, _ := strings.Cut(letterTo(id, ada, "", "x", "MIME-Version: 1.0", "Content-Type: multipart/mixed; boundary=b"), "\n\n")
		return head + "\n\n--b\nContent-Type: text/plain\n\nsee the files\n--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=\"../a.pdf\"\nContent-Transfer-Encoding: base64\n\n" + body +
			"\n--b\nContent-Type: image/png; name=p.png\nContent-Disposition: inline\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=\n--b--\n"
	}
	w.put(mail("small@x.org", 1000))
	w.put(mail("large@x.org", 3<<19))
	w.put(mail("huge@x.org", 3<<20))
	got := w.awaitMessages(3)
	for i, n := range []int{2, 2, 1} {
		if len(got[i].Files) != n || got[i].Text != "see the files" {
			t.Fatalf("%d: %d files with %q", i, len(got[i].Files), got[i].Text)
		}
		for k, f := range got[i].Files {
			if i == 2 { // the manager reports that it is too large
				if f.Name != "a.pdf" || f.Size < ch.most || f.Open != nil {
					t.Errorf("%+v", f)
				}
				continue
			}
			r, err := f.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			if err != nil || int64(len(b)) != f.Size || f.Name != []string{"a.pdf", "p.png"}[k] || f.MIME != []string{"application/pdf", "image/png"}[k] {
				t.Errorf("%d: %s %s with %d of %d bytes, %v", i, f.Name, f.MIME, len(b), f.Size, err)
			}
		}
	}
}

// testUnreadableMail checks that a mail that the server fails to deliver does not block later
// mails.
func testUnreadableMail(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	bad := "FETCH 2 "
	var tries atomic.Int32
	a := pimtest.Speak(t, "* OK hello\r\n", func(tag, command string) string {
		ok := tag + " OK done\r\n"
		mail := func(uid string) string {
			m := strings.ReplaceAll(letterTo(uid+"@x.org", ada, "", "mail "+uid), "\n", "\r\n")
			return fmt.Sprintf("* %s FETCH (UID %[1]s FLAGS () INTERNALDATE \"%s\" RFC822.SIZE %d BODY[]<0> {%[3]d}\r\n%s)\r\n", uid, time.Now().Format("02-Jan-2006 15:04:05 -0700"), len(m), m)
		}
		switch {
		case strings.HasPrefix(command, "CAPABILITY"):
			return "* CAPABILITY IMAP4rev1 AUTH=PLAIN SASL-IR\r\n" + ok
		case strings.HasPrefix(command, "SELECT"), strings.HasPrefix(command, "EXAMINE"):
			return "* 3 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 4] x\r\n* FLAGS (\\Seen)\r\n" + ok
		case command == "LOGOUT":
			return ""
		case strings.HasPrefix(command, "UID SEARCH UID"):
			return "* SEARCH 1 2 3\r\n" + ok
		case strings.HasPrefix(command, "UID SEARCH"):
			return "* SEARCH\r\n" + ok
		case strings.HasPrefix(command, "UID "+bad):
			tries.Add(1)
			return tag + " NO the mail is damaged\r\n"
		case strings.HasPrefix(command, "UID FETCH 1 "):
			return mail("1") + ok
		case strings.HasPrefix(command, "UID FETCH 3 "):
			return mail("3") + ok
		}
		return ok
	})
	a = a.With(pim.SMTP, w.s.URL)
	a.Address = hob
	w.acc = a
	if err := w.keep.Set(t.Context(), stateKey, []byte(fmt.Sprintf(`{"box":"%s\u0000%s\u0000INBOX","validity":7,"next":1,"since":1}`, hob, a.Server(pim.IMAP)))); err != nil {
		t.Fatal(err)
	}
	ch := w.newChannel(w.channelConfig())
	for range maxTries - 1 {
		if err := ch.Run(t.Context(), w.in); err == nil {
			t.Fatal("Run returned no error for an unreadable mail")
		}
	}
	w.runChannel(ch)
	w.awaitMessages(2)
	if tries.Load() != maxTries || !strings.Contains(ch.DescribeStatus(), "1 email could not be read") {
		t.Errorf("%d tries; %s", tries.Load(), ch.DescribeStatus())
	}
}

// testOffline checks that mails are received after an hour without a network, after failed lookups
// following a wake-up, and after a restart of the server.
func testOffline(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	w.put = func(mail string) { w.d.Deliver(w.acc.User, "INBOX", mail, time.Time{}) } // a direct delivery needs no open connection, so it works after a server stop
	var down atomic.Bool
	var mu sync.Mutex
	var conns []net.Conn
	dial := w.acc
	w.acc.Via = func(ctx context.Context, addr string) (net.Conn, error) {
		if down.Load() {
			return nil, &net.DNSError{Err: "no such host", Name: "imap.example.org", IsTemporary: true}
		}
		c, err := dial.Dial(ctx, addr)
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, c)
		return c, err
	}
	ch := w.newChannel(w.channelConfig())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, w.in) }()
	w.waitUntil("the connection", func() bool { return strings.HasPrefix(ch.DescribeStatus(), "connected") })
	down.Store(true)
	w.d.Stop()
	mu.Lock()
	for _, c := range conns { // the server's processes outlive Stop briefly
		_ = c.Close()
	}
	mu.Unlock()
	if err := <-done; err == nil || channels.ClassOf(err) != channels.Temporary {
		t.Errorf("Run after the server stopped = %v", err)
	}
	for range 3 {
		if err := ch.Run(ctx, w.in); channels.ClassOf(err) != channels.Temporary || strings.Contains(err.Error(), pimtest.Secret) {
			t.Errorf("Run without a network = %v", err)
		}
		if _, err := ch.Send(ctx, channels.Delivery{ID: "x", Chat: chatOf(ada, hashOf("x")), Text: "x"}); channels.ClassOf(err) != channels.Temporary {
			t.Errorf("Send without a network = %v", err)
		}
	}
	if !strings.HasPrefix(ch.DescribeStatus(), "not connected: ") {
		t.Error(ch.DescribeStatus())
	}
	w.d.Start()
	w.put(letterTo("off@x.org", ada, "", "while it was off"))
	down.Store(false)
	w.runChannel(ch)
	w.awaitMessages(1)
}

// testWrongPassword checks that a rejected password is reported as Unauthorized, with the command
// that fixes it.
func testWrongPassword(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	w.acc.Secret = func(context.Context) (string, error) { return "not-the-password", nil }
	ch := w.newChannel(w.channelConfig())
	err := ch.Run(t.Context(), w.in)
	if channels.ClassOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), "hob channel add email") || strings.Contains(err.Error(), "not-the-password") {
		t.Errorf("Run = %v", err)
	}
}

// TestConfiguration checks that missing and invalid settings are reported before any connection.
func TestConfiguration(t *testing.T) {
	for name, c := range map[string]Config{
		"nothing":          {},
		"no password":      {Address: hob, IMAP: "imap.test.local", SMTP: "smtp.test.local"},
		"no smtp":          {Address: hob, IMAP: "imap.test.local", Password: "x"},
		"no imap":          {Address: hob, SMTP: "smtp.test.local", Password: "x"},
		"no address":       {Address: "hob", IMAP: "imap.test.local", SMTP: "smtp.test.local", Password: "x"},
		"both":             {Account: "work", Address: hob},
		"no such account":  {Account: "work"},
		"a bad server":     {Address: hob, IMAP: "http://x", SMTP: "smtp.test.local", Password: "x"},
		"two lines":        {Address: hob, IMAP: "imap.test.local", SMTP: "smtp.test.local", Password: "x", SubjectPrefix: "a\nb"},
		"a line in a name": {Address: hob + "\r\nBcc: x@y.org", IMAP: "imap.test.local", SMTP: "smtp.test.local", Password: "x"},
	} {
		if _, err := New(c, channels.Deps{}); err == nil {
			t.Errorf("New accepts %s", name)
		}
	}
	if _, err := New(Config{Address: hob, IMAP: "imap.test.local", Password: "x", Drafts: true}, channels.Deps{}); err != nil {
		t.Errorf("New with drafts but without smtp = %v", err)
	}
}
