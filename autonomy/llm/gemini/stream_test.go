package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"hob/autonomy/llm"
)

func TestStreams(t *testing.T) {
	event := func(s ...string) string { return "data: " + strings.Join(s, "\n\ndata: ") + "\n\n" }
	parts := func(parts, rest string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + rest + `}]}`
	}
	stop := func(reason string) string { return `,"finishReason":"` + reason + `"` }
	const call = `{"functionCall":{"name":"x","args":{"k":1}}}`
	for _, c := range []struct{ name, in, want string }{
		{"text", event(parts(`{"text":"a"}`, ""), parts(`{"text":"b"}`, stop("STOP"))), "ab|||end_turn|0 0"},
		{"usage after the end", event(parts(`{"text":"a"}`, stop("STOP")), `{"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2,"thoughtsTokenCount":3,"toolUsePromptTokenCount":1,"cachedContentTokenCount":4}}`), "a|||end_turn|6 5"},
		{"no finish reason", event(parts(`{"text":"a"}`, "")), "network"},
		{"an unnecessary end marker", event(parts(`{"text":"a"}`, stop("STOP")), "[DONE]"), "a|||end_turn|0 0"},
		{"a list", "[" + parts(`{"text":"a"}`, "") + ",\n" + parts(`{"text":"b"}`, stop("STOP")) + "]", "ab|||end_turn|0 0"},
		{"a list that is cut", "[" + parts(`{"text":"a"}`, "") + ",", "network"},
		{"whole", parts(`{"text":"a"},`+call, stop("STOP")), `a||x{"k":1}|tool_use|0 0`},
		{"complete without a reason", parts(`{"text":"a"}`, ""), "a|||end_turn|0 0"},
		{"complete and empty", `{}`, "garbled"},
		{"thoughts", event(parts(`{"text":"hm","thought":true}`, ""), parts(`{"text":"a"}`, stop("STOP"))), "a|hm||end_turn|0 0"},
		{"no content", event(`{"candidates":[{"finishReason":"STOP"}]}`), "|||end_turn|0 0"},
		{"safety", event(parts(`{"text":"a"}`, ""), `{"candidates":[{"finishReason":"SAFETY"}]}`), "a|||refused|0 0"},
		{"prohibited", event(`{"candidates":[{"finishReason":"PROHIBITED_CONTENT"}]}`), "|||refused|0 0"},
		{"recitation", event(parts(`{"text":"a"}`, stop("RECITATION"))), "a|||refused|0 0"},
		{"the prompt was blocked", event(`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":5}}`), "|||refused|5 0"},
		{"feedback without a block", event(`{"promptFeedback":{}}`), "network"},
		{"other", event(parts(`{"text":"a"}`, stop("OTHER"))), "a|||end_turn|0 0"},
		{"limit", event(parts(`{"text":"a"},`+call, stop("MAX_TOKENS"))), `a||x"{\"k\":1}"|max_tokens|0 0`},
		{"malformed call", event(`{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(default_api.x("}]}`), "unavailable"},
		{"unexpected call", event(parts(call, stop("UNEXPECTED_TOOL_CALL"))), "unavailable"},
		{"a second candidate", event(`{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]}},{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`), "a|||end_turn|0 0"},
		{"unknown parts", event(parts(`{"executableCode":{"code":"x"}},{"moon":1},{"text":"a"}`, stop("STOP"))), "a|||end_turn|0 0"},
		{"sound is no picture", event(parts(`{"inlineData":{"mimeType":"audio/wav","data":"eHg="}},{"text":"a"}`, stop("STOP"))), "a|||end_turn|0 0"},
		{"a picture with invalid base64", event(parts(`{"inlineData":{"mimeType":"image/png","data":"%"}}`, stop("STOP"))), "garbled"},
		{"no arguments", event(parts(`{"functionCall":{"name":"x"}}`, stop("STOP"))), "||x{}|tool_use|0 0"},
		{"no name", event(parts(`{"functionCall":{"args":{}}}`, stop("STOP"))), `||"{}"|tool_use|0 0`},
		{"an array of numbers", event(`[1]`), "garbled"},
		{"an error event", "event: error\ndata: {\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\",\"message\":\"m\"}}\n\n", "bad_request"},
		{"too many calls", event(parts(strings.TrimSuffix(strings.Repeat(call+",", 129), ","), stop("STOP"))), "garbled"},
		{"nothing", "", "network"},
		{"a page", "<html>", "garbled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := playStream(t, []byte(c.in)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// fixedTransport is a transport that always returns the same bytes.
type fixedTransport []byte

func (c fixedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(c)), Request: r}, nil
}

// playStream streams a recorded answer and summarizes it. It checks invariants for any bytes: one
// end, only *llm.Error, no executable call after an error.
func playStream(t *testing.T, in []byte) string {
	t.Helper()
	m := mustNew(t, Options{BaseURL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: fixedTransport(in)}})
	var r llm.Response
	var failed *llm.Error
	ends := 0
	for e, err := range m.Stream(context.Background(), llm.Request{Messages: []llm.Message{userMessage("hi")}}) {
		if err != nil {
			ends++
			if !errors.As(err, &failed) {
				t.Fatalf("error %T", err)
			}
			continue
		}
		if e.Kind == llm.Done {
			ends++
		}
		r.Add(e)
	}
	if ends != 1 {
		t.Fatalf("%d ends", ends)
	}
	var calls, thoughts strings.Builder
	ids := map[string]bool{}
	for _, c := range r.Calls() {
		if c.ID == "" || ids[c.ID] || !json.Valid(c.Args) || failed != nil && !c.Truncated || !c.Truncated && c.Args[0] != '{' {
			t.Fatalf("call %+v", c)
		}
		ids[c.ID] = true
		calls.WriteString(c.Name + string(c.Args))
	}
	for _, p := range r.Parts {
		if p.Reasoning != nil {
			thoughts.WriteString(p.Reasoning.Text)
		}
	}
	if failed != nil {
		return string(failed.Kind)
	}
	return strings.Join([]string{r.Text(), thoughts.String(), calls.String(), string(r.Stop), fmt.Sprint(r.Usage.Input, r.Usage.Output)}, "|")
}

func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"", "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\",\"thought\":true,\"thoughtSignature\":\"s\"},{\"text\":\"b\"}]},\"finishReason\":\"STOP\"}]}\n\n",
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"1\",\"name\":\"x\",\"args\":{}},\"thoughtSignature\":\"s\"}]},\"finishReason\":\"MAX_TOKENS\"}]}\r\n\r\n",
		`{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"eA=="}}]}}],"usageMetadata":{"promptTokenCount":-1e99}}`,
		`[{"candidates":[{}]},{"promptFeedback":{"blockReason":"OTHER"}}]`, `data: {"error":[]}`, "event: error\ndata: x\n\n", "<html>", "data: null\n\n", "[", "[]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) { playStream(t, in) })
}
