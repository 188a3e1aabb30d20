package apple_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/apple"
)

// mailMac returns a Mail whose scripts all answer with the text said, and records their input. Only
// a Mac can run AppleScript: the answers have the form that NSJSONSerialization gives the records
// of the scripts.
func mailMac(said string, given *[]string) *apple.Mail {
	return apple.NewMail(osrun.NewScripts(osrun.Options{Output: func(_ context.Context, cmd *exec.Cmd, in []byte) ([]byte, error) {
		if len(cmd.Args) != 3 || cmd.Args[1] != "-e" || !strings.Contains(cmd.Args[2], "on main(request)") {
			return nil, errors.New("not an AppleScript")
		}
		*given = append(*given, string(in))
		return []byte(said + "\n"), nil
	}}))
}

const heads = `{"ok":true,"data":{"total":900,"cutShort":false,"rows":[
{"ident":71,"mailKey":"a@x","topic":"S\u0105skaita\u202e 42","fromWhom":"Ada L <Ada@Example.org>","receivedMs":1795680000000,"seenAlready":false,"flagSet":true},
{"ident":70,"mailKey":"b@x","topic":"Lunch","fromWhom":"no sender","receivedMs":1795590000000.5,"seenAlready":true,"flagSet":false}]}}`

func TestFindMail(t *testing.T) {
	var given []string
	m := mailMac(heads, &given)
	list, err := m.FindMail(t.Context(), pim.MailQuery{Limit: 2})
	if err != nil || len(list) != 2 || list[0].Ref != "apple/mail/71/" || list[0].Subject != "Sąskaita 42" || list[0].From[0] != (pim.Person{Name: "Ada L", Address: "ada@example.org"}) || list[0].Seen || !list[0].Flagged || list[1].From[0].Name != "no sender" {
		t.Fatalf("FindMail = %+v, %v", list, err)
	}
	list, err = m.FindMail(t.Context(), pim.MailQuery{Folder: "sent", From: "ADA", Unseen: true})
	if p, ok := errors.AsType[*pim.PartialError](err); !ok || len(list) != 1 || !strings.Contains(p.Error(), "newest 2 of 900") {
		t.Errorf("no warning about unsearched mails: %+v, %v", list, err)
	}
	if _, err = m.FindMail(t.Context(), pim.MailQuery{Since: time.UnixMilli(1795600000000)}); err != nil {
		t.Errorf("unexpected warning: %v", err)
	}
	want := []string{`{"folder":"","scan":25,"seconds":35}`, `{"folder":"sent","scan":200,"seconds":35}`}
	for i, w := range want {
		if given[i] != w {
			t.Errorf("script input %s, want %s", given[i], w)
		}
	}
}

func TestReadMail(t *testing.T) {
	var given []string
	m := mailMac(`{"ok":true,"data":{"topic":"Hi","fromWhom":"ada@example.org","receivedMs":1795680000000,"seenAlready":false,"headText":"To: Bob <bob@x.org>\r\nReply-To: list@x.org\r\nMessage-Id: <a@x>\r\nReferences: <1@x> <2@x>\r\nDate: Sun, 22 Nov 2026 10:00:00 +0200\r\n","bodyText":"Hello\u0000 there","cutShort":true,"fileNames":["a.pdf"]}}`, &given)
	x, err := m.ReadMail(t.Context(), "apple/mail/71/sent")
	if err != nil || x.Text != "Hello there" || !x.Cut || x.ID != "a@x" || len(x.Refers) != 2 || x.ReplyTo[0].Address != "list@x.org" || x.To[0].Address != "bob@x.org" || x.Files[0] != "a.pdf" || x.Ref != "apple/mail/71/sent" {
		t.Errorf("ReadMail = %+v, %v", x, err)
	}
	if given[0] != `{"folder":"sent","ident":71,"most":100000}` {
		t.Errorf("input of the script = %s", given[0])
	}
	for _, ref := range []string{"", "71/", "apple/mail/x/", "apple/mail/-1/", "apple/mail/99999999999/"} {
		if _, err := m.ReadMail(t.Context(), ref); !errors.Is(err, pim.ErrNotFound) {
			t.Errorf("%q: ReadMail = %v, want ErrNotFound", ref, err)
		}
	}
}

func TestWriteMail(t *testing.T) {
	letter := pim.OutgoingMail{To: []pim.Person{{Name: "Ada", Address: "ada@example.org"}}, Subject: `"Hi" & <x>`, Text: "é\nend tell"}
	var given []string
	r, err := mailMac(`{"ok":true,"data":{"taken":true}}`, &given).SendMail(t.Context(), letter)
	if err != nil || r.Outcome != pim.Pending || given[0] != `{"how":"send","topic":"\"Hi\" \u0026 \u003cx\u003e","bodyText":"\u00e9\nend tell","toList":["ada@example.org"],"ccList":[],"bccList":[]}` {
		t.Errorf("%+v, %v, %s", r, err, given)
	}
	for name, c := range map[string]struct {
		said    string
		outcome pim.Outcome
		kind    osrun.Kind
	}{
		"refused":            {`{"ok":false,"number":-1743,"began":true}`, "", osrun.Denied},
		"no answer":          {`{"ok":false,"number":-1712,"began":true}`, pim.Uncertain, ""},
		"before it began":    {`{"ok":false,"number":-1728,"began":false}`, "", osrun.NotFound},
		"it did not take it": {`{"ok":true,"data":{"taken":false}}`, pim.Uncertain, ""},
	} {
		r, err := mailMac(c.said, &given).SendMail(t.Context(), letter)
		if r.Outcome != c.outcome || osrun.KindOf(err) != c.kind || (err == nil) != (c.kind == "") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	letter.Files = []pim.Attachment{{Name: "a.txt"}}
	if r, err := mailMac(`{"ok":true,"data":{"taken":true}}`, &given).SendMail(t.Context(), letter); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a file: %+v, %v", r, err)
	}
	r, err = mailMac(`{"ok":true,"data":{"done":true}}`, &given).MoveMail(t.Context(), "apple/mail/71/", "archive")
	if err != nil || r.Outcome != pim.Sent || given[len(given)-1] != `{"folder":"","ident":71,"target":"archive"}` {
		t.Errorf("%+v, %v, %s", r, err, given[len(given)-1])
	}
}
