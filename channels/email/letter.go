package email

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	stdmime "mime"
	"net/mail"
	"path"
	"strings"

	"hob/channels"
	"hob/platform/pim"
	"hob/platform/pim/dkimcheck"
	"hob/platform/pim/imapmail"
	"hob/platform/text/mime"
)

// Limits for the content of an email.
const (
	maxFiles  = 50
	maxPart   = 1 << 20 // bytes of text in one part
	maxTexts  = 3 << 20 // bytes of text in all parts
	maxWords  = 50_000  // characters of the sender's own text, and separately of the quoted text
	maxRefers = 50
)

// parsedMail is a parsed email.
type parsedMail struct {
	pim.Message

	fields  mime.Fields
	from    string          // the only address in the only From field; "" if there are several
	proved  dkimcheck.KeyID // the key whose signature proves that the address in from wrote the email to Hob
	claimed string          // any address in From, for ignored emails
	refers  []string
	answer  bool   // the email is a reply or forward
	bounded bool   // whether the end of own was found
	own     string // the sender's own text
	quoted  string // forwarded or quoted text
	reply   string // the calendar reply in the email, or ""
	files   []part
}

// part is an email attachment.
type part struct {
	name, kind string
	size       int64
	body       mime.Part
}

// parseMail parses an email. raw is its beginning.
func parseMail(meta pim.Message, raw []byte) *parsedMail {
	l := &parsedMail{Message: meta}
	var sound bool
	l.fields, sound = mime.ReadFields(raw)
	imapmail.Head(raw, &l.Message)
	if sound {
		l.from = singleAuthor(l.fields)
	}
	if l.claimed = l.from; l.claimed == "" && len(l.From) > 0 {
		l.claimed = l.From[0].Address
	}
	l.refers = l.Refers
	if len(l.refers) == 0 {
		l.refers = parseMessageIDs(l.fields.First("in-reply-to"))
	}
	texts := l.collectTexts(raw)
	l.answer = l.isReplyOrForward()
	p := splitOwnText(texts, l.answer)
	l.own, l.quoted, l.bounded = p.own, p.quoted, p.bounded
	l.Cut = l.Cut || l.Size > int64(len(raw))
	l.own, l.quoted = limitText(l.own), limitText(l.quoted)
	return l
}

func cleanText(s string) string {
	s = strings.ReplaceAll(pim.SanitizeText(s), "\u00a0", " ")
	return strings.Trim(s, "\n")
}

// limitText truncates s and marks the truncation.
func limitText(s string) string {
	s = strings.TrimSpace(s)
	n := 0
	for i := range s {
		if n == maxWords {
			return s[:i] + "\n[the email continues]"
		}
		n++
	}
	return s
}

// parseMessageIDs returns the Message-IDs in a field (RFC 5322, 3.6.4).
func parseMessageIDs(value string) (out []string) {
	for part := range strings.SplitSeq(value, "<") {
		if id, _, closed := strings.Cut(part, ">"); closed && id != "" && len(id) <= 400 && !strings.ContainsFunc(id, isInvalidIDRune) && len(out) < maxRefers {
			out = append(out, id)
		}
	}
	return out
}

// isInvalidIDRune reports whether a character is not allowed in a Message-ID or unsafe in a header.
func isInvalidIDRune(r rune) bool { return r <= ' ' || r >= 0x7f || r == '<' || r == '>' }

// collectTexts visits the parts of an email and returns its text parts.
func (l *parsedMail) collectTexts(raw []byte) (out []textPart) {
	left := int64(maxTexts)
	m := mime.Parse(raw, mime.Limits{})
	l.Cut = m.Cut != nil // text beyond a limit is dropped
	for _, e := range m.Parts {
		attached := e.Attached()
		switch {
		case e.Kind == "text/calendar" && isReplyMethod(e.Params["method"]):
			l.reply = strings.ToUpper(e.Params["method"])
		case !attached && e.Kind == "text/x-amp-html" && e.Forms > 0: // the same text as in the HTML part
		case !attached && isText(e.Kind):
			t := textPart{marked: e.Kind == "text/html", forms: e.Forms, words: e.Text(min(maxPart, left))}
			if left -= int64(len(t.words)); !t.marked {
				t.flowed = strings.EqualFold(e.Params["format"], "flowed")
				t.words = joinSoftSpace(t.words, t.flowed && strings.EqualFold(e.Params["delsp"], "yes"))
			}
			out = append(out, t)
		case len(l.files) < maxFiles:
			size, _ := io.Copy(io.Discard, e.Open()) // determine the size of the readable part
			l.files = append(l.files, part{name: fileName(e.Name, e.Kind, len(l.files)), kind: e.Kind, size: size, body: e})
		}
	}
	return out
}

// isText reports whether people write text in this media type. Parts with other types are files.
func isText(kind string) bool {
	switch kind {
	case "text/plain", "text/html", "text/enriched", "text/markdown":
		return true
	}
	return false
}

// isReplyOrForward reports whether an email is a reply or forward, which may contain other people's
// text.
func (l *parsedMail) isReplyOrForward() bool {
	for _, name := range []string{"in-reply-to", "references", "x-forwarded-message-id"} {
		if strings.TrimSpace(l.fields.First(name)) != "" {
			return true
		}
	}
	// Outlook adds 5 bytes per reply to the 22 bytes of the first email in a thread ([MS-OXOMSG]
	// 2.2.1.3).
	if b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(l.fields.First("thread-index"))); err == nil && len(b) > 22 {
		return true
	}
	return passedOn(l)
}

func isReplyMethod(method string) bool {
	switch strings.ToUpper(method) {
	case "REPLY", "COUNTER", "REFRESH", "DECLINECOUNTER":
		return true
	}
	return false
}

// joinSoftSpace removes the space at a soft line end if deleteSpace is set. With DelSp, the space
// is not part of the text (RFC 3676, 4.3).
func joinSoftSpace(s string, deleteSpace bool) string {
	if !deleteSpace {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(s, "\r\n", "\n")) {
		if soft, ok := strings.CutSuffix(line, " \n"); ok && line != "-- \n" {
			line = soft
		}
		b.WriteString(line)
	}
	return b.String()
}

func fileName(name, kind string, n int) string {
	name = pim.SanitizeLine(strings.ReplaceAll(name, "\x00", ""), 120)
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
		if all, err := stdmime.ExtensionsByType(kind); err == nil && len(all) > 0 {
			ext = all[0]
		}
	}
	return fmt.Sprintf("file-%d%s", n+1, path.Ext("x"+ext))
}

// attachedFiles returns the files of an email for the manager.
func (l *parsedMail) attachedFiles() (out []channels.File) {
	for _, f := range l.files {
		out = append(out, channels.File{Name: f.name, MIME: f.kind, Size: f.size, Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(f.body.Open()), nil
		}})
	}
	return out
}

// singleAuthor returns the only address in the only From field, in lower case. It returns "" if
// there are several or the field is malformed, because it is then unclear to which address a result
// refers.
func singleAuthor(fields mime.Fields) string {
	n, value := 0, ""
	for _, f := range fields {
		if f.Name == "from" {
			n, value = n+1, f.Value
		}
	}
	if n != 1 || strings.ContainsAny(value, "\x00\r\n") {
		return ""
	}
	list, err := mail.ParseAddressList(value)
	if err != nil || len(list) != 1 {
		return ""
	}
	address := strings.ToLower(list[0].Address)
	local, domain, ok := strings.Cut(address, "@")
	plain := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),:;<>@[\]/`, r) }
	if !ok || local == "" || !strings.Contains(domain, ".") || strings.ContainsFunc(address[:len(local)], plain) || strings.ContainsFunc(domain, plain) || len(address) > 254 {
		return ""
	}
	return address
}
