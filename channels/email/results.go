package email

import (
	"slices"
	"strings"

	"hob/platform/text/mime"
)

// result is one result in an Authentication-Results field (RFC 8601, 2.2).
type result struct {
	method string // in lower case: "dmarc", "dkim", "spf"
	value  string // in lower case: "pass"
	props  []prop
}

type prop struct{ name, value string } // "header.from", both parts in lower case

func (r result) propertyValue(name string) string {
	for _, p := range r.props {
		if p.name == name {
			return p.value
		}
	}
	return ""
}

// maxResults limits how many bytes and results of one field are read.
const (
	maxResultBytes = 16 << 10
	maxResults     = 64
)

// parseResults parses the value of an Authentication-Results field. id is the host that ran the
// checks, or "" if it cannot be parsed. ok is false if any part violates RFC 8601.
func parseResults(value string) (id string, out []result, ok bool) {
	if len(value) > maxResultBytes {
		return "", nil, false
	}
	p := &resultParser{s: value}
	p.skipSpace()
	if id, ok = p.parseValue(); !ok || p.bad || id == "" {
		return "", nil, false
	}
	id = strings.ToLower(id)
	if p.skipSpace(); p.peekByte() != ';' && p.peekByte() != 0 { // the version of the format follows
		if version := p.takeWhile(isDigit); version != "1" {
			return id, nil, false
		}
		p.skipSpace()
	}
	for p.takeByte(';') {
		if p.skipSpace(); len(out) > maxResults {
			return id, nil, false
		}
		if p.peekByte() == 0 && len(out) > 0 { // some servers write a trailing semicolon
			break
		}
		r, one := p.parseResult()
		if !one {
			return id, nil, false
		}
		if r.method != "" {
			out = append(out, r)
		}
	}
	return id, out, !p.bad && p.peekByte() == 0
}

type resultParser struct {
	s   string
	i   int
	bad bool // an unterminated comment or quoted string
}

func (p *resultParser) peekByte() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *resultParser) takeByte(c byte) bool {
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *resultParser) takeWhile(fits func(byte) bool) string {
	from := p.i
	for p.i < len(p.s) && fits(p.s[p.i]) {
		p.i++
	}
	return p.s[from:p.i]
}

// skipSpace skips white space and nested comments (RFC 5322, 3.2.2).
func (p *resultParser) skipSpace() {
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

// parseValue parses a token (RFC 2045, 5.1) or a quoted string.
func (p *resultParser) parseValue() (string, bool) {
	if p.peekByte() == '"' {
		return p.parseQuoted()
	}
	s := p.takeWhile(isTokenByte)
	return s, s != ""
}

func (p *resultParser) parseQuoted() (string, bool) {
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

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isKeywordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '-' || c == '_'
}

func isTokenByte(c byte) bool {
	return c > ' ' && c < 0x7f && !strings.ContainsRune(`()<>@,;:\"/[]?=`, rune(c))
}

// isPropertyByte reports whether a byte may occur in a property value: in tokens, addresses, and
// unquoted Base64.
func isPropertyByte(c byte) bool { return isTokenByte(c) || strings.IndexByte("@/=+:[]", c) >= 0 }

// parseResult parses one result. method is "" for "none", which is an explicitly empty result.
func (p *resultParser) parseResult() (r result, ok bool) {
	r.method = strings.ToLower(p.takeWhile(isKeywordByte))
	if p.skipSpace(); r.method == "none" && (p.peekByte() == 0 || p.peekByte() == ';') {
		return result{}, true
	}
	if p.takeByte('/') { // the version of the method
		p.skipSpace()
		if p.takeWhile(isDigit) == "" {
			return r, false
		}
		p.skipSpace()
	}
	if r.method == "" || !p.takeByte('=') {
		return r, false
	}
	p.skipSpace()
	if r.value = strings.ToLower(p.takeWhile(isKeywordByte)); r.value == "" {
		return r, false
	}
	for p.skipSpace(); p.peekByte() != ';' && p.peekByte() != 0; p.skipSpace() {
		one, ok := p.parseProperty()
		if !ok || len(r.props) > maxResults {
			return r, false
		}
		r.props = append(r.props, one)
	}
	return r, !p.bad
}

// parseProperty parses "ptype.property=value" or "reason=value". The extensions of large hosts
// ("action=none", "compauth") have the same form.
func (p *resultParser) parseProperty() (out prop, ok bool) {
	name := strings.ToLower(p.takeWhile(isKeywordByte))
	p.skipSpace()
	if p.takeByte('.') {
		p.skipSpace()
		rest := strings.ToLower(p.takeWhile(isKeywordByte))
		if rest == "" {
			return out, false
		}
		name += "." + rest
		p.skipSpace()
	}
	if name == "" || !p.takeByte('=') {
		return out, false
	}
	p.skipSpace()
	var value string
	if p.peekByte() == '"' {
		if value, ok = p.parseQuoted(); !ok {
			return out, false
		}
		if p.peekByte() == '@' { // the form "local part"@domain
			value += p.takeWhile(isPropertyByte)
		}
	} else if value = p.takeWhile(isPropertyByte); value == "" {
		return out, false
	}
	return prop{name, strings.ToLower(value)}, true
}

// verdict is the mail host's verdict about an email.
type verdict uint8

const (
	silent   verdict = iota // no result about the sender
	vouches                 // the sender is verified
	disowned                // the sender is not verified, or the result is malformed
)

// trustedVerdict returns the trusted host's verdict on whether an email came from this address. It
// uses the topmost field of that host with a result about the sender, but no field below the
// Received field that follows. Each host adds its own fields at the top (RFC 8601, 4.1 and 5), so
// the sender may have forged a lower field with the same host name.
func trustedVerdict(fields mime.Fields, trusted, address string) verdict {
	if trusted == "" || address == "" {
		return silent
	}
	begun := false
	for _, f := range fields {
		if f.Name == "received" && begun {
			return silent // other hosts wrote this field and those below it
		}
		if f.Name != "authentication-results" {
			continue
		}
		id, results, ok := parseResults(f.Value)
		if !matchesTrustedHost(id, trusted) {
			continue
		}
		if begun = true; !ok {
			return disowned
		}
		if !hasNoSenderResult(results) {
			return resultsVerdict(results, address)
		}
	}
	return silent
}

// matchesTrustedHost reports whether id matches the trusted name, which may be a pattern for all
// names in a domain: "*.example.org".
func matchesTrustedHost(id, trusted string) bool {
	if domain, all := strings.CutPrefix(trusted, "*"); all {
		return len(domain) > 1 && strings.HasSuffix(id, domain) && len(id) > len(domain)
	}
	return id == trusted
}

// hasNoSenderResult reports whether a field has no result about the sender. Some large hosts write
// several fields and put fields without a sender result at the top.
func hasNoSenderResult(results []result) bool {
	return len(results) > 0 && !slices.ContainsFunc(results, func(r result) bool {
		return !strings.HasPrefix(r.method, "x-") && r.method != "arc" && r.method != "bimi"
	})
}

// resultsVerdict returns the verdict from the results in one field. A failed lookup (temperror)
// counts as no result.
func resultsVerdict(results []result, address string) verdict {
	domain := addressDomain(address)
	aligned, dmarc, unsure := false, false, false
	signed, forged := false, false
	for _, r := range results {
		unsure = unsure || r.value == "temperror" && r.method == "dmarc"
		switch r.method {
		case "dmarc":
			switch {
			case r.value == "pass" && r.propertyValue("header.from") == domain:
				dmarc = true
			case r.value != "none" && r.value != "temperror": // the check failed or refers to another sender
				return disowned
			}
		case "dkim":
			d := r.propertyValue("header.d")
			if d == "" {
				d = addressDomain(r.propertyValue("header.i"))
			}
			aligned = aligned || r.value == "pass" && isWithinDomain(domain, d)
			signed = signed || r.value == "pass"
			forged = forged || r.value != "pass" && r.value != "temperror"
		case "spf":
			from := r.propertyValue("smtp.mailfrom")
			if strings.Contains(from, "@") {
				from = addressDomain(from)
			}
			aligned = aligned || r.value == "pass" && isWithinDomain(domain, from)
		case "auth": // the sender signed in to this host (RFC 8601, 2.7.4)
			aligned = aligned || r.value == "pass" && r.propertyValue("smtp.auth") == address
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

func addressDomain(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// isWithinDomain reports whether domain equals d or is a subdomain of d. DMARC also treats the
// reverse as aligned (RFC 7489, 3.1). Checking that requires the public suffix list and is left to
// the host that checked DMARC.
func isWithinDomain(domain, d string) bool {
	d = strings.TrimSuffix(d, ".")
	return strings.Contains(d, ".") && (domain == d || strings.HasSuffix(domain, "."+d))
}
