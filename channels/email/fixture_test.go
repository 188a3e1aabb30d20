package email

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gomail "github.com/emersion/go-message/mail"
	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/pim/pimtest"
)

const (
	patience = 2 * time.Minute
	trusted  = "mx.test.local"
	hob      = "hob@test.local"
	ada      = "ada@example.org"
)

// mailFixture is a mailbox on a real server, with a fake SMTP server.
type mailFixture struct {
	t    *testing.T
	d    *pimtest.Dovecot
	s    *pimtest.SMTP
	acc  pim.Account
	keep *channelstest.Keeper
	in   *inbox
	put  func(mail string)
	net  *safehttp.Client
}

// servers are shared by the tests. Each test has its own mailbox and its own SMTP server.
type servers struct {
	d *pimtest.Dovecot
	n *atomic.Int32
}

// TestAtServers runs the tests that need real servers: first those that stop servers, one after the
// other, then the rest in parallel.
func TestAtServers(t *testing.T) {
	sv := servers{pimtest.StartDovecot(t, ""), new(atomic.Int32)}
	t.Run("Renumbered", func(t *testing.T) { testRenumbered(t, sv) })
	t.Run("Offline", func(t *testing.T) { testOffline(t, sv) })
	for _, c := range []struct {
		name string
		run  func(*testing.T, servers)
	}{
		{"Conformance", testConformance}, // takes longest
		{"WhatIsHeard", testWhatIsHeard},
		{"Moved", testMoved},
		{"NotTaken", testNotTaken},
		{"WhoWrites", testWhoWrites},
		{"TestTellsTheHost", testTestTellsTheHost},
		{"Signed", testSigned},
		{"NameServersDown", testNameServersDown},
		{"Group", testGroup},
		{"SubjectPrefix", testSubjectPrefix},
		{"FilesComeAlong", testFilesComeAlong},
		{"UnreadableMail", testUnreadableMail},
		{"Thread", testThread},
		{"Drafts", testDrafts},
		{"HeadersStayHeaders", testHeadersStayHeaders},
		{"Refusals", testRefusals},
		{"Corpus", testCorpus},
		{"Storms", testStorms},
		{"ComesBack", testComesBack},
		{"Loops", testLoops},
		{"TwoHobs", testTwoHobs},
		{"Kills", testKills},
		{"WrongPassword", testWrongPassword},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, sv)
		})
	}
}

func (sv servers) newFixture(t *testing.T) *mailFixture {
	t.Helper()
	s := pimtest.StartSMTP(t)
	w := &mailFixture{t: t, d: sv.d, s: s, keep: &channelstest.Keeper{}, in: &inbox{keys: map[string]bool{}}}
	user := fmt.Sprintf("hob%d", sv.n.Add(1))
	w.acc = sv.d.Account(user).With(pim.SMTP, s.URL)
	w.acc.Address, w.acc.CA = hob, pimtest.Both(t, sv.d.CA, s.CA)
	put := sync.OnceValue(func() func(string) { return sv.d.Appender(user, "INBOX") })
	w.put = func(mail string) { put()(mail) }
	return w
}

func (w *mailFixture) channelConfig() Config { return Config{Account: "work", TrustedHost: trusted} }

func (w *mailFixture) newChannel(c Config) *Channel {
	w.t.Helper()
	ch, err := New(c, channels.Deps{
		Log: slog.New(slog.DiscardHandler), Keep: w.keep, Network: w.net, Account: func(string) (pim.Account, error) { return w.acc, nil },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return ch
}

// runChannel runs a channel until stop is called. It returns once the channel listens.
func (w *mailFixture) runChannel(ch *Channel) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, w.in) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Run: %v", err)
		}
	})
	w.t.Cleanup(stop)
	w.waitUntil("the connection", func() bool { return strings.HasPrefix(ch.DescribeStatus(), "connected") })
	return stop
}

func (w *mailFixture) waitUntil(what string, ok func() bool) {
	w.t.Helper()
	waitUntil(w.t, what, ok)
}

func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

// awaitMessages waits for n received messages and returns them.
func (w *mailFixture) awaitMessages(n int) []channels.Inbound {
	w.t.Helper()
	w.waitUntil(fmt.Sprintf("%d messages", n), func() bool { return len(w.in.listMessages()) >= n })
	if got := w.in.listMessages(); len(got) != n {
		w.t.Fatalf("%d messages arrived, want %d: %+v", len(got), n, got)
	}
	return w.in.listMessages()
}

// listSeen lists the UIDs of the read and the unread mails in a folder.
func (w *mailFixture) listSeen(folder string) (yes, no []uint32) {
	w.t.Helper()
	m, err := imapmail.Open(w.t.Context(), w.acc)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	if _, err := m.Select(w.t.Context(), folder); err != nil {
		w.t.Fatal(err)
	}
	all, err := m.Find(w.t.Context(), imapmail.Query{})
	if err != nil {
		w.t.Fatal(err)
	}
	if no, err = m.Find(w.t.Context(), imapmail.Query{Unseen: true}); err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(u uint32) bool { return slices.Contains(no, u) }), no
}

// inbox simulates the manager: it accepts each message once.
type inbox struct {
	mu       sync.Mutex
	in       []channels.Inbound
	keys     map[string]bool
	stranger func(channels.Inbound) bool
	admits   func(channels.Inbound) bool
	err      error
}

// AdmitsSender implements channels.SenderFilter.
func (b *inbox) AdmitsSender(_ context.Context, in channels.Inbound) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.admits != nil && b.admits(in), b.err
}

func (b *inbox) Receive(_ context.Context, in channels.Inbound) (channels.Accepted, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil:
		return channels.Accepted{}, b.err
	case b.stranger != nil && b.stranger(in):
		return channels.Accepted{}, channels.ErrStranger
	case b.keys[in.Key]:
		return channels.Accepted{Repeated: true}, nil
	}
	b.keys[in.Key] = true
	b.in = append(b.in, in)
	return channels.Accepted{Event: fmt.Sprint(len(b.in))}, nil
}

func (b *inbox) listMessages() []channels.Inbound {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.in)
}

func (b *inbox) failWith(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

// letterTo returns a mail to Hob that the mail host has verified.
func letterTo(id, from, subject, text string, more ...string) string {
	_, domain, _ := strings.Cut(from, "@")
	more = slices.DeleteFunc(more, func(s string) bool { return s == "" })
	return fmt.Sprintf("Authentication-Results: %s; dmarc=pass (p=none) header.from=%s\n%sFrom: %s\nTo: %s\nSubject: %s\nMessage-ID: <%s>\nDate: %s\n\n%s\n",
		trusted, domain, strings.Join(append(more, ""), "\n"), from, hob, mime.QEncoding.Encode("utf-8", subject), id, time.Now().Format(time.RFC1123Z), text)
}

// sentMail is a sent mail as its recipient sees it.
type sentMail struct {
	header      mail.Header
	to          []string
	id          string
	plain, html string
	files       map[string]string
}

func parseSent(t *testing.T, p pimtest.Posted) (out sentMail) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(p.Mail))
	if err != nil {
		t.Fatal(err)
	}
	out = sentMail{header: m.Header, to: p.To, id: strings.Trim(m.Header.Get("Message-ID"), "<>"), files: map[string]string{}}
	r, err := gomail.CreateReader(strings.NewReader(p.Mail))
	if err != nil {
		t.Fatal(err)
	}
	for {
		part, err := r.NextPart()
		if err == io.EOF { //nolint:errorlint // the reader's own
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(part.Body)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.TrimSuffix(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
		switch h := part.Header.(type) {
		case *gomail.InlineHeader:
			if kind, _, _ := h.ContentType(); kind == "text/html" {
				out.html = text
			} else {
				out.plain = text
			}
		case *gomail.AttachmentHeader:
			name, _ := h.Filename()
			out.files[name] = string(b)
		}
	}
}

func (w *mailFixture) sentMails() []pimtest.Posted { return w.s.Mails() }

func (w *mailFixture) parsedMails() (out []sentMail) {
	for _, p := range w.sentMails() {
		out = append(out, parseSent(w.t, p))
	}
	return out
}

func (p sentMail) decodeSubject() string {
	s, err := new(mime.WordDecoder).DecodeHeader(p.header.Get("Subject"))
	if err != nil {
		return err.Error()
	}
	return s
}

func TestMain(m *testing.M) {
	runChild()
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // the tests mostly wait for servers
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
