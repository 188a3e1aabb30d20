package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"hob/autonomy/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const scenario = `A comment.
-- owner --
remind me to stretch
-- model/first --
match: stretch
call: create_reminder {"text":"stretch"}
call#fixed: get_time
-- model/second --
# said after the tool
match: stretch
result: Reminder
usage: 100 20 80

I will remind you.

In a minute.
-- model --
text: hello
times: *
reasoning: hm
signature: s
pieces: 2
delay: 1s
gap: 2ms
stop: length
-- model --
status: 429
header: Retry-After: 1
body: {"error":"x"}
fault: reset
after: 3
-- must --
happen
`

func TestParseScript(t *testing.T) {
	got, err := ParseScript(txtar.Parse([]byte(scenario)))
	if err != nil {
		t.Fatal(err)
	}
	want := []Answer{
		{Match: "stretch", Calls: []Call{{Name: "create_reminder", Args: `{"text":"stretch"}`}, {ID: "fixed", Name: "get_time"}}},
		{Match: "stretch", Result: "Reminder", Usage: llm.Usage{Input: 100, Output: 20, CacheRead: 80, Known: true}, Text: "I will remind you.\n\nIn a minute."},
		{Text: "hello", Times: -1, Reasoning: "hm", Signature: "s", Pieces: 2, Delay: time.Second, Gap: 2 * time.Millisecond, Stop: "length"},
		{Status: 429, Header: map[string]string{"Retry-After": "1"}, Body: `{"error":"x"}`, Fault: Reset, After: 3},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"moon: 1", "just text", "times: often", "usage: 1", "usage: a b", "header: x", "call:", "delay: soon", "after: x", "fault: moon"} {
		if _, err := ParseScript(txtar.Parse([]byte("-- model/x --\n" + bad + "\n"))); err == nil || !strings.Contains(err.Error(), "model/x") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

func newRequest(text string, more ...llm.Message) llm.Request {
	return llm.Request{Messages: append([]llm.Message{userMessage(text)}, more...)}
}

func TestScript(t *testing.T) {
	answers := []Answer{
		{Match: "(?i)stretch", Text: "first"},
		{Text: "in order 1"},
		{Match: "stretch", Result: "done", Text: "after the tool"},
		{Match: "again", Times: 2, Text: "twice"},
		{Match: "always", Times: -1, Text: "always"},
		{Text: "in order 2"},
	}
	s := NewScripted(Options{
		Reply:     func(r Request) (Answer, bool) { return Answer{Text: "reply"}, r.LastUser == "reply" },
		Otherwise: &Answer{Text: "otherwise"},
	}, answers...)
	call := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "1", Name: "x"}}}}
	done := llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "1", Text: "it is done"}}}}
	for _, c := range []struct {
		r    llm.Request
		want string
	}{
		{newRequest("always x"), "always"},
		{newRequest("please stretch"), "first"},
		{newRequest("please stretch"), "in order 1"}, // the other answer requires a result
		{newRequest("please stretch", call, done), "after the tool"},
		{newRequest("again"), "twice"},
		{newRequest("again"), "twice"},
		{newRequest("again"), "in order 2"},
		{newRequest("again"), "otherwise"},
		{newRequest("reply"), "reply"},
		{newRequest("always"), "always"},
	} {
		r, err := llm.Collect(s.Stream(context.Background(), c.r))
		if err != nil || r.Text() != c.want {
			t.Errorf("%s: got %q, %v, want %q", textOf(c.r.Messages[0]), r.Text(), err, c.want)
		}
	}
	if u := s.Unused(); len(u) != 0 {
		t.Errorf("unused %v", u)
	}
	if n := len(s.Requests()); n != 10 || len(s.Asked()) != n || s.Requests()[3].Round != 1 {
		t.Errorf("%d requests", n)
	}
	s.Add(Answer{Text: "added"})
	if u := s.Unused(); len(u) != 1 {
		t.Errorf("unused %v", u)
	}
	empty := NewScripted(Options{})
	if _, err := llm.Collect(empty.Stream(context.Background(), newRequest("x"))); llm.KindOf(err) != llm.BadRequest || !strings.Contains(err.Error(), `no answer to "x"`) {
		t.Errorf("error %v", err)
	}
}

func TestScript_Faults(t *testing.T) {
	long := Answer{Text: "one two three", Calls: []Call{{Name: "add", Args: `{"a":1}`}}}
	with := func(f Fault, after int) Answer { a := long; a.Fault, a.After = f, after; return a }
	for _, c := range []struct {
		name    string
		a       Answer
		kind    llm.ErrorKind
		visible bool
	}{
		{"well", long, "", false},
		{"reset", with(Reset, 0), llm.Network, false},
		{"reset after text", with(Reset, 1), llm.Network, true},
		{"reset after all", with(Reset, 99), llm.Network, true},
		{"garbage", with(Garbage, 2), llm.Garbled, true},
		{"stream error", with(StreamError, 0), llm.Unavailable, false},
		{"stall", with(Stall, 1), llm.Interrupted, true},
		{"late", Answer{Delay: time.Hour}, llm.Interrupted, false},
		{"slow", Answer{Text: "one two three", Gap: time.Hour}, llm.Interrupted, true},
		{"status", Answer{Status: 429, Header: map[string]string{"Retry-After": "7"}}, llm.RateLimited, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				_, err := llm.Collect(NewScripted(Options{}, c.a).Stream(ctx, newRequest("x")))
				var e *llm.Error
				if llm.KindOf(err) != c.kind || errors.As(err, &e) && e.Visible != c.visible {
					t.Errorf("error %v", err)
				}
				if c.name == "status" && e.RetryAfter != 7*time.Second {
					t.Errorf("RetryAfter = %v", e.RetryAfter)
				}
			})
		})
	}
	r, err := llm.Collect(NewScripted(Options{}, with(CutArgs, 0)).Stream(context.Background(), newRequest("x")))
	if err != nil || r.Stop != llm.MaxTokens || !r.Calls()[0].Truncated {
		t.Errorf("%+v, %v", r, err)
	}
}

func postJSON(t *testing.T, srv *Server, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestServer sends requests without a driver, as scripts and other programs do.
func TestServer(t *testing.T) {
	hi := Answer{Text: "hi", Times: -1}
	for _, c := range []struct {
		name, path, body string
		o                Options
		status           int
		want             string
	}{
		{"OpenAI, plain", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`, Options{}, 200, `"content":"hi"`},
		{"OpenAI, streamed", "/api/v1/chat/completions", `{"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`, Options{}, 200, "data: [DONE]"},
		{"Anthropic, plain", "/v1/messages", `{"max_tokens":5,"messages":[{"role":"user","content":"x"}]}`, Options{}, 200, `"stop_reason":"end_turn"`},
		{"Anthropic, streamed", "/v1/messages", `{"stream":true,"max_tokens":5,"messages":[{"role":"user","content":"x"}]}`, Options{}, 200, "event: message_stop"},
		{"Anthropic, no limit", "/v1/messages", `{"messages":[]}`, Options{}, 400, "max_tokens"},
		{"Anthropic, empty text", "/v1/messages", `{"max_tokens":5,"messages":[{"role":"user","content":""}]}`, Options{}, 400, "non-empty"},
		{"not JSON", "/v1/chat/completions", `{`, Options{}, 400, "chat completion"},
		{"doubled version", "/v1/v1/chat/completions", `{}`, Options{}, 404, "no such path"},
		{"wrong key", "/v1/chat/completions", `{}`, Options{Key: "k"}, 401, "invalid key"},
		{"refused field", "/v1/chat/completions", `{"stream_options":{},"messages":[]}`, Options{Refuse: []string{"tools", "stream_options"}}, 400, "stream_options is not supported"},
		{"a call without a result", "/v1/chat/completions", `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"x"}}]},{"role":"user","content":"x"}]}`, Options{}, 400, "without tool results"},
		{"a call at the end", "/v1/chat/completions", `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"x"}}]}]}`, Options{}, 400, "without tool results"},
		{"a result without a call", "/v1/chat/completions", `{"messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`, Options{}, 400, "no tool call"},
		{"the same id twice", "/v1/chat/completions", `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"x"}},{"id":"a","function":{"name":"x"}}]}]}`, Options{}, 400, "two tool calls"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := NewServer(t, c.o, hi)
			if status, body := postJSON(t, srv, c.path, c.body); status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("%d %s, want %d with %s", status, body, c.status, c.want)
			}
		})
	}
}

func TestServer_RecordsRequests(t *testing.T) {
	srv := NewServer(t, Options{Keep: 3}, Answer{Text: "hi", Times: -1})
	for range 20 {
		postJSON(t, srv, "/v1/chat/completions", `{"model":"m","tools":[{"function":{"name":"a"}}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}]}`)
	}
	if n := len(srv.Requests()); srv.Count() != 20 || n < 3 || n > 6 {
		t.Errorf("%d of %d requests are kept", n, srv.Count())
	}
	r := srv.Last()
	if r.Model != "m" || r.System != "s" || r.LastUser != "x" || !r.HasTool("a") || r.HasTool("b") || r.API != OpenAI {
		t.Errorf("recorded %+v", r)
	}
	if len(srv.Unused()) != 0 {
		t.Errorf("unused %v", srv.Unused())
	}
	if NewServer(t, Options{}).Last().Model != "" {
		t.Error("Last() of a new server returns a request")
	}
}

func TestNewServer_RejectsBadScripts(t *testing.T) {
	if _, err := Start(Options{}, Answer{Match: "("}); err == nil {
		t.Error("Start accepts an invalid pattern")
	}
	if _, err := Start(Options{Addr: "999.0.0.1:0"}); err == nil {
		t.Error("Start accepts an invalid address")
	}
}

func BenchmarkServer(b *testing.B) {
	srv := NewServer(b, Options{Keep: 10}, Answer{Times: -1, Text: "Good morning", Calls: []Call{{Name: "add", Args: `{"a":1}`}}})
	body, err := json.Marshal(map[string]any{"stream": true, "messages": []any{
		map[string]any{"role": "system", "content": strings.Repeat("x", 6000)}, map[string]any{"role": "user", "content": "hello"},
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, srv.URL+"/v1/chat/completions", strings.NewReader(string(body)))
			resp, err := srv.Client().Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}
