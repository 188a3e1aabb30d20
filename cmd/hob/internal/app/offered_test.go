package app

import (
	"bytes"
	"encoding/json"
	"testing"

	"hob/autonomy/llm/llmtest"
)

// The tools offered to a model never change within a conversation, regardless of searches and
// restarts. Otherwise a provider would drop its cache of the conversation.
func TestOfferedToolsAcrossRestarts(t *testing.T) {
	for _, p := range listPlayWays() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "Fine."}},
				llmtest.Answer{Match: "find", Calls: []llmtest.Call{{Name: "find_tools", Args: `{"query":"log an expense"}`}}},
				llmtest.Answer{Match: "find", Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"log_expense","arguments":{"amount":3}}`}}},
			)
			home := t.TempDir()
			for range 3 {
				h := openScripted(t, home, model.URL, p, "")
				h.askHob("find and log")
				h.askHob("hello")
				h.stop()
			}
			all := model.Requests()
			if len(all) != 8 {
				t.Fatalf("%d requests, want 8", len(all))
			}
			want := offeredIn(t, all[0].Body)
			if n := bytes.Count(want, []byte(`"name":"find_tools"`)); n != 1 {
				t.Fatalf("find_tools is offered %d times: %s", n, want)
			}
			for i, r := range all[1:] {
				if got := offeredIn(t, r.Body); !bytes.Equal(got, want) {
					t.Errorf("request %d offers\n%s\nthe first one\n%s", i+2, got, want)
				}
			}
		})
	}
}

// offeredIn returns the array of tools in a request, as it was sent.
func offeredIn(t *testing.T, body []byte) []byte {
	t.Helper()
	var r struct {
		Tools json.RawMessage `json:"tools"`
	}
	failOnError(t, json.Unmarshal(body, &r))
	return r.Tools
}
