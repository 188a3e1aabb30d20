package email

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/emersion/go-message/mail"

	"hob/channels"
	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/pim/smtpmail"
	"hob/platform/text/markup"
	"hob/platform/text/textnorm"
)

// Limits of outgoing emails.
const (
	maxText    = 40_000   // maximum characters
	maxFile    = 20 << 20 // maximum bytes of one file
	maxAll     = 24 << 20 // maximum bytes of all files in an email: large hosts accept 25 MB or more, including the Base64 overhead
	maxSubject = 120      // maximum characters
)

// outgoingMail is one outgoing email.
type outgoingMail struct {
	id      string
	to      pim.Person
	subject string
	answers string // Message-ID of the answered email
	refers  []string
	hops    int
	text    string // text in Markdown
	files   []channels.Attachment
	date    time.Time
}

// Send implements channels.Channel.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	n, err := c.newOutgoingMail(d)
	if err != nil {
		return channels.Receipt{}, &channels.Error{Class: channels.Permanent, Err: fmt.Errorf("email: create the message: %w", err)}
	}
	raw, err := c.encodeMail(n)
	if err != nil {
		return channels.Receipt{}, &channels.Error{Class: channels.Permanent, Err: fmt.Errorf("email: encode the message: %w", err)}
	}
	if c.conf.Drafts {
		return channels.Receipt{ID: n.id}, classifyError(c.fileMail(ctx, "drafts", n.id, raw, true))
	}
	if err := c.submitMail(ctx, n.to.Address, raw); err != nil {
		if ctx.Err() != nil && !errors.Is(err, smtpmail.ErrUnsure) {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return channels.Receipt{}, classifyError(err)
	}
	if !keepsItself(c.account.Server(pim.SMTP)) {
		if err := c.fileMail(ctx, "sent", n.id, raw, d.Attempts > 0 || d.MaybeRepeated); err != nil { // the email was sent, so this is not a failure
			c.log.WarnContext(ctx, "email sent, but storing the copy failed", "err", err)
		}
	}
	return channels.Receipt{ID: n.id}, nil
}

// Find implements channels.DeliveryFinder. It searches the sent emails, or the drafts.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	n, err := c.newOutgoingMail(d)
	if err != nil {
		return channels.Receipt{}, false, &channels.Error{Class: channels.Permanent, Err: fmt.Errorf("email: create the message: %w", err)}
	}
	found := false
	err = c.withFolder(ctx, c.sentFolderUse(), func(m *imapmail.Conn, folder string) (err error) {
		found, err = mailExists(ctx, m, folder, n.id)
		return err
	})
	return channels.Receipt{ID: n.id}, found, classifyError(err)
}

func (c *Channel) sentFolderUse() string {
	if c.conf.Drafts {
		return "drafts"
	}
	return "sent"
}

// fileMail stores an email in the folder for the given use. If look is set, it first checks whether
// the email is already there.
func (c *Channel) fileMail(ctx context.Context, use, id string, raw []byte, look bool) error {
	return c.withFolder(ctx, use, func(m *imapmail.Conn, folder string) error {
		if look {
			if found, err := mailExists(ctx, m, folder, id); err != nil || found {
				return err
			}
		}
		look = true // this is the second attempt for this email
		_, err := m.Put(ctx, folder, raw, use == "drafts")
		return err
	})
}

// keepsItself reports whether the mail host itself stores sent emails.
func keepsItself(server string) bool {
	s, err := pim.ParseServer(pim.SMTP, server)
	host := strings.ToLower(s.Host)
	return err == nil && slices.ContainsFunc([]string{"gmail.com", "googlemail.com", "google.com", "office365.com", "outlook.com"}, func(d string) bool {
		return host == d || strings.HasSuffix(host, "."+d)
	})
}

// newOutgoingMail builds the email for a delivery: a reply to the email it answers, or the start of
// a thread.
func (c *Channel) newOutgoingMail(d channels.Delivery) (outgoingMail, error) {
	address, thread := splitChat(d.Chat)
	var why replyContext
	if len(d.Cause) > 0 {
		if err := json.Unmarshal(d.Cause, &why); err != nil {
			return outgoingMail{}, fmt.Errorf("decode the reply context: %w", err)
		}
	}
	if address == "group" || address == "" {
		// If an email has several recipients, the answer goes only to its author.
		address = cmp.Or(why.To, memberOf(d))
	}
	if address == "" {
		return outgoingMail{}, fmt.Errorf("no recipient known; send an email to %s first", c.address)
	}
	n := outgoingMail{to: pim.Person{Address: address}, text: d.Markdown(), files: d.Files, date: d.CreatedAt}
	if err := pim.CheckPerson(n.to); err != nil {
		return outgoingMail{}, err
	}
	if c.isOwnAddress(address) {
		return outgoingMail{}, fmt.Errorf("%w: Hob does not send email to itself (%s)", pim.ErrInvalid, address)
	}
	if why.To == address {
		n.answers, n.hops = why.ID, why.Hops
		if n.refers = why.Refers; why.ID != "" {
			n.refers = append(slices.Clone(n.refers), why.ID)
		}
		n.subject = "Re: " + c.prefixSubject(why.Subject)
	} else {
		n.subject = c.prefixSubject(threadSubject(d.Markdown()))
	}
	n.id = nameOf(d.ID, thread, n.hops, c.host)
	return n, nil
}

// memberOf returns the person whose conversation a message belongs to. It is used for emails with
// several recipients.
func memberOf(d channels.Delivery) string {
	if who, ok := strings.CutPrefix(d.Session, Name+":"+d.Chat+":"); ok && strings.Contains(who, "@") && !strings.HasPrefix(who, unverified) {
		return who
	}
	return ""
}

func (c *Channel) prefixSubject(subject string) string {
	if c.conf.SubjectPrefix == "" {
		return subject
	}
	return strings.TrimSpace(c.conf.SubjectPrefix + " " + subject)
}

// threadSubject returns the subject for a message that starts a thread.
func threadSubject(text string) string {
	for line := range strings.Lines(markup.Plain(text)) {
		if line = pim.SanitizeLine(strings.Trim(line, "#*_ \t\r\n"), 10_000); line != "" {
			return textnorm.Ellipsize(line, 70)
		}
	}
	return "Hob"
}

// encodeMail encodes an email (RFC 5322, RFC 2046).
func (c *Channel) encodeMail(n outgoingMail) ([]byte, error) {
	var h gomail.Header
	h.SetDate(cmp.Or(n.date, time.Now()))
	h.SetAddressList("From", []*gomail.Address{{Name: "Hob", Address: c.address}})
	h.SetAddressList("To", []*gomail.Address{{Name: n.to.Name, Address: n.to.Address}})
	h.SetMessageID(n.id)
	kind := "auto-generated"
	if n.answers != "" {
		kind = "auto-replied"
		h.SetMsgIDList("In-Reply-To", []string{n.answers})
	}
	if len(n.refers) > 0 {
		h.SetMsgIDList("References", n.refers)
	}
	if err := cleanHeader(append([]string{n.id, n.to.Address, n.answers, n.subject}, n.refers...)...); err != nil {
		return nil, err
	}
	h.SetSubject(textnorm.Ellipsize(n.subject, maxSubject))
	for _, f := range [][2]string{
		{"Auto-Submitted", kind},             // see RFC 3834, section 5
		{"X-Auto-Response-Suppress", "All"},  // Exchange then sends no out-of-office reply
		{"X-Hob", "1"},                       // another Hob does not answer the email
		{"X-Hob-Hops", strconv.Itoa(n.hops)}, // number of Hob's earlier emails in the thread
	} {
		h.Set(f[0], f[1])
	}
	var b bytes.Buffer
	w, err := gomail.CreateWriter(&b, h)
	if err != nil {
		return nil, err
	}
	text, files, err := loadFiles(n)
	if err != nil {
		return nil, err
	}
	if err := writeAlternatives(w, text); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := attachFile(w, f); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// cleanHeader returns an error if a header value contains a line break.
func cleanHeader(values ...string) error {
	for _, v := range values {
		if strings.ContainsAny(v, "\r\n\x00") {
			return fmt.Errorf("%w: header contains a line break: %q", pim.ErrInvalid, pim.SanitizeLine(v, 80))
		}
	}
	return nil
}

type loadedFile struct {
	channels.Attachment

	data []byte
}

// loadFiles reads the files. It omits files that would make the email too large, and adds a note
// about them to the text.
func loadFiles(n outgoingMail) (text string, out []loadedFile, err error) {
	text = n.text
	total := int64(0)
	for _, f := range n.files {
		fi, err := os.Stat(f.Path)
		if err != nil {
			return "", nil, fmt.Errorf("file %s: %w", f.Name, err)
		}
		if fi.Size() > maxFile || total+fi.Size() > maxAll {
			text += fmt.Sprintf("\n\n(The file %s is not attached: it is too large for an email.)", pim.SanitizeLine(f.Name, 100))
			continue
		}
		total += fi.Size()
		data, err := os.ReadFile(f.Path)
		if err != nil {
			return "", nil, fmt.Errorf("file %s: %w", f.Name, err)
		}
		out = append(out, loadedFile{f, data})
	}
	return text, out, nil
}

// writeAlternatives writes the text as plain text and as HTML. The preferred form is last (RFC
// 2046, 5.1.4).
func writeAlternatives(w *gomail.Writer, text string) error {
	in, err := w.CreateInline()
	if err != nil {
		return err
	}
	for _, f := range [][2]string{{"text/plain", markup.Plain(text)}, {"text/html", markup.HTML(text)}} {
		var h gomail.InlineHeader
		h.SetContentType(f[0], map[string]string{"charset": "utf-8"})
		h.Set("Content-Transfer-Encoding", "quoted-printable")
		part, err := in.CreatePart(h)
		if err != nil {
			return err
		}
		s := strings.ReplaceAll(strings.TrimRight(pim.SanitizeText(f[1]), "\n")+"\n", "\n", "\r\n")
		if err := writeAndClose(part, []byte(s)); err != nil {
			return err
		}
	}
	return in.Close()
}

func attachFile(w *gomail.Writer, f loadedFile) error {
	var h gomail.AttachmentHeader
	kind, params, err := mime.ParseMediaType(cmp.Or(f.MIME, mime.TypeByExtension(filepath.Ext(f.Name))))
	if err != nil || strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(kind, "message/") {
		kind, params = "application/octet-stream", nil
	}
	h.SetContentType(kind, params)
	h.Set("Content-Transfer-Encoding", "base64")
	h.SetFilename(pim.SanitizeLine(f.Name, 150))
	part, err := w.CreateAttachment(h)
	if err != nil {
		return err
	}
	return writeAndClose(part, f.data)
}

func writeAndClose(w io.WriteCloser, data []byte) error {
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Close()
}
