package slack_test

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/slack"
	"hob/channels/slack/slacktest"
)

func directMessage(text string) object {
	return object{"channel": "D1", "channel_type": "im", "user": "U1", "text": text}
}

func receivedTexts(b *channelstest.Inbox) (out []string) {
	for _, in := range b.Heard() {
		out = append(out, in.Text)
	}
	return out
}

// TestRun_RenewsTheConnection checks that after "refresh_requested" and "warning" a new connection is opened before
// the old one is closed, and that the remaining messages of the old connection are received.
func TestRun_RenewsTheConnection(t *testing.T) {
	for _, reason := range []string{"refresh_requested", "warning"} {
		t.Run(reason, func(t *testing.T) {
			d := slacktest.New(t)
			inbox := &channelstest.Inbox{}
			startListening(t, d.Open(), inbox)
			old := d.Live()
			if err := old.Write(object{"type": "disconnect", "reason": reason, "debug_info": object{"host": "x"}}); err != nil {
				t.Fatal(err)
			}
			channelstest.Until(t, "the second connection", func() bool { return d.Connections() == 2 })
			m := directMessage("over the old one")
			m["type"], m["ts"], m["team"] = "message", slacktest.TS(time.Now()), slacktest.Team
			if err := old.Write(object{"type": "events_api", "envelope_id": "old", "payload": object{"team_id": slacktest.Team, "event": m}}); err != nil {
				t.Fatal(err)
			}
			channelstest.Until(t, "its acknowledgement", func() bool { return d.Acked("old") })
			old.Close(0)
			channelstest.Until(t, "one connection", func() bool { return d.Connections() == 1 })
			env := d.Write(directMessage("over the new one"))
			channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) })
			if got, want := receivedTexts(inbox), []string{"over the old one", "over the new one"}; !slices.Equal(got, want) {
				t.Errorf("received %q, want %q", got, want)
			}
			if n := len(d.Made("users.conversations")); n != 0 {
				t.Errorf("the history was read %d times although no message was lost", n)
			}
		})
	}
}

// TestRun_LostConnection checks that broken and silent connections are replaced, and that messages from the gap
// are received.
func TestRun_LostConnection(t *testing.T) {
	t.Run("cut", func(t *testing.T) {
		d := slacktest.New(t)
		inbox := &channelstest.Inbox{}
		startListening(t, d.Open(), inbox)
		env := d.Write(directMessage("one"))
		channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) })
		d.Down()
		channelstest.Until(t, "the end", func() bool { return d.Connections() == 0 })
		d.Write(directMessage("two"))
		d.Write(directMessage("three"))
		d.Failing("users.conversations", slacktest.Failure{Code: "missing_scope", Needed: "im:read"})
		d.Up()
		channelstest.Until(t, "the rest", func() bool { return len(inbox.Heard()) == 3 })
		if got, want := receivedTexts(inbox), []string{"one", "two", "three"}; !slices.Equal(got, want) {
			t.Errorf("received %q, want %q", got, want)
		}
	})
	t.Run("silent", func(t *testing.T) {
		d := slacktest.New(t)
		o := d.Options()
		o.Silence = 100 * time.Millisecond
		inbox := &channelstest.Inbox{}
		channelstest.Running(t, d.OpenAt(o), inbox)
		channelstest.Until(t, "a connection", func() bool { return d.Live() != nil })
		first := d.Live()
		channelstest.Until(t, "another one", func() bool { k := d.Live(); return k != nil && k != first })
	})
}

// TestRun_EndsOnRevokedToken checks that an error that only the owner can fix stops the channel with a remedy, and
// that no error contains the tokens.
func TestRun_EndsOnRevokedToken(t *testing.T) {
	tests := []struct {
		name string
		do   func(d *slacktest.Server)
		want string
	}{
		{"Socket Mode was switched off", func(d *slacktest.Server) { d.Reason = "link_disabled" }, "Socket Mode was switched off"},
		{"the bot token was revoked", func(d *slacktest.Server) { d.Failing("auth.test", slacktest.Failure{Code: "token_revoked"}) }, "token_revoked; set a new token: hob channel add slack"},
		{"the app token is wrong", func(d *slacktest.Server) { d.Failing("apps.connections.open", slacktest.Failure{Code: "invalid_auth"}) }, "invalid_auth; set a new token"},
		{"the app token may not", func(d *slacktest.Server) {
			d.Failing("apps.connections.open", slacktest.Failure{Code: "missing_scope", Needed: "connections:write"})
		}, "connections:write"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := slacktest.New(t)
			tt.do(d)
			c := d.Open()
			err := c.Run(t.Context(), &channelstest.Inbox{})
			if err == nil || channels.ClassOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Run: %v", err)
			}
			for _, s := range d.Secrets() {
				if strings.Contains(err.Error()+c.DescribeStatus(), s) {
					t.Errorf("%q or %q contains a secret", err, c.DescribeStatus())
				}
			}
		})
	}
}

// logLines collects the log.
type logLines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestRun_ReportsASecondConnection checks that the second of two Hobs with the same tokens reports the other
// connection.
func TestRun_ReportsASecondConnection(t *testing.T) {
	d := slacktest.New(t)
	var log logLines
	d.Deps.Log = slog.New(slog.NewTextHandler(&log, nil))
	startListening(t, d.Open(), &channelstest.Inbox{})
	if strings.Contains(log.String(), "another connection") {
		t.Error("the first connection reports another one")
	}
	startListening(t, d.Open(), &channelstest.Inbox{})
	if !strings.Contains(log.String(), "another connection") {
		t.Error("the second connection is not reported")
	}
}

// TestRun_HonorsRetryAfter checks that connecting honors Retry-After.
func TestRun_HonorsRetryAfter(t *testing.T) {
	d := slacktest.New(t)
	d.Failing("apps.connections.open", slacktest.Failure{Status: 429, After: "1"}, slacktest.Failure{Status: 500}, slacktest.Failure{Code: "internal_error"})
	began := time.Now()
	startListening(t, d.Open(), &channelstest.Inbox{})
	if time.Since(began) < 900*time.Millisecond {
		t.Error("connected again before Retry-After had passed")
	}
	if n := len(d.Made("apps.connections.open")); n != 4 {
		t.Errorf("%d attempts, want 4", n)
	}
}

// TestRun_RejectsOtherHosts checks that sockets and files are opened only on Slack's own hosts, and only
// encrypted.
func TestRun_RejectsOtherHosts(t *testing.T) {
	c := slacktest.New(t).Open()
	for address, want := range map[string]bool{
		"wss://wss-primary.example.com/link/?ticket=1": true, "https://example.com/x": true,
		"wss://example.com.evil.example/": false, "wss://evilexample.com/": false, "wss://example.com@evil.example/": false,
		"wss://user:pw@example.com/": false, "file:///etc/passwd": false, "": false, "wss://[::1]/": false,
	} {
		if got := c.Ours(address); got != want {
			t.Errorf("ours(%q) = %v", address, got)
		}
	}
	c, err := slack.New(slack.Config{BotToken: slacktest.BotToken, AppToken: slacktest.AppToken}, channels.Deps{}, slack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Ours("ws://wss.slack.com/") || c.Ours("http://files.slack.com/x") || !c.Ours("wss://wss-primary.slack.com/link") {
		t.Error("Ours() accepts an unencrypted address or rejects Slack's")
	}
}

// TestRun_AcceptsAFlood checks that a thousand messages at once are all received, in order, and acknowledged.
func TestRun_AcceptsAFlood(t *testing.T) {
	d := slacktest.New(t)
	inbox := &channelstest.Inbox{}
	startListening(t, d.Open(), inbox)
	var last string
	for range 1000 {
		last = d.Write(directMessage("x"))
	}
	channelstest.Until(t, "the last acknowledgement", func() bool { return d.Acked(last) })
	keys := map[string]bool{}
	before := ""
	for _, in := range inbox.Heard() {
		keys[in.Key] = true
		if strings.Compare(strings.TrimPrefix(in.Key, "D1/"), before) <= 0 {
			t.Fatal("temporarily unavailable")
		}
		before = strings.TrimPrefix(in.Key, "D1/")
	}
	if len(keys) != 1000 {
		t.Errorf("received %d of 1000", len(keys))
	}
}

// TestRun_IgnoresInvalidEvents checks that invalid and unknown envelopes do not end the channel.
func TestRun_IgnoresInvalidEvents(t *testing.T) {
	d := slacktest.New(t)
	inbox := &channelstest.Inbox{}
	startListening(t, d.Open(), inbox)
	for _, v := range []any{"x", 1, nil, []int{1}, object{}, object{"type": "hello"}, object{"type": "new_kind", "envelope_id": "n"}, object{"type": "events_api", "envelope_id": "p", "payload": "x"}, object{"type": "interactive", "envelope_id": "i", "payload": 7}, object{"type": "slash_commands", "envelope_id": "s"}} {
		if err := d.Live().Write(v); err != nil {
			t.Fatal(err)
		}
	}
	env := d.Write(directMessage("after all that"))
	channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) && d.Acked("p") && d.Acked("i") && d.Acked("s") })
	if got := receivedTexts(inbox); !slices.Equal(got, []string{"after all that"}) {
		t.Errorf("received %q", got)
	}
}
