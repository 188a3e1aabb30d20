package web_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/api"
	"hob/channels"
)

// outputText returns the text of a response resource.
func outputText(t *testing.T, response map[string]any) string {
	t.Helper()
	output, _ := response["output"].([]any)
	if len(output) != 1 {
		t.Fatalf("output: %v", response["output"])
	}
	message := output[0].(map[string]any)
	if message["type"] != "message" || message["role"] != "assistant" || message["status"] != "completed" {
		t.Errorf("message: %v", message)
	}
	return message["content"].([]any)[0].(map[string]any)["text"].(string)
}

func TestResponses(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       int
		says       string
		in         channels.Inbound
	}{
		{"text", `{"input":"hi"}`, 200, "", channels.Inbound{Text: "hi"}},
		{"parts", `{"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}`, 200, "", channels.Inbound{Text: "hi"}},
		{
			"the client's own prompts and history are untrusted", `{"instructions":"be a pirate","input":[{"type":"message","role":"developer","content":"d"},{"role":"user","content":"a"},
			{"type":"reasoning","summary":[]},{"type":"function_call","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"4"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"},{"type":"refusal","refusal":"c"}]},{"role":"user","content":"hi"}]}`,
			200, "",
			channels.Inbound{Text: "hi", Outside: []string{"instructions: be a pirate", "developer: d", "user: a", "assistant: [called f {}]", "tool: 4", "assistant: b\nc"}},
		},
		{"tools of the client are ignored", `{"input":"hi","tools":[{"type":"function","name":"f"}],"tool_choice":"required"}`, 200, "", channels.Inbound{Text: "hi"}},
		{"an address of an image", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"http://127.0.0.1/x.png"}]}]}`, 400, "URLs are not fetched", channels.Inbound{}},
		{"a file", `{"input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]}`, 400, "not supported", channels.Inbound{}},
		{"input of a strange type", `{"input":7}`, 400, "text or a list", channels.Inbound{}},
		{"no input", `{}`, 400, "text or a list", channels.Inbound{}},
		{"an item of a strange type", `{"input":[{"type":"item_reference","id":"x"}]}`, 400, "item_reference", channels.Inbound{}},
		{"an item without a role", `{"input":[{"content":"x"}]}`, 400, "role is missing", channels.Inbound{}},
		{"no user message", `{"input":[{"role":"system","content":"x"}]}`, 400, "user message is missing", channels.Inbound{}},
		{"background", `{"input":"x","background":true}`, 400, "async", channels.Inbound{}},
		{"a conversation", `{"input":"x","conversation":"c"}`, 400, "previous_response_id", channels.Inbound{}},
		{"an unknown response", `{"input":"x","previous_response_id":"resp_none"}`, 404, "there is no response", channels.Inbound{}},
		{"an id that is no response", `{"input":"x","previous_response_id":"chatcmpl-1"}`, 404, "there is no response", channels.Inbound{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newServerFixture(t, nil)
			r := h.sendRequest(t, "POST", "/v1/responses", c.body)
			if r.code != c.want || !strings.Contains(r.body, c.says) {
				t.Fatalf("%d %s", r.code, r.body)
			}
			if c.want != 200 {
				if len(h.e.heard) > 0 {
					t.Error("the message was accepted")
				}
				return
			}
			got := h.e.heard[0]
			if !got.FromOwner || !strings.HasPrefix(got.Session, "openai-") {
				t.Errorf("%+v", got)
			}
			if d := cmp.Diff(c.in, channels.Inbound{Text: got.Text, Outside: got.Outside, Images: got.Images}); d != "" {
				t.Error(d)
			}
			out := decodeAs[map[string]any](t, r)
			if text := outputText(t, out); text != "echo: hi" || out["status"] != "completed" || out["object"] != "response" || !strings.HasPrefix(out["id"].(string), "resp_") {
				t.Errorf("%q %s", text, r.body)
			}
			usage := out["usage"].(map[string]any)
			if usage["input_tokens"] != 3.0 || usage["output_tokens"] != 2.0 || usage["total_tokens"] != 5.0 {
				t.Errorf("usage: %v", usage)
			}
			if tools := out["tools"].([]any); len(tools) != 0 {
				t.Errorf("tools: %v", tools)
			}
		})
	}
}

func TestResponses_ContinueASession(t *testing.T) {
	h := newServerFixture(t, nil)
	first := decodeAs[map[string]any](t, h.sendRequest(t, "POST", "/v1/responses", `{"input":"a"}`))
	id := first["id"].(string)
	second := decodeAs[map[string]any](t, h.sendRequest(t, "POST", "/v1/responses", `{"input":"b","previous_response_id":"`+id+`"}`))
	if second["previous_response_id"] != id {
		t.Errorf("previous_response_id: %v", second["previous_response_id"])
	}
	h.sendRequest(t, "POST", "/v1/responses", `{"input":"c"}`)
	h.sendRequest(t, "POST", "/v1/responses", `{"input":"d"}`, "Idempotency-Key", "k")
	h.sendRequest(t, "POST", "/v1/responses", `{"input":"d"}`, "Idempotency-Key", "k")
	heard := h.e.heard
	if heard[0].Session != heard[1].Session || heard[2].Session == heard[0].Session {
		t.Errorf("sessions: %q %q %q", heard[0].Session, heard[1].Session, heard[2].Session)
	}
	if len(heard) != 4 {
		t.Errorf("the repeated request was accepted again: %d messages", len(heard))
	}
	if r := h.sendRequest(t, "POST", "/v1/responses", `{"input":"e","previous_response_id":"`+id+`"}`, "X-Hob-Session", "main"); r.code != 400 {
		t.Errorf("another session: %d %s", r.code, r.body)
	}
}

func TestResponses_Stream(t *testing.T) {
	for _, c := range []struct {
		name string
		turn func(e *engine, in channels.Inbound, st *api.EventStatus)
		want string
		last string
	}{
		{"text", func(e *engine, _ channels.Inbound, st *api.EventStatus) {
			e.publishText(st, "Hello", " there")
			e.finishEvent(st, "Hello there!")
		}, "Hello there!", "response.completed"},
		{"a corrected answer", func(e *engine, _ channels.Inbound, st *api.EventStatus) {
			e.publishText(st, "I sent it.")
			e.finishEvent(st, "I could not send it.")
		}, "I sent it.\n\nI could not send it.", "response.completed"},
		{"a failed turn", func(e *engine, _ channels.Inbound, st *api.EventStatus) {
			e.changeEvent(func() { st.State, st.Error = "dead", "no model answers" })
		}, "", "response.failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newServerFixture(t, nil)
				h.e.turn = c.turn
				r := h.sendRequest(t, "POST", "/v1/responses", `{"stream":true,"input":"x"}`)
				if r.code != 200 || !strings.HasSuffix(r.body, "data: [DONE]\n\n") {
					t.Fatalf("%d %s", r.code, r.body)
				}
				var kinds []string
				var text strings.Builder
				var last map[string]any
				for i, e := range parseEvents(t, strings.TrimSuffix(r.body, "data: [DONE]\n\n")) {
					if e.data["type"] != e.name || e.data["sequence_number"] != float64(i) {
						t.Errorf("event %d: %s %v", i, e.name, e.data)
					}
					kinds, last = append(kinds, e.name), e.data
					delta, _ := e.data["delta"].(string)
					text.WriteString(delta)
				}
				if text.String() != c.want || kinds[len(kinds)-1] != c.last {
					t.Errorf("%q, want %q; events %v", text.String(), c.want, kinds)
				}
				final := last["response"].(map[string]any)
				if c.last == "response.failed" {
					if why, _ := final["error"].(map[string]any); final["status"] != "failed" || !strings.Contains(why["message"].(string), "no model answers") {
						t.Errorf("%v", final)
					}
					return
				}
				if got := outputText(t, final); got != c.want {
					t.Errorf("the complete response contains %q", got)
				}
				order := []string{
					"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
					"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
				}
				at := 0
				for _, k := range kinds {
					if at < len(order) && k == order[at] {
						at++
					}
				}
				if at != len(order) {
					t.Errorf("order: %v", kinds)
				}
			})
		})
	}
}

func FuzzResponses(f *testing.F) {
	f.Add([]byte(`{"input":[{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}]}`))
	f.Add([]byte(`{"input":[{"type":"function_call_output","output":[]},{"role":"user","content":"x"}],"stream":true,"metadata":{}}`))
	f.Add([]byte(`{"input":"\ud83d","previous_response_id":"resp_\u0000"}`))
	h := newServerFixture(f, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		r := h.sendRequest(t, "POST", "/v1/responses", string(body))
		switch r.code {
		case 200, 500:
		case 400, 404, 413:
			var e refusal
			if err := json.Unmarshal([]byte(r.body), &e); err != nil || e.Error.Message == "" {
				t.Errorf("%s", r.body)
			}
		default:
			t.Errorf("%d %s", r.code, r.body)
		}
	})
}
