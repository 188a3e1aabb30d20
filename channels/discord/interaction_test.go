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
)

// command is a slash command of somebody.
func (w *world) command(name, text, sender string, group bool) (id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id = w.id()
	who := object{"id": sender, "username": "u" + sender}
	d := object{"id": id, "application_id": appID, "type": 2, "token": "SECRETINTERACTION" + id, "channel_id": "g1", "data": object{"name": name}}
	if text != "" {
		d["data"] = object{"name": name, "options": []object{{"name": "text", "type": 3, "value": text}}}
	}
	if group {
		d["guild_id"], d["member"] = guildID, object{"user": who}
	} else {
		d["user"] = who
	}
	w.dispatch("INTERACTION_CREATE", d)
	return id
}

// press is a press on a button of a message.
func (w *world) press(button, sender string, m object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.id()
	w.dispatch("INTERACTION_CREATE", object{
		"id": id, "application_id": appID, "type": 3, "token": "SECRETINTERACTION" + id, "channel_id": "d1",
		"user": object{"id": sender, "username": "u" + sender}, "data": object{"custom_id": button, "component_type": 2}, "message": m,
	})
}

func (w *world) original(id string) object {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.interactions["SECRETINTERACTION"+id]
}

func (w *world) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, m := range w.followUps {
		out = append(out, fmt.Sprint(m["content"], " ", m["flags"]))
	}
	return out
}

// TestSlashCommands: a command is answered at once with the sign that an answer follows,
// and becomes Hob's own; its answer takes the place of the sign, and what comes after it
// follows. In a server, only who gave a command sees what it says.
func TestSlashCommands(t *testing.T) {
	w, in := newWorld(t), &channelstest.Inbox{}
	ch := w.open()
	hearing(t, ch, in)
	eventually(t, "a connection", w.connected)
	ask := w.command("ask", "what is new?", "7", true)
	status := w.command("status", "", "7", true)
	deny := w.command("deny", "q1 not now", "7", false)
	eventually(t, "the commands", func() bool { return len(in.Heard()) == 3 })
	if got, want := texts(in), []string{"what is new?", "/status", "/deny q1 not now"}; !slices.Equal(got, want) {
		t.Errorf("heard %q, want %q", got, want)
	}
	heard := in.Heard()
	if m := heard[0]; !m.Group || !m.Mentioned || m.Key != ask || m.Sender != "7" || m.Chat != "g1" || m.ChatName != "#general" || m.Server != guildID {
		t.Errorf("heard %+v", m)
	}
	if heard[2].Group || heard[2].Key != deny {
		t.Errorf("heard %+v", heard[2])
	}
	for id, flags := range map[string]int{ask: 128, status: 128 | 64, deny: 128} {
		if got := w.original(id)["flags"]; got != flags {
			t.Errorf("the sign has the flags %v, want %d", got, flags)
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
	if got := w.original(ask)["content"]; got != "nothing" {
		t.Errorf("answered %v", got)
	}
	if got := w.original(status)["content"]; got != "running" {
		t.Errorf("answered %v", got)
	}
	if got, want := w.told(), []string{"that is, much 4", fmt.Sprint("still ", 4|64)}; !slices.Equal(got, want) {
		t.Errorf("followed by %q, want %q", got, want)
	}
	// After a restart Discord knows that there was an answer.
	again := w.open()
	if _, err := again.Send(t.Context(), channels.Delivery{ID: "d5", Chat: "g1", Text: "late", Cause: heard[0].Payload}); err != nil {
		t.Fatal(err)
	}
	if got := w.told(); len(got) != 3 || w.original(ask)["content"] != "nothing" {
		t.Errorf("followed by %q", got)
	}
	if len(w.Arrived()) != 0 {
		t.Errorf("arrived %q", w.Arrived())
	}
}

// TestInteractionOver: after its 15 minutes an answer is an ordinary message, and one that
// was for one person goes to that person alone.
func TestInteractionOver(t *testing.T) {
	w := newWorld(t)
	ch := w.open()
	for n, private := range []bool{false, true} {
		cause, _ := json.Marshal(object{"i": "1", "a": appID, "t": "gone", "u": "7", "e": time.Now().Add(-time.Hour), "p": private})
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: fmt.Sprint("d", n), Chat: "g1", Text: "late", Cause: cause}); err != nil {
			t.Fatal(err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.chats["g1"]) != 1 || len(w.chats["dm7"]) != 1 {
		t.Errorf("said in %v", w.chats)
	}
}

// TestStrangersCommand: somebody whom Hob does not hear is told so, and nobody else.
func TestStrangersCommand(t *testing.T) {
	w, in := newWorld(t), &channelstest.Inbox{}
	in.Refuse(channels.ErrStranger)
	hearing(t, w.open(), in)
	eventually(t, "a connection", w.connected)
	id := w.command("approve", "", "666", true)
	eventually(t, "a word", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		m := w.interactions["SECRETINTERACTION"+id]
		return m != nil && strings.Contains(fmt.Sprint(m["content"]), "I talk with my owner")
	})
	if w.original(id)["flags"].(int)&64 == 0 {
		t.Error("everybody sees it")
	}
}

// TestCommandsAreMadeKnownOnce: not at each start.
func TestCommandsAreMadeKnownOnce(t *testing.T) {
	w := newWorld(t)
	puts := func() (out []request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, r := range w.requests {
			if r.method == "PUT" {
				out = append(out, r)
			}
		}
		return out
	}
	for range 2 {
		in := &channelstest.Inbox{}
		stop := hearing(t, w.open(), in)
		eventually(t, "a connection", w.connected)
		w.person("d1", "7", "after it", false, nil)
		eventually(t, "what comes after it", func() bool { return len(in.Heard()) > 0 })
		_ = stop()
		if len(puts()) != 1 {
			t.Fatalf("made known %d times", len(puts()))
		}
	}
	if r := puts()[0]; r.path != "/applications/"+appID+"/commands" {
		t.Errorf("made known at %s", r.path)
	}
}

// TestButtons: the owner answers a question by a press; a stranger is told that it is not
// his to answer, and changes nothing. Then the buttons are taken away.
func TestButtons(t *testing.T) {
	for _, yes := range []bool{true, false} {
		t.Run(fmt.Sprint(yes), func(t *testing.T) {
			w, in := newWorld(t), &channelstest.Inbox{}
			b := &channelstest.Buttons{Owner: "7", Question: "q1"}
			w.deps.Buttons = b
			ch := w.open()
			hearing(t, ch, in)
			eventually(t, "a connection", w.connected)
			if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Chat: "d1", Kind: channels.Question, Text: "Shall I?"}); err != nil {
				t.Fatal(err)
			}
			w.mu.Lock()
			m := w.chats["d1"][0]
			buttons := fmt.Sprint(m["components"])
			w.mu.Unlock()
			if !strings.Contains(buttons, "hob:yes:q1") || !strings.Contains(buttons, "hob:no:q1") || !strings.Contains(buttons, "Approve") {
				t.Fatalf("the buttons %s", buttons)
			}
			shown := object{"id": m["id"], "timestamp": m["timestamp"]}
			w.press("hob:yes:q1", "666", shown)
			eventually(t, "a word for the stranger", func() bool { return len(w.told()) == 1 })
			if got := w.told()[0]; got != fmt.Sprint(channels.ErrNotOwner, " ", 4|64) || len(b.Pressed()) != 0 {
				t.Errorf("told %q, pressed %v", got, b.Pressed())
			}
			w.press("something:else", "7", shown)
			w.press("hob:yes:another", "7", shown)
			eventually(t, "a word", func() bool { return len(w.told()) == 2 })
			button := "hob:no:q1"
			if yes {
				button = "hob:yes:q1"
			}
			w.press(button, "7", shown)
			eventually(t, "a word for the owner", func() bool { return len(w.told()) == 3 })
			p := b.Pressed()
			if len(p) != 1 || p[0].Yes != yes || p[0].Channel != "discord" || p[0].Sender != "7" || p[0].Chat != "d1" || p[0].Shown.IsZero() {
				t.Fatalf("pressed %+v", p)
			}
			eventually(t, "no buttons", func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				return len(m["components"].([]any)) == 0
			})
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, a := range w.acks {
				if a["type"] != 6.0 {
					t.Errorf("a press was answered by %v", a)
				}
			}
		})
	}
}

// TestAnsweredElsewhere: the buttons of a question that was answered on another channel,
// while Hob was off here, are taken away at its return.
func TestAnsweredElsewhere(t *testing.T) {
	w := newWorld(t)
	b := &channelstest.Buttons{Owner: "7", Question: "q1"}
	w.deps.Buttons = b
	if _, err := w.open().Send(t.Context(), channels.Delivery{ID: "d1", Chat: "d1", Kind: channels.Question, Text: "Shall I?"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Answer(t.Context(), "web", "q1", time.Now(), true); err != nil {
		t.Fatal(err)
	}
	w.Fail(channels.Temporary, 1)
	hearing(t, w.open(), &channelstest.Inbox{})
	eventually(t, "no buttons", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.chats["d1"][0]["components"].([]any)) == 0
	})
	if _, err := w.open().Send(t.Context(), channels.Delivery{ID: "d2", Chat: "d1", Kind: channels.Question, Text: "And this?"}); err != nil {
		t.Fatal(err)
	}
	if c := w.last().body["components"]; len(c.([]any)) != 0 {
		t.Errorf("a question that no press may answer has the buttons %v", c)
	}
}

// TestPressInServer: in a server, the buttons of a question are the owner's alone, too. A
// press that Discord does not know any more has no effect.
func TestPressInServer(t *testing.T) {
	w := newWorld(t)
	b := &channelstest.Buttons{Owner: "7", Question: "q1"}
	w.deps.Buttons = b
	hearing(t, w.open(), &channelstest.Inbox{})
	eventually(t, "a connection", w.connected)
	press := func(sender string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		id := w.id()
		w.dispatch("INTERACTION_CREATE", object{
			"id": id, "application_id": appID, "type": 3, "token": "SECRETINTERACTION" + id, "channel_id": "g1", "guild_id": guildID,
			"member": object{"user": object{"id": sender}}, "data": object{"custom_id": "hob:yes:q1"},
			"message": object{"id": "5", "timestamp": "2026-01-02T03:04:05.000000+00:00"},
		})
	}
	press("8")
	eventually(t, "a word", func() bool { return len(w.told()) == 1 })
	w.mu.Lock()
	w.failsAll = true
	w.fails = append(w.fails, answerWith(404, `{"message":"Unknown interaction","code":10062}`))
	w.mu.Unlock()
	press("7")
	eventually(t, "the press", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.fails) == 0
	})
	press("8")
	eventually(t, "another word", func() bool { return len(w.told()) == 2 })
	if len(b.Pressed()) != 0 {
		t.Errorf("pressed %+v", b.Pressed())
	}
	press("7")
	eventually(t, "the owner's word", func() bool { return len(w.told()) == 3 })
	p := b.Pressed()
	if len(p) != 1 || p[0].Chat != "g1" || !p[0].Shown.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("pressed %+v", p)
	}
}

// slow is a receiver that takes its time with messages.
type slow struct {
	channelstest.Inbox
	wait chan struct{}
}

func (s *slow) Receive(ctx context.Context, in channels.Inbound) (channels.Accepted, error) {
	select {
	case <-s.wait:
	case <-ctx.Done():
		return channels.Accepted{}, ctx.Err()
	}
	return s.Inbox.Receive(ctx, in)
}

// TestAnsweredInTime: while a message is being taken, presses and commands get their first
// answer all the same, heartbeats go on, and a flood of presses is no reason to stop.
func TestAnsweredInTime(t *testing.T) {
	w := newWorld(t)
	w.every = 500
	b := &channelstest.Buttons{Owner: "7", Question: "q1"}
	w.deps.Buttons = b
	in := &slow{wait: make(chan struct{})}
	hearing(t, w.open(), in)
	eventually(t, "a connection", w.connected)
	w.person("d1", "7", "slow", false, nil)
	id := w.command("status", "", "7", false)
	eventually(t, "the sign", func() bool { return w.original(id) != nil })
	for range 200 {
		w.press("hob:yes:q1", "666", object{"id": "5"})
	}
	eventually(t, "words for the stranger", func() bool { return len(w.told()) > 0 })
	w.mu.Lock()
	beats := w.beats
	w.mu.Unlock()
	eventually(t, "heartbeats", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.beats > beats+1
	})
	eventually(t, "the owner's press", func() bool {
		w.press("hob:no:q1", "7", object{"id": "5"})
		time.Sleep(20 * time.Millisecond)
		return len(b.Pressed()) > 0
	})
	close(in.wait)
	eventually(t, "both", func() bool { return len(in.Heard()) == 2 })
	if _, re := w.counts(); re != 0 {
		t.Errorf("the connection was lost %d times", re)
	}
	if got := texts(&in.Inbox); !slices.Equal(got, []string{"slow", "/status"}) {
		t.Errorf("heard %q", got)
	}
}
