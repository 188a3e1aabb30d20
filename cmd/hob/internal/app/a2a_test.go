package app

import (
	"strings"
	"testing"

	"hob/autonomy/api"
	"hob/autonomy/llm/llmtest"
)

// a2aToken returns a new token of an A2A client.
func (h *daemonFixture) a2aToken(name string) string {
	h.t.Helper()
	out, err := h.d.service.CreateClient(h.t.Context(), api.NewClient{Kind: "a2a", Name: name})
	failOnError(h.t, err)
	return out.Token
}

// One Hob delegates a task to another Hob. It requests approval first, and the answer is untrusted.
func TestA2A_DelegatesToAnotherHob(t *testing.T) {
	other := openScripted(t, t.TempDir(), llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		return llmtest.Answer{Text: "PEER-ANSWER to " + lastUserLine(r)}, true
	}}).URL, playWay{api: llmtest.OpenAI}, "")
	conf := "[a2a.agents.other]\nurl = \"http://" + other.d.Addr() + "\"\ntoken = \"" + other.a2aToken("first") + "\"\n"
	h := openWithAgents(t, conf, func(r llmtest.Request) llmtest.Answer {
		if len(r.Results) > 0 {
			return llmtest.Answer{Text: "so: " + r.Results[len(r.Results)-1].Text}
		}
		return useTool("delegate_to_agent", map[string]any{"agent": "other", "task": "count the apples"})
	})
	got := h.callTool("delegate_to_agent", `{"agent":"other","task":"count the apples"}`)
	if !strings.Contains(got.Text, "PEER-ANSWER to") || !strings.Contains(got.Text, "count the apples") {
		t.Errorf("the answer is %+v", got)
	}
	if bad := h.callTool("delegate_to_agent", `{"agent":"http://127.0.0.1:1","task":"x"}`); bad.Code != "not_found" && !strings.Contains(bad.Error, "there is no agent") {
		t.Errorf("an address as agent: %+v", bad)
	}
}
