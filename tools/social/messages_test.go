package social

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/knowledge"
	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
	"hob/platform/pim"
	"hob/platform/pim/messages/chatdbtest"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// noTalk is a store without messages of channels.
type noTalk struct{}

func (noTalk) MessagesIn(context.Context, knowledge.ConversationQuery) ([]knowledge.Said, error) {
	return nil, nil
}

// box is a mailbox with a folder of received and one of sent mails.
type box struct {
	pim.Mailer
	in, sent []pim.Message
}

func (b box) Name() string     { return "work" }
func (b box) From() pim.Person { return pim.Person{Address: "me@example.org"} }
func (b box) FindMail(_ context.Context, q pim.MailQuery) (out []pim.Message, err error) {
	list := b.in
	if q.Folder == "sent" {
		list = b.sent
	}
	for _, m := range list {
		if q.From == "" || strings.Contains(strings.ToLower(m.From[0].String()), strings.ToLower(q.From)) {
			out = append(out, m)
		}
	}
	return out, nil
}

func (b box) ReadMail(_ context.Context, ref string) (pim.Message, error) {
	for _, m := range append(b.in, b.sent...) {
		if m.Ref == ref {
			return m, nil
		}
	}
	return pim.Message{}, pim.ErrNoFolder
}

func newMail(ref, from, subject, text string, days int) pim.Message {
	return pim.Message{Ref: ref, From: []pim.Person{{Address: from}}, To: []pim.Person{{Address: "me@example.org"}}, Subject: subject, Text: text, Received: noon.AddDate(0, 0, -days)}
}

func testMailbox() box {
	list := newMail("3", "news@shop.example", "Sale", "Would you like shoes?", 20)
	list.List = "news.shop.example"
	sent := newMail("5", "me@example.org", "Re: the invoice", "Here it is.", 8)
	sent.To = []pim.Person{{Address: "bob@example.org"}}
	mine := newMail("6", "me@example.org", "Meeting", "Shall we meet on Monday?", 6)
	mine.To = []pim.Person{{Address: "eve@example.org"}}
	return box{in: []pim.Message{
		newMail("1", "carol@example.org", "Photos", "Hello,\n\ncould you send me the photos of the boat?\n\n> Would you come?\n\nCarol", 40),
		newMail("2", "bob@example.org", "The invoice", "Can you send the invoice?", 10), list,
		newMail("4", "dan@example.org", "Thanks", "It went well.", 9),
	}, sent: []pim.Message{sent, mine}}
}

func newDeps(t *testing.T) Deps {
	t.Helper()
	st, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), Migrations(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	b := testMailbox()
	return Deps{Conversations: noTalk{}, Store: st, Mailers: func() []pim.Mailer { return []pim.Mailer{b} }}
}

// callTool runs a tool of the package that is not own.
func callTool(t *testing.T, d Deps, name, args string) (tools.Result, error) {
	t.Helper()
	for _, x := range Tools(d) {
		if x.Spec().Name == name {
			return tools.For(x, json.RawMessage(args)).Call(t.Context(), tools.Call{ID: "c", Args: json.RawMessage(args), Now: noon})
		}
	}
	t.Fatalf("no tool %s", name)
	return tools.Result{}, nil
}

func TestSuggestFollowups_FindsWhatIsUnanswered(t *testing.T) {
	r, err := callTool(t, newDeps(t), "suggest_followups", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	const want = "Get back to:\n" +
		"- carol@example.org: their mail \"Photos\" asks: could you send me the photos of the boat? (40 days ago)\n" +
		"- eve@example.org: no answer to your mail \"Meeting\": Shall we meet on Monday? (6 days ago)"
	if r.Text != want || r.Source != provenance.Outside {
		t.Errorf("got %s:\n%s\nwant\n%s", r.Source, r.Text, want)
	}
	if r, err = callTool(t, newDeps(t), "suggest_followups", `{"days_inactive":30}`); err != nil || strings.Contains(r.Text, "eve@") || !strings.Contains(r.Text, "carol@") {
		t.Errorf("30 days: %v\n%s", err, r.Text)
	}
}

func TestReadMessages_ReadsTheMessagesApp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	db := chatdbtest.New(t, file, chatdbtest.Newest())
	ada, eve := db.Chat("+15550100", "iMessage", false), db.Chat("+15550199", "iMessage", false)
	db.Say(chatdbtest.Message{Chat: ada, From: "+15550100", Text: "Old", At: noon.AddDate(0, -3, 0)})
	db.Say(chatdbtest.Message{Chat: ada, From: "+15550100", Text: "Lunch at 12?", At: noon.Add(-3 * time.Hour)})
	db.Say(chatdbtest.Message{Chat: ada, Text: "Yes", At: noon.Add(-2 * time.Hour)})
	db.Say(chatdbtest.Message{Chat: eve, From: "+15550199", Text: "Secret of another chat", At: noon.Add(-time.Hour)})
	d := newDeps(t)
	d.MessagesDB = file
	d.People = func(_ context.Context, words string) ([]pim.Contact, error) {
		if words == "Ada" {
			return []pim.Contact{{Name: "Ada", Phones: []string{"+1 555 0100"}}}, nil
		}
		return nil, nil
	}
	for _, contact := range []string{"Ada", "+15550100"} {
		r, err := callTool(t, d, "read_messages", `{"contact":"`+contact+`"}`)
		if err != nil || r.Source != provenance.Outside || !strings.Contains(r.Text, "- +15550100, today at 09:00: Lunch at 12?\n- you, today at 10:00: Yes") || strings.Contains(r.Text, "another chat") || strings.Contains(r.Text, "Old") {
			t.Errorf("%s: %v\n%s", contact, err, r.Text)
		}
	}
	d.MessagesDB = filepath.Join(t.TempDir(), "none.db")
	r, err := callTool(t, d, "read_messages", `{"channel":"imessage"}`)
	if err != nil || !strings.Contains(r.Text, "Not read: ") {
		t.Errorf("without a database: %v\n%s", err, r.Text)
	}
}

func TestStartFacetime_OpensTheCallOnAMac(t *testing.T) {
	m := osruntest.NewMac(t, map[string]any{})
	d := newDeps(t)
	in := facetimeIn{Contact: "Ada@Example.org", Audio: true}
	if _, err := d.callTarget(t.Context(), in); tools.CodeOf(err) != tools.Unsupported || !strings.Contains(err.Error(), "only on a Mac") {
		t.Errorf("elsewhere: %v", err)
	}
	d.Scripts = m
	out, err := d.callTarget(t.Context(), in)
	if err != nil || out.Link != "facetime-audio://ada@example.org" {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, x := range Tools(d) {
		if x.Spec().Name != "start_facetime" {
			continue
		}
		args := json.RawMessage(`{"contact":"Ada@Example.org","audio_only":true}`)
		if _, err := x.Call(t.Context(), tools.Call{Args: args, Exact: out.Link, Now: noon}); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Call(t.Context(), tools.Call{Args: args, Exact: "facetime-audio://eve@example.org", Now: noon}); tools.CodeOf(err) != tools.Conflict {
			t.Errorf("with an approval of another address: %v", err)
		}
	}
	if got := m.Events(); len(got) != 1 || !strings.Contains(got[0], `openLocation ["facetime-audio://ada@example.org"]`) {
		t.Errorf("events = %q", got)
	}
}

func TestScripts(t *testing.T) { osruntest.Check(t, facetimeScript()) }

var _ osrun.Runner = (*osruntest.Mac)(nil)
