package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
)

func helloRequest() llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "hello"}}}}}
}

func collectStream(t *testing.T, m llm.Model, r llm.Request) (llm.Response, error) {
	t.Helper()
	return llm.Collect(m.Stream(context.Background(), r))
}

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

func TestBaseURL(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "https://api.openai.com/v1/chat/completions",
		"http://127.0.0.1:11434":    "http://127.0.0.1:11434/v1/chat/completions",
		"http://127.0.0.1:11434/":   "http://127.0.0.1:11434/v1/chat/completions",
		"http://127.0.0.1:11434/v1": "http://127.0.0.1:11434/v1/chat/completions",
		"localhost:1234/v1//":       "http://localhost:1234/v1/chat/completions",
		"https://openrouter.ai/api": "https://openrouter.ai/api/v1/chat/completions",
		"https://openrouter.ai/api/v1/chat/completions":           "https://openrouter.ai/api/v1/chat/completions",
		"https://generativelanguage.googleapis.com/v1beta/openai": "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
		"https://api.z.ai/api/paas/v4/":                           "https://api.z.ai/api/paas/v4/chat/completions",
		"https://h/v1?api-version=2":                              "https://h/v1/chat/completions?api-version=2",
	} {
		m := mustNew(t, Options{BaseURL: in})
		if got := m.base.JoinPath("/chat/completions").String(); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestNew_RejectsMistakes(t *testing.T) {
	for name, o := range map[string]Options{
		"no model":  {BaseURL: "http://h"},
		"bad base":  {BaseURL: "ftp://h", Model: "m"},
		"a bad key": {APIKey: "a\nb", Model: "m"},
	} {
		if m, err := New(o); err == nil {
			t.Errorf("%s: got %v", name, m.Info())
		}
	}
}

// TestBaseURL_FindsServerWithoutV1 finds a server that has no /v1.
func TestBaseURL_FindsServerWithoutV1(t *testing.T) {
	model := llmtest.NewServer(t, llmtest.Options{}, llmtest.Answer{Text: "hi", Times: -1})
	var paths []string
	front := httptest.NewServer(bareHandler(model, &paths))
	defer front.Close()
	m := mustNew(t, Options{BaseURL: front.URL + "/inference", HTTP: front.Client()})
	for range 2 {
		r, err := collectStream(t, m, helloRequest())
		if err != nil || r.Text() != "hi" {
			t.Fatalf("%q, %v", r.Text(), err)
		}
	}
	want := []string{"/inference/v1/chat/completions", "/inference/chat/completions", "/inference/chat/completions"}
	if d := cmp.Diff(want, paths); d != "" {
		t.Error(d)
	}
}

// bareHandler serves the model only at a path without /v1.
func bareHandler(model *llmtest.Server, paths *[]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*paths = append(*paths, r.URL.Path)
		if strings.Contains(r.URL.Path, "/v1/") {
			http.NotFound(w, r)
			return
		}
		model.ServeHTTP(w, r)
	})
}

// TestRefusals: after a refusal the driver omits the refused part, in this call and in later
// ones.
func TestRefusals(t *testing.T) {
	tools := []llm.Tool{{Name: "add"}}
	picture := llm.Part{Image: &llm.Image{MIME: "image/png", Data: []byte("x")}}
	full := llm.Request{
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{{Text: "add"}, picture}},
			{Role: llm.Assistant, Parts: []llm.Part{{Reasoning: &llm.Reasoning{Text: "hm"}}, {Call: &llm.ToolCall{ID: "1", Name: "add", Args: json.RawMessage(`{"a":1}`)}}}},
			{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "1", Name: "add", Text: "7", Error: true}}}},
		},
		Tools: tools, NoTools: true, MaxTokens: 5, Format: &llm.Format{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	for _, c := range []struct {
		name    string
		status  int
		message string
		gone    string // must not be in the second request
		there   string // must be in the second request
	}{
		{"tools, Ollama", 400, `{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools"}}`, `"tools"`, `(I used add with {\"a\":1}.)`},
		{"tools, OpenRouter", 404, `{"error":{"message":"No endpoints found that support tool use.","code":404}}`, `"role":"tool"`, `Result of add:\nError: 7`},
		{"tools, llama.cpp", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag"}}`, `"tools"`, `messages`},
		{"tools, vLLM", 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}`, `"tools"`, `messages`},
		{"tool_choice", 400, `{"error":{"message":"tool_choice is not supported"}}`, `"tool_choice"`, `"tools"`},
		{"stream_options", 422, `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted: stream_options"}]}`, `stream_options`, `"tools"`},
		{"max_tokens", 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`, `"max_tokens"`, `"max_completion_tokens":5`},
		{"max_tokens at all", 400, `{"error":"unknown field max_tokens"}`, `max_tokens`, `"tools"`},
		{"pictures", 400, `{"error":{"message":"This model does not support image input"}}`, `image_url`, `cannot see`},
		{"structured answers", 400, `{"error":{"message":"response_format json_schema is not supported"}}`, `response_format`, `"tools"`},
		{"pictures as answers", 400, `{"error":{"message":"Unsupported parameter: modalities"}}`, `modalities`, `"tools"`},
		{"reasoning", 400, `{"error":{"message":"unexpected field reasoning_content"}}`, `reasoning_content`, `"tools"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := llmtest.NewServer(t, llmtest.Options{}, llmtest.Answer{Status: c.status, Body: c.message}, llmtest.Answer{Text: "ok"}, llmtest.Answer{Text: "ok"})
			m := mustNew(t, Options{BaseURL: srv.URL + "/v1", HTTP: srv.Client(), Model: "x-image"})
			for i, calls := range []int{2, 3} {
				if _, err := collectStream(t, m, full); err != nil {
					t.Fatal(err)
				}
				if srv.Count() != calls {
					t.Fatalf("call %d: the server was asked %d times, want %d", i, srv.Count(), calls)
				}
				body := string(srv.Last().Body)
				if strings.Contains(body, c.gone) || !strings.Contains(body, c.there) {
					t.Errorf("the request has %s or lacks %s:\n%s", c.gone, c.there, body)
				}
			}
			if strings.HasPrefix(c.name, "tools,") && m.Info().Tools || c.name == "pictures" && m.Info().Vision {
				t.Errorf("info %+v", m.Info())
			}
		})
	}
	t.Run("an error that no adaptation fixes", func(t *testing.T) {
		srv := llmtest.NewServer(t, llmtest.Options{}, llmtest.Answer{Status: 400, Body: `{"error":{"message":"the tool schema is not supported"}}`, Times: -1})
		m := mustNew(t, Options{BaseURL: srv.URL + "/v1", HTTP: srv.Client()})
		if _, err := collectStream(t, m, full); llm.KindOf(err) != llm.BadRequest || srv.Count() > 1+maxAdaptions {
			t.Errorf("%v after %d requests", err, srv.Count())
		}
	})
}

func TestTokenLimitNames(t *testing.T) {
	r := helloRequest()
	r.MaxTokens = 9
	own, err := llm.EncodeRequest(mustNew(t, Options{APIKey: "k"}).buildRequest(r, completionTokens))
	if err != nil || !strings.Contains(string(own), `"max_completion_tokens":9`) {
		t.Errorf("EncodeRequest = %s, %v", own, err)
	}
	if m := mustNew(t, Options{}); m.knownQuirks()&completionTokens == 0 {
		t.Error("OpenAI's own server needs max_completion_tokens")
	}
	if m := mustNew(t, Options{BaseURL: "http://localhost:1"}); m.knownQuirks()&completionTokens != 0 {
		t.Error("other servers need max_tokens")
	}
	m := mustNew(t, Options{BaseURL: "http://localhost:1", MaxTokens: 3})
	if got := m.buildRequest(helloRequest(), 0).MaxTokens; got != 3 {
		t.Errorf("default limit %d", got)
	}
}

func TestProbe(t *testing.T) {
	srv := llmtest.NewServer(t, llmtest.Options{Models: []string{"a", "b"}})
	names, err := Probe(context.Background(), srv.URL)
	if d := cmp.Diff([]string{"a", "b"}, names); d != "" || err != nil {
		t.Error(d, err)
	}
	for name, h := range map[string]http.HandlerFunc{
		"a page":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"other JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ok":true}`)) },
		"nothing":    http.NotFound,
		"silence":    func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		s := httptest.NewServer(h)
		start := time.Now()
		if names, err := Probe(context.Background(), s.URL); err == nil {
			t.Errorf("%s: got %v", name, names)
		}
		if d := time.Since(start); d > 50*ProbeTimeout {
			t.Errorf("%s: took %v", name, d)
		}
		s.Close()
	}
	if _, err := Probe(context.Background(), "http://127.0.0.1:1"); llm.KindOf(err) != llm.Network {
		t.Errorf("Probe of a closed port = %v", err)
	}
}

func TestChatModel(t *testing.T) {
	for want, list := range map[string][]string{
		"":            {"nomic-embed-text", "text-embedding-3-small"},
		"llama3.2":    {"bge-m3:latest", "llama3.2", "qwen3"},
		"qwen3-coder": {"whisper-1", "qwen3-coder"},
	} {
		if got := ChatModel(list); got != want {
			t.Errorf("%v: got %q", list, got)
		}
	}
}

// TestLocalStall: a local server has more time for its first output.
func TestLocalStall(t *testing.T) {
	for _, c := range []struct {
		name  string
		stall time.Duration
		a     llmtest.Answer
		want  llm.ErrorKind
		after time.Duration
	}{
		{"slow to begin", 0, llmtest.Answer{Text: "hi", Delay: 9 * time.Minute}, "", 9 * time.Minute},
		{"never starts", 0, llmtest.Answer{Text: "hi", Delay: time.Hour}, llm.Stalled, 10 * time.Minute},
		{"starts and stops", 0, llmtest.Answer{Text: "hi there", Delay: 9 * time.Minute, Fault: llmtest.Stall, After: 1}, llm.Stalled, 11 * time.Minute},
		{"the owner's limit", time.Minute, llmtest.Answer{Text: "hi", Delay: time.Hour}, llm.Stalled, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := llmtest.NewServer(t, llmtest.Options{Memory: true}, c.a)
				m := mustNew(t, Options{BaseURL: srv.URL, HTTP: srv.Client(), Stall: c.stall})
				start := time.Now()
				_, err := collectStream(t, m, helloRequest())
				if llm.KindOf(err) != c.want || time.Since(start) != c.after {
					t.Errorf("%v after %v", err, time.Since(start))
				}
			})
		})
	}
}
