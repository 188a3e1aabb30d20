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
	"hob/channels/discord"
)

const patience = 15 * time.Second

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(end) {
			t.Fatalf("in vain waited for: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// hearing runs a channel until the test, or stop, ends it.
func hearing(t *testing.T, ch *discord.Channel, r channels.Receiver) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, r) }()
	var err error
	ended := false
	stop = func() error {
		if !ended {
			ended = true
			cancel()
			select {
			case err = <-done:
			case <-time.After(patience):
				t.Error("Run goes on although its context has ended")
			}
		}
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

func texts(in *channelstest.Inbox) []string {
	var out []string
	for _, m := range in.Heard() {
		out = append(out, m.Text)
	}
	return out
}

// once are the texts whose key came for the first time.
func once(in *channelstest.Inbox) []string {
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

func (w *world) counts() (identifies, resumes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.identifies, w.resumes
}

// TestResume: after a connection that broke, the session goes on, and what was said
// meanwhile is heard once and in order ("Resuming").
func TestResume(t *testing.T) {
	w, in := newWorld(t), &channelstest.Inbox{}
	ch := w.open()
	stop := hearing(t, ch, in)
	eventually(t, "a connection", w.connected)
	w.person("d1", "7", "one", false, nil)
	eventually(t, "the first message", func() bool { return len(in.Heard()) == 1 })
	w.cut()
	w.mu.Lock()
	w.dispatch("MESSAGE_CREATE", object{"id": w.id(), "type": 0, "channel_id": "d1", "author": object{"id": "7", "username": "a"}, "content": "two"})
	w.mu.Unlock()
	eventually(t, "the second message", func() bool { return len(in.Heard()) == 2 })
	w.person("d1", "7", "three", false, nil)
	eventually(t, "the third message", func() bool { return len(in.Heard()) >= 3 })
	if got := texts(in); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("heard %q", got)
	}
	if id, re := w.counts(); id != 1 || re != 1 {
		t.Errorf("%d sign-ins, %d resumed sessions", id, re)
	}
	if w.seenIntents != 1<<0|1<<9|1<<12|1<<15 {
		t.Errorf("intents %v", w.seenIntents)
	}
	if said := ch.Describe(); !strings.HasPrefix(said, "connected as @hob for ") || !strings.HasSuffix(said, "in 1 server") {
		t.Errorf("described as %q", said)
	}
	// After a sleep the manager begins Run anew: the session goes on as well.
	if err := stop(); err != nil || ch.Describe() != "not connected" {
		t.Error(err, ch.Describe())
	}
	hearing(t, ch, in)
	eventually(t, "a resumed session", func() bool { _, re := w.counts(); return re == 2 && w.connected() })
}

// TestZombie: a connection that acknowledges no heartbeat is left, and the session is
// resumed on another one ("Heartbeat ACK", zombied connections).
func TestZombie(t *testing.T) {
	w, in := newWorld(t), &channelstest.Inbox{}
	w.every, w.deaf = 30, true
	hearing(t, w.open(), in)
	eventually(t, "a resumed session", func() bool { _, re := w.counts(); return re > 0 })
	w.mu.Lock()
	w.deaf = false
	w.mu.Unlock()
	eventually(t, "heartbeats that are answered", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.beats > 5 && w.live != nil
	})
	w.person("d1", "7", "there?", false, nil)
	eventually(t, "the message", func() bool { return slices.Contains(texts(in), "there?") })
	if id, _ := w.counts(); id != 1 {
		t.Errorf("%d sign-ins", id)
	}
}

// TestGatewayAsks: what the gateway asks for by its opcodes, and by how it closes, has the
// consequence that the documentation gives it.
func TestGatewayAsks(t *testing.T) {
	for _, c := range []struct {
		name     string
		do       func(w *world)
		identify int
		resume   int
	}{
		{"reconnect", func(w *world) { _ = w.live.WriteJSON(frame{Op: 7}) }, 1, 1},
		{"invalid session that can be resumed", func(w *world) { _ = w.live.WriteJSON(frame{Op: 9, Data: true}) }, 1, 1},
		{"invalid session", func(w *world) { _ = w.live.WriteJSON(frame{Op: 9, Data: false}) }, 2, 0},
		{"a resume that is refused", func(w *world) {
			w.invalid = []bool{false}
			_ = w.live.WriteJSON(frame{Op: 7})
		}, 2, 1},
		{"session timed out", func(w *world) { w.bye(w.live, 4009) }, 2, 0},
		{"unknown error", func(w *world) { w.bye(w.live, 4000) }, 1, 1},
		{"a session that Discord does not know", func(w *world) {
			w.session = "other"
			_ = w.live.Close()
		}, 2, 1},
		{"a frame that is no JSON", func(w *world) { _ = w.live.WriteMessage(1, []byte("{")) }, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, in := newWorld(t), &channelstest.Inbox{}
			hearing(t, w.open(), in)
			eventually(t, "a connection", w.connected)
			w.person("d1", "7", "one", false, nil)
			eventually(t, "the first message", func() bool { return len(in.Heard()) == 1 })
			w.mu.Lock()
			old := w.live
			c.do(w)
			w.mu.Unlock()
			eventually(t, "another connection", func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.live != nil && w.live != old
			})
			w.person("d1", "7", "two", false, nil)
			eventually(t, "the next message", func() bool { return slices.Contains(texts(in), "two") })
			if got := once(in); !slices.Equal(got, []string{"one", "two"}) {
				t.Errorf("heard %q", got)
			}
			if id, re := w.counts(); id != c.identify || re != c.resume {
				t.Errorf("%d sign-ins and %d resumed, want %d and %d", id, re, c.identify, c.resume)
			}
		})
	}
}

// TestClosed: what only the owner can mend ends Run, with what he has to do.
func TestClosed(t *testing.T) {
	for _, c := range []struct {
		code  int
		class channels.Class
		says  string
	}{
		{4004, channels.Unauthorised, "hob channel add discord"},
		{4013, channels.Unauthorised, "Message Content Intent"},
		{4014, channels.Unauthorised, "Message Content Intent"},
		{4011, channels.Permanent, "fewer servers"},
		{4008, channels.Temporary, "tried again"},
		{1006, channels.Temporary, "tried again"},
	} {
		t.Run(fmt.Sprint(c.code), func(t *testing.T) {
			w := newWorld(t)
			w.closeWith = c.code
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := w.open().Run(ctx, &channelstest.Inbox{})
			if channels.ClassOf(err) != c.class || err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), token) {
				t.Errorf("class %d, error %v", channels.ClassOf(err), err)
			}
		})
	}
}

// TestTokenRevoked: the API says it first.
func TestTokenRevoked(t *testing.T) {
	w := newWorld(t)
	w.failsAll = true
	w.Fail(channels.Unauthorised, 2)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ch := w.open()
	err := ch.Run(ctx, &channelstest.Inbox{})
	if channels.ClassOf(err) != channels.Unauthorised || !strings.Contains(err.Error(), "hob channel add discord") || strings.Contains(err.Error(), token) {
		t.Error(err)
	}
	if _, err := ch.Test(ctx); channels.ClassOf(err) != channels.Unauthorised {
		t.Error(err)
	}
	if said, err := ch.Test(ctx); err != nil || said != "signed in as @hob, 999 connections left today" {
		t.Error(said, err)
	}
}

// TestGatewayElsewhere: a gateway that is not at Discord's is not spoken to.
func TestGatewayElsewhere(t *testing.T) {
	for _, at := range []string{"ws://evil.example.com", "ws://gateway.example.com.evil.example.com", "ws://gateway.example.com@evil.example.com", "http://gateway.example.com", "", "::"} {
		w := newWorld(t)
		w.gateway = at
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := w.open().Run(ctx, &channelstest.Inbox{})
		cancel()
		if err == nil || !strings.Contains(err.Error(), "none of Discord's") {
			t.Errorf("%q: %v", at, err)
		}
	}
}

// TestGatewayIsEncrypted: somebody else with the name of the gateway is not spoken to.
func TestGatewayIsEncrypted(t *testing.T) {
	w := newWorld(t)
	w.gateway = "wss://gateway.example.com" // with a certificate that nobody trusts
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := w.open().Run(ctx, &channelstest.Inbox{})
	if err == nil || !strings.Contains(err.Error(), "certificate") || channels.ClassOf(err) != channels.Temporary {
		t.Error(err)
	}
	if id, _ := w.counts(); id != 0 {
		t.Error("it was signed in to")
	}
}

// TestSilentGateway: Run ends with its context while the gateway says nothing.
func TestSilentGateway(t *testing.T) {
	w := newWorld(t)
	w.hello = false
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := w.open().Run(ctx, &channelstest.Inbox{}); err != nil {
		t.Error(err)
	}
}

// TestMissed: what was said while Hob was off is heard at its return, in order, page after
// page; what was said before it first came is not.
func TestMissed(t *testing.T) {
	w, in := newWorld(t), &channelstest.Inbox{}
	w.mu.Lock()
	w.ever = true
	w.mu.Unlock()
	w.person("d1", "7", "before the first start", false, nil)
	stop := hearing(t, w.open(), in)
	eventually(t, "a connection", w.connected)
	mention := object{"mentions": []object{{"id": botID}}}
	w.person("d1", "7", "one", false, nil)
	w.person("g1", "7", "<@"+botID+"> two", true, mention)
	w.person("d2", "8", "three", false, nil)
	w.person("closed", "8", "four", false, nil)
	eventually(t, "what is said", func() bool { return len(in.Heard()) == 4 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	want := []string{"one", "two", "three", "four"}
	w.person("g1", "7", "<@&"+roleID+"> by role", true, object{"mention_roles": []string{roleID}})
	for i := range 230 {
		w.person("d1", "7", fmt.Sprint("missed ", i), false, nil)
	}
	w.mu.Lock()
	delete(w.chats, "d2")
	w.fails = nil
	w.mu.Unlock()
	stop = hearing(t, w.open(), in)
	eventually(t, "what was missed", func() bool { return len(in.Heard()) >= 4+231 })
	w.person("d1", "7", "now", false, nil)
	eventually(t, "what is said now", func() bool { return slices.Contains(texts(in), "now") })
	_ = stop()
	for i := range 230 {
		want = append(want, fmt.Sprint("missed ", i))
	}
	want = append(want, "now")
	got := slices.DeleteFunc(once(in), func(s string) bool { return s == "by role" })
	if !slices.Equal(got, want) {
		t.Errorf("heard %d messages: %q", len(got), got)
	}
	for _, m := range in.Heard() {
		if m.Text == "by role" && (!m.Mentioned || !m.Group || m.Server != guildID || m.ChatName != "#general") {
			t.Errorf("the mention of a role was heard as %+v", m)
		}
	}
	// A session that cannot be resumed is the same.
	stop = hearing(t, w.open(), in)
	eventually(t, "a connection", w.connected)
	w.mu.Lock()
	_ = w.live.Close()
	w.live, w.session = nil, "gone"
	w.mu.Unlock()
	w.person("d1", "7", "in between", false, nil)
	eventually(t, "what was said in between", func() bool { return slices.Contains(texts(in), "in between") })
	_ = stop()
}

// TestNotTaken: a message that Hob could not make durable comes again.
func TestNotTaken(t *testing.T) {
	w, in := newWorld(t), &channelstest.Inbox{}
	ch := w.open()
	hearing(t, ch, &channelstest.Inbox{})
	eventually(t, "a connection", w.connected)
	in.Refuse(errors.New("the disk is full"))
	w2 := newWorld(t)
	ch = w2.open()
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { done <- ch.Run(ctx, in) }()
	eventually(t, "a connection", w2.connected)
	w2.person("d1", "7", "one", false, nil)
	w2.person("d1", "7", "two", false, nil)
	if err := <-done; err == nil || channels.ClassOf(err) != channels.Temporary || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("Run: %v", err)
	}
	in.Refuse(nil)
	hearing(t, ch, in) // as the manager does
	eventually(t, "both messages", func() bool { return len(in.Heard()) >= 2 })
	if got := once(in); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("heard %q", got)
	}
	// Strangers are forgotten.
	in.Refuse(channels.ErrStranger)
	w2.person("d9", "9", "psst", false, nil)
	w2.person("d9", "9", "hello?", false, nil)
	in.Refuse(nil)
	w2.person("d1", "7", "three", false, nil)
	eventually(t, "the next message", func() bool { return slices.Contains(texts(in), "three") })
}

// TestFlood: a thousand messages at once are heard, all and in order.
func TestFlood(t *testing.T) {
	w, in := newWorld(t), &channelstest.Inbox{}
	hearing(t, w.open(), in)
	eventually(t, "a connection", w.connected)
	var want []string
	for i := range 2000 {
		want = append(want, fmt.Sprint(i))
		w.person("d1", "7", fmt.Sprint(i), false, nil)
	}
	eventually(t, "all of them", func() bool { return len(in.Heard()) >= len(want) })
	if got := texts(in); !slices.Equal(got, want) {
		t.Errorf("heard %d", len(got))
	}
}
