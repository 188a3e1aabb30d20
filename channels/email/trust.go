package email

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"hob/platform/pim"
	"hob/platform/pim/mailbox"
)

// Of how many of the newest mails Test looks at the head, and how much of each.
const (
	testMails = 20
	testHead  = 48 << 10 // bytes
)

// hostOf is the name under which a large host writes down whom it has checked, where
// its own pages say so; "" for all others. Google writes mx.google.com
// (https://support.google.com/mail/answer/180707). Microsoft writes no name at all
// (https://learn.microsoft.com/defender-office-365/message-headers-eop-mdo), so that
// its field cannot be told from one that a sender wrote; Apple and Fastmail do not say
// which names theirs have.
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

// trustedHost is Config.TrustedHost as names are compared: a name, or "*." and a domain
// for all names in it.
func trustedHost(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	domain, all := strings.CutPrefix(s, "*.")
	if s != "" && (!hostName(domain) || all && !strings.Contains(domain, ".")) {
		return "", fmt.Errorf(`trusted_host is one name, such as "mx.example.org", or "*.example.org" for all names in a domain, not %q`, pim.Line(s, 80))
	}
	if all && anybodys(domain) {
		return "", fmt.Errorf(`trusted_host %q stands for hosts of anybody; name the domain of your own mail host`, pim.Line(s, 80))
	}
	return s, nil
}

// anybodys reports a domain in which anybody can have a name ("co.uk").
func anybodys(domain string) bool {
	_, err := publicsuffix.EffectiveTLDPlusOne(domain)
	return err != nil
}

func hostName(s string) bool {
	return s != "" && len(s) <= 253 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" && !strings.HasPrefix(s, ".") && !strings.HasSuffix(s, ".") && !strings.Contains(s, "..")
}

const (
	nobody = `nobody who writes is recognised, as trusted_host is not set; "hob channel test email" finds out what to set`
	// unset goes on where Test knows no more.
	unset = `nobody who writes is recognised, as trusted_host is not set: the name under which the host of this mailbox writes down whom it has checked`
)

// checks are who judged the newest mails of the open folder, as their topmost
// Authentication-Results say; "" for those that name nobody. mails counts all that came
// from elsewhere.
func (c *Channel) checks(ctx context.Context, m *mailbox.Conn, next uint32) (ids []string, mails int, err error) {
	uids, err := m.After(ctx, next-min(next, 20*testMails))
	if err != nil {
		return nil, 0, err
	}
	for _, uid := range uids[max(0, len(uids)-testMails):] {
		_, raw, ok, err := m.Raw(ctx, uid, 0, testHead)
		if errors.Is(err, pim.ErrRefused) || err == nil && !ok {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		fields, _ := readFields(raw)
		if c.mine(author(fields)) {
			continue
		}
		mails++
		if has(fields, "authentication-results") {
			id, _, ok := parseResults(first(fields, "authentication-results"))
			if !ok || !hostName(id) {
				id = ""
			}
			ids = append(ids, id)
		}
	}
	return ids, mails, nil
}

// recognised says by what senders are recognised, or how they could be.
func recognised(trusted string, ids []string, mails int) string {
	n := 0
	for _, id := range ids {
		if trusted != "" && named(id, trusted) {
			n++
		}
	}
	names := slices.Compact(slices.Sorted(slices.Values(ids)))
	switch {
	case trusted != "" && n == 0 && mails > 0:
		return fmt.Sprintf("who writes is recognised by what %s has checked, but none of the %s says so: %s. Correct trusted_host in [channels.email]", trusted, newest(mails), carried(ids, names, mails))
	case trusted != "" && mails == 0:
		return "who writes is recognised by what " + trusted + " has checked"
	case trusted != "":
		return fmt.Sprintf("who writes is recognised by what %s has checked, as it says in %d of the %s", trusted, n, newest(mails))
	case mails == 0:
		return unset + ". No mail is here that could show it: write one from elsewhere, and test again"
	case len(ids) == 0:
		return fmt.Sprintf("%s. None of the %s carries such a name (Authentication-Results): this host checks nobody, or does not say so", unset, newest(mails))
	case len(names) == 1 && names[0] == "":
		return fmt.Sprintf("%s. This host writes what it has checked without its name (as Microsoft does), so that nobody can tell it from what a sender wrote: give Hob a mailbox elsewhere", unset)
	}
	if all := common(names); all != "" && len(ids) == mails {
		return fmt.Sprintf("%s. The %s %s %s at the top: if that is your own mail host, set trusted_host = %q in [channels.email]", unset, newest(mails), verb(mails), strings.Join(few(names), ", "), all)
	}
	return fmt.Sprintf("%s. A host that checks mail puts its name on top of each mail that comes from elsewhere, and here %s. Set only what is the name of your own mail host: any other may have been written by a sender", unset, carried(ids, names, mails))
}

func newest(mails int) string {
	if mails == 1 {
		return "newest mail"
	}
	return fmt.Sprintf("%d newest mails", mails)
}

func verb(mails int) string {
	if mails == 1 {
		return "carries"
	}
	return "carry"
}

// carried counts who judged, the most frequent first.
func carried(ids, names []string, mails int) string {
	count := func(name string) (n int) {
		for _, id := range ids {
			if id == name {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(names, func(a, b string) int { return count(b) - count(a) })
	var out []string
	for _, name := range few(names) {
		what := name
		if name == "" {
			what = "no name"
		}
		out = append(out, fmt.Sprintf("%d of %d %s %s", count(name), mails, verb(count(name)), what))
	}
	if none := mails - len(ids); none > 0 {
		out = append(out, fmt.Sprintf("%d %s nothing", none, verb(none)))
	}
	return strings.Join(out, ", ")
}

func few(names []string) []string { return names[:min(len(names), 4)] }

// common is a value of trusted_host for all these names, "" when they do not belong
// together.
func common(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	labels := strings.Split(names[0], ".")
	for i := 1; i+1 < len(labels) && !anybodys(strings.Join(labels[i:], ".")); i++ {
		all := "*." + strings.Join(labels[i:], ".")
		if !slices.ContainsFunc(names, func(s string) bool { return !named(s, all) }) {
			return all
		}
	}
	return ""
}
