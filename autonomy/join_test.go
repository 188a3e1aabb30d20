package autonomy_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/autonomy"
	"hob/autonomy/bus"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/payload"
	"hob/channels"
	"hob/platform/store/storetest"
)

func (e *engine) receiveMessage(settle time.Duration, key, text string) channels.Accepted {
	e.t.Helper()
	acc, err := e.intake.Receive(e.t.Context(), channels.Inbound{
		Channel: "chat", Chat: "7", Sender: "ada", FromOwner: true, Text: text, Key: key, Debounce: settle,
		Outside: []string{"with " + text}, Images: []channels.Image{{MIME: "image/png", Data: []byte(text)}},
	})
	failOnError(e.t, err)
	return acc
}

// The process dies right after a message was accepted, before the platform gets the acknowledgment,
// so the platform delivers all messages again. Each message is in exactly one turn.
func TestJoin_SurvivesACrash(t *testing.T) {
	storetest.FileOnly(t, "the test copies the files as a SIGKILL leaves them")
	texts := []string{"one", "two", "three"}
	e := startEngine(t, setup{idle: true, model: scriptedModel(), pushes: map[string]bool{"chat": true}})
	snaps := &snapshots{t: t, path: e.path}
	snaps.takeSnapshot("nothing was taken")
	for i, text := range texts {
		e.receiveMessage(20*time.Second, fmt.Sprint(i), text)
		snaps.takeSnapshot(text)
	}
	for _, s := range snaps.taken {
		t.Run(s.at, func(t *testing.T) {
			m := modelFrom(func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: "ok"} })
			after := startEngine(t, setup{dir: s.dir, idle: true, model: m, pushes: map[string]bool{"chat": true}})
			ids := map[string]bool{}
			for i, text := range texts {
				ids[after.receiveMessage(20*time.Second, fmt.Sprint(i), text).Event] = true
			}
			if len(ids) != 1 {
				t.Errorf("the messages became %d events, want 1", len(ids))
			}
			for id := range ids {
				ev, err := after.bus.Inbox.Event(t.Context(), id)
				failOnError(t, err)
				if ev.Text != "one\ntwo\nthree" || strings.Count(string(ev.Payload), "with ") != 3 || strings.Count(string(ev.Payload), "image/png") != 3 {
					t.Errorf("joined text %q with payload %s", ev.Text, ev.Payload)
				}
			}
		})
	}
}

func TestJoin_MakesOneTurn(t *testing.T) {
	m := modelFrom(func(r llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: "ok"} })
	e := startEngine(t, setup{model: m, pushes: map[string]bool{"chat": true}})
	first := e.receiveMessage(300*time.Millisecond, "1", "one")
	if acc := e.receiveMessage(300*time.Millisecond, "2", "two"); acc.Event != first.Event {
		t.Errorf("receiveMessage = %+v", acc)
	}
	if acc := e.receiveMessage(300*time.Millisecond, "3", "don't"); acc.Event != first.Event {
		t.Errorf("receiveMessage = %+v", acc)
	}
	for _, alone := range []string{"/status", "undo that"} {
		if acc := e.receiveMessage(300*time.Millisecond, alone, alone); acc.Event == first.Event {
			t.Errorf("%q was joined", alone)
		}
	}
	if ev := e.awaitClosed(first.Event); ev.State != bus.Done || ev.Text != "one\ntwo\ndon't" {
		t.Errorf("%s %q", ev.State, ev.Text)
	}
}

// A message that waits for the next one counts as started: "/stop" ends it.
func TestStop_EndsAMessageThatWaitsForMore(t *testing.T) {
	m := modelFrom(func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: "done"} })
	e := startEngine(t, setup{model: m, pushes: map[string]bool{"chat": true}})
	first := e.receiveMessage(time.Hour, "1", "delete all of it")
	e.receiveMessage(time.Hour, "2", "now")
	stop := e.receiveMessage(time.Hour, "3", "/stop")
	if ev := e.awaitClosed(first.Event); ev.State != bus.Done || ev.Answer != "Stopped." {
		t.Errorf("%s %q", ev.State, ev.Answer)
	}
	if ev := e.awaitClosed(stop.Event); ev.Answer != "Stopped." {
		t.Errorf("answer to /stop = %q", ev.Answer)
	}
	if n := len(m.Asked()); n != 0 {
		t.Errorf("%d model calls", n)
	}
	if again := e.receiveMessage(time.Millisecond, "4", "hello"); again.Event == first.Event || e.awaitClosed(again.Event).Answer != "done" {
		t.Error("the next message got no separate answer")
	}
}

// A message sent before "/new" is answered in its own conversation.
func TestNew_AnswersWaitingMessagesInTheOldConversation(t *testing.T) {
	m := modelFrom(func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: "ok"} })
	e := startEngine(t, setup{model: m, pushes: map[string]bool{"chat": true}})
	e.awaitClosed(e.receiveMessage(time.Millisecond, "1", "remember the blue one").Event)
	waits := e.receiveMessage(time.Hour, "2", "and where is it?")
	fresh := e.receiveMessage(time.Hour, "3", "/new")
	if ev := e.awaitClosed(fresh.Event); !strings.HasPrefix(ev.Answer, "Started a new conversation.") {
		t.Errorf("answer to /new = %q", ev.Answer)
	}
	if ev := e.awaitClosed(waits.Event); ev.State != bus.Done || ev.Answer != "ok" {
		t.Errorf("%s %q", ev.State, ev.Answer)
	}
	e.awaitClosed(e.receiveMessage(time.Millisecond, "4", "hello").Event)
	var asked []bool
	for _, r := range m.Asked() {
		asked = append(asked, strings.Contains(fmt.Sprint(r.Messages), "blue one"))
	}
	if fmt.Sprint(asked) != "[true true false]" {
		t.Errorf("requests that contain the old conversation: %v", asked)
	}
}

// shownAnswer is an answer as displayed.
type shownAnswer struct {
	mu   sync.Mutex
	what []string
}

func (v *shownAnswer) addText(s string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.what = append(v.what, s)
}

func (v *shownAnswer) Add(text string) { v.addText(text) }
func (v *shownAnswer) Reset()          { v.addText("<reset>") }
func (v *shownAnswer) Break()          { v.addText("<break>") }
func (v *shownAnswer) Stop()           { v.addText("<stop>") }

// The display of a turn shows the text of its last step. A question ends the display, and the end
// of the turn removes it.
func TestDisplay_ShowsTheLastStepOfATurn(t *testing.T) {
	v := &shownAnswer{}
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		if r.Round == 0 {
			a := callsAnswer(newCall("send_text", `{"text":"x"}`))
			a.Text = "let me see"
			return a
		}
		return llmtest.Answer{Text: "the answer"}
	})
	e := startEngine(t, setup{model: m, change: func(o *autonomy.Options) {
		o.Chats = chatSigns{show: func(channel string) channels.LiveDraft {
			if channel != "chat" {
				return nil
			}
			return v
		}}
	}})
	acc := e.receiveMessage(0, "1", "send it")
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		v.mu.Lock()
		got := strings.Join(v.what, "")
		v.mu.Unlock()
		if strings.Contains(got, "<break>") && strings.Contains(got, "<stop>") {
			break
		}
	}
	v.mu.Lock()
	got := strings.Join(v.what, "")
	v.what = nil
	v.mu.Unlock()
	if got = strings.TrimPrefix(got, "<reset>"); got != "let me see<break><stop>" {
		t.Errorf("display until the question: %q", got)
	}
	e.receiveMessage(0, "2", "/yes "+e.awaitPending(1)[0].ID)
	e.awaitClosed(acc.Event)
	v.mu.Lock()
	defer v.mu.Unlock()
	got = strings.Join(v.what, "")
	if !strings.Contains(got, "the answer") || !strings.Contains(got, "<stop>") {
		t.Errorf("display after the approval: %q", got)
	}
}

// After two messages were merged, the origin of each untrusted text is still known.
func TestReview2_JoinedPartsKeepTheirOrigins(t *testing.T) {
	e := startEngine(t, setup{idle: true, model: scriptedModel(), pushes: map[string]bool{"chat": true}})
	var id string
	for i, in := range []channels.Inbound{
		{Text: "look at this", Outside: []string{"a quote"}},
		{Text: "and this", Outside: []string{"from a pipe", "from the clipboard"}, OutsideFrom: []channels.TextSource{{Origin: channels.Piped}, {Origin: channels.Pasted}}},
		{Text: "and that", Outside: []string{"x,y"}, OutsideFrom: []channels.TextSource{{Origin: channels.FromFile, Name: "a.csv"}}},
	} {
		in.Channel, in.Chat, in.Sender, in.FromOwner, in.Key, in.Debounce = "chat", "7", "ada", true, fmt.Sprint(i), 20*time.Second
		acc, err := e.intake.Receive(t.Context(), in)
		failOnError(t, err)
		if id == "" {
			id = acc.Event
		}
		if acc.Event != id {
			t.Fatalf("message %d became another event", i)
		}
	}
	ev, err := e.bus.Inbox.Event(t.Context(), id)
	failOnError(t, err)
	if ev.Text != "look at this\nand this\nand that" {
		t.Errorf("text of the event = %q", ev.Text)
	}
	want := "piped text, 11 characters; pasted text, 18 characters; file, a.csv"
	if got := strings.Join(payload.Attachments(ev), "; "); got != want {
		t.Errorf("attachments = %q, want %q; payload %s", got, want, ev.Payload)
	}
}
