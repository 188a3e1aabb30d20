package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"hob/autonomy/llm/llmtest"
)

// The tools offered to a model never change within a conversation, whatever
// was found in the catalogue, and whether Hob was started anew: a provider
// forgets all it has cached of a conversation when they do.
func TestOfferedToolsAcrossRestarts(t *testing.T) {
	for _, kind := range []string{"openai", "anthropic"} {
		t.Run(kind, func(t *testing.T) {
			model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "Fine."}},
				llmtest.Answer{Match: "find", Calls: []llmtest.Call{{Name: "find_tools", Args: `{"query":"log an expense"}`}}},
				llmtest.Answer{Match: "find", Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"log_expense","arguments":{"amount":3}}`}}},
			)
			t.Setenv("TEST_KEY", llmtest.Key)
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
			url := model.URL
			if kind == "openai" {
				url += "/v1"
			}
			conf := fmt.Sprintf("[providers.test]\nkind = %q\nbase_url = %q\napi_key = \"env:TEST_KEY\"\n", kind, url)
			for range 3 {
				h := openAtModel(t, home, "test/scripted", conf)
				h.say("find and log")
				h.say("hello")
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

// offeredIn cuts the array of tools out of a request, as it was sent.
func offeredIn(t *testing.T, body []byte) []byte {
	t.Helper()
	var r struct {
		Tools json.RawMessage `json:"tools"`
	}
	fatal(t, json.Unmarshal(body, &r))
	return r.Tools
}
