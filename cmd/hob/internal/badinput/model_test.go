//go:build unix

package badinput

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"hob/autonomy/llm/llmtest"
)

// withModel returns a configuration with a model on a test server. The built-in brain does not
// replace the model, so its errors are reported.
func withModel(s *llmtest.Server) string {
	return strings.Replace(offline, `"offline"`, "\"test/m\"\nfallback = [\"none\"]", 1) + fmt.Sprintf("[providers.test]\nkind = \"openai\"\nbase_url = \"%s/v1\"\nmodel = \"m\"\n", s.URL)
}

// userMessage returns the owner's message, without the context that Hob adds before it.
func userMessage(r llmtest.Request) string { return r.LastUser[strings.LastIndex(r.LastUser, "\n")+1:] }

// If a model fails in any way, Hob sends one clear sentence, and answers the next message as usual.
func TestModels(t *testing.T) {
	t.Parallel()
	use := func(name, args string) []llmtest.Call {
		return []llmtest.Call{{Name: "use_tool", Args: fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args)}}
	}
	tests := []struct {
		name   string
		answer llmtest.Answer
		want   string // pattern that the answer matches
	}{
		{"garbage", llmtest.Answer{Text: "x", Fault: llmtest.Garbage, Body: "\xff\xfe<<<{{{"}, `not from a chat model.*; .*check that base_url`},
		{"half an event", llmtest.Answer{Text: "x", Fault: llmtest.HalfJSON}, `ended in the middle of an event.*tried 3 times.*; `},
		{"a web page", llmtest.Answer{Fault: llmtest.HTML}, `a web page; .*check that base_url`},
		{"nothing", llmtest.Answer{Fault: llmtest.NoBody}, `without an answer .tried 3 times.; `},
		{"an empty answer", llmtest.Answer{Text: ""}, `empty answer.*choose another model`},
		{"a cut stream", llmtest.Answer{Text: "some words and then", Fault: llmtest.EOF, After: 2}, `ended before the answer did.*; `},
		{"a reset", llmtest.Answer{Text: "x", Fault: llmtest.Reset}, `failed: .*tried 3 times.*; `},
		{"an error in the stream", llmtest.Answer{Text: "x", Fault: llmtest.StreamError, Body: `{"error":{"message":"overloaded"}}`}, `overloaded.*; `},
		{"not authorised", llmtest.Answer{Status: 401}, `; check the API key of \[providers.test\]`},
		{"no money", llmtest.Answer{Status: 402}, `; add credit`},
		{"no such model", llmtest.Answer{Status: 404}, `; check the model's name`},
		{"broken server", llmtest.Answer{Status: 500, Body: "\xff<html>"}, `500.*tried 3 times.*; wait a little`},
		{"text of another encoding", llmtest.Answer{Text: "caf\xe9 \x1b[31m\x00"}, `caf\x{FFFD}`},
		{"arguments that are no JSON", llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"create_task",`}}}, `truncated_arguments .[2-6]×`},
		{"cut-off arguments", llmtest.Answer{Calls: use("create_task", `{"title":"cut off"}`), Fault: llmtest.CutArgs}, `truncated_arguments .[2-6]×`},
		{"a tool that is not there", llmtest.Answer{Calls: []llmtest.Call{{Name: "launch_rockets", Args: `{}`}}}, `launch_rockets: not_found .[2-6]×`},
		{"a tool without arguments", llmtest.Answer{Calls: use("create_task", `null`)}, `create_task: invalid_arguments .[2-6]×`},
		{"a tool call without end", llmtest.Answer{Calls: use("list_tasks", `{}`)}, `repeated_call`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewServer(t, llmtest.Options{Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
				if userMessage(r) == "hello" {
					return llmtest.Answer{Text: "hello to you"}, true
				}
				return tt.answer, true
			}})
			h := newFixture(t, withModel(model))
			h.startDaemon()
			got := h.sendMessage("do it")
			if !regexp.MustCompile(`(?s)`+tt.want).MatchString(got) || model.Count() > 8 {
				t.Errorf("the answer after %d calls is %q, want something like %q", model.Count(), got, tt.want)
			}
			if got := h.sendMessage("hello"); got != "hello to you" {
				t.Errorf("next answer = %q", got)
			}
			if replies := h.listDeliveries("reply"); len(replies) != 2 {
				t.Errorf("%d replies to two messages: %+v", len(replies), replies)
			}
			if _, tasks := h.callAPI(http.MethodGet, "/api/v1/tasks", ""); strings.TrimSpace(tasks) != "[]" {
				t.Errorf("tasks were created: %s", tasks)
			}
			h.stopDaemon()
		})
	}
}

// A model that sends nothing can be stopped, and a message of 10 MB is either answered or rejected
// with a sentence.
func TestModel_SendsNothing(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, llmtest.Options{Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		if userMessage(r) == "hello" {
			return llmtest.Answer{Text: "hello to you"}, true
		}
		return llmtest.Answer{Text: "some words", Fault: llmtest.Stall, After: 1}, true
	}})
	h := newFixture(t, withModel(model))
	h.startDaemon()
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", `{"text":"be silent","async":true}`)
	var r struct{ Event string }
	if code != http.StatusAccepted || json.Unmarshal([]byte(body), &r) != nil {
		t.Fatal(code, body)
	}
	h.waitUntil("the model is asked", func() bool { return model.Count() > 0 })
	if code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/other/messages", `{"text":"hello"}`); code != 200 || !strings.Contains(body, "hello to you") {
		t.Errorf("message in another conversation: %d %s", code, body)
	}
	h.sendMessage("/stop")
	h.waitUntil("the turn is over", func() bool {
		_, body := h.callAPI(http.MethodGet, "/api/v1/inbox/"+r.Event, "")
		return strings.Contains(body, `"done"`)
	})
	if got := h.sendMessage("hello"); got != "hello to you" {
		t.Errorf("next answer = %q", got)
	}
	h.stopDaemon()
}

// The largest allowed message reaches the model or is rejected with a sentence, and the
// conversation continues.
func TestModel_LargestMessage(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, llmtest.Options{Keep: 1, Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		return llmtest.Answer{Text: "hello to you"}, true
	}})
	h := newFixture(t, withModel(model))
	h.startDaemon()
	got := h.sendMessage(strings.Repeat("word ", 2<<20))
	if got == "" {
		t.Error("the answer is empty")
	}
	if got := h.sendMessage("hello"); got != "hello to you" {
		t.Errorf("next answer = %q", got)
	}
	h.stopDaemon()
}
