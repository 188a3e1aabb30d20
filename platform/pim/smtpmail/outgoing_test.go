package smtpmail_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"hob/platform/pim"
	"hob/platform/pim/pimtest"
	"hob/platform/pim/smtpmail"
)

type backend struct{}

func (backend) NewSession(*smtp.Conn) (smtp.Session, error) { return session{}, nil }

type session struct{}

func (session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "ada@example.org" || password != pimtest.Secret {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

func (session) Mail(string, *smtp.MailOptions) error { return errors.New("nobody sends") }
func (session) Rcpt(string, *smtp.RcptOptions) error { return errors.New("nobody sends") }
func (session) Data(io.Reader) error                 { return errors.New("nobody sends") }
func (session) Reset()                               {}
func (session) Logout() error                        { return nil }

// startServer starts a server. If implicit is set, the server uses TLS from the start.
func startServer(t *testing.T, conf *tls.Config, implicit bool) string {
	t.Helper()
	s := smtp.NewServer(backend{})
	s.Domain, s.TLSConfig = "localhost", conf
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if implicit {
		l = tls.NewListener(l, conf)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return addr
}

func TestSignIn(t *testing.T) {
	ca, conf := pimtest.Certificate(t)
	start, implicit, naked := startServer(t, conf, false), startServer(t, conf, true), startServer(t, nil, false)
	account := func(server, password, ca string) pim.Account {
		return pim.Account{
			Name: "work", Servers: pim.Servers{pim.SMTP: server}, Address: "ada@example.org", CA: ca,
			Secret: func(context.Context) (string, error) { return password, nil },
		}
	}
	tests := []struct {
		name string
		a    pim.Account
		want string
		is   error
	}{
		{"STARTTLS", account("smtp://"+start, pimtest.Secret, ca), "", nil},
		{"TLS from the start", account("smtps://"+implicit, pimtest.Secret, ca), "", nil},
		{"wrong password", account("smtp://"+start, "hunter2", ca), "refused the sign-in", pim.ErrSignIn},
		{"without TLS", account("smtp://"+naked, pimtest.Secret, ca), "STARTTLS", nil},
		{"untrusted certificate", account("smtps://"+implicit, pimtest.Secret, ""), "certificate", nil},
		{"no server", account("", pimtest.Secret, ""), "smtp is not set", pim.ErrNoServer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := smtpmail.SignIn(t.Context(), tt.a)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) || strings.Contains(err.Error(), "hunter2") {
				t.Error(err)
			}
		})
	}
}

// If Commit returns an error, the server gets no complete email.
func TestSend_NothingIsSentWhenCommitFails(t *testing.T) {
	s := pimtest.StartSMTP(t)
	a, mail := s.Account("ada@example.org"), []byte("Subject: x\r\n\r\nHello.\r\n")
	canceled := errors.New("canceled")
	if err := smtpmail.Send(t.Context(), a, a.Address, []string{"bob@example.org"}, mail, pim.SendHooks{Commit: func() error { return canceled }}); !errors.Is(err, canceled) || errors.Is(err, smtpmail.ErrUnsure) {
		t.Errorf("Send = %v, want %v", err, canceled)
	}
	before, after := -1, -1
	hooks := pim.SendHooks{Commit: func() error { before = len(s.Mails()); return nil }, Accepted: func() { after = len(s.Mails()) }}
	if err := smtpmail.Send(t.Context(), a, a.Address, []string{"bob@example.org"}, mail, hooks); err != nil || before != 0 || after != 1 || len(s.Mails()) != 1 {
		t.Errorf("Send = %v; %d mails at the commit, %d at the acceptance, %d at the end", err, before, after, len(s.Mails()))
	}
}

// After a timeout at the commit, QUIT must not complete the email, because Hob would send the email
// again.
func TestSend_NothingIsSentAfterATimeout(t *testing.T) {
	s := pimtest.StartSMTP(t)
	a, mail := s.Account("ada@example.org"), []byte("Subject: x\r\n\r\nHello.\r\n")
	for range 30 { // the connection is closed in another goroutine
		ctx, cancel := context.WithCancel(t.Context())
		err := smtpmail.Send(ctx, a, a.Address, []string{"bob@example.org"}, mail, pim.SendHooks{Commit: func() error { cancel(); return nil }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Send = %v", err)
		}
	}
	if n := len(s.Mails()); n > 0 {
		t.Errorf("%d of 30 mails were sent", n)
	}
}

// TestSend_TemporaryErrors checks which errors are temporary: replies with codes that begin with 4,
// and closed connections. After an error, later hooks are not called.
func TestSend_TemporaryErrors(t *testing.T) {
	const hello = "220 localhost\r\n"
	on := func(command, reply string) func(string, string) string {
		return func(verb, _ string) string {
			switch verb {
			case command:
				return reply
			case "EHLO":
				return "250-localhost\r\n250 AUTH PLAIN\r\n"
			case "AUTH":
				return "235 welcome\r\n"
			}
			return "250 fine\r\n"
		}
	}
	for name, tc := range map[string]struct {
		hello  string
		answer func(verb, rest string) string
		is     error
	}{
		"greeting 421":         {"421 too busy\r\n", on("", ""), smtpmail.ErrLater},
		"greeting 554":         {"554 no service\r\n", on("", ""), pim.ErrRefused},
		"EHLO 421":             {hello, on("EHLO", "421 too busy\r\n"), smtpmail.ErrLater},
		"EHLO hangs up":        {hello, on("EHLO", ""), io.EOF},
		"AUTH 454":             {hello, on("AUTH", "454 try later\r\n"), smtpmail.ErrLater},
		"AUTH 535":             {hello, on("AUTH", "535 wrong\r\n"), pim.ErrSignIn},
		"recipient greylisted": {hello, on("RCPT", "450 greylisted\r\n"), smtpmail.ErrLater},
		"DATA hangs up":        {hello, on("DATA", ""), io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			a := pimtest.Speak(t, tc.hello, tc.answer)
			a.Servers = pim.Servers{pim.SMTP: strings.Replace(a.Servers[pim.IMAP], "imaps:", "smtps:", 1)}
			reserved := false
			err := smtpmail.Send(t.Context(), a, a.Address, []string{"bob@example.org"}, []byte("Subject: x\r\n\r\n"), pim.SendHooks{
				Reserve: func() error { reserved = true; return nil },
				Commit:  func() error { t.Error("Commit was called"); return nil },
			})
			if !errors.Is(err, tc.is) || errors.Is(err, smtpmail.ErrUnsure) || errors.Is(err, smtpmail.ErrLater) != errors.Is(tc.is, smtpmail.ErrLater) {
				t.Errorf("Send = %v, want %v", err, tc.is)
			}
			if reserved != (name == "DATA hangs up") {
				t.Errorf("Reserve was called: %v", reserved)
			}
		})
	}
}
