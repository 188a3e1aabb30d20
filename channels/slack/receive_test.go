package slack_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/slack"
	"hob/channels/slack/slacktest"
)

type object = slacktest.Object

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startListening starts a channel and waits until it is connected.
func startListening(t *testing.T, c *slack.Channel, to channels.Receiver) (stop func() error) {
	t.Helper()
	stop = channelstest.Running(t, c, to)
	channelstest.Until(t, "a connection", func() bool { return strings.HasPrefix(c.DescribeStatus(), "connected as @hob on Home since ") })
	return stop
}

func TestReceive(t *testing.T) {
	tests := []struct {
		name string
		m    object
		want *channels.Inbound // nil if no message is received
	}{
		{
			"a direct message",
			object{"channel": "D1", "channel_type": "im", "user": "U1", "text": "a &lt;b&gt; &amp;amp; <https://x.example|here> <#C1|general> <!here>"},
			&channels.Inbound{Chat: "D1", Mentioned: true, Text: "a <b> &amp; here (https://x.example) #general @here"},
		},
		{
			"a mention in a channel is taken out",
			object{"channel": "C1", "channel_type": "channel", "user": "U1", "text": "<@U0HOB>: what is <@U2|ben> up to?", "ts": "1700000000.000100"},
			&channels.Inbound{Chat: "C1/1700000000.000100", Group: true, Mentioned: true, ChatName: "general", Text: "what is @ben up to?"},
		},
		{
			"a mention in a thread",
			object{"channel": "C1", "user": "U1", "text": "look, <@U0HOB>, here", "thread_ts": "1600000000.000001", "parent_user_id": "U2"},
			&channels.Inbound{Chat: "C1/1600000000.000001", Group: true, Mentioned: true, ChatName: "general", Text: "look, here"},
		},
		{
			"a thread without a mention is not said to Hob",
			object{"channel": "C1", "user": "U1", "text": "yes", "thread_ts": "1600000000.000001", "parent_user_id": "U1"},
			&channels.Inbound{Chat: "C1/1600000000.000001", Group: true, ChatName: "general", Text: "yes"},
		},
		{
			"a reply to a message of Hob's",
			object{"channel": "G1", "user": "U1", "text": "yes", "thread_ts": "1600000000.000001", "parent_user_id": "U0HOB"},
			&channels.Inbound{Chat: "G1/1600000000.000001", Group: true, Mentioned: true, ChatName: "general", Text: "yes", ReplyTo: []string{"1600000000.000001"}, Threaded: true},
		},
		{
			"a member of another workspace",
			object{"channel": "D1", "user": "U1", "text": "hi", "user_team": "T0AWAY", "source_team": "T0AWAY"},
			&channels.Inbound{Chat: "D1", Mentioned: true, Text: "hi", Sender: "T0AWAY/U1"},
		},
		{
			"something passed on is not its sender's",
			object{"channel": "D1", "user": "U1", "text": "see", "attachments": []object{{"is_share": true, "author_name": "Eve", "text": "do &lt;it&gt;"}, {"text": "a preview"}}},
			&channels.Inbound{Chat: "D1", Mentioned: true, Text: "see", Outside: []string{"Eve: do <it>"}},
		},
		{
			"a broadcast reply",
			object{"channel": "C1", "subtype": "thread_broadcast", "user": "U1", "text": "hi", "thread_ts": "1600000000.000001"},
			&channels.Inbound{Chat: "C1/1600000000.000001", Group: true, ChatName: "general", Text: "hi"},
		},
		{"Hob itself", object{"channel": "D1", "user": slacktest.HobUser, "text": "hi"}, nil},
		{"another bot", object{"channel": "D1", "user": "U9", "bot_id": "B9", "text": "hi"}, nil},
		{"an old bot", object{"channel": "D1", "subtype": "bot_message", "bot_id": "B9", "text": "hi"}, nil},
		{"an edit", object{"channel": "D1", "subtype": "message_changed", "hidden": true, "message": object{"user": "U1", "text": "hi"}}, nil},
		{"a member joined", object{"channel": "C1", "subtype": "channel_join", "user": "U1", "text": "<@U1> has joined"}, nil},
		{"a false time", object{"channel": "D1", "user": "U1", "text": "hi", "ts": "tomorrow"}, nil},
		{"a false thread", object{"channel": "D1", "user": "U1", "text": "hi", "thread_ts": "../x"}, nil},
	}
	d := slacktest.New(t)
	inbox := &channelstest.Inbox{}
	startListening(t, d.Open(), inbox)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(inbox.Heard())
			env := d.Write(tt.m)
			channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) })
			heard := inbox.Heard()[before:]
			if tt.want == nil {
				if len(heard) > 0 {
					t.Errorf("received %+v", heard)
				}
				return
			}
			if len(heard) != 1 {
				t.Fatalf("received %d messages", len(heard))
			}
			got := heard[0]
			if got.Key != fmt.Sprintf("%s/%s", tt.m["channel"], tt.m["ts"]) || got.At.IsZero() {
				t.Errorf("key %q, time %v", got.Key, got.At)
			}
			want := *tt.want
			want.Channel, want.Key, want.At, want.Server, want.SenderName = slack.Name, got.Key, got.At, slacktest.Team, "Name of U1"
			if want.Sender == "" {
				want.Sender = slacktest.Team + "/U1"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if n := len(d.Made("users.info")); n != 1 {
		t.Errorf("the name was requested %d times", n)
	}
}

// TestReceive_MentionArrivesTwice checks that a mention arrives as app_mention and as message, with the same key.
func TestReceive_MentionArrivesTwice(t *testing.T) {
	d := slacktest.New(t)
	inbox := &channelstest.Inbox{}
	startListening(t, d.Open(), inbox)
	m := object{"channel": "C1", "channel_type": "channel", "user": "U1", "text": "<@U0HOB> hi"}
	d.Write(m)
	again := object{"type": "app_mention", "channel": "C1", "user": "U1", "text": m["text"], "ts": m["ts"], "team": slacktest.Team}
	env := d.Tell(again, nil)
	channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) })
	h := inbox.Heard()
	if len(h) != 2 {
		t.Fatalf("received %d messages", len(h))
	}
	if diff := cmp.Diff(h[0], h[1]); diff != "" {
		t.Errorf("the two differ: %s", diff)
	}
}

// gatedInbox is a Receiver that waits before it accepts a message.
type gatedInbox struct {
	channelstest.Inbox
	gate chan error
	in   chan struct{}
}

func (g *gatedInbox) Receive(ctx context.Context, in channels.Inbound) (channels.Accepted, error) {
	g.in <- struct{}{}
	select {
	case err := <-g.gate:
		if err != nil {
			return channels.Accepted{}, err
		}
	case <-ctx.Done():
		return channels.Accepted{}, ctx.Err()
	}
	return g.Inbox.Receive(ctx, in)
}

// TestReceive_AcknowledgesAfterStoring checks that only messages that were accepted or permanently rejected are
// acknowledged. Other messages are received again from the history, in order.
func TestReceive_AcknowledgesAfterStoring(t *testing.T) {
	d := slacktest.New(t)
	g := &gatedInbox{gate: make(chan error, 8), in: make(chan struct{}, 8)}
	startListening(t, d.Open(), g)
	dm := func(text string) object {
		return object{"channel": "D1", "channel_type": "im", "user": "U1", "text": text}
	}
	one := d.Write(dm("one"))
	<-g.in
	if d.Acked(one) {
		t.Error("acknowledged before the message was stored")
	}
	g.gate <- nil
	channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(one) })

	two := d.Write(dm("two"))
	three := d.Write(dm("three"))
	<-g.in
	g.gate <- errors.New("the disk is full")
	<-g.in
	g.gate <- nil
	<-g.in
	g.gate <- nil
	channelstest.Until(t, "the rest", func() bool { return len(g.Heard()) == 3 })
	if d.Acked(two) || d.Acked(three) {
		t.Error("a refused message was acknowledged")
	}
	channelstest.Until(t, "a new connection", func() bool { return d.Live() != nil })
	stranger := d.Write(dm("four"))
	<-g.in
	g.gate <- channels.ErrStranger
	channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(stranger) })
	var got []string
	for _, in := range g.Heard() {
		got = append(got, in.Text)
	}
	if want := []string{"one", "two", "three"}; !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
}

// TestReceive_MissedMessages checks that messages sent while Hob was off are received once, in order, over pages of
// history; and that messages from before Hob's first start are not received.
func TestReceive_MissedMessages(t *testing.T) {
	d := slacktest.New(t)
	dm := func(ch, text string) object {
		return object{"channel": ch, "channel_type": "im", "user": "U1", "text": text}
	}
	d.Write(dm("D1", "before the first start"))
	inbox := &channelstest.Inbox{}
	stop := startListening(t, d.Open(), inbox)
	env := d.Write(dm("D1", "hello"))
	channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) })
	asked := object{"channel": "C1", "channel_type": "channel", "user": "U1", "text": "<@U0HOB> in a channel"}
	env = d.Write(asked)
	channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	channelstest.Until(t, "the end of the connection", func() bool { return d.Connections() == 0 })
	var want []string
	for i := range 130 {
		text := fmt.Sprintf("missed %03d", i)
		d.Write(dm("D1", text))
		want = append(want, text)
	}
	d.Write(dm("D2", "a new chat"))
	d.Write(dm("D3", "another new chat"))
	d.Write(object{"channel": "C2", "channel_type": "channel", "user": "U1", "text": "<@U0HOB> in a new channel"})
	d.Write(object{"channel": "C1", "user": "U1", "text": "in the thread", "thread_ts": asked["ts"], "parent_user_id": "U1"})
	d.Write(object{"channel": "C1", "user": "U1", "text": "<@U0HOB> in the channel again"})
	d.Write(object{"channel": "D1", "user": slacktest.HobUser, "bot_id": "B0HOB", "text": "own"})
	d.Failing("conversations.history", slacktest.Failure{Status: 429, After: "0"})

	inbox = &channelstest.Inbox{}
	startListening(t, d.Open(), inbox)
	channelstest.Until(t, "what was missed", func() bool { return len(inbox.Heard()) >= len(want)+5 })
	env = d.Write(dm("D1", "live again"))
	channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) })
	var got, other []string
	for _, in := range inbox.Heard() {
		if in.Chat == "D1" {
			got = append(got, in.Text)
			continue
		}
		other = append(other, in.Text)
	}
	if want = append(want, "live again"); !slices.Equal(got, want) {
		t.Errorf("received in D1: %q", got)
	}
	slices.Sort(other)
	if want := []string{"a new chat", "another new chat", "in a new channel", "in the channel again", "in the thread"}; !slices.Equal(other, want) {
		t.Errorf("received elsewhere: %q, want %q", other, want)
	}
}

// TestReceive_MissedMessageOfAnUnknownChat checks that the first message of an unknown chat is received at the next attempt
// if the search for missed messages fails partway.
func TestReceive_MissedMessageOfAnUnknownChat(t *testing.T) {
	d := slacktest.New(t)
	inbox := &channelstest.Inbox{}
	stop := startListening(t, d.Open(), inbox)
	env := d.Write(directMessage("hello"))
	channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	first := directMessage("a new chat")
	first["channel"] = "D2"
	d.Write(first)
	d.Write(directMessage("later than that"))
	// The known chat is searched first; then a request fails.
	d.Failing("conversations.history", slacktest.Failure{}, slacktest.Failure{Status: 500})
	ctx, cancel := context.WithCancel(t.Context())
	c := d.Open()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, inbox) }()
	channelstest.Until(t, "the failure", func() bool { return len(d.Made("conversations.history")) >= 2 })
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	startListening(t, d.Open(), inbox)
	if got := receivedTexts(inbox); !slices.Contains(got, "later than that") || !slices.Contains(got, "a new chat") {
		t.Errorf("received %q", got)
	}
}

// TestAllow checks that ids without a workspace are allowed only for members of Hob's own
// workspace.
func TestAllow(t *testing.T) {
	d := slacktest.New(t)
	d.Allow = []string{"U1", "T9/U9"}
	c := d.Open()
	if got := c.Allow(); !slices.Equal(got, []string{"T9/U9"}) {
		t.Errorf("Allow() before the workspace is known = %q", got)
	}
	startListening(t, c, &channelstest.Inbox{})
	if got := c.Allow(); !slices.Equal(got, []string{slacktest.Team + "/U1", "T9/U9"}) {
		t.Errorf("Allow() = %q", got)
	}
}

func TestCommand(t *testing.T) {
	d := slacktest.New(t)
	inbox := &channelstest.Inbox{}
	startListening(t, d.Open(), inbox)
	env := d.Envelope("slash_commands", object{
		"team_id": slacktest.Team, "channel_id": "C9", "user_id": "U1", "user_name": "ada", "command": "/hob", "text": " what is new? ", "trigger_id": "123.456.abc",
		"response_url": "https://hooks.slack.com/commands/secret",
	}, nil)
	channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) })
	h := inbox.Heard()
	if len(h) != 1 || h[0].Chat != "D1" || h[0].Group || h[0].Text != "what is new?" || h[0].Sender != slacktest.Team+"/U1" || h[0].Key != "command/123.456.abc" || !h[0].Mentioned {
		t.Errorf("received %+v", h)
	}
	inbox.Refuse(errors.New("no"))
	env = d.Envelope("slash_commands", object{"team_id": slacktest.Team, "channel_id": "D1", "user_id": "U1", "text": "x", "trigger_id": "2"}, nil)
	channelstest.Until(t, "the answer", func() bool { return d.Acked(env) })
	if p := fmt.Sprint(d.Acks[env]); !strings.Contains(p, "ephemeral") || !strings.Contains(p, "Send it again") {
		t.Errorf("acknowledgment = %s", p)
	}
	if n := len(d.Made("conversations.open")); n != 1 {
		t.Errorf("the chat was opened %d times", n)
	}
	inbox.Refuse(channels.ErrStranger)
	env = d.Envelope("slash_commands", object{"team_id": slacktest.Team, "channel_id": "D1", "user_id": "U2", "text": "x", "trigger_id": "3"}, nil)
	channelstest.Until(t, "the answer", func() bool { return d.Acked(env) })
	if p := fmt.Sprint(d.Acks[env]); !strings.Contains(p, "ephemeral") || !strings.Contains(p, "I only talk to my owner") {
		t.Errorf("acknowledgment for an unknown sender = %s", p)
	}
}

func TestReceive_Files(t *testing.T) {
	d := slacktest.New(t)
	inbox := &channelstest.Inbox{}
	startListening(t, d.Open(), inbox)
	env := d.Write(object{"channel": "D1", "subtype": "file_share", "user": "U1", "text": "", "files": []object{
		{"id": "F1", "name": "a.pdf", "mimetype": "application/pdf", "size": 12, "url_private": "http://files.example.com/files-pri/page", "url_private_download": "http://files.example.com/files-pri/a.pdf"},
		{"id": "F2", "name": "b", "url_private_download": "http://files.example.org/files-pri/b"},
		{"id": "F3", "name": "c", "url_private_download": "http://files.example.com.evil.example/files-pri/c"},
	}})
	channelstest.Until(t, "the acknowledgement", func() bool { return d.Acked(env) })
	h := inbox.Heard()
	if len(h) != 1 || len(h[0].Files) != 3 || len(h[0].Images) != 0 {
		t.Fatalf("received %+v", h)
	}
	f := h[0].Files[0]
	if f.Name != "a.pdf" || f.MIME != "application/pdf" || f.Size != 12 {
		t.Errorf("file %+v", f)
	}
	r, err := f.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if raw, err := io.ReadAll(r); err != nil || string(raw) != "content of a.pdf" {
		t.Errorf("read %q, %v", raw, err)
	}
	d.Deps.Network = d.Net.Impatient(t) // downloads must not use the short timeout of other requests
	if r, err := d.Open().Fetch(t.Context(), slacktest.BotToken, "http://files.example.com/files-pri/a.pdf"); err != nil {
		t.Errorf("a file download ended after the short timeout: %v", err)
	} else {
		_ = r.Close()
	}
	for _, f := range h[0].Files[1:] {
		if r, err := f.Open(t.Context()); err == nil || channels.ClassOf(err) != channels.Permanent {
			_ = r.Close()
			t.Errorf("%s was fetched from another host than Slack's: %v", f.Name, err)
		}
	}
	for _, r := range d.Net.Heard() {
		if !strings.HasSuffix(r.Host, ".example.com") && r.Host != "example.com" {
			t.Errorf("request to %s", r.Host)
		}
	}
	if _, err := d.Open().Fetch(t.Context(), "xoxb-another", "http://files.example.com/files-pri/a.pdf"); err == nil || !strings.Contains(err.Error(), "files:read") {
		t.Errorf("a sign-in page counts as the file: %v", err)
	}
}
