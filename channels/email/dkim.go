package email

import (
	"fmt"
	"io"
	stdmime "mime"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"hob/platform/pim"
	"hob/platform/text/mime"
)

// If the mail host reports no result for the sender, the DKIM signature of the sender's domain is
// used (RFC 6376). The signature must cover the recipients: otherwise an email once sent to another
// person could be replayed. Google's signature covers To, Cc and all fields required below.
// Microsoft's does not cover To, and its mailboxes deliver modified emails
// (https://github.com/lieser/dkim_verifier/issues/300).

// Limits for signatures.
const (
	maxProofs = 5 // maximum signatures checked
	maxProof  = 8 << 10
	maxSigned = 100     // maximum fields in one signature
	maxKey    = 2 << 10 // maximum bytes in a key record; an 8,192-bit RSA key needs 1,400
	// ahead is how far the sender's clock may be ahead.
	ahead = time.Hour
	// onTheWay is the maximum transit time of an email: servers retry for 4 to 5 days (RFC 5321,
	// 4.5.4.1). An older email is treated as replayed.
	onTheWay = 5 * 24 * time.Hour
)

// signatureCheck is a DKIM-Signature that would prove the author of its email if it is valid.
type signatureCheck struct {
	n                int // index of the signature in the email, from the top
	domain, selector string
	keys             []string // the covered fields, as written in the signature
}

// usableSignatures returns the signatures that could prove an email's sender, or the reason why
// there are none.
func (c *Channel) usableSignatures(l *parsedMail, now time.Time) (out []signatureCheck, why string) {
	if why := c.whyNotProvable(l, now); why != "" {
		return nil, why
	}
	_, domain, _ := strings.Cut(l.from, "@")
	others := c.hasOtherRecipients(l)
	n := -1
	why = "the sender's domain has not signed it (DKIM)"
	for _, f := range l.fields {
		if f.Name != "dkim-signature" {
			continue
		}
		if n++; n == maxProofs {
			break
		}
		s, not := readSignature(f.Value, now)
		switch {
		case not != "":
		case !isAligned(domain, s.domain):
			not = "only another domain has signed it (" + pim.SanitizeLine(s.domain, 80) + ")"
		default:
			not = s.unsignedParts(l.fields, others)
		}
		if not != "" {
			why = not
			continue
		}
		s.n = n
		out = append(out, s)
	}
	return out, why
}

// whyNotProvable returns why no signature could prove the author of an email.
func (c *Channel) whyNotProvable(l *parsedMail, now time.Time) string {
	came := l.Received
	if came.IsZero() {
		came = now
	}
	date, err := mail.ParseDate(l.fields.First("date"))
	switch {
	case l.from == "":
		return "its From header is not exactly one address"
	case slices.ContainsFunc(l.fields, func(f mime.Field) bool { return strings.ContainsFunc(f.Name, isInvalidIDRune) }):
		return "its header contains invalid field names"
	case l.fields.Count("date") != 1 || l.fields.Count("message-id") != 1 || l.ID == "":
		return "it does not have exactly one Date and one Message-ID"
	case err != nil || date.After(came.Add(clock)) || date.Before(came.Add(-onTheWay)):
		return "its Date is in the future or more than five days before it arrived"
	case !c.isAddressedToMe(l):
		return "it is not addressed to " + c.address + " itself"
	}
	return ""
}

// isAddressedToMe reports whether To or Cc contains Hob's own address.
func (c *Channel) isAddressedToMe(l *parsedMail) bool {
	return slices.ContainsFunc(recipientAddresses(l.fields), c.isOwnAddress)
}

// hasOtherRecipients reports whether an email has, or may have, other recipients.
func (c *Channel) hasOtherRecipients(l *parsedMail) bool {
	return slices.ContainsFunc(recipientAddresses(l.fields), func(a string) bool { return !c.isOwnAddress(a) && a != l.from })
}

// recipientAddresses returns the addresses in To and Cc in lower case, and "?" for a malformed
// field.
func recipientAddresses(fields mime.Fields) (out []string) {
	// The names are not used, so any encoding is fine.
	p := mail.AddressParser{WordDecoder: &stdmime.WordDecoder{CharsetReader: func(_ string, r io.Reader) (io.Reader, error) { return r, nil }}}
	for _, f := range fields {
		if f.Name != "to" && f.Name != "cc" || f.Value == "" {
			continue
		}
		list, err := p.ParseList(f.Value)
		if err != nil {
			out = append(out, "?")
		}
		for _, a := range list {
			out = append(out, strings.ToLower(a.Address))
		}
	}
	return out
}

// readSignature parses the value of a DKIM-Signature (RFC 6376, 3.5). why is the reason to reject
// the signature even if it is cryptographically valid.
func readSignature(value string, now time.Time) (s signatureCheck, why string) {
	const broken = "its DKIM signature is malformed"
	tags, ok := readTags(value, maxProof)
	if !ok || tags["v"] != "1" || tags["b"] == "" || tags["bh"] == "" {
		return s, broken
	}
	if a := tags["a"]; a != "rsa-sha256" && a != "ed25519-sha256" { // RFC 8301: no SHA-1
		return s, "its DKIM signature uses an unsafe algorithm"
	}
	if _, has := tags["l"]; has { // with this tag, text could be appended
		return s, "its DKIM signature covers only a part of the text"
	}
	s.domain, s.selector, s.keys = strings.ToLower(tags["d"]), tags["s"], strings.Split(tags["h"], ":")
	if !hostName(s.domain) || !hostName(strings.ToLower(s.selector)) || len(s.keys) > maxSigned {
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

// unsignedParts describes a part of the email that the signature does not protect against changes,
// or returns "". others reports whether there are recipients other than the sender and Hob.
func (s signatureCheck) unsignedParts(fields mime.Fields, others bool) string {
	names := []string{"from", "to", "cc", "subject", "date", "message-id"}
	if others { // another recipient could change the meaning of the email, or turn it into a reply to a different email
		names = append(names, "content-type", "content-transfer-encoding", "in-reply-to", "references")
	}
	for _, name := range names {
		covered := 0
		for _, k := range s.keys {
			if strings.EqualFold(k, name) {
				covered++
			}
		}
		// Each listed name covers one field, from the bottom up (RFC 6376, 5.4.2).
		if n := fields.Count(name); covered < n || covered == 0 && (name == "from" || name == "content-type") {
			return fmt.Sprintf("its DKIM signature does not cover its %s", name)
		}
	}
	return ""
}

// isAligned reports whether the signing domain d and domain belong to the same organization (RFC
// 7489, 3.1.1). Public suffixes ("co.uk") belong to no organization.
func isAligned(domain, d string) bool {
	theirs, err := publicsuffix.EffectiveTLDPlusOne(d)
	if err != nil {
		return false
	}
	own, err := publicsuffix.EffectiveTLDPlusOne(domain)
	return err == nil && own == theirs
}
