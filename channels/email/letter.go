package email

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"path"
	"strings"

	message "github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // texts in all the alphabets that mails have
	gomail "github.com/emersion/go-message/mail"

	"hob/channels"
	"hob/platform/pim"
	"hob/platform/pim/mailbox"
)

// The bounds of what is read of a mail.
const (
	maxParts  = 100
	maxFiles  = 50
	maxPart   = 1 << 20 // bytes of one part's text
	maxWords  = 50_000  // characters of the sender's own words, and of what he quotes
	maxRefers = 50
)

// letter is a mail as it was read.
type letter struct {
	pim.Message

	fields  []field
	from    string // the one address of its one From field; "" when there is none such
	domain  string // of from
	claimed string // any address that it claims to come from, for what is to be left
	refers  []string
	own     string // what the sender wrote himself
	quoted  string // what he passed on or quoted
	reply   string // how a calendar answers with it; "" when none does
	files   []part
}

// part is a file that came with a mail.
type part struct {
	name, kind string
	size       int64
	n          int // the how manyth part it is
}

// read takes a mail apart, of which raw is the beginning.
func read(meta pim.Message, raw []byte) *letter {
	l := &letter{Message: meta, fields: readFields(raw)}
	mailbox.Head(raw, &l.Message)
	l.from, l.domain = author(l.fields)
	if l.claimed = l.from; l.claimed == "" && len(l.From) > 0 {
		l.claimed = l.From[0].Address
	}
	l.refers = l.Refers
	if len(l.refers) == 0 {
		l.refers = ids(first(l.fields, "in-reply-to"))
	}
	plain, marked, flowed := l.walk(raw)
	l.Cut = l.Cut || l.Size > int64(len(raw))
	switch {
	case strings.TrimSpace(plain) != "":
		l.own, l.quoted = splitPlain(clean(plain), flowed)
	case marked != "":
		l.own, l.quoted = splitHTML(marked)
	}
	l.own, l.quoted = cut(l.own), cut(l.quoted)
	return l
}

func clean(s string) string {
	s = strings.ReplaceAll(pim.Clean(s), "\u00a0", " ")
	return strings.Trim(s, "\n")
}

// cut bounds a text, and says so in it.
func cut(s string) string {
	s = strings.TrimSpace(s)
	n := 0
	for i := range s {
		if n == maxWords {
			return s[:i] + "\n[the mail goes on]"
		}
		n++
	}
	return s
}

// ids are the Message-IDs in a field (RFC 5322, 3.6.4).
func ids(value string) (out []string) {
	for part := range strings.SplitSeq(value, "<") {
		if id, _, closed := strings.Cut(part, ">"); closed && id != "" && len(id) <= 400 && !strings.ContainsFunc(id, odd) && len(out) < maxRefers {
			out = append(out, id)
		}
	}
	return out
}

// odd are characters that a Message-ID does not have, and a header must not.
func odd(r rune) bool { return r <= ' ' || r >= 0x7f || r == '<' || r == '>' }

// walk goes through the parts of a mail, and returns its texts.
func (l *letter) walk(raw []byte) (plain, marked string, flowed bool) {
	r, err := gomail.CreateReader(bytes.NewReader(raw))
	if r == nil || hard(err) {
		return body(raw), "", false
	}
	texts := 0
	for n := range maxParts {
		p, err := r.NextPart()
		if p == nil || hard(err) {
			if n == 0 {
				return body(raw), "", false // it claims to have parts, and has none
			}
			break
		}
		kind, params, name, attached := describe(p.Header)
		switch {
		case kind == "text/calendar" && answers(params["method"]):
			l.reply = strings.ToUpper(params["method"])
		case !attached && (kind == "" || kind == "text/plain") && name == "":
			flowed = (texts == 0 || flowed) && strings.EqualFold(params["format"], "flowed")
			plain += words(p.Body, strings.EqualFold(params["delsp"], "yes")) + "\n"
			texts++
		case !attached && kind == "text/html" && name == "":
			marked += words(p.Body, false) + "\n"
		case !attached && strings.HasPrefix(kind, "text/") && kind != "text/calendar" && name == "":
			plain += words(p.Body, false) + "\n"
		case len(l.files) < maxFiles:
			size, _ := io.Copy(io.Discard, p.Body) // what could be read counts
			l.files = append(l.files, part{name: fileName(name, kind, len(l.files)), kind: kind, size: size, n: n})
		}
	}
	return plain, marked, flowed
}

// hard reports an error with which reading cannot go on.
func hard(err error) bool {
	return err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err)
}

func answers(method string) bool {
	switch strings.ToUpper(method) {
	case "REPLY", "COUNTER", "REFRESH", "DECLINECOUNTER":
		return true
	}
	return false
}

func describe(h gomail.PartHeader) (kind string, params map[string]string, name string, attached bool) {
	switch h := h.(type) {
	case *gomail.InlineHeader:
		kind, params, _ = h.ContentType()
		if _, disposition, err := h.ContentDisposition(); err == nil {
			name = disposition["filename"]
		}
		if name == "" {
			name = params["name"]
		}
	case *gomail.AttachmentHeader:
		attached = true
		kind, params, _ = h.ContentType()
		name, _ = h.Filename()
	}
	return strings.ToLower(kind), params, name, attached
}

func words(r io.Reader, deleteSpace bool) string {
	b, _ := io.ReadAll(io.LimitReader(r, maxPart)) // what could be read counts
	s := string(b)
	if deleteSpace { // RFC 3676, 4.3: the space at a soft end of a line is not the text's
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), " \n", " \n\x00")
		s = strings.ReplaceAll(strings.ReplaceAll(s, "-- \n\x00", "-- \n"), " \n\x00", "\x01")
		s = strings.ReplaceAll(s, "\x01", "")
	}
	return s
}

// body is what follows the header, of a mail that has no parts that can be read.
func body(raw []byte) string {
	_, text, _ := bytes.Cut(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")), []byte("\n\n"))
	return string(text[:min(len(text), maxPart)])
}

func fileName(name, kind string, n int) string {
	name = pim.Line(strings.ReplaceAll(name, "\x00", ""), 120)
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	if name = strings.TrimLeft(name, "."); name != "" {
		return name
	}
	ext := ""
	switch kind {
	case "message/rfc822":
		ext = ".eml"
	case "text/calendar":
		ext = ".ics"
	default:
		if all, err := mime.ExtensionsByType(kind); err == nil && len(all) > 0 {
			ext = all[0]
		}
	}
	return fmt.Sprintf("file-%d%s", n+1, path.Ext("x"+ext))
}

// attachments are the files of a mail as the manager fetches them.
func (l *letter) attachments(raw []byte) (out []channels.File) {
	for _, f := range l.files {
		out = append(out, channels.File{Name: f.name, MIME: f.kind, Size: f.size, Open: func(context.Context) (io.ReadCloser, error) {
			r, err := gomail.CreateReader(bytes.NewReader(raw))
			if r == nil || hard(err) {
				return nil, fmt.Errorf("the file %s of a mail cannot be read: %w", f.name, err)
			}
			for n := 0; ; n++ {
				p, err := r.NextPart()
				switch {
				case p == nil || hard(err):
					return nil, fmt.Errorf("the file %s of a mail cannot be read: %w", f.name, err)
				case n == f.n:
					return io.NopCloser(p.Body), nil
				}
			}
		}})
	}
	return out
}
