package discord_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/discord/discordtest"
)

func receivedTexts(in *channelstest.Inbox) []string {
	var out []string
	for _, m := range in.Heard() {
		out = append(out, m.Text)
	}
	return out
}

// uniqueTexts returns the received texts, without repetitions of the same key.
func uniqueTexts(in *channelstest.Inbox) []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range in.Heard() {
		if !seen[m.Key] {
			out = append(out, m.Text)
		}
		seen[m.Key] = true
	}
	return out
}

func countSignIns(w *discordtest.Server) (identifies, resumes int) {
	w.Lock()
	defer w.Unlock()
	return w.Identifies, w.Resumes
}

// TestResume checks that after a broken connection the session continues, and that messages from
// the gap are received once and in order ("Resuming").
func TestResume(t *testing.T) {
	w, in := discordtest.New(t), &channelstest.Inbox{}
	ch := w.Open()
	stop := channelstest.Running(t, ch, in)
	channelstest.Until(t, "a connection", w.Connected)
	w.Person("d1", "7", "one", false, nil)
	channelstest.Until(t, "the first message", func() bool { return len(in.Heard()) == 1 })
	w.Cut()
	w.Lock()
	w.Dispatch("MESSAGE_CREATE", object{"id": w.ID(), "type": 0, "channel_id": "d1", "author": object{"id": "7", "username": "a"}, "content": "two"})
	w.Unlock()
	channelstest.Until(t, "the second message", func() bool { return len(in.Heard()) == 2 })
	w.Person("d1", "7", "three", false, nil)
	channelstest.Until(t, "the third message", func() bool { return len(in.Heard()) >= 3 })
	if got := receivedTexts(in); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("received %q", got)
	}
	if id, re := countSignIns(w); id != 1 || re != 1 {
		t.Errorf("%d sign-ins, %d resumed sessions", id, re)
	}
	if w.Intents != 1<<0|1<<9|1<<12|1<<15 {
		t.Errorf("intents %v", w.Intents)
	}
	if said := ch.DescribeStatus(); !strings.HasPrefix(said, "connected as @hob for ") || !strings.HasSuffix(said, "in 1 server") {
		t.Errorf("status = %q", said)
	}
	// After a sleep the manager restarts Run: the session continues as well.
	if err := stop(); err != nil || ch.DescribeStatus() != "not connected" {
		t.Error(err, ch.DescribeStatus())
	}
	channelstest.Running(t, ch, in)
	channelstest.Until(t, "a resumed session", func() bool { _, re := countSignIns(w); return re == 2 && w.Connected() })
}

// TestGateway_ReconnectsWithoutHeartbeat: a connection that does not acknowledge heartbeats is closed, and the session is
// resumed on a new connection ("Heartbeat ACK", zombied connections).
func TestGateway_ReconnectsWithoutHeartbeat(t *testing.T) {
	w, in := discordtest.New(t), &channelstest.Inbox{}
	w.Every, w.Deaf = 30, true
	channelstest.Running(t, w.Open(), in)
	channelstest.Until(t, "a resumed session", func() bool { _, re := countSignIns(w); return re > 0 })
	w.Lock()
	w.Deaf = false
	w.Unlock()
	channelstest.Until(t, "heartbeats that are answered", func() bool {
		w.Lock()
		defer w.Unlock()
		return w.Beats > 5 && w.Live != nil
	})
	w.Person("d1", "7", "there?", false, nil)
	channelstest.Until(t, "the message", func() bool { return slices.Contains(receivedTexts(in), "there?") })
	if id, _ := countSignIns(w); id != 1 {
		t.Errorf("%d sign-ins", id)
	}
}

// TestGateway_OpcodesAndCloseCodes checks that each opcode and close code of the gateway has the documented effect.
func TestGateway_OpcodesAndCloseCodes(t *testing.T) {
	for _, c := range []struct {
		name     string
		do       func(w *discordtest.Server)
		identify int
		resume   int
	}{
		{"reconnect", func(w *discordtest.Server) { _ = w.Live.Write(discordtest.Frame{Op: 7}) }, 1, 1},
		{"invalid session that can be resumed", func(w *discordtest.Server) { _ = w.Live.Write(discordtest.Frame{Op: 9, Data: true}) }, 1, 1},
		{"invalid session", func(w *discordtest.Server) { _ = w.Live.Write(discordtest.Frame{Op: 9, Data: false}) }, 2, 0},
		{"a resume that is refused", func(w *discordtest.Server) {
			w.Invalid = []bool{false}
			_ = w.Live.Write(discordtest.Frame{Op: 7})
		}, 2, 1},
		{"session timed out", func(w *discordtest.Server) { w.Live.Close(4009) }, 2, 0},
		{"going away", func(w *discordtest.Server) { w.Live.Close(1001) }, 1, 1},
		{"unknown error", func(w *discordtest.Server) { w.Live.Close(4000) }, 1, 1},
		{"a session that Discord does not know", func(w *discordtest.Server) {
			w.Session = "other"
			w.Live.Close(0)
		}, 2, 1},
		{"a frame that is no JSON", func(w *discordtest.Server) { _ = w.Live.Write([]byte("{")) }, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, in := discordtest.New(t), &channelstest.Inbox{}
			channelstest.Running(t, w.Open(), in)
			channelstest.Until(t, "a connection", w.Connected)
			w.Person("d1", "7", "one", false, nil)
			channelstest.Until(t, "the first message", func() bool { return len(in.Heard()) == 1 })
			w.Lock()
			old := w.Live
			c.do(w)
			w.Unlock()
			channelstest.Until(t, "another connection", func() bool {
				w.Lock()
				defer w.Unlock()
				return w.Live != nil && w.Live != old
			})
			w.Person("d1", "7", "two", false, nil)
			channelstest.Until(t, "the next message", func() bool { return slices.Contains(receivedTexts(in), "two") })
			if got := uniqueTexts(in); !slices.Equal(got, []string{"one", "two"}) {
				t.Errorf("received %q", got)
			}
			if id, re := countSignIns(w); id != c.identify || re != c.resume {
				t.Errorf("%d sign-ins and %d resumed, want %d and %d", id, re, c.identify, c.resume)
			}
		})
	}
}

// TestGateway_CloseCodes checks that an error that only the owner can fix ends Run, with the remedy.
func TestGateway_CloseCodes(t *testing.T) {
	for _, c := range []struct {
		code  int
		class channels.Class
		says  string
	}{
		{4004, channels.Unauthorized, "hob channel add discord"},
		{4013, channels.Unauthorized, "Message Content Intent"},
		{4014, channels.Unauthorized, "Message Content Intent"},
		{4011, channels.Permanent, "fewer servers"},
		{4008, channels.Temporary, "reconnects"},
		{1006, channels.Temporary, "reconnects"},
	} {
		t.Run(fmt.Sprint(c.code), func(t *testing.T) {
			w := discordtest.New(t)
			w.CloseWith = c.code
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := w.Open().Run(ctx, &channelstest.Inbox{})
			if channels.ClassOf(err) != c.class || err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), discordtest.Token) {
				t.Errorf("class %d, error %v", channels.ClassOf(err), err)
			}
		})
	}
}

// TestTokenRevoked: the API is the first to report that the token was revoked.
func TestTokenRevoked(t *testing.T) {
	w := discordtest.New(t)
	w.FailsAll = true
	w.Fail(channels.Unauthorized, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ch := w.Open()
	err := ch.Run(ctx, &channelstest.Inbox{})
	if channels.ClassOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), "hob channel add discord") || strings.Contains(err.Error(), discordtest.Token) {
		t.Error(err)
	}
	if _, err := ch.Test(ctx); channels.ClassOf(err) != channels.Unauthorized {
		t.Error(err)
	}
	if said, err := ch.Test(ctx); err != nil || said != "signed in as @hob, 999 connections left today" {
		t.Error(said, err)
	}
}

// TestGateway_RejectsOtherHosts: Hob does not connect to a gateway outside of Discord's domains.
func TestGateway_RejectsOtherHosts(t *testing.T) {
	for _, at := range []string{"ws://evil.example.com", "ws://gateway.example.com.evil.example.com", "ws://gateway.example.com@evil.example.com", "http://gateway.example.com", "", "::"} {
		w := discordtest.New(t)
		w.Gateway = at
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := w.Open().Run(ctx, &channelstest.Inbox{})
		cancel()
		if err == nil || !strings.Contains(err.Error(), "not a Discord host") {
			t.Errorf("%q: %v", at, err)
		}
	}
}

// TestGateway_RejectsUntrustedCertificates: Hob sends nothing to a server whose certificate is not trusted.
func TestGateway_RejectsUntrustedCertificates(t *testing.T) {
	w := discordtest.New(t)
	w.Gateway = "wss://gateway.example.com" // with an untrusted certificate
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := w.Open().Run(ctx, &channelstest.Inbox{})
	if err == nil || !strings.Contains(err.Error(), "certificate") || channels.ClassOf(err) != channels.Temporary {
		t.Error(err)
	}
	if id, _ := countSignIns(w); id != 0 {
		t.Error("Hob signed in to the server")
	}
}

// TestGateway_EndsWhileSilent checks that Run ends with its context while the gateway is silent.
func TestGateway_EndsWhileSilent(t *testing.T) {
	w := discordtest.New(t)
	w.Silent = true
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := w.Open().Run(ctx, &channelstest.Inbox{}); err != nil {
		t.Error(err)
	}
}

// TestRun_FetchesMissedMessages checks that messages sent while Hob was off are received after it has started, in
// order, page after page. Messages from before the first start are not received.
func TestRun_FetchesMissedMessages(t *testing.T) {
	w, in := discordtest.New(t), &channelstest.Inbox{}
	w.Lock()
	w.Ever = true
	w.Unlock()
	w.Person("d1", "7", "before the first start", false, nil)
	stop := channelstest.Running(t, w.Open(), in)
	channelstest.Until(t, "a connection", w.Connected)
	mention := object{"mentions": []object{{"id": discordtest.BotID}}}
	w.Person("d1", "7", "one", false, nil)
	w.Person("g1", "7", "<@"+discordtest.BotID+"> two", true, mention)
	w.Person("d2", "8", "three", false, nil)
	w.Person("closed", "8", "four", false, nil)
	channelstest.Until(t, "the messages", func() bool { return len(in.Heard()) == 4 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	want := []string{"one", "two", "three", "four"}
	w.Person("g1", "7", "<@&"+discordtest.RoleID+"> by role", true, object{"mention_roles": []string{discordtest.RoleID}})
	for i := range 230 {
		w.Person("d1", "7", fmt.Sprint("missed ", i), false, nil)
	}
	w.Lock()
	delete(w.Chats, "d2")
	w.Fails = nil
	w.Unlock()
	stop = channelstest.Running(t, w.Open(), in)
	channelstest.Until(t, "what was missed", func() bool { return len(in.Heard()) >= 4+231 })
	w.Person("d1", "7", "now", false, nil)
	channelstest.Until(t, "the message sent now", func() bool { return slices.Contains(receivedTexts(in), "now") })
	_ = stop()
	for i := range 230 {
		want = append(want, fmt.Sprint("missed ", i))
	}
	want = append(want, "now")
	got := slices.DeleteFunc(uniqueTexts(in), func(s string) bool { return s == "by role" })
	if !slices.Equal(got, want) {
		t.Errorf("received %d messages: %q", len(got), got)
	}
	for _, m := range in.Heard() {
		if m.Text == "by role" && (!m.Mentioned || !m.Group || m.Server != discordtest.GuildID || m.ChatName != "#general") {
			t.Errorf("message that mentions a role = %+v", m)
		}
	}
	// A session that cannot be resumed does not lose messages either.
	stop = channelstest.Running(t, w.Open(), in)
	channelstest.Until(t, "a connection", w.Connected)
	w.Lock()
	w.Live.Close(0)
	w.Live, w.Session = nil, "gone"
	w.Unlock()
	w.Person("d1", "7", "in between", false, nil)
	channelstest.Until(t, "the message sent in between", func() bool { return slices.Contains(receivedTexts(in), "in between") })
	_ = stop()
}

// TestRun_IgnoresOldMessagesAtFirstStart checks that first messages to Hob sent while it was off are received after it has
// started: mentions in a server, and direct messages of allowed senders. Messages from before the
// first start are not received, and no message is received twice.
func TestRun_IgnoresOldMessagesAtFirstStart(t *testing.T) {
	w, in := discordtest.New(t), &channelstest.Inbox{}
	w.Allow = []string{"8", "9"}
	mention := object{"mentions": []object{{"id": discordtest.BotID}}}
	w.Lock()
	w.Ever = true
	w.Unlock()
	w.Person("g2", "7", "before the first start", true, mention)
	w.Person("dm8", "8", "before the first start", false, nil)
	stop := channelstest.Running(t, w.Open(), in)
	channelstest.Until(t, "a connection", w.Connected)
	w.Person("g1", "7", "one", true, mention)
	channelstest.Until(t, "a message", func() bool { return len(in.Heard()) == 1 })
	_ = stop()
	w.Person("g1", "7", "two", true, mention)
	w.Person("g2", "7", "three", true, mention)
	w.Person("g3", "7", "four", true, object{"mention_roles": []string{discordtest.RoleID}})
	w.Person("g4", "7", "not to Hob", true, nil)
	w.Person("dm8", "8", "five", false, nil)
	w.Person("dm8", "8", "six", false, nil)
	w.Lock()
	w.Indexing = 1
	w.Unlock()
	want := []string{"five", "four", "one", "six", "three", "two"}
	heard := func() []string {
		got := slices.DeleteFunc(uniqueTexts(in), func(s string) bool { return strings.HasPrefix(s, "now") })
		slices.Sort(got)
		return got
	}
	for n := range 2 {
		stop = channelstest.Running(t, w.Open(), in)
		channelstest.Until(t, "the missed messages", func() bool { return len(heard()) >= len(want) })
		w.Person("g9", "7", fmt.Sprint("now ", n), true, mention)
		channelstest.Until(t, "the message sent now", func() bool { return slices.Contains(receivedTexts(in), fmt.Sprint("now ", n)) })
		_ = stop()
	}
	if got := heard(); !slices.Equal(got, want) {
		t.Errorf("received %q", got)
	}
	// A message sent during a search also arrives from the gateway, with the same key.
	if missed := slices.DeleteFunc(receivedTexts(in), func(s string) bool { return strings.HasPrefix(s, "now") }); len(missed) != len(want) {
		t.Errorf("received twice: %q", missed)
	}
	// A failed search blocks no messages.
	w.Lock()
	w.Indexing = 9
	w.Unlock()
	channelstest.Running(t, w.Open(), in)
	channelstest.Until(t, "a connection", w.Connected)
	w.Person("g1", "7", "at last", true, mention)
	channelstest.Until(t, "the message sent now", func() bool { return slices.Contains(receivedTexts(in), "at last") })
}

// TestRun_ReceivesARefusedMessageAgain: a message that Hob could not make durable is received again.
func TestRun_ReceivesARefusedMessageAgain(t *testing.T) {
	w, in := discordtest.New(t), &channelstest.Inbox{}
	ch := w.Open()
	channelstest.Running(t, ch, &channelstest.Inbox{})
	channelstest.Until(t, "a connection", w.Connected)
	in.Refuse(errors.New("the disk is full"))
	w2 := discordtest.New(t)
	ch = w2.Open()
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() { done <- ch.Run(ctx, in) }()
	channelstest.Until(t, "a connection", w2.Connected)
	w2.Person("d1", "7", "one", false, nil)
	w2.Person("d1", "7", "two", false, nil)
	if err := <-done; err == nil || channels.ClassOf(err) != channels.Temporary || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("Run: %v", err)
	}
	in.Refuse(nil)
	channelstest.Running(t, ch, in) // restart Run, as the manager does
	channelstest.Until(t, "both messages", func() bool { return len(in.Heard()) >= 2 })
	if got := uniqueTexts(in); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("received %q", got)
	}
	// A message from an unknown sender is not received again.
	in.Refuse(channels.ErrStranger)
	w2.Person("d9", "9", "psst", false, nil)
	w2.Person("d9", "9", "hello?", false, nil)
	in.Refuse(nil)
	w2.Person("d1", "7", "three", false, nil)
	channelstest.Until(t, "the next message", func() bool { return slices.Contains(receivedTexts(in), "three") })
}

// TestRun_AcceptsAFlood checks that a thousand messages at once are all received in order.
func TestRun_AcceptsAFlood(t *testing.T) {
	w, in := discordtest.New(t), &channelstest.Inbox{}
	channelstest.Running(t, w.Open(), in)
	channelstest.Until(t, "a connection", w.Connected)
	var want []string
	for i := range 2000 {
		want = append(want, fmt.Sprint(i))
		w.Person("d1", "7", fmt.Sprint(i), false, nil)
	}
	channelstest.Until(t, "all messages", func() bool { return len(in.Heard()) >= len(want) })
	if got := receivedTexts(in); !slices.Equal(got, want) {
		t.Errorf("received %d messages", len(got))
	}
}
