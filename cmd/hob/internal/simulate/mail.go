package simulate

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log" //nolint:depguard // the IMAP server's options require a *log.Logger
	"net/mail"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
)

// postbox serves an account's messages with a real IMAP server.
type postbox struct {
	line *pipeListener
	user *imapmemserver.User
}

// accountPostbox returns the mailbox of an account. It creates the mailbox on first use.
func (w *world) accountPostbox(account, login string) *postbox {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b := w.boxes[account]; b != nil {
		return b
	}
	b := &postbox{line: newLine(), user: imapmemserver.NewUser(login, password)}
	_ = b.user.Create("INBOX", nil) // cannot fail: the user is new
	mem := imapmemserver.New()
	mem.AddUser(b.user)
	srv := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return mem.NewSession(), nil, nil
		},
		Caps: imap.CapSet{imap.CapIMAP4rev1: {}, imap.CapIMAP4rev2: {}}, Logger: log.New(io.Discard, "", 0), InsecureAuth: true,
	})
	on := tls.NewListener(b.line, w.trust.serverConfig("imap"))
	b.line.serveUntilStop(func() { _ = srv.Serve(on) }, srv.Close)
	w.boxes[account], w.lines = b, append(w.lines, b.line)
	return b
}

// deliverMail adds a message to a folder and fills in missing headers.
func (w *world) deliverMail(in Input) error {
	a, err := w.p.accountOf(in.To)
	if err != nil {
		return err
	}
	b := w.accountPostbox(a.Name, a.Login())
	folder := in.More
	if folder == "" {
		folder = "INBOX"
	} else {
		_ = b.user.Create(folder, nil) // the folder may exist already
	}
	text := strings.TrimLeft(in.Body, "\r\n")
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		return err
	}
	var head strings.Builder
	for name, value := range map[string]string{
		"Message-Id": fmt.Sprintf("<line-%d@script.invalid>", in.Line), "Date": time.Now().In(w.p.zone).Format(time.RFC1123Z), "To": a.Address,
	} {
		if m.Header.Get(name) == "" && value != "" {
			fmt.Fprintf(&head, "%s: %s\r\n", name, value)
		}
	}
	raw := head.String() + strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	_, err = b.user.Append(folder, literal{bytes.NewReader([]byte(raw))}, &imap.AppendOptions{Time: time.Now()})
	return err
}

// literal implements imap.LiteralReader for bytes in memory.
type literal struct{ *bytes.Reader }

// Size implements imap.LiteralReader.
func (l literal) Size() int64 { return l.Reader.Size() }
