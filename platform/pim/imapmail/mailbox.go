// Package imapmail is an IMAP client (RFC 3501, 9051). It signs in, reads a folder without changing
// it, waits for changes and reads parts of messages. The methods that write (Put, Move, Remove) are
// in write.go.
//
// It uses go-imap. The server is untrusted: each response has a size limit and each command a
// deadline. Messages are fetched as opaque bytes and parsed here, so that no message can break the
// IMAP session.
package imapmail

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-message/charset"
	"github.com/emersion/go-sasl"

	"hob/platform/pim"
)

// Limits of a session.
const (
	askWait  = time.Minute // wait for one answer
	askBytes = 1 << 20     // bytes of one response that contains no messages
)

// Conn is a signed-in connection. Only one goroutine may use it.
type Conn struct {
	account pim.Account
	c       *imapclient.Client
	bound   *pim.Bounded
	news    chan struct{} // receives a value when the folder has changed; capacity 1
	folder  string
	idle    bool // whether the server supports IDLE

	mu     sync.Mutex
	exists uint32
}

// Open connects and signs in. Its errors wrap pim.ErrSignIn and pim.ErrNoServer.
func Open(ctx context.Context, a pim.Account) (*Conn, error) {
	s, conf, secret, err := a.MailServer(ctx, pim.IMAP)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	raw, err := a.Dial(ctx, s.Addr())
	if err != nil {
		return nil, err
	}
	m := &Conn{account: a, bound: pim.Bound(raw, askBytes), news: make(chan struct{}, 1)}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	if said, err := m.readGreeting(ctx, s, conf); err != nil {
		_ = raw.Close()
		if said != "" { // the server gave a reason before it closed the connection
			err = fmt.Errorf("the server closed the connection: %s", said)
		}
		return nil, m.wrapError("connect to "+s.Addr(), err)
	}
	if err := m.signIn(a, secret); err != nil {
		_ = m.c.Close()
		return nil, err
	}
	m.idle = m.c.Caps().Has(imap.CapIdle) || m.c.Caps().Has(imap.CapIMAP4rev2)
	return m, nil
}

// readGreeting starts the session. said is the text of a greeting that refuses the connection.
func (m *Conn) readGreeting(ctx context.Context, s pim.Server, conf *tls.Config) (said string, err error) {
	o := &imapclient.Options{
		TLSConfig:             conf,
		WordDecoder:           &mime.WordDecoder{CharsetReader: charset.Reader},
		UnilateralDataHandler: &imapclient.UnilateralDataHandler{Mailbox: m.onMailboxUpdate, Expunge: m.onExpunge},
	}
	if !s.Implicit {
		first := &greeted{Conn: m.bound}
		m.c, err = imapclient.NewStartTLS(first, o)
		return first.closingText(), err
	}
	conf.NextProtos = []string{"imap"}
	t := tls.Client(m.bound, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		return "", err
	}
	first := &greeted{Conn: t}
	m.c = imapclient.New(first, o)
	if err := m.c.WaitGreeting(); err != nil {
		_ = m.c.Close()
		return first.closingText(), err
	}
	return "", nil
}

func (m *Conn) signIn(a pim.Account, secret string) error {
	caps := m.c.Caps()
	var err error
	switch {
	case a.Auth == pim.AuthToken:
		err = m.c.Authenticate(pim.XOAuth2(a.Login(), secret))
	case caps.Has(imap.AuthCap("PLAIN")):
		err = m.c.Authenticate(sasl.NewPlainClient("", a.Login(), secret))
	case caps.Has(imap.CapLoginDisabled):
		return a.Errorf("%w: the server accepts no passwords; set auth to \"token\"", pim.ErrSignIn)
	default:
		err = m.c.Login(a.Login(), secret).Wait()
	}
	if no, is := errors.AsType[*imap.Error](err); is {
		if isTemporary(no) {
			return a.Errorf("sign-in is temporarily unavailable: %s", pim.SanitizeLine(no.Text, 200))
		}
		return a.Errorf("%w: %s", pim.ErrSignIn, pim.SanitizeLine(no.Text, 200))
	}
	if err != nil {
		return m.wrapError("sign in", err)
	}
	return nil
}

// isTemporary reports whether the server marks an error as temporary (RFC 5530).
func isTemporary(no *imap.Error) bool {
	return no.Code == imap.ResponseCodeUnavailable || no.Code == "INUSE" || no.Code == "LIMIT"
}

// wrapError wraps an error whose text may come from the server.
func (m *Conn) wrapError(what string, err error) error {
	if no, is := errors.AsType[*imap.Error](err); is {
		kind := pim.ErrRefused
		switch {
		case no.Code == imap.ResponseCodeNonExistent || no.Code == imap.ResponseCodeTryCreate:
			kind = pim.ErrNoFolder
		case isTemporary(no):
			kind = errors.New("the server is temporarily unavailable")
		}
		return m.account.Errorf("%s: %w: %s", what, kind, pim.SanitizeLine(no.Text, 200))
	}
	return m.account.Errorf("%s: %w", what, err)
}

// Pushes reports whether the server announces new mail (IDLE).
func (m *Conn) Pushes() bool { return m.idle }

// runBounded limits the traffic of do in time and bytes.
func (m *Conn) runBounded(ctx context.Context, bytes int64, what string, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	m.bound.Allow(bytes)
	stop := context.AfterFunc(ctx, func() { _ = m.bound.Close() })
	err := do()
	if !stop() {
		return m.account.Errorf("%s: %w", what, context.Cause(ctx))
	}
	if err != nil {
		return m.wrapError(what, err)
	}
	return nil
}

// Folders lists the folders that can be opened, at most 1,000.
func (m *Conn) Folders(ctx context.Context) (out []pim.Folder, err error) {
	err = m.runBounded(ctx, askBytes, "list the folders", func() error {
		var o *imap.ListOptions
		if m.c.Caps().Has(imap.CapSpecialUse) && m.c.Caps().Has("LIST-EXTENDED") {
			o = &imap.ListOptions{ReturnSpecialUse: true}
		}
		list, err := m.c.List("", "*", o).Collect()
		for _, l := range list {
			f := pim.Folder{Name: l.Mailbox}
			skip := false
			for _, a := range l.Attrs {
				skip = skip || strings.EqualFold(string(a), string(imap.MailboxAttrNoSelect)) || strings.EqualFold(string(a), string(imap.MailboxAttrNonExistent))
				if u := specialUse(a); u != "" {
					f.Use = u
				}
			}
			if !skip && len(out) < 1000 {
				out = append(out, f)
			}
		}
		return err
	})
	return out, err
}

func specialUse(a imap.MailboxAttr) string {
	for _, u := range []imap.MailboxAttr{imap.MailboxAttrAll, imap.MailboxAttrArchive, imap.MailboxAttrDrafts, imap.MailboxAttrJunk, imap.MailboxAttrSent, imap.MailboxAttrTrash} {
		if strings.EqualFold(string(a), string(u)) {
			return strings.ToLower(strings.TrimPrefix(string(u), `\`))
		}
	}
	return ""
}

// State describes a folder when it was opened.
type State struct {
	Validity uint32 // while it is unchanged, UIDs identify the same messages
	Next     uint32 // the next UID; 0 if the server does not report it
	Messages uint32
}

// Select opens a folder read-only. If no folder has the given name, a role such as "sent" or
// "archive" selects the folder with that role.
func (m *Conn) Select(ctx context.Context, folder string) (State, error) {
	s, err := m.examineFolder(ctx, folder)
	if err == nil || !errors.Is(err, pim.ErrNoFolder) && !errors.Is(err, pim.ErrRefused) {
		return s, err
	}
	all, lerr := m.Folders(ctx)
	if lerr != nil {
		return State{}, lerr
	}
	var names []string
	for _, f := range all {
		if f.Name == folder {
			return State{}, err // the folder exists, but cannot be opened now
		}
		if f.Use != "" && strings.EqualFold(f.Use, folder) || strings.EqualFold(f.Name, folder) && f.Name != folder {
			return m.examineFolder(ctx, f.Name)
		}
		names = append(names, f.Name)
	}
	return State{}, m.account.Errorf("%w: %q; available: %s", pim.ErrNoFolder, folder, pim.SanitizeLine(strings.Join(names, ", "), 300))
}

// Folder returns the open folder.
func (m *Conn) Folder() string { return m.folder }

func (m *Conn) examineFolder(ctx context.Context, folder string) (State, error) {
	return m.openFolder(ctx, folder, true)
}

func (m *Conn) openFolder(ctx context.Context, folder string, look bool) (out State, err error) {
	err = m.runBounded(ctx, askBytes, "open the folder "+pim.SanitizeLine(folder, 80), func() error {
		d, err := m.c.Select(folder, &imap.SelectOptions{ReadOnly: look}).Wait()
		if err != nil {
			return err
		}
		if d.UIDValidity == 0 {
			return errors.New("the server does not support message UIDs (no UIDVALIDITY)")
		}
		m.folder = folder
		m.mu.Lock()
		m.exists = d.NumMessages
		m.mu.Unlock()
		out = State{Validity: d.UIDValidity, Next: uint32(d.UIDNext), Messages: d.NumMessages}
		return nil
	})
	return out, err
}

// Close signs out, if that does not take long, and closes the connection.
func (m *Conn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = m.runBounded(ctx, askBytes, "sign out", func() error { return m.c.Logout().Wait() })
	err := m.c.Close()
	if err != nil && strings.Contains(err.Error(), "closed") {
		return nil
	}
	return err
}

// maxGreeting is the maximum number of bytes of a greeting that are stored.
const maxGreeting = 500

// greeted stores the first line from the server. A server that refuses the connection sends the
// reason and closes immediately, and go-imap may report only that the connection was closed.
type greeted struct {
	net.Conn

	mu   sync.Mutex
	line []byte
	over bool
}

// Read implements net.Conn.
func (g *greeted) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		line, _, end := bytes.Cut(p[:n], []byte("\n"))
		g.line = append(g.line, line[:min(len(line), maxGreeting-len(g.line))]...)
		g.over = end || len(g.line) == maxGreeting
	}
	return n, err
}

// closingText returns the text of a greeting that refuses the connection, without its code.
func (g *greeted) closingText() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	text := string(g.line)
	if len(text) < 6 || !strings.EqualFold(text[:6], "* BYE ") {
		return ""
	}
	if text = text[6:]; strings.HasPrefix(text, "[") {
		if _, after, ok := strings.Cut(text, "]"); ok {
			text = after
		}
	}
	return pim.SanitizeLine(text, 200)
}

// Kind is the account kind of mailboxes.
type Kind struct{}

// Describe implements pim.AccountKind.
func (Kind) Describe() pim.AccountDescription {
	return pim.MailKind(pim.IMAP, "imaps", "imap", pim.AccountDescription{
		Label: "mail", Flag: "IMAP server for incoming mail", Essential: true,
		Question: "Server for incoming mail (IMAP), such as imap.example.org",
		Help:     `Your mail and calendars at a provider (docs/accounts.md). The mail server, such as "imap.example.org" or "imap.example.org:993". Empty: Hob reads no mail.`,
	})
}

// Test implements pim.AccountKind. It opens the inbox without changing it.
func (Kind) Test(ctx context.Context, a pim.Account) (string, error) {
	m, err := Open(ctx, a)
	if err != nil {
		return "", err
	}
	defer func() { _ = m.Close() }() //nolint:contextcheck // signing out has a separate time limit
	if _, err := m.Select(ctx, "INBOX"); err != nil {
		return "", err
	}
	if m.Pushes() {
		return "mail can be read; new mail is detected immediately", nil
	}
	return "mail can be read and is polled every minute (the server does not support push)", nil
}
