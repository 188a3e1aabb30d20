package app

import (
	"net/http"
	"strings"
	"testing"

	"hob/autonomy/llm/llmtest"
)

// A message to another conversation is answered there, and the answer comes back.
func TestSessionsSend_IsAnsweredInTheOtherConversation(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "", func(r llmtest.Request) llmtest.Answer {
		line := lastUserLine(r)
		switch {
		case line == "tell alpha" && len(r.Results) == 0:
			return useTool("sessions_list", map[string]any{})
		case line == "tell alpha" && len(r.Results) == 1:
			return useTool("sessions_send", map[string]any{"session": "alpha", "message": "add the goldfish"})
		case line == "add the goldfish" && len(r.Results) == 0:
			return useTool("create_task", map[string]any{"title": "feed the goldfish"})
		case line == "add the goldfish":
			return llmtest.Answer{Text: "The goldfish is on the list."}
		case len(r.Results) > 0:
			return llmtest.Answer{Text: "heard: " + r.Results[0].Text + " / " + r.Results[len(r.Results)-1].Text}
		}
		return llmtest.Answer{Text: "Hello."}
	})
	h.postMessage("alpha", "hello")
	code, body := h.postMessage("home", "tell alpha")
	if code != http.StatusOK || !strings.Contains(body, "- alpha (chat, agent hob, 1 turn, ") || !strings.Contains(body, "The goldfish is on the list.") {
		t.Fatalf("%d %s", code, body)
	}
	_, messages := h.callAPI(http.MethodGet, "/api/v1/sessions/alpha/messages", nil)
	if !strings.Contains(string(messages), "add the goldfish") || !strings.Contains(string(messages), "The goldfish is on the list.") {
		t.Errorf("messages of alpha: %s", messages)
	}
	if _, list := h.callAPI(http.MethodGet, "/api/v1/tasks", nil); !strings.Contains(string(list), "feed the goldfish") {
		t.Errorf("tasks: %s", list)
	}
}

// Two conversations cannot answer each other without end: a message cannot be passed on.
func TestSessionsSend_CannotBePassedOn(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "", func(r llmtest.Request) llmtest.Answer {
		line := lastUserLine(r)
		switch {
		case line == "hello":
			return llmtest.Answer{Text: "Hello."}
		case len(r.Results) > 0:
			return llmtest.Answer{Text: "end: " + r.Results[0].Text}
		case line == "ping":
			return useTool("sessions_send", map[string]any{"session": "beta", "message": "pong"})
		}
		return useTool("sessions_send", map[string]any{"session": "alpha", "message": "pong"})
	})
	h.postMessage("alpha", "hello")
	h.postMessage("beta", "hello")
	_, body := h.postMessage("alpha", "ping")
	if !strings.Contains(body, "end: The answer in the conversation beta") || !strings.Contains(body, "policy_denied") {
		t.Errorf("answer: %s", body)
	}
	_, messages := h.callAPI(http.MethodGet, "/api/v1/sessions/alpha/messages", nil)
	if strings.Contains(string(messages), `"text":"pong"`) {
		t.Errorf("the message came back: %s", messages)
	}
}

// Only conversations in which the user alone writes can be reached.
func TestSessionsSend_RejectsOtherTargets(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "", func(r llmtest.Request) llmtest.Answer {
		if len(r.Results) > 0 {
			return llmtest.Answer{Text: "end: " + r.Results[0].Text}
		}
		return useTool("sessions_send", map[string]any{"session": lastUserLine(r), "message": "hi"})
	})
	for session, want := range map[string]string{"nowhere": "there is no conversation", "home": "is this conversation"} {
		if _, body := h.postMessage("home", session); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %q", session, body, want)
		}
	}
}

// delegate_to_agent and agents_list work with the agents of this computer.
func TestDelegateToAgent_RunsALocalAgent(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "[agents.cook]\nabout = \"recipes\"\n", func(r llmtest.Request) llmtest.Answer {
		line := lastUserLine(r)
		switch {
		case line == "find a soup":
			return llmtest.Answer{Text: "Borscht."}
		case len(r.Results) == 0:
			return useTool("agents_list", map[string]any{})
		case len(r.Results) == 1:
			return useTool("delegate_to_agent", map[string]any{"agent": "cook", "task": "find a soup"})
		}
		return llmtest.Answer{Text: r.Results[0].Text + " / " + r.Results[1].Text}
	})
	code, body := h.postMessage("home", "ask the cook")
	if code != http.StatusOK || !strings.Contains(body, "- cook (") || !strings.Contains(body, ": recipes") || !strings.Contains(body, "Borscht.") {
		t.Fatalf("%d %s", code, body)
	}
	if list := h.listDelegations(); len(list) != 1 || list[0].State != "done" || list[0].Result != "Borscht." {
		t.Errorf("tasks: %+v", list)
	}
}
