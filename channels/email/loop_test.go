package email

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/platform/pim"
)

// answerAll answers all received mails that are not answered yet.
func (w *mailFixture) answerAll(ch *Channel, from int) int {
	w.t.Helper()
	all := w.in.listMessages()
	for i, in := range all[from:] {
		if _, err := ch.Send(w.t.Context(), channels.Delivery{ID: fmt.Sprint("answer ", from+i, w.acc.User), Kind: channels.Reply, Chat: in.Chat, Cause: in.Payload, Text: "an answer"}); err != nil {
			w.t.Fatal(err)
		}
	}
	return len(all)
}

// automaticMail returns a mail that a program must not answer; i selects the kind.
func automaticMail(i int) string {
	from := func(address string, more ...string) string {
		return letterTo(fmt.Sprintf("auto%d@x.org", i), address, "Re: x", "I am away", more...)
	}
	kinds := []func() string{
		func() string { return from(ada, "Auto-Submitted: auto-replied") },
		func() string { return from(ada, "Auto-submitted: (x) auto-generated; owner-email=\"a@b\"") },
		func() string { return from(ada, "Precedence: bulk") },
		func() string { return from(ada, "Precedence: LIST") },
		func() string { return from(ada, "Precedence: junk") },
		func() string { return from(ada, "List-Id: <x.example.org>") },
		func() string { return from(ada, "List-Unsubscribe: <mailto:x@example.org>") },
		func() string { return from(ada, "Return-Path: <>") },
		func() string { return from(ada, "X-Auto-Response-Suppress: OOF, AutoReply") },
		func() string { return from("mailer-daemon@example.org") },
		func() string { return from("postmaster@example.org") },
		func() string {
			return from("MAILER-DAEMON@example.org", "Content-Type: multipart/report; report-type=delivery-status; boundary=b")
		},
		func() string {
			return from(ada, "Content-Type: multipart/report; report-type=disposition-notification; boundary=b")
		},
		func() string { return from(ada, "X-Hob: 1") },
		func() string { return from(hob) },
		func() string { return from("hob+x@test.local") },
		func() string {
			return letterTo(nameOf(fmt.Sprint(i), hashOf("x"), 0, "elsewhere.example"), ada, "x", "from another Hob")
		},
		func() string {
			return letterTo(fmt.Sprintf("away%d@x.org", i), ada, "Automatische Antwort: x", "weg", "In-Reply-To: <a@b>")
		},
		func() string {
			return letterTo(fmt.Sprintf("ooo%d@x.org", i), ada, "Réponse automatique : x", "absente", "In-Reply-To: <a@b>")
		},
		func() string {
			return from(ada, "Content-Type: text/calendar; method=REPLY")
		},
	}
	return kinds[i%len(kinds)]()
}

// testStorms checks that mails from programs, mail servers and mailing lists are neither received
// nor answered.
func testStorms(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	ch := w.newChannel(w.channelConfig())
	w.runChannel(ch)
	put := w.d.Appender(w.acc.User, "INBOX")
	for i := range 120 {
		put(automaticMail(i))
	}
	put(letterTo("last@x.org", ada, "", "a person"))
	w.waitUntil("the last one", func() bool { return len(w.in.listMessages()) > 0 })
	w.answerAll(ch, 0)
	if got := w.awaitMessages(1); got[0].Text != "a person" || len(w.parsedMails()) != 1 {
		t.Errorf("%d answers; received %+v", len(w.parsedMails()), got)
	}
}

var hobs = regexp.MustCompile(`(?m)^(Auto-Submitted|X-Hob|X-Hob-Hops|X-Auto-Response-Suppress): .*\n`)

// automaticAnswer returns the answer of a program that does not mark its mails as automatic. named
// reports whether the answer references the answered mail.
func automaticAnswer(p sentMail, i int, named bool) string {
	more := ""
	if named {
		more = "In-Reply-To: <" + p.id + ">\nReferences: <" + p.id + ">"
	}
	return letterTo(fmt.Sprintf("robot%d@x.org", i), "robot@example.org", p.decodeSubject(), "Your mail is important to us", more)
}

// testLoops checks that a conversation with a program that does not mark its mails ends at the
// hourly limit, which survives a restart, and at the limit per thread.
func testLoops(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	ch := w.newChannel(w.channelConfig())
	stop := w.runChannel(ch)
	put := w.d.Appender(w.acc.User, "INBOX")
	for i := range perHour + 15 {
		if i == perHour/2 { // a restart in between
			w.awaitMessages(i)
			stop()
			ch = w.newChannel(w.channelConfig())
			stop = w.runChannel(ch)
		}
		put(automaticAnswer(sentMail{}, i, false))
	}
	// A new hour may have begun, so the limits of two hours may apply.
	w.waitUntil("all mails to be received or ignored", func() bool {
		ch.mu.Lock()
		defer ch.mu.Unlock()
		return len(w.in.listMessages())+ch.left == perHour+15
	})
	if n := w.answerAll(ch, 0); n > perHour && time.Now().Minute() > 2 || len(w.parsedMails()) != n {
		t.Errorf("%d answers to %d mails", len(w.parsedMails()), n)
	}
	stop()
	// A loop that stays below the hourly limit ends at the limit of its thread.
	ch = &Channel{address: hob, host: "test.local", trusted: trusted}
	last := ""
	for i := 0; ; i++ {
		l := parseMail(pim.Message{}, []byte(automaticAnswer(sentMail{id: last}, i, last != "")))
		in, why := ch.toInbound(l)
		if why != "" {
			if i != maxHops+1 && i != maxHops {
				t.Errorf("the exchange ended after %d mails: %s", i, why)
			}
			break
		}
		n, err := ch.newOutgoingMail(channels.Delivery{ID: fmt.Sprint(i), Chat: in.Chat, Cause: in.Payload, Text: "x"})
		if err != nil || i > 2*maxHops {
			t.Fatal(i, err)
		}
		last = n.id
	}
}

// testTwoHobs checks that two Hobs stop writing to each other, even if a server between them
// removes their headers.
func testTwoHobs(t *testing.T, sv servers) {
	a, b := sv.newFixture(t), sv.newFixture(t)
	b.acc.Address = "hob@other.local"
	ch, other := a.newChannel(a.channelConfig()), b.newChannel(b.channelConfig())
	a.runChannel(ch)
	b.runChannel(other)
	for i, strip := range []bool{false, true} {
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: fmt.Sprint("notice", i), Kind: channels.Notice, Chat: chatOf("hob@other.local", hashOf("x")), Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		all := a.sentMails()
		mail := strings.ReplaceAll(all[len(all)-1].Mail, "\r\n", "\n")
		if strip {
			mail = hobs.ReplaceAllString(mail, "")
		}
		b.put("Authentication-Results: " + trusted + "; dmarc=pass header.from=test.local\n" + mail)
	}
	b.waitUntil("both are left", func() bool {
		return strings.Contains(other.DescribeStatus(), "2 emails ignored, the last one because Hob wrote it")
	})
	if n := len(b.in.listMessages()); n != 0 {
		t.Errorf("received %d mails, want none", n)
	}
	// A mail counts toward the hour in which it arrived.
	var s state
	s.Rates = map[string]hourlyRate{}
	at := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	for range perHour {
		s.countMail(ada, at)
	}
	if !s.isRateLimited(ada, at.Add(59*time.Minute)) || s.isRateLimited(ada, at.Add(time.Hour)) || s.isRateLimited("bob@example.org", at) {
		t.Error("isRateLimited does not follow the hour of arrival")
	}
}
