package mime

import (
	"mime"
	"net/mail"
	"strings"

	"github.com/emersion/go-message/charset"
)

// Address is a mailbox in a header field. Either field may be "": from a
// malformed list, at least the claimed name is kept.
type Address struct{ Name, Address string }

// maxAddresses is how long a list of addresses is at most, in bytes.
const maxAddresses = 32 << 10

// ReadAddresses reads a list of addresses (RFC 5322, 3.4), at most so many.
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

// looseAddresses finds the addresses of a list that does not follow the rules.
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
