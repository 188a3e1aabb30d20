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

func (program) From() pim.Person { return pim.Person{} }

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

// The tools that look at several folders work with a mail program, or say why they cannot.
func TestMailApps_Office(t *testing.T) {
	now := time.Date(2026, 11, 10, 8, 0, 0, 0, time.UTC)
	mail := func(ref, from, topic, text string) pim.Message {
		return pim.Message{Ref: "apple/mail/" + ref + "/", From: []pim.Person{{Address: from}}, To: []pim.Person{{Address: "me@example.org"}}, Subject: topic, Received: now.Add(-time.Hour), Text: text}
	}
	p := program{mails: []pim.Message{mail("1", "ada@example.org", "Lunch", "Please answer by tomorrow."), mail("2", "bob@example.org", "Re: Lunch", "I come at noon."), mail("3", "shop@example.org", "Sale", "Buy.")}}
	p.mails[0].ID, p.mails[1].Refers, p.mails[0].Received = "l1@x", []string{"l1@x"}, now.Add(-2*time.Hour)
	d := Deps{Accounts: func() []pim.Account { return nil }, Mailers: func() []pim.Mailer { return []pim.Mailer{p} }}
	c := tools.Call{Args: json.RawMessage(`{}`), Now: now}
	if r, err := d.emailTriage().Call(t.Context(), c); err != nil || !strings.HasPrefix(r.Text, "3 emails in the last 72 hours, most important first:\n1. high (65, deadline) ada@example.org: Lunch") {
		t.Errorf("email_triage = %s, %v", r.Text, err)
	}
	if _, err := d.emailUnsubscribe().Call(t.Context(), c); tools.CodeOf(err) != tools.Unsupported {
		t.Error(err)
	}
	c.Args = json.RawMessage(`{"subject":"lunch"}`)
	if r, err := d.emailSummarizeThread().Call(t.Context(), c); err != nil || !strings.HasPrefix(r.Text, `"Lunch": 2 emails by ada@example.org, bob@example.org, today.`) {
		t.Errorf("email_summarize_thread = %s, %v", r.Text, err)
	}
}

// FuzzReadSentences reads hostile text: the result is bounded, and quotes only the text.
func FuzzReadSentences(f *testing.F) {
	f.Add("Can you pay EUR 31.90 by Friday?\n> quoted?\n-- \nAda")
	f.Add("On 2 Nov 2026, Hob wrote:\n\n> x\nby by by until 99:99 5. Dec.")
	f.Fuzz(func(t *testing.T, text string) {
		list := readSentences(text, time.Date(2026, 11, 10, 8, 0, 0, 0, time.UTC))
		if len(list) > maxSentences {
			t.Errorf("%d sentences", len(list))
		}
		for _, s := range list {
			if len([]rune(s.text)) > maxSentence || strings.HasPrefix(s.text, ">") {
				t.Errorf("sentence %q", s.text)
			}
		}
	})
}
