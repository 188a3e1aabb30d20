package slack

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
)

func dm(text string) object {
	return object{"channel": "D1", "channel_type": "im", "user": "U1", "text": text}
}

func texts(b *channelstest.Inbox) (out []string) {
	for _, in := range b.Heard() {
		out = append(out, in.Text)
	}
	return out
}

// TestRenewed: on "refresh_requested" and "warning" another connection is opened before
// the old one is left, which is heard to its end.
func TestRenewed(t *testing.T) {
	for _, reason := range []string{"refresh_requested", "warning"} {
		t.Run(reason, func(t *testing.T) {
			d := newSlackd(t)
			inbox := &channelstest.Inbox{}
			d.listening(d.channel(), inbox)
			old := d.live()
			if err := old.write(object{"type": "disconnect", "reason": reason, "debug_info": object{"host": "x"}}); err != nil {
				t.Fatal(err)
			}
			until(t, "the second connection", func() bool { return d.connections() == 2 })
			m := dm("over the old one")
			m["type"], m["ts"], m["team"] = "message", ts(time.Now()), team
			if err := old.write(object{"type": "events_api", "envelope_id": "old", "payload": object{"team_id": team, "event": m}}); err != nil {
				t.Fatal(err)
			}
			until(t, "its acknowledgement", func() bool { return d.acked("old") })
			_ = old.conn.Close()
			until(t, "one connection", func() bool { return d.connections() == 1 })
			env := d.write(dm("over the new one"))
			until(t, "the acknowledgement", func() bool { return d.acked(env) })
			if got, want := texts(inbox), []string{"over the old one", "over the new one"}; !slices.Equal(got, want) {
				t.Errorf("heard %q, want %q", got, want)
			}
			if n := len(d.made("conversations.list")); n != 0 {
				t.Errorf("the history was read %d times though nothing was lost", n)
			}
		})
	}
}

// TestLost: a connection that is cut, and one that is only silent, are replaced, and what
// was said meanwhile is heard.
func TestLost(t *testing.T) {
	t.Run("cut", func(t *testing.T) {
		d := newSlackd(t)
		inbox := &channelstest.Inbox{}
		d.listening(d.channel(), inbox)
		env := d.write(dm("one"))
		until(t, "the acknowledgement", func() bool { return d.acked(env) })
		d.Down()
		until(t, "the end", func() bool { return d.connections() == 0 })
		d.write(dm("two"))
		d.write(dm("three"))
		d.failing("conversations.list", failure{code: "missing_scope", needed: "im:read"})
		d.Up()
		until(t, "the rest", func() bool { return len(inbox.Heard()) == 3 })
		if got, want := texts(inbox), []string{"one", "two", "three"}; !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
	})
	t.Run("silent", func(t *testing.T) {
		d := newSlackd(t)
		p := d.place()
		p.silence = 100 * time.Millisecond
		inbox := &channelstest.Inbox{}
		start(t, d.channelAt(p), inbox)
		until(t, "a connection", func() bool { return d.live() != nil })
		first := d.live()
		until(t, "another one", func() bool { k := d.live(); return k != nil && k != first })
	})
}

// TestEnded: what only the owner can mend stops the channel with a remedy; nothing of the
// tokens is told.
func TestEnded(t *testing.T) {
	tests := []struct {
		name string
		do   func(d *slackd)
		want string
	}{
		{"Socket Mode was switched off", func(d *slackd) { d.reason = "link_disabled" }, "Socket Mode was switched off"},
		{"the bot token was revoked", func(d *slackd) { d.failing("auth.test", failure{code: "token_revoked"}) }, "token_revoked; put a new token: hob channel add slack"},
		{"the app token is wrong", func(d *slackd) { d.failing("apps.connections.open", failure{code: "invalid_auth"}) }, "invalid_auth; put a new token"},
		{"the app token may not", func(d *slackd) {
			d.failing("apps.connections.open", failure{code: "missing_scope", needed: "connections:write"})
		}, "connections:write"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newSlackd(t)
			tt.do(d)
			c := d.channel()
			err := c.Run(t.Context(), &channelstest.Inbox{})
			if err == nil || channels.ClassOf(err) != channels.Unauthorised || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Run: %v", err)
			}
			for _, s := range d.Secrets() {
				if strings.Contains(err.Error()+c.Describe(), s) {
					t.Errorf("a secret stands in %q or %q", err, c.Describe())
				}
			}
		})
	}
}

// TestSlowedDown: Retry-After is honoured when connecting.
func TestSlowedDown(t *testing.T) {
	d := newSlackd(t)
	d.failing("apps.connections.open", failure{status: 429, after: "1"}, failure{status: 500}, failure{code: "internal_error"})
	began := time.Now()
	d.listening(d.channel(), &channelstest.Inbox{})
	if time.Since(began) < 900*time.Millisecond {
		t.Error("Slack asked to wait for a second, and was called before")
	}
	if n := len(d.made("apps.connections.open")); n != 4 {
		t.Errorf("%d attempts, want 4", n)
	}
}

// TestElsewhere: a socket that is not Slack's is not opened.
func TestElsewhere(t *testing.T) {
	c := newSlackd(t).channel()
	for address, want := range map[string]bool{
		"wss://wss-primary.example.com/link/?ticket=1": true, "https://example.com/x": true,
		"wss://example.com.evil.example/": false, "wss://evilexample.com/": false, "wss://example.com@evil.example/": false,
		"wss://user:pw@example.com/": false, "file:///etc/passwd": false, "": false, "wss://[::1]/": false,
	} {
		if got := c.ours(address); got != want {
			t.Errorf("ours(%q) = %v", address, got)
		}
	}
	c.at = place{}.orReal()
	if c.ours("ws://wss.slack.com/") || c.ours("http://files.slack.com/x") || !c.ours("wss://wss-primary.slack.com/link") {
		t.Error("the real Slack is reached without encryption, or not at all")
	}
}

// TestFlood: a thousand messages at once are all heard, in order, and acknowledged.
func TestFlood(t *testing.T) {
	d := newSlackd(t)
	inbox := &channelstest.Inbox{}
	d.listening(d.channel(), inbox)
	var last string
	for range 1000 {
		last = d.write(dm("x"))
	}
	until(t, "the last acknowledgement", func() bool { return d.acked(last) })
	keys := map[string]bool{}
	before := ""
	for _, in := range inbox.Heard() {
		keys[in.Key] = true
		if cmpTS(strings.TrimPrefix(in.Key, "D1/"), before) <= 0 {
			t.Fatal("out of order")
		}
		before = strings.TrimPrefix(in.Key, "D1/")
	}
	if len(keys) != 1000 {
		t.Errorf("heard %d of 1000", len(keys))
	}
}

// TestNonsense: what is no envelope, or none that is known, ends nothing.
func TestNonsense(t *testing.T) {
	d := newSlackd(t)
	inbox := &channelstest.Inbox{}
	d.listening(d.channel(), inbox)
	for _, v := range []any{"x", 1, nil, []int{1}, object{}, object{"type": "hello"}, object{"type": "new_kind", "envelope_id": "n"}, object{"type": "events_api", "envelope_id": "p", "payload": "x"}, object{"type": "interactive", "envelope_id": "i", "payload": 7}, object{"type": "slash_commands", "envelope_id": "s"}} {
		if err := d.live().write(v); err != nil {
			t.Fatal(err)
		}
	}
	env := d.write(dm("after all that"))
	until(t, "the acknowledgement", func() bool { return d.acked(env) && d.acked("p") && d.acked("i") && d.acked("s") })
	if got := texts(inbox); !slices.Equal(got, []string{"after all that"}) {
		t.Errorf("heard %q", got)
	}
}
