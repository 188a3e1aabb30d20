package slack

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"hob/channels"
	"hob/channels/channelstest"
)

func say(id, chat, text string) channels.Delivery {
	return channels.Delivery{ID: id, Event: "e", Kind: channels.Reply, Channel: Name, Chat: chat, Text: text, CreatedAt: time.Now()}
}

func TestThread(t *testing.T) {
	d := newSlackd(t)
	c := d.channel()
	if _, err := c.Send(t.Context(), say("d1", "C1/1600000000.000001", "yes")); err != nil {
		t.Fatal(err)
	}
	a := d.made("chat.postMessage")[0]
	if a.Get("channel") != "C1" || a.Get("thread_ts") != "1600000000.000001" {
		t.Errorf("sent %v", a)
	}
	if err := c.Typing(t.Context(), "C1/1600000000.000001"); err != nil {
		t.Fatal(err)
	}
	d.failing("assistant.threads.setStatus", failure{code: "missing_scope", needed: "x"})
	for range 3 {
		if err := c.Typing(t.Context(), "C1/1600000000.000001"); err != nil {
			t.Errorf("Typing: %v", err)
		}
	}
	if n := len(d.made("assistant.threads.setStatus")); n != 2 {
		t.Errorf("asked %d times for a status that Slack does not show, want 2", n)
	}
}

func TestDraft(t *testing.T) {
	d := newSlackd(t)
	c := d.channel()
	id, err := c.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "D1", Text: "An ans"})
	if err != nil {
		t.Fatal(err)
	}
	first := say("draft", "D1", "")
	first.CreatedAt = time.Now()
	if r, found, err := c.Find(t.Context(), first); err != nil || !found || r.ID != id { // as after a crash
		t.Errorf("the draft %s is found as %q, %v, %v", id, r.ID, found, err)
	}
	if again, err := c.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "D1", Draft: id, Text: "An answer " + strings.Repeat("<", 3400)}); err != nil || again != id {
		t.Fatalf("%q, %v", again, err)
	}
	if n := len([]rune(d.posts()[0]["text"].(string))); n > maxUpdate {
		t.Errorf("a draft of %d characters", n)
	}
	d.failing("chat.update", failure{status: 429, after: "1"})
	if _, err := c.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "D1", Draft: id, Text: "x"}); channels.ClassOf(err) != channels.Later {
		t.Errorf("Draft: %v", err)
	}
	if again, err := c.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "D1", Draft: id, Text: "x"}); again != id || err != nil || len(d.made("chat.update")) != 2 {
		t.Errorf("a draft was shown although Slack asked to slow down: %v", err)
	}
	whole := say("d1", "D1", "An answer. See https://example.invalid")
	whole.Draft = id
	r, err := c.Send(t.Context(), whole)
	if err != nil || r.ID != id {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := d.Arrived(); len(got) != 1 || !strings.HasPrefix(got[0], "An answer. See") {
		t.Errorf("arrived %q", got)
	}
	if _, found, err := c.Find(t.Context(), whole); !found || err != nil {
		t.Errorf("the answer is not found: %v", err)
	}
	for name, draft := range map[string]string{"gone": "1500000000.000001", "too long": id} {
		next := say("d-"+name, "D1", "again")
		if name == "too long" {
			next.Text = strings.Repeat("<", 3000)
		}
		next.Draft = draft
		if r, err := c.Send(t.Context(), next); err != nil || r.ID == draft {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if n := d.Previewed(); n != 0 {
		t.Errorf("%d previews", n)
	}
}

// TestFind: what Slack took although it failed is found, in chats and threads.
func TestFind(t *testing.T) {
	d := newSlackd(t)
	c := d.channel()
	d.write(object{"channel": "C1", "user": "U1", "text": "begin", "ts": "1600000000.000001"})
	for _, chat := range []string{"D1", "C1/1600000000.000001"} {
		d.failing("chat.postMessage", failure{status: 500, late: true})
		row := say("d-"+chat, chat, "hello")
		_, err := c.Send(t.Context(), row)
		if e, ok := errors.AsType[*channels.Error](err); !ok || !e.MaybeSent {
			t.Fatalf("Send: %v", err)
		}
		if _, found, err := c.Find(t.Context(), row); !found || err != nil {
			t.Errorf("%s: not found: %v", chat, err)
		}
		if _, found, err := c.Find(t.Context(), say("other", chat, "hello")); found || err != nil {
			t.Errorf("%s: another one was found: %v", chat, err)
		}
	}
	// Somebody else's message with Hob's mark is not Hob's.
	d.write(object{"channel": "D1", "user": "U1", "text": "x", "metadata": object{"event_type": "hob", "event_payload": object{"id": "forged"}}})
	if _, found, _ := c.Find(t.Context(), say("forged", "D1", "x")); found {
		t.Error("a forged mark was believed")
	}
}

func TestFilesOut(t *testing.T) {
	d := newSlackd(t)
	c := d.channel()
	p := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(p, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	row := say("d1", "C1/1600000000.000001", "here")
	row.Files = []channels.Attachment{{Name: "a.txt", Size: 7, Path: p}}
	d.failing("chat.postMessage", failure{status: 429, after: "3"})
	_, err := c.Send(t.Context(), row)
	if e, ok := errors.AsType[*channels.Error](err); !ok || e.Class != channels.Later || time.Until(e.RetryAt) < time.Second {
		t.Fatalf("Send: %v", err)
	}
	if _, err := c.Send(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if string(d.files["a.txt"]) != "content" || len(d.shown) != 1 || d.shown[0] != `[{"id":"F7","title":"a.txt"}]` {
		t.Errorf("uploaded %q, shown %q", d.files, d.shown)
	}
	if a := d.made("files.completeUploadExternal")[0]; a.Get("channel_id") != "C1" || a.Get("thread_ts") != "1600000000.000001" {
		t.Errorf("shown in %v", a)
	}
	row.ID = "d2"
	d.failing("files.getUploadURLExternal", failure{code: "missing_scope", needed: "files:write"})
	if _, err := c.Send(t.Context(), row); channels.ClassOf(err) != channels.Permanent || !strings.Contains(err.Error(), "files:write") {
		t.Errorf("without the scope: %v", err)
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		f     failure
		class channels.Class
		want  string
	}{
		{failure{code: "invalid_auth"}, channels.Unauthorised, "hob channel add slack"},
		{failure{code: "account_inactive"}, channels.Unauthorised, "hob channel add slack"},
		{failure{code: "missing_scope", needed: "chat:write"}, channels.Unauthorised, "it needs the scope chat:write"},
		{failure{code: "channel_not_found"}, channels.Permanent, "write to Hob"},
		{failure{code: "is_archived"}, channels.Permanent, "archived"},
		{failure{code: "not_in_channel"}, channels.Permanent, "/invite @hob"},
		{failure{code: "msg_too_long"}, channels.Permanent, "msg_too_long"},
		{failure{code: "ratelimited", after: "7"}, channels.Later, "ratelimited"},
		{failure{code: "internal_error"}, channels.Temporary, "internal_error"},
		{failure{code: "<!channel> " + botToken + "\n"}, channels.Temporary, "channelxoxb"},
		{failure{status: 502}, channels.Temporary, "502"},
		{failure{status: 200}, channels.Temporary, "no JSON"},
	} {
		d := newSlackd(t)
		d.failing("chat.postMessage", tt.f)
		_, err := d.channel().Send(t.Context(), say("d1", "D1", "x"))
		if err == nil || channels.ClassOf(err) != tt.class || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v (class %d)", tt.f, err, channels.ClassOf(err))
		}
	}
}

// pressed is a press as Slack tells it.
func (d *slackd) pressed(m object, user string, yes bool) string {
	raw, _ := json.Marshal(m["blocks"])
	var blocks slackgo.Blocks
	if err := json.Unmarshal(raw, &blocks); err != nil {
		d.t.Fatalf("slack-go does not read the blocks: %v", err)
	}
	var buttons []*slackgo.ButtonBlockElement
	for _, b := range blocks.BlockSet {
		if a, ok := b.(*slackgo.ActionBlock); ok {
			for _, e := range a.Elements.ElementSet {
				buttons = append(buttons, e.(*slackgo.ButtonBlockElement))
			}
		}
	}
	if len(buttons) != 2 || buttons[0].Text.Text != "Approve" || buttons[1].Text.Text != "Deny" {
		d.t.Fatalf("the buttons are %+v", buttons)
	}
	b := buttons[1]
	if yes {
		b = buttons[0]
	}
	shown := object{}
	for _, k := range []string{"type", "user", "bot_id", "ts", "thread_ts", "text", "blocks", "team"} {
		if v, ok := m[k]; ok {
			shown[k] = v
		}
	}
	return d.envelope("interactive", object{
		"type": "block_actions", "user": object{"id": user, "username": "ada", "team_id": team}, "team": object{"id": team}, "channel": object{"id": m["channel"], "name": "x"},
		"container": object{"type": "message", "message_ts": m["ts"], "channel_id": m["channel"]}, "message": shown, "trigger_id": "1.2.3", "response_url": "https://hooks.slack.com/actions/secret",
		"actions": []object{{"type": "button", "action_id": b.ActionID, "block_id": "hob", "value": b.Value, "action_ts": "1700000000.1"}},
	}, nil)
}

// bare reports whether a message has no buttons, and what stands below it.
func bare(m object) (note string, ok bool) {
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
			d := newSlackd(t)
			d.box = &channelstest.Buttons{Owner: team + "/U1", Question: "q1"}
			c := d.channel()
			stop := d.listening(c, &channelstest.Inbox{})
			row := say("d1", tt.chat, "May I send <!channel> & co?\n"+strings.Repeat("word ", 700))
			row.Kind = channels.Question
			if _, err := c.Send(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			if tt.restart {
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				until(t, "the end", func() bool { return d.connections() == 0 })
				d.listening(d.channel(), &channelstest.Inbox{})
			}
			m := d.posts()[0]
			env := d.pressed(m, "U2", tt.yes)
			until(t, "the acknowledgement", func() bool { return d.acked(env) })
			until(t, "the word to the stranger", func() bool { return len(d.made("chat.postEphemeral")) == 1 })
			whisper := d.made("chat.postEphemeral")[0]
			if _, ok := bare(d.posts()[0]); ok || len(d.box.Pressed()) > 0 || whisper.Get("user") != "U2" {
				t.Fatalf("a stranger's press did something: %v", whisper)
			}
			env = d.pressed(m, "U1", tt.yes)
			until(t, "the acknowledgement", func() bool { return d.acked(env) })
			until(t, "the end of the buttons", func() bool { d.mu.Lock(); defer d.mu.Unlock(); _, ok := bare(m); return ok })
			d.mu.Lock()
			note, _ := bare(m)
			d.mu.Unlock()
			if !strings.Contains(note, tt.want) || !strings.Contains(note, "May I send") {
				t.Errorf("it says %s", note)
			}
			p := d.box.Pressed()
			if len(p) != 1 || p[0].Yes != tt.yes || p[0].Question != "q1" || p[0].Sender != team+"/U1" || p[0].Chat != tt.chat || time.Since(p[0].Shown).Abs() > time.Minute {
				t.Errorf("pressed %+v", p)
			}
			if len(d.Rendered()) > 0 {
				t.Errorf("mentions: %q", d.Rendered())
			}
		})
	}
}

// TestEndedElsewhere: buttons go when the question was answered elsewhere, also when Hob
// was off meanwhile.
func TestEndedElsewhere(t *testing.T) {
	for _, off := range []bool{false, true} {
		d := newSlackd(t)
		d.box = &channelstest.Buttons{Owner: team + "/U1", Question: "q1"}
		c := d.channel()
		stop := d.listening(c, &channelstest.Inbox{})
		d.write(object{"channel": "C1", "user": "U1", "text": "begin", "ts": "1600000000.000001"})
		row := say("d1", "C1/1600000000.000001", "May I?")
		row.Kind = channels.Question
		if _, err := c.Send(t.Context(), row); err != nil {
			t.Fatal(err)
		}
		if off {
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.box.Answer(t.Context(), "web", "q1", time.Now(), true); err != nil {
			t.Fatal(err)
		}
		if off {
			d.listening(d.channel(), &channelstest.Inbox{})
		}
		until(t, "the end of the buttons", func() bool {
			m := d.posts()[0]
			d.mu.Lock()
			defer d.mu.Unlock()
			note, ok := bare(m)
			return ok && strings.Contains(note, "waits for no answer")
		})
		if raw, _ := d.keep.Get(t.Context(), keepAsked); off && string(raw) != "{}" {
			until(t, "that it is forgotten", func() bool { raw, _ := d.keep.Get(t.Context(), keepAsked); return string(raw) == "{}" })
		}
	}
}

// TestManifest: slack-go reads the manifest as it is meant.
func TestManifest(t *testing.T) {
	var m slackgo.Manifest
	if err := json.Unmarshal([]byte(Manifest("Hob <x>")), &m); err != nil {
		t.Fatal(err)
	}
	switch {
	case m.Display.Name != "Hob <x>":
		t.Errorf("called %q", m.Display.Name)
	case !m.Settings.SocketModeEnabled || m.Settings.Interactivity == nil || !m.Settings.Interactivity.IsEnabled:
		t.Errorf("settings %+v", m.Settings)
	case !slices.Equal(m.OAuthConfig.Scopes.Bot, scopes()) || len(m.OAuthConfig.Scopes.User) > 0:
		t.Errorf("scopes %+v", m.OAuthConfig.Scopes)
	case !slices.Equal(m.Settings.EventSubscriptions.BotEvents, []string{"app_mention", "message.channels", "message.groups", "message.im", "message.mpim"}):
		t.Errorf("events %+v", m.Settings.EventSubscriptions)
	case len(m.Features.SlashCommands) != 1 || m.Features.SlashCommands[0].Command != "/hob" || !m.Features.AppHome.MessagesTabEnabled || m.Features.AppHome.MessagesTabReadOnlyEnabled:
		t.Errorf("features %+v", m.Features)
	}
	if long := Manifest(strings.Repeat("ü", 100)); !strings.Contains(long, `"`+strings.Repeat("ü", 35)+`"`) {
		t.Error("a long name is not cut")
	}
}

func TestTest(t *testing.T) {
	d := newSlackd(t)
	c := d.channel()
	said, err := c.Test(t.Context())
	if err != nil || said != "signed in as @hob on Home; Socket Mode answers" {
		t.Errorf("%q, %v", said, err)
	}
	d.granted = "chat:write,im:history"
	if _, err := c.Test(t.Context()); channels.ClassOf(err) != channels.Unauthorised || !strings.Contains(err.Error(), "files:read") || strings.Contains(err.Error(), "chat:write") {
		t.Errorf("without scopes: %v", err)
	}
	d.failing("auth.test", failure{code: "account_inactive"})
	if _, err := c.Test(t.Context()); channels.ClassOf(err) != channels.Unauthorised {
		t.Errorf("%v", err)
	}
}

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		c    Config
		want string
	}{
		{Config{AppToken: appToken}, "no bot_token"},
		{Config{BotToken: botToken}, "no app_token"},
		{Config{BotToken: appToken, AppToken: botToken}, "the bot_token is none: Slack's begins with xoxb-"},
		{Config{BotToken: botToken, AppToken: appToken, Allow: []string{"ada"}}, `"ada" in allow`},
		{Config{BotToken: botToken, AppToken: appToken, Allow: []string{"T1/U1"}}, ""},
	} {
		_, err := Driver{}.New(func(v any) error { *v.(*Config) = tt.c; return nil }, channels.Deps{})
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%+v: %v", tt.c, err)
		}
	}
}
