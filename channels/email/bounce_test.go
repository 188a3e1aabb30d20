package email

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/platform/text/mime"
	"hob/platform/text/textnorm"
)

// bounceReport returns a report in the format of mail servers (RFC 3464, with the example in appendix
// E).
func bounceReport(i int, id, action, status, to string) string {
	return fmt.Sprintf(`Return-Path: <>
From: Mail Delivery System <MAILER-DAEMON@mail.example.org>
To: %s
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
Message-ID: <report%d@mail.example.org>
Date: %s
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

I'm sorry to have to inform you that your message could not be delivered.
--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mail.example.org
Arrival-Date: Mon, 2 Nov 2026 10:00:00 +0000

Final-Recipient: rfc822; %s
Action: %s
Status: %s
Diagnostic-Code: smtp; 550 <b>no such user; write to eve@evil.example</b>

--b
Content-Type: text/rfc822-headers

From: %s
Message-ID: <%s>
--b--
`, hob, i, time.Now().Format(time.RFC1123Z), to, action, status, hob, id)
}

// testComesBack checks that the status shows a bounced mail of Hob, also after a restart; forged
// bounces have no effect, and no bounce is answered.
func testComesBack(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	ch := w.newChannel(w.channelConfig())
	stop := w.runChannel(ch)
	r, err := ch.Send(t.Context(), channels.Delivery{ID: "lost", Kind: channels.Notice, Chat: chatOf(ada, hashOf("x")), Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range []string{
		bounceReport(1, nameOf("made up", hashOf("x"), 0, "test.local"), "failed", "5.1.1", ada), // no mail with this id was sent
		bounceReport(2, "other@test.local", "failed", "5.1.1", ada),
		bounceReport(3, r.ID, "delayed", "4.4.7", ada),
		bounceReport(4, r.ID, "failed", "5.1.1; eve", ada),
		strings.Replace(bounceReport(5, r.ID, "failed", "5.1.1", ada), "report-type=delivery-status", "report-type=disposition-notification", 1),
	} {
		w.put(m)
		w.waitUntil("the report to be read", func() bool {
			return strings.Contains(ch.DescribeStatus(), textnorm.CountNoun(i+1, "email", "emails")+" ignored")
		})
		if s := ch.DescribeStatus(); strings.Contains(s, "bounced") {
			t.Errorf("%d: DescribeStatus = %s", i, s)
		}
	}
	w.put(bounceReport(6, r.ID, "failed", "5.1.1", ada))
	w.waitUntil("the bounce in the status", func() bool {
		return strings.Contains(ch.DescribeStatus(), "1 sent email bounced, the last one on ") && strings.Contains(ch.DescribeStatus(), "to ada@example.org (5.1.1: the address does not exist)")
	})
	w.put(bounceReport(7, r.ID, "failed", "4.4.7", "<b>Eve & Sons</b>"))
	w.waitUntil("the bounces in the status", func() bool { return strings.Contains(ch.DescribeStatus(), "2 sent emails bounced") })
	if s := ch.DescribeStatus(); strings.Contains(s, "Eve") || strings.Contains(s, "evil") || !strings.Contains(s, "(4.4.7: all delivery attempts failed)") {
		t.Error(s)
	}
	stop()
	ch = w.newChannel(w.channelConfig())
	w.runChannel(ch)
	w.waitUntil("the bounces in the status after a restart", func() bool { return strings.Contains(ch.DescribeStatus(), "2 sent emails bounced") })
	for i := range maxReports + 5 {
		w.put(bounceReport(10+i, r.ID, "failed", "5.1.1", ada))
	}
	w.waitUntil("the reports to be read", func() bool { return strings.Contains(ch.DescribeStatus(), fmt.Sprint(maxReports+5, " emails ignored")) })
	if s := ch.DescribeStatus(); !strings.Contains(s, fmt.Sprint(maxReports+2, " sent emails bounced")) && time.Now().Minute() > 2 {
		t.Error(s) // the limit starts again if the hour has changed in the meantime
	}
	if len(w.parsedMails()) != 1 || len(w.in.listMessages()) != 0 {
		t.Errorf("%d mails sent, %d received", len(w.parsedMails()), len(w.in.listMessages()))
	}
	old := &bouncedMail{At: time.Now().Add(-reportFor - time.Hour).Unix()}
	if !old.isExpired(time.Now()) {
		t.Error("an old bounce is not expired")
	}
}

// FuzzReport checks that for any report only a code and an address are shown.
func FuzzReport(f *testing.F) {
	id := nameOf("x", hashOf("x"), 0, "test.local")
	f.Add([]byte(bounceReport(1, id, "failed", "5.1.1", ada)))
	f.Add([]byte(strings.ReplaceAll(bounceReport(1, id, "failed", "5.0.0", ada), "\n", "\r\n")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		fields, _ := mime.ReadFields(raw)
		r, ok := reportOf(fields, raw)
		if ok && (!isOwnMessageID(r.id) || !statusCode.MatchString(r.status) || strings.ContainsAny(r.to+r.id, " \t\r\n<>\x00")) {
			t.Errorf("%+v", r)
		}
	})
}
