// Package smtpmail is an SMTP client (RFC 5321, 6409) for an account's server. It
// always signs in and always uses TLS.
package smtpmail

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"hob/platform/pim"
)

// The time and size limits of an SMTP session.
const (
	askWait  = 30 * time.Second
	askBytes = 256 << 10
)

// SignIn checks that the server accepts the account's credentials. It sends no email. Its errors
// wrap pim.ErrSignIn and pim.ErrNoServer.
func SignIn(ctx context.Context, a pim.Account) error {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	c, _, err := openSMTP(ctx, a)
	if err != nil {
		return err
	}
	if err := c.Quit(); err != nil {
		return errors.Join(c.Close(), nil) //nolint:nilerr // the sign-in succeeded, which is all that was tested
	}
	return nil
}

func openSMTP(ctx context.Context, a pim.Account) (*smtp.Client, *pim.Bounded, error) {
	s, conf, secret, err := a.MailServer(ctx, pim.SMTP)
	if err != nil {
		return nil, nil, err
	}
	raw, err := a.Dial(ctx, s.Addr())
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	conn := pim.Bound(raw, askBytes)
	var c *smtp.Client
	if s.Implicit {
		c = smtp.NewClient(tls.Client(conn, conf))
	} else if c, err = smtp.NewClientStartTLS(conn, conf); err != nil {
		_ = raw.Close()
		return nil, nil, classifyReply(a, "connect to "+s.Addr(), err, pim.ErrRefused)
	}
	c.CommandTimeout, c.SubmissionTimeout = askWait, askWait
	if err := signIn(c, a, secret); err != nil {
		_ = c.Close()
		return nil, nil, err
	}
	return c, conn, nil
}

func signIn(c *smtp.Client, a pim.Account, secret string) error {
	if err := c.Hello("localhost"); err != nil {
		return classifyReply(a, "smtp greeting", err, pim.ErrRefused)
	}
	var way sasl.Client
	switch {
	case a.Auth == pim.AuthToken:
		way = pim.XOAuth2(a.Login(), secret)
	case c.SupportsAuth(sasl.Plain) || !c.SupportsAuth(sasl.Login):
		way = sasl.NewPlainClient("", a.Login(), secret)
	default:
		way = sasl.NewLoginClient(a.Login(), secret)
	}
	if err := c.Auth(way); err != nil {
		return classifyReply(a, "smtp: sign in", err, pim.ErrSignIn)
	}
	return nil
}

// Kind is the account kind of servers for outgoing mail.
type Kind struct{}

// Describe implements pim.AccountKind.
func (Kind) Describe() pim.AccountDescription {
	return pim.MailKind(pim.SMTP, "submissions", "submission", pim.AccountDescription{
		Label: "outgoing mail", Flag: "SMTP server for outgoing mail", Question: "Server for outgoing mail (SMTP)",
		Help: `The server for outgoing mail, such as "smtp.example.org:587".`,
	})
}

// Test implements pim.AccountKind. It sends no email.
func (Kind) Test(ctx context.Context, a pim.Account) (string, error) {
	return "email can be sent", SignIn(ctx, a)
}
