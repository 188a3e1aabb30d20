package safehttp

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxURL bounds an address, in bytes.
const maxURL = 8192

// target is the target of a request. Its URL is canonical: lower-case scheme and host, punycode, no
// default port, no fragment, and all non-ASCII characters escaped.
type target struct {
	url  *url.URL
	host host
	port uint16
	// written is the host as written in the address, if it differs: the Unicode form of an "xn--"
	// name.
	written string
}

func (t *target) originURL() string { return t.url.Scheme + "://" + t.url.Host }

// Check validates an address and returns the URL in canonical form. It does no DNS lookup, which
// would already reveal the request to the owner of the name.
func (c *Client) Check(address string) (*url.URL, error) {
	t, err := c.parseTarget(address)
	if err != nil {
		return nil, err
	}
	return t.url, nil
}

// Canonical works like Check, without a client. It returns the canonical form of a public address.
// Two addresses mean the same request if their canonical forms are equal.
func Canonical(address string) (*url.URL, error) { return (&Client{}).Check(address) }

// parseTarget parses an address and rejects addresses inside the user's network that the user did
// not allow.
func (c *Client) parseTarget(address string) (*target, error) {
	t, err := parseURL(address)
	if err != nil {
		return nil, err
	}
	if c.isPermitted(t.host, t.port) {
		return t, nil
	}
	if badPort(t.port) {
		return nil, newRefusal(Port, t.url.Host, "port "+strconv.Itoa(int(t.port))+" belongs to a service other than the web", "")
	}
	switch {
	case t.host.addr.IsValid():
		if k := classifyAddr(t.host.addr); !k.isPublic() {
			return nil, privateAddrError(t.host.name, k)
		}
	case t.host.isInternal():
		return nil, privateAddrError(t.host.name, class{is: "a name inside your own network"})
	}
	return t, nil
}

// privateAddrError returns the error for an internal address, with the setting that allows
// it.
func privateAddrError(host string, k class) *Error {
	e := newRefusal(Internal, host, host+" is "+k.is+"; requests to internal addresses are blocked", "")
	if !k.never {
		e.Remedy = "to allow it, add its host and port to [network] allow"
	}
	return e
}

// parseURL parses an address strictly. It rejects everything that parsers interpret differently
// (RFC 3986 and the URL standard of browsers).
func parseURL(raw string) (*target, error) {
	raw = strings.Trim(raw, " ")
	switch {
	case raw == "":
		return nil, newRefusal(BadURL, "", "the address is empty", "write https://host/path")
	case len(raw) > maxURL:
		return nil, newRefusal(BadURL, "", "the address is longer than 8192 bytes", "")
	case !utf8.ValidString(raw) || strings.ContainsFunc(raw, isURLDelimiter):
		return nil, newRefusal(BadURL, "", "the address contains white space or control characters", "remove them")
	case strings.Contains(raw, `\`):
		return nil, newRefusal(BadURL, "", `the address contains a backslash, which some programs read as "/"`, "remove it")
	}
	scheme, rest, ok := strings.Cut(raw, ":")
	scheme = strings.ToLower(scheme)
	if scheme != "http" && scheme != "https" {
		if ok && validScheme(scheme) {
			return nil, newRefusal(Scheme, "", "only http and https addresses are allowed, not "+scheme+":", "write https://host/path")
		}
		return nil, newRefusal(BadURL, "", "this is not a web address", "write https://host/path")
	}
	rest, ok = strings.CutPrefix(rest, "//")
	if !ok || strings.HasPrefix(rest, "/") {
		return nil, newRefusal(BadURL, "", scheme+": must be followed by two slashes and a host", "write https://host/path")
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	return assembleURL(scheme, authority, tail)
}

// assembleURL builds the canonical form and parses it with net/url, because both parsers must agree
// on the host.
func assembleURL(scheme, authority, tail string) (*target, error) {
	if strings.Contains(authority, "@") {
		return nil, newRefusal(BadURL, "", "the address contains a user name or an @ before the path, which disguises the host", "remove it")
	}
	name, port, err := splitPort(scheme, authority)
	if err != nil {
		return nil, err
	}
	h, why := parseHost(name)
	if why != "" {
		return nil, newRefusal(BadURL, name, why, "use a plain host name such as example.org")
	}
	t := &target{host: h, port: port}
	if !strings.EqualFold(name, h.bracketedName()) {
		t.written = name
	}
	at := h.bracketedName()
	if port != defaultPort(scheme) {
		at += ":" + strconv.Itoa(int(port))
	}
	u, perr := url.Parse(scheme + "://" + at + escapeTail(tail))
	if perr != nil || u.Host != at || u.Scheme != scheme || u.User != nil || u.Opaque != "" {
		return nil, newRefusal(BadURL, name, "the address is ambiguous", "write https://host/path")
	}
	u.Fragment, u.RawFragment, u.ForceQuery = "", "", false
	if u.Path == "" {
		u.Path = "/"
	}
	t.url = u
	return t, nil
}

func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

// splitPort splits off the port. The port must consist of digits, without a leading zero.
func splitPort(scheme, authority string) (name string, port uint16, err error) {
	var digits string
	var there bool
	if end := strings.LastIndexByte(authority, ']'); end >= 0 {
		name, digits = authority[:end+1], authority[end+1:]
		if digits, there = strings.CutPrefix(digits, ":"); !there && digits != "" {
			return "", 0, newRefusal(BadURL, authority, "unexpected text after ] in the address", "")
		}
	} else {
		name, digits, there = strings.Cut(authority, ":")
	}
	if !there {
		return name, defaultPort(scheme), nil
	}
	n, perr := strconv.ParseUint(digits, 10, 16)
	if perr != nil || n == 0 || digits[0] == '0' || digits[0] == '+' {
		return "", 0, newRefusal(BadURL, name, "the port is not a number from 1 to 65535", "")
	}
	return name, uint16(n), nil
}

// escapeTail percent-encodes characters that a URL must not contain: non-ASCII characters,
// characters that end a URL in text, and percent signs that do not start an escape.
func escapeTail(tail string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(tail) {
		c := tail[i]
		stray := c == '%' && (i+2 >= len(tail) || !isHex(tail[i+1]) || !isHex(tail[i+2]))
		if c >= utf8.RuneSelf || stray || strings.IndexByte("\"<>^`{|}", c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// isURLDelimiter reports whether a rune ends a URL in text or controls a terminal.
func isURLDelimiter(r rune) bool {
	return r <= ' ' || unicode.IsControl(r) || unicode.IsSpace(r) || r == utf8.RuneError
}

// isInvisible reports whether a rune is invisible or reorders the display.
func isInvisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

func validScheme(s string) bool {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// host is a name in punycode or an IP address.
type host struct {
	name string // without brackets
	addr netip.Addr
}

func (h host) bracketedName() string {
	if h.addr.Is6() {
		return "[" + h.name + "]"
	}
	return h.name
}
