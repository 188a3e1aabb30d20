package mime

import (
	"bytes"
	"mime"
	"net/mail"
	"strings"
	"time"

	"github.com/emersion/go-message/charset"
)

// Field is one header field with a lower-case name and an unfolded value.
type Field struct{ Name, Value string }

// Fields are the header fields of a message, the topmost first.
type Fields []Field

// ReadFields parses the header fields of a message (RFC 5322, 2.2) and skips invalid lines. sound
// is false if another parser may see different fields, because there are too many fields, invalid
// lines or mixed line endings. In that case it is unknown which From field the receiving server
// verified.
func ReadFields(raw []byte) (out Fields, sound bool) {
	crlf := bytes.Contains(raw, []byte("\r\n"))
	whole := len(raw) <= MaxHeader
	if !whole {
		raw = raw[:MaxHeader]
	}
	sound = true
	var value bytes.Buffer
	open := false
	finish := func() {
		if open {
			out[len(out)-1].Value = value.String()
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
		if len(out) == MaxFields {
			return out, false
		}
		var name, rest []byte
		if name, rest, open = bytes.Cut(text, []byte(":")); !open {
			sound = false
			continue
		}
		value.Reset()
		value.Write(bytes.TrimSpace(rest))
		out = append(out, Field{Name: strings.ToLower(string(bytes.TrimSpace(name)))})
	}
	finish()
	return out, sound && whole
}

// First returns the value of the topmost field with a name, or "" if there is none.
func (f Fields) First(name string) string {
	for _, x := range f {
		if x.Name == name {
			return x.Value
		}
	}
	return ""
}

// Has reports whether there is a field with a name.
func (f Fields) Has(name string) bool { return f.Count(name) > 0 }

// Count returns the number of fields with a name.
func (f Fields) Count(name string) (n int) {
	for _, x := range f {
		if x.Name == name {
			n++
		}
	}
	return n
}

// Date returns the time of the Date field; zero if it is missing or invalid.
func (f Fields) Date() time.Time {
	for _, x := range f {
		if x.Name == "date" && len(x.Value) <= 200 {
			if t, err := mail.ParseDate(x.Value); err == nil {
				return t
			}
		}
	}
	return time.Time{}
}

// Address is a mailbox in a header field. Either field may be "", because at least the claimed name
// of a malformed address is kept.
type Address struct{ Name, Address string }

// maxAddresses is the maximum length of an address list that is parsed, in bytes.
const maxAddresses = 32 << 10

// ReadAddresses parses a list of addresses (RFC 5322, 3.4). It returns up to most addresses.
func ReadAddresses(value string, most int) (out []Address) {
	if len(value) > maxAddresses || most <= 0 {
		return nil
	}
	p := mail.AddressParser{WordDecoder: &mime.WordDecoder{CharsetReader: charset.Reader}}
	list, err := p.ParseList(value)
	if err != nil {
		return looseAddresses(DecodeWords(value), most)
	}
	for _, a := range list[:min(len(list), most)] {
		out = append(out, Address{a.Name, a.Address})
	}
	return out
}

// looseAddresses finds the addresses in a list that violates the syntax.
func looseAddresses(value string, most int) (out []Address) {
	for part := range strings.SplitSeq(value, ",") {
		if len(out) == most {
			break
		}
		name, rest, ok := strings.Cut(part, "<")
		address, _, closed := strings.Cut(rest, ">")
		switch {
		case ok && closed:
			out = append(out, Address{name, address})
		case strings.Count(part, "@") == 1 && !strings.ContainsAny(strings.TrimSpace(part), " \t"):
			out = append(out, Address{Address: part})
		case strings.TrimSpace(part) != "":
			out = append(out, Address{Name: part})
		}
	}
	return out
}
