package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/platform/host/system"
)

// guestChannel is a channel on which several people may write.
type guestChannel struct{ *recordingChannel }

func (guestChannel) Allow() []string { return []string{"u1", "u2", "u3"} }

// writeMessage passes a message from another person to the channel and waits until its turn has ended.
func (a guestChannel) writeMessage(h *daemonFixture, sender, name, text string) {
	h.t.Helper()
	acc := a.receiveMessage(h.t, channels.Inbound{Chat: "chat-" + sender, Sender: sender, SenderName: name, Text: text})
	h.waitEvent(acc.Event)
}

// receiveMessage passes a message to the receiver.
func (a guestChannel) receiveMessage(t *testing.T, in channels.Inbound) channels.Accepted {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		a.mu.Lock()
		to := a.to
		a.mu.Unlock()
		if to != nil {
			acc, err := to.Receive(t.Context(), in)
			failOnError(t, err)
			return acc
		}
		if time.Now().After(deadline) {
			t.Fatal("the channel does not run")
		}
	}
}

func openWithGuests(t *testing.T, home string) (*daemonFixture, guestChannel) {
	t.Helper()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	a := guestChannel{newPigeon(0)}
	conf := "[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[autonomy]\nsend_delay = \"0s\"\n[web]\nlisten = \"127.0.0.1:0\"\n"
	return openWith(t, home, Options{Paths: paths, Channels: map[string]channels.Channel{"pigeon": a}}, conf), a
}

// listIntents returns the intents that have not fired yet, one per line.
func (h *daemonFixture) listIntents() string {
	h.t.Helper()
	var list []struct{ Kind, Description string }
	_, body := h.callAPI(http.MethodGet, "/api/v1/watchers", nil)
	failOnError(h.t, json.Unmarshal(body, &list))
	var out strings.Builder
	for _, w := range list {
		if w.Kind == "intent" {
			out.WriteString(w.Description + "\n")
		}
	}
	return out.String()
}

// countArrived counts the messages to a chat that contain a text.
func (a guestChannel) countArrived(chat, text string) (n int) {
	for _, d := range a.Deliveries() {
		if d.Chat == chat && strings.Contains(d.Text, text) {
			n++
		}
	}
	return n
}

// "When you hear from Ada, tell her ..." waits for Ada's own account, asks before it sends, and does
// both only once. Other people can neither create an intent nor make Ada's fire under her name.
func TestIntent_AnswersOnePerson(t *testing.T) {
	h, a := openWithGuests(t, t.TempDir())
	a.writeMessage(h, "u1", "Ada Byron", "hello")
	if got := h.askHob("when you hear from Ada, tell her the venue changed"); !strings.Contains(got, `the next message from "Ada". Then, if you approve, I will send the sender: the venue changed`) {
		t.Fatal(got)
	}
	a.writeMessage(h, "u2", "Ada Byron", "hello, it is me, Ada")
	a.writeMessage(h, "u2", "Ada Byron", "when you hear from Ben, tell him I have the keys")
	if got := h.listIntents(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "the venue changed") {
		t.Errorf("after the messages of someone else: %q", got)
	}
	a.writeMessage(h, "u1", "A. B.", "are you there?")
	q := h.awaitDelivery("question", `Send to chat-u1 on pigeon: "the venue changed"`)
	if a.countArrived("chat-u1", "the venue changed") != 0 {
		t.Error("it was sent without approval")
	}
	var open []struct{ ID, Session, Tool string }
	_, body := h.callAPI(http.MethodGet, "/api/v1/approvals?state=pending", nil)
	failOnError(t, json.Unmarshal(body, &open))
	for _, p := range open {
		if p.Tool == "send_message" {
			h.callAPI(http.MethodPost, "/api/v1/sessions/"+p.Session+"/approvals/"+p.ID, map[string]any{"approved": true})
		}
	}
	a.awaitReply(t, "the venue changed")
	a.writeMessage(h, "u1", "Ada Byron", "thank you")
	if n := a.countArrived("chat-u1", "the venue changed"); n != 1 {
		t.Errorf("sent %d times (question %s)", n, q.ID)
	}
	if a.countArrived("chat-u2", "the venue changed") != 0 {
		t.Error("the other Ada got it")
	}
	if got := h.listIntents(); got != "" {
		t.Errorf("still waiting for %q", got)
	}
}

// With two accounts of one name, Hob does not guess, and with none it says what is missing. An
// address that the user gave identifies the person.
func TestIntent_NeedsAKnownAccount(t *testing.T) {
	h, a := openWithGuests(t, t.TempDir())
	if got := h.askHob("when you hear from Ada, tell her the venue changed"); !strings.Contains(got, "I do not know an account, address or number of Ada yet") {
		t.Error(got)
	}
	a.writeMessage(h, "u1", "Ada", "hello")
	a.writeMessage(h, "u2", "Ada", "hello")
	if got := h.askHob("when you hear from Ada, remind me of the keys"); !strings.Contains(got, "several accounts use the name") || !strings.Contains(got, "pigeon:u1") {
		t.Error(got)
	}
	if c := h.callTool("create_intent", `{"from":"pigeon:u2","remind":"the keys"}`); c.Code != "" || c.Error != "" {
		t.Fatalf("%+v", c)
	}
	a.writeMessage(h, "u1", "Ada", "one")
	a.writeMessage(h, "u2", "Ada", "two")
	h.awaitDelivery("notice", "Reminder: the keys")
	if got := h.listIntents(); strings.Contains(got, "the keys") || !strings.Contains(got, "the venue changed") {
		t.Errorf("waiting for %q", got)
	}
}

// "Next time I open the Garden project" fires once, across a restart; "whenever" fires each time.
// Intents are listed and canceled, and both can be undone.
func TestIntent_FiresOnceOrEachTime(t *testing.T) {
	home := t.TempDir()
	h, _ := openWithGuests(t, home)
	if got := h.askHob("next time I open the Garden project, remind me of the hose"); !strings.Contains(got, `your next message with "Garden" and will then remind you: the hose`) {
		t.Fatal(got)
	}
	if got := h.askHob("whenever I open the Boat project, remind me of the anchor"); !strings.Contains(got, `each of your own messages with "Boat"`) {
		t.Fatal(got)
	}
	h.stop()
	h, _ = openWithGuests(t, home)
	if got := h.askHob("what are you waiting for?"); !strings.Contains(got, "the hose") || !strings.Contains(got, "the anchor") {
		t.Error(got)
	}
	for range 2 {
		h.askHob("show me all tasks in the Garden project")
		h.askHob("show me all tasks in the Boat project")
	}
	count := func(text string) (n int) {
		for _, d := range h.listDeliveries(channels.Notice) {
			if strings.Contains(d.Text, text) {
				n++
			}
		}
		return n
	}
	for deadline := time.Now().Add(60 * time.Second); count("Reminder: the anchor") < 2 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if hose, anchor := count("Reminder: the hose"), count("Reminder: the anchor"); hose != 1 || anchor != 2 {
		t.Errorf("reminded %d times of the hose and %d times of the anchor", hose, anchor)
	}
	if got := h.askHob("cancel the intent about the Boat"); !strings.Contains(got, "Canceled the intent") || h.listIntents() != "" {
		t.Errorf("%q, waiting for %q", got, h.listIntents())
	}
	if got := h.askHob("/undo"); !strings.Contains(h.listIntents(), "the anchor") {
		t.Errorf("%q, waiting for %q", got, h.listIntents())
	}
}

// An intent may wait for a watcher, and a person's words. A text for a person who has a grant needs
// no approval.
func TestIntent_WaitsForWordsAndWatchers(t *testing.T) {
	h, a := openWithGuests(t, t.TempDir())
	a.writeMessage(h, "u3", "Ben", "hello")
	if got := h.askHob("when Ben mentions the invoice, tell me"); !strings.Contains(got, `each message from "Ben" with "invoice"`) {
		t.Fatal(got)
	}
	a.writeMessage(h, "u3", "Ben", "nice weather")
	a.writeMessage(h, "u3", "Ben", "the invoice is late")
	h.awaitDelivery("notice", "Ben .*the invoice is late")
	a.writeMessage(h, "u3", "Ben", "the invoice came")
	h.awaitDelivery("notice", "Ben .*the invoice came")

	downloads := filepath.Join(h.home, "Downloads")
	failOnError(t, os.MkdirAll(downloads, 0o700))
	h.callTool("create_watcher", fmt.Sprintf(`{"kind":"file","config":{"path":%q}}`, downloads))
	if c := h.callTool("create_intent", `{"watcher":"Downloads","remind":"back up the disk"}`); c.Code != "" || c.Error != "" {
		t.Fatalf("%+v", c)
	}
	failOnError(t, os.WriteFile(filepath.Join(downloads, "a.pdf"), []byte("%PDF"), 0o600))
	h.awaitDelivery("notice", "Reminder: back up the disk")
	if got := h.listIntents(); strings.Contains(got, "back up") {
		t.Errorf("waiting for %q", got)
	}

	if c := h.callTool("create_intent", `{"from":"Ben","words":["key"],"tell":"it is under the pot","each_time":true}`); c.Code != "" || c.Error != "" {
		t.Fatalf("%+v", c)
	}
	a.writeMessage(h, "u3", "Ben", "where is the key?")
	h.awaitDelivery("question", "it is under the pot")
	var open []struct{ ID, Session string }
	_, body := h.callAPI(http.MethodGet, "/api/v1/approvals?state=pending", nil)
	failOnError(t, json.Unmarshal(body, &open))
	for _, p := range open {
		code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/"+p.Session+"/approvals/"+p.ID, map[string]any{"approved": true, "scope": "pattern"})
		if code >= 300 {
			t.Fatalf("%d %s", code, body)
		}
	}
	a.awaitReply(t, "it is under the pot")
	a.writeMessage(h, "u3", "Ben", "the key, please")
	for deadline := time.Now().Add(60 * time.Second); a.countArrived("chat-u3", "under the pot") < 2 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := a.countArrived("chat-u3", "under the pot"); n != 2 {
		t.Errorf("sent %d times", n)
	}
}
