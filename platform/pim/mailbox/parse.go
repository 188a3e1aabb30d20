package mailbox

import (
	"strings"
	"unicode"

	"hob/platform/pim"
	"hob/platform/readable"
	"hob/platform/text/mime"
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
	fields, _ := mime.ReadFields(raw)
	for _, f := range fields {
		switch f.Name {
		case "from":
			x.From = append(x.From, people(f.Value, maxPeople-len(x.From))...)
		case "reply-to":
			x.ReplyTo = append(x.ReplyTo, people(f.Value, maxPeople-len(x.ReplyTo))...)
		case "references":
			if x.Refers == nil {
				x.Refers = refers(f.Value)
			}
		case "to", "cc":
			x.To = append(x.To, people(f.Value, maxPeople-len(x.To))...)
		case "subject":
			if x.Subject == "" {
				x.Subject = pim.Line(mime.DecodeWords(f.Value), maxSubject)
			}
		case "message-id":
			if x.ID == "" {
				x.ID = id(f.Value)
			}
		}
	}
	if t := fields.Date(); !t.IsZero() {
		x.Date = t.UTC()
	}
}

// refers returns the Message-IDs in a References header; of too many, the last
// ones.
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
		return "" // not a real Message-ID; the content identifies the mail
	}
	return s
}

// people reads a list of addresses. What cannot be read is kept as a name, so
// that the owner sees who it claims to be from.
func people(value string, most int) (out []pim.Person) {
	for _, a := range mime.ReadAddresses(value, most) {
		out = append(out, person(a.Name, a.Address))
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

// readTextOf reads at most chars characters of the text. cut reports that there
// is more, or that the mail exceeds a parser limit.
func readTextOf(raw []byte, chars int) (text string, files []string, cut bool) {
	m := mime.Parse(raw, mime.Limits{Parts: maxParts})
	left := int64(max(2*maxText, 6*chars)) // bytes of text that may still be read
	var plain, marked strings.Builder
	for _, p := range m.Parts {
		switch {
		case p.Disposition != "" && p.Disposition != "inline", p.Disposition == "" && !strings.HasPrefix(p.Kind, "text/"):
			if p.Name != "" {
				files = append(files, pim.Line(p.Name, maxName))
			}
		case strings.HasPrefix(p.Kind, "text/"):
			text := p.Text(left)
			left -= int64(len(text))
			if p.Kind == "text/html" {
				marked.WriteString(text + "\n")
			} else {
				plain.WriteString(text + "\n")
			}
			left = max(left, 0)
		}
	}
	text = plain.String()
	if strings.TrimSpace(text) == "" && marked.Len() > 0 {
		text = readable.Words(marked.String())
	}
	text, cut = bounded(text, chars)
	return text, files, cut || m.Cut != nil
}

func bounded(s string, chars int) (string, bool) {
	s = strings.TrimSpace(pim.Clean(s))
	if r := []rune(s); len(r) > chars {
		return string(r[:chars]), true
	}
	return s, false
}
