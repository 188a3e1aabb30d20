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

// Where the host of this mailbox says nothing of who wrote a mail, the signature of the
// sender's own host does (DKIM, RFC 6376), if it covers whom the mail goes to: of what
// somebody once wrote to another one, it proves nothing here. Google's covers To, Cc and
// all that is asked for below. Microsoft's covers no To, and its boxes give mails out
// otherwise than they came (https://github.com/lieser/dkim_verifier/issues/300).

// The bounds of signatures.
const (
	maxProofs = 5 // how many are looked at
	maxProof  = 8 << 10
	maxSigned = 100     // fields in one
	maxKey    = 2 << 10 // bytes of a key's record: RSA of 8,192 bits has 1,400
	// ahead is by how much the clock of the sender's host may be before ours.
	ahead = time.Hour
	// onTheWay is how long a mail takes at most: servers try for four to five days (RFC
	// 5321, 4.5.4.1). An older one was handed in again.
	onTheWay = 5 * 24 * time.Hour
)

// proof is a DKIM-Signature that would prove who wrote its mail, if it is valid.
type proof struct {
	n                int // which of the mail's, from the top
	domain, selector string
	keys             []string // the fields it covers, as it writes them
}

// signatures are those of a mail that would prove its sender; why there is none.
func (c *Channel) signatures(l *letter, now time.Time) (out []proof, why string) {
	if why := c.provable(l, now); why != "" {
		return nil, why
	}
	_, domain, _ := strings.Cut(l.from, "@")
	others := c.others(l)
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
		case !aligned(domain, s.domain):
			not = "it is signed by another domain only (" + pim.Line(s.domain, 80) + ")"
		default:
			not = s.leaves(l.fields, others)
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

// provable says why no signature could prove who wrote a mail.
func (c *Channel) provable(l *letter, now time.Time) string {
	came := l.Received
	if came.IsZero() {
		came = now
	}
	date, err := mail.ParseDate(l.fields.First("date"))
	switch {
	case l.from == "":
		return "its From header is not exactly one address"
	case slices.ContainsFunc(l.fields, func(f mime.Field) bool { return strings.ContainsFunc(f.Name, odd) }):
		return "its header contains invalid field names"
	case l.fields.Count("date") != 1 || l.fields.Count("message-id") != 1 || l.ID == "":
		return "it does not have exactly one Date and one Message-ID"
	case err != nil || date.After(came.Add(clock)) || date.Before(came.Add(-onTheWay)):
		return "its Date is in the future or more than five days before it arrived"
	case !c.addressed(l):
		return "it is not addressed to " + c.address + " itself"
	}
	return ""
}

// addressed reports whether Hob's own address stands in To or Cc.
func (c *Channel) addressed(l *letter) bool {
	return slices.ContainsFunc(recipients(l.fields), c.mine)
}

// others reports whether a mail went to somebody else, too, or may have.
func (c *Channel) others(l *letter) bool {
	return slices.ContainsFunc(recipients(l.fields), func(a string) bool { return !c.mine(a) && a != l.from })
}

// recipients are the addresses in To and Cc, in lower case; "?" for a field that cannot
// be read.
func recipients(fields mime.Fields) (out []string) {
	// The names are nothing to us, in whatever characters they are written.
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

// readSignature reads the value of a DKIM-Signature (RFC 6376, 3.5). why it counts for
// nothing, whatever it signs.
func readSignature(value string, now time.Time) (s proof, why string) {
	const broken = "its DKIM signature is malformed"
	tags, ok := readTags(value, maxProof)
	if !ok || tags["v"] != "1" || tags["b"] == "" || tags["bh"] == "" {
		return s, broken
	}
	if a := tags["a"]; a != "rsa-sha256" && a != "ed25519-sha256" { // RFC 8301: no SHA-1
		return s, "its DKIM signature uses an unsafe algorithm"
	}
	if _, has := tags["l"]; has { // whoever has the mail could write on
		return s, "its DKIM signature covers only a part of the text"
	}
	s.domain, s.selector, s.keys = strings.ToLower(tags["d"]), tags["s"], strings.Split(tags["h"], ":")
	if !hostName(s.domain) || !hostName(strings.ToLower(s.selector)) || len(s.keys) > maxSigned {
		return s, broken
	}
	made, ok := seconds(tags["t"])
	if !ok || made.After(now.Add(ahead)) {
		return s, "its DKIM signature is dated in the future"
	}
	end, ok := seconds(tags["x"])
	if !ok || !end.IsZero() && !end.After(now) {
		return s, "its DKIM signature has expired"
	}
	return s, ""
}

// readTags reads "a=b; c=d" (RFC 6376, 3.2), without the white space in the values.
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

// seconds reads a time (RFC 6376, 3.5); none is the zero time.
func seconds(s string) (time.Time, bool) {
	if s == "" {
		return time.Time{}, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return time.Unix(n, 0), err == nil && n >= 0 && n < 1<<40
}

// leaves says what of a mail a signature leaves to anybody who has the mail. others:
// that are more than its sender and Hob.
func (s proof) leaves(fields mime.Fields, others bool) string {
	names := []string{"from", "to", "cc", "subject", "date", "message-id"}
	if others { // who got it, too, could make it read otherwise, or answer another mail
		names = append(names, "content-type", "content-transfer-encoding", "in-reply-to", "references")
	}
	for _, name := range names {
		covered := 0
		for _, k := range s.keys {
			if strings.EqualFold(k, name) {
				covered++
			}
		}
		// Each name covers one field, from the bottom up (RFC 6376, 5.4.2).
		if n := fields.Count(name); covered < n || covered == 0 && (name == "from" || name == "content-type") {
			return fmt.Sprintf("its DKIM signature does not cover its %s", name)
		}
	}
	return ""
}

// aligned reports whether d, who signed, and domain belong to one organisation (RFC
// 7489, 3.1.1). Where anybody can have a name, nobody is one ("co.uk").
func aligned(domain, d string) bool {
	theirs, err := publicsuffix.EffectiveTLDPlusOne(d)
	if err != nil {
		return false
	}
	own, err := publicsuffix.EffectiveTLDPlusOne(domain)
	return err == nil && own == theirs
}
