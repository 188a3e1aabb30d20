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

// serve starts a server; with implicit it speaks TLS from the start.
func serve(t *testing.T, conf *tls.Config, implicit bool) string {
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
	start, implicit, naked := serve(t, conf, false), serve(t, conf, true), serve(t, nil, false)
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

// After an error of commit the server gets no complete mail.
func TestSend_NothingIsSentWhenCommitFails(t *testing.T) {
	s := pimtest.StartSMTP(t)
	a, mail := s.Account("ada@example.org"), []byte("Subject: x\r\n\r\nHello.\r\n")
	canceled := errors.New("canceled")
	if err := smtpmail.Send(t.Context(), a, a.Address, []string{"bob@example.org"}, mail, func() error { return canceled }); !errors.Is(err, canceled) || errors.Is(err, smtpmail.ErrUnsure) {
		t.Errorf("Send = %v, want %v", err, canceled)
	}
	before := -1
	if err := smtpmail.Send(t.Context(), a, a.Address, []string{"bob@example.org"}, mail, func() error { before = len(s.Mails()); return nil }); err != nil || before != 0 || len(s.Mails()) != 1 {
		t.Errorf("Send = %v; %d mails at the commit, %d at the end", err, before, len(s.Mails()))
	}
}
