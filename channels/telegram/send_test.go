package telegram_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram/telegramtest"
)

func newReply(id, chat, text string) channels.Delivery {
	return channels.Delivery{ID: id, Kind: channels.Reply, Channel: "telegram", Chat: chat, Text: text, CreatedAt: time.Now()}
}

func TestSend(t *testing.T) {
	a := telegramtest.New(t)
	ch := a.Open()
	d := newReply("d1", "-100/5", "**bold** <b>&\n\n| a | b |\n|---|---|\n| 1 | 2 |")
	d.Cause = []byte(`{"m":77,"g":true}`)
	r, err := ch.Send(t.Context(), d)
	if err != nil || r.ID == "" {
		t.Fatal(r, err)
	}
	got := a.Posts()[0]
	if got.Chat != "-100" || fmt.Sprint(got.Params["message_thread_id"]) != "5" || got.Raw != "<b>bold</b> &lt;b&gt;&amp;\n\n<pre>a  b\n-  -\n1  2</pre>" {
		t.Errorf("sent %+v", got)
	}
	if fmt.Sprint(got.Params["reply_parameters"]) != "map[allow_sending_without_reply:true message_id:77]" {
		t.Errorf("reply_parameters = %v", got.Params["reply_parameters"])
	}
	// A text that the server cannot parse, or finds too long, is sent as plain text.
	a.With(func() { a.NoHTML = true })
	if _, err := ch.Send(t.Context(), newReply("d2", "7", "**bold** [x](https://x.example)")); err != nil {
		t.Fatal(err)
	}
	a.With(func() { a.NoHTML = false })
	long := "| a | b |\n|---|---|\n" + strings.Repeat("| x | |\n", 400) + "| " + strings.Repeat("w", 30) + " | z |"
	if _, err := ch.Send(t.Context(), newReply("d3", "7", long)); err != nil {
		t.Fatal(err)
	}
	if _, err := ch.Send(t.Context(), newReply("d4", "7", "```\n```")); err != nil {
		t.Fatal(err)
	}
	sent := a.Posts()
	if sent[1].Text != "bold x (https://x.example)" || sent[3].Text != "```\n```" {
		t.Errorf("sent %q and %q", sent[1].Text, sent[3].Text)
	}
}

func TestDraft(t *testing.T) {
	a := telegramtest.New(t)
	ch := a.Open()
	id, err := ch.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "7", Text: "Well"})
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	for _, text := range []string{"Well, **this", "Well, **this", "Well, **this** is\n```go\nx :="} {
		if again, err := ch.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "7", Draft: id, Text: text}); err != nil || again != id {
			t.Fatal(again, err)
		}
	}
	d := newReply("d1", "7", "Well, **this** is it.")
	d.Draft = id
	r, err := ch.Send(t.Context(), d)
	if err != nil || r.ID != id {
		t.Fatal(r, err)
	}
	if n := len(a.Arrived()); n != 1 || len(a.Texts) != 1 || a.Posts()[0].Params["disable_notification"] != true {
		t.Errorf("%d messages", n)
	}
	for _, text := range a.Texts {
		if text != "Well, this is it." {
			t.Errorf("shown: %q", text)
		}
	}
	d.ID, d.Draft = "d2", "424242" // the draft was deleted
	if r, err = ch.Send(t.Context(), d); err != nil || r.ID == "424242" || len(a.Arrived()) != 2 {
		t.Error(r, err)
	}
	if a.Previewed() != 0 {
		t.Error("links are fetched")
	}
}

func TestMigration(t *testing.T) {
	a := telegramtest.New(t)
	a.With(func() { a.Migrated["-5"] = -1005 })
	ch := a.Open()
	for i := range 2 {
		if _, err := ch.Send(t.Context(), newReply(fmt.Sprint("d", i), "-5", "hi")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Open().Send(t.Context(), newReply("d9", "-5", "hi")); err != nil {
		t.Fatal(err)
	}
	if n := a.Called("sendMessage"); n != 4 {
		t.Errorf("%d calls, want one that was refused and 3", n)
	}
	for _, s := range a.Posts() {
		if s.Chat != "-1005" {
			t.Errorf("sent to %s", s.Chat)
		}
	}
	// An answer to a message in the old group does not reply to a message in the new one.
	d := newReply("d10", "-5", "hi")
	d.Cause = []byte(`{"m":3,"g":true,"c":-5}`)
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if s := a.Posts(); s[len(s)-1].Params["reply_parameters"] != nil {
		t.Error("the text replies to another message")
	}
	// A message from the supergroup belongs to the conversation of the original group.
	inbox := &channelstest.Inbox{}
	channelstest.Running(t, ch, inbox)
	awaitListening(t, a)
	a.Add("message", object{"message_id": 8, "text": "hi", "from": object{"id": 1}, "chat": object{"id": -1005, "type": "supergroup"}})
	channelstest.Until(t, "the message", func() bool { return len(inbox.Heard()) == 1 })
	if in := inbox.Heard()[0]; in.Chat != "-5" || in.Key != "-1005/8" {
		t.Errorf("received %+v", in)
	}
	a.Add("message", object{"message_id": 1, "chat": object{"id": -6, "type": "group"}, "from": object{"id": 1}, "migrate_to_chat_id": -1006})
	channelstest.Until(t, "the new chat id", func() bool {
		_, err := ch.Send(t.Context(), newReply("m", "-6", "hi"))
		s := a.Posts()
		return err == nil && s[len(s)-1].Chat == "-1006"
	})
}

func TestSend_Files(t *testing.T) {
	a := telegramtest.New(t)
	ch := a.Open()
	dir := t.TempDir()
	file := func(name, mime, content string) channels.Attachment {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return channels.Attachment{Name: name, MIME: mime, Size: int64(len(content)), Path: path}
	}
	d := newReply("d1", "7", "**Here**")
	d.Files = []channels.Attachment{file("a.pdf", "application/pdf", "pdf")}
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	d = newReply("d2", "7/3", "Two")
	d.Files = []channels.Attachment{file("b.png", "image/png", "png"), file("c.txt", "text/plain", "txt")}
	a.Fail(channels.Temporary, 1)
	if _, err := ch.Send(t.Context(), d); err == nil {
		t.Fatal("Send returned no error")
	}
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range a.Posts() {
		got = append(got, fmt.Sprintf("%s %s %s %s %q", s.Method, s.Chat, s.Filename, s.File, s.Text))
	}
	want := []string{`sendDocument 7 a.pdf pdf "Here"`, `sendMessage 7   "Two"`, `sendPhoto 7 b.png png ""`, `sendDocument 7 c.txt txt ""`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// A text that arrived is not sent again when a later file fails.
	d.ID = "d3"
	missing := d
	missing.Files = []channels.Attachment{file("e.txt", "text/plain", "e"), {Name: "gone.txt", Path: filepath.Join(dir, "gone.txt")}}
	before := len(a.Posts())
	for range 2 {
		if _, err := ch.Send(t.Context(), missing); err == nil || !strings.Contains(err.Error(), "gone.txt") {
			t.Error(err)
		}
	}
	if n := len(a.Posts()) - before; n != 2 {
		t.Errorf("%d posts, want the text and the first file", n)
	}
}
