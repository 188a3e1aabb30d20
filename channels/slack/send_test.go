package slack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/slack"
	"hob/channels/slack/slacktest"
)

func newReply(id, chat, text string) channels.Delivery {
	return channels.Delivery{ID: id, Event: "e", Kind: channels.Reply, Channel: slack.Name, Chat: chat, Text: text, CreatedAt: time.Now()}
}

func TestSend_InAThread(t *testing.T) {
	d := slacktest.New(t)
	c := d.Open()
	if _, err := c.Send(t.Context(), newReply("d1", "C1/1600000000.000001", "yes")); err != nil {
		t.Fatal(err)
	}
	a := d.Made("chat.postMessage")[0]
	if a.Get("channel") != "C1" || a.Get("thread_ts") != "1600000000.000001" {
		t.Errorf("sent %v", a)
	}
	if err := c.Typing(t.Context(), "C1/1600000000.000001"); err != nil {
		t.Fatal(err)
	}
	d.Failing("assistant.threads.setStatus", slacktest.Failure{Code: "missing_scope", Needed: "x"})
	for range 3 {
		if err := c.Typing(t.Context(), "C1/1600000000.000001"); err != nil {
			t.Errorf("Typing: %v", err)
		}
	}
	if n := len(d.Made("assistant.threads.setStatus")); n != 2 {
		t.Errorf("%d requests for a status that Slack does not show, want 2", n)
	}
}

func TestDraft(t *testing.T) {
	d := slacktest.New(t)
	c := d.Open()
	id, err := c.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "D1", Text: "An ans"})
	if err != nil {
		t.Fatal(err)
	}
	first := newReply("draft", "D1", "")
	first.CreatedAt = time.Now()
	if r, found, err := c.Find(t.Context(), first); err != nil || !found || r.ID != id { // Find, as after a crash
		t.Errorf("Find of draft %s = %q, %v, %v", id, r.ID, found, err)
	}
	if again, err := c.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "D1", Draft: id, Text: "An answer " + strings.Repeat("<", 3400)}); err != nil || again != id {
		t.Fatalf("Draft = %q, %v", again, err)
	}
	if n := len([]rune(d.Posts()[0]["text"].(string))); n > 4000 {
		t.Errorf("a draft of %d characters", n)
	}
	d.Failing("chat.update", slacktest.Failure{Status: 429, After: "1"})
	if _, err := c.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "D1", Draft: id, Text: "x"}); channels.ClassOf(err) != channels.Later {
		t.Errorf("Draft: %v", err)
	}
	if again, err := c.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "D1", Draft: id, Text: "x"}); again != id || channels.ClassOf(err) != channels.Later || len(d.Made("chat.update")) != 2 {
		t.Errorf("Draft after Slack's rate limit = %v", err)
	}
	whole := newReply("d1", "D1", "An answer. See https://example.invalid")
	whole.Draft = id
	r, err := c.Send(t.Context(), whole)
	if err != nil || r.ID != id {
		t.Fatalf("Send = %+v, %v", r, err)
	}
	if got := d.Arrived(); len(got) != 1 || !strings.HasPrefix(got[0], "An answer. See") {
		t.Errorf("arrived %q", got)
	}
	if _, found, err := c.Find(t.Context(), whole); !found || err != nil {
		t.Errorf("Find of the answer = %v", err)
	}
	for name, draft := range map[string]string{"gone": "1500000000.000001", "too long": id} {
		next := newReply("d-"+name, "D1", "again")
		if name == "too long" {
			next.Text = strings.Repeat("<", 3000)
		}
		next.Draft = draft
		if r, err := c.Send(t.Context(), next); err != nil || r.ID == draft {
			t.Errorf("%s: Send = %+v, %v", name, r, err)
		}
	}
	if n := d.Previewed(); n != 0 {
		t.Errorf("%d previews", n)
	}
}

// A draft that cannot be deleted is replaced by a note, so that it does not look like the complete
// answer.
func TestDraft_ThatCannotBeDeleted(t *testing.T) {
	d := slacktest.New(t)
	c := d.Open()
	id, err := c.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "D1", Text: "The beginning"})
	if err != nil {
		t.Fatal(err)
	}
	d.Failing("chat.delete", slacktest.Failure{Code: "cant_delete_message"})
	whole := newReply("d1", "D1", strings.Repeat("<", 3000))
	whole.Draft = id
	if r, err := c.Send(t.Context(), whole); err != nil || r.ID == id {
		t.Fatalf("Send = %+v, %v", r, err)
	}
	if got := d.Arrived(); len(got) != 2 || got[0] != "(full answer below)" || strings.Contains(got[1], "below") {
		t.Errorf("arrived %q", got)
	}
}

// TestDraft_LeavesRoomForAnswers checks that drafts in many chats leave part of the rate limit for complete
// texts, and that a complete text is posted as a new message if Slack would delay its edit.
func TestDraft_LeavesRoomForAnswers(t *testing.T) {
	d := slacktest.New(t)
	c := d.Open()
	id, shown := "", 0
	for n := range 60 {
		var err error
		if id, err = c.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: fmt.Sprintf("D%d", n/3), Draft: id, Text: fmt.Sprint("so far ", n)}); err == nil {
			shown++
		} else if e, ok := errors.AsType[*channels.Error](err); !ok || e.Class != channels.Later || time.Until(e.RetryAt) > time.Minute {
			t.Fatalf("Draft: %v", err)
		}
		if n%3 == 2 {
			id = ""
		}
	}
	if shown != 40 {
		t.Errorf("%d drafts in a minute", shown)
	}
	d = slacktest.New(t)
	c = d.Open()
	id, err := c.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "D1", Text: "so far"})
	if err != nil {
		t.Fatal(err)
	}
	d.Failing("chat.update", slacktest.Failure{Status: 429, After: "30"})
	whole := newReply("d1", "D1", "All of it.")
	whole.Draft = id
	if r, err := c.Send(t.Context(), whole); err != nil || r.ID == id {
		t.Errorf("Send = %+v, %v", r, err)
	}
	if got := d.Arrived(); !slices.Equal(got, []string{"All of it."}) {
		t.Errorf("arrived %q", got)
	}
}

// TestFind checks that Find finds a text, in chats and threads, that Slack stored although the call
// failed.
func TestFind(t *testing.T) {
	d := slacktest.New(t)
	c := d.Open()
	d.Write(object{"channel": "C1", "user": "U1", "text": "begin", "ts": "1600000000.000001"})
	for _, chat := range []string{"D1", "C1/1600000000.000001"} {
		d.Failing("chat.postMessage", slacktest.Failure{Status: 500, Late: true})
		row := newReply("d-"+chat, chat, "hello")
		_, err := c.Send(t.Context(), row)
		if e, ok := errors.AsType[*channels.Error](err); !ok || !e.MaybeSent {
			t.Fatalf("Send: %v", err)
		}
		if _, found, err := c.Find(t.Context(), row); !found || err != nil {
			t.Errorf("%s: Find = %v, want the message", chat, err)
		}
		if _, found, err := c.Find(t.Context(), newReply("other", chat, "hello")); found || err != nil {
			t.Errorf("%s: Find of another message = %v", chat, err)
		}
	}
	// Another person's message with Hob's metadata does not count as Hob's.
	d.Write(object{"channel": "D1", "user": "U1", "text": "x", "metadata": object{"event_type": "hob", "event_payload": object{"id": "forged"}}})
	if _, found, _ := c.Find(t.Context(), newReply("forged", "D1", "x")); found {
		t.Error("a forged mark was believed")
	}
}

func TestSend_Files(t *testing.T) {
	d := slacktest.New(t)
	c := d.Open()
	p := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(p, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	row := newReply("d1", "C1/1600000000.000001", "here")
	row.Files = []channels.Attachment{{Name: "a.txt", Size: 7, Path: p}}
	d.Failing("chat.postMessage", slacktest.Failure{Status: 429, After: "3"})
	_, err := c.Send(t.Context(), row)
	if e, ok := errors.AsType[*channels.Error](err); !ok || e.Class != channels.Later || time.Until(e.RetryAt) < time.Second {
		t.Fatalf("Send: %v", err)
	}
	if _, err := c.Send(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if string(d.Files["a.txt"]) != "content" || len(d.Shown) != 1 || d.Shown[0] != `[{"id":"F7","title":"a.txt"}]` {
		t.Errorf("uploaded %q, shown %q", d.Files, d.Shown)
	}
	if a := d.Made("files.completeUploadExternal")[0]; a.Get("channel_id") != "C1" || a.Get("thread_ts") != "1600000000.000001" {
		t.Errorf("shown in %v", a)
	}
	row.ID = "d2"
	d.Failing("files.getUploadURLExternal", slacktest.Failure{Code: "missing_scope", Needed: "files:write"})
	if _, err := c.Send(t.Context(), row); channels.ClassOf(err) != channels.Permanent || !strings.Contains(err.Error(), "files:write") {
		t.Errorf("Send without the scope = %v", err)
	}
}

func TestSend_Errors(t *testing.T) {
	for _, tt := range []struct {
		f     slacktest.Failure
		class channels.Class
		want  string
	}{
		{slacktest.Failure{Code: "invalid_auth"}, channels.Unauthorized, "hob channel add slack"},
		{slacktest.Failure{Code: "account_inactive"}, channels.Unauthorized, "hob channel add slack"},
		{slacktest.Failure{Code: "missing_scope", Needed: "chat:write"}, channels.Unauthorized, "missing scope chat:write"},
		{slacktest.Failure{Code: "channel_not_found"}, channels.Permanent, "write to Hob"},
		{slacktest.Failure{Code: "is_archived"}, channels.Permanent, "archived"},
		{slacktest.Failure{Code: "not_in_channel"}, channels.Permanent, "/invite @hob"},
		{slacktest.Failure{Code: "msg_too_long"}, channels.Permanent, "msg_too_long"},
		{slacktest.Failure{Code: "ratelimited", After: "7"}, channels.Later, "ratelimited"},
		{slacktest.Failure{Code: "internal_error"}, channels.Temporary, "internal_error"},
		{slacktest.Failure{Code: "<!channel> " + slacktest.BotToken + "\n"}, channels.Temporary, "channelxoxb"},
		{slacktest.Failure{Status: 502}, channels.Temporary, "502"},
		{slacktest.Failure{Status: 200}, channels.Temporary, "without JSON"},
	} {
		d := slacktest.New(t)
		d.Failing("chat.postMessage", tt.f)
		_, err := d.Open().Send(t.Context(), newReply("d1", "D1", "x"))
		if err == nil || channels.ClassOf(err) != tt.class || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v (class %d)", tt.f, err, channels.ClassOf(err))
		}
	}
}

// checkButtons checks that slack-go finds the buttons Approve and Deny in a message.
func checkButtons(t *testing.T, m object) {
	t.Helper()
	raw, _ := json.Marshal(m["blocks"])
	var blocks slackgo.Blocks
	if err := json.Unmarshal(raw, &blocks); err != nil {
		t.Fatalf("slack-go cannot parse the blocks: %v", err)
	}
	var labels []string
	for _, b := range blocks.BlockSet {
		if a, ok := b.(*slackgo.ActionBlock); ok {
			for _, e := range a.Elements.ElementSet {
				labels = append(labels, e.(*slackgo.ButtonBlockElement).Text.Text)
			}
		}
	}
	if !slices.Equal(labels, []string{"Approve", "Deny"}) {
		t.Fatalf("the buttons are %q", labels)
	}
}

// withoutButtons reports whether a message has no buttons, and returns its blocks as JSON.
func withoutButtons(m object) (note string, ok bool) {
	raw, _ := json.Marshal(m["blocks"])
	return string(raw), !strings.Contains(string(raw), "actions")
}

func TestButtons(t *testing.T) {
	for _, tt := range []struct {
		name    string
		yes     bool
		restart bool
		chat    string
		want    string
	}{
		{"approve", true, false, "D1", "Approved by Name of U1. Thank you. Going on."},
		{"deny in a thread", false, false, "C1/1600000000.000001", "Denied by Name of U1. All right"},
		{"approve after a restart", true, true, "D1", "Approved by Name of U1."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := slacktest.New(t)
			box := &channelstest.Buttons{Owner: slacktest.Team + "/U1", Question: "q1"}
			d.Deps.Buttons = box
			c := d.Open()
			stop := startListening(t, c, &channelstest.Inbox{})
			row := newReply("d1", tt.chat, "May I send <!channel> & co?\n"+strings.Repeat("word ", 700))
			row.Kind = channels.Question
			if _, err := c.Send(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			if tt.restart {
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				channelstest.Until(t, "the end", func() bool { return d.Connections() == 0 })
				startListening(t, d.Open(), &channelstest.Inbox{})
			}
			checkButtons(t, d.Posts()[0])
			env := d.Press(tt.chat, "U2", tt.yes)
			channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) })
			channelstest.Until(t, "the refusal", func() bool { return len(d.Made("chat.postEphemeral")) == 1 })
			whisper := d.Made("chat.postEphemeral")[0]
			if _, ok := withoutButtons(d.Posts()[0]); ok || len(box.Pressed()) > 0 || whisper.Get("user") != "U2" {
				t.Fatalf("an unknown sender's press had an effect: %v", whisper)
			}
			env = d.Press(tt.chat, "U1", tt.yes)
			channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) })
			channelstest.Until(t, "the end of the buttons", func() bool { _, ok := withoutButtons(d.Posts()[0]); return ok })
			note, _ := withoutButtons(d.Posts()[0])
			if !strings.Contains(note, tt.want) || !strings.Contains(note, "May I send") {
				t.Errorf("note = %s", note)
			}
			p := box.Pressed()
			if len(p) != 1 || p[0].Yes != tt.yes || p[0].Question != "q1" || p[0].Sender != slacktest.Team+"/U1" || p[0].Chat != tt.chat || time.Since(p[0].Shown).Abs() > time.Minute {
				t.Errorf("pressed %+v", p)
			}
			if len(d.Rendered()) > 0 {
				t.Errorf("mentions: %q", d.Rendered())
			}
		})
	}
}

// TestButtons_AreRemovedWhenAnsweredElsewhere checks that buttons are removed after the question was answered elsewhere,
// even while Hob was off.
func TestButtons_AreRemovedWhenAnsweredElsewhere(t *testing.T) {
	for _, off := range []bool{false, true} {
		d := slacktest.New(t)
		box := &channelstest.Buttons{Owner: slacktest.Team + "/U1", Question: "q1"}
		d.Deps.Buttons = box
		c := d.Open()
		stop := startListening(t, c, &channelstest.Inbox{})
		d.Write(object{"channel": "C1", "user": "U1", "text": "begin", "ts": "1600000000.000001"})
		row := newReply("d1", "C1/1600000000.000001", "May I?")
		row.Kind = channels.Question
		if _, err := c.Send(t.Context(), row); err != nil {
			t.Fatal(err)
		}
		if off {
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := box.Answer(t.Context(), "web", "q1", time.Now(), true); err != nil {
			t.Fatal(err)
		}
		if off {
			startListening(t, d.Open(), &channelstest.Inbox{})
		}
		channelstest.Until(t, "the end of the buttons", func() bool {
			note, ok := withoutButtons(d.Posts()[0])
			return ok && strings.Contains(note, "no longer open")
		})
		if raw, _ := d.Keep.Get(t.Context(), "asked"); off && string(raw) != "{}" {
			channelstest.Until(t, "the removal of the stored question", func() bool { raw, _ := d.Keep.Get(t.Context(), "asked"); return string(raw) == "{}" })
		}
	}
}

// TestManifest checks the manifest as slack-go parses it.
func TestManifest(t *testing.T) {
	var m slackgo.Manifest
	if err := json.Unmarshal([]byte(slack.Manifest("Hob <x>")), &m); err != nil {
		t.Fatal(err)
	}
	switch {
	case m.Display.Name != "Hob <x>":
		t.Errorf("display name = %q", m.Display.Name)
	case !m.Settings.SocketModeEnabled || m.Settings.Interactivity == nil || !m.Settings.Interactivity.IsEnabled:
		t.Errorf("settings %+v", m.Settings)
	case !slices.Equal(m.OAuthConfig.Scopes.Bot, slack.Scopes()) || len(m.OAuthConfig.Scopes.User) > 0:
		t.Errorf("scopes %+v", m.OAuthConfig.Scopes)
	case !slices.Equal(m.Settings.EventSubscriptions.BotEvents, []string{"app_mention", "message.channels", "message.groups", "message.im", "message.mpim"}):
		t.Errorf("events %+v", m.Settings.EventSubscriptions)
	case len(m.Features.SlashCommands) != 1 || m.Features.SlashCommands[0].Command != "/hob" || !m.Features.AppHome.MessagesTabEnabled || m.Features.AppHome.MessagesTabReadOnlyEnabled:
		t.Errorf("features %+v", m.Features)
	}
	if long := slack.Manifest(strings.Repeat("ü", 100)); !strings.Contains(long, `"`+strings.Repeat("ü", 35)+`"`) {
		t.Error("a long name is not shortened")
	}
}

func TestTest(t *testing.T) {
	d := slacktest.New(t)
	c := d.Open()
	said, err := c.Test(t.Context())
	if err != nil || said != "signed in as @hob on Home; Socket Mode works" {
		t.Errorf("%q, %v", said, err)
	}
	d.Granted = "chat:write,im:history"
	if _, err := c.Test(t.Context()); channels.ClassOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), "files:read") || strings.Contains(err.Error(), "chat:write") {
		t.Errorf("Test without scopes = %v", err)
	}
	d.Failing("auth.test", slacktest.Failure{Code: "account_inactive"})
	if _, err := c.Test(t.Context()); channels.ClassOf(err) != channels.Unauthorized {
		t.Errorf("Test = %v", err)
	}
}

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		c    slack.Config
		want string
	}{
		{slack.Config{AppToken: slacktest.AppToken}, "bot_token is missing"},
		{slack.Config{BotToken: slacktest.BotToken}, "app_token is missing"},
		{slack.Config{BotToken: slacktest.AppToken, AppToken: slacktest.BotToken}, "the bot_token is not valid: it must start with xoxb-"},
		{slack.Config{BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, Allow: []string{"ada"}}, `"ada" in allow`},
		{slack.Config{BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, Allow: []string{"T1/U1", "U2"}}, ""},
		{slack.Config{BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, Allow: []string{"ada@example.com"}}, ""},
		{slack.Config{BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, Allow: []string{"ada@example.com, bob@example.com"}}, "Copy member ID"},
		{slack.Config{BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, Allow: []string{"@ada"}}, "Copy member ID"},
		{slack.Config{BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, Allow: []string{"C1"}}, `"C1" in allow`},
	} {
		_, err := slack.Driver{}.New(func(v any) error { *v.(*slack.Config) = tt.c; return nil }, channels.Deps{})
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%+v: %v", tt.c, err)
		}
	}
}

func TestConformance(t *testing.T) {
	channelstest.Conform(t, func(t *testing.T) (channels.Channel, channelstest.Platform) {
		d := slacktest.New(t)
		return d.Open(), d
	})
}
