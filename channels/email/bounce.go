package email

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/mailbox"
	"hob/platform/text/mime"
)

// A report that a mail of Hob's could not be delivered (RFC 3464) is answered by nobody,
// and makes a remark in the status. Anybody can write one; it counts when it names a mail
// that lies among those which Hob has sent, and whose name only its reader knows.

// The bounds of reports.
const (
	maxReports = 20 // looked for in an hour
	reportFor  = 7 * 24 * time.Hour
)

// returned is what is known of the mails that came back.
type returned struct {
	At     int64  `json:"at"` // seconds; when the last one did
	Status string `json:"status"`
	N      int    `json:"n"`
	to     string // whom that was for; not kept
}

// report is what a mail says of one that could not be delivered.
type report struct {
	id     string // its Message-ID
	to     string // whom it was for; "" when that cannot be said
	status string // "5.1.1"
}

// statusCode is the form of RFC 3463, 2. What was tried for days has one that begins with 4.
var statusCode = regexp.MustCompile(`^[45]\.[0-9]{1,3}\.[0-9]{1,3}$`)

// reportOf reads a report on a mail of Hob's that has failed.
func reportOf(fields mime.Fields, raw []byte) (r report, ok bool) {
	kind, params := mime.MediaType(fields.First("content-type"))
	if kind != "multipart/report" || !strings.EqualFold(params["report-type"], "delivery-status") {
		return r, false
	}
	for _, e := range mime.Parse(raw, mime.Limits{}).Parts {
		body := []byte(e.Text(mime.MaxHeader))
		switch e.Kind {
		case "message/delivery-status", "message/global-delivery-status":
			if r.status == "" {
				r.to, r.status = failed(body)
			}
		case "message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers", "message/rfc822-headers":
			head, _ := mime.Divide(body)
			original, _ := mime.ReadFields(head)
			if list := ids(original.First("message-id")); r.id == "" && len(list) == 1 {
				r.id = list[0]
			}
		}
	}
	return r, r.status != "" && ours(r.id)
}

// maxGroups is how many recipients of a report are looked at.
const maxGroups = 100

// failed finds the first recipient in a report whom the mail does not reach (RFC 3464,
// 2.3): not one who gets it late.
func failed(body []byte) (to, status string) {
	body = bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))
	for i, group := range bytes.Split(body, []byte("\n\n")) {
		if i > maxGroups {
			break
		}
		fields, _ := mime.ReadFields(bytes.TrimLeft(group, "\n"))
		code, _, _ := strings.Cut(fields.First("status"), " ")
		if !strings.EqualFold(fields.First("action"), "failed") || !statusCode.MatchString(code) {
			continue
		}
		_, to, _ = strings.Cut(fields.First("final-recipient"), ";")
		if to = strings.TrimSpace(to); pim.CheckPerson(pim.Person{Address: to}) != nil {
			to = ""
		}
		return to, code
	}
	return "", ""
}

// report notes a report on a mail of Hob's.
func (h *hearer) report(ctx context.Context, l *letter, raw []byte) {
	var r report
	ok := false
	if err := safely(func() { r, ok = reportOf(l.fields, raw) }); err != nil || !ok || h.c.conf.Drafts {
		return
	}
	if hour := time.Now().Unix() / 3600; hour != h.reports.Hour {
		h.reports = rate{Hour: hour}
	}
	if h.reports.N++; h.reports.N > maxReports {
		return
	}
	sent := false
	err := h.c.in(ctx, "sent", func(m *mailbox.Conn, folder string) (err error) {
		sent, err = there(ctx, m, folder, r.id)
		return err
	})
	if err != nil || !sent {
		h.c.log.InfoContext(ctx, "bounce for an unknown mail", "uid", l.UID, "err", err)
		return
	}
	h.c.log.WarnContext(ctx, "mail bounced", "to", pim.Line(r.to, 100), "status", r.status)
	back := returned{At: time.Now().Unix(), Status: r.status, N: 1, to: r.to}
	if old := h.st.Back; old != nil && !old.over(time.Now()) {
		back.N += old.N
	}
	h.st.Back = &back
	h.counts()
}

// over reports that it was long ago.
func (r *returned) over(now time.Time) bool { return now.Sub(time.Unix(r.At, 0)) > reportFor }

// String is a remark for the owner.
func (r *returned) String() string {
	s := fmt.Sprintf("%d sent mails bounced, the last one on %s", r.N, time.Unix(r.At, 0).Format("2 Jan 15:04"))
	if r.to != "" {
		s += " to " + r.to
	}
	return s + " (" + r.Status + meaning(r.Status) + ")"
}

// meaning says what the first codes of RFC 3463 stand for that an owner can do something
// about.
func meaning(status string) string {
	for _, m := range [][2]string{
		{"4.", "all delivery attempts failed"},
		{"5.1.", "the address does not exist"},
		{"5.2.2", "the mailbox is full"},
		{"5.2.", "the mailbox accepts no mail"},
		{"5.3.4", "the mail is too large"},
		{"5.7.", "the mail was rejected: check the sending rules of your mail host"},
	} {
		if status == m[0] || strings.HasSuffix(m[0], ".") && strings.HasPrefix(status, m[0]) {
			return ": " + m[1]
		}
	}
	return ""
}
