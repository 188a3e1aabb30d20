package imapmail

import (
	"strings"
	"unicode"

	"hob/platform/pim"
	"hob/platform/text/mime"
	"hob/platform/text/readability"
)

// Limits of a message's parts, in characters or numbers of items.
const (
	maxSubject = 300
	maxName    = 120
	maxAddress = 254 // RFC 5321, 4.5.3.1.3
	maxID      = 400
	maxPeople  = 100
	maxParts   = 50
	maxRefers  = 50
	maxChars   = 20_000

	maxKeyword     = 40
	maxUnsubscribe = 2000 // characters of an address in List-Unsubscribe
	maxWays        = 5    // addresses in List-Unsubscribe
)

// readHeader reads the header fields of a message (RFC 5322), even if they are malformed.
func readHeader(raw []byte, x *pim.Message) {
	fields, _ := mime.ReadFields(raw)
	x.Sending = readSending(fields)
	for _, f := range fields {
		switch f.Name {
		case "from":
			x.From = append(x.From, parsePeople(f.Value, maxPeople-len(x.From))...)
		case "reply-to":
			x.ReplyTo = append(x.ReplyTo, parsePeople(f.Value, maxPeople-len(x.ReplyTo))...)
		case "references":
			if x.Refers == nil {
				x.Refers = parseReferences(f.Value)
			}
		case "to":
			x.To = append(x.To, parsePeople(f.Value, maxPeople-len(x.To))...)
		case "cc":
			list := parsePeople(f.Value, maxPeople-len(x.To))
			x.To, x.Cc = append(x.To, list...), append(x.Cc, list...)
		case "bcc":
			x.Bcc = append(x.Bcc, parsePeople(f.Value, maxPeople-len(x.Bcc))...)
		case "subject":
			if x.Subject == "" {
				x.Subject = pim.SanitizeLine(mime.DecodeWords(f.Value), maxSubject)
			}
		case "message-id":
			if x.ID == "" {
				x.ID = messageID(f.Value)
			}
		}
	}
	if x.Refers == nil {
		x.Refers = parseReferences(fields.First("in-reply-to"))
	}
	if t := fields.Date(); !t.IsZero() {
		x.Date = t.UTC()
	}
}

// readSending reads the header fields about mailing lists, programs and importance.
func readSending(fields mime.Fields) pim.Sending {
	keyword := func(name string) string {
		word, _, _ := strings.Cut(fields.First(name), ";")
		return strings.ToLower(pim.SanitizeLine(word, maxKeyword))
	}
	s := pim.Sending{
		List: pim.SanitizeLine(messageID(fields.First("list-id")), maxSubject), Precedence: keyword("precedence"), Auto: keyword("auto-submitted"),
		OneClick: strings.EqualFold(strings.ReplaceAll(fields.First("list-unsubscribe-post"), " ", ""), "List-Unsubscribe=One-Click"),
	}
	for part := range strings.SplitSeq(fields.First("list-unsubscribe"), "<") {
		address, _, closed := strings.Cut(part, ">")
		address = pim.SanitizeLine(strings.Join(strings.Fields(address), ""), maxUnsubscribe+1)
		if closed && address != "" && len([]rune(address)) <= maxUnsubscribe && len(s.Unsubscribe) < maxWays {
			s.Unsubscribe = append(s.Unsubscribe, address)
		}
	}
	if s.Auto == "no" {
		s.Auto = ""
	}
	priority := strings.TrimSpace(fields.First("x-priority"))
	s.Urgent = keyword("importance") == "high" || strings.HasPrefix(priority, "1") || strings.HasPrefix(priority, "2")
	return s
}

// parseReferences returns the Message-IDs in a References header; if there are too many, the last
// ones.
func parseReferences(value string) (out []string) {
	for part := range strings.SplitSeq(value, "<") {
		if name, _, closed := strings.Cut(part, ">"); closed {
			if name = messageID(name); name != "" && !strings.Contains(name, "<") {
				out = append(out, name)
			}
		}
	}
	return out[max(0, len(out)-maxRefers):]
}

func messageID(value string) string {
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
		return "" // not a real Message-ID, so the content identifies the message
	}
	return s
}

// parsePeople parses a list of addresses. It keeps an invalid address as a name, so that the user
// sees the claimed sender.
func parsePeople(value string, most int) (out []pim.Person) {
	for _, a := range mime.ReadAddresses(value, most) {
		out = append(out, newPerson(a.Name, a.Address))
	}
	return out
}

func newPerson(name, addr string) pim.Person {
	addr = strings.ToLower(pim.SanitizeLine(addr, maxAddress))
	return pim.Person{Name: strings.Trim(pim.SanitizeLine(name, maxName), `"' `), Address: addr}
}

// readText reads the text from the beginning of a message, which may be truncated at any point. It
// uses an HTML part if there is no plain one.
func readText(raw []byte) (text string, files []string, cut bool) {
	return readTextOf(raw, maxChars)
}

// readTextOf reads at most chars characters of the text. cut is true if there is more, or if the
// message exceeds a limit of the parser.
func readTextOf(raw []byte, chars int) (text string, files []string, cut bool) {
	m := mime.Parse(raw, mime.Limits{Parts: maxParts})
	left := int64(max(2*maxText, 6*chars)) // bytes of text that may still be read
	var plain, marked strings.Builder
	for _, p := range m.Parts {
		switch {
		case p.Disposition != "" && p.Disposition != "inline", p.Disposition == "" && !strings.HasPrefix(p.Kind, "text/"):
			if p.Name != "" {
				files = append(files, pim.SanitizeLine(p.Name, maxName))
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
		text = readability.Words(marked.String())
	}
	text, cut = truncateText(text, chars)
	return text, files, cut || m.Cut != nil
}

func truncateText(s string, chars int) (string, bool) {
	s = strings.TrimSpace(pim.SanitizeText(s))
	if r := []rune(s); len(r) > chars {
		return string(r[:chars]), true
	}
	return s, false
}
