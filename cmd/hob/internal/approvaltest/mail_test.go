package approvaltest

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"

	"hob/channels"
	"hob/channels/email"
	"hob/platform/pim/pimtest"
)

var messageID = regexp.MustCompile(`(?mi)^Message-ID: *(<[^>]+>)`)

// openMail opens a mailbox whose host reports its checks in Authentication-Results (RFC 8601).
func openMail(t *testing.T) *chatChannel {
	const host = "mx.test.local"
	// A mail that only claims to be from the owner does not count.
	return openMailbox(t, host, []string{"unchecked", "failed", "by another host"}, func(how, mail string) string {
		switch how {
		case "unchecked":
			return mail
		case "failed":
			return fmt.Sprintf("Authentication-Results: %s; dmarc=fail header.from=example.org\n", host) + mail
		case "by another host":
			return "Authentication-Results: mx.example.net; dmarc=pass header.from=example.org\n" + mail
		}
		return fmt.Sprintf("Authentication-Results: %s; dmarc=pass (p=none) header.from=example.org\n", host) + mail
	})
}

// openSignedMail opens a mailbox whose host reports no results. The senders' hosts sign their mails
// (DKIM, RFC 6376).
func openSignedMail(t *testing.T) *chatChannel {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := openMailbox(t, "", []string{"unchecked", "changed", "to somebody else", "by another host", "by a top level"}, func(how, mail string) string {
		o := dkim.SignOptions{Domain: "example.org", Selector: "s1", Signer: key, HeaderKeys: strings.Fields("From To Cc Subject Date Message-ID In-Reply-To References Content-Type Content-Transfer-Encoding")}
		was, is := "", ""
		switch how {
		case "unchecked":
			return mail
		case "changed":
			was, is = "Subject: hi", "Subject: hello"
		case "to somebody else":
			was, is = "To: bob@example.org", "To: hob@test.local"
		case "by another host":
			o.Domain = "example.net"
		case "by a top level":
			o.Domain = "org"
		}
		var out strings.Builder
		if err := dkim.Sign(&out, strings.NewReader(strings.ReplaceAll(strings.Replace(mail, is, was, 1), "\n", "\r\n")), &o); err != nil {
			t.Error(err)
		}
		return strings.Replace(strings.ReplaceAll(out.String(), "\r\n", "\n"), was, is, 1)
	})
	p.channel = "email"
	p.network.Resolver = fixedDNS("v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public))
	return p
}

// fixedDNS is a DNS that returns the same key record for all domains.
type fixedDNS string

func (fixedDNS) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
}

func (p fixedDNS) LookupTXT(context.Context, string) ([]string, error) {
	return []string{string(p)}, nil
}

// openMailbox opens Hob's mailbox on a real server, with an SMTP server. proved returns a mail as
// the host delivers it; forged lists the kinds of mails that falsely claim to be from the owner.
func openMailbox(t *testing.T, host string, forged []string, proved func(how, mail string) string) *chatChannel {
	d, s := pimtest.StartDovecot(t, ""), pimtest.StartSMTP(t)
	const mailbox = "hob@test.local"
	put := d.Appender("hob", "INBOX")
	p := &chatChannel{
		section: fmt.Sprintf("[channels.email]\naccount = \"work\"\ntrusted_host = %q\nallow = [\"guest@example.org\"]\nsettle = \"0s\"\n", host),
		more:    fmt.Sprintf("[accounts.work]\nimap = %q\nsmtp = %q\nca = %q\naddress = %q\nuser = \"hob\"\npassword = %q\n", d.IMAPS, s.URL, pimtest.Both(t, d.CA, s.CA), mailbox, pimtest.Secret),
		driver:  withoutRateLimit(email.Driver{}, func(c channels.Channel) channels.Channel { return freeMail{c.(*email.Channel)} }),
		guests:  true, groups: true, trial: true,
		others: []string{"stranger"},
	}
	for _, how := range forged {
		p.others = append(p.others, "owner, "+how)
	}
	n, alone := 0, false
	p.sayAlone = func(text string) {
		alone = true
		p.say(owner, false, text)
		alone = false
	}
	p.say = func(who string, group bool, text string) bool {
		n++
		name, how, _ := strings.Cut(who, ", ")
		to := mailbox
		if group {
			to += ", bob@example.org"
		}
		thread := "" // a text that is not an order replies to the last mail to the owner
		if !alone && !ordered.MatchString(text) {
			for _, m := range s.Mails() {
				if id := messageID.FindStringSubmatch(m.Mail); id != nil && slices.Contains(m.To, "owner@example.org") {
					thread = "In-Reply-To: " + id[1] + "\nReferences: " + id[1] + "\n"
				}
			}
		}
		put(proved(how, fmt.Sprintf("From: %s@example.org\nTo: %s\n%sSubject: hello\nMessage-ID: <m%d@example.org>\nDate: %s\nContent-Type: text/plain\n\n%s\n", name, to, thread, n, time.Now().Format(time.RFC1123Z), text)))
		return who != guest && who != owner
	}
	p.mail = func(raw string) {
		n++
		put(proved("", fmt.Sprintf("From: owner@example.org\nTo: %s\nMessage-ID: <m%d@example.org>\nDate: %s\n%s", mailbox, n, time.Now().Format(time.RFC1123Z), raw)))
	}
	p.saw = func(part string) bool {
		for _, m := range s.Mails() {
			b, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(m.Mail)))
			if err != nil {
				b = []byte(m.Mail)
			}
			if strings.Contains(string(b), part) {
				return true
			}
		}
		return false
	}
	return p
}
