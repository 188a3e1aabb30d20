package app

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
)

// sendAsync sends a message from the owner and does not wait for the answer.
func (h *daemonFixture) sendAsync(text string) (event string) {
	h.t.Helper()
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", map[string]any{"text": text, "async": true})
	var r struct{ Event string }
	if code != http.StatusAccepted || json.Unmarshal(body, &r) != nil {
		h.t.Fatalf("%q: %d %s", text, code, body)
	}
	return r.Event
}

// openOf waits until n approval requests are open and returns the request of each event.
func (h *daemonFixture) openOf(n int) map[string]string {
	h.t.Helper()
	open := map[string]string{}
	h.waitFor("open questions", func() bool {
		_, body := h.callAPI(http.MethodGet, "/api/v1/approvals?state=pending", nil)
		var list []struct{ ID, Event string }
		failOnError(h.t, json.Unmarshal(body, &list))
		clear(open)
		for _, a := range list {
			open[a.Event] = a.ID
		}
		return len(list) == n
	})
	return open
}

// While an external agent waits for a permission, the owner's later messages are answered in
// another session of the agent, and the waiting session gets the messages with its next prompt.
func TestExternalAgent_AnswersLaterMessagesWhileItAsks(t *testing.T) {
	h := openWithAgent(t, "")
	h.askHob("say Hello.")
	first, question := h.askApproval("home", "do execute one")
	got := h.askHob("heard")
	if !strings.Contains(got, "user: say Hello.") || !strings.Contains(got, "user: do execute one\nassistant: [hob] No answer yet") || !strings.HasSuffix(got, "\n|heard") {
		t.Errorf("a later prompt: %q", got)
	}
	if got := h.askHob("count"); !strings.HasPrefix(got, "prompt 2,") {
		t.Errorf("answer to the second later prompt = %q", got)
	}
	if got := h.askHob("yes"); !strings.Contains(got, question) {
		t.Errorf("answer to a bare \"yes\" after later messages = %q", got)
	}
	h.waitFor("only the waiting turn is left", func() bool { return h.d.loop.Running() == 0 })
	s, err := h.d.service.Status(t.Context())
	failOnError(t, err)
	if s.Questions != 1 || len(s.HeldSources) > 0 || h.readWork() != "" {
		t.Errorf("%d requests, waiting %+v, actions %q", s.Questions, s.HeldSources, h.readWork())
	}
	h.answerApproval(question, true)
	if got := h.awaitEnd(first); got.Answer != "It is done: one" || h.readWork() != "one" {
		t.Errorf("event %+v, actions %q", got, h.readWork())
	}
	got = h.askHob("heard")
	// The answer to the first message that contains "heard" quotes the prompt of the second
	// session.
	if strings.Count(got, "say Hello.") != 1 || strings.Count(got, "user: count") != 1 || strings.Count(got, "do execute one") != 1 || !strings.HasSuffix(got, "\n|heard") {
		t.Errorf("next prompt of the first session = %q", got)
	}
	if got := h.askHob("count"); !strings.HasPrefix(got, "prompt 4,") {
		t.Errorf("the first session did not continue: %q", got)
	}
}

// Answers reach the turns that asked, in any order, even after a message whose text looks like an
// answer.
func TestExternalAgent_GetsTheAnswerToItsOwnQuestion(t *testing.T) {
	h := openWithAgent(t, "")
	first := h.sendAsync("do execute one")
	h.openOf(1)
	second := h.sendAsync("do execute two")
	third := h.sendAsync("both three")
	open := h.openOf(4)
	if got := h.askHob("say Still here."); got != "Still here." {
		t.Errorf("answer while three turns ask = %q", got)
	}
	h.answerApproval(open[second], true)
	if got := h.awaitEnd(second); got.Answer != "It is done: two" {
		t.Errorf("awaitEnd = %+v", got)
	}
	h.answerApproval(open[first], false)
	if got := h.awaitEnd(first); got.Answer != "I may not, it says no." || h.readWork() != "two" {
		t.Errorf("event %+v, actions %q", got, h.readWork())
	}
	_, body := h.callAPI(http.MethodGet, "/api/v1/approvals?state=pending", nil)
	var list []struct{ ID, Tool, Event string }
	failOnError(t, json.Unmarshal(body, &list))
	slices.SortFunc(list, func(a, b struct{ ID, Tool, Event string }) int { return -strings.Compare(a.Tool, b.Tool) })
	if len(list) != 2 || list[0].Tool != "agent_execute" || list[0].Event != third {
		t.Fatalf("%s", body)
	}
	h.answerApproval(list[0].ID, true) // one of two open approval requests
	h.waitFor("the action", func() bool { return h.readWork() == "two\nthree" })
	if got := h.askHob("say And now?"); got != "And now?" {
		t.Errorf("answer while the second request is open = %q", got)
	}
	h.answerApproval(list[1].ID, false)
	if got := h.awaitEnd(third); !strings.Contains(got.Answer, "It is done: three") || !strings.Contains(got.Answer, "I may not") {
		t.Errorf("awaitEnd = %+v", got)
	}
}

// An approved turn continues after the running turn, and before the messages queued behind it.
func TestExternalAgent_ContinuesWhenTheRunningTurnEnds(t *testing.T) {
	h := openWithAgent(t, "")
	first, question := h.askApproval("home", "do execute one")
	running := h.sendAsync("await file")
	h.waitFor("the second turn", func() bool {
		e, err := h.d.bus.Inbox.Event(t.Context(), running)
		return err == nil && e.State == bus.Claimed
	})
	h.answerApproval(question, true)
	time.Sleep(200 * time.Millisecond) // the approved turn must not overtake the running turn
	if h.readWork() != "" {
		t.Errorf("two turns of one conversation ran at the same time: actions %q", h.readWork())
	}
	last := h.sendAsync("say Last.")
	failOnError(t, os.WriteFile(filepath.Join(h.home, "work", "file"), nil, 0o600))
	for _, id := range []string{running, first, last} {
		h.awaitEnd(id)
	}
	var ended []time.Time
	for _, id := range []string{running, first, last} {
		e, err := h.d.bus.Inbox.Event(t.Context(), id)
		failOnError(t, err)
		ended = append(ended, e.DoneAt)
	}
	if !slices.IsSortedFunc(ended, time.Time.Compare) || h.readWork() != "one" {
		t.Errorf("turns ended at %v, actions %q", ended, h.readWork())
	}
}

// The events of a trigger run concurrently up to the limit, each with its own approval request. The
// other events wait and are listed.
func TestExternalAgent_AsksForEachEventOfATrigger(t *testing.T) {
	h := openWithAgent(t, "[triggers.door]\naction = \"do execute open\"\n")
	var ids []string
	for range 7 {
		code, body := h.callAPI(http.MethodPost, "/api/v1/triggers/door/fire", map[string]string{})
		var r struct{ Event string }
		if code >= 300 || json.Unmarshal(body, &r) != nil {
			t.Fatalf("%d %s", code, body)
		}
		ids = append(ids, r.Event)
	}
	open := h.openOf(5)
	s, err := h.d.service.Status(t.Context())
	failOnError(t, err)
	if want := []api.HeldSource{{Session: "trigger:door", Requests: 5, Waiting: 2}}; !slices.Equal(s.HeldSources, want) {
		t.Errorf("the waiting events are listed as %+v, want %+v", s.HeldSources, want)
	}
	if got := h.askHob("say Hello."); got != "Hello." {
		t.Errorf("in a conversation: %q", got)
	}
	for _, id := range slices.Backward(ids[:5]) {
		h.answerApproval(open[id], true)
		h.awaitEnd(id)
	}
	for id, q := range h.openOf(2) {
		h.answerApproval(q, true)
		h.awaitEnd(id)
	}
	if got := strings.Fields(h.readWork()); len(got) != 7 {
		t.Errorf("actions = %q", got)
	}
}

// /stop ends the running turn and the waiting turns of a conversation.
func TestExternalAgent_StopsAllTurnsOfAConversation(t *testing.T) {
	h := openWithAgent(t, "")
	first, _ := h.askApproval("home", "do execute one")
	second := h.sendAsync("stone Wait")
	h.waitFor("the second turn", func() bool {
		e, err := h.d.bus.Inbox.Event(t.Context(), second)
		return err == nil && e.State == bus.Claimed
	})
	if got := h.askHob("/stop"); got != "Stopped." {
		t.Errorf("%q", got)
	}
	for _, id := range []string{first, second} {
		if got := h.awaitEnd(id); !strings.Contains(got.Answer, "Stopped.") && !strings.Contains(got.Answer, "[interrupted]") {
			t.Errorf("awaitEnd = %+v", got)
		}
	}
	if h.openOf(0); h.askHob("say again") != "again" || h.readWork() != "" {
		t.Errorf("actions after the stop = %q", h.readWork())
	}
}
