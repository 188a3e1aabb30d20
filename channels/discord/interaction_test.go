package discord_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/discord/discordtest"
)

// TestSlashCommands checks that a command is acknowledged at once and becomes a message; its answer
// replaces the acknowledgment, and later texts follow it. In a server, only the person who gave a
// command sees the answer.
func TestSlashCommands(t *testing.T) {
	w, in := discordtest.New(t), &channelstest.Inbox{}
	ch := w.Open()
	channelstest.Running(t, ch, in)
	channelstest.Until(t, "a connection", w.Connected)
	ask := w.Command("ask", "what is new?", "7", true)
	status := w.Command("status", "", "7", true)
	deny := w.Command("deny", "q1 not now", "7", false)
	channelstest.Until(t, "the commands", func() bool { return len(in.Heard()) == 3 })
	if got, want := receivedTexts(in), []string{"what is new?", "/status", "/deny q1 not now"}; !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
	heard := in.Heard()
	if m := heard[0]; !m.Group || !m.Mentioned || m.Key != ask || m.Sender != "7" || m.Chat != "g1" || m.ChatName != "#general" || m.Server != discordtest.GuildID {
		t.Errorf("received %+v", m)
	}
	if heard[2].Group || heard[2].Key != deny {
		t.Errorf("received %+v", heard[2])
	}
	for id, flags := range map[string]int{ask: 128, status: 128 | 64, deny: 128} {
		if got := w.Original(id)["flags"]; got != flags {
			t.Errorf("acknowledgment has the flags %v, want %d", got, flags)
		}
	}
	say := func(n int, id, text string) {
		t.Helper()
		d := channels.Delivery{ID: id, Chat: heard[n].Chat, Text: text, Cause: heard[n].Payload, Kind: channels.Reply}
		if _, err := ch.Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if _, found, err := ch.Find(t.Context(), d); n == 0 && id == "d1" && (!found || err != nil) {
			t.Errorf("found %v, %v", found, err)
		}
	}
	say(0, "d1", "nothing")
	say(0, "d2", "that is, much")
	say(1, "d3", "running")
	say(1, "d4", "still")
	if got := w.Original(ask)["content"]; got != "nothing" {
		t.Errorf("answered %v", got)
	}
	if got := w.Original(status)["content"]; got != "running" {
		t.Errorf("answered %v", got)
	}
	if got, want := w.Told(), []string{"that is, much 4", fmt.Sprint("still ", 4|64)}; !slices.Equal(got, want) {
		t.Errorf("followed by %q, want %q", got, want)
	}
	// After a restart, Discord still knows that the interaction was answered.
	again := w.Open()
	if _, err := again.Send(t.Context(), channels.Delivery{ID: "d5", Chat: "g1", Text: "late", Cause: heard[0].Payload}); err != nil {
		t.Fatal(err)
	}
	if got := w.Told(); len(got) != 3 || w.Original(ask)["content"] != "nothing" {
		t.Errorf("followed by %q", got)
	}
	if len(w.Arrived()) != 0 {
		t.Errorf("arrived %q", w.Arrived())
	}
}

// TestSlashCommands_ExpiredInteraction checks that an answer after more than 15 minutes is an ordinary message, and
// that a private answer is sent as a direct message.
func TestSlashCommands_ExpiredInteraction(t *testing.T) {
	w := discordtest.New(t)
	ch := w.Open()
	for n, private := range []bool{false, true} {
		cause, _ := json.Marshal(object{"i": "1", "a": discordtest.AppID, "t": "gone", "u": "7", "e": time.Now().Add(-time.Hour), "p": private})
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: fmt.Sprint("d", n), Chat: "g1", Text: "late", Cause: cause}); err != nil {
			t.Fatal(err)
		}
	}
	// The same applies if Discord no longer accepts the token.
	w.Lock()
	w.FailsAll = true
	w.Fails = append(w.Fails, discordtest.AnswerWith(401, `{"message":"Invalid Webhook Token","code":50027}`))
	w.Unlock()
	cause, _ := json.Marshal(object{"i": "1", "a": discordtest.AppID, "t": "gone", "u": "7", "e": time.Now().Add(time.Minute)})
	if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d3", Chat: "g1", Text: "later", Cause: cause}); err != nil {
		t.Fatal(err)
	}
	w.Lock()
	defer w.Unlock()
	if len(w.Chats["g1"]) != 2 || len(w.Chats["dm7"]) != 1 {
		t.Errorf("messages in the chats: %v", w.Chats)
	}
}

// TestSlashCommands_UnknownSender checks that an unknown sender gets a private refusal.
func TestSlashCommands_UnknownSender(t *testing.T) {
	w, in := discordtest.New(t), &channelstest.Inbox{}
	in.Refuse(channels.ErrStranger)
	channelstest.Running(t, w.Open(), in)
	channelstest.Until(t, "a connection", w.Connected)
	id := w.Command("approve", "", "666", true)
	channelstest.Until(t, "the refusal", func() bool {
		w.Lock()
		defer w.Unlock()
		m := w.Interactions[discordtest.Secret+id]
		return m != nil && strings.Contains(fmt.Sprint(m["content"]), "I only talk to my owner")
	})
	if w.Original(id)["flags"].(int)&64 == 0 {
		t.Error("the refusal is visible to all")
	}
	// A public refusal would be visible to all, so the acknowledgment is removed, and only the
	// sender sees the refusal.
	id = w.Command("ask", "who are you?", "666", true)
	channelstest.Until(t, "the refusal", func() bool { return len(w.Told()) == 1 })
	if got := w.Told()[0]; w.Original(id) != nil || !strings.HasPrefix(got, "I only talk to my owner") || !strings.HasSuffix(got, fmt.Sprint(" ", 4|64)) {
		t.Errorf("refusal = %q; acknowledgment = %v", got, w.Original(id))
	}
}

// TestSlashCommands_AreRegisteredOnce: an unchanged list of commands is not registered again at each
// start.
func TestSlashCommands_AreRegisteredOnce(t *testing.T) {
	w := discordtest.New(t)
	puts := func() (out []discordtest.Request) {
		w.Lock()
		defer w.Unlock()
		for _, r := range w.Requests {
			if r.Method == "PUT" {
				out = append(out, r)
			}
		}
		return out
	}
	for range 2 {
		in := &channelstest.Inbox{}
		stop := channelstest.Running(t, w.Open(), in)
		channelstest.Until(t, "a connection", w.Connected)
		w.Person("d1", "7", "after it", false, nil)
		channelstest.Until(t, "the next message", func() bool { return len(in.Heard()) > 0 })
		_ = stop()
		if len(puts()) != 1 {
			t.Fatalf("commands were registered %d times, want once", len(puts()))
		}
	}
	if r := puts()[0]; r.Path != "/applications/"+discordtest.AppID+"/commands" {
		t.Errorf("commands were registered at %s", r.Path)
	}
}

// TestButtons checks that the owner answers a question by pressing a button, and that the press of
// an unknown person is refused. Then the buttons are removed.
func TestButtons(t *testing.T) {
	for _, yes := range []bool{true, false} {
		t.Run(fmt.Sprint(yes), func(t *testing.T) {
			w, in := discordtest.New(t), &channelstest.Inbox{}
			b := &channelstest.Buttons{Owner: "7", Question: "q1"}
			w.Deps.Buttons = b
			ch := w.Open()
			channelstest.Running(t, ch, in)
			channelstest.Until(t, "a connection", w.Connected)
			if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Chat: "d1", Kind: channels.Question, Text: "Shall I?"}); err != nil {
				t.Fatal(err)
			}
			w.Lock()
			m := w.Chats["d1"][0]
			buttons := fmt.Sprint(m["components"])
			w.Unlock()
			if !strings.Contains(buttons, "hob:yes:q1") || !strings.Contains(buttons, "hob:no:q1") || !strings.Contains(buttons, "Approve") {
				t.Fatalf("the buttons %s", buttons)
			}
			shown := object{"id": m["id"], "timestamp": m["timestamp"]}
			w.PressOn("d1", "hob:yes:q1", "666", shown, false)
			channelstest.Until(t, "the refusal", func() bool { return len(w.Told()) == 1 })
			if got := w.Told()[0]; got != fmt.Sprint(channels.ErrNotOwner, " ", 4|64) || len(b.Pressed()) != 0 {
				t.Errorf("refusal = %q, presses %v", got, b.Pressed())
			}
			w.PressOn("d1", "something:else", "7", shown, false)
			w.PressOn("d1", "hob:yes:another", "7", shown, false)
			channelstest.Until(t, "the second answer", func() bool { return len(w.Told()) == 2 })
			button := "hob:no:q1"
			if yes {
				button = "hob:yes:q1"
			}
			w.PressOn("d1", button, "7", shown, false)
			channelstest.Until(t, "the answer to the owner", func() bool { return len(w.Told()) == 3 })
			p := b.Pressed()
			if len(p) != 1 || p[0].Yes != yes || p[0].Channel != "discord" || p[0].Sender != "7" || p[0].Chat != "d1" || p[0].Shown.IsZero() {
				t.Fatalf("pressed %+v", p)
			}
			channelstest.Until(t, "no buttons", func() bool {
				w.Lock()
				defer w.Unlock()
				return len(m["components"].([]any)) == 0
			})
			w.Lock()
			defer w.Unlock()
			for _, a := range w.Acks {
				if a["type"] != 6.0 {
					t.Errorf("response to a press = %v", a)
				}
			}
		})
	}
}

// TestButtons_AreRemovedWhenAnsweredElsewhere checks that if a question was answered on another channel while this
// channel was not running, its buttons are removed when the channel runs again.
func TestButtons_AreRemovedWhenAnsweredElsewhere(t *testing.T) {
	w := discordtest.New(t)
	b := &channelstest.Buttons{Owner: "7", Question: "q1"}
	w.Deps.Buttons = b
	if _, err := w.Open().Send(t.Context(), channels.Delivery{ID: "d1", Chat: "d1", Kind: channels.Question, Text: "Shall I?"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Answer(t.Context(), "web", "q1", time.Now(), true); err != nil {
		t.Fatal(err)
	}
	w.Fail(channels.Temporary, 1)
	channelstest.Running(t, w.Open(), &channelstest.Inbox{})
	channelstest.Until(t, "no buttons", func() bool {
		w.Lock()
		defer w.Unlock()
		return len(w.Chats["d1"][0]["components"].([]any)) == 0
	})
	if _, err := w.Open().Send(t.Context(), channels.Delivery{ID: "d2", Chat: "d1", Kind: channels.Question, Text: "And this?"}); err != nil {
		t.Fatal(err)
	}
	if c := lastRequest(w).Body["components"]; len(c.([]any)) != 0 {
		t.Errorf("an expired question has the buttons %v", c)
	}
}

// TestButtons_InAServer: in a server, too, only the owner can use the buttons of a question. A press
// that Discord no longer knows has no effect.
func TestButtons_InAServer(t *testing.T) {
	w := discordtest.New(t)
	b := &channelstest.Buttons{Owner: "7", Question: "q1"}
	w.Deps.Buttons = b
	channelstest.Running(t, w.Open(), &channelstest.Inbox{})
	channelstest.Until(t, "a connection", w.Connected)
	press := func(sender string) {
		w.PressOn("g1", "hob:yes:q1", sender, object{"id": "5", "timestamp": "2026-01-02T03:04:05.000000+00:00"}, true)
	}
	for known := false; !known; time.Sleep(time.Millisecond) { // wait for the last request of the start, so that the next failing request is that of the press
		w.Lock()
		known = slices.ContainsFunc(w.Requests, func(r discordtest.Request) bool { return r.Method == "PUT" })
		w.Unlock()
	}
	press("8")
	channelstest.Until(t, "the first answer", func() bool { return len(w.Told()) == 1 })
	w.Lock()
	w.FailsAll = true
	w.Fails = append(w.Fails, discordtest.AnswerWith(404, `{"message":"Unknown interaction","code":10062}`))
	w.Unlock()
	press("7")
	channelstest.Until(t, "the press", func() bool {
		w.Lock()
		defer w.Unlock()
		return len(w.Fails) == 0
	})
	press("8")
	channelstest.Until(t, "the second answer", func() bool { return len(w.Told()) == 2 })
	if len(b.Pressed()) != 0 {
		t.Errorf("pressed %+v", b.Pressed())
	}
	press("7")
	channelstest.Until(t, "the answer to the owner", func() bool { return len(w.Told()) == 3 })
	p := b.Pressed()
	if len(p) != 1 || p[0].Chat != "g1" || !p[0].Shown.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("pressed %+v", p)
	}
}

// slowInbox is a receiver that blocks on messages.
type slowInbox struct {
	channelstest.Inbox
	wait chan struct{}
}

func (s *slowInbox) Receive(ctx context.Context, in channels.Inbound) (channels.Accepted, error) {
	select {
	case <-s.wait:
	case <-ctx.Done():
		return channels.Accepted{}, ctx.Err()
	}
	return s.Inbox.Receive(ctx, in)
}

// TestInteractions_AreAcknowledgedInTime checks that while a message is being received, presses and commands are
// acknowledged in time, heartbeats continue, and a flood of presses does not end the channel.
func TestInteractions_AreAcknowledgedInTime(t *testing.T) {
	w := discordtest.New(t)
	w.Every = 3000
	b := &channelstest.Buttons{Owner: "7", Question: "q1"}
	w.Deps.Buttons = b
	in := &slowInbox{wait: make(chan struct{})}
	channelstest.Running(t, w.Open(), in)
	channelstest.Until(t, "a connection", w.Connected)
	w.Person("d1", "7", "slow", false, nil)
	id := w.Command("status", "", "7", false)
	channelstest.Until(t, "the sign", func() bool { return w.Original(id) != nil })
	for range 200 {
		w.PressOn("d1", "hob:yes:q1", "666", object{"id": "5"}, false)
	}
	channelstest.Until(t, "words for the stranger", func() bool { return len(w.Told()) > 0 })
	w.Lock()
	beats := w.Beats
	w.Unlock()
	channelstest.Until(t, "heartbeats", func() bool {
		w.Lock()
		defer w.Unlock()
		return w.Beats > beats
	})
	channelstest.Until(t, "the owner's press", func() bool {
		w.PressOn("d1", "hob:no:q1", "7", object{"id": "5"}, false)
		time.Sleep(20 * time.Millisecond)
		return len(b.Pressed()) > 0
	})
	close(in.wait)
	channelstest.Until(t, "both", func() bool { return len(in.Heard()) == 2 })
	if _, re := countSignIns(w); re != 0 {
		t.Errorf("the connection was lost %d times", re)
	}
	if got := receivedTexts(&in.Inbox); !slices.Equal(got, []string{"slow", "/status"}) {
		t.Errorf("received %q", got)
	}
}
