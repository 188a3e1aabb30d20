// Package compose builds email messages (RFC 5322, MIME) from pim.OutgoingMail, with text, files
// and an invitation. The drivers of platform/pim that send email use it.
//
// It rejects line breaks in headers and encodes everything else, so that the message contains
// exactly the text that the user saw.
package compose

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"path/filepath"
	"strings"
	"time"

	gomail "github.com/emersion/go-message/mail"

	"hob/platform/pim"
)

// NewID returns a Message-ID in the domain of the sender address.
func NewID(from string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	_, host, _ := strings.Cut(from, "@")
	if host == "" {
		host = "localhost"
	}
	return hex.EncodeToString(b[:]) + "@" + host
}

// maxRefers is the maximum number of earlier messages in References: the first and the most recent
// ones.
const maxRefers = 20

// Letter encodes a message. It includes the Bcc recipients only if blind is set, for the sender's
// own copy.
func Letter(l pim.OutgoingMail, from pim.Person, blind bool) ([]byte, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	if err := pim.CheckPerson(from); err != nil {
		return nil, fmt.Errorf("sender: %w", err)
	}
	var h gomail.Header
	if l.Date.IsZero() {
		l.Date = time.Now()
	}
	h.SetDate(l.Date)
	h.SetAddressList("From", mailAddresses(from))
	for name, list := range map[string][]pim.Person{"To": l.To, "Cc": l.Cc, "Bcc": l.Bcc} {
		if len(list) > 0 && (name != "Bcc" || blind) {
			h.SetAddressList(name, mailAddresses(list...))
		}
	}
	h.SetSubject(l.Subject)
	h.SetMessageID(l.ID)
	refers := append([]string{}, l.References...)
	if len(refers) > maxRefers {
		refers = append(refers[:1], refers[len(refers)-maxRefers+1:]...)
	}
	if l.Answers != "" {
		h.SetMsgIDList("In-Reply-To", []string{l.Answers})
		refers = append(refers, l.Answers)
	}
	if len(refers) > 0 {
		h.SetMsgIDList("References", refers)
	}
	if l.Auto != "" {
		h.Set("Auto-Submitted", l.Auto)
	}
	var b bytes.Buffer
	if err := writeBody(&b, h, l); err != nil {
		return nil, fmt.Errorf("compose the message: %w", err)
	}
	return b.Bytes(), nil
}

func mailAddresses(list ...pim.Person) (out []*gomail.Address) {
	for _, p := range list {
		out = append(out, &gomail.Address{Name: p.Name, Address: p.Address})
	}
	return out
}

func writeBody(b *bytes.Buffer, h gomail.Header, l pim.OutgoingMail) error {
	if len(l.Files) == 0 && l.Invite == "" && l.HTML == "" {
		h.SetContentType("text/plain", map[string]string{"charset": "utf-8"})
		h.Set("Content-Transfer-Encoding", "quoted-printable")
		w, err := gomail.CreateSingleInlineWriter(b, h)
		if err != nil {
			return err
		}
		return writeAndClose(w, normalizeLines(l.Text))
	}
	w, err := gomail.CreateWriter(b, h)
	if err != nil {
		return err
	}
	if err := writeTextPart(w, l); err != nil {
		return err
	}
	for _, f := range l.Files {
		var h gomail.AttachmentHeader
		kind := mime.TypeByExtension(filepath.Ext(f.Name))
		if kind == "" {
			kind = "application/octet-stream"
		}
		t, params, err := mime.ParseMediaType(kind)
		if err != nil {
			t, params = "application/octet-stream", nil
		}
		h.SetContentType(t, params)
		h.Set("Content-Transfer-Encoding", "base64")
		h.SetFilename(f.Name)
		part, err := w.CreateAttachment(h)
		if err != nil {
			return err
		}
		if err := writeAndClose(part, f.Data); err != nil {
			return err
		}
	}
	return w.Close()
}

// writeTextPart writes the text, with the HTML and the invitation as alternative parts (RFC 2046,
// 5.1.4; RFC 6047, 2.4).
func writeTextPart(w *gomail.Writer, l pim.OutgoingMail) error {
	in, err := w.CreateInline()
	if err != nil {
		return err
	}
	type form struct {
		kind   string
		params map[string]string
		data   []byte
	}
	forms := []form{{"text/plain", map[string]string{"charset": "utf-8"}, normalizeLines(l.Text)}}
	if l.HTML != "" {
		forms = append(forms, form{"text/html", map[string]string{"charset": "utf-8"}, []byte(l.HTML)})
	}
	if l.Invite != "" {
		forms = append(forms, form{"text/calendar", map[string]string{"charset": "utf-8", "method": inviteMethod(l.Invite)}, []byte(l.Invite)})
	}
	for _, f := range forms {
		var h gomail.InlineHeader
		h.SetContentType(f.kind, f.params)
		h.Set("Content-Transfer-Encoding", "quoted-printable")
		part, err := in.CreatePart(h)
		if err != nil {
			return err
		}
		if err := writeAndClose(part, f.data); err != nil {
			return err
		}
	}
	return in.Close()
}

func inviteMethod(invite string) string {
	for line := range strings.Lines(invite) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "METHOD:"); ok && (v == "REQUEST" || v == "CANCEL" || v == "REPLY") {
			return v
		}
	}
	return "PUBLISH"
}

func writeAndClose(w io.WriteCloser, data []byte) error {
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Close()
}

// normalizeLines converts line breaks to CRLF and removes invisible characters.
func normalizeLines(s string) []byte {
	s = strings.TrimRight(pim.SanitizeText(s), "\n") + "\n"
	return []byte(strings.ReplaceAll(s, "\n", "\r\n"))
}
