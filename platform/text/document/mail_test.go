package document

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hob/platform/text/mime/mimetest"
)

// TestReview9_HostileMailIsReadInTime parses emails that are made to stall a parser, alone and in a
// mailbox, with and without the worker. An exceeded limit must be reported.
func TestReview9_HostileMailIsReadInTime(t *testing.T) {
	const patience = 10 * time.Second // before the fix, the nested email took longer than a minute
	for name, limits := range map[string]Limits{"in the helper": withHelper(t, Limits{}), "in the process": {}} {
		for _, b := range mimetest.Bombs(1_150_000) {
			data := append([]byte("From: a@example.org\nTo: b@example.org\nMessage-ID: <1@example.org>\n"), b.Mail...)
			began := time.Now()
			f, err := Parse(t.Context(), "a.eml", data, limits)
			if took := time.Since(began); took > patience {
				t.Errorf("%s, %s: took %s", b.Name, name, took)
			}
			if b.Limit == "" {
				continue
			}
			if err != nil || len(f.Documents) == 0 || !f.Documents[0].Cut {
				t.Errorf("%s, %s: %d documents, %v; want one that is cut", b.Name, name, len(f.Documents), err)
				continue
			}
			if len(f.Skipped) == 0 || !errors.Is(f.Skipped[0].Err, ErrTooLarge) || !strings.Contains(f.Skipped[0].Err.Error(), b.Limit) {
				t.Errorf("%s, %s: %+v, want the limit %q named", b.Name, name, f.Skipped, b.Limit)
			}
		}
	}
}

// TestReview9_MailIsParsedInTheHelper checks that an email and a mailbox result in the same
// documents with and without the worker, including attachments of attachments.
func TestReview9_MailIsParsedInTheHelper(t *testing.T) {
	inner := "From: c@example.org\nSubject: within\nMessage-ID: <2@example.org>\nContent-Type: multipart/mixed; boundary=c\n\n--c\n\ninner text\n--c\nContent-Type: text/csv\nContent-Disposition: attachment; filename=t.csv\n\na,b\n1,2\n--c--\n"
	mail := "From: Ada <a@example.org>\nTo: b@example.org\nSubject: outer\nMessage-ID: <1@example.org>\nDate: Mon, 2 Nov 2026 09:00:00 +0100\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>outer <b>text</b></p>\n--b\nContent-Type: message/rfc822\n\n" + inner +
		"\n--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=n.txt\n\na note\n--b\nContent-Type: image/png\nContent-Disposition: attachment; filename=p.png\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=\n--b--\n"
	for name, data := range map[string]string{"a.eml": mail, "a.mbox": "From a Mon Nov  2 09:00:00 2026\n" + mail + "\nFrom b Mon Nov  2 09:00:00 2026\n" + inner} {
		with, err := Parse(t.Context(), name, []byte(data), withHelper(t, Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		without, err := Parse(t.Context(), name, []byte(data), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := formatFile(with), formatFile(without); a != b || !strings.Contains(a, "inner text") || !strings.Contains(a, "outer text") || !strings.Contains(a, "a note") || !strings.Contains(a, "attachment:") {
			t.Errorf("%s: in the worker\n%s\nwithout a worker\n%s", name, a, b)
		}
		if len(with.Skipped) == 0 || with.Skipped[0].Name != "the attachment p.png" {
			t.Errorf("%s: skipped %+v, want the picture", name, with.Skipped)
		}
	}
}

// TestMail_CountsItsParts checks the limits for the parts of an email and for the documents of a
// file.
func TestMail_CountsItsParts(t *testing.T) {
	part := "--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\nx\n"
	mail := "From: a@example.org\nTo: b@example.org\nMessage-ID: <1@example.org>\nContent-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat(part, 20) + "--b--\n"
	for name, l := range map[string]Limits{"in the helper": withHelper(t, Limits{Parts: 10}), "in the process": {Parts: 10}} {
		f, err := Parse(t.Context(), "a.eml", []byte(mail), l)
		if err != nil || len(f.Documents) != 10 || len(f.Skipped) == 0 || !errors.Is(f.Skipped[0].Err, ErrTooLarge) {
			t.Errorf("%s: %d documents, %d skipped, %v", name, len(f.Documents), len(f.Skipped), err)
		}
	}
}
