package mail

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/scriptapp"
	"hob/tools"
)

// program is a fake of the local mail program.
type program struct {
	pim.Mailer
	mails []pim.Message
	err   error
}

func (program) Name() string { return "apple" }

func (p program) FindMail(_ context.Context, q pim.MailQuery) (out []pim.Message, err error) {
	for _, m := range p.mails {
		if scriptapp.MatchesQuery(m, q) && q.Folder == "" {
			m.Text = ""
			out = append(out, m)
		}
	}
	return out, p.err
}

func (p program) ReadMail(_ context.Context, ref string) (pim.Message, error) {
	for _, m := range p.mails {
		if m.Ref == ref {
			return m, nil
		}
	}
	return pim.Message{}, pim.ErrNotFound
}

// Without an account, the tools read the emails of the local mail program, and the result mentions
// the limits of the search.
func TestMailApps(t *testing.T) {
	now := time.Date(2026, 11, 10, 8, 0, 0, 0, time.UTC)
	mail := func(ref, from, topic string, ago time.Duration) pim.Message {
		return pim.Message{Ref: "apple/mail/" + ref + "/", From: []pim.Person{{Address: from}}, Subject: topic, Received: now.Add(-ago), Text: "The text of " + topic}
	}
	p := program{mails: []pim.Message{mail("1", "ada@example.org", "Bob's lunch", time.Hour), mail("2", "bob@example.org", "Review", 2*time.Hour), mail("3", "eve@example.org", "Old", 99*time.Hour)}}
	d := Deps{Accounts: func() []pim.Account { return nil }, Mailers: func() []pim.Mailer { return []pim.Mailer{p} }}
	call := func(i int, args string) (tools.Result, error) {
		return Tools(d)[i].Call(t.Context(), tools.Call{Args: json.RawMessage(args), Now: now})
	}
	for _, tc := range []struct {
		tool       int
		args, want string
	}{
		{0, `{"limit":1}`, "From: ada@example.org\nSubject: Bob's lunch\nDate: today at 07:00\nId: apple/mail/1/\nMarks: unread"},
		{0, `{"search":"bob"}`, "From: ada@example.org\nSubject: Bob's lunch\nDate: today at 07:00\nId: apple/mail/1/\nMarks: unread\n---\nFrom: bob@example.org\nSubject: Review\nDate: today at 06:00\nId: apple/mail/2/\nMarks: unread"},
		{1, `{"from":"bob","whole":true}`, "From: bob@example.org\nSubject: Review\nDate: today at 06:00\nId: apple/mail/2/\nMarks: unread\nThe text of Review"},
		{1, `{"query":"zebra"}`, "No mail matches."},
	} {
		r, err := call(tc.tool, tc.args)
		if err != nil || r.Text != tc.want || !r.Source.Tainted() || len(r.Origins) == 0 {
			t.Errorf("%s: %q %v", tc.args, r.Text, err)
		}
	}
	p.err = pim.Partial("Mail: searched only the newest 3 of 9 mails")
	if r, err := call(1, `{"query":"zebra"}`); err != nil || !strings.Contains(r.Text, "Some sources could not be read: Mail: searched only the newest 3 of 9") {
		t.Error(r.Text, err)
	}
	p.mails, p.err = nil, pim.ErrRefused
	if _, err := call(0, `{}`); err == nil {
		t.Error("the result does not say that nothing could be read")
	}
	p.err = pim.ErrNoServer // an account that sends only
	if _, err := call(0, `{}`); tools.CodeOf(err) != tools.Unsupported || !strings.Contains(err.Error(), "hob account add") {
		t.Error(err)
	}
}
