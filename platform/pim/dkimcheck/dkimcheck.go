// Package dkimcheck verifies DKIM signatures of emails (RFC 6376). It decides whether a signature is
// valid and which header fields it covers. The caller decides what a valid signature of a domain
// proves: the email channel identifies the user, email_unsubscribe relies on List-Unsubscribe.
package dkimcheck

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"hob/platform/text/mime"
)

const (
	maxField  = 8 << 10 // maximum bytes of a DKIM-Signature
	maxSigned = 100     // maximum fields in one signature
	maxKey    = 2 << 10 // maximum bytes in a key record; an 8,192-bit RSA key needs 1,400
	// ahead is how far the sender's clock may be ahead.
	ahead = time.Hour
)

// Signature is a parsed DKIM-Signature that is not yet verified.
type Signature struct {
	Index            int // position among the signatures of the email, from the top
	Domain, Selector string
	Fields           []string // the covered fields, as written in the signature
}

// Lists reports whether the signature lists a field.
func (s Signature) Lists(name string) bool { return s.countListed(name) > 0 }

// Covers reports whether the signature covers all fields with a name. Each listed name covers one
// field, from the bottom up (RFC 6376, 5.4.2).
func (s Signature) Covers(fields mime.Fields, name string) bool {
	return s.countListed(name) >= fields.Count(name)
}

func (s Signature) countListed(name string) (n int) {
	for _, f := range s.Fields {
		if strings.EqualFold(f, name) {
			n++
		}
	}
	return n
}

// Parse parses the value of a DKIM-Signature (RFC 6376, 3.5). why is the reason to reject
// the signature even if it is cryptographically valid.
func Parse(value string, now time.Time) (s Signature, why string) {
	const broken = "its DKIM signature is malformed"
	tags, ok := readTags(value, maxField)
	if !ok || tags["v"] != "1" || tags["b"] == "" || tags["bh"] == "" {
		return s, broken
	}
	if a := tags["a"]; a != "rsa-sha256" && a != "ed25519-sha256" { // RFC 8301: no SHA-1
		return s, "its DKIM signature uses an unsafe algorithm"
	}
	if _, has := tags["l"]; has { // with this tag, text could be appended
		return s, "its DKIM signature covers only a part of the text"
	}
	s.Domain, s.Selector, s.Fields = strings.ToLower(tags["d"]), tags["s"], strings.Split(tags["h"], ":")
	if !IsHostName(s.Domain) || !IsHostName(strings.ToLower(s.Selector)) || len(s.Fields) > maxSigned {
		return s, broken
	}
	made, ok := parseUnixTime(tags["t"])
	if !ok || made.After(now.Add(ahead)) {
		return s, "its DKIM signature is dated in the future"
	}
	end, ok := parseUnixTime(tags["x"])
	if !ok || !end.IsZero() && !end.After(now) {
		return s, "its DKIM signature has expired"
	}
	return s, ""
}

// readTags parses "a=b; c=d" (RFC 6376, 3.2) and removes white space from the values.
func readTags(value string, most int) (map[string]string, bool) {
	if len(value) > most || strings.ContainsFunc(value, func(r rune) bool { return r != ' ' && r != '\t' && (r <= ' ' || r >= 0x7f) }) {
		return nil, false
	}
	out := map[string]string{}
	for part := range strings.SplitSeq(value, ";") {
		name, v, ok := strings.Cut(part, "=")
		if name = strings.Trim(name, " \t"); !ok && name == "" {
			continue
		}
		if _, twice := out[name]; !ok || twice {
			return nil, false
		}
		out[name] = strings.NewReplacer(" ", "", "\t", "").Replace(v)
	}
	return out, true
}

// parseUnixTime parses a time in Unix seconds (RFC 6376, 3.5). An empty string is the zero time.
func parseUnixTime(s string) (time.Time, bool) {
	if s == "" {
		return time.Time{}, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return time.Unix(n, 0), err == nil && n >= 0 && n < 1<<40
}

// IsAligned reports whether the signing domain d and domain belong to the same organization (RFC
// 7489, 3.1.1). Public suffixes ("co.uk") belong to no organization.
func IsAligned(domain, d string) bool {
	theirs, err := publicsuffix.EffectiveTLDPlusOne(d)
	if err != nil {
		return false
	}
	own, err := publicsuffix.EffectiveTLDPlusOne(domain)
	return err == nil && own == theirs
}

// IsHostName reports whether s is a host name in lower case.
func IsHostName(s string) bool {
	return s != "" && len(s) <= 253 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" && !strings.HasPrefix(s, ".") && !strings.HasSuffix(s, ".") && !strings.Contains(s, "..")
}
