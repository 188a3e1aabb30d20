package email

import (
	"slices"
	"strings"

	"hob/platform/text/mime"
)

// result is one result of an Authentication-Results field (RFC 8601, 2.2).
type result struct {
	method string // in lower case: "dmarc", "dkim", "spf"
	value  string // in lower case: "pass"
	props  []prop
}

type prop struct{ name, value string } // "header.from", in lower case both

func (r result) prop(name string) string {
	for _, p := range r.props {
		if p.name == name {
			return p.value
		}
	}
	return ""
}

// maxResults limits what is read of one field, in bytes and results.
const (
	maxResultBytes = 16 << 10
	maxResults     = 64
)

// parseResults parses the value of an Authentication-Results field. id is the checking host,
// "" if it cannot be parsed; ok is false if anything violates RFC 8601.
func parseResults(value string) (id string, out []result, ok bool) {
	if len(value) > maxResultBytes {
		return "", nil, false
	}
	p := &resultParser{s: value}
	p.space()
	if id, ok = p.value(); !ok || p.bad || id == "" {
		return "", nil, false
	}
	id = strings.ToLower(id)
	if p.space(); p.peek() != ';' && p.peek() != 0 { // the format version
		if version := p.run(digit); version != "1" {
			return id, nil, false
		}
		p.space()
	}
	for p.take(';') {
		if p.space(); len(out) > maxResults {
			return id, nil, false
		}
		if p.peek() == 0 && len(out) > 0 { // a trailing semicolon, as some
			break
		}
		r, one := p.result()
		if !one {
			return id, nil, false
		}
		if r.method != "" {
			out = append(out, r)
		}
	}
	return id, out, !p.bad && p.peek() == 0
}

type resultParser struct {
	s   string
	i   int
	bad bool // an unterminated comment or quoted string
}

func (p *resultParser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *resultParser) take(c byte) bool {
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *resultParser) run(fits func(byte) bool) string {
	from := p.i
	for p.i < len(p.s) && fits(p.s[p.i]) {
		p.i++
	}
	return p.s[from:p.i]
}

// space skips white space and nested comments (RFC 5322, 3.2.2).
func (p *resultParser) space() {
	depth := 0
	for ; p.i < len(p.s); p.i++ {
		switch c := p.s[p.i]; {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == '\\' && depth > 0:
			p.i++
		case depth == 0 && c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return
		}
	}
	p.i = min(p.i, len(p.s))
	p.bad = p.bad || depth > 0
}

// value parses a token (RFC 2045, 5.1) or a quoted string.
func (p *resultParser) value() (string, bool) {
	if p.peek() == '"' {
		return p.quoted()
	}
	s := p.run(token)
	return s, s != ""
}

func (p *resultParser) quoted() (string, bool) {
	var b strings.Builder
	for p.i++; p.i < len(p.s); p.i++ {
		switch c := p.s[p.i]; c {
		case '"':
			p.i++
			return b.String(), true
		case '\\':
			if p.i++; p.i < len(p.s) {
				b.WriteByte(p.s[p.i])
			}
		default:
			b.WriteByte(c)
		}
	}
	p.bad = true
	return "", false
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func keyword(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || digit(c) || c == '-' || c == '_'
}

func token(c byte) bool {
	return c > ' ' && c < 0x7f && !strings.ContainsRune(`()<>@,;:\"/[]?=`, rune(c))
}

// written reports bytes of property values: tokens, addresses, and Base64, which servers do
// not quote.
func written(c byte) bool { return token(c) || strings.IndexByte("@/=+:[]", c) >= 0 }

// result parses one result; method is "" for "none", an explicit empty result.
func (p *resultParser) result() (r result, ok bool) {
	r.method = strings.ToLower(p.run(keyword))
	if p.space(); r.method == "none" && (p.peek() == 0 || p.peek() == ';') {
		return result{}, true
	}
	if p.take('/') { // the version of the method
		p.space()
		if p.run(digit) == "" {
			return r, false
		}
		p.space()
	}
	if r.method == "" || !p.take('=') {
		return r, false
	}
	p.space()
	if r.value = strings.ToLower(p.run(keyword)); r.value == "" {
		return r, false
	}
	for p.space(); p.peek() != ';' && p.peek() != 0; p.space() {
		one, ok := p.prop()
		if !ok || len(r.props) > maxResults {
			return r, false
		}
		r.props = append(r.props, one)
	}
	return r, !p.bad
}

// prop parses "ptype.property=value" or "reason=value"; the extensions of large hosts
// ("action=none", "compauth") have the same form.
func (p *resultParser) prop() (out prop, ok bool) {
	name := strings.ToLower(p.run(keyword))
	p.space()
	if p.take('.') {
		p.space()
		rest := strings.ToLower(p.run(keyword))
		if rest == "" {
			return out, false
		}
		name += "." + rest
		p.space()
	}
	if name == "" || !p.take('=') {
		return out, false
	}
	p.space()
	var value string
	if p.peek() == '"' {
		if value, ok = p.quoted(); !ok {
			return out, false
		}
		if p.peek() == '@' { // "local part"@domain
			value += p.run(written)
		}
	} else if value = p.run(written); value == "" {
		return out, false
	}
	return prop{name, strings.ToLower(value)}, true
}

// verdict is the mail host's result about a mail.
type verdict uint8

const (
	silent   verdict = iota // no result about the sender
	vouches                 // the sender is verified
	disowned                // the sender is not verified, or the result is malformed
)

// judged returns the trusted host's verdict on whether a mail came from this address. The
// topmost field counts, since each host adds its own at the top (RFC 8601, 4.1 and 5); a lower
// field with its name may be the sender's.
func judged(fields mime.Fields, trusted, address string) verdict {
	if trusted == "" || address == "" {
		return silent
	}
	begun := false
	for _, f := range fields {
		if f.Name == "received" && begun {
			return silent // from here on, other hosts wrote it
		}
		if f.Name != "authentication-results" {
			continue
		}
		id, results, ok := parseResults(f.Value)
		if !named(id, trusted) {
			continue
		}
		if begun = true; !ok {
			return disowned
		}
		if !beside(results) {
			return passes(results, address)
		}
	}
	return silent
}

// named reports whether a name matches the trusted one, which may be a pattern for all names
// of a domain: "*.example.org".
func named(id, trusted string) bool {
	if domain, all := strings.CutPrefix(trusted, "*"); all {
		return len(domain) > 1 && strings.HasSuffix(id, domain) && len(id) > len(domain)
	}
	return id == trusted
}

// beside reports a field without a result about the sender. Some large hosts write several
// fields and put such ones at the top.
func beside(results []result) bool {
	return len(results) > 0 && !slices.ContainsFunc(results, func(r result) bool {
		return !strings.HasPrefix(r.method, "x-") && r.method != "arc" && r.method != "bimi"
	})
}

// passes returns the verdict of the results of one field. A failed lookup (temperror) counts
// as no result.
func passes(results []result, address string) verdict {
	domain := after(address)
	aligned, dmarc, unsure := false, false, false
	signed, forged := false, false
	for _, r := range results {
		unsure = unsure || r.value == "temperror" && r.method == "dmarc"
		switch r.method {
		case "dmarc":
			switch {
			case r.value == "pass" && r.prop("header.from") == domain:
				dmarc = true
			case r.value != "none" && r.value != "temperror": // it failed, or is about
				return disowned
			}
		case "dkim":
			d := r.prop("header.d")
			if d == "" {
				d = after(r.prop("header.i"))
			}
			aligned = aligned || r.value == "pass" && within(domain, d)
			signed = signed || r.value == "pass"
			forged = forged || r.value != "pass" && r.value != "temperror"
		case "spf":
			from := r.prop("smtp.mailfrom")
			if strings.Contains(from, "@") {
				from = after(from)
			}
			aligned = aligned || r.value == "pass" && within(domain, from)
		case "auth": // the sender signed in to this
			aligned = aligned || r.value == "pass" && r.prop("smtp.auth") == address
		}
	}
	switch {
	case dmarc || aligned && !unsure:
		return vouches
	case forged && !signed:
		return disowned
	}
	return silent
}

func after(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// within reports whether domain equals d or is a subdomain of it. The reverse, which DMARC
// also calls aligned (RFC 7489, 3.1), needs the public suffix list and is left to the host
// that checked DMARC.
func within(domain, d string) bool {
	d = strings.TrimSuffix(d, ".")
	return strings.Contains(d, ".") && (domain == d || strings.HasSuffix(domain, "."+d))
}
