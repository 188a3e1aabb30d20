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
// that are none are passed over.
func readFields(raw []byte) (out []field) {
	if len(raw) > maxHead {
		raw = raw[:maxHead]
	}
	open := false
	for line := range bytes.Lines(raw) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 || len(out) >= maxFields {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			if open {
				out[len(out)-1].value += " " + string(bytes.TrimSpace(line))
			}
			continue
		}
		before, after, ok := bytes.Cut(line, []byte(":"))
		if open = ok; ok {
			out = append(out, field{strings.ToLower(string(bytes.TrimSpace(before))), string(bytes.TrimSpace(after))})
		}
	}
	return out
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
func author(fields []field) (address, domain string) {
	n, value := 0, ""
	for _, f := range fields {
		if f.name == "from" {
			n, value = n+1, f.value
		}
	}
	if n != 1 || strings.ContainsAny(value, "\x00\r\n") {
		return "", ""
	}
	list, err := mail.ParseAddressList(value)
	if err != nil || len(list) != 1 {
		return "", ""
	}
	address = strings.ToLower(list[0].Address)
	local, domain, ok := strings.Cut(address, "@")
	plain := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),:;<>@[\]/`, r) }
	if !ok || local == "" || !strings.Contains(domain, ".") || strings.ContainsFunc(address[:len(local)], plain) || strings.ContainsFunc(domain, plain) || len(address) > 254 {
		return "", ""
	}
	return address, domain
}
