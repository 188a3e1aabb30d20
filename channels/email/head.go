package email

import (
	"bytes"
	"net/mail"
	"strings"
)

// The bounds of a mail's header.
const (
	maxHead   = 256 << 10 // bytes
	maxFields = 2000
)

// field is one header field, its name in lower case, its value unfolded.
type field struct{ name, value string }

// readFields reads a mail's header fields (RFC 5322, 2.2), the topmost first. Lines
// that are none are passed over. sound is false when another reader may see other
// fields: when there are more than are read here, lines that are none, or lines that do
// not end all in one way. Then nobody can say which From was checked.
func readFields(raw []byte) (out []field, sound bool) {
	crlf := bytes.Contains(raw, []byte("\r\n"))
	whole := len(raw) <= maxHead
	if !whole {
		raw = raw[:maxHead]
	}
	sound = true
	var value bytes.Buffer
	open := false
	finish := func() {
		if open {
			out[len(out)-1].value = value.String()
		}
		open = false
	}
	for line := range bytes.Lines(raw) {
		text := bytes.TrimRight(line, "\r\n")
		end := string(line[len(text):])
		if sound = sound && (end == "" || end == "\n" && !crlf || end == "\r\n") && !bytes.ContainsAny(text, "\r\x00"); len(text) == 0 {
			whole = true
			break
		}
		if text[0] == ' ' || text[0] == '\t' {
			if open {
				value.WriteByte(' ')
				value.Write(bytes.TrimSpace(text))
			}
			continue
		}
		finish()
		if len(out) == maxFields {
			return out, false
		}
		var name, rest []byte
		if name, rest, open = bytes.Cut(text, []byte(":")); !open {
			sound = false
			continue
		}
		value.Reset()
		value.Write(bytes.TrimSpace(rest))
		out = append(out, field{name: strings.ToLower(string(bytes.TrimSpace(name)))})
	}
	finish()
	return out, sound && whole
}

// first is the value of the topmost field of a name.
func first(fields []field, name string) string {
	for _, f := range fields {
		if f.name == name {
			return f.value
		}
	}
	return ""
}

func has(fields []field, name string) bool {
	for _, f := range fields {
		if f.name == name {
			return true
		}
	}
	return false
}

// author is the one address of a mail's one From field, in lower case; "" when there
// are several or it breaks the rules: then nobody can say whom a check was about.
func author(fields []field) string {
	n, value := 0, ""
	for _, f := range fields {
		if f.name == "from" {
			n, value = n+1, f.value
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
