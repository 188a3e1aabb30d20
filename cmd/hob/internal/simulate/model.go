package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// The names and the address of the model that returns the script's answers.
const (
	scriptProvider = "script"
	scriptModel    = scriptProvider + "/model"
	scriptURL      = "http://model.invalid/v1"
)

// answer is one answer from a model: text and tool calls.
type answer struct {
	text  string
	calls []toolCall
}

type toolCall struct {
	name string
	args json.RawMessage
}

// parseAnswer parses an answer. A line `call TOOL {"arguments": ...}` is a tool call; all other
// lines are text.
func parseAnswer(body string) (a answer, err error) {
	var text []string
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\r\n")
		rest, is := strings.CutPrefix(line, "call ")
		if !is {
			text = append(text, line)
			continue
		}
		name, args, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if args = strings.TrimSpace(args); args == "" {
			args = "{}"
		}
		if !json.Valid([]byte(args)) {
			return a, fmt.Errorf("the arguments of %q are not valid JSON", name)
		}
		a.calls = append(a.calls, toolCall{name, json.RawMessage(args)})
	}
	a.text = strings.TrimSpace(strings.Join(text, "\n"))
	if a.text == "" && len(a.calls) == 0 {
		return a, errors.New("the model's answer is missing after this line")
	}
	return a, nil
}

// modelClient returns the HTTP client for the models. It returns the script's answers or uses the
// network.
func (w *world) modelClient() *http.Client {
	if w.p.o.Model != Configured {
		return &http.Client{Transport: w.script}
	}
	return &http.Client{Transport: bubbleTransport{w.p.outside, w.p}}
}

// scriptedModel responds like a server for the Chat Completions API
// (https://platform.openai.com/docs/api-reference/chat/object).
type scriptedModel struct {
	mu      sync.Mutex
	answers []string
	past    []*recordedTurn
	n       int
}

// spent is the answer after the script's last answer.
const spent = "(The script has no more model answers.)"

// RoundTrip implements http.RoundTripper.
func (s *scriptedModel) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	var err error
	if r.Body != nil {
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return jsonResponse(r, http.StatusNotFound, map[string]any{"error": map[string]string{"message": "not played"}})
	}
	s.mu.Lock()
	a, known := nextRecorded(s.past, body)
	if !known {
		text := spent
		if len(s.answers) > 0 {
			text, s.answers = s.answers[0], s.answers[1:]
		}
		a, err = parseAnswer(text)
	}
	s.n++
	n := s.n
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	msg := map[string]any{"role": "assistant", "content": a.text}
	reason := "stop"
	var calls []map[string]any
	for i, c := range a.calls {
		reason = "tool_calls"
		calls = append(calls, map[string]any{
			"id": fmt.Sprintf("call_%d_%d", n, i+1), "type": "function",
			"function": map[string]any{"name": c.name, "arguments": string(c.args)},
		})
	}
	if calls != nil {
		msg["tool_calls"] = calls
	}
	const perToken = 4 // approximate number of bytes per token
	return jsonResponse(r, http.StatusOK, map[string]any{
		"id": fmt.Sprint("script-", n), "object": "chat.completion", "model": "model",
		"choices": []map[string]any{{"index": 0, "message": msg, "finish_reason": reason}},
		"usage":   map[string]int{"prompt_tokens": len(body) / perToken, "completion_tokens": len(a.text)/perToken + 1},
	})
}

func jsonResponse(r *http.Request, status int, body any) (*http.Response, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(b)), ContentLength: int64(len(b)),
	}, nil
}
