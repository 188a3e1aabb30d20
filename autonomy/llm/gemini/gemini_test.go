package gemini

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
)

func mustNew(t *testing.T, o Options) *Model {
	t.Helper()
	if o.Model == "" {
		o.Model = "scripted"
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.client.CloseIdleConnections)
	return m
}

func userMessage(text string) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{{Text: text}}}
}

func TestNew(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		path string // path on the server, "" for an error
	}{
		{"Google", Options{Model: "m", APIKey: "k"}, "/v1beta/models/m"},
		{"with the prefix", Options{Model: "models/m", APIKey: "k"}, "/v1beta/models/m"},
		{"tuned", Options{Model: "tunedModels/m", APIKey: "k"}, "/v1beta/tunedModels/m"},
		{"no version", Options{Model: "m", BaseURL: "http://127.0.0.1:1/gemini/"}, "/gemini/v1beta/models/m"},
		{"a version", Options{Model: "m", BaseURL: "http://127.0.0.1:1/v1"}, "/v1/models/m"},
		{"the OpenAI-style address", Options{Model: "m", BaseURL: DefaultBaseURL + "/openai", APIKey: "k"}, "/v1beta/models/m"},
		{"no key", Options{Model: "m"}, ""},
		{"no model", Options{APIKey: "k"}, ""},
		{"a model with a query", Options{Model: "m?key=x", APIKey: "k"}, ""},
		{"a model that climbs", Options{Model: "../files", APIKey: "k"}, ""},
		{"a key with a line end inside", Options{Model: "m", APIKey: "a\nb"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := New(c.o)
			if (err != nil) != (c.path == "") {
				t.Fatalf("error %v", err)
			}
			if err == nil && m.base.Path+"/"+m.path != c.path {
				t.Errorf("path %s/%s, want %s", m.base.Path, m.path, c.path)
			}
		})
	}
}

// TestSignatures: a signature is sent back only with its part.
func TestSignatures(t *testing.T) {
	srv := llmtest.NewServer(t, llmtest.Options{},
		llmtest.Answer{Text: "I look.", Signature: "sig-call", Calls: []llmtest.Call{{Name: "add", Args: `{"a":1}`}, {Name: "add", Args: `{"a":2}`}}},
		llmtest.Answer{Reasoning: "hm", Text: "Three.", Signature: "sig-text"},
		llmtest.Answer{Text: "bye"},
	)
	m := mustNew(t, Options{BaseURL: srv.URL, HTTP: srv.Client()})
	req := llm.Request{Messages: []llm.Message{userMessage("add")}}
	for range 2 {
		r, err := llm.Collect(m.Stream(t.Context(), req))
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(llm.Message{Role: llm.Assistant, Parts: r.Parts}) // in its stored form
		if err != nil {
			t.Fatal(err)
		}
		var stored llm.Message
		if err := json.Unmarshal(b, &stored); err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, stored)
		if calls := r.Calls(); len(calls) == 2 {
			req.Messages = append(req.Messages, llm.Message{Role: llm.ToolRole, Parts: []llm.Part{
				{Result: &llm.ToolResult{ID: calls[0].ID, Name: "add", Text: "1"}}, {Result: &llm.ToolResult{ID: calls[1].ID, Name: "add", Text: "2"}},
			}})
		}
	}
	req.Messages = append(req.Messages, userMessage("thanks"))
	if _, err := llm.Collect(m.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, msg := range srv.Last().Messages {
		for _, p := range msg.Parts {
			if p.Signature != "" {
				got = append(got, p.Text+callName(p)+"="+p.Signature)
			}
		}
	}
	if d := cmp.Diff([]string{`add{"a":1}=sig-call`, "Three.=sig-text"}, got); d != "" {
		t.Error(d)
	}
}

func callName(p llm.Part) string {
	if p.Call == nil {
		return ""
	}
	return p.Call.Name + string(p.Call.Args)
}

// TestRefusals: after a refusal the driver omits the refused part, in this call and in later
// ones.
func TestRefusals(t *testing.T) {
	full := llm.Request{
		System: "You are Hob.",
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{{Text: "add"}, {Image: &llm.Image{MIME: "image/png", Data: []byte("x")}}}},
			{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "1", Name: "add", Args: json.RawMessage(`{"a":1}`)}}, {Call: &llm.ToolCall{ID: "2", Name: "add"}}}},
			{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "1", Name: "add", Text: "7"}}, {Result: &llm.ToolResult{ID: "2", Name: "add", Text: "no", Error: true}}}},
		},
		Tools:  []llm.Tool{{Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":["number","null"]}},"additionalProperties":false}`)}},
		Format: &llm.Format{Name: "sum", Schema: json.RawMessage(`{"type":"object","properties":{"sum":{"const":"x"}}}`)},
	}
	for _, c := range []struct {
		name, message string
		gone, there   string // what the next request must not contain, and what it must contain
	}{
		{"tools", "Function calling is not enabled for models/gemini-2.5-flash-image", `functionDeclarations`, `(I used add with {\"a\":1}.)`},
		{"pictures", "Image input modality is not enabled for models/gemma-3-1b-it", `inlineData`, "cannot see"},
		{"system", "Developer instruction is not enabled for models/gemma-3-27b-it", `systemInstruction`, `"contents":[{"role":"user","parts":[{"text":"You are Hob."}]}`},
		{"thinking", "Thinking is not enabled for models/gemini-2.0-flash-lite", `thinkingConfig`, `"contents"`},
		{"ids", `Invalid JSON payload received. Unknown name "id" at 'contents[1].parts[0].function_call': Cannot find field.`, `"id"`, `"functionCall":{"name":"add"`},
		{"format", "JSON mode is not enabled for models/gemma-3-27b-it", `responseMimeType`, `functionDeclarations`},
		{"format with tools", "Function calling with a response mime type: 'application/json' is unsupported", `responseMimeType`, `functionDeclarations`},
		{"schemas", `Invalid JSON payload received. Unknown name "parametersJsonSchema" at 'tools[0]': Cannot find field.`, `additionalProperties`, `"parameters":{"properties":{"a":{"nullable":true,"type":"number"}},"type":"object"}`},
		{"signatures", "Function call is missing a thought_signature in functionCall parts. This is required.", `nothing`, `"args":{"a":1}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"2","name":"add","args":{}}}`},
		{"signatures, other error text", "[400]: call missing thought_signature functionCall parts. Additional data, call `add` position 2.", `nothing`, "skip_thought_signature_validator"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := json.Marshal(map[string]any{"error": map[string]any{"code": 400, "message": c.message, "status": "INVALID_ARGUMENT"}})
			if err != nil {
				t.Fatal(err)
			}
			srv := llmtest.NewServer(t, llmtest.Options{}, llmtest.Answer{Status: 400, Body: string(body)}, llmtest.Answer{Text: "ok", Times: -1})
			m := mustNew(t, Options{BaseURL: srv.URL, HTTP: srv.Client()})
			for i, calls := range []int{2, 3} {
				if _, err := llm.Collect(m.Stream(t.Context(), full)); err != nil {
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
		})
	}
	t.Run("an error that no adaptation fixes", func(t *testing.T) {
		srv := llmtest.NewServer(t, llmtest.Options{}, llmtest.Answer{Status: 400, Body: `{"error":{"message":"Function calling is not enabled"}}`, Times: -1})
		m := mustNew(t, Options{BaseURL: srv.URL, HTTP: srv.Client()})
		if _, err := llm.Collect(m.Stream(t.Context(), full)); llm.KindOf(err) != llm.BadRequest || srv.Count() > 1+maxAdaptions {
			t.Errorf("%v after %d requests", err, srv.Count())
		}
	})
}

// TestErrors parses error bodies of Google.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		kind   llm.ErrorKind
		retry  time.Duration
	}{
		{"a wrong key is a 400", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`, llm.Unauthorized, 0},
		{"the wait is in the body", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`, llm.RateLimited, 34 * time.Second},
		{"too long", 400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, llm.Overflow, 0},
		{"not found", 404, `{"error":{"code":404,"message":"models/x is not found for API version v1beta","status":"NOT_FOUND"}}`, llm.NotFound, 0},
		{"place", 400, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, llm.BadRequest, 0},
		{"no bill", 400, `{"error":{"code":400,"message":"Please enable billing on project","status":"FAILED_PRECONDITION"}}`, llm.Payment, 0},
		{"overloaded", 503, `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, llm.Unavailable, 0},
		{"late", 504, `{"error":{"code":504,"message":"Deadline expired","status":"DEADLINE_EXCEEDED"}}`, llm.Unavailable, 0},
		{"in a stream", 200, `data: {"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}` + "\n\n", llm.RateLimited, 0},
		{"in an answer", 200, `{"error":{"code":401,"message":"x","status":"UNAUTHENTICATED"}}`, llm.Unauthorized, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer srv.Close()
			m := mustNew(t, Options{BaseURL: srv.URL})
			_, err := llm.Collect(m.Stream(t.Context(), llm.Request{Messages: []llm.Message{userMessage("hi")}}))
			var e *llm.Error
			if ok := asError(err, &e); !ok || e.Kind != c.kind || e.RetryAfter != c.retry {
				t.Fatalf("%v after %v, want %s after %v", err, e, c.kind, c.retry)
			}
			if strings.ContainsAny(e.Message, "{}") {
				t.Errorf("the message for users contains JSON: %s", e.Message)
			}
		})
	}
}

func asError(err error, target **llm.Error) bool {
	e, ok := err.(*llm.Error) //nolint:errorlint // the contract says: errors are *Error
	*target = e
	return ok
}

func TestEmbed(t *testing.T) {
	srv := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key})
	m := mustNew(t, Options{BaseURL: srv.URL, HTTP: srv.Client(), APIKey: llmtest.Key, Model: DefaultEmbedding})
	texts := make([]string, 101)
	for i := range texts {
		texts[i] = strings.Repeat("x", i)
	}
	v, _, err := m.Embed(t.Context(), texts)
	if err != nil || len(v) != len(texts) {
		t.Fatalf("%d vectors, %v", len(v), err)
	}
	for i, x := range texts {
		if d := cmp.Diff(llmtest.Vector(x), v[i]); d != "" {
			t.Fatalf("vector %d: %s", i, d)
		}
	}
	if v, _, err := m.Embed(t.Context(), nil); err != nil || len(v) != 0 {
		t.Errorf("Embed = %v, %v", v, err)
	}
	bad := mustNew(t, Options{BaseURL: srv.URL, HTTP: srv.Client(), APIKey: "sk-other-key"})
	if _, _, err := bad.Embed(t.Context(), texts[:1]); llm.KindOf(err) != llm.Unauthorized || strings.Contains(err.Error(), "sk-other-key") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := m.Embed(ctx, texts[:1]); llm.KindOf(err) != llm.Interrupted {
		t.Error(err)
	}
}

// TestPictures: image models are asked for pictures.
func TestPictures(t *testing.T) {
	cat := llm.Image{MIME: "image/png", Data: []byte("\x89PNG cat")}
	srv := llmtest.NewServer(t, llmtest.Options{}, llmtest.Answer{Text: "A cat:", Images: []llm.Image{cat}}, llmtest.Answer{Text: "Blue now."})
	m := mustNew(t, Options{BaseURL: srv.URL, HTTP: srv.Client(), Model: "gemini-2.5-flash-image"})
	req := llm.Request{Messages: []llm.Message{userMessage("paint a cat")}}
	r, err := llm.Collect(m.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]llm.Image{cat}, r.Images()); d != "" {
		t.Error(d)
	}
	if body := string(srv.Last().Body); !strings.Contains(body, `"responseModalities":["TEXT","IMAGE"]`) {
		t.Errorf("the request does not ask for pictures: %s", body)
	}
	req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: r.Parts}, userMessage("make it blue"))
	if _, err := llm.Collect(m.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	if got := srv.Last().Messages[1].Parts[1].Image; got == nil || string(got.Data) != string(cat.Data) {
		t.Errorf("the picture was not sent back: %+v", srv.Last().Messages[1])
	}
}
