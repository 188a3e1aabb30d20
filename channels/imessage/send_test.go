package imessage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/imessage"
	"hob/platform/pim/messages/chatdbtest"
)

func newDelivery(id, chat, text string) channels.Delivery {
	return channels.Delivery{ID: id, Kind: channels.Reply, Chat: chat, Text: text, CreatedAt: time.Now()}
}

// TestSend_ScriptAndArguments checks which script runs, and with which arguments.
func TestSend_ScriptAndArguments(t *testing.T) {
	for name, c := range map[string]struct {
		chat    string
		arrange func(m *mac)
		want    []string // script, target, service
		group   bool
	}{
		"an existing chat":                     {"+15550100", nil, []string{"chat any;-;+15550100 iMessage"}, false},
		"written otherwise":                    {"+1 (555) 0100", nil, []string{"chat any;-;+15550100 iMessage"}, false},
		"by its guid":                          {"any;-;+15550100", nil, []string{"chat any;-;+15550100 iMessage"}, false},
		"by a guid of an older macOS":          {"iMessage;-;+15550100", nil, []string{"chat any;-;+15550100 iMessage"}, false},
		"a group":                              {"chat77", nil, []string{"chat any;+;chat77 iMessage"}, true},
		"a group by its guid":                  {"any;+;chat77", nil, []string{"chat any;+;chat77 iMessage"}, true},
		"a new person":                         {"new@example.org", nil, []string{"person new@example.org iMessage"}, false},
		"a chat that Messages does not have":   {"+15550100", func(m *mac) { m.unknown["any;-;+15550100"] = true }, []string{"chat any;-;+15550100 iMessage", "person +15550100 iMessage"}, false},
		"a person on SMS":                      {"+15550122", func(m *mac) { m.unknown["any;-;+15550122"] = true }, []string{"chat any;-;+15550122 SMS", "person +15550122 SMS"}, false},
		"a person on RCS":                      {"+15550133", func(m *mac) { m.unknown["any;-;+15550133"] = true }, []string{"chat any;-;+15550133 SMS", "person +15550133 SMS"}, false},
		"a group named like a person":          {"+15550100", func(m *mac) { m.db.Chat("+15550100", "SMS", true, "+15550122") }, []string{"chat any;-;+15550100 iMessage"}, false},
		"macOS 12":                             {"new@example.org", func(m *mac) { m.old = true }, []string{"person new@example.org iMessage", "person12 new@example.org iMessage"}, false},
		"Messages is not open; Hob opens it":   {"+15550100", func(m *mac) { m.open = false }, []string{"chat any;-;+15550100 iMessage", "chat any;-;+15550100 iMessage"}, false},
		"and an address in capitals":           {"NEW@Example.org", nil, []string{"person new@example.org iMessage"}, false},
		"a group that Messages does not have":  {"chat77", func(m *mac) { m.unknown["any;+;chat77"] = true }, []string{"chat any;+;chat77 iMessage"}, true},
		"an unknown group":                     {"any;+;chat99", nil, nil, true},
		"not an address":                       {"tomorrow", nil, nil, false},
		"a number that could be in any nation": {"5550100", nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMac(t, chatdbtest.Newest())
			m.db.Chat("+15550100", "iMessage", false)
			m.db.Chat("+15550122", "SMS", false)
			m.db.Chat("+15550133", "RCS", false)
			m.db.Chat("chat77", "iMessage", true, "+15550100", "bob@example.org")
			if c.arrange != nil {
				c.arrange(m)
			}
			r, err := m.newChannel(imessage.Config{}, imessage.Options{}).Send(t.Context(), newDelivery("d1", c.chat, "hi"))
			var got []string
			for _, x := range m.Calls() {
				got = append(got, x.Script+" "+x.Target+" "+x.Service)
				if x.Body != "hi" || x.File != "" {
					t.Errorf("%+v", x)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			wrong := c.want == nil || c.chat == "chat77" && c.arrange != nil
			if wrong != (channels.ClassOf(err) == channels.Permanent && err != nil) || wrong == (r.ID != "") {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestOutcomes tests the results that Messages reports, and the rows in its database afterwards.
func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		how     string
		chat    string
		class   channels.Class
		maybe   bool
		ok      bool
		id      bool   // whether the receipt contains the id of the row
		say     string // part of the error
		arrives int
		again   int // arrivals after a search and, if the search finds nothing, a resend
	}{
		"sent":                              {"", ada, 0, false, true, true, "", 1, 1},
		"appears later":                     {"shows nothing", ada, 0, false, true, false, "", 0, 0},
		"Messages refuses":                  {"refused", ada, channels.Unauthorized, false, false, false, "Automation", 0, 1},
		"no answer, not sent":               {"no answer", ada, channels.Temporary, false, false, false, "check the screen for a macOS dialog", 0, 1},
		"no answer, but sent":               {"no answer, and sent", ada, 0, false, true, true, "", 1, 1},
		"no answer, outcome unknown":        {"no answer, and then nothing", ada, channels.Temporary, true, false, false, "outcome unknown", 0, 0},
		"the script dies":                   {"dies", ada, channels.Temporary, true, false, false, "outcome unknown", 0, 0},
		"Messages quit and is opened again": {"gone", ada, 0, false, true, true, "", 1, 1},
		"not deliverable":                   {"not delivered", ada, channels.Permanent, false, false, false, "error 22", 1, 2},
		"falls back to SMS":                 {"by SMS after all", ada, 0, false, true, true, "", 1, 1},
		"text with typographic quotes":      {"typographic", ada, 0, false, true, true, "", 1, 1},
		"an empty row":                      {"ghost", ada, channels.Permanent, false, false, false, "empty row", 0, 1},
		"sent to another chat":              {"another chat", "chat77", channels.Permanent, false, false, false, "other than the group", 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMac(t, chatdbtest.Newest())
			m.db.Chat(ada, "iMessage", false)
			m.db.Chat("chat77", "iMessage", true, ada)
			ch := m.newChannel(imessage.Config{}, imessage.Options{})
			d := newDelivery("d1", c.chat, "hello there -- it's me...")
			m.failNext(c.how)
			r, err := ch.Send(t.Context(), d)
			if (err == nil) != c.ok || (r.ID != "") != c.id {
				t.Fatalf("Send = %+v, %v", r, err)
			}
			if err != nil {
				e, ok := errors.AsType[*channels.Error](err)
				if !ok || e.Class != c.class || e.MaybeSent != c.maybe || !strings.Contains(err.Error(), c.say) || strings.Contains(err.Error(), "hello") || strings.Contains(err.Error(), "Fehler") {
					t.Errorf("%+v: %v", e, err)
				}
			}
			if n := len(m.Arrived()); n != c.arrives {
				t.Errorf("%d texts arrived, want %d", n, c.arrives)
			}
			// Another process takes over: it searches for the text and resends it if necessary.
			ch = m.newChannel(imessage.Config{}, imessage.Options{})
			_, found, err := ch.Find(t.Context(), d)
			if c.maybe && (err == nil || found) {
				t.Errorf("Find with an unknown outcome = %v, %v", found, err)
			}
			if err == nil && !found {
				if _, err := ch.Send(t.Context(), d); err != nil {
					t.Errorf("second Send = %v", err)
				}
			}
			if n := len(m.Arrived()); n != c.again {
				t.Errorf("%d texts arrived in the end, want %d", n, c.again)
			}
		})
	}
}

// TestSend_RepeatsATextThatFailedLater checks that a text that Messages accepted and later reports as failed is sent
// again, by another process, and that a text without such a report is not.
func TestSend_RepeatsATextThatFailedLater(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	chat := m.db.Chat(ada, "iMessage", false)
	m.failNext("shows nothing", "shows nothing", "shows nothing")
	for _, d := range []channels.Delivery{newDelivery("d1", ada, "hello"), newDelivery("d2", ada, "and goodbye")} {
		if _, err := m.newChannel(imessage.Config{}, imessage.Options{}).Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if d.ID == "d1" {
			m.db.Say(chatdbtest.Message{Chat: chat, Text: "hello", At: time.Now(), Values: map[string]any{"error": 22}})
		}
		ch := m.newChannel(imessage.Config{}, imessage.Options{})
		_, found, err := ch.Find(t.Context(), d)
		if err != nil || found != (d.ID == "d2") {
			t.Fatalf("%s: found %v, %v", d.ID, found, err)
		}
		if !found {
			if _, err := ch.Send(t.Context(), d); err != nil {
				t.Error(err)
			}
		}
	}
	if got := m.Arrived(); !slices.Equal(got, nil) {
		t.Errorf("Arrived = %q", got)
	}
	if n := len(m.Calls()); n != 3 {
		t.Errorf("sent %d times", n)
	}
}

// TestFind_UnknownOutcome checks that Hob looks for a message with an unknown outcome for some time,
// and then sends it again.
func TestFind_UnknownOutcome(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	m.db.Chat(ada, "iMessage", false)
	now := time.Now()
	ch := m.newChannel(imessage.Config{}, imessage.Options{Now: func() time.Time { return now }})
	d := newDelivery("d1", ada, "hello")
	m.failNext("dies")
	if _, err := ch.Send(t.Context(), d); err == nil {
		t.Fatal("Send returned no error")
	}
	if _, found, err := ch.Find(t.Context(), d); err == nil || found {
		t.Errorf("Find = %v, %v", found, err)
	}
	now = now.Add(11 * time.Minute)
	if _, found, err := ch.Find(t.Context(), d); err != nil || found {
		t.Errorf("Find = %v, %v", found, err)
	}
	if _, err := ch.Send(t.Context(), d); err != nil || len(m.Arrived()) != 1 {
		t.Errorf("%v, %q", err, m.Arrived())
	}
}

// TestFind_SameTextTwice checks that a delivery is not mistaken for another one with the same text.
func TestFind_SameTextTwice(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	m.db.Chat(ada, "iMessage", false)
	ch := m.newChannel(imessage.Config{}, imessage.Options{})
	a, err := ch.Send(t.Context(), newDelivery("d1", ada, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	d := newDelivery("d2", ada, "hello")
	m.failNext("dies")
	if _, err := ch.Send(t.Context(), d); err == nil {
		t.Error("Send returned no error although the process died")
	}
	if _, found, err := ch.Find(t.Context(), d); found || err == nil {
		t.Errorf("Find = %v, %v", found, err)
	}
	b, err := ch.Send(t.Context(), newDelivery("d3", ada, "hello"))
	if err != nil || a.ID == b.ID {
		t.Errorf("%+v, %+v, %v", a, b, err)
	}
}

// TestSend_ToTheChatOfTheMessage checks that an answer goes to the chat of its message.
func TestSend_ToTheChatOfTheMessage(t *testing.T) {
	v := chatdbtest.Versions()[6] // in this version, chat guids name the service
	m := newMac(t, v)
	m.db.Chat(ada, "iMessage", false)
	sms := m.db.Chat(ada, "SMS", false)
	ch := m.newChannel(imessage.Config{}, imessage.Options{})
	l := m.runChannel(t, ch)
	m.db.Say(chatdbtest.Message{Chat: sms, From: ada, Service: "SMS", Text: "by SMS", At: time.Now()})
	channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == 1 })
	in := l.inbox.Heard()[0]
	d := newDelivery("d1", in.Chat, "hi")
	d.Cause = in.Payload
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if c := m.Calls(); len(c) != 1 || c[0].Target != "SMS;-;"+ada {
		t.Errorf("Calls = %+v", c)
	}
}

// TestSend_TextIsNoScript checks that any text arrives unchanged and never becomes part of the script.
func TestSend_TextIsNoScript(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	m.db.Chat(ada, "iMessage", false)
	ch := m.newChannel(imessage.Config{}, imessage.Options{})
	texts := []string{`" & (do shell script "id") & "`, "end tell\nend main", `C:\temp\new \d`, "«class utf8»", "$(id)", "it\u2019s \u201cquoted\u201d 👋\u200d"}
	for i, text := range texts {
		if _, err := ch.Send(t.Context(), newDelivery(fmt.Sprint("d", i), ada, text)); err != nil {
			t.Errorf("%q: Send = %v, want nil", text, err)
		}
	}
	if got := m.Arrived(); !slices.Equal(got, texts) {
		t.Errorf("Arrived = %q", got)
	}
}

// TestSend_Files checks that each file is sent separately, from a copy that Messages can read, and
// that none is sent twice when a later one failed.
func TestSend_Files(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	m.self = own
	chat := m.db.Chat(own, "iMessage", false)
	ch := m.newChannel(imessage.Config{}, imessage.Options{})
	l := m.runChannel(t, ch)
	file := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.addMessage(chat, own, "files, please")
	d := newDelivery("d1", own, "here")
	d.Files = []channels.Attachment{{Name: "Bericht ä.pdf", Path: file, Size: 4}, {Name: "../../etc/passwd", Path: file, Size: 4}}
	m.failNext("", "no answer")
	if _, err := ch.Send(t.Context(), d); channels.ClassOf(err) != channels.Temporary || err == nil {
		t.Fatal(err)
	}
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	want := []string{"here", "Bericht ä.pdf: data", "_.._etc_passwd: data"}
	if got := m.Arrived(); !slices.Equal(got, want) {
		t.Errorf("Arrived = %q", got)
	}
	for _, c := range m.Calls() {
		if c.File != "" && !strings.HasPrefix(c.File, filepath.Join(m.home, "Library", "Messages", "Attachments", "Hob")+string(filepath.Separator)) {
			t.Errorf("%s", c.File)
		}
	}
	l.expectTexts(m, "files, please")
	d = newDelivery("d2", own, "")
	d.Files = []channels.Attachment{{Name: "x", Path: filepath.Join(t.TempDir(), "none")}}
	if _, err := ch.Send(t.Context(), d); err == nil {
		t.Error("Send of a missing file returned no error")
	}
}

// TestSend_RemovesOldCopies checks that only copies that were sent at least an hour ago are removed.
func TestSend_RemovesOldCopies(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	place := filepath.Join(m.home, "Library", "Messages", "Attachments", "Hob")
	old, fresh, other := filepath.Join(place, "6ba7b810-9dad-11d1-80b4-00c04fd430c8"), filepath.Join(place, "6ba7b811-9dad-11d1-80b4-00c04fd430c8"), filepath.Join(place, "the owner's")
	for _, dir := range []string{old, fresh, other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if at := time.Now().Add(-2 * time.Hour); dir != fresh {
			if err := os.Chtimes(dir, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{})).stop()
	for dir, want := range map[string]bool{old: false, fresh: true, other: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: Stat = %v", dir, err)
		}
	}
}

func TestTest(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	ch := m.newChannel(imessage.Config{}, imessage.Options{})
	if s, err := ch.Test(t.Context()); err != nil || !strings.Contains(s, "Hob has permission to send") {
		t.Errorf("Test = %q, %v", s, err)
	}
	m.failNext("refused") // for outgoing files
	m.always = "refused"
	if _, err := ch.Test(t.Context()); channels.ClassOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), "Privacy & Security, Automation") {
		t.Errorf("Test = %v", err)
	}
	m.always, m.open = "", false
	if s, err := ch.Test(t.Context()); err != nil || !strings.Contains(s, "not open") {
		t.Errorf("Test = %q, %v", s, err)
	}
	if n := len(m.Arrived()); n != 0 {
		t.Errorf("%d texts were sent", n)
	}
}

// TestTest_ErrorsContainTheRemedy checks that the error of a channel that lacks access contains the remedy,
// in every language of macOS.
func TestTest_ErrorsContainTheRemedy(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	none := m.newChannel(imessage.Config{DB: filepath.Join(m.home, "none.db")}, imessage.Options{})
	if err := none.Run(ctx, nil); err == nil || channels.ClassOf(err) != channels.Temporary || !strings.Contains(err.Error(), "sign in") {
		t.Errorf("Run = %v", err)
	}
	file := filepath.Join(m.home, "text.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("text", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.newChannel(imessage.Config{DB: "~/text.db"}, imessage.Options{}).Run(ctx, nil); err == nil || channels.ClassOf(err) != channels.Temporary || !strings.Contains(err.Error(), "channels.imessage.db") {
		t.Errorf("%v", err)
	}
	if err := imessage.Explain(none, os.ErrPermission); channels.ClassOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), "Full Disk Access") || !strings.Contains(err.Error(), "Terminal") {
		t.Errorf("Explain = %v", err)
	}
	for _, goos := range []string{"linux", "windows"} {
		if _, err := imessage.New(imessage.Config{}, channels.Deps{}, imessage.Options{GOOS: goos}); channels.ClassOf(err) != channels.Unsupported || !strings.Contains(err.Error(), "on a Mac") {
			t.Errorf("%s: New = %v", goos, err)
		}
	}
	deps := channels.Deps{Getenv: func(string) string { return "" }}
	for name, cfg := range map[string]imessage.Config{"no home": {}, "who may write": {DB: "/x", Allow: []string{"ada"}}} {
		if _, err := imessage.New(cfg, deps, imessage.Options{GOOS: "darwin"}); err == nil {
			t.Errorf("%s: New accepts the configuration", name)
		}
	}
	c, err := imessage.New(imessage.Config{DB: "/x", Allow: []string{"+1 (555) 0100", "Ada@Example.org"}}, deps, imessage.Options{GOOS: "darwin"})
	if err != nil || !slices.Equal(c.Allow(), []string{"+15550100", "sms:+15550100", "ada@example.org", "sms:ada@example.org"}) {
		t.Errorf("New = %v, %v", c, err)
	}
}

func FuzzWithin(f *testing.F) {
	f.Add("~/Library/Messages/Attachments/../../../etc/passwd")
	f.Add("/Users/a/Library/Messages/Attachments/0a/10/X/IMG_1.heic")
	f.Add(`\Library\Messages\Attachments\..\x`)
	f.Fuzz(func(t *testing.T, p string) {
		if rest, ok := imessage.Within(p); ok && (!filepath.IsLocal(rest) || rest == "") {
			t.Errorf("%q", rest)
		}
		if n := imessage.FileName(p); n == "" || strings.ContainsAny(n, `/\:`) || strings.HasPrefix(n, ".") || utf8.RuneCountInString(n) > 100 {
			t.Errorf("FileName = %q", n)
		}
	})
}

func FuzzAfterPrefix(f *testing.F) {
	f.Add("/d hello", "/d")
	f.Add("ſ", "s")
	f.Fuzz(func(t *testing.T, text, prefix string) {
		if prefix == "" || !utf8.ValidString(prefix) || !utf8.ValidString(text) {
			return
		}
		if rest, ok := imessage.AfterPrefix(text, prefix); ok && !utf8.ValidString(rest) {
			t.Errorf("%q", rest)
		}
	})
}
