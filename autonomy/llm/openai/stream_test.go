package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm"
)

func TestThinkSplitter(t *testing.T) {
	for _, c := range []struct{ in, thought, text string }{
		{"hello", "", "hello"},
		{"<think>hm</think>\n\nhello", "hm", "hello"},
		{"\n <think>\na < b </thin </think> x </think>", "\na < b </thin ", "x </think>"},
		{"<think>never ends </thi", "never ends </thi", ""},
		{"<thinking>not the tag", "", "<thinking>not the tag"},
		{"<", "", "<"},
		{"<th", "", "<th"},
		{"use <think> tags", "", "use <think> tags"},
		{"<think></think>", "", ""},
		{"  plain", "", "  plain"},
		{"", "", ""},
	} {
		for _, size := range []int{1, 2, 3, 100} {
			var s thinkSplitter
			var thought, text string
			for i := 0; i < len(c.in); i += size {
				a, b := s.addPiece(c.in[i:min(i+size, len(c.in))])
				thought, text = thought+a, text+b
			}
			a, b := s.flushRest()
			thought, text = thought+a, text+b
			if thought != c.thought || text != c.text {
				t.Errorf("%q by %d: got %q, %q", c.in, size, thought, text)
			}
		}
	}
}

func TestCalls(t *testing.T) {
	for _, c := range []struct {
		name   string
		deltas string // JSON list
		want   []string
	}{
		{"by index, mixed", `[{"index":0,"id":"a","function":{"name":"x","arguments":""}},{"index":1,"id":"b","function":{"name":"y","arguments":"{"}},
			{"index":0,"function":{"arguments":"{}"}},{"index":1,"function":{"arguments":"}"}}]`, []string{"a x {}", "b y {}"}},
		{"cumulative text", `[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"k\""}},{"index":0,"id":"a","function":{"name":"x","arguments":":1}"}},
			{"index":0,"id":"a","function":{"name":"x","arguments":""}}]`, []string{`a x {"k":1}`}},
		{"a new id in each delta", `[{"index":0,"id":"a","function":{"name":"x","arguments":"{"}},{"index":0,"id":"b","function":{"arguments":"}"}}]`, []string{"a x {}"}},
		{"a new id in each delta, no index", `[{"id":"a","function":{"name":"x","arguments":"{"}},{"id":"b","function":{"arguments":"}"}}]`, []string{"a x {}"}},
		{
			"by id", `[{"id":"a","function":{"name":"x","arguments":"{"}},{"id":"b","function":{"name":"x","arguments":"{"}},{"id":"a","function":{"arguments":"}"}},{"id":"b","function":{"arguments":"}"}}]`,
			[]string{"a x {}", "b x {}"},
		},
		{"the name comes later", `[{"index":0,"id":"a"},{"index":0,"function":{"name":"x"}},{"index":0,"function":{"arguments":"{}"}}]`, []string{"a x {}"}},
		{"objects", `[{"index":0,"id":"a","function":{"name":"x","arguments":{"k":1}}},{"index":0,"id":"b","function":{"name":"x","arguments":{"k":2}}}]`, []string{`a x {"k":1}`, `b x {"k":2}`}},
		{"objects without ids", `[{"function":{"name":"x","arguments":{"k":1}}},{"function":{"name":"x","arguments":{"k":2}}}]`, []string{`? x {"k":1}`, `? x {"k":2}`}},
		{"no ids, no index", `[{"function":{"name":"x","arguments":"{\"k\":1}"}},{"function":{"name":"x","arguments":"{\"k\":2}"}}]`, []string{`? x {"k":1}`, `? x {"k":2}`}},
		{"empty deltas", `[{},{"index":0,"id":"","function":{"name":"","arguments":null}},{"index":0,"id":"a","function":{"name":"x"}}]`, []string{"a x {}"}},
		{"ids that are numbers", `[{"index":0,"id":7,"function":{"name":"x","arguments":"{}"}}]`, []string{"7 x {}"}},
		{"the same id twice", `[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"y","arguments":"{}"}}]`, []string{"a x {}", "? y {}"}},
		{"no name", `[{"index":0,"id":"a","function":{"arguments":"{}"}}]`, []string{"a  truncated"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var list []callDelta
			if err := json.Unmarshal([]byte(c.deltas), &list); err != nil {
				t.Fatal(err)
			}
			var cs calls
			for _, d := range list {
				cs.addDelta(d)
			}
			var got []string
			for i, p := range cs.pendingCalls() {
				x := llm.NewCall(p.ID, p.Name, string(p.Args), false)
				id, args := x.ID, string(x.Args)
				if i < len(c.want) && strings.HasPrefix(c.want[i], "?") && len(id) == 9 {
					id = "?"
				}
				if x.Truncated {
					args = "truncated"
				}
				got = append(got, id+" "+x.Name+" "+args)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestChunks replays streams of specific servers.
func TestChunks(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     string // text | reasoning | calls | stop | usage, or the kind of error
	}{
		{"Mistral", `data: {"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hi"}]},"finish_reason":"stop"}]}`, "hi|hm||end_turn|false"},
		{"OpenRouter comments", ": OPENROUTER PROCESSING\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"hi\",\"reasoning\":\"hm\"},\"finish_reason\":null}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n", "hi|hm||end_turn|true"},
		{"OpenRouter error", `data: {"error":{"code":429,"message":"slow down"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`, "rate_limited"},
		{"an error in a choice", `data: {"choices":[{"delta":{},"finish_reason":"error","error":{"code":502,"message":"boom"}}]}`, "unavailable"},
		{"finish reason error", `data: {"choices":[{"delta":{},"finish_reason":"error"}]}`, "unavailable"},
		{"Ollama error", `data: {"error":"model runner has unexpectedly stopped"}`, "unavailable"},
		{"LM Studio error", "event: error\ndata: {\"message\":\"the context length is too short\"}\n\n", "context_overflow"},
		{"llama.cpp error", `error: {"code":500,"message":"boom","type":"server_error"}`, "unavailable"},
		{"an error that is not JSON", "event: error\ndata: boom\n\n", "unavailable"},
		{"other choices", `data: {"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"},{"index":0,"delta":{"content":"yes"},"finish_reason":"stop"}]}`, "yes|||end_turn|false"},
		{"function_call of old", `data: {"choices":[{"delta":{"function_call":{"name":"x","arguments":"{}"}},"finish_reason":"function_call"}]}`, "||x{}|tool_use|false"},
		{"OpenAI refusal", `data: {"choices":[{"delta":{"refusal":"I cannot"},"finish_reason":"stop"}]}`, "I cannot|||end_turn|false"},
		{"usage of odd types", `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":"7"}}`, "x|||end_turn|false"},
		{"nulls", `data: {"choices":[{"delta":{"content":null,"tool_calls":null,"role":null},"finish_reason":null,"logprobs":null}],"usage":null,"error":null}` + "\n\ndata: [DONE]\n\n", "|||end_turn|false"},
		{"only [DONE]", "data: [DONE]\n\n", "unavailable"},
		{"a number", "data: 7\n\n", "garbled"},
		{"think tags", `data: {"choices":[{"delta":{"content":"<think>hm</think>hi"},"finish_reason":"stop"}]}`, "hi|hm||end_turn|false"},
		{"not streamed, error with status 200", `{"error":{"message":"boom"}}`, "unavailable"},
		{"not streamed, two calls without ids", `{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"x","arguments":"{}"}},{"function":{"name":"x","arguments":"{}"}}]},"finish_reason":"stop"}]}`, "||x{}x{}|tool_use|false"},
		{"not streamed, cut", `{"choices":[{"mess`, "network"},
		{"not streamed, other content", `{"ok":true}`, "garbled"},
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
	for e, err := range m.Stream(context.Background(), helloRequest()) {
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
	return strings.Join([]string{r.Text(), thoughts.String(), calls.String(), string(r.Stop), map[bool]string{true: "true", false: "false"}[r.Usage.Known]}, "|")
}

func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"", "data: [DONE]\n\n", "data: {\"choices\":[{\"delta\":{\"content\":\"<think>a</think>b\"},\"finish_reason\":\"stop\"}]}\n\n",
		`{"choices":[{"message":{"tool_calls":[{"id":1,"function":{"name":"x","arguments":{}}}]}}]}`,
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{\\\"a\"}}]},\"finish_reason\":\"length\"}]}\r\n\r\n",
		": x\nevent: error\ndata: {\"error\":[]}\n\n", "error: x", "<html>", "\xef\xbb\xbfdata: {}\n", "data: null\n\n", "data: {\"choices\":[{\"finish_reason\":{}}]}\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) { playStream(t, in) })
}

// TestDetails: OpenRouter's reasoning details are assembled from their pieces and sent back
// with the calls they led to.
func TestDetails(t *testing.T) {
	chunks := []string{
		`{"choices":[{"delta":{"reasoning":"h","reasoning_details":[{"type":"reasoning.text","text":"h","index":0,"format":"anthropic-claude-v1"}]}}]}`,
		`{"choices":[{"delta":{"reasoning":"m","reasoning_details":[{"type":"reasoning.text","text":"m","index":0,"signature":"s"}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}],"reasoning_details":[{"type":"reasoning.encrypted","data":"z","index":1}]},"finish_reason":"tool_calls"}]}`,
	}
	m := mustNew(t, Options{BaseURL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: fixedTransport("data: " + strings.Join(chunks, "\n\ndata: ") + "\n\n")}})
	r, err := collectStream(t, m, helloRequest())
	if err != nil {
		t.Fatal(err)
	}
	req := helloRequest()
	req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: r.Parts})
	body, err := llm.EncodeRequest(m.buildRequest(req, 0))
	if err != nil {
		t.Fatal(err)
	}
	want := `"reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"s","text":"hm","type":"reasoning.text"},{"data":"z","index":1,"type":"reasoning.encrypted"}]`
	if !strings.Contains(string(body), want) || strings.Contains(string(body), "reasoning_content") {
		t.Errorf("the request lacks %s:\n%s", want, body)
	}
}
