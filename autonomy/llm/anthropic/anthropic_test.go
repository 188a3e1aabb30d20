package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
)

func mustNew(t *testing.T, o Options) *Model {
	t.Helper()
	if o.Model == "" {
		o.Model = "m"
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func userMessage(text string) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{{Text: text}}}
}

func TestNew_RejectsMistakes(t *testing.T) {
	for name, o := range map[string]Options{
		"no model":                    {APIKey: "k"},
		"no key at Anthropic":         {Model: "m"},
		"a key with a line break":     {Model: "m", APIKey: "a\nb"},
		"an address that is not HTTP": {Model: "m", APIKey: "k", BaseURL: "file:///etc"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: New accepts the options", name)
		}
	}
}

func TestBaseURL(t *testing.T) {
	srv := llmtest.NewServer(t, llmtest.Options{}, llmtest.Answer{Text: "hi", Times: -1})
	for in, want := range map[string]string{
		"":                    "/v1/messages",
		"/":                   "/v1/messages",
		"/v1":                 "/v1/messages",
		"/v1/":                "/v1/messages",
		"/v1/messages":        "/v1/messages",
		"/anthropic":          "/anthropic/v1/messages",
		"/api/anthropic/v1//": "/api/anthropic/v1/messages",
	} {
		m := mustNew(t, Options{BaseURL: srv.URL + in, HTTP: srv.Client()})
		if _, err := llm.Collect(m.Stream(context.Background(), llm.Request{Messages: []llm.Message{userMessage("x")}})); err != nil {
			t.Errorf("%q: %v", in, err)
		}
		if got := srv.Last().Path; got != want {
			t.Errorf("base URL %q: the request went to %s, want %s", in, got, want)
		}
	}
}

// TestEnvironment sets every variable that Anthropic's SDK reads.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_WEBHOOK_SIGNING_KEY"} {
		t.Setenv(name, "from-env")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Leak: yes")
	srv := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key}, llmtest.Answer{Text: "hi"})
	m := mustNew(t, Options{BaseURL: srv.URL, APIKey: llmtest.Key, HTTP: srv.Client()})
	if _, err := llm.Collect(m.Stream(context.Background(), llm.Request{Messages: []llm.Message{userMessage("x")}})); err != nil {
		t.Fatal(err)
	}
	h := srv.Last().Header
	if h.Get("Authorization") != "" || h.Get("X-Leak") != "" || h.Get("X-Api-Key") != llmtest.Key {
		t.Errorf("headers %v", h)
	}
}

// TestThinking sends thinking blocks back unchanged until the server refuses them.
func TestThinking(t *testing.T) {
	srv := llmtest.NewServer(t, llmtest.Options{},
		llmtest.Answer{Reasoning: "hm, hm", Signature: "sig==", Calls: []llmtest.Call{{ID: "t1", Name: "add", Args: `{}`}}},
		llmtest.Answer{Text: "done"},
		llmtest.Answer{Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid signature in thinking block"}}`},
		llmtest.Answer{Text: "without", Times: 2})
	m := mustNew(t, Options{BaseURL: srv.URL, HTTP: srv.Client()})
	req := llm.Request{Messages: []llm.Message{userMessage("add")}}
	ask := func() llm.Response {
		t.Helper()
		r, err := llm.Collect(m.Stream(context.Background(), req))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := ask()
	want := []llm.Part{
		{Reasoning: &llm.Reasoning{Text: "hm, hm", Signature: "sig=="}},
		{Call: &llm.ToolCall{ID: "t1", Name: "add", Args: json.RawMessage("{}")}},
	}
	if d := cmp.Diff(want, r.Parts); d != "" {
		t.Fatal(d)
	}
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.Assistant, Parts: append(r.Parts, llm.Part{Reasoning: &llm.Reasoning{Redacted: "xyz"}})},
		llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "t1", Name: "add", Text: " "}}}})
	ask()
	if body := string(srv.Last().Body); !strings.Contains(body, `"signature":"sig=="`) || !strings.Contains(body, `"data":"xyz"`) {
		t.Errorf("the request lacks the thinking block: %s", body)
	}
	if ask(); srv.Count() != 4 || strings.Contains(string(srv.Last().Body), "sig==") {
		t.Errorf("%d calls, the last: %s", srv.Count(), srv.Last().Body)
	}
	if ask(); srv.Count() != 5 {
		t.Errorf("%d calls: the rejection of the thinking block was not remembered", srv.Count())
	}
}

// TestCacheMarks checks the positions of the marks.
func TestCacheMarks(t *testing.T) {
	m := mustNew(t, Options{APIKey: "k"})
	call := func(id string) llm.Message {
		return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: id, Name: "a"}}}}
	}
	result := func(id string) llm.Message {
		return llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.ToolResult{ID: id, Name: "a", Text: "r"}}}}
	}
	for _, c := range []struct {
		name     string
		messages []llm.Message
		want     []int // messages with a mark
	}{
		{"first", []llm.Message{userMessage("a")}, []int{0}},
		{"second step", []llm.Message{userMessage("a"), call("1"), result("1")}, []int{0, 2}},
		{"third step", []llm.Message{userMessage("a"), call("1"), result("1"), call("2"), result("2")}, []int{2, 4}},
		{"second turn", []llm.Message{userMessage("a"), {Role: llm.Assistant, Parts: []llm.Part{{Text: "b"}}}, userMessage("c")}, []int{0, 2}},
		{"empty", nil, nil},
	} {
		params, _ := m.buildRequest(llm.Request{System: "s", Messages: c.messages, Tools: []llm.Tool{{Name: "a"}, {Name: "b"}}})
		var got []int
		for i, msg := range params.Messages {
			b, err := json.Marshal(msg)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte("cache_control")) {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: marks on %v, want %v", c.name, got, c.want)
		}
		tools, err := json.Marshal(params.Tools)
		if err != nil || strings.Count(string(tools), "cache_control") != 1 || !strings.HasSuffix(string(tools), `}`+"]") {
			t.Errorf("%s: tools %s, %v", c.name, tools, err)
		}
	}
}

// TestEvents replays streams of specific servers.
func TestEvents(t *testing.T) {
	const start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n"
	const end = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%\"},\"usage\":{\"output_tokens\":9}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	stop := func(reason string) string { return strings.Replace(end, "%", reason, 1) }
	block := func(content string, deltas ...string) string {
		s := "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" + content + "}\n\n"
		for _, d := range deltas {
			s += "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":" + d + "}\n\n"
		}
		return s + "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
	}
	for _, c := range []struct{ name, in, want string }{
		{"input in the start", start + block(`{"type":"tool_use","id":"a","name":"x","input":{"k":1}}`) + stop("tool_use"), `|x{"k":1}|tool_use|5 9`},
		{"text in the start", start + block(`{"type":"text","text":"hi"}`) + stop("end_turn"), "hi||end_turn|5 9"},
		{"unknown blocks and events", start + "event: moon\ndata: {\"type\":\"moon\"}\n\n" + block(`{"type":"server_tool_use","id":"a","name":"x","input":{}}`, `{"type":"moon_delta"}`) + stop("end_turn"), "||end_turn|5 9"},
		{"text after a call", start + block(`{"type":"tool_use","id":"a","name":"x","input":{}}`) + block(`{"type":"text","text":"hi"}`) + stop("end_turn"), `hi|x{}|tool_use|5 9`},
		{"call in a block without an end", start + strings.Split(block(`{"type":"tool_use","id":"a","name":"x","input":{"k":1}}`), "event: content_block_stop")[0] + stop("tool_use"), `|x"{\"k\":1}"|tool_use|5 9`},
		{"fields of other types", start + "event: moon\ndata: {\"type\":\"moon\",\"index\":\"x\",\"delta\":[],\"usage\":7}\n\n" + block(`{"type":"text","text":"hi"}`) + stop("end_turn"), "hi||end_turn|5 9"},
		{"pause", start + stop("pause_turn"), "||end_turn|5 9"},
		{"window full", start + block(`{"type":"text","text":"hi"}`) + stop("model_context_window_exceeded"), "hi||max_tokens|5 9"},
		{"no message_stop", start + block(`{"type":"text","text":"hi"}`) + strings.Split(stop("end_turn"), "event: message_stop")[0], "hi||end_turn|5 9"},
		{"delta of no block", start + "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n", "garbled"},
		{"only the end", "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", "network"},
		{"no event names", strings.NewReplacer("event: message_start\n", "", "event: content_block_start\n", "", "event: content_block_stop\n", "", "event: message_delta\n", "", "event: message_stop\n", "").
			Replace(start + block(`{"type":"text","text":"hi"}`) + stop("end_turn")), "hi||end_turn|5 9"},
		{"error without a name", "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n", "unavailable"},
		{"error", start + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\"}}\n\n", "rate_limited"},
		{"error that is not JSON", start + "event: error\ndata: boom\n\n", "unavailable"},
		{"nothing", "", "network"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := playStream(t, []byte(c.in)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

type fixedTransport []byte

func (c fixedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(c)), Request: r,
	}, nil
}

// TestStream_KeepsOrderOfThinkingAndCalls covers interleaved thinking, which the API wants back in the
// same order.
func TestStream_KeepsOrderOfThinkingAndCalls(t *testing.T) {
	var in strings.Builder
	for i, b := range []string{
		`{"type":"thinking","thinking":"a","signature":"1"}`, `{"type":"tool_use","id":"t1","name":"x","input":{}}`,
		`{"type":"thinking","thinking":"","signature":"2"}`, `{"type":"tool_use","id":"t2","name":"y","input":{}}`,
	} {
		fmt.Fprintf(&in, "data: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}\n\ndata: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", i, b, i)
	}
	in.WriteString("data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n")
	m := mustNew(t, Options{BaseURL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: fixedTransport(in.String())}})
	r, err := llm.Collect(m.Stream(context.Background(), llm.Request{Messages: []llm.Message{userMessage("x")}}))
	if err != nil {
		t.Fatal(err)
	}
	params, _ := m.buildRequest(llm.Request{Messages: []llm.Message{userMessage("x"), {Role: llm.Assistant, Parts: r.Parts}}})
	got, err := json.Marshal(params.Messages[1].Content)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"type":"thinking","thinking":"a","signature":"1"},{"type":"tool_use","id":"t1","name":"x","input":{}},` +
		`{"type":"thinking","thinking":"","signature":"2"},{"type":"tool_use","id":"t2","name":"y","input":{},"cache_control":{"type":"ephemeral"}}]`
	if string(got) != want {
		t.Errorf("sent back %s, want %s", got, want)
	}
}

// TestModels_FollowsPages also checks the headers of a request without a body.
func TestModels_FollowsPages(t *testing.T) {
	var queries []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("X-Api-Key") != "k" || r.Header.Get("Anthropic-Version") == "" {
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		queries = append(queries, r.URL.RawQuery)
		answer := `{"data":[{"id":"a"},{"id":""},{"id":"b"}],"has_more":true,"last_id":"b"}`
		if r.URL.Query().Get("after_id") == "b" {
			answer = `{"data":[{"id":"c"}],"has_more":false,"last_id":"c"}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer srv.Close()
	client := srv.Client()
	defer client.CloseIdleConnections()
	got, err := mustNew(t, Options{BaseURL: srv.URL, APIKey: "k", HTTP: client}).Models(context.Background())
	if err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("Models() = %v, %v", got, err)
	}
	if want := []string{"limit=100", "after_id=b&limit=100"}; !slices.Equal(queries, want) {
		t.Errorf("queries %v, want %v", queries, want)
	}
}

// playStream streams a recorded answer and summarizes it. It checks invariants for any bytes: one
// end, only *llm.Error, no executable call after an error.
func playStream(t *testing.T, in []byte) string {
	t.Helper()
	m := mustNew(t, Options{BaseURL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: fixedTransport(in)}})
	var r llm.Response
	var failed *llm.Error
	ends := 0
	for e, err := range m.Stream(context.Background(), llm.Request{Messages: []llm.Message{userMessage("hello")}}) {
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
	var calls strings.Builder
	ids := map[string]bool{}
	for _, c := range r.Calls() {
		if c.ID == "" || ids[c.ID] || !json.Valid(c.Args) || failed != nil && !c.Truncated || !c.Truncated && c.Args[0] != '{' {
			t.Fatalf("call %+v", c)
		}
		ids[c.ID] = true
		calls.WriteString(c.Name + string(c.Args))
	}
	if failed != nil {
		return string(failed.Kind)
	}
	usage, err := json.Marshal([]int{r.Usage.Input, r.Usage.Output})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join([]string{r.Text(), calls.String(), string(r.Stop), strings.Trim(strings.Replace(string(usage), ",", " ", 1), "[]")}, "|")
}

func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"", "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"x\",\"input\":{}}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\"}}\n\n" +
			"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":5}}\n\n",
		"event: error\ndata: {}\n\n", "event: x\ndata: []\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) { playStream(t, in) })
}
