package email

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/mime"
	"hob/platform/text/textnorm"
)

// Hob does not answer bounces of its emails (RFC 3464), but mentions them in the status. Anyone can
// write a bounce, so it counts only if it names the Message-ID of a sent email that is stored. Only
// the recipient knows that id.

// Limits for bounces.
const (
	maxReports = 20 // maximum reports checked per hour
	reportFor  = 7 * 24 * time.Hour
)

// bouncedMail summarizes the bounced emails.
type bouncedMail struct {
	At     int64  `json:"at"` // Unix time of the last bounce, in seconds
	Status string `json:"status"`
	N      int    `json:"n"`
	to     string // recipient of that email; not stored
}

// report is the content of one bounce.
type report struct {
	id     string // Message-ID of the bounced email
	to     string // the recipient; "" if unknown
	status string // for example "5.1.1"
}

// statusCode matches the codes of RFC 3463, 2. Codes that begin with 4 are temporary failures.
var statusCode = lazyregexp.New(`^[45]\.[0-9]{1,3}\.[0-9]{1,3}$`)

// reportOf parses the bounce of an email from Hob.
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
				r.to, r.status = failedRecipient(body)
			}
		case "message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers", "message/rfc822-headers":
			head, _ := mime.Divide(body)
			original, _ := mime.ReadFields(head)
			if list := parseMessageIDs(original.First("message-id")); r.id == "" && len(list) == 1 {
				r.id = list[0]
			}
		}
	}
	return r, r.status != "" && isOwnMessageID(r.id)
}

// maxGroups is the maximum number of recipients read from a bounce.
const maxGroups = 100

// failedRecipient returns the first recipient in a bounce whose delivery failed (RFC 3464, 2.3). It
// ignores recipients whose delivery is only delayed.
func failedRecipient(body []byte) (to, status string) {
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

// noteBounce records the bounce of an email from Hob.
func (h *receiver) noteBounce(ctx context.Context, l *parsedMail, raw []byte) {
	var r report
	ok := false
	if err := recoverPanic(func() { r, ok = reportOf(l.fields, raw) }); err != nil || !ok || h.c.conf.Drafts {
		return
	}
	if hour := time.Now().Unix() / 3600; hour != h.reports.Hour {
		h.reports = hourlyRate{Hour: hour}
	}
	if h.reports.N++; h.reports.N > maxReports {
		return
	}
	sent := false
	err := h.c.withFolder(ctx, "sent", func(m *imapmail.Conn, folder string) (err error) {
		sent, err = mailExists(ctx, m, folder, r.id)
		return err
	})
	if err != nil || !sent {
		h.c.log.InfoContext(ctx, "bounce for an unknown email", "uid", l.UID, "err", err)
		return
	}
	h.c.log.WarnContext(ctx, "mail bounced", "to", pim.SanitizeLine(r.to, 100), "status", r.status)
	back := bouncedMail{At: time.Now().Unix(), Status: r.status, N: 1, to: r.to}
	if old := h.st.Back; old != nil && !old.isExpired(time.Now()) {
		back.N += old.N
	}
	h.st.Back = &back
	h.noteCounts()
}

// isExpired reports whether the last bounce is too old to mention.
func (r *bouncedMail) isExpired(now time.Time) bool { return now.Sub(time.Unix(r.At, 0)) > reportFor }

// String returns the note for the channel status.
func (r *bouncedMail) String() string {
	s := fmt.Sprintf("%s bounced, the last one on %s", textnorm.CountNoun(r.N, "sent email", "sent emails"), time.Unix(r.At, 0).Format("2 Jan 15:04"))
	if r.to != "" {
		s += " to " + r.to
	}
	return s + " (" + r.Status + statusMeaning(r.Status) + ")"
}

// statusMeaning describes those codes of RFC 3463 that an owner can act on.
func statusMeaning(status string) string {
	for _, m := range [][2]string{
		{"4.", "all delivery attempts failed"},
		{"5.1.", "the address does not exist"},
		{"5.2.2", "the mailbox is full"},
		{"5.2.", "the mailbox accepts no mail"},
		{"5.3.4", "the email is too large"},
		{"5.7.", "the email was rejected: check the sending rules of your mail host"},
	} {
		if status == m[0] || strings.HasSuffix(m[0], ".") && strings.HasPrefix(status, m[0]) {
			return ": " + m[1]
		}
	}
	return ""
}
