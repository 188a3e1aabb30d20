package app

import (
	"bytes"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"hob/autonomy/api"
	"hob/autonomy/llm/llmtest"
)

// a2aToken returns a new token of an A2A client.
func (h *house) a2aToken(name string) string {
	h.t.Helper()
	out, err := h.d.service.CreateClient(h.t.Context(), api.NewClient{Kind: "a2a", Name: name})
	fatal(h.t, err)
	return out.Token
}

// The example of docs/a2a.md works as it stands there.
func TestA2A_AnswersTheExampleOfItsPage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/a2a.md")
	fatal(t, err)
	example := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("docs/a2a.md has no example")
	}
	h := open(t, "")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.d.Addr()+"/a2a", bytes.NewReader(example[1]))
	fatal(t, err)
	req.Header.Set("Authorization", "Bearer "+h.a2aToken("colleague"))
	req.Header.Set("A2A-Version", "1.0")
	resp, err := http.DefaultClient.Do(req)
	fatal(t, err)
	defer resp.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(resp.Body)
	fatal(t, err)
	if !strings.Contains(body.String(), `"state":"TASK_STATE_COMPLETED"`) || !strings.Contains(body.String(), "artifacts") {
		t.Errorf("the example answers %s", body.String())
	}
}

// One Hob delegates a task to another: it asks first, and the answer is untrusted.
func TestA2A_DelegatesToAnotherHob(t *testing.T) {
	other := openScripted(t, t.TempDir(), llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		return llmtest.Answer{Text: "PEER-ANSWER to " + words(r)}, true
	}}).URL, playWay{api: llmtest.OpenAI}, "")
	conf := "[a2a.agents.other]\nurl = \"http://" + other.d.Addr() + "\"\ntoken = \"" + other.a2aToken("first") + "\"\n"
	h := crewHouse(t, conf, func(r llmtest.Request) llmtest.Answer {
		if len(r.Results) > 0 {
			return llmtest.Answer{Text: "so: " + r.Results[len(r.Results)-1].Text}
		}
		return useTool("delegate_to_agent", map[string]any{"agent": "other", "task": "count the apples"})
	})
	got := h.tool("delegate_to_agent", `{"agent":"other","task":"count the apples"}`)
	if !strings.Contains(got.Text, "PEER-ANSWER to") || !strings.Contains(got.Text, "count the apples") {
		t.Errorf("the answer is %+v", got)
	}
	if bad := h.tool("delegate_to_agent", `{"agent":"http://127.0.0.1:1","task":"x"}`); bad.Code != "not_found" && !strings.Contains(bad.Error, "there is no agent") {
		t.Errorf("an address as agent: %+v", bad)
	}
}
