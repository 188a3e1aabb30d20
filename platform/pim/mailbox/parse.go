package mailbox

import (
	"bytes"
	"io"
	"mime"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	message "github.com/emersion/go-message"
	"github.com/emersion/go-message/charset"
	gomail "github.com/emersion/go-message/mail"
	"golang.org/x/text/encoding/charmap"

	"hob/platform/pim"
	"hob/platform/readable"
)

// The bounds of a mail's parts, in characters and numbers.
const (
	maxSubject = 300
	maxName    = 120
	maxAddress = 254 // RFC 5321, 4.5.3.1.3
	maxID      = 400
	maxPeople  = 100
	maxParts   = 50
	maxRefers  = 50
	maxChars   = 20_000
)

// readHeader reads the header fields of a mail (RFC 5322), as broken as they may
// be.
func readHeader(raw []byte, x *pim.Message) {
	words := mime.WordDecoder{CharsetReader: charset.Reader}
	for name, value := range fields(raw) {
		switch name {
		case "from":
			x.From = append(x.From, people(value, &words, maxPeople-len(x.From))...)
		case "reply-to":
			x.ReplyTo = append(x.ReplyTo, people(value, &words, maxPeople-len(x.ReplyTo))...)
		case "references":
			if x.Refers == nil {
				x.Refers = refers(value)
			}
		case "to", "cc":
			x.To = append(x.To, people(value, &words, maxPeople-len(x.To))...)
		case "subject":
			if x.Subject == "" {
				x.Subject = pim.Line(decodeWords(&words, value), maxSubject)
			}
		case "date":
			if t, err := mail.ParseDate(value); err == nil && x.Date.IsZero() {
				x.Date = t.UTC()
			}
		case "message-id":
			if x.ID == "" {
				x.ID = id(value)
			}
		}
	}
}

// fields yields the header fields with their names in lower case, unfolded.
func fields(raw []byte) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		var name string
		var value strings.Builder
		for line := range bytes.Lines(raw) {
			line = bytes.TrimRight(line, "\r\n")
			if len(line) == 0 {
				break
			}
			if line[0] == ' ' || line[0] == '\t' {
				value.WriteByte(' ')
				value.Write(bytes.TrimSpace(line))
				continue
			}
			if name != "" && !yield(name, value.String()) {
				return
			}
			before, after, ok := bytes.Cut(line, []byte(":"))
			name = ""
			if value.Reset(); ok {
				name = strings.ToLower(string(bytes.TrimSpace(before)))
				value.Write(bytes.TrimSpace(after))
			}
		}
		if name != "" {
			yield(name, value.String())
		}
	}
}

// refers are the mails that one refers to, of too many the last ones.
func refers(value string) (out []string) {
	for part := range strings.SplitSeq(value, "<") {
		if name, _, closed := strings.Cut(part, ">"); closed {
			if name = id(name); name != "" && !strings.Contains(name, "<") {
				out = append(out, name)
			}
		}
	}
	return out[max(0, len(out)-maxRefers):]
}

func id(value string) string {
	s := strings.TrimSpace(value)
	if i := strings.IndexByte(s, '<'); i >= 0 {
		if j := strings.IndexByte(s[i:], '>'); j > 0 {
			s = s[i+1 : i+j]
		}
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > maxID {
		return "" // nobody writes such a name; the mail is named by what it holds
	}
	return s
}

// decodeWords reads the encoded words of RFC 2047. Raw bytes that are not UTF-8
// are taken for Latin-1, which they mostly are.
func decodeWords(words *mime.WordDecoder, s string) string {
	if !utf8.ValidString(s) {
		if latin, err := charmap.ISO8859_1.NewDecoder().String(s); err == nil {
			s = latin
		}
	}
	if out, err := words.DecodeHeader(s); err == nil {
		return out
	}
	return s
}

// people reads a list of addresses. What cannot be read is kept as a name, so
// that the owner sees who it claims to be from.
func people(value string, words *mime.WordDecoder, most int) (out []pim.Person) {
	if len(value) > maxHeader || most <= 0 {
		return nil
	}
	p := mail.AddressParser{WordDecoder: words}
	list, err := p.ParseList(value)
	if err != nil {
		return loose(decodeWords(words, value), most)
	}
	for _, a := range list[:min(len(list), most)] {
		out = append(out, person(a.Name, a.Address))
	}
	return out
}

// loose finds the addresses of a list that does not follow the rules.
func loose(value string, most int) (out []pim.Person) {
	for part := range strings.SplitSeq(value, ",") {
		if len(out) == most {
			break
		}
		name, rest, ok := strings.Cut(part, "<")
		addr, _, closed := strings.Cut(rest, ">")
		switch {
		case ok && closed:
			out = append(out, person(name, addr))
		case strings.Count(part, "@") == 1 && !strings.ContainsAny(strings.TrimSpace(part), " \t"):
			out = append(out, person("", part))
		case strings.TrimSpace(part) != "":
			out = append(out, person(part, ""))
		}
	}
	return out
}

func person(name, addr string) pim.Person {
	addr = strings.ToLower(pim.Line(addr, maxAddress))
	return pim.Person{Name: strings.Trim(pim.Line(name, maxName), `"' `), Address: addr}
}

// readText reads the text of a mail from its beginning, which may be cut
// anywhere. An HTML part is used when there is no plain one.
func readText(raw []byte) (text string, files []string, cut bool) {
	return readTextOf(raw, maxChars)
}

// readTextOf is likewise, of at most so many characters.
func readTextOf(raw []byte, chars int) (text string, files []string, cut bool) {
	r, err := gomail.CreateReader(bytes.NewReader(raw))
	if r == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return bounded(rawBody(raw), chars)
	}
	var plain, marked string
	for n := range maxParts {
		part, err := r.NextPart()
		if n == 0 && part == nil {
			return bounded(rawBody(raw), chars) // it claims to have parts, and has none
		}
		if part == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
			break
		}
		switch h := part.Header.(type) {
		case *gomail.InlineHeader:
			kind, _, _ := h.ContentType()
			b, _ := io.ReadAll(io.LimitReader(part.Body, int64(max(2*maxText, 6*chars)))) // what could be read counts
			switch {
			case kind == "text/html":
				marked += string(b) + "\n"
			case kind == "", strings.HasPrefix(kind, "text/"):
				plain += string(b) + "\n"
			}
		case *gomail.AttachmentHeader:
			if name, err := h.Filename(); err == nil && name != "" {
				files = append(files, pim.Line(name, maxName))
			}
		}
	}
	if strings.TrimSpace(plain) == "" && marked != "" {
		plain = readable.Words(marked)
	}
	text, _, cut = bounded(plain, chars)
	return text, files, cut
}

func rawBody(raw []byte) string {
	_, body, _ := bytes.Cut(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")), []byte("\n\n"))
	return string(body)
}

func bounded(s string, chars int) (string, []string, bool) {
	s = strings.TrimSpace(pim.Clean(s))
	if r := []rune(s); len(r) > chars {
		return string(r[:chars]), nil, true
	}
	return s, nil, false
}
