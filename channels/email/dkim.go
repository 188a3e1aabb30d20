package email

import (
	"fmt"
	"io"
	stdmime "mime"
	"net/mail"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/dkimcheck"
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
	// onTheWay is the maximum transit time of an email: servers retry for 4 to 5 days (RFC 5321,
	// 4.5.4.1). An older email is treated as replayed.
	onTheWay = 5 * 24 * time.Hour
)

// usableSignatures returns the signatures that could prove an email's sender, or the reason why
// there are none.
func (c *Channel) usableSignatures(l *parsedMail, now time.Time) (out []dkimcheck.Signature, why string) {
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
		s, not := dkimcheck.Parse(f.Value, now)
		switch {
		case not != "":
		case !dkimcheck.IsAligned(domain, s.Domain):
			not = "only another domain has signed it (" + pim.SanitizeLine(s.Domain, 80) + ")"
		default:
			not = unsignedParts(s, l.fields, others)
		}
		if not != "" {
			why = not
			continue
		}
		s.Index = n
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

// unsignedParts describes a part of the email that the signature does not protect against changes,
// or returns "". others reports whether there are recipients other than the sender and Hob.
func unsignedParts(s dkimcheck.Signature, fields mime.Fields, others bool) string {
	names := []string{"from", "to", "cc", "subject", "date", "message-id"}
	if others { // another recipient could change the meaning of the email, or turn it into a reply to a different email
		names = append(names, "content-type", "content-transfer-encoding", "in-reply-to", "references")
	}
	for _, name := range names {
		if !s.Covers(fields, name) || !s.Lists(name) && (name == "from" || name == "content-type") {
			return fmt.Sprintf("its DKIM signature does not cover its %s", name)
		}
	}
	return ""
}
