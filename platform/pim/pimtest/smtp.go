package pimtest

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"hob/platform/pim"
)

// Posted is a message that a server accepted.
type Posted struct {
	From string
	To   []string
	Mail string
}

// SMTP is a running mail server. It accepts email from clients that know the Secret. It rejects
// messages to refuse@..., and closes the connection without a reply after it received a message to
// mute@....
type SMTP struct {
	URL string // "smtp://127.0.0.1:port", with STARTTLS
	CA  string

	mu   sync.Mutex
	mail []Posted
}

// StartSMTP starts an SMTP server.
func StartSMTP(t testing.TB) *SMTP {
	t.Helper()
	ca, conf := Certificate(t)
	out := &SMTP{CA: ca}
	s := smtp.NewServer(out)
	s.Domain, s.TLSConfig, s.ErrorLog = "localhost", conf, log.New(io.Discard, "", 0) // do not log errors of clients that hang up
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out.URL = "smtp://" + l.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		_ = l.Close() // Close does not stop the listener if Serve has not started yet
		<-done
	})
	return out
}

// Account returns an account that has only this server.
func (s *SMTP) Account(address string) pim.Account {
	return pim.Account{
		Name: "work", Servers: pim.Servers{pim.SMTP: s.URL}, Address: address, CA: s.CA,
		Secret: func(context.Context) (string, error) { return Secret, nil },
	}
}

// Mails returns the accepted messages.
func (s *SMTP) Mails() []Posted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mail)
}

// NewSession implements smtp.Backend.
func (s *SMTP) NewSession(c *smtp.Conn) (smtp.Session, error) { return &smtpSession{s: s, c: c}, nil }

type smtpSession struct {
	s *SMTP
	c *smtp.Conn

	now Posted
}

func (p *smtpSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (p *smtpSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, _, password string) error {
		if password != Secret {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

func (p *smtpSession) Mail(from string, _ *smtp.MailOptions) error {
	p.now.From = from
	return nil
}

func (p *smtpSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasPrefix(to, "refuse@") {
		return &smtp.SMTPError{Code: 550, Message: "no such user"}
	}
	p.now.To = append(p.now.To, to)
	return nil
}

func (p *smtpSession) Data(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	p.now.Mail = string(b)
	p.s.mu.Lock()
	p.s.mail = append(p.s.mail, p.now)
	p.s.mu.Unlock()
	if slices.ContainsFunc(p.now.To, func(t string) bool { return strings.HasPrefix(t, "mute@") }) {
		_ = p.c.Conn().Close()
		return errors.New("gone")
	}
	return nil
}

func (p *smtpSession) Reset()        { p.now = Posted{} }
func (p *smtpSession) Logout() error { return nil }

// Both returns a file with the certificates of several servers.
func Both(t testing.TB, files ...string) string {
	t.Helper()
	var all []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	path := filepath.Join(t.TempDir(), "both.pem")
	writeFile(t, path, string(all))
	return path
}
