package email

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"hob/platform/pim"
	"hob/platform/pim/dkimcheck"
	"hob/platform/pim/imapmail"
	"hob/platform/text/sorting"
)

// How many of the newest messages Test checks, and how much of each.
const (
	testMails = 20
	testHead  = 48 << 10 // in bytes
)

// hostOf returns the name that a large mail host uses in its results, if that name is documented,
// and "" otherwise. Google writes mx.google.com (https://support.google.com/mail/answer/180707).
// Microsoft writes no name
// (https://learn.microsoft.com/defender-office-365/message-headers-eop-mdo), so its field cannot be
// distinguished from a forged one; Apple and Fastmail do not document their names.
func hostOf(server string) string {
	s, err := pim.ParseServer(pim.IMAP, server)
	if err != nil {
		return ""
	}
	switch strings.ToLower(s.Host) {
	case "imap.gmail.com", "imap.googlemail.com":
		return "mx.google.com"
	}
	return ""
}

// trustedHost returns a normalized Config.TrustedHost: a name, or "*." and a domain for all names
// in that domain.
func trustedHost(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	domain, all := strings.CutPrefix(s, "*.")
	if s != "" && (!dkimcheck.IsHostName(domain) || all && !strings.Contains(domain, ".")) {
		return "", fmt.Errorf(`trusted_host must be one name, such as "mx.example.org", or "*.example.org" for all names in a domain, not %q`, pim.SanitizeLine(s, 80))
	}
	if all && isSharedDomain(domain) {
		return "", fmt.Errorf(`trusted_host %q also matches hosts of other people; use the domain of your own mail host`, pim.SanitizeLine(s, 80))
	}
	return s, nil
}

// isSharedDomain reports whether a domain is a public suffix ("co.uk").
func isSharedDomain(domain string) bool {
	_, err := publicsuffix.EffectiveTLDPlusOne(domain)
	return err != nil
}

const (
	// bySignature describes verification without results from the mail host.
	bySignature = "the DKIM signature of the sender's domain"
	unset       = "The checks by your mail host are more reliable, but Hob ignores them because trusted_host (the name in its results) is not set"
)

// resultsSurvey summarizes the headers of the newest messages in a folder.
type resultsSurvey struct {
	mails  int      // number of messages from other people
	ids    []string // hosts in the topmost Authentication-Results fields; "" for fields without a host
	signed int      // number of messages with a usable signature
	why    string   // the reason why the last of the other messages has no usable signature
}

// surveyResults reads the newest messages in the open folder.
func (c *Channel) surveyResults(ctx context.Context, m *imapmail.Conn, next uint32) (out resultsSurvey, err error) {
	uids, err := m.After(ctx, next-min(next, 20*testMails))
	if err != nil {
		return out, err
	}
	for _, uid := range uids[max(0, len(uids)-testMails):] {
		x, raw, ok, err := m.Raw(ctx, uid, 0, testHead)
		if errors.Is(err, pim.ErrRefused) || err == nil && !ok {
			continue
		}
		if err != nil {
			return out, err
		}
		var l *parsedMail
		if recoverPanic(func() { l = parseMail(x, raw) }) != nil || c.isOwnAddress(l.from) {
			continue
		}
		out.mails++
		if list, why := c.usableSignatures(l, x.Received); len(list) > 0 { // use the signatures that were valid when the message arrived
			out.signed++
		} else {
			out.why = why
		}
		if l.fields.Has("authentication-results") {
			id, _, ok := parseResults(l.fields.First("authentication-results"))
			if !ok || !dkimcheck.IsHostName(id) {
				id = ""
			}
			out.ids = append(out.ids, id)
		}
	}
	return out, nil
}

// describeRecognition describes how senders are verified, or could be.
func describeRecognition(trusted string, s resultsSurvey) string {
	n := 0
	for _, id := range s.ids {
		if trusted != "" && matchesTrustedHost(id, trusted) {
			n++
		}
	}
	names := slices.Compact(slices.Sorted(slices.Values(s.ids)))
	switch {
	case trusted != "" && n == 0 && s.mails > 0:
		return fmt.Sprintf("senders are verified by the Authentication-Results header that %s adds, but none of the %s contains it: %s. Correct trusted_host in [channels.email]. Until then, senders are verified by %s, %s", trusted, newestMailsText(s.mails), describeHosts(s.ids, names, s.mails), bySignature, s.describeSignatures())
	case trusted != "" && s.mails == 0:
		return fmt.Sprintf("senders are verified by the Authentication-Results header that %s adds; email without this header is verified by %s", trusted, bySignature)
	case trusted != "":
		return fmt.Sprintf("senders are verified by the Authentication-Results header that %s adds (found in %d of the %s); email without this header is verified by %s", trusted, n, newestMailsText(s.mails), bySignature)
	case s.mails == 0:
		return fmt.Sprintf("senders are verified by %s. There is no email to test this with: send one from another address and test again. %s", bySignature, unset)
	}
	return fmt.Sprintf("senders are verified by %s, %s. %s", bySignature, s.describeSignatures(), s.trustedHostAdvice(names))
}

// describeSignatures describes how many messages have usable signatures.
func (s resultsSurvey) describeSignatures() string {
	if s.signed == 0 {
		return fmt.Sprintf("but none of the %s carries a usable one: %s", newestMailsText(s.mails), s.why)
	}
	return fmt.Sprintf("which %d of the %s %s in a usable form", s.signed, newestMailsText(s.mails), carryVerb(s.signed))
}

// trustedHostAdvice describes how to set trusted_host.
func (s resultsSurvey) trustedHostAdvice(names []string) string {
	switch {
	case len(s.ids) == 0:
		return fmt.Sprintf("%s. None of the %s has an Authentication-Results header: your mail host does not check senders or does not report it", unset, newestMailsText(s.mails))
	case len(names) == 1 && names[0] == "":
		return unset + ". This host reports its results without its name (as Microsoft does), so Hob cannot distinguish them from headers that a sender wrote; if DKIM signatures are no longer valid when emails arrive here, use a mailbox at another host"
	}
	if all := commonPattern(names); all != "" && len(s.ids) == s.mails {
		return fmt.Sprintf("%s. The %s %s %s at the top: if that is the name of your own mail host, set trusted_host = %q in [channels.email]", unset, newestMailsText(s.mails), carryVerb(s.mails), strings.Join(firstNames(names), ", "), all)
	}
	return fmt.Sprintf("%s. A host that checks senders adds its name at the top of each incoming email. Here, %s. Set trusted_host only to the name of your own mail host: a sender may have written any other name", unset, describeHosts(s.ids, names, s.mails))
}

func newestMailsText(mails int) string {
	if mails == 1 {
		return "newest email"
	}
	return fmt.Sprintf("%d newest emails", mails)
}

func carryVerb(mails int) string {
	if mails == 1 {
		return "carries"
	}
	return "carry"
}

// describeHosts lists the hosts that ran the checks with their counts, most frequent first.
func describeHosts(ids, names []string, mails int) string {
	count := func(name string) (n int) {
		for _, id := range ids {
			if id == name {
				n++
			}
		}
		return n
	}
	sorting.StableByFunc(names, func(a, b string) int { return count(b) - count(a) })
	var out []string
	for _, name := range firstNames(names) {
		what := name
		if name == "" {
			what = "no name"
		}
		out = append(out, fmt.Sprintf("%d of %d %s %s", count(name), mails, carryVerb(count(name)), what))
	}
	if none := mails - len(ids); none > 0 {
		out = append(out, fmt.Sprintf("%d %s nothing", none, carryVerb(none)))
	}
	return strings.Join(out, ", ")
}

func firstNames(names []string) []string { return names[:min(len(names), 4)] }

// commonPattern returns a trusted_host value that matches all these names, or "" if there is no
// suitable one.
func commonPattern(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	labels := strings.Split(names[0], ".")
	for i := 1; i+1 < len(labels) && !isSharedDomain(strings.Join(labels[i:], ".")); i++ {
		all := "*." + strings.Join(labels[i:], ".")
		if !slices.ContainsFunc(names, func(s string) bool { return !matchesTrustedHost(s, all) }) {
			return all
		}
	}
	return ""
}
