package asked

import (
	"fmt"
	"io"
	"mime/quotedprintable"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/email"
	"hob/platform/pim/pimtest"
)

var messageID = regexp.MustCompile(`(?mi)^Message-ID: *(<[^>]+>)`)

// openMail is a mailbox of Hob's at a real server, with one for outgoing mail. The host
// says in Authentication-Results (RFC 8601) what it has checked.
func openMail(t *testing.T) *place {
	d, s := pimtest.StartDovecot(t, ""), pimtest.StartSMTP(t)
	const host, mailbox = "mx.test.local", "hob@test.local"
	put := d.Appender("hob", "INBOX")
	p := &place{
		section: fmt.Sprintf("[channels.email]\naccount = \"work\"\ntrusted_host = %q\nallow = [\"guest@example.org\"]\nsettle = \"0s\"\n", host),
		more:    fmt.Sprintf("[accounts.work]\nimap = %q\nsmtp = %q\nca = %q\naddress = %q\nuser = \"hob\"\npassword = %q\n", d.IMAPS, s.URL, pimtest.Both(t, d.CA, s.CA), mailbox, pimtest.Secret),
		driver:  unhurried(email.Driver{}, func(c channels.Channel) channels.Channel { return freeMail{c.(*email.Channel)} }),
		guests:  true, groups: true, trial: true,
		// Whoever calls himself the owner is not believed.
		others: []string{"stranger", "owner, unchecked", "owner, failed", "owner, by another host"},
	}
	n := 0
	p.say = func(who string, group bool, text string) bool {
		n++
		name, how, _ := strings.Cut(who, ", ")
		checked := fmt.Sprintf("Authentication-Results: %s; dmarc=pass (p=none) header.from=example.org\n", host)
		switch how {
		case "unchecked":
			checked = ""
		case "failed":
			checked = fmt.Sprintf("Authentication-Results: %s; dmarc=fail header.from=example.org\n", host)
		case "by another host":
			checked = "Authentication-Results: mx.example.net; dmarc=pass header.from=example.org\n"
		}
		to := mailbox
		if group {
			to += ", bob@example.org"
		}
		thread := "" // what is no order answers the last mail to the owner
		if !ordered.MatchString(text) {
			for _, m := range s.Mails() {
				if id := messageID.FindStringSubmatch(m.Mail); id != nil && slices.Contains(m.To, "owner@example.org") {
					thread = "In-Reply-To: " + id[1] + "\nReferences: " + id[1] + "\n"
				}
			}
		}
		put(fmt.Sprintf("%sFrom: %s@example.org\nTo: %s\n%sSubject: hello\nMessage-ID: <m%d@example.org>\nDate: %s\n\n%s\n", checked, name, to, thread, n, time.Now().Format(time.RFC1123Z), text))
		return who != guest && who != owner
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
