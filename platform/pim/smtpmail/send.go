package smtpmail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/emersion/go-smtp"

	"hob/platform/pim"
)

// sendWait is the time limit for sending one message.
const sendWait = 3 * time.Minute

// ErrUnsure means that the server received the whole message but did not confirm it. The message
// must not be sent again.
var ErrUnsure = errors.New("it is unknown whether the message was sent")

// ErrLater means that the server temporarily rejects the message (RFC 5321, 4.2.1: codes that begin
// with 4).
var ErrLater = fmt.Errorf("%w temporarily", pim.ErrRefused)

// Send sends a message to all recipients or to none. Unless the error wraps ErrUnsure, an error
// means that nothing was sent.
func Send(ctx context.Context, a pim.Account, from string, to []string, mail []byte, hooks pim.SendHooks) error {
	ctx, cancel := context.WithTimeout(ctx, sendWait)
	defer cancel()
	s, err := Open(ctx, a)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.sendMail(ctx, from, to, mail, hooks)
}

// Session is a signed-in connection that sends several messages, one after another. Only one
// goroutine may use it.
type Session struct {
	account pim.Account
	c       *smtp.Client
	conn    *pim.Bounded
}

// Open connects and signs in.
func Open(ctx context.Context, a pim.Account) (*Session, error) {
	c, conn, err := openSMTP(ctx, a)
	if err != nil {
		return nil, err
	}
	return &Session{a, c, conn}, nil
}

// Close sends QUIT, with a short timeout, and closes the connection.
func (s *Session) Close() {
	s.conn.Allow(askBytes)
	stop := time.AfterFunc(2*time.Second, func() { _ = s.c.Close() })
	defer stop.Stop()
	_ = s.c.Quit() // the server has already accepted the message, so the reply does not matter
	_ = s.c.Close()
}

// Send works like the function Send, but uses this connection. After an error, only Close may be
// called.
func (s *Session) Send(ctx context.Context, from string, to []string, mail []byte) error {
	return s.sendMail(ctx, from, to, mail, pim.SendHooks{})
}

func (s *Session) sendMail(ctx context.Context, from string, to []string, mail []byte, hooks pim.SendHooks) error {
	ctx, cancel := context.WithTimeout(ctx, sendWait)
	defer cancel()
	s.conn.Allow(askBytes)
	c, hooks := s.c, hooks.WithDefaults()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	no := func(what string, err error) error {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return classifyReply(s.account, what, err, pim.ErrRefused)
	}
	if n, ok := c.MaxMessageSize(); ok && n > 0 && len(mail) > n {
		return s.account.Errorf("%w: the message is %d KB, but the server accepts at most %d KB", pim.ErrRefused, len(mail)>>10, n>>10)
	}
	if err := c.Mail(from, nil); err != nil {
		return no("send as "+from, err)
	}
	for _, t := range to {
		if err := c.Rcpt(t, nil); err != nil {
			return no("write to "+t, err)
		}
	}
	if err := hooks.Reserve(); err != nil { // a server may hang up on a client that waits after DATA
		return no("send the email", err)
	}
	w, err := c.Data()
	if err != nil {
		return no("send the email", err)
	}
	if _, err := w.Write(mail); err != nil {
		// the end of the message was not written, so the server discards the message (RFC 5321,
		// 4.1.1.4); an orderly close would send the incomplete message
		return no("send the email", err)
	}
	// Without the end of the email, the server discards it. QUIT would write the end, so the
	// connection must be closed first.
	if err := hooks.Commit(); err != nil {
		return no("send the email", errors.Join(err, c.Close()))
	}
	if err := ctx.Err(); err != nil {
		return no("send the email", errors.Join(err, c.Close()))
	}
	if err := w.Close(); err != nil {
		if _, said := errors.AsType[*smtp.SMTPError](err); said {
			return no("send the email", err)
		}
		return s.account.Errorf("%w: %w", ErrUnsure, err)
	}
	hooks.Accepted()
	return nil
}

// classifyReply returns an error for a failed step. A refusal by the server is ErrLater if it is
// temporary, else refused.
func classifyReply(a pim.Account, what string, err, refused error) error {
	e, is := errors.AsType[*smtp.SMTPError](err)
	if !is {
		return a.Errorf("%s: %w", what, err)
	}
	if e.Code < 500 {
		refused = ErrLater
	}
	return a.Errorf("%s: %w: %d %s", what, refused, e.Code, pim.SanitizeLine(e.Message, 200))
}
